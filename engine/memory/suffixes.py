"""The places in a text of tokens, sorted by what precedes them; compiled, without Numba's own threads.

The text is documents one after another, with a border before, between and after them:

    tokens     | d o c | n e x t |
    order      the places 1 .. n-1, sorted by the tokens before each, read backwards to its document's border

All places that follow the same k tokens are adjacent, and those that follow k+1 of them lie inside that range: the
longest part of a context that occurs anywhere is found by narrowing one range. A border matches no token, so no match
crosses it.
"""

from __future__ import annotations

import numpy as np

from engine.compiling import compiled

LONGEST = 24  # tokens of context that are compared; places that agree in more are in no particular order
FEW = 12  # places; fewer are sorted by insertion
STACK = 128  # more than 2 log3 of any number of places: the largest part always comes last


@compiled(nogil=True)
def sort_by_last(tokens, order, begins):
    """order (n-1,): the places 1 .. n-1 by the token before each.  begins (border + 2,): where each token's places
    start in it.
    """
    begins[:] = 0
    for place in range(1, len(tokens)):
        begins[tokens[place - 1] + 1] += 1
    for token in range(1, len(begins)):
        begins[token] += begins[token - 1]
    free = begins.copy()
    for place in range(1, len(tokens)):
        token = tokens[place - 1]
        order[free[token]] = place
        free[token] += 1


@compiled(nogil=True)
def sort_buckets(tokens, order, begins, first, last, border):
    """Sort the places after each of the tokens first .. last-1 by the LONGEST tokens before them.

    A three-way radix quicksort: a part is split by one token, and only the places that agree in it look further back.
    """
    keys = np.empty(0, tokens.dtype)
    stack = np.empty((STACK, 4), np.int64)
    for token in range(first, last):
        base, end = begins[token], begins[token + 1]
        if end - base < 2 or token == border:
            continue
        if len(keys) < end - base:
            keys = np.empty(end - base, tokens.dtype)
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = base, end, 1, 0
        height = 1
        while height:
            height -= 1
            low, high, depth, known = stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3]
            if high - low < 2 or depth >= LONGEST:
                continue
            if high - low <= FEW:
                _insert(tokens, order, low, high, depth, border)
                continue
            if not known:
                for x in range(low, high):
                    keys[x - base] = tokens[order[x] - 1 - depth]
            pivot = _median(keys[low - base], keys[(low + high) // 2 - base], keys[high - 1 - base])
            less, x, more = low, low, high
            while x < more:
                key = keys[x - base]
                if key == pivot:
                    x += 1
                    continue
                if key < pivot:
                    y = less
                    less += 1
                else:
                    more -= 1
                    y = more
                keys[x - base], keys[y - base] = keys[y - base], keys[x - base]
                order[x], order[y] = order[y], order[x]
                if key < pivot:
                    x += 1
            height = _push(stack, height, low, less, more, high, depth, pivot == border)


@compiled(nogil=True)
def _push(stack, height, low, less, more, high, depth, ended):
    """The three parts of a split, the largest one lowest, so that the stack stays small."""
    begin = height
    stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3] = low, less, depth, 1
    height += 1
    stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3] = more, high, depth, 1
    height += 1
    if not ended:
        stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3] = less, more, depth + 1, 0
        height += 1
    for x in range(begin + 1, height):
        y = x
        while y > begin and stack[y, 1] - stack[y, 0] > stack[y - 1, 1] - stack[y - 1, 0]:
            for column in range(4):
                stack[y, column], stack[y - 1, column] = stack[y - 1, column], stack[y, column]
            y -= 1
    return height


@compiled(nogil=True)
def _median(a, b, c):
    if a > b:
        a, b = b, a
    if b > c:
        b = c
    return a if a > b else b


@compiled(nogil=True)
def _insert(tokens, order, low, high, depth, border):
    for x in range(low + 1, high):
        place, y = order[x], x
        while y > low and _comes_before(tokens, place, order[y - 1], depth, border):
            order[y] = order[y - 1]
            y -= 1
        order[y] = place


@compiled(nogil=True)
def _comes_before(tokens, first, second, depth, border):
    """Of two places that agree in the `depth` tokens before them."""
    for back in range(depth, LONGEST):
        a, b = tokens[first - 1 - back], tokens[second - 1 - back]
        if a != b:
            return a < b
        if a == border:
            return False
    return False


@compiled(nogil=True)
def narrow(tokens, order, low, high, depth, token):
    """Of the places order[low:high], which agree in the `depth` tokens before them, those with `token` before these."""
    begin, end = low, high
    while begin < end:
        middle = (begin + end) // 2
        if tokens[order[middle] - 1 - depth] < token:
            begin = middle + 1
        else:
            end = middle
    first, end = begin, high
    while begin < end:
        middle = (begin + end) // 2
        if tokens[order[middle] - 1 - depth] <= token:
            begin = middle + 1
        else:
            end = middle
    return first, begin


@compiled(nogil=True)
def match(tokens, order, context, ranges):
    """ranges (LONGEST + 1, 2): for each k the places that follow the last k tokens of `context`; returns the longest k
    for which there are any.
    """
    low, high = 0, len(order)
    ranges[0, 0], ranges[0, 1] = low, high
    most = min(LONGEST, len(context))
    for depth in range(most):
        low, high = narrow(tokens, order, low, high, depth, context[len(context) - 1 - depth])
        if low == high:
            return depth
        ranges[depth + 1, 0], ranges[depth + 1, 1] = low, high
    return most
