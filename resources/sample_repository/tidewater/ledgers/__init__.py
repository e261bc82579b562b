"""Where things are kept.  Every ledger has the same four doors: fetch_one, fetch_many, store, forget."""
