"""The store: checkpoints written whole, read with every size checked, verified, moved to the trash."""
