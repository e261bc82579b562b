"""The page "Repository": which files are learned, which are not and why, and what changed since the last checkpoint.

page            puts the parts together and listens to the RepositoryController
start_pane      nothing is open: choose a folder, try the sample, the recent ones
figures         learned, held out, left out, secrets
language_bar    the share of each language, and the switch to leave one out
file_tree       rows of files as a tree with sums, filtered and sorted (no Qt)
tree_builder    builds it, a large one beside the window's thread
file_model      that tree for Qt
file_view       how it is clicked and typed at
file_delegate   how it is drawn
filters         what is shown of it
secrets_view    the secrets found: where and of which kind, never what they say
changes_banner  "14 files, 412 lines since this checkpoint"
"""
