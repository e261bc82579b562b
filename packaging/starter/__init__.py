"""The parts of `packaging/starter_model.py`, in the order they run:

package_lists ─▶ fetching ─▶ prepared_corpus ─▶ training ─▶ exporting
"""
