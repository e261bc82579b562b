"""Which file of the repository a text is from, for clients that do not say.

A few lines of the text are looked up in the memory's index. The file that has most of them is the one, if it has most
of all lines that were tried: a new file that borrows some lines from others is nobody's.
"""

from __future__ import annotations

from collections import Counter

from engine.memory.snapshot import MemorySnapshot

PROBES = 12  # lines that are looked up
LEAST_LETTERS = 8  # in such a line
MOST_FILES = 32  # a line that is in more says nothing
LEAST_FOUND, LEAST_SHARE = 2, 0.6  # of the lines that must be in the file


def find_file(memory: MemorySnapshot, prefix: str, suffix: str) -> str:
    """The path; "" where there is no such file."""
    lines = probes(prefix, suffix)
    votes: Counter[str] = Counter()
    for line in lines:
        paths = _paths_with(memory, line)
        for path in paths if len(paths) <= MOST_FILES else ():
            votes[path] += 1 / len(paths)
    best = [path for path, _ in votes.most_common(3)]
    found = [(share_of(text_of(memory, path), lines), -number, path) for number, path in enumerate(best)]
    share, _, path = max(found, default=(0.0, 0, ""))
    return path if share >= LEAST_SHARE and len(lines) * share >= LEAST_FOUND else ""


def is_from(text: str, prefix: str, suffix: str) -> bool:
    """Whether a text around a cursor is from the file with this text."""
    lines = probes(prefix, suffix)
    share = share_of(text, lines)
    return share >= LEAST_SHARE and len(lines) * share >= LEAST_FOUND


def probes(prefix: str, suffix: str) -> list[str]:
    """Whole lines of the text, evenly spread, each once, without the cursor's."""
    every = [*prefix.split("\n")[1:-1], *suffix.split("\n")[1:-1]]
    lines = list(dict.fromkeys(line for line in every if sum(map(str.isalpha, line)) >= LEAST_LETTERS))
    if len(lines) <= PROBES:
        return lines
    return [lines[place * (len(lines) - 1) // (PROBES - 1)] for place in range(PROBES)]


def share_of(text: str, lines: list[str]) -> float:
    """How many of the lines the text has, as a share."""
    whole = f"\n{text}\n"
    return sum(f"\n{line}\n" in whole for line in lines) / len(lines) if lines else 0.0


def text_of(memory: MemorySnapshot, path: str) -> str:
    """The text of a file as the memory has it; "" where it has none."""
    parts = []
    for segment, dead in zip(memory.segments, memory.dead, strict=True):
        for entry in segment.of_path(path):
            if not (len(dead) and dead[entry.start]):
                parts.append(memory.tokenizer.decode_bytes(segment.tokens[entry.start : entry.start + entry.count]))
    return b"".join(parts).decode("utf-8", "replace")


def _paths_with(memory: MemorySnapshot, line: str) -> set[str]:
    """The files that have the inside of a line: its first and last token may be joined with what is around it."""
    ids = memory.tokenizer.encode(line.strip())[1:-1]
    return {place.path for place in memory.places_of(ids)} if len(ids) >= 3 else set()
