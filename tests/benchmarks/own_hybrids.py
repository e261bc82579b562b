"""Hybrids of our own from scratch: which order of layers learns most, at equal size and equal processor time.

    python packaging/starter_model.py fetch --work FOLDER && python packaging/starter_model.py prepare --work FOLDER
    NUMBA_NUM_THREADS=1 python tests/benchmarks/own_hybrids.py --work FOLDER [--orders NAME ...] [--cpu-seconds 600]

Every order has about the weights of the starter (4.7 million) and the starter's recipe: full training, windows of 512
tokens, warm-up and cosine. What ends a run, and lowers its rate, is the processor time of this process, measuring the
held-out loss at its start and end included: so a busy machine changes how long it takes, but hardly what comes out.
The untimed judgement is that of the tuning packages: bits per byte, and lines, of files in their main language.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "packaging")]  # before this folder, which has an engine.py and a starter.py

from measure import report  # noqa: E402
from package_material import read_material  # noqa: E402
from starter.prepared_corpus import PreparedCorpus  # noqa: E402
from starter.training import BATCH, BLOCK_TOKENS, LENGTH, Recipe, planned_options  # noqa: E402

from engine.corpus.batches.windows import HeldOutWindows, Windows  # noqa: E402
from engine.model.model import Model, create_model  # noqa: E402
from engine.model.step import AdamW  # noqa: E402
from engine.scorecard import Material, ScoreOptions, Subject, score  # noqa: E402
from engine.train.events import EvaluationEvent, StepEvent  # noqa: E402
from engine.train.trainer import Trainer  # noqa: E402

WARM_UP = 40  # steps
WATCHED_WINDOWS = 16
# In the middle and before the last layer; eight heads of attention have the weights of a mixer
ATTENTION = {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 64, "window": 256}
FEW_HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "window": 256}
M1, M2, A = "mamba", "mamba2", "attention"
ORDERS: dict[str, dict[str, Any]] = {
    "mamba1": {"layer_types": [M1] * 6},
    "mamba2": {"layer_types": [M2] * 6},
    "mamba2_attention1": {"layer_types": [M2, M2, M2, A, M2, M2], **ATTENTION},
    "mamba2_attention2": {"layer_types": [M2, M2, A, M2, A, M2], **ATTENTION},
    "mamba2_attention2_added": {"layer_types": [M2, M2, A, M2, M2, A, M2], **FEW_HEADS},
    "mamba1_attention1": {"layer_types": [M1, M1, M1, A, M1, M1], **ATTENTION},
    "mamba1_attention2": {"layer_types": [M1, M1, A, M1, A, M1], **ATTENTION},
}
MEASURES = ("bits_per_byte", "next_line_exact", "keystrokes_saved_by_line", "keystrokes_saved_by_word")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--orders", nargs="+", choices=ORDERS, default=list(ORDERS))
    parser.add_argument("--cpu-seconds", type=float, default=600.0)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--characters", type=int, default=60_000, help="of each tuning package, at most")
    parser.add_argument("--cursors", type=int, default=0, help="of each tuning package, whose lines are completed")
    arguments = parser.parse_args()
    corpus = PreparedCorpus(arguments.work / "corpus")
    folders = sorted(path for path in (arguments.work / "packages" / "tuning").iterdir() if path.is_dir())
    materials = [
        read_material(folder, arguments.work, corpus.tokenizer, arguments.characters, arguments.cursors)
        for folder in folders
    ]
    for name in arguments.orders:
        keys = {"model_type": "codecoil_hybrid", "num_hidden_layers": len(ORDERS[name]["layer_types"]), **ORDERS[name]}
        config = Recipe(keys).config(corpus.tokenizer.vocab_size)
        model = create_model(config, seed=arguments.seed, device="cpu")
        report(f"{name}_weights", config.parameter_count)
        train(name, model, corpus, arguments)
        judge(name, model, corpus, materials, arguments.cursors)
        model.close()


def train(name: str, model: Model, corpus: PreparedCorpus, arguments: argparse.Namespace) -> None:
    options = planned_options(arguments.rate).changed(
        schedule="cosine",
        minutes=arguments.cpu_seconds / 60,
        warm_up=WARM_UP,
        evaluate_every=0,
        evaluations=1,
        seed=arguments.seed,
    )
    windows = Windows(corpus, LENGTH, BATCH, options.seed, options.fim_share, block_tokens=BLOCK_TOKENS)
    watched = HeldOutWindows(corpus, LENGTH, BATCH, limit=WATCHED_WINDOWS)
    step = model.training_step("full", BATCH, LENGTH)  # kernels are prepared before the time begins
    step.run(windows.take().tokens, AdamW(learning_rate=0.0), 1)()
    step.close()
    trainer = Trainer(model, windows.take, watched, options, clock=time.process_time)
    losses: list[float] = []
    try:
        for event in trainer.run():
            if isinstance(event, StepEvent):
                losses.append(event.loss)
            elif isinstance(event, EvaluationEvent):
                report(f"{name}_watched_loss[{event.step}]", event.held_out_loss)
        report(f"{name}_tokens", trainer.step * BATCH * LENGTH)
        report(f"{name}_training_loss", float(np.mean(losses[-20:])))
    finally:
        trainer.close()


def judge(name: str, model: Model, corpus: PreparedCorpus, materials: list[Material], cursors: int) -> None:
    subject, rows = Subject(name, model, corpus.tokenizer), []
    for material in materials:
        card = score(subject, material, ScoreOptions(cursors=cursors))
        rows.append({key: card.measures[key].value for key in MEASURES if key in card.measures})
    for key in rows[0]:
        report(f"{name}_{key}", float(np.mean([row[key] for row in rows])))


if __name__ == "__main__":
    main()
