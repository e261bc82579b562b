"""The guard on every connection, and the one download a user may ask for: a base model.

connections         the guard: what may be connected to        connection_errors   what it raises
base_models         larger models and their sizes              agreement           what the user is asked first
base_model_fetching downloading one, after the user agreed     package_fetching    the same from the package index
package_model       what that has, for packaging/dev.py, too   listed_pip          pip with its connections listed
"""
