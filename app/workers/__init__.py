"""Workers: QObjects in threads of their own, called by queued signals, answering with frozen values.

    thread "engine"       engine (devices, checks, race), training, completing, measuring: all on one `Workbench`
    thread "repository"   repository: reads, tokenises, watches and counts changes
    thread "files"        files: everything in the checkpoint store that needs no device; moving: the data folder
    thread "downloads"    downloading: one base model, while it is being fetched

What may be told to a worker in the middle of its work is in `flag`; everything else waits in its queue.  Engine modules
are imported inside the methods: the window is there before the engine is loaded.
"""
