"""The help: a page for each pane and a few besides, searchable, with keys and commands read from the program itself.

pages     the texts of resources/help, their order, and the search in them (no Qt)
dressing  Markdown in our colours and distances
keys      the keys of a widget, read from its actions, so that they cannot go stale
window    the window
"""
