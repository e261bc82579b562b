"""From a folder of source code to what the trainer reads, with a reason for every file.

    walk ─▶ rules.decide_by_path ─▶ text ─▶ rules.decide ─▶ rules.settle_duplicates ─▶ split ─▶ tokenising ─▶ windows
    (gitignore)  (languages,     (safe_opening)  (secrets,      (near_duplicates)
                  overrides)                      minified, ...)

Every step hands on a frozen value (`Entry`, `Reading`, `FileVerdict`) and none of them raises for one bad file: a file
that cannot be read is a verdict like any other. Nothing here writes into the user's folder.

    reading/      which files, and why not the others
    tokens/       text to ids and back, kept on disk
    batches/      the held-out split, and windows for the trainer
    repository    a folder, scanned once, then kept up to date
    corpus        documents and verdicts: what a scan gives
"""
