"""Checkpoints: a store that loses nothing, comparing and combining, and the formats that other programs use.

    trainer, imports, merges                          completion, exports, comparisons
            │ save, save_delta, adopt                           ▲ load_parameters
            ▼                                                   │
    store/      store, reading ── contents (what there is), manifest (what is known of one), card (for people)
                loading           mapped tensors, deltas applied (delta)
                writing, moves    temporary, flushed, renamed         checking    verify
            │                                                   ▲
            └──────────────▶  folders on disk  ─────────────────┘

    combining/  compare, merge, and models in fewer bits (number_formats, packed_models, precision_table)
    formats/    Hugging Face folders, GGUF, MBJS, PEFT adapters, one-file bundles

A checkpoint is a folder; its `manifest.json` is the only truth about it, and there is no index. Nothing is changed once
it has its name, so that readers need no lock and a kill leaves the old or the new. No pickle is ever read or written.
What others wrote is read by `engine.safe_reading` and `engine.tensor_file`, which check before they allocate.
"""
