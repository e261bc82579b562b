"""What ships beside the code: fonts and icons.  Read through `importlib.resources`; no code lives here."""
