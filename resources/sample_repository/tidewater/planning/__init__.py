"""What follows.  Pure functions from records to an Outcome; no ledger is touched here."""
