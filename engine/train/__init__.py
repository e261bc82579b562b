"""Training: from windows of tokens to a better model.

    options         what can be set, with ranges, help and presets; the learning rate of every step
    trainer         the loop: train, evaluate, guard, keep the best, roll back
    fitted_step     a training step that fits into memory      memory_fitting  ways to split a batch
    evaluation      held-out loss, a batch at a time           pace            speed and time left
    health          what the curves say, in words              trial           how fast training is now
    events          what a trainer reports, as frozen values for the desktop, the command line and the tests
    trainer_state   where a run is, to resume it exactly       saved_run       the same on disk

A trainer knows a model and sources of batches, but no repository and no files.
"""
