"""Text to tokens and back.

tokenizer     text to ids and back, also in pieces              byte_alphabet    a character for each byte
tokenizer_files  tokenizers of other projects                 special_tokens   those that stand for no text
tokenizer_training  a byte-level BPE for source code          own_tokenizer    one for an installation without
taught_fim    roles for fill-in-the-middle on unused tokens
code_merges   its merging, compiled
tokenising    many texts, in batches                          token_cache      tokens on disk, by content
tokenizer_trial  whether a foreign tokenizer finishes, tried within a time limit
"""
