"""The data folder.

data_folder     where it is                    data_move   moving it: copied, verified, switched
settings_file   the settings, without Qt       log_file    the log in it
model_folders   where other programs keep their models
machine_speeds  how fast this machine is with models that were measured
"""
