"""Scores of real (tiny) models: right numbers, the same for the same model, honest about no difference."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from engine.corpus.batches.framing import Framing
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import ConfigError
from engine.model.config import ModelConfig
from engine.model.model import create_model
from engine.scorecard import HeldOutText, Material, ScoreOptions, Subject, differences, score
from engine.scorecard.material import choose_cursors
from engine.scorecard.token_measures import ScoreCancelledError, measure_tokens

LINES = [f"value_{i % 7} = compute(value_{i % 5}, {i})" for i in range(60)]
TEXTS = tuple(
    HeldOutText(f"m{k}.py", "\n".join(["import os", *LINES[k : k + 25 + k]]) + "\n", "c" if k == 4 else "python")
    for k in range(9)
)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train([text.text for text in TEXTS], 400)


@pytest.fixture
def model(tokenizer):
    config = ModelConfig(vocab_size=tokenizer.vocab_size, hidden_size=32, num_hidden_layers=2, state_size=4)
    made = create_model(config, seed=3, device="cpu")
    yield made
    made.close()


def material(cursors: int = 12) -> Material:
    return Material(TEXTS, choose_cursors(TEXTS, cursors, 0), 0)


def test_losses_are_those_of_the_model_whatever_the_batching(model, tokenizer):
    found = measure_tokens(model, tokenizer, material())
    framing = Framing(tokenizer)
    for index, text in enumerate(TEXTS):
        content = tokenizer.encode(text.text)
        ids = np.concatenate([framing.header(text.path), content]).astype(np.int64)
        logits = model.logits(ids[None, :-1])[0].astype(np.float64)
        targets = ids[1:]
        chances = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        expected = -chances[np.arange(len(targets)), targets][-len(content) :].sum()
        assert found.nats[index] == pytest.approx(expected, rel=1e-4)
        assert found.tokens[index] == len(content)
        assert found.bytes[index] == len(text.text.encode())
        best = logits.argmax(axis=1)[-len(content) :]
        assert found.first[index] == np.count_nonzero(best == content)
    assert np.all(found.first <= found.first_five)
    assert np.all(found.first_five <= found.tokens)


def test_a_card_has_every_measure_with_its_interval(model, tokenizer):
    seen = []
    card = score(Subject("tiny", model, tokenizer), material(4), ScoreOptions(cursors=4), lambda *a: seen.append(a))
    for name in ("loss", "perplexity", "bits_per_byte", "top_1", "top_5", "next_line_exact", "edit_similarity"):
        measure = card.measures[name]
        assert measure.low <= measure.value <= measure.high
    assert card.measures["perplexity"].value == pytest.approx(math.exp(card.measures["loss"].value))
    total = sum(len(text.text.encode()) for text in TEXTS)
    bits = card.samples["loss"].parts.sum() / math.log(2)
    assert card.measures["bits_per_byte"].value == pytest.approx(bits / total)
    assert set(card.file_losses) == {text.path for text in TEXTS}
    assert {words for _, _, words in seen} == {"Predicting tokens of held-out code", "Completing lines"}
    assert set(card.to_json()["measures"]) == set(card.measures)


def test_a_card_by_language_and_by_file(model, tokenizer):
    card = score(Subject("tiny", model, tokenizer), material(40), ScoreOptions(cursors=40))
    assert list(card.by_language) == ["python", "c"]  # most text first
    only = card.by_language["c"]
    assert only["loss"].value == pytest.approx(card.file_losses["m4.py"])
    assert {"shown", "taken_of_shown", "next_line_exact"} <= set(only)
    assert sum(lines.cursors for lines in card.lines_by_file.values()) == card.cursors == 40
    exact = sum(lines.exact for lines in card.lines_by_file.values())
    assert exact == pytest.approx(card.measures["next_line_exact"].value * 40)
    shown = sum(lines.shown for lines in card.lines_by_file.values())
    assert shown == pytest.approx(card.measures["shown"].value * 40)
    assert card.lines_by_file["m4.py"].language == "c"
    told = json.loads(json.dumps(card.to_json()))
    assert set(told["by_language"]["c"]["loss"]) == {"value", "low", "high"}
    assert told["lines_by_file"]["m4.py"]["cursors"] == card.lines_by_file["m4.py"].cursors


def test_only_what_counts_of_a_file_is_predicted(model, tokenizer):
    whole = Material(TEXTS[8:], (), 0)
    end = TEXTS[8].text.index("\n", 200) + 1
    part = Material((replace(TEXTS[8], counted_characters=end),), (), 0)
    found = measure_tokens(model, tokenizer, part)
    assert found.bytes[0] == end < measure_tokens(model, tokenizer, whole).bytes[0]
    assert score(Subject("tiny", model, tokenizer), part, ScoreOptions()).characters == end


def test_being_shown_more_is_neither_better_nor_worse(model, tokenizer):
    card = score(Subject("tiny", model, tokenizer), material(3), ScoreOptions(cursors=3))
    assert "shown" in card.measures and "shown" not in differences(card, card)


def test_the_same_model_twice_is_no_difference(model, tokenizer):
    first, second = (
        score(Subject(name, model, tokenizer), material(3), ScoreOptions(cursors=3)) for name in ("one", "two")
    )
    assert {found.verdict for found in differences(first, second).values()} == {"no difference"}


def test_a_model_that_learned_is_found_better(model, tokenizer):
    options = ScoreOptions(cursors=6, after=0)  # this one learns to go on, not to fill in
    before = score(Subject("before", model, tokenizer), material(6), options)
    learned = create_model(model.config, seed=3, device=model.device)
    try:
        from engine.model.step import AdamW

        step = learned.training_step("full", 4, 64)
        stream = np.concatenate([Framing(tokenizer).document(t.path, tokenizer.encode(t.text)) for t in TEXTS])
        rng = np.random.default_rng(0)
        for number in range(1, 201):
            starts = rng.integers(0, len(stream) - 65, 4)
            step.run(np.stack([stream[s : s + 65] for s in starts]).astype(np.int32), AdamW(5e-3), number)()
        after = score(Subject("after", learned, tokenizer), material(6), options)
        step.close()
    finally:
        learned.close()
    found = differences(before, after)
    assert found["bits_per_byte"].verdict == "better"
    assert found["top_1"].verdict == "better"
    assert after.measures["keystrokes_saved_by_word"].value > before.measures["keystrokes_saved_by_word"].value


def test_models_with_other_tokenizers_are_not_compared_by_token(model, tokenizer):
    other = Tokenizer.train(["quite other words, again and again, other words"] * 9, 300)
    config = ModelConfig(vocab_size=other.vocab_size, hidden_size=32, num_hidden_layers=1, state_size=4)
    second = create_model(config, seed=1, device=model.device)
    try:
        a = score(Subject("a", model, tokenizer), material(0), ScoreOptions(cursors=0))
        b = score(Subject("b", second, other), material(0), ScoreOptions(cursors=0))
    finally:
        second.close()
    assert set(differences(a, b)) == {"bits_per_byte"}


def test_cancel(model, tokenizer):
    with pytest.raises(ScoreCancelledError):
        score(Subject("x", model, tokenizer), material(), ScoreOptions(), cancelled=lambda: True)


def test_options_name_what_is_wrong():
    with pytest.raises(ConfigError, match="cursors is -1"):
        ScoreOptions(cursors=-1)
