"""Training: from windows of tokens to a better model, in a way that a person can trust.

    options     what can be set, with its range and its words; presets
    trainer     one thing at a time: train, evaluate, guard, keep the best, roll back
    fitted_step what is trained, cut to fit into memory      memory_fitting  ways to cut a batch
    evaluation  held-out loss, a batch at a time             pace            how fast, and how long still
    health      what the curves say, in words                moments         AdamW's state, by parameter
    events      what a trainer tells, as frozen values: the desktop, the command line and the tests read the same
    saved_run   a run on disk, to go on from                 trainer_state   what is kept of a trainer

A trainer knows a model and sources of batches, no repository and no file.
"""
