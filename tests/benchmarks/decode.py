"""The decoder on the CPU device at S and at mamba-130m's shape (M): tokens/s, shares of the memory's speed, latencies.

    python tests/benchmarks/decode.py [s] [m] [position]

Times are the shortest of many, and what is compared is measured in turns. Decoding reads every weight once for a token;
its share of the memory's speed is the bytes it must read over the bytes that a plain sum reads in the same time.

On a machine that is never idle for as long as a token of M takes, no whole token shows what the decoder can do. So the
layers are also timed one by one, each at its best, and added up: that is called undisturbed; for a prompt, which keeps
all cores busy, it is the processor time.
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from measure import CONFIG_M, CONFIG_S, in_turns, report, seconds

import engine
from engine.devices.cpu.replay import Replay
from engine.devices.ledger import Ledger
from engine.generate.decoder import Decoder
from engine.graph.tensor import DTYPE_BYTES, Kind

PRECISIONS = ("float32", "float16", "int8")
TARGETS = {
    "s": {"float32": ">= 1250", "prefill": ">= 6200"},
    "m": {"float32": ">= 40", "float16": ">= 53", "int8": ">= 73", "prefill": ">= 480"},
}
CEILING = 8 * 2**30
SUM_BYTES, SUM_PIECES = 256 * 2**20, 16
PROMPT, FILE = 512, 2000
KEYSTROKE = 3  # tokens that a word typed at the end adds


def main() -> None:
    chosen = sys.argv[1:] or ["s", "m", "position"]
    if "s" in chosen:
        speeds("s", CONFIG_S, rounds=12, burst=40)
        latencies()
    if "m" in chosen:
        speeds("m", CONFIG_M, rounds=6, burst=3)
    if "position" in chosen:
        positions()


def opened(config: dict) -> engine.Model:
    device = engine.open_device("cpu")
    device.ledger = Ledger(CEILING)
    return engine.create_model(config, device=device)


def read_bytes(decoder: Decoder) -> int:
    """Bytes of weights that one token reads."""
    total = 0
    for call in decoder._executable("read", 1, "logits").plan.program.calls:
        if call.kernel.startswith("matmul"):
            weights = [call.operands[1], *call.operands[5:]]
            total += sum(view.size * DTYPE_BYTES[view.tensor.dtype] for view in weights)
    return total


def layer_by_layer(decoder: Decoder, rounds: int) -> float:
    """Seconds for a token: each layer, and the head, at its best."""
    executable = decoder._executable("read", 1, "logits")
    calls = executable.plan.program.calls
    cuts = [0, *(i for i, call in enumerate(calls) if call.kernel == "rmsnorm"), len(calls)]
    device = decoder.model.device
    layers = [Replay(calls[i:j], executable._address, device.crew) for i, j in itertools.pairwise(cuts)]
    best = [float("inf")] * len(layers)
    for _ in range(rounds):
        best = [min(known, seconds(layer)) for known, layer in zip(best, layers, strict=True)]
    return sum(best)


def speeds(name: str, config: dict, rounds: int, burst: int) -> None:
    """One token at each precision, a plain sum of as many bytes as fit no cache, and a prompt, in turns.

    A turn is a burst of tokens, as in decoding: a small model's weights then stay in the last cache.
    """
    model = opened(config)
    device = model.device
    decoders = {precision: Decoder(model, precision=precision) for precision in PRECISIONS}
    much, result = np.ones(SUM_BYTES // 4, np.float32), np.zeros(1, np.float32)
    plain = decoders["float32"]
    ids = np.random.default_rng(0).integers(0, config["vocab_size"], PROMPT)
    runs = {precision: lambda decoder=decoder: decoder.step(5) for precision, decoder in decoders.items()}
    runs["greedy"] = lambda: plain.greedy(8, 5)
    pieces = np.split(much, SUM_PIECES)  # as short as a layer
    for number, piece in enumerate(pieces):
        runs[f"sum {number}"] = lambda piece=piece: device.kernel("total")(piece, result)
    runs["prefill"] = lambda: plain.read(ids)
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for run, function in runs.items():
            times = [seconds(function) for _ in range(1 if run.startswith(("sum", "prefill")) else burst)]
            best[run] = min(best[run], *times)
    undisturbed = {precision: layer_by_layer(decoder, rounds * burst) for precision, decoder in decoders.items()}
    memory = SUM_BYTES / sum(best[f"sum {number}"] for number in range(SUM_PIECES))
    report(f"{name}_memory_gigabytes_per_second", memory / 1e9)
    for precision, decoder in decoders.items():
        target = TARGETS[name].get(precision)
        report(f"{name}_decode_{precision}_tokens_per_second", 1 / best[precision], f"(target {target})" * bool(target))
        report(f"{name}_decode_{precision}_undisturbed_tokens_per_second", 1 / undisturbed[precision])
        share = read_bytes(decoder) / undisturbed[precision] / memory
        report(f"{name}_decode_{precision}_share_of_memory_speed", share)
    report(f"{name}_greedy_tokens_per_second", 8 / best["greedy"])
    began = time.process_time()
    plain.read(ids)
    ideal = PROMPT * device.threads / (time.process_time() - began)
    report(f"{name}_prefill_{PROMPT}_undisturbed_tokens_per_second", ideal, "by processor time")
    rate = PROMPT / best["prefill"]
    report(f"{name}_prefill_{PROMPT}_tokens_per_second", rate, f"(target {TARGETS[name]['prefill']})")
    report(f"{name}_snapshot_kilobytes", plain.snapshot().nbytes / 1000)
    report(f"{name}_ledger_decode_megabytes", device.ledger.snapshot().by_kind[Kind.DECODE] / 1e6)
    for decoder in decoders.values():
        decoder.close()
    model.close()
    device.close()


def latencies() -> None:
    """To the first token after a file that was never read, and after a word typed at its end."""
    model = opened(CONFIG_S)
    ids = np.random.default_rng(0).integers(0, CONFIG_S["vocab_size"], FILE)
    Decoder(model).close()
    began = time.perf_counter()
    decoder = Decoder(model)
    decoder.read_top(ids, 40)
    report("s_first_token_after_2000_tokens_new_decoder_ms", (time.perf_counter() - began) * 1e3, "(target <= 700)")

    def cold() -> None:
        decoder.reset()
        decoder.read_top(ids, 40)

    best = in_turns({"cold": cold, "typed": lambda: decoder.read_top(ids[:KEYSTROKE], 40)}, 6)
    report("s_first_token_after_2000_tokens_ms", best["cold"] * 1e3, "(target <= 700)")
    report("s_first_token_after_a_keystroke_ms", best["typed"] * 1e3, "(target <= 50)")
    decoder.close()
    model.close()
    model.device.close()


def positions() -> None:
    """A token at position 100,000 against one at position 100."""
    model = opened(CONFIG_S)
    ids = np.random.default_rng(0).integers(0, CONFIG_S["vocab_size"], 100_000)
    early, late = Decoder(model), Decoder(model)
    early.read(ids[:100])
    late.read(ids)
    runs = {"early": lambda: early.step(5), "late": lambda: late.step(5)}
    best = in_turns(runs, 2500)
    report("s_time_at_100000_over_time_at_100", best["late"] / best["early"], "(target 0.95 to 1.05)")
    early.close()
    late.close()
    model.close()
    model.device.close()


if __name__ == "__main__":
    main()
