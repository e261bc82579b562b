"""The help: one page per page of the window and a few more, searchable, with keys and commands read from the program.

pages     the texts of resources/help, their order, and the search (no Qt)
dressing  the look of Markdown: colours and spacing
keys      the keys of a widget, read from its actions, so that it cannot go stale
window    the window
"""
