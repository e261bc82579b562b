"""Fits what `resources/memory/` holds, on the tuning packages: how memory and model are mixed, which candidate is the
line, and the chance that it is taken.  Each is also fitted without one package and tried on that one.
"""

from __future__ import annotations

import json
import sys
from dataclasses import astuple, dataclass, replace
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from measure import report
from memory_lines import Line, in_processes, open_bench, packages

from engine.corpus.batches.framing import Framing
from engine.corpus.corpus import Corpus
from engine.generate import ranking
from engine.generate.chance import Features, Judge, fit_judge
from engine.generate.fits import AT_END, WITHIN, Chooser, Fit, built_in_fit
from engine.memory.evidence import Counter, Source
from engine.memory.fitting import Observations, fit, losses, observe
from engine.memory.segment import build_segment
from engine.model.model import Model, load_model
from engine.shipped import BUILT_IN, fits_place

OBSERVED = 24_000  # tokens of each tuning package that the mixture is fitted on
LONGEST_DOCUMENT = 3_000  # tokens of one document among these
COST = 5.0  # keys of attention that a wrong suggestion takes
LEAST_TAKEN = 0.55  # of what is shown
WINDOW = 1024
PLACES = (WITHIN, AT_END)
# How strongly the fit to another base is held to the built-in model's, which rests on ten times as many lines. Chosen
# on the tuning packages, SmolLM2, each without itself: 24.7 % of next lines at 10, 26.0 at 30, 27.0 at 100 and at 300.
HELD_RANKER, HELD_JUDGE = 100.0, 20.0
NEW_CODE, INSIDE = 2 / 3, 1 / 3  # of the cursors at lines: so many more in new code, and twice after some of a line


def observed(
    model: Model, corpus: Corpus, most: int, *, see_after: bool = True, learned: bool | None = None
) -> Observations:
    """Tokens of a package's code, as if each were to be written now; of files that are learned, held out, or both."""
    tokenizer = corpus.tokenizer
    documents = [*corpus.learned_documents, *corpus.held_out_documents]
    content = [(each.path, each.digest, corpus.document_tokens(each)) for each in documents]
    segment = build_segment(content, tokenizer.vocab_size)
    among = {True: corpus.learned_documents, False: corpus.held_out_documents, None: documents}[learned]
    code = {document.path for document in corpus.code_among(among)}
    entries = [entry for entry in segment.entries if entry.path in code and entry.count > 50]
    np.random.default_rng(0).shuffle(entries)
    counter, framing = Counter(tokenizer.vocab_size, tokenizer.special.end_of_text), Framing(tokenizer)
    newline = np.array([b"\n" in data for data in tokenizer.token_bytes])
    parts, size = [], 0
    for entry in entries:
        if size >= most:
            break
        ids = segment.tokens[entry.start : entry.start + min(entry.count, LONGEST_DOCUMENT)]
        chance, best = model_chances(model, framing, entry.path, ids)
        source = Source(segment, own=(entry.start, entry.start + entry.count + 1))
        ends, lengths = np.flatnonzero(newline[ids]), tokenizer.byte_lengths[ids]
        parts.append(observe(counter, (source,), ids, ends, chance, best, lengths, see_after=see_after))
        size += len(ids)
    return Observations.join(parts)


