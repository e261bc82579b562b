"""The model: its shape, its parameters, its forward pass, its training step and its files.

    config ─▶ blueprint ──(on a device)──▶ model ─┬─ network: forward on a tape ─▶ logits, loss
    files ─▶ parameters ──────────────────▶       └─ selection ─▶ trained ─▶ step: forward, backward, clip, AdamW

    config       the shape, in the words of Hugging Face's `config.json`; presets
    blueprint    where every parameter would live and what a mode would cost, before a byte is allocated
    layout       parameters in slabs that a device can bind at once
    storage      in what precision the large matrices are kept: float32, or packed in 16 or 8 bits
    parameter_map    parameters by name as NumPy arrays, read from and written to the device
    storage      in what precision the large matrices are kept: float32, or packed in 16 or 8 bits
    parameter_map    parameters by name as NumPy arrays, read from and written to the device
    initialise   the first weights of a new model
    network      embedding, blocks in order, norm, head: for training and for decoding
    blocks/      one file a block: parameters, state and forward pass, stated once
    architectures/   one configuration class a family, by `model_type`
    model        `Model`: weights on a device and what can be asked of them; other programs build on it
    modes        the names of the training modes
    selection    what a mode trains: full, WSLA, LoRA or vocabulary, as rows of parameters
    trained      gradients and moments of such a selection, and its values in and out
    step         one optimisation step as programs
    shallow      a model cut to a few layers, to measure how fast the whole one would be
    files        folders in Hugging Face format, in and out
    starter      the model that Codecoil comes with

The network is written down once; which device computes it, which rows are trained and how the batch is cut are not its
business. Names of parameters are Hugging Face's everywhere.
"""
