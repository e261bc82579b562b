"""Documents to batches: the held-out split, framing, fill-in-the-middle, windows for the trainer."""
