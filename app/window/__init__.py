"""The window: header, rail, pages and footer.

Panes show what the controller knows and ask it for what the user wants; they compute nothing.
"""
