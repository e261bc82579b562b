"""The guard on every connection, and the one download a user may ask for: a base model."""
