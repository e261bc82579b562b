"""`codecoil scan`: what it prints, as text and as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sources import fill, nearly, source, write

from app.command_line import main

ROOT = Path(__file__).parents[3]
SECRET = "AK" + "IAQX7B2MZ3N5R4T6WD"  # in two parts: nobody's scanner should alarm at this repository
FILE_KEYS = {"path", "verdict", "reason", "language", "kind", "bytes", "tokens", "held_out"}


@pytest.fixture
def scanned(root, capsys):
    """The JSON of a small repository."""
    paths = fill(root, 20)
    write(root, "zz.py", nearly(source(paths[0])))
    write(root, "settings.py", f'import os\nkey = "{SECRET}"\n' + source("settings"))
    write(root, "poetry.lock", "[[package]]\n")
    assert main(["scan", str(root), "--json"]) == 0
    printed = capsys.readouterr().out
    assert SECRET not in printed
    return json.loads(printed)


def test_json_is_one_object_as_promised(scanned):
    assert scanned.keys() == {"files", "totals", "secrets"}
    assert all(file.keys() == FILE_KEYS for file in scanned["files"])
    files = {file["path"]: file for file in scanned["files"]}
    assert files["zz.py"]["verdict"] == "leave" and files["zz.py"]["reason"] == "near_duplicate"
    assert files["poetry.lock"]["reason"] == "lock_file" and files["poetry.lock"]["tokens"] is None
    learned = [file for file in scanned["files"] if file["verdict"] == "learn"]
    assert len(learned) == 21 and all(file["reason"] is None and file["tokens"] > 0 for file in learned)
    assert sum(file["held_out"] for file in scanned["files"]) >= 2
    assert scanned["secrets"] == [{"path": "settings.py", "line": 2, "kind": "AWS access key"}]
    totals = scanned["totals"]
    assert totals["files"] == len(files) and totals["learned"]["files"] == 21
    assert totals["learned"]["tokens"] == sum(file["tokens"] for file in learned)
    assert totals["by_language"]["python"]["tokens"] == totals["learned"]["tokens"]
    assert totals["by_reason"]["lock_file"]["files"] == 1


def test_the_second_time_gives_the_same(scanned, root, capsys):
    assert main(["scan", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == scanned


def test_words_for_people(scanned, root, capsys):
    assert main(["scan", str(root)]) == 0
    printed = capsys.readouterr()
    used = [each for each in scanned["files"] if each["verdict"] == "learn"]
    held_out = sum(each["held_out"] for each in used)
    assert f"{len(used)} files used, " in printed.out and 0 < held_out < len(used)
    assert f": {len(used) - held_out} files to learn and {held_out} file" in printed.out
    assert "nearly the same as another file" in printed.out and "lock file" in printed.out
    assert "settings.py:2  AWS access key" in printed.out
    assert SECRET not in printed.out + printed.err
    assert "Largest files used" in printed.out
    assert printed.err == "", "no bar where there is no terminal"


def test_a_bar_on_a_terminal(root, capsys, monkeypatch):
    fill(root, 10)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["scan", str(root), "--json"]) == 0
    printed = capsys.readouterr()
    assert "[########################] Reading files 10 of 10" in printed.err
    assert printed.err.endswith("\r\x1b[K")
    json.loads(printed.out)


def test_the_state_goes_to_the_data_folder_only(root, tmp_path, capsys):
    fill(root, 6)
    before = sorted(root.rglob("*"))
    for number, arguments in enumerate([["--data-dir", "X", "scan", "R"], ["scan", "R", "--data-dir", "X"]]):
        folder = tmp_path / f"state {number}"
        named = [str(folder) if each == "X" else str(root) if each == "R" else each for each in arguments]
        assert main(named) == 0
        assert (folder / "repositories").is_dir() and (folder / "tokens").is_dir()
    assert sorted(root.rglob("*")) == before
    capsys.readouterr()


def test_names_cannot_steer_the_terminal(root, capsys):
    fill(root, 5)
    for name in (b"\x1b[31mred.py", b"caf\xe9.py"):
        try:
            (root / os.fsdecode(name)).write_text(source(repr(name), 300))
        except OSError:
            pytest.skip("this file system takes no such names")
    assert main(["scan", str(root)]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed and "\\x1b[31mred.py" in printed and "caf\\udce9.py" in printed
    assert main(["scan", str(root), "--json"]) == 0
    assert os.fsdecode(b"caf\xe9.py") in [file["path"] for file in json.loads(capsys.readouterr().out)["files"]]


def test_an_empty_folder(root, capsys):
    assert main(["scan", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == []
    assert main(["scan", str(root)]) == 0


def test_a_folder_that_is_not_there(root, capsys):
    assert main(["scan", str(root / "nowhere")]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and str(root / "nowhere") in printed.err


def test_tokens_are_those_of_the_built_in_model(root, capsys):
    from engine.corpus.tokens.tokenizer import Tokenizer
    from engine.model.starter import starter_place

    text = source("one.py")
    write(root, "one.py", text)
    assert main(["scan", str(root), "--json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert abs(file["tokens"] - len(Tokenizer.load(starter_place()).encode(text))) <= 2  # marks around a file


def test_a_damaged_tokenizer_is_made_again(root, data_folder, capsys, monkeypatch):
    monkeypatch.setattr("engine.model.starter.starter_folder", lambda: None)
    fill(root, 6)
    assert main(["scan", str(root), "--json"]) == 0
    first = capsys.readouterr().out
    next(data_folder.glob("repositories/*/tokenizer.json")).write_text("{")
    assert main(["scan", str(root), "--json"]) == 0
    assert capsys.readouterr().out == first


def test_no_qt_is_loaded(root):
    fill(root, 3)
    code = (
        "import sys; from app.command_line import main; main(['scan', sys.argv[1]]); sys.exit('PySide6' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(root)], cwd=ROOT, capture_output=True).returncode == 0


@pytest.mark.parametrize("command", ["scan", "train", "score", "memory"])
@pytest.mark.parametrize("given", ["", " "])
def test_an_empty_name_is_not_the_current_folder(command, given, tmp_path, monkeypatch, capsys):
    write(tmp_path, "here/a.py", source("a"))
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("CODECOIL_DATA", str(tmp_path / "data"))
    assert main([command, given]) == 2
    printed = capsys.readouterr()
    assert "folder" in printed.err and not printed.out
    assert not (tmp_path / "data" / "repositories").exists()
