"""The window "Get a base model": nothing connects before the answer, and what follows is shown and can be ended."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel

from app.data.model_folders import FoundModel
from app.network import base_model_fetching
from app.network.base_models import BASE_MODELS
from app.values.engine import SpeedLine
from app.window.base_models.dialog import BaseModelDialog
from engine.checkpoints.store.store import CheckpointStore
from engine.session.machine_speed import MachineSpeed
from tests.app.played_jobs import answer, begin, progress, record
from tests.window.stage import application, find_devices, one_theme, press, theme  # noqa: F401  (fixtures)


@pytest.fixture
def dialog(theme, application, qtbot):  # noqa: F811
    dialog = BaseModelDialog(application)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


@pytest.fixture
def served(hub, dialog):
    """The dialog on the stand-in of the hub, its tiny model last in the list."""
    return dialog


def ask(dialog, qtbot) -> None:
    press(qtbot, dialog.cards[-1].button)


def card_of(dialog, name: str):
    return next(card for card in dialog.cards if card.model.name == name)


def test_the_list_shows_licence_size_and_memory(dialog, application):  # noqa: F811
    assert [card.model for card in dialog.cards] == list(BASE_MODELS)
    card, coder = card_of(dialog, "mamba-130m"), card_of(dialog, "qwen2.5-coder-0.5b")
    for words in ("493 MiB", "129 M", "Apache-2.0"):
        assert words in card.heading.remark.words
    assert "middle" in coder.heading.remark.words and "middle" not in card.heading.remark.words
    assert not card.badges
    for model in BASE_MODELS:
        memory = {"full": 9 * 2**28, "wsla": 2**29} if model is card.model else {"full": 2**33}
        answer(application.jobs, "base_memory", (model.name, memory, "4 sequences"))
    assert card.badges["full"].text() == "Full 2.2 GiB" and "4 sequences" in card.badges["full"].toolTip()
    assert list(card.badges) == ["full", "wsla"]
    assert card.badges["full"].property("tone") == ""
    application.settings.memory_ceiling = 2**30
    assert card.badges["full"].property("tone") == "warn" and "ceiling of 1 GiB" in card.badges["full"].toolTip()
    assert card.badges["wsla"].property("tone") == ""


def test_the_memory_is_estimated_once(dialog, application):  # noqa: F811
    asked = record(application.jobs, "base_memory")
    dialog.hide()
    dialog.show()
    assert asked == []


def test_a_gguf_file_on_disk_is_imported(dialog, application, tmp_path, qtbot):  # noqa: F811
    asked = record(application.jobs, "import_")
    press(qtbot, dialog.import_file_button)
    assert "*.gguf" in dialog.file_dialog.nameFilters()[0]
    dialog.file_dialog.fileSelected.emit(str(tmp_path / "coder.gguf"))
    dialog.file_dialog.reject()
    assert asked == [("import_", str(tmp_path / "coder.gguf"))]


def test_asking_is_not_fetching(hub, served, application, qtbot):  # noqa: F811
    ask(served, qtbot)
    assert served.question.isVisible() and "127.0.0.1" in served.question.words.text()
    assert "127.0.0.1" in served.agree_button.text()
    press(qtbot, served.decline_button)
    assert not served.question.isVisible() and not application.downloads.active and hub.asked == []


def test_a_yes_fetches_with_progress(hub, served, application, data_folder, qtbot):  # noqa: F811
    refreshed = record(application.jobs, "refresh")
    ask(served, qtbot)
    press(qtbot, served.agree_button)
    assert served.progress.isVisible() and not served.cards[0].button.isEnabled()
    qtbot.waitUntil(lambda: not application.downloads.active)
    assert served.ready.isVisible() and "tiny-1m" in served.ready.heading.text()
    assert not served.progress.isVisible() and served.cards[0].button.isEnabled() and refreshed
    assert [each.name for each in CheckpointStore(data_folder / "checkpoints").list()] == ["tiny-1m"]


def test_it_can_be_cancelled_and_gone_on_with(hub, served, application, data_folder, qtbot, monkeypatch):  # noqa: F811
    monkeypatch.setattr(base_model_fetching, "CHUNK", 512)
    application.downloads.changed.connect(lambda: cancel_when_fetching(served))

    def parts() -> list[Path]:
        return list((data_folder / "downloads" / "tiny-1m").glob("model.safetensors.*.part"))

    def cancel_when_fetching(dialog) -> None:
        if application.downloads.words.startswith("Downloading model") and parts():
            dialog.progress.cancel_button.click()
            hub.released.set()

    monkeypatch.setattr("app.workers.downloading.BETWEEN", 0.0)
    hub.holds_at = 3000
    ask(served, qtbot)
    press(qtbot, served.agree_button)
    qtbot.waitUntil(lambda: not application.downloads.active)
    assert not served.error_card.isVisible() and not served.ready.isVisible()
    left = parts()
    assert len(left) == 1 and left[0].stat().st_size < len(hub.files["model.safetensors"])


def test_what_goes_wrong_is_one_card(hub, served, application, qtbot):  # noqa: F811
    hub.missing = True
    ask(served, qtbot)
    press(qtbot, served.agree_button)
    qtbot.waitUntil(served.error_card.isVisible)
    assert "has no model" in served.error_card.cause.text() and not application.downloads.active


def test_the_program_may_end_during_a_download(hub, served, application, qtbot, monkeypatch):  # noqa: F811
    hub.delay = 0.01
    ask(served, qtbot)
    press(qtbot, served.agree_button)
    application.stop()
    assert not application.downloads.active


@pytest.fixture
def one_try(monkeypatch):
    """A silence is short, and the pause after it is longer than any test."""
    monkeypatch.setattr(base_model_fetching, "WAIT", 0.5)
    monkeypatch.setattr(base_model_fetching, "PAUSE", 3600.0)


def begin_in_silence(hub, dialog, qtbot, silent: str) -> None:
    hub.silent = silent
    ask(dialog, qtbot)
    press(qtbot, dialog.agree_button)
    qtbot.waitUntil(lambda: any(path.endswith(silent) for _, path, _ in hub.asked))


@pytest.mark.parametrize("silent", ["tiny-1m-hf", "model.safetensors"])
def test_a_silent_line_can_be_cancelled(hub, served, application, qtbot, one_try, silent):  # noqa: F811
    begin_in_silence(hub, served, qtbot, silent)
    served.progress.cancel_button.click()
    assert served.progress.cancel_button.text() == "Cancelling…"
    qtbot.waitUntil(lambda: not application.downloads.active)
    assert not served.error_card.isVisible() and not served.progress.isVisible()


def test_the_program_may_end_on_a_silent_line(hub, served, application, qtbot, one_try):  # noqa: F811
    begin_in_silence(hub, served, qtbot, "tiny-1m-hf")
    application.jobs.close()
    assert application.downloads.active  # it does not wait: other things are to be saved first
    application.stop()
    assert not application.downloads.active


def test_a_folder_on_disk_is_imported(dialog, application, folder, qtbot):  # noqa: F811
    asked = record(application.jobs, "import_")
    press(qtbot, dialog.import_button)
    dialog.file_dialog.fileSelected.emit(str(folder))
    dialog.file_dialog.reject()
    assert asked == [("import_", str(folder))]


def test_what_is_here_is_not_offered_again(dialog, application):  # noqa: F811
    from types import SimpleNamespace

    application.checkpoints.rows = (SimpleNamespace(name="mamba-130m"),)
    dialog.on_changed()
    assert not card_of(dialog, "mamba-130m").button.isEnabled() and dialog.cards[0].button.isEnabled()


def test_models_on_this_computer_are_looked_for_on_request_and_imported(dialog, application, qtbot):  # noqa: F811
    asked = record(application.jobs, "find_models", "import_")
    assert not dialog.found_cards
    press(qtbot, dialog.find_button)
    assert asked == [("find_models",)] and not dialog.find_button.isEnabled()
    good = FoundModel("Ollama", "owner/coder:latest", Path("/models/sha256-ab"), 2**20, "qwen2", 10**6, "q4_0")
    bad = FoundModel("LM Studio", "bert.gguf", Path("/models/bert.gguf"), 2**20, problem="It is a bert model.")
    for model in (good, bad):
        application.jobs.on_reported(begin(application.jobs, "find_models"), model)
    answer(application.jobs, "find_models", 2)
    first, second = dialog.found_cards
    assert dialog.find_button.isEnabled() and first.button.isEnabled() and not second.button.isEnabled()
    first.button.click()
    assert asked[1:] == [("import_", "/models/sha256-ab", "coder-latest")]
    press(qtbot, dialog.find_button)
    assert dialog.found_cards == []


def line_of(name: str, decode: float = 161.0):
    return SpeedLine(name, MachineSpeed(decode, 68.8, 5, 30))


def test_each_card_says_what_this_machine_would_do_and_how_that_is_known(dialog, application, qtbot):  # noqa: F811
    find_devices(application)
    card, other = card_of(dialog, "smollm2-135m"), card_of(dialog, "mamba-130m")
    answer(application.jobs, "known_speeds", {"smollm2-135m": line_of("smollm2-135m").speed})
    assert card.decode_badge.text() == "Completes 160 tokens/s" and card.adapt_badge.text() == "Adapts 69 tokens/s"
    assert "5 of its 30 layers" in card.decode_badge.toolTip() and "LoRA" in card.adapt_badge.toolTip()
    assert "Measuring" in other.speed_label.text() and not other.decode_badge.isVisible()
    progress(application.jobs, "base_speeds", 3, 8, "Measuring mamba-130m")
    assert dialog.measuring.isVisible() and dialog.measuring.bar.value() == 3
    assert not dialog.measure_button.isEnabled()
    application.jobs.on_reported(begin(application.jobs, "base_speeds"), line_of("mamba-130m", 7.42))
    assert other.decode_badge.isVisible() and other.decode_badge.text() == "Completes 7.4 tokens/s"


def test_measuring_can_be_cancelled_and_taken_up_again(dialog, application, qtbot):  # noqa: F811
    find_devices(application)
    answer(application.jobs, "known_speeds", {"smollm2-135m": line_of("smollm2-135m").speed})
    job = begin(application.jobs, "base_speeds")
    press(qtbot, dialog.measuring.cancel_button)
    assert job.is_cancelled()
    answer(application.jobs, "base_speeds", cancelled=True)
    assert not dialog.measuring.isVisible() and "not measured" in card_of(dialog, "mamba-130m").speed_label.text()
    asked = record(application.jobs, "base_speeds")
    press(qtbot, dialog.measure_button)
    assert len(asked) == 1 and "smollm2-135m" not in asked[0][1] and "mamba-130m" in asked[0][1]


def test_closing_the_window_ends_measuring(dialog, application):  # noqa: F811
    find_devices(application)
    answer(application.jobs, "known_speeds", {})
    job = begin(application.jobs, "base_speeds")
    dialog.close()
    assert job.is_cancelled()


def test_what_cannot_be_measured_says_why(dialog, application):  # noqa: F811
    find_devices(application)
    answer(application.jobs, "known_speeds", {})
    problem = SpeedLine("mamba-790m", problem="The weights need 2 GiB.")
    application.jobs.on_reported(begin(application.jobs, "base_speeds"), problem)
    card = card_of(dialog, "mamba-790m")
    assert "not measured" in card.speed_label.text() and "2 GiB" in card.speed_label.toolTip()


def test_what_was_fetched_can_be_used_at_once(hub, served, application, qtbot):  # noqa: F811
    ask(served, qtbot)
    press(qtbot, served.agree_button)
    qtbot.waitUntil(served.ready.isVisible)
    (manifest,) = CheckpointStore(application.data_folder / "checkpoints").list()
    press(qtbot, served.use_button)
    assert application.completion.model == manifest.id == application.training.base
    assert not served.ready.isVisible()


def test_without_pip_the_list_says_what_is_missing(theme, application, qtbot, monkeypatch):  # noqa: F811
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    dialog = BaseModelDialog(application)
    qtbot.addWidget(dialog)
    assert not any(card.model.package for card in dialog.cards)
    assert any("need pip" in label.text() for label in dialog.findChildren(QLabel))
