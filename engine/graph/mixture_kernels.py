"""The kernels of a mixture of experts, as rows of the table in `kernels`: name, operands, numbers, meaning.

Letters: t tokens, e experts, k of them chosen for a token, t*k pairs of a token and one of its experts. Sorted rows are
the pairs, expert after expert and in each by token; `starts` (e+1) says where the rows of each expert begin. The
matrices of all experts lie below each other in one.
"""

ROWS = (
    (
        "route",
        "logits:r2 chosen:w2i gates:w2",
        "",
        "chosen (t, k) = the k largest of each row of logits (t, e), equal ones by index; gates (t, k) = the softmax "
        "over these k",
    ),
    (
        "route_backward",
        "d_gates:r2 gates:r2 chosen:r2i logits:r2 pull:r1? targets:r1i? d_logits:w2",
        "",
        "d_logits (t, e) of route; with pull (e) also of the sum of softmax(logits) @ pull over all tokens whose "
        "target is not negative",
    ),
    (
        "routing_sums",
        "logits:r2 chosen:r2i targets:r1i counts:w2 chances:w2",
        "",
        "over p blocks of ceil(t/p) tokens each, without those whose target is negative: counts (p, e) of choices, and "
        "chances (p, e+1): sums of softmax(logits) and, last, the number of tokens",
    ),
    (
        "balance",
        "counts:r2 chances:r2 scalars:r1 loss:x1 pull:w1",
        "factor",
        "from counts (layers, e) and chances (layers, e+1) over n tokens, F and P being their means over layers and "
        "tokens: loss[0] += factor * n * e * F.P and pull (e) = its derivative by a chance, times scalars[0]",
    ),
    (
        "group_rows",
        "chosen:r2i order:w1i tokens:w1i places:w2i starts:w1i",
        "",
        "order (t*k): the pair of each sorted row, tokens (t*k): its token, places (t, k): the sorted row of each "
        "pair, starts (e+1)",
    ),
    (
        "grouped_nt",
        "a:r2 b:r2 starts:r1i c:w2",
        "",
        "c (rows, j) = a (rows, i) @ b[expert of the row] (j, i)^T for b (e*j, i)",
    ),
    (
        "grouped_nn",
        "a:r2 b:r2 starts:r1i c:w2",
        "alpha",
        "c (rows, j) = alpha * a (rows, i) @ b[expert of the row] (i, j) for b (e*i, j)",
    ),
    (
        "grouped_tn",
        "a:r2 b:r2 starts:r1i c:x2",
        "alpha accumulate",
        "c[expert] (i, j) (+)= alpha * a (its rows, i)^T @ b (its rows, j) for c (e*i, j); zero for an expert without "
        "rows",
    ),
    (
        "routed_swiglu",
        "joined:r2 gates:r2 order:r1i? g:w2",
        "",
        "g (t*k, f) = silu(joined[:, :f]) * joined[:, f:] * the gate of the row; rows are sorted by `order`, without "
        "it they are pairs as they come",
    ),
    (
        "routed_swiglu_backward",
        "d_g:r2 joined:x2 gates:r2 order:r1i g:w2 d_gates:w2",
        "",
        "in place: joined (t*k, 2f) becomes its gradient; g is computed again; d_gates (t, k)",
    ),
    (
        "combine",
        "rows:r2 places:r2i? y:x2",
        "factor",
        "y (t, m) += factor * the sum of the k rows of each token: those at places (t, k), or k after each other",
    ),
    (
        "expert_rows_nt",
        "inputs:r2 b:r2 chosen:r2i c:w2",
        "",
        "c (t*k, j) = inputs (t or t*k, i) @ b[chosen] (j, i)^T for b (e*j, i), for at most 8 tokens",
    ),
    ("expert_rows_nt_float16", "inputs:r2 b:r2h chosen:r2i c:w2", "", "expert_rows_nt for b in float16"),
    (
        "expert_rows_nt_int8",
        "inputs:r2 b:r2i chosen:r2i c:w2 scales:r2",
        "",
        "expert_rows_nt for b in 8 bits: words and scales as narrow_int8 leaves them",
    ),
)
