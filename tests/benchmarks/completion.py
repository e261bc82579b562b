"""Completion at a cursor in this program's own sources: latency cold and while typing, and what speculation gains.

    python tests/benchmarks/completion.py [--base FOLDER | --large]

Without a model in Hugging Face format it is config S, or with --large mamba-130m's shape, with random weights. Their
text means nothing, so speculation is measured by replay: the decoder does all the work, and what "the model says" is
the code that stands there. With a model the text is its own, and is compared with the text of plain greedy decoding.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import numpy as np  # noqa: E402
from measure import CONFIG_M, CONFIG_S, report  # noqa: E402

import engine  # noqa: E402
from engine.corpus.tokenizer import Tokenizer  # noqa: E402
from engine.generate.completer import Completer, CompletionRequest  # noqa: E402
from engine.generate.decoder import Decoder  # noqa: E402
from engine.generate.speculation import Speculator, TokenRuns  # noqa: E402
from engine.generate.stops import Stops  # noqa: E402

ROOT = Path(__file__).parents[2]
CURSORS, KEYS, LENGTH, ROUNDS = 12, 24, 48, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", metavar="FOLDER", help="a model in Hugging Face format, with its tokenizer")
    parser.add_argument("--large", action="store_true", help="mamba-130m's shape in place of config S")
    arguments = parser.parse_args()
    base = arguments.base
    texts = [path.read_text(encoding="utf-8") for path in sorted(ROOT.joinpath("engine").rglob("*.py"))]
    texts = [text for text in texts if len(text) > 6000]
    tokenizer = Tokenizer.load(base) if base else Tokenizer.train(texts, CONFIG_S["vocab_size"])
    model = (
        engine.load_model(base, "cpu")
        if base
        else engine.create_model(CONFIG_M if arguments.large else CONFIG_S, device="cpu")
    )
    try:
        if not arguments.large:  # which decode.py measures
            latency(model, tokenizer, texts)
        for name, source in (("text", False), ("repository", True)):
            (generate if base else replay)(model, tokenizer, texts, name, source)
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


def generate(model, tokenizer: Tokenizer, texts: list[str], name: str, repository: bool) -> None:
    """Speculation with a model's own text."""
    completer = Completer(model, tokenizer)
    speeds, proposed, accepted, same = [], 0, 0, 0
    for number, text in enumerate(texts[:CURSORS]):
        others = np.concatenate(tokenizer.encode_batch(texts[:number] + texts[number + 1 :]))
        completer.use_repository(others if repository else None)
        line = text.index("\n", 3 * len(text) // 4) + 1
        best, answers = {}, {}
        for speculate in (False, True) * ROUNDS:
            request = CompletionRequest(text[:line], stops=Stops(max_tokens=LENGTH), speculate=speculate)
            answers[speculate] = answer = completer.complete(request)
            took = answer.total_ms - answer.first_token_ms
            best[speculate] = min(best.get(speculate, took), took)
        same += answers[False].text == answers[True].text
        proposed += answers[True].speculation.proposed
        accepted += answers[True].speculation.accepted
        speeds.append(best)
    completer.close()
    gain(name, [(best[False], best[True]) for best in speeds], proposed, accepted)
    report(f"speculation_from_{name}_same_text", f"{same} of {CURSORS}")


def replay(model, tokenizer: Tokenizer, texts: list[str], name: str, repository: bool) -> None:
    """Speculation as if the model wrote the code that stands there."""
    decoder = Decoder(model)
    decoder.reset()
    times, proposed, accepted = [], 0, 0
    for number, text in enumerate(texts[:CURSORS]):
        others = np.concatenate(tokenizer.encode_batch(texts[:number] + texts[number + 1 :]))
        runs = TokenRuns(others) if repository else None
        ids = tokenizer.encode(text).astype(int)
        begin = 3 * len(ids) // 4
        best = [float("inf")] * 2
        for _ in range(ROUNDS):
            began = time.perf_counter()
            for token in ids[begin : begin + LENGTH]:
                decoder.greedy(1, int(token))
            middle = time.perf_counter()
            counts = written(decoder, ids, begin, runs)
            ended = time.perf_counter()
            best = [min(best[0], middle - began), min(best[1], ended - middle)]
        times.append(tuple(best))
        proposed, accepted = proposed + counts[0], accepted + counts[1]
    decoder.close()
    gain(name, times, proposed, accepted)


def written(decoder: Decoder, ids: np.ndarray, begin: int, runs: TokenRuns | None) -> tuple[int, int]:
    """Go over LENGTH tokens by guesses; how many were tried, and right."""
    speculator = Speculator(ids[max(0, begin - 1200) : begin], runs)
    place, end, proposed, accepted = begin, begin + LENGTH, 0, 0
    while place < end:
        speculator.extend([int(ids[place])])
        guess = speculator.guess(end - place - 1)
        right = 0
        if guess:
            decoder.verify([int(ids[place]), *guess])
            right = next((i for i, token in enumerate(guess) if token != ids[place + 1 + i]), len(guess))
            decoder.accept(1 + right)
            speculator.extend(guess[:right])
        else:
            decoder.greedy(1, int(ids[place]))
        proposed, accepted, place = proposed + len(guess), accepted + right, place + 1 + right
    return proposed, accepted


def gain(name: str, times: list[tuple[float, float]], proposed: int, accepted: int) -> None:
    plain, guessed = map(sum, zip(*times, strict=True))
    report(f"speculation_from_{name}_speed_up", plain / guessed)
    report(f"speculation_from_{name}_accepted", f"{accepted} of {proposed}")


if __name__ == "__main__":
    main()
