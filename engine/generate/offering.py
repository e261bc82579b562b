"""A suggestion that is a whole line or nothing: more lines only if confident, with the probability of acceptance.

    prompt ─▶ drafts of the line, by model and memory ─┐
    memory ─▶ lines from similar surroundings ─────────┴▶ those that fit ─▶ ranked ─▶ chance ─▶ shown, or nothing
              (`neighbours`)                              (`fitting_in`)   (`ranking`)         with a reason

A third of the lines that programmers write already exist elsewhere in the repository, often in similar surroundings:
with them 24 % of the lines in the tuning packages are right, with drafts alone 15 %. Where such a line differs from
what is wanted in the same way as the lines around it do, it is adapted (`analogies`).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from engine.generate import stops as reasons
from engine.generate.chance import NAME, Features
from engine.generate.completion_run import CompletionRun, Shown
from engine.generate.decoder import Cancelled
from engine.generate.fitting_in import SYNTAX, Surroundings
from engine.generate.ranking import rank_features
from engine.generate.requests import Completion, Piece
from engine.generate.snapshot import Snapshot
from engine.memory.analogies import adapted
from engine.memory.neighbours import Neighbour

MOST_DRAFTS = 2
MOST_COPIES, MOST_ADAPTED = 6, 4  # lines from elsewhere whose probability is computed: as they are, and adapted
LOOKED_AT = 32  # neighbours examined until that many fit
MOST_TOKENS = 64  # of a line; a longer one is not offered
SURE_ENOUGH = 0.9  # probability of the first token above which no second draft is worth its time
PARSED = 3  # of the best candidates; if none of them parses, nothing is offered
GOES_ON = 0.7  # probability, by its tokens, from which a further line is shown with the first
MOST_LINES = 6
WHOLE = (reasons.END_OF_LINE, reasons.END_OF_TEXT, reasons.JOINED)

NOTHING_FITS = "Nothing fits here."
TOO_LONG = "The line would be too long."
UNSURE = "Not confident enough."


@dataclass(eq=False)
class Candidate:
    """A possible rest of the line.  likeness: how similar the surroundings are, for a line from elsewhere."""

    text: str
    reason: str
    is_draft: bool = False
    likeness: np.ndarray | None = None
    is_adapted: bool = False
    ids: list[int] = field(default_factory=list)  # after the prompt, without the one that ends the line
    chances: list[float] = field(default_factory=list)  # probabilities of its tokens and of the line end
    ranked_by: np.ndarray = field(default_factory=lambda: np.empty(0))
    judged_by: Features | None = None
    share: float = 1.0  # probability that it is the right line, by the ranker


class Offering(CompletionRun):
    """Iterate once: one piece with all the text, if there is any, then the completion."""

    def __iter__(self) -> Iterator[Piece | Completion]:
        around = Surroundings(self._request.prefix, self._request.suffix, self._request.path)
        try:
            scores = self._read_prompt()
            start = self._decoder.snapshot()
            drafts, problem = self._drafts(scores, start, around)
            candidates = self._with_neighbours(drafts, around)
            for candidate in candidates:
                self._weigh(candidate, scores, start, around)
        except Cancelled:
            yield self._completion("", reasons.CANCELLED)
            return
        if not candidates:
            yield self._completion("", reasons.SILENT, silence=problem)
            return
        place = self._job.fit.place_of(around)
        shares = place.ranker.shares(np.array([candidate.ranked_by for candidate in candidates]))
        for candidate, share in zip(candidates, shares.tolist(), strict=True):
            candidate.share = share
        ranked = sorted(candidates, key=lambda one: -one.share)
        best = next((one for one in ranked[:PARSED] if around.parses(one.text)), None)
        if best is None:
            yield self._completion("", reasons.SILENT, silence=SYNTAX)
            return
        chance = place.judge.chance(best.judged_by.with_share(best.share))
        weighed = {"chance": chance, "candidates": tuple(candidates)}
        if chance < self._request.offer.least_chance:
            yield self._completion("", reasons.SILENT, silence=UNSURE, **weighed)
            return
        text = best.text + self._more_lines(best, chance, start, around)
        places, more = self._places(best)
        others = (one.text for one in ranked if one is not best and around.parses(one.text))
        yield Piece(text)
        yield self._completion(
            text,
            best.reason,
            sources=places,
            more_sources=more,
            alternatives=tuple(itertools.islice(others, self._request.offer.alternatives)),
            **weighed,
        )

    # ---- candidates

    def _drafts(self, scores: np.ndarray, start: Snapshot, around: Surroundings) -> tuple[list[Candidate], str]:
        """Lines with different first tokens, the likeliest first, that are whole and fit; and why the first did not."""
        drafts: list[Candidate] = []
        avoid: list[int] = []
        problem = ""
        for number in range(MOST_DRAFTS):
            if number:
                self._decoder.restore(start)
            first, draft = self._draft(scores, avoid)
            wrong = around.problem(draft.text, joined=draft.reason == reasons.JOINED) if draft is not None else TOO_LONG
            problem = problem or wrong
            if not wrong and draft.text not in [other.text for other in drafts]:
                drafts.append(draft)
            if first is None or (not wrong and first.chance >= SURE_ENOUGH):
                break
            avoid.append(first.token)
        return drafts, problem or NOTHING_FITS

    def _draft(self, scores: np.ndarray, avoid: list[int]):
        """The first token beyond the typed text, and the line that starts with it; None where that does not end."""
        typed = self._prompt.typed
        shown = Shown(self._tokenizer, self._request, len(typed.decode("utf-8", "surrogatepass")))
        first, written_tokens = None, []
        for written in self._writer.tokens(scores, self._prompt.ids, typed, avoid):
            self._ask_cancelled()
            self._first = self._first or time.perf_counter()
            first = written if written.is_first else first
            ended = written.token in self._tokenizer.special_ids or written.token >= self._tokenizer.vocab_size
            if not ended:
                shown.feed(written.token)
            reason = reasons.END_OF_TEXT if ended else shown.reason
            if reason is None and len(written_tokens) >= MOST_TOKENS:
                return first, None
            if reason is not None:
                shown.finish()
                self._tokens += written_tokens
                text = shown.text.split("\n", 1)[0].rstrip()
                return first, Candidate(text, reason, is_draft=True) if reason in WHOLE else None
            written_tokens.append(written.token)
        return None, None  # there is no other first token

    def _with_neighbours(self, drafts: list[Candidate], around: Surroundings) -> list[Candidate]:
        """The drafts, and lines from elsewhere that fit."""
        by_text = {draft.text: draft for draft in drafts}
        typed, room = around.line.lstrip(), {False: MOST_COPIES, True: MOST_ADAPTED}

        def add(line: str, likeness: np.ndarray, is_adapted: bool) -> None:
            text = line[len(typed) :]
            if text in by_text:
                if by_text[text].likeness is None:
                    by_text[text].likeness, by_text[text].is_adapted = likeness, is_adapted
            elif room[is_adapted] and line.startswith(typed) and not around.problem(text, joined=False):
                by_text[text] = Candidate(text, reasons.END_OF_LINE, likeness=likeness, is_adapted=is_adapted)
                room[is_adapted] -= 1

        found = self._neighbours(around)
        for neighbour in found:
            add(neighbour.text, neighbour.likeness, False)
        for neighbour in found[:MOST_COPIES]:
            for line in adapted(neighbour.text, neighbour.around, (around.above, around.below)):
                if all(map(self._knows_name, set(NAME.findall(line)))):
                    add(line, neighbour.likeness, True)
        return list(by_text.values())

    def _neighbours(self, around: Surroundings) -> list[Neighbour]:
        if self._job.neighbours is None or around.rest.strip():
            return []
        return self._job.neighbours(LOOKED_AT)

    def _weigh(self, candidate: Candidate, scores: np.ndarray, start: Snapshot, around: Surroundings) -> None:
        """Computes how likely its tokens are, and that the line ends after them, by model and memory."""
        self._ask_cancelled()
        typed = self._prompt.typed
        text = typed + candidate.text.encode("utf-8", "surrogatepass")
        behind = around.rest if candidate.reason == reasons.JOINED else ""
        whole = text.decode("utf-8", "surrogatepass") + behind + (around.next_line or "\n")
        ids = self._tokenizer.encode(whole).tolist()
        ends = np.cumsum(self._tokenizer.byte_lengths[ids])
        cut = int(np.searchsorted(ends, len(text), side="right"))  # the token that reaches beyond the line
        self._decoder.restore(start)
        written = self._writer.chances(scores, ids[: cut + 1], typed)
        candidate.ids = ids[:cut]
        candidate.chances = [one.chance for one in written]
        candidate.ranked_by = rank_features(
            candidate.chances, candidate.likeness, is_draft=candidate.is_draft, is_adapted=candidate.is_adapted
        )
        candidate.judged_by = Features.of(len(candidate.chances), candidate.text, around, self._knows_name)

    def _ask_cancelled(self) -> None:
        if self._unwanted():
            raise Cancelled("A newer request replaced this one.")

    def _knows_name(self, name: str) -> bool:
        return any(name.encode() in names for names in self._job.names)

    # ---- more than a line

    def _more_lines(self, best: Candidate, chance: float, start: Snapshot, around: Surroundings) -> str:
        """Further lines of the same block, each of them at least GOES_ON likely."""
        if chance < GOES_ON or best.reason != reasons.END_OF_LINE or around.rest.strip() or not best.ids:
            return ""
        self._decoder.restore(start)
        if best.ids[:-1]:
            self._decoder.read(best.ids[:-1])
        data = b""
        lines: list[str] = []
        likely = 1.0
        for token, probability in itertools.islice(self._writer.continued(best.ids), MOST_LINES * MOST_TOKENS):
            if token in self._tokenizer.special_ids or token >= self._tokenizer.vocab_size or self._unwanted():
                break
            likely *= probability
            data += self._tokenizer.token_bytes[token]
            if likely < GOES_ON:
                break
            written = data.decode("utf-8", "ignore").split("\n")
            if len(written) > len(lines) + 2:  # another line is complete
                line = written[len(lines) + 1].rstrip()
                if not around.goes_on(line, [around.line + best.text, *lines]):
                    break
                lines.append(line)
                likely = 1.0
                if len(lines) == MOST_LINES:
                    break
        while lines and not lines[-1].strip():
            lines.pop()
        return "".join(f"\n{line}" for line in lines)

    # ---- its sources

    def _places(self, best: Candidate):
        """The first place in the repository with this line, and how many more there are."""
        if self._job.memory is None or len(best.ids) < 3:
            return (), 0
        places = self._job.memory.places_of(np.array(best.ids), self._request.path)
        return tuple(places[:1]), max(0, len(places) - 1)
