"""A score with memory: better where the repository repeats itself, and blind to the files that are measured on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import InputError
from engine.generate.completer import Completer
from engine.generate.fits import fit_for
from engine.memory import RepositoryMemory
from engine.model.config import ModelConfig
from engine.model.model import create_model
from engine.scorecard import ScoreOptions, Subject, differences, held_out_material, score
from engine.scorecard.line_measures import measure_lines
from engine.scorecard.material import Cursor, HeldOutText, Material
from engine.scorecard.token_measures import measure_tokens

PLANTED = "zanzibar_quota = brew_marmalade(kumquat, 9731)"
BODY = "def area_{i}(width, height):\n    total = width * height\n    return total + {i}\n\n\n"


@pytest.fixture
def corpus(tmp_path):
    root = tmp_path / "code"
    root.mkdir()
    for number in range(24):
        text = f'"""Module {number}."""\n' + "".join(BODY.format(i=number * 7 + i) for i in range(5))
        (root / f"module_{number}.py").write_text(text)
    tokenizer = Tokenizer.train([path.read_text() for path in sorted(root.iterdir())], 400)
    repository = Repository(root, tmp_path / "data", tokenizer)
    held_out = repository.scan().scoring_documents[0].path
    with (root / held_out).open("a") as file:
        file.write(f"before_it = 1\n{PLANTED}\n")
    return repository, repository.update([held_out]), held_out


@pytest.fixture
def memory(corpus):
    repository, scanned, _ = corpus
    return RepositoryMemory(repository.folder, scanned.tokenizer).update(scanned)


@pytest.fixture
def model(corpus):
    config = ModelConfig(vocab_size=corpus[1].tokenizer.vocab_size, hidden_size=16, num_hidden_layers=1, state_size=4)
    made = create_model(config, seed=3, device="cpu")
    yield made
    made.close()


def planted(path: str, left_out: frozenset[str]) -> Material:
    """One cursor before the planted line, in a file that is given under another name."""
    text = f"import os\nbefore_it = 1\n{PLANTED}\n"
    start = text.index(PLANTED)
    return Material(
        (HeldOutText(path, text, "python"),), (Cursor(0, start, start + len(PLANTED)),), 0, left_out=left_out
    )


def test_a_line_of_a_held_out_file_is_not_found_while_measuring(corpus, memory, model):
    _, scanned, held_out = corpus
    material = held_out_material(scanned, 4, 0)
    assert held_out in material.left_out == {document.path for document in scanned.held_out_documents}
    subject = Subject("tiny", model, scanned.tokenizer, memory)

    # Asked for in another file: only what is left out decides whether the memory knows the line.
    blind = score(subject, planted("new.py", material.left_out), ScoreOptions())
    seeing = score(subject, planted("new.py", frozenset()), ScoreOptions())
    assert seeing.measures["next_line_exact"].value == 1.0
    assert blind.measures["next_line_exact"].value == 0.0
    assert seeing.measures["bits_per_byte"].value < blind.measures["bits_per_byte"].value

    # A text of the material is left out by its own path, whatever the list says.
    own = score(subject, planted(held_out, frozenset()), ScoreOptions())
    assert own.measures["next_line_exact"].value == 0.0


def test_memory_helps_where_a_repository_repeats_itself(corpus, memory, model):
    _, scanned, _ = corpus
    material, seen = held_out_material(scanned, 6, 0), []
    alone = score(Subject("tiny", model, scanned.tokenizer), material, ScoreOptions())
    card = score(
        Subject("tiny + memory", model, scanned.tokenizer, memory), material, ScoreOptions(), lambda *a: seen.append(a)
    )
    assert (alone.memory, card.memory) == (False, True) and card.to_json()["memory"] is True
    assert not {"top_1", "top_5"} & set(card.measures) and {"top_1", "top_5"} <= set(alone.measures)
    found = differences(alone, card)
    assert found["bits_per_byte"].verdict == found["loss"].verdict == "better"
    assert card.measures["next_line_exact"].value > alone.measures["next_line_exact"].value
    assert set(card.file_losses) == set(alone.file_losses)
    assert any("memory" in words for *_, words in seen)


def test_an_empty_memory_still_has_the_file_itself_before_the_token(corpus, memory, model):
    _, scanned, _ = corpus
    text = HeldOutText("new.py", PLANTED + "\n" + PLANTED + "\n")
    nothing = memory.without([entry.path for entry in memory.entries])
    once, twice = (
        measure_tokens(model, scanned.tokenizer, Material((each,), (), 0), memory=nothing, mixing=fit_for(model).mixing)
        for each in (HeldOutText("new.py", PLANTED + "\n"), text)
    )
    assert twice.nats[0] - once.nats[0] < once.nats[0] / 2


def test_only_what_is_sure_enough_counts_as_shown(corpus, memory, model):
    _, scanned, _ = corpus
    completer = Completer(model, scanned.tokenizer)
    completer.memory = memory
    try:
        for least, shown in ((0.0, True), (1.0, False)):
            completer.fit = replace(completer.fit, least=least)
            (result,) = measure_lines(completer, planted("new.py", frozenset()), before=4000, after=1000)
            assert result.exact and result.shown is result.taken is shown
    finally:
        completer.close()


def test_a_memory_with_other_tokens_is_refused(memory, model):
    with pytest.raises(InputError, match="tiny"):
        Subject("tiny", model, Tokenizer.train(["quite other words"], 300), memory)
