"""From a folder of source code to what the trainer reads, with a reason for every file.

    walk ─▶ rules.decide_by_path ─▶ read ─▶ rules.decide ─▶ rules.settle_duplicates ─▶ split, tokens, windows
    (gitignore)  (languages,         (text)   (secrets,        (near_duplicates)
                  overrides)                   minified, ...)

Every step hands on a frozen value (`Entry`, `Reading`, `FileVerdict`) and none of them raises for one bad file: a file
that cannot be read is a verdict like any other. Nothing here writes into the user's folder.
"""
