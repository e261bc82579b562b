"""Workers: QObjects in threads of their own, asked for jobs, answering with frozen values (`jobs`).

    thread "engine"       engine (devices, checks, race), training, completing, measuring: all on one `OpenDevice`
    thread "repository"   repository: reads, tokenises and counts changes; remembering: its memory; watching
    thread "files"        files: everything in the checkpoint store that needs no device; moving: the data folder
    thread "downloads"    downloading: one base model, during its download

    jobs              asking, answering and cancelling           cancellation     what else ends work early
    open_device       the open device and the models on it       loaded_model     one of these, or a blend of two
    planning          a run before it starts: memory, minutes    speeds           how fast training is here
    corpus_view       a corpus as the Repository page shows it   checkpoint_rows  manifests as the table shows them
    changes           what changed since a checkpoint            line_hashes      the same in lines
    recent_edits      files that a completion may use            sample           the copy of the sample project
    replayed_history  a resumed run's earlier events             race             the same steps on every device
    set_aside         folders that were left, to go back to

Engine modules are imported inside the methods: the window is there before the engine is loaded.
"""
