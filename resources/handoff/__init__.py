"""What `codecoil handoff` puts beside the model and the windows: text for another machine, not code of this program."""
