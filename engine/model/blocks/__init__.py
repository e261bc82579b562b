"""Blocks: one file each.

    block        what a block states: parameters, what it keeps while decoding, its forward pass
    mamba1       convolution, selective scan and gate
    attention    grouped-query attention with a cache        gated_mlp    silu(gate) times up
    mixture      a gated MLP beside routed experts

A block is one description.  Layout, initialisation, training modes, packing, files, labels and the decoder derive from
it; adding one touches its file, the architecture that uses it, and kernels if it needs new ones.
"""
