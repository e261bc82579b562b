"""The benchmark: what this machine does with every kernel, in figures that can be given to the authors.

A device is first asked what it can do at most (`Device.peaks`). Then programs of real models are taken apart: every
call is run often enough to be timed, with the operands that it has there, so that shapes, contents and the share of
the whole are those of training and completing. Kernels that no such program has run on samples.

    workloads  the programs that are taken apart
    timing     seconds of a call, whatever a submit costs
    machine    what may be said about a machine: nothing private
    results    what was measured, as values
    run        all of it within a time

Only speed is measured here; whether the numbers are right is the self-test's business.
"""
