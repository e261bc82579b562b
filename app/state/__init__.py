"""The state of the program as the panes see it: one controller for each thing a user works on, all in the GUI thread.

    panes ──▶ Application ─┬─ settings      what the user has set, validated, on disk
                           ├─ engine        devices, the one in use, checks, the race, memory, what it is doing
                           ├─ repository    the folder, its files with verdicts, what changed since a checkpoint
                           ├─ training      options, plan, the run and its history
                           ├─ completion    which model answers, requests and answers
                           ├─ checkpoints   the store's rows, and everything that is done to one
                           ├─ downloads     the base model that is being fetched, after the user agreed
                           └─ storage       where all of it is kept, and moving that elsewhere
              (signals) ◀──┘      │ queued signals, frozen values
                              app/workers: "engine", "repository" and "files", each in a thread of its own

    application   makes all of them and their threads        choices    which models there are to choose from
    run_history   what a run has told, in growing arrays     idle       adapting by itself, where the user wants that
    journal       what was done, as lines of the log
    own_options   options of a run that were changed by hand, remembered
    garbage_collection    Python's cycle collector, in this thread only

A pane reads properties and listens to signals; it never sees a worker, the engine or a tensor.  Every controller tells
`changed` when its properties are to be read again; what fails comes as one `app.values.events.Failure`.
"""
