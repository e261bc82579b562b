"""Cursors: where they stand, and that every model gets the same."""

from __future__ import annotations

import pytest

from engine.corpus.repository import Repository
from engine.corpus.tokenizer import Tokenizer
from engine.errors import CorpusError
from engine.scorecard.material import Cursor, HeldOutText, Material, candidate_lines, choose_cursors, held_out_material

TEXT = "import os\n\n\ndef area(width, height):\n    total = width * height   \n    )\n    return total\r\n# end"


def test_lines_worth_asking_for():
    lines = [TEXT[c.start : c.end] for c in candidate_lines(0, TEXT)]
    assert lines == ["def area(width, height):", "total = width * height", "return total", "# end"]


def test_before_and_after_leave_out_only_the_line():
    material = Material((HeldOutText("a.py", TEXT),), tuple(candidate_lines(0, TEXT)), 0)
    for cursor in material.cursors:
        whole = material.before(cursor, 10_000) + material.line(cursor) + material.after(cursor, 10_000)
        assert whole == TEXT


def test_a_short_view_begins_and_ends_with_whole_lines():
    text = "".join(f"line number {i}\n" for i in range(50))
    material = Material((HeldOutText("a.py", text),), (), 0)
    cursor = Cursor(0, text.index("line number 25"), text.index("\nline number 26"))
    assert material.before(cursor, 40) == "line number 23\nline number 24\n"
    assert material.after(cursor, 40) == "\nline number 26\nline number 27\n"


def test_the_same_seed_gives_the_same_cursors_and_another_others():
    texts = [HeldOutText(f"{i}.py", "x = 1\n" + "value = compute(1)\n" * 50) for i in range(5)]
    assert choose_cursors(texts, 20, 3) == choose_cursors(texts, 20, 3)
    assert choose_cursors(texts, 20, 3) != choose_cursors(texts, 20, 4)
    assert len(choose_cursors(texts, 20, 3)) == 20
    assert len(choose_cursors(texts, 10_000, 3)) == 250


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "code"
    root.mkdir()
    for number in range(30):
        body = "".join(f"def function_{number}_{i}(x):\n    return x + {i * number}\n" for i in range(12))
        (root / f"module_{number}.py").write_text(f'"""Module {number}."""\n{body}')
    texts = [path.read_text() for path in sorted(root.iterdir())]
    return Repository(root, tmp_path / "data", Tokenizer.train(texts, 512))


def test_only_held_out_files_are_asked_about(repository):
    corpus = repository.scan()
    material = held_out_material(corpus, 30, 0)
    held = {document.path for document in corpus.held_out_documents}
    assert {text.path for text in material.texts} == held
    for text in material.texts:
        assert (repository.root / text.path).read_text() == text.text


def test_another_tokenizer_gives_the_same_material(repository, tmp_path):
    first = held_out_material(repository.scan(), 30, 0)
    repository.use_tokenizer(Tokenizer.train(["something else entirely"], 300))
    assert held_out_material(repository.scan(), 30, 0) == first


def test_nothing_held_out_is_refused_in_words(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("x = 1")
    corpus = Repository(tmp_path / "code", tmp_path / "data", Tokenizer.train(["x"], 300)).scan()
    with pytest.raises(CorpusError, match="held out"):
        held_out_material(corpus, 5, 0)
