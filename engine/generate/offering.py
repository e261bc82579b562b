"""A suggestion that is whole or not made at all: a line, more only while sure, and the chance that it will be taken.

    prompt ─▶ a few drafts of the line ─▶ those that fit ─▶ the best one ─▶ chance ─▶ shown, or silence with a reason
              (other first tokens)        (`fitting_in`)     (with the text after the cursor)

The text after the cursor is used as evidence: of two drafts the better one is that after which the next line, as it
stands there, is less of a surprise. That is Bayes' rule, and needs no model that can fill in.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from engine.generate import stops as reasons
from engine.generate.answering import Answering, Shown
from engine.generate.chance import Features
from engine.generate.decoder import Cancelled, Snapshot
from engine.generate.fitting_in import Surroundings
from engine.generate.requests import Completion, Piece
from engine.memory.recall import Recall

MOST_DRAFTS = 4
MOST_TOKENS = 64  # of a line; a longer one is not whole
SURE_ENOUGH = 0.9  # of the first token: then there is no other draft worth its time
AFTER_TOKENS = 12  # of the next line that are asked for
GOES_ON = 0.7  # chance of a further line, by its tokens, to be shown with the first
MOST_LINES = 6
WHOLE = (reasons.END_OF_LINE, reasons.END_OF_TEXT, reasons.JOINED)

NOTHING_FITS = "Nothing fits here."
TOO_LONG = "The line would not end."
UNSURE = "Not sure enough."


@dataclass(eq=False)
class Draft:
    """A line as it might be.  `ids` are its tokens but the one that ends it, from the prompt's end on."""

    text: str
    reason: str
    ids: list[int]
    last: int
    chances: list[float]
    known: list[int]
    end: Snapshot  # behind `ids`
    scores: np.ndarray  # (v,) the model's there
    after: float = 0.0  # log-probability of the next line's tokens behind it, each
    problem: str = ""
    share: float = field(default=1.0)  # of all drafts' probability

    @property
    def log_chance(self) -> float:
        return float(np.log(np.maximum(self.chances, 1e-30)).sum())


