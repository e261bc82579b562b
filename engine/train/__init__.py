"""Training: from windows of tokens to a better model, in a way that a person can trust.

    options     what can be set, with its range and its words; presets
    schedule    the learning rate over a run
    trainer     one step at a time: train, evaluate, guard, keep the best, roll back
    events      what a trainer tells, as frozen values: the desktop, the command line and the tests read the same

A trainer knows a model and sources of batches, no repository and no file.
"""
