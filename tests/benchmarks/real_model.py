"""A real model (SmolLM2-135M) in Codecoil, llama.cpp and PyTorch, in turns: tokens/s read, written and learned.

    python tests/benchmarks/real_model.py FILE.gguf --peers PYTHON [--parts prefill decode context lora]

PYTHON: an interpreter with llama-cpp-python, torch, transformers and peft; nothing of them is imported here. The file
is imported once and exported at each precision, so that llama.cpp reads the same weights. Each figure is the best of
many, and what is compared is measured in turns. All sides choose their kernels by the processor: variables that hold
OpenBLAS to older ones or to a smaller cache are ignored.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.pop("OPENBLAS_CORETYPE", None)  # before NumPy is imported
os.environ.pop("OPENBLAS_L2_SIZE", None)

import numpy as np
from measure import report, seconds, token_ids

import engine
from engine.checkpoints.formats.exporting import export_checkpoint
from engine.checkpoints.formats.importing import import_checkpoint
from engine.checkpoints.store.store import CheckpointStore
from engine.devices.ledger import Ledger
from engine.generate.decoder import Decoder
from engine.model.step import AdamW

HERE = Path(__file__).resolve().parent
CEILING = 12 * 2**30
PRECISIONS = {"float32": "f32", "float16": "f16", "int8": "q8_0"}
PROMPT, CONTEXT = 512, 4096
POSITIONS = (512, 1024, 2048, 3584)
BURST = 8  # tokens decoded in a turn
PAUSE = 0.1  # seconds between two turns
BATCH, LENGTH, RANK = 4, 256, 8


class Peer:
    """A process that answers a word with the seconds something took."""

    def __init__(self, python: str, script: Path, *arguments: object) -> None:
        command = [python, str(script), *map(str, arguments)]
        keeps = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "17179869184"}  # freed memory
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=os.environ | keeps,
        )  # fmt: skip
        while (line := self._process.stdout.readline()).strip() != "ready":
            if not line:
                raise SystemExit(f"{' '.join(command)} ended before it was ready.")

    def __call__(self, word: str) -> float:
        return self.numbers(word)[0]

    def numbers(self, word: str) -> list[float]:
        """The seconds, and what else the process says about them."""
        print(word, file=self._process.stdin, flush=True)
        return [float(number) for number in self._process.stdout.readline().split()]

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--peers", required=True, metavar="PYTHON")
    parser.add_argument("--parts", nargs="+", default=["prefill", "decode", "context", "lora"])
    parser.add_argument("--rounds", type=int, default=12)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = CheckpointStore(Path(folder) / "store")
        name = import_checkpoint(store, chosen.file).name
        files = {}
        for precision, packed in PRECISIONS.items():
            files[precision] = Path(folder) / f"{packed}.gguf"
            export_checkpoint(store, name, "gguf", files[precision], packed)
        export_checkpoint(store, name, "hf", Path(folder) / "hf", "float32")
        device = engine.open_device("cpu")
        device.ledger = Ledger(CEILING)
        model = engine.load_model(Path(folder) / "hf", device=device)
        if set(chosen.parts) & {"prefill", "decode", "context"}:
            for precision, path in files.items():
                peer = Peer(chosen.peers, HERE / "llama_cpp_peer.py", path, device.threads, CONTEXT)
                decoding(model, precision, peer, chosen.parts, chosen.rounds)
                peer.close()
        if "lora" in chosen.parts:
            script = HERE.parent / "fixtures" / "torch_peer.py"
            peer = Peer(chosen.peers, script, Path(folder) / "hf", device.threads, BATCH, LENGTH, RANK)
            learning(model, peer, chosen.rounds)
            peer.close()
        model.close()
        device.close()


def prompt_ids(count: int) -> np.ndarray:
    """The tokens that both sides read."""
    return 20 + np.arange(count) % PROMPT


def decoding(model: engine.Model, precision: str, peer: Peer, parts: list[str], rounds: int, prefix: str = "") -> None:
    """Reading a prompt, writing after it, and writing after longer ones."""
    decoder = Decoder(model, precision=precision, context=CONTEXT)
    ids = prompt_ids(CONTEXT)

    def prefill() -> float:
        decoder.reset()
        return seconds(lambda: decoder.read(ids[:PROMPT]))

    if "prefill" in parts:
        prefill()
        peer("prefill")
        ours, theirs = _best_in_turns(prefill, lambda: peer("prefill"), rounds)
        _compare(f"{prefix}prefill_{PROMPT}_{precision}", PROMPT / ours, PROMPT / theirs)
    for position in POSITIONS if "context" in parts else POSITIONS[:1]:
        if not {"decode", "context"} & set(parts):
            break
        decoder.reset()
        decoder.read(ids[:position])
        mark = decoder.snapshot()
        peer(f"start {position}")

        def decode(mark=mark) -> float:
            decoder.restore(mark)
            return min(seconds(lambda: decoder.step(5)) for _ in range(BURST))

        best = _best_in_turns(decode, lambda: min(peer("decode") for _ in range(BURST)), rounds)
        _compare(f"{prefix}decode_at_{position}_{precision}", *(1 / time for time in best))
    decoder.close()


def learning(model: engine.Model, peer: Peer, rounds: int) -> None:
    """A LoRA step on all projections."""
    model.attach_adapters(RANK)
    step = model.training_step("lora", BATCH, LENGTH)
    ids = token_ids(BATCH, LENGTH, model.config.vocab_size)
    step.run(ids, AdamW(), 1)()
    peer("step")
    ours, theirs = _best_in_turns(
        lambda: seconds(lambda: step.run(ids, AdamW(), 1)()), lambda: peer("step"), max(3, rounds // 2)
    )
    _compare("lora_step_float32", BATCH * LENGTH / ours, BATCH * LENGTH / theirs, "pytorch")
    estimate = model.estimate("lora", BATCH, LENGTH)
    report("lora_peak_over_estimate", model.device.ledger.snapshot().peak / sum(estimate.values()))
    step.close()


def _best_in_turns(ours, theirs, rounds: int) -> tuple[float, float]:
    """Seconds of each, with pauses in which the other's threads stop waiting for more work and fall asleep."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for side, run in enumerate((ours, theirs)):
            time.sleep(PAUSE)
            best[side] = min(best[side], run())
    return best[0], best[1]


def _compare(name: str, ours: float, theirs: float, peer: str = "llama_cpp") -> None:
    """Tokens/s of both, and the ratio."""
    report(f"{name}_tokens_per_second", ours)
    report(f"{name}_{peer}_tokens_per_second", theirs)
    report(f"{name}_over_{peer}", ours / theirs)


if __name__ == "__main__":
    main()
