"""LoRA steps of a model of Qwen2.5-Coder-0.5B's shape under a memory ceiling of 3 GiB, on the CPU device.

    python tests/benchmarks/packed_base.py [--base-precision auto] [--batch 4] [--length 256] [--steps 3] [--mode lora]

The weights are random, so only memory and time mean something: the estimate, the ledger's peak, the largest resident
size of the process, seconds a step, and what decoding adds. The model is filled a piece at a time, as from a file.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import numpy as np  # noqa: E402
from measure import peak_bytes, report, seconds  # noqa: E402

import engine  # noqa: E402
from engine.corpus.batches.windows import Batch  # noqa: E402
from engine.generate.decoder import Decoder  # noqa: E402
from engine.generate.precision import decode_precision  # noqa: E402
from engine.graph.tensor import Kind  # noqa: E402
from engine.model.architectures.reading import config_from  # noqa: E402
from engine.model.model import Model  # noqa: E402
from engine.model.selection import storage_for  # noqa: E402
from engine.session.batches import HELD_OUT_BATCH  # noqa: E402
from engine.tensor_file import TensorSource, piece_rows  # noqa: E402
from engine.train.memory_fitting import base_precision, fitting, run_estimate  # noqa: E402
from engine.train.options import OPTIONS, TrainingOptions  # noqa: E402
from engine.train.trainer import Trainer  # noqa: E402

QWEN = {
    "model_type": "qwen2",
    "hidden_size": 896,
    "num_hidden_layers": 24,
    "vocab_size": 151_936,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "intermediate_size": 4864,
    "tie_word_embeddings": True,
    "rope_theta": 1e6,
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 32_768,
}
CEILING = 3 * 2**30
OCCURRING = 8000  # different tokens in the batches: about as many as in a repository
MIB = 2**20


class RandomWeights(TensorSource):
    """Weights of a configuration that exist only piece by piece, in float16."""

    def __init__(self, config) -> None:
        self._specs = config.specs

    def pieces(self, name: str):
        random, spec = np.random.default_rng(sum(name.encode())), self._specs[name]
        step = piece_rows(8 * spec.shape[-1])
        for first in range(0, spec.shape[0], step):
            shape = (min(step, spec.shape[0] - first), *spec.shape[1:])
            yield spec.draw(random, shape).astype(np.float16)

    def __getitem__(self, name: str) -> np.ndarray:
        return np.concatenate(list(self.pieces(name)))

    def __iter__(self):
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)


def token_batch(rows: int, length: int, seed: int) -> Batch:
    tokens = np.random.default_rng(seed).integers(0, OCCURRING, (rows, length + 1)).astype(np.int32)
    return Batch(tokens, (np.zeros(1, int),) * rows, np.full(rows, length))


def train(options: TrainingOptions, device) -> None:
    config = config_from(QWEN)
    ids = np.arange(OCCURRING, dtype=np.int32) if options.mode == "vocabulary" else None

    def estimates(precision: str):
        return run_estimate(config, device, options, precision, ids, HELD_OUT_BATCH)

    began = time.perf_counter()
    precision = base_precision(options, config.num_hidden_layers, estimates, CEILING)
    fit = fitting(options, config.num_hidden_layers, estimates(precision), CEILING)
    estimate = estimates(precision)(fit)
    report("planning_seconds", time.perf_counter() - began)
    report("base_precision", precision)
    report("micro_batch", fit.micro_batch, f"of {options.batch_size} x {options.sequence_length} tokens")
    report("recomputed_layers", fit.recompute)
    report("estimate_mib", sum(estimate.values()) / MIB, f"of {CEILING / MIB:.0f}")
    model = Model(config, device, storage_for(config, options.mode, precision))
    report("loading_seconds", seconds(lambda: model.parameters.fill(RandomWeights(config))))
    report("weights_mib", device.ledger.snapshot().by_kind[Kind.WEIGHTS] / MIB)
    report("resident_after_loading_mib", peak_bytes() / MIB)
    held_out = token_batch(HELD_OUT_BATCH, options.sequence_length, 0)
    batch = token_batch(options.batch_size, options.sequence_length, 1)
    trainer = Trainer(model, lambda: batch, [held_out], options, token_ids=ids)
    for event in trainer.run():
        if event.event == "step":
            report("step", event.step, f"loss {event.loss:.4f}")
            report("step_seconds", batch.tokens.size / event.tokens_per_second if event.tokens_per_second else 0.0)
        elif event.event in ("evaluation", "note"):
            report(event.event, event.held_out_loss if event.event == "evaluation" else event.text)
    use = device.ledger.snapshot()
    report("ledger_peak_mib", use.peak / MIB, " ".join(f"{k} {n / MIB:.0f}" for k, n in use.by_kind.items()))
    report("estimate_over_peak", sum(estimate.values()) / use.peak)
    report("resident_peak_mib", peak_bytes() / MIB)
    trainer.close()
    decode(model)
    model.close()


def decode(model: Model) -> None:
    """A prompt of 512 tokens and 32 more: what it holds beside the weights, and how fast it is."""
    wanted = decode_precision("auto", model)
    decoder = Decoder(model, precision=wanted, context=1024)
    held = model.device.ledger.snapshot().by_kind
    report("decoding_precision", wanted)
    report("decoding_state_and_copies_mib", held[Kind.DECODE] / MIB)
    prompt = np.random.default_rng(2).integers(0, OCCURRING, 512)
    decoder.read(prompt)
    decoder.reset()
    report("prompt_tokens_per_second", 512 / seconds(lambda: decoder.read(prompt)))
    decoder.greedy(8, 1)
    report("decoded_tokens_per_second", 32 / seconds(lambda: decoder.greedy(32, 1)))
    report("ledger_peak_with_decoding_mib", model.device.ledger.snapshot().peak / MIB)
    decoder.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--base-precision", choices=OPTIONS["base_precision"].choices, default="auto")
    parser.add_argument("--mode", default="lora")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--steps", type=int, default=3)
    given = parser.parse_args()
    options = TrainingOptions(
        mode=given.mode, batch_size=given.batch, sequence_length=given.length, steps=given.steps, warm_up=0,
        base_precision=given.base_precision, evaluations=1, insight_interval=0,
    )  # fmt: skip
    device = engine.open_device("cpu", ceiling=CEILING)
    try:
        train(options, device)
    finally:
        device.close()


if __name__ == "__main__":
    main()
