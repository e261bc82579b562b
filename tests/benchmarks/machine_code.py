"""What a driver's compiler has made of a kernel: its figures, and what a turn of its hottest loop issues.

Two forms are read: RADV's own listing of a program for AMD, and ANV's disassembly for Intel.  A loop is a branch back
to an earlier place, without the loops inside it; the hottest one is taken to be that with the most multiply-adds (the
most vector instructions where there are none).  Instruction counts are not times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass

Place = tuple[str, list[str]]  # a label and the lines behind it


@dataclass(frozen=True)
class Wait:
    """Results that are waited for: of workgroup memory, or of other memory; so many vector instructions after that."""

    shared: bool
    after: float


@dataclass(frozen=True)
class Counts:
    """Of a lane: vector and scalar instructions; multiply-adds, all operations on floats, exponentials and the like;
    bytes from and to workgroup memory and other memory; what is waited for.
    """

    vector: float = 0
    scalar: float = 0
    fma: float = 0
    operations: float = 0
    slow: float = 0
    shared: float = 0
    memory: float = 0
    waits: tuple[Wait, ...] = ()

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def times(self, count: int) -> Counts:
        return Counts(*(each * count for each in vars(self).values()))

    @property
    def fma_share(self) -> float:
        return self.fma / self.vector if self.vector else 0.0


@dataclass(frozen=True)
class Code:
    """A kernel's machine code."""

    registers: int
    waves: int  # of 64 lanes, on one of the compute unit's vector units, at most
    spills: int
    shared_bytes: int
    instructions: int
    hottest: Counts  # a turn of the hottest loop
    around: Counts  # a turn of the loop around that one, without it; nothing where there is none

    def as_json(self) -> dict:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict) -> Code:
        counts = {
            name: Counts(**{**values[name], "waits": tuple(Wait(**each) for each in values[name]["waits"])})
            for name in ("hottest", "around")
        }
        return cls(**{**values, **counts})


def read_code(text: str) -> Code | None:
    """The first kernel in what the driver printed; None where that has none."""
    if "SHADER STATS" in text:
        return _read_radv(text)
    return _read_anv(text) if "Native code for" in text else None


class _Body:
    """Counts what a sequence of instructions issues."""

    def __init__(self) -> None:
        self.vector = self.scalar = self.fma = self.operations = self.slow = self.shared = self.memory = 0.0
        self._waits: list[Wait] = []
        self._begun: dict[bool, float] = {}  # by kind: vector instructions before the first load not yet waited for

    def count(self, weight: float, fma: bool = False, simple: bool = False, slow: bool = False) -> None:
        self.vector += weight
        self.fma += weight * fma
        self.operations += weight * (2 * fma + simple)
        self.slow += weight * slow

    def load(self, shared: bool, nbytes: float) -> None:
        self.store(shared, nbytes)
        self._begun.setdefault(shared, self.vector)

    def store(self, shared: bool, nbytes: float) -> None:
        if shared:
            self.shared += nbytes
        else:
            self.memory += nbytes

    def wait(self, shared: bool) -> None:
        if shared in self._begun:
            self._waits.append(Wait(shared, self.vector - self._begun.pop(shared)))

    @property
    def counts(self) -> Counts:
        return Counts(
            self.vector,
            self.scalar,
            *(self.fma, self.operations, self.slow),
            *(self.shared, self.memory),
            tuple(self._waits),
        )


# ---- AMD

RADV_STATISTIC = re.compile(r"^([A-Z][A-Za-z ]+): (\d+)$")
# The driver prints its own form of a program, or, where it has a disassembler, the machine's.
RADV_LABEL = re.compile(r"^BB(\d+):?$")
RADV_TARGET = re.compile(r"\bBB(\d+)")
RADV_VECTOR = re.compile(r"(?:^|= |:: |\s)(v_[a-z0-9_]+)")
RADV_FMA = re.compile(r"v_(dual_|pk_)?fma")
RADV_SIMPLE = re.compile(r"v_(dual_)?(add|sub|subrev|mul|max|min)_f32")
RADV_SLOW = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_f32")
RADV_UNISSUED = ("s_waitcnt", "s_delay_alu", "s_clause", "s_nop")
RADV_WIDTH = re.compile(r"(?:ds|buffer)_\w*?_?(?:b|dword)(x?\d*)")
RADV_BYTES = {"": 4, "x2": 8, "x3": 12, "x4": 16, "32": 4, "64": 8, "96": 12, "128": 16}


