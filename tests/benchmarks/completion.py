"""Completion at a cursor in this program's own sources: latency cold and while typing.

    python tests/benchmarks/completion.py [--base FOLDER]

Without a model in Hugging Face format it is config S with random weights.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import numpy as np  # noqa: E402
from measure import CONFIG_S, report  # noqa: E402

import engine  # noqa: E402
from engine.corpus.tokens.tokenizer import Tokenizer  # noqa: E402
from engine.generate.completer import Completer, CompletionRequest  # noqa: E402
from engine.generate.options import Stops  # noqa: E402

ROOT = Path(__file__).parents[2]
CURSORS, KEYS = 12, 24


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", metavar="FOLDER", help="a model in Hugging Face format, with its tokenizer")
    base = parser.parse_args().base
    texts = [path.read_text(encoding="utf-8") for path in sorted(ROOT.joinpath("engine").rglob("*.py"))]
    texts = [text for text in texts if len(text) > 6000]
    tokenizer = Tokenizer.load(base) if base else Tokenizer.train(texts, CONFIG_S["vocab_size"])
    model = engine.load_model(base, "cpu") if base else engine.create_model(CONFIG_S, device="cpu")
    try:
        latency(model, tokenizer, texts)
    finally:
        model.close()


def latency(model, tokenizer: Tokenizer, texts: list[str]) -> None:
    """Milliseconds to the first token: a cursor that is new, and one behind which somebody types."""
    completer = Completer(model, tokenizer)
    cold, typed, read = [], [], []
    for text in texts[:CURSORS]:
        middle = 3 * len(text) // 4
        for end in range(middle, middle + KEYS):
            request = CompletionRequest(text[:end], text[middle + KEYS :], "file.py", stops=Stops(max_tokens=1))
            answer = completer.complete(request)
            (cold if end == middle else typed).append(answer.first_token_ms)
            read.append(answer.prompt_tokens - answer.reused_tokens)
    completer.close()
    report("completion_cold_tokens", float(np.mean(read[::KEYS])))
    for name, times in (("cold", cold[1:]), ("keystroke", typed)):
        report(f"completion_{name}_p50", float(np.percentile(times, 50)), "ms")
        report(f"completion_{name}_p95", float(np.percentile(times, 95)), "ms")
    report("completion_keystroke_tokens", float(np.mean([count for i, count in enumerate(read) if i % KEYS])))


if __name__ == "__main__":
    main()
