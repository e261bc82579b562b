"""A whole line or silence: drafts, lines from elsewhere, the chance, and more than a line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.generate import completer as completer_module
from engine.generate import offering
from engine.generate.chance import Features, Judge
from engine.generate.completer import Completer, CompletionRequest
from engine.generate.ranking import NAMES, Ranker
from engine.generate.requests import Offer
from engine.memory.names import Names, count_names
from engine.memory.segment import build_segment
from engine.memory.snapshot import MemorySnapshot
from tests.generate.small import SOURCE, ScriptedDecoder, open_small, scripted_completer, tokenizer


@pytest.fixture
def say(monkeypatch):
    """A completer whose model says what is given; with a memory of `files`."""
    monkeypatch.setattr(completer_module, "Decoder", ScriptedDecoder)

    def make(answer, files: dict[str, str] | None = None) -> Completer:
        made = scripted_completer(answer)
        made.memory = remembered(files or {})
        return made

    return make


def remembered(files: dict[str, str]) -> MemorySnapshot:
    tokens = tokenizer()
    segment = build_segment([(path, path, tokens.encode(text)) for path, text in files.items()], tokens.vocab_size)
    counts = count_names(text.encode() for text in files.values())
    return MemorySnapshot(tokens, (segment,), (np.empty(0, np.uint8),), Names(lambda: counts))


def offer(completer: Completer, prefix: str, suffix: str = "\n", path: str = "new.py", **options):
    named = {key: options.pop(key) for key in ("memory",) if key in options}
    return completer.complete(CompletionRequest(prefix, suffix, path, offer=Offer(**options), **named))


def test_a_whole_line_is_offered_with_its_chance(say):
    answer = offer(say("total = 0\nfor item in items:"), "def f(items):\n    ", memory=False)
    assert answer.text == "total = 0" and 0 < answer.chance < 1 and answer.silence == ""


def test_below_the_least_chance_it_is_silent_and_says_why(say):
    answer = offer(say("total = 0\n"), "def f(items):\n    ", memory=False, least_chance=1.0)
    assert answer.text == "" and answer.silence == offering.UNSURE and answer.chance < 1


def test_a_line_that_does_not_end_is_not_offered(say):
    answer = offer(say("x + " * 200), "y = ", memory=False)
    assert answer.text == "" and answer.silence == offering.TOO_LONG


def test_a_second_draft_is_taken_where_the_first_does_not_fit(say):
    completer = say({"total = 1\n": 0.6, "items = 2\n": 0.4})
    answer = offer(completer, "total = 1\n", memory=False)
    assert answer.text == "items = 2"


OTHER = "def one(items):\n    total = 0\n    for item in items:\n        total += item.price\n    return total\n"


def choosing(completer: Completer, **changes) -> Completer:
    places = {name: replace(place, **changes) for name, place in completer.fit.places.items()}
    completer.fit = replace(completer.fit, places=places)
    return completer


def by_likeness(completer: Completer) -> Completer:
    """Ranked by where lines stand, whatever the model says of them."""
    weights = np.zeros(len(NAMES))
    weights[NAMES.index("same_above")] = weights[NAMES.index("same_below")] = 5.0
    weights[NAMES.index("is_adapted")] = 9.0
    return choosing(completer, ranker=Ranker(weights, 0.0))


def test_a_line_from_elsewhere_is_offered_and_named(say):
    completer = by_likeness(say("pass\n", {"a.py": OTHER}))
    answer = offer(completer, "x = 1\n    for item in items:\n        ", "\n    return total\n", alternatives=3)
    assert answer.text == "total += item.price" and "pass" in answer.alternatives
    assert [(place.path, place.line) for place in answer.sources] == [("a.py", 4)] and answer.more_sources == 0


def test_a_file_does_not_see_itself(say):
    completer = by_likeness(say("pass\n", {"a.py": OTHER}))
    answer = offer(completer, "    for item in items:\n        ", "\n    return total\n", path="a.py")
    assert answer.text == "pass" and answer.sources == ()


def test_a_line_is_adapted_where_the_surroundings_differ(say):
    completer = by_likeness(say("pass\n"))
    text = "if price:\n    total(price)\nelse:\n    return\nif items:\n    "
    answer = offer(completer, text, "\nelse:\n    return\n")
    assert answer.text == "total(items)"


def test_what_is_typed_stays_and_only_what_goes_on_is_offered(say):
    completer = by_likeness(say("pass\n", {"a.py": OTHER}))
    answer = offer(completer, "x = 1\n    for item in items:\n        total += it", "\n    return total\n")
    assert answer.text == "em.price"


def test_in_the_middle_of_a_line_nothing_comes_from_elsewhere(say, monkeypatch):
    completer = say("0", {"a.py": OTHER})
    monkeypatch.setattr(completer._neighbours, "find", pytest.fail)
    assert offer(completer, "total = max(", ", 1)\n").text in ("", "0")


def test_without_memory_nothing_comes_from_elsewhere(say, monkeypatch):
    completer = say("pass\n", {"a.py": OTHER})
    monkeypatch.setattr(completer._neighbours, "find", pytest.fail)
    assert offer(completer, "x = 1\n", memory=False).text == "pass"


def sure(completer: Completer) -> Completer:
    weights = np.zeros(len(Features.__dataclass_fields__) + 1)
    weights[-1] = 9.0
    return choosing(completer, judge=Judge(weights))


def test_more_lines_while_sure_up_to_the_end_of_the_block(say):
    completer = sure(say("total = 0\n    items = []\n    return total\nprint(total)\n"))
    answer = offer(completer, "def f():\n    ", memory=False)
    assert answer.text == "total = 0\n    items = []\n    return total"


def test_more_lines_end_before_one_that_is_unsure(say):
    first = "total = 0\n    items = []\n"
    completer = sure(say({first + "    return total\n": 0.5, first + "    print(total)\n": 0.5}))
    assert offer(completer, "def f():\n    ", memory=False).text == "total = 0\n    items = []"


def test_a_file_that_parses_is_not_broken(say):
    completer = say({"else 2\n": 0.8, "total = 2\n": 0.2})
    assert offer(completer, "x = 1\n", "\ny = 2\n", memory=False).text == "total = 2"


def test_no_alternative_breaks_the_file_either(say):
    completer = say({"else 2\n": 0.8, "total = 2\n": 0.2})
    assert offer(completer, "x = 1\n", "\ny = 2\n", memory=False, alternatives=3).alternatives == ()


def test_it_ends_when_it_is_cancelled(say):
    completer = say("total = 0\n", {"a.py": OTHER})
    asked = []

    def cancelled() -> bool:
        asked.append(True)
        return len(asked) > 3

    *_, last = completer.stream(CompletionRequest("x = 1\n", "\n", "new.py", offer=Offer()), cancelled)
    assert last.reason == "cancelled" and last.text == ""


@pytest.mark.parametrize("memory", [False, True])
def test_the_real_decoder_gives_the_same_chances_one_by_one_and_all_at_once(device, memory):
    """A draft is weighed as it was written."""
    with open_small(device) as model:
        completer = Completer(model, tokenizer())
        completer.memory = remembered({"a.py": OTHER, "b.py": SOURCE[220:]})
        try:
            answer = offer(completer, SOURCE[:200], memory=memory)
            job = completer._job(CompletionRequest(SOURCE[:200], "\n", offer=Offer(), memory=memory), None, None)
            scores = offering.Offering(job)._read_prompt()
            start = job.decoder.snapshot()
            ids, chances = [], []
            for written in job.writer.tokens(scores, job.prompt.ids, job.prompt.typed):
                ids.append(written.token)
                chances.append(written.chance)
                if len(ids) == 12:
                    break
            job.decoder.restore(start)
            again = job.writer.chances(scores, ids, job.prompt.typed)
            np.testing.assert_allclose([one.chance for one in again], chances[-len(again) :], rtol=1e-3)
            assert len(again) >= 8 and again[0].is_first and answer.tokens > 0
        finally:
            completer.close()
