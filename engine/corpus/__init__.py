"""From a folder of source code to what the trainer reads, with a reason for every file.

    walk ─▶ rules.decide_by_path ─▶ text ─▶ rules.decide ─▶ rules.settle_duplicates ─▶ split ─▶ tokenising ─▶ windows
    (gitignore)  (languages,     (safe_opening)  (secrets,      (near_duplicates)
                  overrides)                      minified, ...)

Every step hands on a frozen value (`Entry`, `Reading`, `FileVerdict`) and none of them raises for one bad file: a file
that cannot be read is a verdict like any other. Nothing here writes into the user's folder.

Which files:
    repository    a folder, scanned once, then kept up to date    listing      all its files with their verdicts
    walk          every file once                                 gitignore    the rules of git, as git reads them
    git           asking git, without running what it configures  languages    what a path says about a file
    kinds         code, prose, data, configuration or generated
    rules         the decision, cheapest question first           verdict      what it is, with its reason
    safe_opening  bytes: no link, no pipe, no endless growth      text         bytes to text: which encoding, or none
    secrets       places that look like secrets                   secret_patterns  what secrets look like
    near_duplicates  texts that are nearly the same               duplicate_candidates  whom a change may concern
    overrides     the user's own choices                          settings     what can be set about reading
    byte_passes   the passes over every byte, compiled            verdict_cache  what reading told, kept between scans
    scan_progress who looks on, and may stop it                   disk         how all of this is written

Which tokens:
    tokenizer     text to ids and back, exactly                   byte_alphabet    a character for each byte
    tokenizer_files  other people's tokenizers                    special_tokens   those that stand for no text
    tokenizer_training  a byte-level BPE for source code          own_tokenizer    one for a repository without
    code_merges   its merging, compiled                           incremental_decoder  ids to text while they come
    tokenising    many texts, in batches                          token_cache      tokens on disk, by content

Which batches:
    split         which files are only measured on                held_out     that choice as the repository lives on
    held_out_parts  validation and scoring                        documents    texts in a fixed order with their tokens
    corpus        documents and verdicts: what a scan gives
    framing       separator, path, content, end                   fim          whose middle goes to the end, and where
    windows       batches of windows for the trainer
"""
