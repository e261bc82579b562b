"""The guard on every connection, and the one download a user may ask for: a base model.

connections     the guard: what may be connected to     connection_errors    what it raises
base_models     larger models, with what they cost      base_model_fetching  getting one, after a yes
"""
