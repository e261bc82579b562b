"""What crosses between threads and reaches the panes: frozen values, nothing that two threads could change.

    engine        memory against its limit, the race between devices, the speed of base models
    repository    the files of a folder with their verdicts, what changed since a checkpoint
    folders       every folder that was read, and what completes there
    training      the plan of a run, its result, interrupted runs
    completion    which models can be asked, and the answers
    memory        what the repository's memory holds
    benchmark     how far a benchmark is, and what it measured: as rows, as text for an issue, as JSON
    checkpoints   rows, details, comparisons, merges

    events        what a device check reports, and `Failure`       failures   exceptions as the window shows them
    limits        what a setting may be                            words      numbers and states for people

The receiver owns the arrays in them.
"""
