"""Cursors: where they stand, and that every model gets the same."""

from __future__ import annotations

import pytest

from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CorpusError
from engine.scorecard.material import (
    NO_CODE,
    Cursor,
    HeldOutText,
    Material,
    candidate_lines,
    capped,
    choose_cursors,
    every_held_out_file,
    held_out_material,
    largest_share,
    most_of_one,
)

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


def test_only_files_that_score_are_asked_about(repository):
    corpus = repository.scan()
    material = held_out_material(corpus, 30, 0)
    scoring = {document.path for document in corpus.scoring_documents}
    assert {text.path for text in material.texts} == scoring < {d.path for d in corpus.held_out_documents}
    assert {text.language for text in material.texts} == {"python"} and material.notes == ()
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


def test_scores_are_about_code(repository):
    """Prose and data are held out as well, and nobody is asked about them."""
    for number in range(60):
        (repository.root / f"about_{number}.md").write_text(f"# {number * 7919}\n\n" + "Some words.\n" * number)
        (repository.root / f"table_{number}.json").write_text("[\n" + f"{number * 7919},\n" * (9 + number) + "0]\n")
    corpus = repository.scan()
    ends = {document.path.rpartition(".")[2] for document in corpus.scoring_documents}
    assert ends == {"md", "json", "py"}
    material = held_out_material(corpus, 30, 0)
    assert material.cursors and all(text.path.endswith(".py") for text in material.texts)
    assert material.notes == ()
    every = every_held_out_file(corpus, 0)
    assert {text.path for text in every.texts} == {document.path for document in corpus.held_out_documents}


def test_without_held_out_code_anything_is_measured_and_a_note_says_so(tmp_path):
    (tmp_path / "docs").mkdir()
    for number in range(30):
        (tmp_path / "docs" / f"{number}.md").write_text(f"# {number * 7919}\n\n" + f"Words {number}.\n" * (9 + number))
    corpus = Repository(tmp_path / "docs", tmp_path / "data", Tokenizer.train(["Words\n"], 300)).scan()
    material = held_out_material(corpus, 30, 0)
    assert material.notes == (NO_CODE,) and material.cursors


def test_a_repository_too_small_for_a_scoring_part_says_so(tmp_path):
    (tmp_path / "code").mkdir()
    for name in "ab":
        (tmp_path / "code" / f"{name}.py").write_text(f"def {name}(x):\n    return {name * 9} + x\n" * 9)
    corpus = Repository(tmp_path / "code", tmp_path / "data", Tokenizer.train(["def a(x):\n"], 300)).scan()
    (note,) = held_out_material(corpus, 5, 0).notes
    assert "Too little code is held out" in note


@pytest.mark.parametrize("files", [1, 2, 3, 10, 40])
def test_no_file_has_more_than_its_share(files):
    """One file is far larger than all others together."""
    line = "value = compute(1)\n"
    texts = [HeldOutText(f"{i}.py", "x = 1\n" + line * (5000 if i == 0 else 40 + i)) for i in range(files)]
    counted = capped(texts)
    share = largest_share(files)
    assert [text.text for text in counted] == [text.text for text in texts]  # whole: for what stands around a cursor
    assert len(counted[0].counted) <= share * sum(len(text.counted) for text in counted)
    assert all(text.counted.endswith("\n") for text in counted)
    assert all(len(text.counted) > 600 for text in counted)
    cursors = choose_cursors(counted, 200, 0)
    of_largest = sum(cursor.file == 0 for cursor in cursors)
    assert of_largest <= share * len(cursors) + 1 and len(cursors) >= min(200, 40 * files)
    assert all(cursor.end <= len(counted[cursor.file].counted) for cursor in cursors)


def test_no_more_than_so_many_characters_are_measured(repository):
    for number in range(30):
        path = repository.root / f"module_{number}.py"
        path.write_text(path.read_text() + "".join(f"value_{i} = {i * number}\n" for i in range(2000)))
    corpus = repository.scan()
    for most in (2_000, 20_000):
        assert 0.2 * most < held_out_material(corpus, 30, 0, most).characters <= most
    assert held_out_material(corpus, 30, 0).characters > 20_000


def test_files_of_one_size_are_counted_whole():
    assert most_of_one([100] * 12) == 100 and most_of_one([100]) == 100 and most_of_one([]) == 0
    assert most_of_one([1000, *[10] * 9]) == 22  # a fifth of 112
