"""`codecoil lsp` in a process of its own, with the built-in model and a folder that it reads itself."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from app.language_server.asking import MOST_AFTER, MOST_BEFORE, relative, windows
from tests.app.language_server.editor import ROOT, Process

LINE = "    quota = brew_marmalade(kumquat, 9731)"


@pytest.fixture
def process():
    started = []

    def start(*arguments):
        started.append(Process(*arguments))
        return started[-1]

    yield start
    for each in started:
        each.kill()


def until_ready(editor: Process) -> dict:
    while (status := editor.result("codecoil/status"))["state"] == "loading":
        time.sleep(0.1)
    return status


def test_the_built_in_model_completes_from_the_folder_and_nothing_is_left_behind(process, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("first", "second", "third"):
        (folder / f"{name}.py").write_text(f'"""The {name}."""\n\n\ndef {name}(kumquat):\n{LINE}\n    return quota\n')
    editor = process()
    editor.begin(folder)
    uri = editor.open(folder / "new.py", "# 😀\r\n\r\n\r\ndef fourth(kumquat):\r\n    x\r\n    return quota\r\n")
    status = until_ready(editor)
    assert status["state"] == "ready" and status["memory"]["files"] == 3 and not status["sharedWithProgram"]
    change = {"start": {"line": 4, "character": 4}, "end": {"line": 4, "character": 5}}
    editor.change(uri, {"range": change, "text": LINE[4:12]})
    (item,) = editor.answer(editor.complete(uri, 4, 12, invoked=True))["result"]["items"]
    assert item["insertText"] == LINE[12:]
    assert item["range"]["start"] == item["range"]["end"] == {"line": 4, "character": 12}
    assert editor.result("shutdown") is None
    editor.notify("exit")
    assert editor.process.wait() == 0
    assert editor.rest() == b"" and editor.unasked == []


def test_a_model_that_is_not_there_is_said_and_requests_are_answered(process, tmp_path):
    editor = process("--checkpoint", "nothing")
    editor.begin(tmp_path)
    uri = editor.open(tmp_path / "a.py", "x = ")
    status = until_ready(editor)
    assert status["state"] == "failed" and "nothing" in status["problem"]
    assert editor.answer(editor.complete(uri, 0, 4))["result"] == {"items": []}
    editor.notify("exit")
    assert editor.process.wait() == 1


def test_it_ends_when_the_pipe_is_closed(process, tmp_path):
    editor = process()
    editor.begin(tmp_path)
    editor.process.stdin.close()
    assert editor.process.wait() == 1


def test_nothing_but_the_protocol_is_on_standard_output():
    script = (
        "import os, sys\n"
        "from app.language_server.serving import pipes\n"
        "with pipes() as (read, write):\n"
        "    print('printed', flush=True); os.write(1, b'from below')\n"
        "    write(read(5))\n"
        "print('after')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, input=b"bytes", capture_output=True)
    assert done.stdout.split() == [b"bytesafter"] and b"printed" in done.stderr and b"from below" in done.stderr


def test_a_very_long_file_is_cut_at_lines_and_stays_where_it_was():
    text = "".join(f"line {n}\n" for n in range(200_000))
    prefix, suffix = windows(text, text)
    assert len(prefix) <= MOST_BEFORE and len(suffix) <= MOST_AFTER
    assert text.endswith(prefix) and text.startswith(suffix)
    assert prefix.startswith("line ") and suffix.endswith("\n")
    longer, _ = windows(text + "more", "")
    assert longer == prefix + "more"
    assert windows("short", "text") == ("short", "text")


def test_a_path_is_as_the_folder_has_it(tmp_path):
    assert relative(tmp_path / "a" / "b.py", tmp_path) == "a/b.py"
    assert relative(tmp_path / "b.py", tmp_path / "a") == "b.py"
    assert relative(tmp_path / "b.py", None) == "b.py"
