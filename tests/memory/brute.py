"""What the memory should find, by looking at every place of every document."""

from __future__ import annotations

import numpy as np

from engine.memory.segment import Segment, build_segment

Documents = list[list[int]]


def segment_of(documents: Documents, vocabulary: int) -> Segment:
    content = [(f"{number}.py", f"d{number}", np.array(ids, np.int64)) for number, ids in enumerate(documents)]
    return build_segment(content, vocabulary)


def followers(documents: Documents, context: list[int], end: int) -> list[int]:
    """The token after every occurrence of `context` in a document, `end` at its end; sorted."""
    found = []
    for ids in documents:
        for place in range(len(context), len(ids) + 1):
            if ids[place - len(context) : place] == context:
                found.append(ids[place] if place < len(ids) else end)
    return sorted(found)
