"""The parts of `packaging/starter_model.py`, in the order in which they work:

package_lists ─▶ fetching ─▶ prepared_corpus ─▶ training ─▶ exporting
"""
