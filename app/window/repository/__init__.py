"""The page "Repository": which files are learned, which are not and why, and what changed since the last checkpoint.

page            puts the parts together and listens to the RepositoryController
start_pane      nothing is open: choose a folder, try the sample, open a recent one
overview        every repository that was read, with its model and memory
figures         to learn, held out, left out, secrets
language_bar    the share of each language, and a menu that switches languages on and off
file_tree       rows of files as a tree with sums, filtered and sorted (no Qt)
tree_builder    builds it, a large one outside the window's thread
file_model      that tree for Qt
file_view       keys, mouse and menu of the list
file_delegate   how a row is drawn
filters         which files are listed
secrets_view    the secrets found: where and of which kind, never the secrets themselves
changes_banner  "14 files, 412 lines since this checkpoint"
"""
