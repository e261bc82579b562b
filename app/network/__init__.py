"""The guard on every connection, and the one download a user may ask for: a base model.

connections     the guard: what may be connected to     connection_errors    what it raises
base_models     larger models and their sizes           base_model_fetching  downloading one, after the user agreed
"""
