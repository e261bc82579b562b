"""What a thing is.  Records are frozen, check themselves, and know how they are written into a row."""