class Offering(Answering):
    """Iterate once: one piece with all of the text, if there is any, then the completion."""

    def __iter__(self) -> Iterator[Piece | Completion]:
        try:
            scores = self._read_prompt()
            drafts = self._drafts(scores)
        except Cancelled:
            yield self._completion("", reasons.CANCELLED)
            return
        around = Surroundings(self._request.prefix, self._request.suffix, self._request.path)
        for draft in drafts:
            draft.problem = around.problem(draft.text, joined=draft.reason == reasons.JOINED)
        fitting = [draft for draft in drafts if not draft.problem]
        if not fitting:
            why = drafts[0].problem if drafts else TOO_LONG
            yield self._completion("", reasons.SILENT, silence=why or NOTHING_FITS)
            return
        best, others = self._ranked(fitting, around)
        features = self._features(best, around)
        chance = self._job.judge.chance(features)
        if chance < self._request.offer.least_chance:
            yield self._completion("", reasons.SILENT, silence=UNSURE, chance=chance, features=features)
            return
        text = best.text + self._more_lines(best, chance, around)
        places, more = self._places(best)
        yield Piece(text)
        yield self._completion(
            text,
            best.reason,
            chance=chance,
            sources=places,
            more_sources=more,
            alternatives=tuple(draft.text for draft in others)[: self._request.offer.alternatives],
            features=features,
        )

    # ---- drafts

    def _drafts(self, scores: np.ndarray) -> list[Draft]:
        """Lines with other first tokens, the likeliest first; only what is whole."""
        start = self._decoder.snapshot()
        drafts: list[Draft] = []
        avoid: list[int] = []
        for number in range(MOST_DRAFTS):
            if self._unwanted():
                raise Cancelled("The request was overtaken.")
            if number:
                self._decoder.restore(start)
            first, draft = self._draft(scores, avoid)
            if draft is not None and draft.text not in [other.text for other in drafts]:
                drafts.append(draft)
            if first is None or first.chance >= SURE_ENOUGH:
                break
            avoid.append(first.token)
        return drafts

    def _draft(self, scores: np.ndarray, avoid: list[int]):
        """The first token beyond what is typed, and the line that begins with it; None where it does not end."""
        typed = self._prompt.typed
        shown = Shown(self._tokenizer, self._request, len(typed.decode("utf-8", "surrogatepass")))
        ids: list[int] = []
        chances, known = [], []
        first = None
        for written in self._writer.tokens(scores, self._prompt.ids, typed, avoid):
            self._first = self._first or time.perf_counter()
            if written.is_first:
                first = written
            if first is not None:
                chances.append(written.chance)
                known.append(written.known)
            ended = written.token in self._tokenizer.special_ids or written.token >= self._tokenizer.vocab_size
            if not ended:
                shown.feed(written.token)
            reason = reasons.END_OF_TEXT if ended else shown.reason
            if reason is None and len(ids) >= MOST_TOKENS:
                return first, None
            if reason is not None:
                shown.finish()
                self._tokens += ids
                if reason not in WHOLE:
                    return first, None
                text = shown.text.split("\n", 1)[0].rstrip()
                end, scores = self._decoder.snapshot(), self._writer.scores.copy()
                return first, Draft(text, reason, ids, written.token, chances, known, end, scores)
            ids.append(written.token)
        return None, None  # there is no other first token

    # ---- ranking

    def _ranked(self, drafts: list[Draft], around: Surroundings) -> tuple[Draft, list[Draft]]:
        """The best draft, and the others from better to worse."""
        following = around.next_line
        tokens = self._tokenizer.encode(following)[:AFTER_TOKENS] if following and len(drafts) > 1 else ()
        if len(tokens) and self._job.recall is not None:
            for draft in drafts:
                draft.after = self._surprise(draft, tokens)
        scores = np.array([draft.log_chance + draft.after for draft in drafts])
        shares = np.exp(scores - np.logaddexp.reduce(scores))
        for draft, share in zip(drafts, shares.tolist(), strict=True):
            draft.share = share
        order = np.argsort(-scores, kind="stable")
        return drafts[order[0]], [drafts[number] for number in order[1:]]

    def _surprise(self, draft: Draft, tokens: np.ndarray) -> float:
        """The log-probability of `tokens` behind a draft, by model and memory, which do not look at what is after."""
        recall: Recall = self._job.recall.blind()
        self._decoder.restore(draft.end)
        ids, total, scores = list(draft.ids), 0.0, draft.scores
        for number, token in enumerate(tokens.tolist()):
            total += float(np.log(max(recall.mixed(scores, ids)[token], 1e-12)))
            ids.append(token)
            if number + 1 < len(tokens):
                scores = self._decoder.step(token)
        return total

    def _features(self, draft: Draft, around: Surroundings) -> Features:
        return Features.of(draft.chances, draft.known, draft.share, draft.text, around, self._knows_name)

    def _knows_name(self, name: str) -> bool:
        return any(name.encode() in names for names in self._job.names)

    # ---- more than a line

    def _more_lines(self, draft: Draft, chance: float, around: Surroundings) -> str:
        """Further lines of the same block, each as sure as the first must be to go on."""
        if chance < GOES_ON or draft.reason != reasons.END_OF_LINE or around.rest.strip() or not draft.ids:
            return ""
        self._decoder.restore(draft.end)
        ids, data, scores = list(draft.ids), b"", draft.scores
        lines: list[str] = []
        likely = 1.0
        typed = self._prompt.typed.decode("utf-8", "surrogatepass")
        for _ in range(MOST_LINES * MOST_TOKENS):
            probabilities = self._distribution(scores, ids)
            token = int(np.argmax(probabilities))
            if token in self._tokenizer.special_ids or token >= self._tokenizer.vocab_size or self._unwanted():
                break
            likely *= float(probabilities[token])
            data += self._tokenizer.token_bytes[token]
            if likely < GOES_ON:
                break
            written = data.decode("utf-8", "ignore").split("\n")
            if len(written) > len(lines) + 2:  # the line after the break before it is whole
                line = written[len(lines) + 1].rstrip()
                if not around.goes_on(line, [draft.text if not typed else around.line + draft.text, *lines]):
                    break
                lines.append(line)
                likely = 1.0
                if len(lines) == MOST_LINES:
                    break
            ids.append(token)
            scores = self._decoder.step(token)
        while lines and not lines[-1].strip():
            lines.pop()
        return "".join(f"\n{line}" for line in lines)

    def _distribution(self, scores: np.ndarray, ids: list[int]) -> np.ndarray:
        if self._job.recall is not None:
            return self._job.recall.mixed(scores, ids)
        shares = np.exp(scores.astype(np.float64) - scores.max())
        return shares / shares.sum()

    # ---- where it is from

    def _places(self, draft: Draft):
        """The first places of the repository that have this line, and how many more there are."""
        if self._job.memory is None or len(draft.ids) < 3:
            return (), 0
        places = self._job.memory.places_of(np.array(draft.ids), self._request.path)
        return tuple(places[:1]), max(0, len(places) - 1)
