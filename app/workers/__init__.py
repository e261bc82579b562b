"""Workers: QObjects in threads of their own, called by queued signals, answering with frozen values.

    thread "engine"       engine (devices, checks, race), training, completing, measuring: all on one `OpenDevice`
    thread "repository"   repository: reads, tokenises and counts changes; remembering: its memory; watching
    thread "files"        files: everything in the checkpoint store that needs no device; moving: the data folder
    thread "downloads"    downloading: one base model, while it is being fetched

    open_device       the open device and the models on it          loaded_model     one of these, or a blend of two
    planning          a run before it starts: memory and minutes    speeds           how fast training is here
    corpus_view       a corpus as the Repository page shows it      checkpoint_rows  manifests as the table shows them
    race              the same steps on every device
    changes           what changed since a checkpoint               line_hashes      the same in lines
    recent_edits      files that a completion may look at           sample           the copy of the sample project
    failures          exceptions as the window shows them           replayed_history what a resumed run told before

What may be told to a worker in the middle of its work is in `cancellation`; everything else waits in its queue.
Engine modules are imported inside the methods: the window is there before the engine is loaded.
"""