def _read_radv(text: str) -> Code:
    places, statistics = _radv_places(text)
    hottest, around = _hottest(places, _radv_jumps(places), _radv_counts)
    return Code(
        registers=statistics["VGPRs"],
        # RADV counts in waves of 32 lanes on these GPUs, whatever the wave is.
        waves=statistics["Subgroups per SIMD"] // 2,
        spills=statistics["Spilled VGPRs"] + statistics["Spilled SGPRs"] + statistics["Scratch size"],
        shared_bytes=statistics["LDS size"],
        instructions=statistics["Instructions"],
        hottest=hottest,
        around=around,
    )


def _radv_places(text: str) -> tuple[list[Place], dict[str, int]]:
    places: list[Place] = []
    statistics: dict[str, int] = {}
    for line in text.splitlines():
        if match := RADV_LABEL.match(line):
            places.append((match[1], []))
        elif match := RADV_STATISTIC.match(line):
            statistics[match[1]] = int(match[2])
        elif line.startswith("*****") and statistics:
            break
        elif places and not statistics:
            places[-1][1].append(line.split(";")[0])
    return places, statistics


def _radv_jumps(places: list[Place]) -> Iterator[tuple[int, str]]:
    for number, (_, lines) in enumerate(places):
        for line in lines:
            if line.lstrip().startswith(("s_branch", "s_cbranch")):
                yield from ((number, target) for target in RADV_TARGET.findall(line))


def _radv_counts(lines: list[str]) -> Counts:
    """A dual instruction counts as the two that it is."""
    body = _Body()
    for line in lines:
        for name in RADV_VECTOR.findall(line):
            fma, simple, slow = (bool(each.match(name)) for each in (RADV_FMA, RADV_SIMPLE, RADV_SLOW))
            body.count(1, fma, simple, slow)
        words = line.split()
        name = next((word for word in words if word.startswith("s_")), "")
        body.scalar += bool(name) and not name.startswith(RADV_UNISSUED)
        kind = next((word for word in words if word.startswith(("ds_", "buffer_"))), "")
        if kind:
            width = RADV_BYTES[match[1]] if (match := RADV_WIDTH.match(kind)) else 4
            twice = 2 if "2addr" in kind or "read2" in kind or "write2" in kind else 1
            act = body.load if "load" in kind or "read" in kind else body.store
            act(kind.startswith("ds_"), width * twice)
        if words and words[0] == "s_waitcnt":
            body.wait(shared=True) if "lgkmcnt" in line else None
            body.wait(shared=False) if "vmcnt" in line else None
    return body.counts


# ---- Intel

ANV_HEAD = re.compile(r"^SIMD(\d+) shader: (\d+) instructions\..* (\d+):(\d+) spills:fills")
ANV_LABEL = re.compile(r"^(LABEL\d+):")
ANV_NAME = re.compile(r"^(?:\([^)]*\) )?([a-z][a-z0-9_]*)(?:\.\S+?)?(?: \w+)?\((\d+)\)")
ANV_BACK = re.compile(r"^(?:\([^)]*\) )?while\(\d+\)\s+JIP:\s+(LABEL\d+)")
ANV_MESSAGE = re.compile(r"MsgDesc: \((.*?)\).*?mlen (\d+) ex_mlen (\d+) rlen (\d+).*?\{(.*)\}")
ANV_SHARED = ("Surface = 254", "bti 254")
ANV_TOKEN = re.compile(r"\$(\d+)(\.dst|\.src)?")
ANV_WAVES = 7  # threads of an execution unit
REGISTER_BYTES = 32
EXECUTION_LANES = 8
ANV_CONTROL = {"if", "else", "endif", "while", "break", "cont", "halt", "sync", "nop", "jmpi"}


