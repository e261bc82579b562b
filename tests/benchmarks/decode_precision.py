"""What each decoding precision costs a model: tokens/s, prompt tokens/s, and loss on a folder of Python files.

    python tests/benchmarks/decode_precision.py [--model FOLDER] [--code FOLDER]

Speeds are the shortest of many, measured in turns. The folder should be code that the model has not learned.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from measure import report, seconds

import engine
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.generate.decoder import Decoder
from engine.generate.options import PRECISIONS
from engine.generate.precision import decode_precision, weight_count
from engine.scorecard.material import HeldOutText, Material
from engine.scorecard.token_measures import measure_tokens
from engine.shipped import starter_place

ROUNDS, BURST, PROMPT = 20, 50, 512
CHARACTERS = 250_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, default=starter_place())
    parser.add_argument("--code", type=Path, default=Path(__file__).resolve().parents[2] / "engine")
    arguments = parser.parse_args()
    device = engine.open_device("cpu")
    model = engine.load_model(arguments.model, device=device)
    tokenizer = Tokenizer.load(arguments.model)
    report("weights", weight_count(model), f"automatic: {decode_precision('auto', model)}")
    speeds(model)
    material = code_in(arguments.code)
    for precision in PRECISIONS:
        began = time.perf_counter()
        found = measure_tokens(model, tokenizer, material, precision=precision)
        rate = found.tokens.sum() / (time.perf_counter() - began)
        report(f"{precision}_loss", found.nats.sum() / found.tokens.sum(), f"{found.tokens.sum():.0f} tokens")
        report(f"{precision}_loss_measured_at_tokens_per_second", rate)


def speeds(model: engine.Model) -> None:
    decoders = {precision: Decoder(model, precision=precision) for precision in PRECISIONS}
    ids = np.random.default_rng(0).integers(0, model.config.vocab_size, PROMPT)
    token, prompt = dict.fromkeys(PRECISIONS, float("inf")), dict.fromkeys(PRECISIONS, float("inf"))
    for _ in range(ROUNDS):
        for precision, decoder in decoders.items():
            times = [seconds(lambda decoder=decoder: decoder.step(5)) for _ in range(BURST)]
            token[precision] = min(token[precision], *times)
            prompt[precision] = min(prompt[precision], seconds(lambda decoder=decoder: decoder.read(ids)))
    for precision, decoder in decoders.items():
        report(f"{precision}_decode_tokens_per_second", 1 / token[precision])
        report(f"{precision}_prompt_tokens_per_second", PROMPT / prompt[precision])
        decoder.close()


def code_in(folder: Path) -> Material:
    texts, size = [], 0
    for file in sorted(folder.rglob("*.py"))[::5]:
        text = file.read_text("utf-8")
        if size < CHARACTERS and text.strip():
            texts.append(HeldOutText(file.relative_to(folder).as_posix(), text, "Python"))
            size += len(text)
    return Material(tuple(texts), (), 0)


if __name__ == "__main__":
    main()
