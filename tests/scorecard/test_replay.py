"""Lines of the newest commits, and nothing that a model has learned."""

from __future__ import annotations

import subprocess

import pytest

from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CorpusError
from engine.scorecard.replay import replay_material


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "code"
    root.mkdir()

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)

    git("init", "-q")
    for name in ("old.py", "näme.py", "deep/two.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text('"""Words."""\n\nfirst = 1\nsecond = 2\nthird = 3\n')
    git("add", ".")
    git("commit", "-qm", "one")
    (root / "näme.py").write_text('"""Words."""\n\nfirst = 1\n++ inserted = 5\nsecond = 2\nthird = 33\n')
    (root / "deep/two.py").write_text('"""Words."""\n\nfirst = 1\n--- a = b\nsecond = 2\nthird = 3\nfourth = 4')
    git("commit", "-qam", "two")
    return Repository(root, tmp_path / "data", Tokenizer.train(["first = 1\n"], 300))


def lines_of(material) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for cursor in material.cursors:
        found.setdefault(material.texts[cursor.file].path, set()).add(material.line(cursor))
    return found


def test_only_added_lines_are_asked_for(repository):
    material = replay_material(repository.scan(), 1, 100, 0, ())
    assert lines_of(material) == {
        "näme.py": {"++ inserted = 5", "third = 33"},
        "deep/two.py": {"fourth = 4"},
    }


def test_older_commits_show_the_file_as_it_was(repository):
    material = replay_material(repository.scan(), 2, 100, 0, ())
    old = [text.text for text in material.texts if text.path == "näme.py"]
    assert len(old) == 2
    assert "third = 3\n" in old[1]


def test_learned_files_do_not_count(repository):
    assert set(lines_of(replay_material(repository.scan(), 1, 100, 0, {"näme.py"}))) == {"deep/two.py"}
    with pytest.raises(CorpusError, match="2 of the files"):
        replay_material(repository.scan(), 1, 100, 0, {"näme.py", "deep/two.py"})


def test_a_folder_without_history_is_refused(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("x = 1\n" * 40)
    corpus = Repository(tmp_path / "code", tmp_path / "data", Tokenizer.train(["x"], 300)).scan()
    with pytest.raises(CorpusError, match="no commits"):
        replay_material(corpus, 3, 10, 0, ())


def test_only_lines_of_code_count(repository):
    (repository.root / "words.md").write_text("# Words\n\nsome words here\nand some more\n")
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["add", "."], ["commit", "-qm", "words"]):
        subprocess.run(["git", "-C", str(repository.root), *identity, *arguments], check=True, capture_output=True)
    corpus = repository.scan()
    assert corpus.by_path["words.md"].learn
    assert "words.md" not in lines_of(replay_material(corpus, 2, 100, 0, ()))
