"""What crosses between threads and reaches the panes: frozen values, nothing that two threads could change.

    engine        memory against the ceiling, the race between devices
    repository    the files of a folder with their verdicts, what changed since a checkpoint
    training      the plan before a run, what came of it, runs that can go on
    completion    which models can be asked, and what one answered
    checkpoints   rows, details, comparisons, merges

    events        what a device check reports, and `Failure`
    limits        what a setting may be            words    numbers and states for people

Arrays in them belong to whoever receives them.
"""
