"""What RADV says of a compiled kernel: its figures, and what a turn of its loops issues.

A loop is a branch to an earlier block, without the loops inside it.  The hottest one is taken to be that with the most
multiply-adds (the most vector instructions where there are none).  Instruction counts are not times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

STATISTIC = re.compile(r"^([A-Z][A-Za-z ]+): (\d+)$")
# The driver prints its own form of a program, or, where it has a disassembler, the machine's.
LABEL = re.compile(r"^BB(\d+):?$")
TARGET = re.compile(r"\bBB(\d+)")
VECTOR = re.compile(r"(?:^|= |:: |\s)(v_[a-z0-9_]+)")
FMA = re.compile(r"v_(dual_|pk_)?fma")


Block = tuple[int, list[str]]  # its number and its lines


@dataclass(frozen=True)
class Counts:
    """Instructions of some blocks: vector ones, multiply-adds among them, workgroup memory, other memory."""

    vector: int = 0
    fma: int = 0
    shared: int = 0
    memory: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def fma_share(self) -> float:
        return self.fma / self.vector if self.vector else 0.0


@dataclass(frozen=True)
class Code:
    """A kernel's machine code."""

    registers: int
    waves: int  # of 64 lanes, on one of the compute unit's vector units
    spills: int
    shared_bytes: int
    instructions: int
    hottest: Counts  # a turn of the hottest loop


def read_code(text: str) -> Code:
    """The first kernel in what the driver printed."""
    blocks, statistics = _blocks_and_statistics(text)
    bodies = _bodies(blocks, _loops(blocks)) or [_sum(blocks)]
    return Code(
        registers=statistics["VGPRs"],
        # RADV counts in waves of 32 lanes on these GPUs, whatever the wave is.
        waves=statistics["Subgroups per SIMD"] // 2,
        spills=statistics["Spilled VGPRs"] + statistics["Spilled SGPRs"] + statistics["Scratch size"],
        shared_bytes=statistics["LDS size"],
        instructions=statistics["Instructions"],
        hottest=max(bodies, key=lambda body: (body.fma, body.vector)),
    )


def _blocks_and_statistics(text: str) -> tuple[list[Block], dict[str, int]]:
    blocks: list[Block] = []
    statistics: dict[str, int] = {}
    for line in text.splitlines():
        if match := LABEL.match(line):
            blocks.append((int(match[1]), []))
        elif match := STATISTIC.match(line):
            statistics[match[1]] = int(match[2])
        elif line.startswith("*****") and statistics:
            break
        elif blocks and not statistics:
            blocks[-1][1].append(line.split(";")[0])
    return blocks, statistics


def _loops(blocks: list[Block]) -> list[tuple[int, int]]:
    """First and last place of the blocks of each loop."""
    places = {number: place for place, (number, _) in enumerate(blocks)}
    ends: dict[int, int] = {}
    for place, (_, lines) in enumerate(blocks):
        for line in lines:
            for target in TARGET.findall(line):
                if line.lstrip().startswith(("s_branch", "s_cbranch")) and places[int(target)] <= place:
                    ends[places[int(target)]] = max(place, ends.get(places[int(target)], 0))
    return sorted(ends.items())


def _bodies(blocks: list[Block], loops: list[tuple[int, int]]) -> list[Counts]:
    """What a turn of each loop issues, without the loops inside it."""
    owned: dict[tuple[int, int], list[Block]] = {loop: [] for loop in loops}
    for place, block in enumerate(blocks):
        around = [loop for loop in loops if loop[0] <= place <= loop[1]]
        if around:
            owned[min(around, key=lambda loop: loop[1] - loop[0])].append(block)
    return [_sum(own) for own in owned.values()]


def _sum(blocks: list[Block]) -> Counts:
    return sum((_count(line) for _, lines in blocks for line in lines), Counts())


def _count(line: str) -> Counts:
    """One line; a dual instruction counts as the two that it is."""
    vector = VECTOR.findall(line)
    fma = sum(bool(FMA.match(name)) for name in vector)
    return Counts(
        len(vector), fma, int(" ds_" in line or "\tds_" in line), int("buffer_" in line and "s_buffer" not in line)
    )
