"""Prompts in which a client has already put prefix and suffix between the markers of some model's training.

Six templates are in use. What stands before the first marker is context: other files under `<|file_sep|>path` or
Codestral's `+++++ path`, of which the last one is the open file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.server.protocols.wanted import Chunk

# prefix marker, suffix marker, middle marker; "" where the template has none
TEMPLATES = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),  # Qwen
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),  # StarCoder
    ("<PRE> ", " <SUF>", " <MID>"),  # Code Llama
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),  # DeepSeek
    ("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
)
SUFFIX_FIRST = ("[SUFFIX]", "[PREFIX]")  # Codestral
FILE = re.compile(r"(?:<\|file_sep\|>|^\+\+\+\+\+ )([^\n]*)\n", re.M)
REPOSITORY = re.compile(r"<\|repo_name\|>[^\n]*\n?")
NOTE = re.compile(r"\A(?:\W{1,4} ?(?:language|indentation): [^\n]*\n)+")  # minuet writes these above the text


@dataclass(frozen=True)
class Parts:
    """What a prompt is made of; `path` is that of the open file, if it is named."""

    prefix: str
    suffix: str
    path: str = ""
    chunks: tuple[Chunk, ...] = ()


def parts_of(prompt: str) -> Parts | None:
    """The parts of a prompt; None where it has no markers: a text to be continued."""
    for opening, between, closing in TEMPLATES:
        begin = prompt.find(opening)
        middle = prompt.find(between, begin + len(opening)) if begin >= 0 else -1
        end = prompt.rfind(closing)
        if 0 <= begin < middle < end:
            prefix = prompt[begin + len(opening) : middle]
            return _with_files(prompt[:begin], prefix, prompt[middle + len(between) : end])
    begin, middle = (prompt.find(marker) for marker in SUFFIX_FIRST)
    if 0 <= begin < middle:
        suffix = prompt[begin + len(SUFFIX_FIRST[0]) : middle]
        inside = _with_files("", prompt[middle + len(SUFFIX_FIRST[1]) :], suffix)
        return with_named_files(inside.prefix, inside.suffix)
    return None


def with_named_files(prefix: str, suffix: str) -> Parts:
    """A prefix that begins with other files, Codestral's way (`+++++ path`); the last one named is the open file."""
    found = list(FILE.finditer(prefix)) if prefix.startswith(("+++++ ", "<|file_sep|>", "<|repo_name|>")) else []
    if not found:
        return Parts(without_notes(prefix), suffix)
    last = found[-1]
    parts = _with_files(prefix[: last.end()], prefix[last.end() :], suffix)
    return Parts(without_notes(parts.prefix), suffix, parts.path, parts.chunks)


def without_notes(prefix: str) -> str:
    """Without the lines about language and indentation that a client has put above the text."""
    return NOTE.sub("", prefix)


def _with_files(before: str, prefix: str, suffix: str) -> Parts:
    before = REPOSITORY.sub("", before)
    found = list(FILE.finditer(before))
    if not found:
        return Parts(without_notes(prefix), suffix)
    ends = [each.start() for each in found[1:]] + [len(before)]
    files = [Chunk(each[1].strip(), before[each.end() : end]) for each, end in zip(found, ends, strict=True)]
    named = files[-1] if not files[-1].text.strip() else None  # a name without text: the open file
    chunks = tuple(each for each in files if each is not named and each.text.strip())
    return Parts(without_notes(prefix), suffix, named.path if named is not None else "", chunks)
