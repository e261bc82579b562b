"""Checkpoints: a store that loses nothing, compares everything and speaks the formats people use.

    trainer, imports, merges                              completion, exports, comparisons
            │ save, save_delta, adopt                               ▲ load_parameters
            ▼                                                       │
    store, store_reading ── store_contents  which there are ── loading      mapped tensors, deltas applied
            │               manifest   what one says of itself   delta        rows and low-rank pairs on a base
            │               card       the same, for a person    packed_models  in few bits
            ▼               tags       the one with a meaning
    store_moves, writing    temporary, flushed, renamed       safe_reading    checked before anything is allocated
            │                                                       ▲
            └──────────────────────▶  folders on disk  ─────────────┘

    checking    verify: what is wrong with a checkpoint, in words
    compare, merge                     seeing and combining (comparable: what can be, comparison_side: one of the two)
    number_formats                     the precisions by name, made of scalar_formats (float16, int8, fp8),
                                       block_formats (Q8_0, Q4_0) and group_formats (int4, fp4, ternary, binary)
    precision_table                    what each of them costs in bytes, error and held-out loss
    spans, progress                    long arrays in pieces on all cores, and how far that is
    formats/                           Hugging Face folders, GGUF, MBJS, one-file bundles

A checkpoint is a folder; its `manifest.json` is the only truth about it, and there is no index. Nothing is changed once
it has its name, so that readers need no lock and a kill leaves the old or the new. No pickle is ever read or written.
"""
