"""The tour that `take_tour.py` takes: scenes in the real window, on the real engine, with a picture of each.

    scenes.py               the scenes in order, each with its time
    simulated_user.py       clicks, keys and waiting: what a user does
    camera.py               pictures, in both themes and in several sizes
    repository_scenes.py    first start, the sample project, its secrets, what the model does not know yet
    base_model_scenes.py    the offer of a stronger base, the list of base models
    adapt_scenes.py         modes, a run, a pause, the result, changed files, leaving during a run
    complete_scenes.py      a suggestion before and after, side by side, blended, along the run
    checkpoint_scenes.py    list, drift, merge, trash
    settings_scenes.py      settings, the check of the device

Everything is done with clicks and keys; controllers are only read, to know when a scene is complete.
"""
