"""The one tag that means something to the program; imports nothing, so that the window can have it early."""

SNAPSHOT_TAG = "timeline"  # kept along a run, for looking back at it: no result, and thrown away with its run
