"""Suggestions with what the memory guesses read ahead, against a token a pass: time, passes and the same text.

    python tests/benchmarks/foresight.py FOLDER [--device cpu] [--offers 20] [--least 0.3 0.5 0.7] [--base FOLDER]
        [--rounds 3]

At cursors in files of the folder that the memory does not know, in turns. `tokens` are those of the drafts and of
further lines, `passes` what the model was run for them; `differing` are suggestions with another text, or whose chance
is off by more than 1 in 1,000.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import numpy as np  # noqa: E402
from measure import report  # noqa: E402

import engine  # noqa: E402
from engine.corpus.tokens.tokenizer import Tokenizer  # noqa: E402
from engine.generate import foresight  # noqa: E402
from engine.generate.completer import Completer, CompletionRequest  # noqa: E402
from engine.generate.foresight import Foresight  # noqa: E402
from engine.generate.requests import Offer  # noqa: E402
from engine.generate.writing import Writer  # noqa: E402
from engine.memory.names import Names, count_names  # noqa: E402
from engine.memory.segment import build_segment  # noqa: E402
from engine.memory.snapshot import MemorySnapshot  # noqa: E402

STARTER = Path(engine.__file__).parents[1] / "resources" / "starter"
SHORTEST = 500  # characters of a file
NEVER = 2.0  # no guess is as likely as that


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--offers", type=int, default=20)
    parser.add_argument("--least", type=float, nargs="+", default=[0.3, 0.5, 0.7])
    parser.add_argument("--base", type=Path, default=STARTER, help="a model in Hugging Face format, with its tokenizer")
    parser.add_argument("--rounds", type=int, default=3, help="of which the fastest counts, after one that does not")
    given = parser.parse_args()
    model = engine.load_model(given.base, given.device)
    completer = Completer(model, Tokenizer.load(given.base))
    requests = cursors(completer, given.folder, given.offers)
    ways = {"a token a pass": None, "no guess": NEVER} | {f"from {least} on": least for least in given.least}
    answers: dict[str, list] = {}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    processor: dict[str, list[float]] = {name: [] for name in ways}
    counts = {}
    for turn in range(given.rounds + 1):
        for name, least in ways.items():
            counting = Counting(least)
            began, busy = time.perf_counter(), time.process_time()
            answers[name] = [completer.complete(request) for request in requests]
            if turn:
                seconds[name].append(time.perf_counter() - began)
                processor[name].append(time.process_time() - busy)
            counts[name] = counting.end()
    for name in ways:
        tokens, passes = counts[name]
        report("foresight_milliseconds_an_offer", 1e3 * min(seconds[name]) / len(requests), f"({name})")
        report("foresight_processor_milliseconds_an_offer", 1e3 * min(processor[name]) / len(requests), f"({name})")
        report("foresight_tokens_a_pass", tokens / passes, f"({name}; {tokens} tokens)")
        report("foresight_differing", different(answers[name], answers["a token a pass"]), f"({name})")
    completer.close()
    model.close()


def cursors(completer: Completer, folder: Path, count: int) -> list[CompletionRequest]:
    """At the beginning of lines of a fifth of the files; the others are remembered."""
    texts = {str(path.relative_to(folder)): path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))}
    texts = {name: text for name, text in texts.items() if len(text) > SHORTEST}
    chance, tokenizer = random.Random(1), completer.tokenizer
    unknown = set(chance.sample(sorted(texts), max(1, len(texts) // 5)))
    known = {name: text for name, text in texts.items() if name not in unknown}
    segment = build_segment(
        [(name, name, tokenizer.encode(text)) for name, text in known.items()], tokenizer.vocab_size
    )
    words = count_names(text.encode() for text in known.values())
    completer.memory = MemorySnapshot(tokenizer, (segment,), (np.empty(0, np.uint8),), Names(lambda: words))
    places = []
    for name in sorted(unknown):
        at = 0
        for line in texts[name].split("\n"):
            if len(line.strip()) > 5 and at > 200:
                places.append((name, at + len(line) - len(line.lstrip())))
            at += len(line) + 1
    chosen = chance.sample(places, min(count, len(places)))
    return [
        CompletionRequest(texts[name][:at], texts[name][texts[name].find("\n", at) :], name, offer=Offer(0.0))
        for name, at in chosen
    ]


class Counting:
    """Has suggestions written in one way, and counts."""

    def __init__(self, least: float | None) -> None:
        self._kept = foresight.LEAST_SHARE, Writer._best, Foresight._look
        self.tokens = self.passes = 0
        kept_best, kept_look = self._kept[1:]

        def best(writer, ids, foreseen):
            self.tokens += 1
            if least is not None:
                return kept_best(writer, ids, foreseen)
            self.passes += 1
            mixed = writer._recall.mixed(writer._decoder.step(ids[-1]), ids)
            return int(mixed.argmax()), float(mixed.max())

        def look(foreseeing, ids):
            self.passes += 1
            kept_look(foreseeing, ids)

        foresight.LEAST_SHARE, Writer._best, Foresight._look = least, best, look

    def end(self) -> tuple[int, int]:
        foresight.LEAST_SHARE, Writer._best, Foresight._look = self._kept
        return self.tokens, self.passes


def different(found: list, expected: list) -> int:
    pairs = zip(found, expected, strict=True)
    return sum(a.text != b.text or abs((a.chance or 0) - (b.chance or 0)) > 1e-3 for a, b in pairs)


if __name__ == "__main__":
    main()
