"""The store: checkpoints written atomically, read with every size checked, verified, moved to the trash.

store, reading     every operation, and the half that only reads     contents   what is in the folder, found each time
manifest, card     what is recorded about a checkpoint               delta      what a training mode changed
writing, moves     how files and folders reach the disk              loading    parameters from mapped files
checking           verification                                      progress   how far a long job is

recitation         what the weights recite of the code that they were trained on, in figures and words
trained_folder     the folder that a checkpoint was trained on, here and in what leaves the machine

Imports nothing, so that the window can have the names early.
"""

SNAPSHOT_TAG = "timeline"  # kept along a run, to look back at it: not its result, and deleted with its run
ROOT = "root"  # in the data of a checkpoint: the folder that it was trained on (`trained_folder` reads it)
