"""The whole tour of packaging/ on the real engine, and what must be true after each of its scenes.

One test, because every scene depends on those before it.  The built-in model is a tiny one, the project is the sample.
"""

from __future__ import annotations

import importlib.resources
import shutil
from pathlib import Path

import pytest
from tour import adapt_scenes, checkpoint_scenes, complete_scenes, repository_scenes
from tour.camera import Camera
from tour.scenes import BRIEF, SCENES, Tour

from app.data.data_folder import data_folder as usable_folder
from engine.checkpoints.store.store import CheckpointStore

PATIENCE = 60_000  # milliseconds


@pytest.fixture
def tiny_starter(tmp_path, monkeypatch):
    """A very small model in place of the built-in one, with a tokenizer of the sample project."""
    import engine
    from engine.corpus.tokens.tokenizer import Tokenizer

    folder = tmp_path / "starter"
    sample = Path(str(importlib.resources.files("resources"))) / "sample_repository"
    texts = [path.read_text("utf-8") for path in sorted(sample.rglob("*.py"))]
    tokenizer = Tokenizer.train(texts, 600)
    config = {"hidden_size": 16, "num_hidden_layers": 2, "vocab_size": tokenizer.vocab_size, "state_size": 4}
    model = engine.create_model(config, device="cpu")
    try:
        model.save(folder)
    finally:
        model.close()
    tokenizer.save(folder / "tokenizer.json")
    monkeypatch.setattr("engine.model.starter.starter_place", lambda: folder)


class Watcher(Camera):
    """Takes the tour's pictures; when the window asks whether to leave, keeps the data folder as a kill would."""

    def __init__(self, tour: Tour, out: Path, kept: Path) -> None:
        super().__init__(tour.desktop, tour.user, out, both=False)
        self._tour, self._kept = tour, kept

    def take(self, name: str, both: bool = False) -> None:
        super().take(name, both)
        if name == "leaving":
            data = usable_folder()
            self._tour.user.until(lambda: list((data / "runs").glob("*.safetensors")), "save the run for later")
            shutil.copytree(data, self._kept)


def test_the_whole_story(open_window, tiny_starter, qtbot, tmp_path, monkeypatch):
    monkeypatch.setattr("app.workers.measuring.CURSORS", 1)  # of a scorecard
    pictures, killed = tmp_path / "pictures", tmp_path / "killed"
    pictures.mkdir()
    desktop = open_window()
    tour = Tour(desktop, pictures, BRIEF)
    tour.camera = Watcher(tour, pictures, killed)
    failures: list = []
    state = desktop.state
    for signal in (state.engine.failed, state.training.failed, state.checkpoints.failed):
        signal.connect(failures.append)
    played = []
    for title, scene in SCENES:
        tour.play(title, scene)
        CHECKS.get(scene, lambda tour: None)(tour)
        played.append(scene)
        assert failures == [], title
    assert set(CHECKS) <= set(played)
    assert len(list(pictures.glob("*.png"))) == len(tour.camera.pictures) >= len(SCENES)
    store = CheckpointStore(usable_folder() / "checkpoints")
    results = [manifest for manifest in store.list() if manifest.run and not manifest.is_snapshot]
    assert len(results) == 3, "the run that was left is saved as well"

    monkeypatch.setenv("CODECOIL_DATA", str(killed))
    again = open_window()
    qtbot.waitUntil(lambda: bool(again.state.training.resumable), timeout=PATIENCE)
    page = again.window.page("Adapt")
    again.window.show_page("Adapt")
    (run,) = again.state.training.resumable
    assert run.steps == adapt_scenes.LONG and page.interrupted.isVisible() and run.problem == ""
    qtbot.waitUntil(page.interrupted.resume_button.isEnabled)
    page.interrupted.resume_button.click()
    qtbot.waitUntil(lambda: again.state.training.step > run.step, timeout=PATIENCE)
    page.run_header.stop_button.click()
    qtbot.waitUntil(lambda: not again.state.training.active, timeout=PATIENCE)
    assert again.state.training.finished.run == run.id
    qtbot.waitUntil(lambda: not again.state.training.resumable, timeout=PATIENCE)


# ---- what must be true after each scene


def _after_start(tour: Tour) -> None:
    page = tour.window.page("Repository")
    assert page.start.isVisible() and tour.state.repository.phase == "none"
    assert not tour.window.header.adapt_button.isEnabled()


def _after_reading(tour: Tour) -> None:
    corpus = tour.state.repository.corpus
    assert {"python", "typescript"} <= {share.language for share in corpus.by_language}
    assert {row.reason for row in corpus.files if not row.learn} >= {"vendored", "lock_file"}
    assert corpus.totals.held_out.files > 0
    assert tour.state.repository.watcher in ("watching", "looking")


def _after_scoring(tour: Tour) -> None:
    held_out = {row.path for row in tour.state.repository.corpus.files if row.held_out}
    assert set(tour.state.repository.losses) == held_out


def _after_writing(tour: Tour) -> None:
    assert tour.window.page("Complete").editor.toPlainText() == complete_scenes.NEW_FILE


def _after_set_up(tour: Tour) -> None:
    training = tour.state.training
    assert training.mode == "full" and training.preset == "custom"
    for name, words in BRIEF.options.items():
        assert getattr(training.options, name) == pytest.approx(float(words)), name


def _after_finish(tour: Tour) -> None:
    finished = tour.state.training.finished
    assert finished.held_out_after < finished.held_out_before
    assert tour.state.training.after.loss < tour.state.training.before.loss


def _after_completing(tour: Tour) -> None:
    assert tour.window.page("Complete").editor.toPlainText() == complete_scenes.NEW_FILE, "it is the same cursor"
    answered = {channel.view.model for channel in tour.window.page("Complete").sides.wanted_channels}
    assert len(answered) == 2 and tour.seen.checkpoints[-1] in answered


def _after_changes(tour: Tour) -> None:
    assert tour.state.repository.changes.paths == tuple(sorted(adapt_scenes.CHANGED))


def _after_adapting(tour: Tour) -> None:
    first, second = (tour.state.checkpoints.row(id) for id in tour.seen.checkpoints)
    assert first.id in (second.base, *second.parents)
    assert not tour.state.repository.changes.any or tour.state.repository.changes.checkpoint == second.id


def _after_merging(tour: Tour) -> None:
    assert not any(row.mode == "merge" for row in tour.state.checkpoints.rows), "trying saves nothing"


def _after_undo(tour: Tour) -> None:
    assert not tour.state.checkpoints.trash


def _after_losing(tour: Tour) -> None:
    assert tour.state.repository.failure is None and not tour.window.page("Repository").error_card.isVisible()


def _after_leaving(tour: Tour) -> None:
    assert not tour.state.training.active and tour.state.training.finished.reason == "stopped"


CHECKS = {
    repository_scenes.start: _after_start,
    repository_scenes.open_sample: _after_reading,
    repository_scenes.score_files: _after_scoring,
    complete_scenes.before: _after_writing,
    adapt_scenes.set_up: _after_set_up,
    adapt_scenes.finish: _after_finish,
    complete_scenes.after: _after_completing,
    adapt_scenes.change_files: _after_changes,
    adapt_scenes.adapt_to_changes: _after_adapting,
    checkpoint_scenes.try_merge: _after_merging,
    checkpoint_scenes.delete_and_undo: _after_undo,
    repository_scenes.lose_folder: _after_losing,
    adapt_scenes.leave: _after_leaving,
}
