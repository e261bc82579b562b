"""What comes in between while a base model is fetched: a dead line, a full disk, another commit, another host."""

from __future__ import annotations

import errno
import os
import threading
from types import SimpleNamespace

import pytest

from app.network import base_model_fetching, connections
from app.network.agreement import FetchError, agreement_for
from app.network.base_model_fetching import fetch
from engine.checkpoints.store.store import CheckpointStore
from tests.app.network.hub import Hub, serve


class Enough(Exception):
    """The test has seen enough of a download."""


def nothing(done: int, total: int, words: str) -> None:
    """Nobody looks."""


@pytest.fixture
def guard():
    return connections.Guard()


@pytest.fixture
def half(hub, tiny, data_folder, guard, monkeypatch):
    """What is left on disk of a download that was cancelled half way."""
    monkeypatch.setattr(base_model_fetching, "CHUNK", 4096)

    def stop_half_way(done: int, total: int, words: str) -> None:
        if words == "Downloading model.safetensors" and done > tiny.nbytes // 2:
            raise Enough

    with pytest.raises(Enough):
        fetch(agreement_for(tiny), data_folder, stop_half_way, guard)
    hub.asked.clear()
    return data_folder / "downloads" / "tiny-1m"


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---- room


def test_what_is_there_already_needs_no_room(half, hub, tiny, data_folder, guard, monkeypatch):
    kept = sum(path.stat().st_size for path in half.iterdir())
    assert kept > tiny.nbytes // 2
    needed = 2 * tiny.nbytes - kept
    use = SimpleNamespace(free=needed - 1)
    monkeypatch.setattr(base_model_fetching.shutil, "disk_usage", lambda _: use)
    with pytest.raises(FetchError, match="GB free"):
        fetch(agreement_for(tiny), data_folder, nothing, guard)
    use.free = needed
    assert fetch(agreement_for(tiny), data_folder, nothing, guard).name == "tiny-1m"


def test_a_disk_that_fills_up_is_not_called_a_network(hub, tiny, data_folder, guard, monkeypatch):
    def full(path, mode="r", *arguments):
        if "b" in mode and "w" in mode:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return open(path, mode, *arguments)

    monkeypatch.setattr(base_model_fetching, "open", full, raising=False)
    with pytest.raises(FetchError, match="No space left on device") as caught:
        fetch(agreement_for(tiny), data_folder, nothing, guard)
    assert "reached" not in caught.value.message and "space" in caught.value.remedy
    assert len(hub.fetched()) == 1  # tried once


def test_an_empty_file_is_a_file(hub, tiny, data_folder, guard):
    hub.files["special_tokens_map.json"] = b""
    assert fetch(agreement_for(tiny), data_folder, nothing, guard).name == "tiny-1m"


# ---- another commit


def test_what_no_longer_matches_the_listing_is_fetched_again(half, hub, tiny, data_folder, guard):
    assert "config.json" in names(half)
    hub.files["config.json"] += b"\n"
    other = half / "model.safetensors.0123456789abcdef.part"
    other.write_bytes(b"of another commit")
    there = []
    fetch(agreement_for(tiny), data_folder, lambda _, __, words: there.append((words, other.exists())), guard)
    assert "config.json" in hub.fetched() and [wanted for *_, wanted in hub.asked if wanted]
    assert not any(was for words, was in there if words.startswith("Fetching"))


# ---- a dead line


@pytest.mark.parametrize("silent", ["tiny-1m-hf", "model.safetensors"])
def test_a_hub_that_stays_silent_is_given_up(hub, tiny, data_folder, guard, monkeypatch, silent):
    monkeypatch.setattr(base_model_fetching, "PAUSE", 0.0)
    monkeypatch.setattr(base_model_fetching, "WAIT", 0.05)
    hub.silent = silent
    with pytest.raises(FetchError, match="cannot be reached"):
        fetch(agreement_for(tiny), data_folder, nothing, guard)
    assert sum(path.endswith(silent) for _, path, _ in hub.asked) == base_model_fetching.TRIES


@pytest.mark.parametrize("silent", ["tiny-1m-hf", "model.safetensors"])
def test_cancelling_does_not_wait_for_a_silent_hub(hub, tiny, data_folder, guard, monkeypatch, silent):
    """It is seen after one silence, not after all tries."""
    monkeypatch.setattr(base_model_fetching, "WAIT", 0.2)
    hub.silent, cancelled = silent, threading.Event()

    def report(done: int, total: int, words: str) -> None:
        if cancelled.is_set():
            raise Enough
        if any(path.endswith(silent) for _, path, _ in hub.asked):
            cancelled.set()

    with pytest.raises(Enough):
        fetch(agreement_for(tiny), data_folder, report, guard)
    assert sum(path.endswith(silent) for _, path, _ in hub.asked) == 1
    assert base_model_fetching.WAIT < 5 and guard.open_permissions == ()


def test_a_pause_can_be_cancelled(monkeypatch):
    monkeypatch.setattr(base_model_fetching, "PAUSE", 3600.0)
    looks = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 3:
            raise Enough

    def refused() -> None:
        raise ConnectionRefusedError

    with pytest.raises(Enough):
        base_model_fetching._with_tries(refused, look)


# ---- passed on to another host


def test_weights_on_another_host_are_gone_on_with(half, hub, tiny, data_folder, guard):
    other = Hub(hub.repository, hub.files)
    end = serve(other, "127.0.0.2")
    try:
        hub.passes_on = other.address
        fetch(agreement_for(tiny), data_folder, nothing, guard)
    finally:
        end()
    ((_, path, wanted),) = other.asked
    assert path.endswith("model.safetensors") and int(wanted.removeprefix("bytes=").rstrip("-")) > 0
    assert [each.name for each in CheckpointStore(data_folder / "checkpoints").list()] == ["tiny-1m"]


def test_a_host_that_was_not_agreed_to_is_refused_in_words(hub, tiny, data_folder, guard):
    hub.passes_on = "http://elsewhere.example.org"
    with pytest.raises(FetchError, match=r"elsewhere\.example\.org, which you did not agree to"):
        fetch(agreement_for(tiny), data_folder, nothing, guard)
    assert hub.fetched().count("model.safetensors") == 1  # it is not tried again


def test_a_hub_that_passes_on_for_ever_is_left(hub, tiny, data_folder, guard):
    hub.passes_on = hub.address
    with pytest.raises(FetchError, match="redirects"):
        fetch(agreement_for(tiny), data_folder, nothing, guard)
