"""The state of the program as the panes see it: one controller for each thing a user works on, all in the GUI thread.

    panes ──▶ Application ─┬─ settings      what the user has set, validated, on disk
                           ├─ engine        devices, the one in use, checks, the race, memory, current activity
                           ├─ repository    the folder, its files with verdicts, what changed since a checkpoint
                           ├─ training      the next run's options and plan, the run and its history
                           ├─ completion    which model answers, requests and answers
                           ├─ memory        the repository's memory: how much it holds, whether it is used
                           ├─ folders       every folder that was read: its size, its model, its last adaptation
                           ├─ checkpoints   the store's rows, and everything that can be done to a checkpoint
                           ├─ server        completions for other editors: on or off, and the last requests
                           ├─ downloads     the base model being downloaded, once the user has agreed
                           ├─ base_speeds   what this machine would do with the base models of the list
                           ├─ base_offer    the offer of a stronger base, until it is answered
                           └─ storage       where all of it is kept, and moving it elsewhere
              (signals) ◀──┘      │ jobs (app/workers/jobs.py), frozen values
                              app/workers: "engine", "repository" and "files", each in a thread of its own

    application   makes all of them and their threads, and connects them
    choices       which models there are to choose from      idle            adapting to changes automatically
    run_options   options of the next run, remembered        run_history     the events of a run, in growing arrays
    run_scoring   whether a run helped                       journal         what happened, as lines of the log
    garbage_collection    Python's cycle collector, in this thread only

A pane reads properties and listens to signals; it never sees a worker, the engine or a tensor.  `changed` means that
the properties of a controller should be read again; a failure arrives as one `app.values.events.Failure`.
"""
