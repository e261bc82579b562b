"""`codecoil memory`: what it holds, and what it would suggest."""

from __future__ import annotations

import json

import pytest

from app.command_line import REFUSED, main
from app.command_line.memory import lines
from engine.corpus.tokens.tokenizer import Tokenizer
from tests.session.small_repository import save_base

LINE = "quota = brew_marmalade(kumquat, 9731)"


@pytest.fixture
def base(repository, data_folder):
    """A tiny model, and three files of the repository that share a line; one has only begun it."""
    for name in ("first.py", "second.py"):
        (repository / name).write_text(f'"""{name}."""\n\nbefore_it = 1\n{LINE}\n')
    (repository / "asking.py").write_text(f"import os\n\nbefore_it = 1\n{LINE[:17]}\nafter_it = 2\n")
    data_folder.mkdir(exist_ok=True)
    texts = [path.read_text() for path in sorted(repository.glob("*.py"))]
    return save_base(data_folder, Tokenizer.train(texts, 400), "tiny")


@pytest.fixture
def ask(base, repository, capsys):
    """What a command prints."""

    def asked(*arguments):
        assert main(["memory", str(repository), "--checkpoint", "tiny", "--device", "cpu", *map(str, arguments)]) == 0
        return capsys.readouterr().out

    return asked


def test_what_it_holds(ask, repository):
    found = json.loads(ask("--json"))
    assert found["path"] == str(repository) and found["model"] == "tiny" and len(found["tokenizer"]) >= 12
    assert found["files"] == 12 and found["tokens"] > 1000 and found["names"] > 20
    assert found["bytes"] > found["tokens"] and 0 <= found["age"] < 60 and "suggestion" not in found
    (repository / "second.py").unlink()
    assert json.loads(ask("--json"))["files"] == 11
    printed = ask()
    assert "tokens in 11 files" in printed and "on disk, built" in printed and "Tokenizer of tiny" in printed


def test_what_it_would_suggest(ask, repository):
    place = ("--ask", repository / "asking.py", "--line", 4)
    found = json.loads(ask(*place, "--json"))["suggestion"]
    assert found["file"] == "asking.py" and found["text"] == LINE[17:] and 0 <= found["chance"] <= 1
    assert found["sources"] == [{"path": "first.py", "line": 4}] and found["more_sources"] == 1
    printed = ask(*place)
    assert f" %  {LINE[17:]}\n" in printed and "(as in first.py:4 and 1 more)" in printed
    inside = json.loads(ask("--ask", "asking.py", "--line", 4, "--json"))["suggestion"]  # the path in the folder
    assert (inside["file"], inside["text"]) == ("asking.py", LINE[17:])
    silent = ask(*place, "--column", 14)  # within the word that stands there
    assert "No suggestion: It does not fit before the rest of the line." in silent


def test_its_age_in_words():
    content = {"path": "shop", "tokens": 1, "files": 1, "names": 2, "bytes": 2048, "tokenizer": "ab" * 32, "model": "m"}
    said = {age: lines(content | {"age": age})[2] for age in (None, 1.0, 180.0)}
    assert said == {
        None: "2 KiB on disk, not saved",
        1.0: "2 KiB on disk, built just now",
        180.0: "2 KiB on disk, built 3 min ago",
    }
    assert lines(content | {"age": 1.0})[1] == "1 token in 1 file, 2 names"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--line", "3"], "--line and --column"),
        (["--ask", "missing.py"], "missing.py cannot be read"),
        (["--ask", __file__], "is not in"),
        (["--checkpoint", "nobody"], "nobody"),
        ([], "There is no model yet."),
    ],
)
def test_what_cannot_be_is_refused_in_words(arguments, words, repository, capsys):
    assert main(["memory", str(repository), *arguments]) == REFUSED
    assert words in capsys.readouterr().err