def _read_anv(text: str) -> Code:
    lines = text[text.index("Native code for") :].splitlines()
    head = next(match for line in lines if (match := ANV_HEAD.match(line)))
    width = int(head[1])
    places: list[Place] = [("", [])]
    for line in lines:
        if match := ANV_LABEL.match(line):
            places.append((match[1], []))
        else:
            places[-1][1].append(line)
    jumps = (
        (number, match[1]) for number, (_, own) in enumerate(places) for line in own if (match := ANV_BACK.match(line))
    )
    hottest, around = _hottest(places, jumps, lambda own: _anv_counts(own, width))
    return Code(
        registers=128,
        waves=ANV_WAVES,
        spills=int(head[3]) + int(head[4]),
        shared_bytes=0,
        instructions=int(head[2]),
        hottest=hottest,
        around=around,
    )


def _anv_counts(lines: list[str], width: int) -> Counts:
    """An instruction on fewer lanes than the shader has takes as much less time, but not less than on 8."""
    body = _Body()
    kinds: dict[str, bool] = {}  # by token of a message under way: whether it is of workgroup memory
    for place, line in enumerate(lines):
        match = ANV_NAME.match(line)
        if not match:
            continue
        for token, what in ANV_TOKEN.findall(line):
            if what == ".dst" and token in kinds:
                body.wait(kinds.pop(token))
        name, lanes = match[1], int(match[2])
        if name in ANV_CONTROL:
            continue
        if name == "send":
            _anv_message(body, kinds, lines[place + 1] if place + 1 < len(lines) else "", width)
        floats = bool(re.match(r"\S*\(\d+\)\s+\S+<\d>H?F\b", line.split(") ", 1)[-1] if line[0] == "(" else line))
        body.count(
            max(lanes, EXECUTION_LANES) / max(width, EXECUTION_LANES),
            fma=name == "mad" and floats,
            simple=name in ("add", "mul", "sel") and floats,
            slow=name == "math",
        )
    return body.counts


def _anv_message(body: _Body, kinds: dict[str, bool], text: str, width: int) -> None:
    match = ANV_MESSAGE.search(text)
    if not match or not ("surface" in match[1] or "block" in match[1]):
        return
    shared = any(each in match[1] for each in ANV_SHARED)
    to, back = int(match[3]) or int(match[2]), int(match[4])
    tokens = [token for token, what in ANV_TOKEN.findall(match[5]) if not what]
    if back:
        body.load(shared, back * REGISTER_BYTES / width)
        kinds.update(dict.fromkeys(tokens, shared))
    else:
        body.store(shared, to * REGISTER_BYTES / width)


# ---- loops


def _hottest(
    places: list[Place], jumps: Iterable[tuple[int, str]], count: Callable[[list[str]], Counts]
) -> tuple[Counts, Counts]:
    """A turn of the hottest loop and of the one around it, each without the loops inside it.

    The whole program where it has no loop.
    """
    numbers = {label: number for number, (label, _) in enumerate(places)}
    ends: dict[int, int] = {}
    for number, target in jumps:
        if numbers[target] <= number:
            ends[numbers[target]] = max(number, ends.get(numbers[target], 0))
    owned: dict[tuple[int, int], list[str]] = {loop: [] for loop in ends.items()}
    for number, (_, lines) in enumerate(places):
        if loop := _innermost(owned, number, number):
            owned[loop] += lines
    bodies = {loop: count(lines) for loop, lines in owned.items()}
    if not bodies:
        return count([line for _, lines in places for line in lines]), Counts()
    hottest = max(bodies, key=lambda loop: (bodies[loop].fma, bodies[loop].vector))
    around = _innermost([loop for loop in bodies if loop != hottest], *hottest)
    return bodies[hottest], bodies[around] if around else Counts()


def _innermost(loops: Iterable[tuple[int, int]], first: int, last: int) -> tuple[int, int] | None:
    """The smallest loop around these places."""
    found = [loop for loop in loops if loop[0] <= first and last <= loop[1]]
    return min(found, key=lambda loop: loop[1] - loop[0], default=None)
