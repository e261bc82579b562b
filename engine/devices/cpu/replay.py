"""Programs of small kernels, replayed in one call by all cores.

    calls ──bind──▶ table of addresses ──run──▶ caller   task ▸ task ▸ │wait│ task ▸ ...
                                          └───▶ helper        task ▸   │wait│ task ▸ ...

A token at a small model is over in less than a millisecond, and consists of fifty phases that each need the one
before. Waking a thread for each costs more than the phase. Here one call goes through all of them: every phase is cut
into tasks, the caller and the helpers take them in turns and wait for each other by looking at a counter. A helper
that wakes late, or not at all on a busy machine, only means that the caller does more itself.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue

import numpy as np

from engine.compiling import compiled
from engine.devices.cpu.few_attention import TOKENS, append, attend
from engine.devices.cpu.few_experts import (
    add_rows,
    choose,
    expert_rows_float16,
    expert_rows_float32,
    expert_rows_int8,
    routed_gated,
)
from engine.devices.cpu.few_heads import scan_heads
from engine.devices.cpu.few_products import product_float16, product_float32, product_int8
from engine.devices.cpu.few_rows import (
    best_few,
    best_one,
    carry_history,
    carry_state,
    convolve,
    gate,
    gated,
    gather,
    gather_float16,
    gather_int8,
    multiply,
    norm,
    pick,
    rotate,
    scan,
)
from engine.devices.cpu.program_table import CODE, OPERANDS, ROW_WORDS, STEP, TASKS, WORDS
from engine.devices.cpu.task_sharing import STALE, add_to_word, claim, wait_for
from engine.graph.kernels import FEW_TOKENS, KERNELS
from engine.graph.tensor import DTYPE_BYTES, KernelCall

TASK_BYTES = 32 * 1024  # of a matrix that are one task
TASK_CHANNELS = 128
ALONE = 2**17  # elements that a run touches, below which it is over before a helper wakes
NUMBERS = 3
MOST_THREADS = 4  # they read weights from memory, and four wait for it as long as forty
SHORTEST_REST, LONGEST_REST = 4, 256  # runs without helpers after one in which a helper had lost its core
ROWS_BY_TOKEN = ("x", "a", "y", "u", "dt", "ids", "logits", "gates")  # operands that have a row for each token
LINE_WORDS = 16  # two cache lines for each phase's counters: neighbours in one line would slow each other down
FINISHED = 8  # the second of them

CODES = {
    name: code
    for code, name in enumerate(
        [
            "matmul_nt",
            "matmul_nt_float16",
            "matmul_nt_int8",
            "embedding_gather",
            "rmsnorm",
            "causal_conv_silu_tokens",
            "selective_scan_tokens",
            "gate",
            "carry_history",
            "carry_state",
            "argmax",
            "top_k",
            "scale",
            "rope",
            "swiglu",
            "cache_append",
            "attention_cached",
            "embedding_gather_float16",
            "embedding_gather_int8",
            "ssd_tokens",
            "route",
            "expert_rows_nt",
            "expert_rows_nt_float16",
            "expert_rows_nt_int8",
            "routed_swiglu",
            "combine",
            "gather_columns",
        ]
    )
}


@compiled(nogil=True, error_model="numpy")
def replay(table, numbers, counters, run):
    """Go through the phases of run number `run`, taking tasks until none is left; how often a core was missing."""
    stalls = 0
    for phase in range(table.shape[0]):
        row, values = table[phase], numbers[phase]
        words = counters.ctypes.data + phase * 8 * LINE_WORDS
        tasks = row[TASKS]
        while True:
            task = claim(words, run, tasks)
            if task < 0:
                break
            code = row[CODE]
            if code == 0:
                product_float32(row, values, task)
            elif code == 1:
                product_float16(row, values, task)
            elif code == 2:
                product_int8(row, values, task)
            elif code == 3:
                gather(row, values, task)
            elif code == 4:
                norm(row, values, task)
            elif code == 5:
                convolve(row, values, task)
            elif code == 6:
                scan(row, values, task)
            elif code == 7:
                gate(row, values, task)
            elif code == 8:
                carry_history(row, values, task)
            elif code == 9:
                carry_state(row, values, task)
            elif code == 10:
                best_one(row, values, task)
            elif code == 11:
                best_few(row, values, task)
            elif code == 12:
                multiply(row, values, task)
            elif code == 13:
                rotate(row, values, task)
            elif code == 14:
                gated(row, values, task)
            elif code == 15:
                append(row, values, task)
            elif code == 16:
                attend(row, values, task)
            elif code == 17:
                gather_float16(row, values, task)
            elif code == 18:
                gather_int8(row, values, task)
            elif code == 19:
                scan_heads(row, values, task)
            elif code == 20:
                choose(row, values, task)
            elif code == 21:
                expert_rows_float32(row, values, task)
            elif code == 22:
                expert_rows_float16(row, values, task)
            elif code == 23:
                expert_rows_int8(row, values, task)
            elif code == 24:
                routed_gated(row, values, task)
            elif code == 25:
                add_rows(row, values, task)
            else:
                pick(row, values, task)
            add_to_word(words + 8 * FINISHED, 1)
        if task == STALE:
            break
        stalls += wait_for(words + 8 * FINISHED, run * tasks)
    return stalls


def is_replayed(call: KernelCall) -> bool:
    """Whether a call has so few rows that it is replayed."""
    if call.kernel.startswith("carry"):
        return True
    names = ("x", "y") if call.kernel == "gather_columns" else ROWS_BY_TOKEN
    return call.kernel in CODES and all(
        view is None or view.shape[0] <= FEW_TOKENS
        for view, spec in zip(call.operands, KERNELS[call.kernel].operands, strict=True)
        if spec.name in names
    )


class Crew:
    """The threads that help the caller of a replay.  They sleep between two runs, and start when first needed.

    Where other programs want the cores, a helper is stopped in the middle of a task, and the caller waits for it much
    longer than the task would have taken. So after a run with such a wait the caller continues alone for some runs, and
    for more of them each time that happens again.
    """

    def __init__(self, threads: int) -> None:
        self._wanted = min(threads, MOST_THREADS) - 1
        self._alone, self._rest = 0, SHORTEST_REST
        self._queues: list[SimpleQueue] = []
        self._threads: list[threading.Thread] = []

    def run(self, work: tuple) -> None:
        """Replay `work`, with every helper that is free."""
        if self._alone > 0 or self._wanted == 0:
            self._alone -= 1
            replay(*work)
            return
        if not self._threads:
            self._start()
        for queue in self._queues:
            queue.put(work)
        if replay(*work):
            self._alone, self._rest = self._rest, min(2 * self._rest, LONGEST_REST)
        else:
            self._rest = max(self._rest - 1, SHORTEST_REST)

    def close(self) -> None:
        """Stop the threads."""
        for queue in self._queues:
            queue.put(None)
        for thread in self._threads:
            thread.join()
        self._queues, self._threads = [], []

    def _start(self) -> None:
        for number in range(self._wanted):
            queue: SimpleQueue = SimpleQueue()
            thread = threading.Thread(target=_help, args=(queue,), name=f"codecoil-replay {number}", daemon=True)
            self._queues.append(queue)
            self._threads.append(thread)
            thread.start()


def _help(queue: SimpleQueue) -> None:
    while (work := queue.get()) is not None:
        replay(*work)


class Replay:
    """Consecutive calls of a program as one table."""

    def __init__(self, calls: list[KernelCall], locate, crew: Crew) -> None:
        """`locate`: the address of a view's first element."""
        self._crew, self._run = crew, 0
        self._table = np.zeros((len(calls), ROW_WORDS), np.int64)
        self._numbers = np.zeros((len(calls), NUMBERS))
        room = np.zeros((len(calls) + 1) * LINE_WORDS, np.int64)
        start = -room.ctypes.data % (8 * LINE_WORDS) // 8
        self._counters = room[start : start + len(calls) * LINE_WORDS]
        moved = 0
        for phase, call in enumerate(calls):
            self._fill(self._table[phase], call, locate)
            values = [call.numbers[name] for name in KERNELS[call.kernel].numbers]
            self._numbers[phase, : len(values)] = values
            moved += sum(view.size for view in call.operands if view is not None)
        self._alone = moved < ALONE

    def _fill(self, row: np.ndarray, call: KernelCall, locate) -> None:
        row[CODE] = CODES[call.kernel]
        for number, view in enumerate(call.operands):
            if view is not None:
                rows, columns = (1, *view.shape)[-2:] if len(view.shape) < 3 else (view.shape[0], view.shape[-1])
                at = OPERANDS + WORDS * number
                row[at : at + WORDS] = locate(view), rows, columns, view.stride
        first, second = (*call.operands, None)[:2]
        if call.kernel.startswith(("matmul", "expert_rows")):
            row_bytes = second.stride * DTYPE_BYTES[second.tensor.dtype]
            columns = second.shape[0] if call.kernel.startswith("matmul") else call.operands[3].shape[1]
            row[STEP] = max(1, TASK_BYTES // row_bytes)
            row[TASKS] = -(-columns // row[STEP])
        elif call.kernel == "ssd_tokens":
            row[TASKS] = call.operands[1].shape[1]
        elif call.kernel.endswith("_tokens"):
            row[STEP] = TASK_CHANNELS
            row[TASKS] = -(-first.shape[1] // TASK_CHANNELS)
        elif call.kernel == "gather_columns":
            row[TASKS] = second.shape[0]
        elif call.kernel == "combine":
            row[TASKS] = call.operands[2].shape[0]
        elif call.kernel == "attention_cached":
            row[TASKS] = -(-first.shape[0] // TOKENS) * (second.shape[1] // int(call.numbers["head_dim"]))
        else:
            row[TASKS] = 1 if call.kernel.startswith("carry") else first.shape[0]

    def __call__(self) -> None:
        self._run += 1
        work = (self._table, self._numbers, self._counters, self._run)
        if self._alone:
            replay(*work)
        else:
            self._crew.run(work)
