"""The data folder.

data_folder   where it is       data_move   moving it: copied, verified, switched      log_file   the log in it
"""
