"""Text to tokens and back.

tokenizer     text to ids and back, exactly                   byte_alphabet    a character for each byte
tokenizer_files  other people's tokenizers                    special_tokens   those that stand for no text
tokenizer_training  a byte-level BPE for source code          own_tokenizer    one for a repository without
code_merges   its merging, compiled                           incremental_decoder  ids to text while they come
tokenising    many texts, in batches                          token_cache      tokens on disk, by content
tokenizer_trial  whether a foreign tokenizer finishes, tried within a time limit
"""
