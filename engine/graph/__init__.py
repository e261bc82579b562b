"""What is to be computed, written down before it is computed.

    Tape ──operations emit kernel calls──▶ Program ──who lives when──▶ Plan ──device.compile──▶ Executable ──▶ run, run

A training step is the same few hundred kernel calls every time. So the tape does not compute: its operations write
kernel calls on symbolic tensors into a `Program`, once per shape. The `Plan` then gives every activation an offset in
one arena by its lifetime, which is also the exact memory estimate, before a byte is allocated. A device compiles the
plan (NumPy views on the CPU; bind groups and one parameter arena on WebGPU) and replays it with no decision left to
take.

    kernels      the contract: names, operands and numbers of all that a device must be able to do
    tensor       tensors without numbers, programs          parameters   parameters, and the parts that are trained
    operations   what a model is made of: forward kernels, and the backward that each records
    dense        the same for attention and the gated MLP   projections  matrices, packed or not, with their adapters
    ssd          the same for Mamba-2's scan                gating       what closes a mixer
    mixture      the same for experts                       mixture_kernels  their part of the contract
    fused_kernels  those of one token that do the work of several, and what they stand for
    fusion       where a program has such calls
    tape         reverse-mode differentiation               plan         where every tensor lives
    cost         operations and bytes of a call, from its shapes
"""
