"""Workers: what runs outside the GUI thread."""
