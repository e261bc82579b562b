"""The data folder: where it is, how it moves, and the log in it."""
