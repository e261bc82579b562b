"""Blocks: one file each.

    block        what a block states: parameters, what it keeps while decoding, its forward pass
    mamba1       convolution, selective scan and gate
    mamba2       the same with heads: B and C shared in a group, one decay a head, the output normed
    attention    grouped-query attention with a cache        gated_mlp    silu(gate) times up
    parallel     Mamba-2 and attention beside each other
    mixture      a gated MLP beside routed experts

A block is one description.  Layout, initialisation, training modes, packing, files, labels and the decoder derive from
it; adding one touches its file, the architecture that uses it, and kernels if it needs new ones.
"""
