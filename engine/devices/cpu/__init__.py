"""The CPU device: every laptop has one, and every other device is checked against it.

    plan ──device._bind──▶ calls with many rows: a function each, on views    products, layers, scan, mixture, updates
                       └─▶ calls with few rows: one table, replayed whole     replay ─▶ few_products, few_rows

A training step is a few hundred calls that each keep all cores busy: NumPy's BLAS does the products, functions compiled
by Numba the rest. A token of a completion is some fifty calls that are over before a thread has woken up: those are
bound into a table of addresses, and all cores go through it together.

    device         buffers, which function a kernel name means, a plan bound to arrays
    products       the three matrix products, by BLAS
    layers         embedding, norm, MLP, convolution, loss
    scan           the selective scan                    few_heads     Mamba-2's scan on a few rows
    ssd            Mamba-2's scan, as small products     ssd_tiles     its inner loops
    attention      its tasks and rows                    attention_tiles  its inner loops
    updates        sums, norms, AdamW, fills, casts      compile       how all of these are compiled
    replay         programs of few rows                  program_table its rows: where operands are, how they are cut up
    few_products   products of a few rows                few_attention attention of a few rows against a cache
    few_rows       everything else on a few rows         halves        rows of float16 and float32
    mixture        routing and rows of experts           grouped_products  their products
    few_experts    the same for a few rows
    task_sharing   who takes which task, without sleep   memory        numbers by address
    simd           sixteen lanes as one value            vector_math   exponentials and their kin
    choosing       the draw of the next token
    peaks          what the processor can do at most, for the benchmark

Every sum has a fixed order, whatever the number of threads: the same input gives the same bytes.
"""
