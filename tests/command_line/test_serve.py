"""`codecoil serve`: from a folder to an answered request, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from app.command_line import REFUSED, main
from app.command_line.serve import open_model
from app.server.access import read_access
from app.server.folder import ServedFolder
from engine.corpus.tokens.tokenizer import Tokenizer
from tests.session.small_repository import save_base

LINE = "quota = brew_marmalade(kumquat, 9731)"
NEW = "".join(
    f"def unheard_of_{n}(argument):\n    return argument * {n}4711 - unheard_offset_{n}\n\n\n" for n in range(4)
)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def base(repository, data_folder):
    (repository / "first.py").write_text(f'"""First."""\n\nbefore_it = 1\n{LINE}\n')
    data_folder.mkdir(exist_ok=True)
    texts = [path.read_text() for path in sorted(repository.glob("*.py"))]
    return save_base(data_folder, Tokenizer.train(texts, 400), "tiny")


@contextlib.contextmanager
def serving(repository: Path, *arguments: str):
    """The process and what it said when it was ready."""
    command = [
        sys.executable,
        "-m",
        "app",
        "serve",
        str(repository),
        "--checkpoint",
        "tiny",
        "--device",
        "cpu",
        "--json",
    ]
    process = subprocess.Popen(
        [*command, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    try:
        yield process, json.loads(process.stdout.readline())
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def complete(ready: dict, prefix: str, path: str = "") -> dict:
    segments = {"prefix": prefix, "suffix": "\n", "filepath": path}
    headers = {"Authorization": f"Bearer {ready['token']}", "Content-Type": "application/json"}
    data = json.dumps({"segments": segments}).encode()
    request = urllib.request.Request(f"{ready['url']}/v1/completions", data, headers)
    with urllib.request.urlopen(request, timeout=600) as response:
        return json.load(response)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process there")
def test_it_answers_from_the_folder_follows_edits_and_ends_with_ctrl_c(base, repository, data_folder):
    with serving(repository) as (process, ready):
        assert ready["event"] == "ready" and ready["model"] == "tiny" and ready["path"] == str(repository)
        assert ready["tokens"] > 1000 and ready["files"] == 10
        assert read_access(data_folder).port == int(ready["url"].rpartition(":")[2])
        for _ in range(600):  # an answer that would come too late names no model
            answer = complete(ready, "before_it = 1\nquota = brew_mar", "new.py")
            if answer["codecoil"]["model"]:
                break
        assert answer["codecoil"]["model"] == "tiny" and answer["codecoil"]["path"] == "new.py"
        (repository / "second.py").write_text(NEW)
        for _ in range(600):  # once the watcher has seen it, the file is recognised by its text
            found = complete(ready, NEW)["codecoil"]["path"]
            if found:
                break
            time.sleep(0.1)
        assert found == "second.py"
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == 0
    assert read_access(data_folder).port == 0


def test_a_file_that_comes_while_the_folder_is_read_is_seen(base, repository, data_folder):
    """Written behind the scan, and before anything follows changes."""

    def progress(_done: int, _whole: int, words: str) -> None:
        if words == "Reading the memory":
            (repository / "second.py").write_text(NEW)

    served = ServedFolder(repository, data_folder, lambda: open_model("tiny", repository, "cpu"))
    following = threading.Thread(target=served.follow, args=(print,))
    try:
        served.start(progress)
        files = served.memory_files
        following.start()
        for _ in range(600):
            if served.memory_files > files:
                break
            time.sleep(0.1)
        assert served.memory_files == files + 1
    finally:
        served.end()
        if following.ident is not None:
            following.join()
        served.stop()


@pytest.mark.parametrize("port", ["80", "0", "70000"])
def test_an_impossible_port_is_refused(repository, capsys, port):
    assert main(["serve", str(repository), "--port", port]) == REFUSED
    assert "1024 to 65535" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_refused(tmp_path, capsys):
    assert main(["serve", str(tmp_path / "nowhere")]) == REFUSED


def test_a_checkpoint_that_is_not_there_is_refused_and_no_thread_is_left(repository, data_folder, capsys):
    assert main(["serve", str(repository), "--checkpoint", "nothing", "--device", "cpu"]) == REFUSED
    assert "nothing" in capsys.readouterr().err