def model_chances(model: Model, framing: Framing, path: str, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The model's probability (n,) of each token of a document, and of its best one there."""
    head = framing.header(path).astype(np.int64)
    whole = np.concatenate([head, ids.astype(np.int64)])
    chance, best = np.ones(len(whole)), np.ones(len(whole))
    for begin in range(0, len(whole) - 1, WINDOW):
        part = whole[begin : begin + WINDOW + 1]
        padded = np.zeros((1, WINDOW), np.int32)
        padded[0, : len(part) - 1] = part[:-1]
        scores = model.logits(padded)[0][: len(part) - 1].astype(np.float64)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        sums = shares.sum(axis=1)
        chance[begin + 1 : begin + len(part)] = shares[np.arange(len(part) - 1), part[1:]] / sums
        best[begin + 1 : begin + len(part)] = 1 / sums
    return chance[len(head) :], best[len(head) :]


def bits_per_byte(nats: np.ndarray, observations: Observations) -> float:
    return float(nats.sum() / np.log(2) / observations.lengths.sum())


def do_fit(work: Path, base: Path, name: str, cursors: int) -> None:
    """Mixture, then ranking with that mixture, then the chance with both; written to `name`.json."""
    written = fits_place() / f"{name}.json"
    places = packages(work, "tuning")
    names, folders = list(places), list(places.values())
    everywhere = [work] * len(names), ["tuning"] * len(names), folders, [base] * len(names)
    seen = dict(zip(names, in_processes(observed_in, *everywhere), strict=True))
    for package, own in seen.items():
        others = fit(Observations.join([each for other, each in seen.items() if other != package]))
        report(f"{package}.bits_per_byte.model", bits_per_byte(-np.log(own.chance), own))
        report(f"{package}.bits_per_byte.mixed", bits_per_byte(losses(own, others), own))
    mixing = fit(Observations.join(list(seen.values())))
    unjudged = Chooser(ranking.start(), Judge(np.zeros(len(Features.__dataclass_fields__) + 1)))
    begun = Fit(mixing, dict.fromkeys(PLACES, unjudged), 0.0, False, weights_of(base))
    found = in_processes(asked_in, *everywhere, [begun] * len(names), [cursors] * len(names))
    lines = {
        package: [line for line in own if line.answer.candidates] for package, own in zip(names, found, strict=True)
    }
    write_fit(written, lines, begun, None if name == Path(BUILT_IN).stem else built_in_fit())


def write_fit(written: Path, lines: dict[str, list[Line]], begun: Fit, near: Fit | None) -> None:
    """Ranking and chance by the lines of each package, for the mixture of `begun`.

    `near`: a fit that was made on many more lines, to be left only for good reasons.
    """
    names = list(lines)
    rankers = fit_rankers([line for name in names for line in lines[name]], near)
    for place, ranker in rankers.items():
        for name, weight in zip(ranking.NAMES, ranker.weights, strict=True):
            report(f"ranker.{place}.{name}", weight)

    owner, chosen = [], []
    for name in names:
        crossed_rankers = fit_rankers([line for other in names if other != name for line in lines[other]], near)
        own = [best_of(line, crossed_rankers) for line in lines[name]]
        exact = [each.taken for each in own if each.is_line and not each.is_new_code]
        report(f"{name}.next_line_exact", np.mean(exact))
        chosen += own
        owner += [name] * len(own)
    owner_of, taken = np.array(owner), np.array([each.taken for each in chosen], np.float64)
    rows = np.array([astuple(each.features) for each in chosen])
    places = np.array([each.place for each in chosen])
    crossed = np.zeros(len(taken))
    for name in names:
        for place in PLACES:
            others, own = (owner_of != name) & (places == place), np.flatnonzero((owner_of == name) & (places == place))
            judge = judge_of(rows[others], taken[others], place, near)
            crossed[own] = [judge.chance(chosen[number].features) for number in own]
    print_reliability(crossed, taken)
    begins = np.array([each.is_line for each in chosen])
    new_code = np.array([each.is_new_code for each in chosen])
    saved = np.array([each.saved for each in chosen])
    least = best_threshold(crossed[begins], taken[begins], saved[begins])
    groups = {"line": begins & ~new_code, "new line": begins & new_code, "inside": ~begins}
    for label, among in groups.items():
        shown = crossed[among] >= least
        report(f"{label}.exact", taken[among].mean())
        report(f"{label}.shown", shown.mean())
        report(f"{label}.taken_of_shown", taken[among][shown].mean())
        for share in (10, 5, 3):
            order = np.argsort(-crossed[among])[: among.sum() // share]
            report(f"{label}.surest_1_of_{share}", taken[among][order].mean())
    report("least", least)
    judges = {place: judge_of(rows[places == place], taken[places == place], place, near) for place in PLACES}
    fitted = replace(begun, places={place: Chooser(rankers[place], judges[place]) for place in PLACES}, least=least)
    written.write_text(json.dumps(fitted.to_json(), indent=1) + "\n", "utf-8")


@dataclass(frozen=True)
class Choice:
    """The candidate that would be offered at a cursor."""

    features: Features
    taken: bool
    saved: int  # keys, if it is taken
    is_line: bool  # the cursor is at the beginning of a line
    is_new_code: bool
    place: str


def best_of(line: Line, rankers: dict[str, ranking.Ranker]) -> Choice:
    rows, _ = line.ranked
    shares = rankers[place_of(line)].shares(rows)
    number = int(np.argmax(shares))
    best = line.answer.candidates[number]
    features = best.judged_by.with_share(float(shares[number]))
    taken, saved = best.text == line.wanted, max(0, len(line.wanted) - 1)
    return Choice(features, taken, saved, line.around.at_line_start, line.is_new_code, place_of(line))


def fit_rankers(lines: list[Line], near: Fit | None) -> dict[str, ranking.Ranker]:
    rows = {place: [line.ranked for line in lines if place_of(line) == place] for place in PLACES}
    if near is None:
        return {place: ranking.fit_ranker(rows[place]) for place in PLACES}
    return {place: ranking.fit_ranker(rows[place], near.places[place].ranker, HELD_RANKER) for place in PLACES}


def judge_of(rows: np.ndarray, taken: np.ndarray, place: str, near: Fit | None) -> Judge:
    if near is None:
        return Judge(fit_judge(rows, taken))
    return Judge(fit_judge(rows, taken, near.places[place].judge, HELD_JUDGE))


def place_of(line: Line) -> str:
    return AT_END if line.around.ends_block else WITHIN


def observed_in(work: Path, role: str, folder: Path, base: Path) -> Observations:
    with open_bench(work, role, folder, base) as bench:
        return observed(bench.model, bench.corpus, OBSERVED)


def asked_in(work: Path, role: str, folder: Path, base: Path, chosen: Fit, cursors: int) -> list[Line]:
    inside = round(INSIDE * cursors)
    with open_bench(work, role, folder, base) as bench:
        found = bench.lines(chosen, cursors) + bench.lines(chosen, inside, inside=True)
        found += bench.lines(chosen, round(NEW_CODE * cursors), new_code=True)
        return found + bench.lines(chosen, inside, inside=True, new_code=True)


def weights_of(base: Path) -> int:
    model = load_model(base, "cpu")
    try:
        return sum(int(np.prod(parameter.shape)) for parameter in model.network.parameters.values())
    finally:
        model.close()


def best_threshold(chance: np.ndarray, taken: np.ndarray, saved: np.ndarray) -> float:
    """The one that saves most keys if a wrong suggestion costs COST of them, in steps of a hundredth; higher where
    fewer than LEAST_TAKEN of what it shows would be taken.
    """
    steps = np.arange(5, 96) / 100
    worth = [float(np.where(taken > 0, saved, -COST)[chance >= step].sum()) for step in steps]
    best = int(np.argmax(worth))
    report("least_by_keys", float(steps[best]))
    return float(next((step for step in steps[best:] if taken[chance >= step].mean() >= LEAST_TAKEN), steps[best]))


def print_reliability(chance: np.ndarray, taken: np.ndarray) -> None:
    print("| said | cursors | taken |\n|---|---|---|")
    for low in np.arange(0, 1, 0.1):
        among = (chance >= low) & (chance < low + 0.1)
        if among.any():
            print(f"| {low:.1f} to {low + 0.1:.1f} | {among.sum()} | {taken[among].mean():.0%} |")
