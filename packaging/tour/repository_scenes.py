"""Scenes on the Repository page: first start, the sample project, its secrets, its losses, a folder that is gone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from app.values.words import counted
from app.window.pages import REPOSITORY
from tour.camera import LARGE, SMALL
from tour.simulated_user import SceneFailed

if TYPE_CHECKING:
    from tour.scenes import Tour


def start(tour: Tour) -> str:
    """An empty window that says what to do first."""
    state = tour.state
    tour.user.until(lambda: not state.engine.busy and state.checkpoints.listed, "find the devices")
    if state.engine.found is None:
        raise SceneFailed("The engine could not be loaded.")
    tour.camera.take("start", both=True)
    return f"{state.engine.in_use.description}, " + ("a built-in model" if tour.has_model else "no built-in model")


def open_sample(tour: Tour) -> str:
    """What will be learned, by language, and what is left out and why."""
    page, repository = tour.window.page(REPOSITORY), tour.state.repository
    tour.user.click(page.start.sample_button)
    tour.user.until(
        lambda: repository.phase == "ready" and repository.corpus.has_tokens,
        "read the sample project",
        lambda: (repository.phase, repository.progress),
        lambda: page.error_card.cause.text() if repository.phase == "failed" else "",
    )
    tour.camera.take("repository", both=True)
    tour.camera.take_in(LARGE, "repository")
    tour.camera.take_in(SMALL, "repository")
    totals = repository.corpus.totals
    return f"{counted(totals.learned.files, 'file')}, {counted(totals.held_out.files, 'file')} held out"


def look_at_secrets(tour: Tour) -> str:
    """What was found and is never trained on."""
    page = tour.window.page(REPOSITORY)
    tour.user.click(page.figures.secrets)
    tour.user.until(lambda: page.secrets.isVisible(), "show the secrets")
    tour.camera.take("secrets")
    tour.user.click(page.which.buttons["files"])
    return counted(len(tour.state.repository.corpus.secrets), "secret")


def score_files(tour: Tour) -> str:
    """The held-out files, coloured by the model's loss on them."""
    if not tour.has_model:
        return "skipped: there is no model yet"
    page, repository = tour.window.page(REPOSITORY), tour.state.repository
    tour.user.click(page.score_button)
    tour.user.until(
        lambda: repository.losses and not repository.scoring[1],
        "score the files",
        lambda: repository.scoring,
        lambda: page.error_card.cause.text() if page.error_card.isVisible() else "",
    )
    tour.user.click(page.figures.held_out)
    tour.camera.take("heat")
    tour.user.click(page.figures.learned)
    worst = max(repository.losses, key=repository.losses.get)
    return f"{counted(len(repository.losses), 'file')}, highest loss in {worst}"


def lose_folder(tour: Tour) -> str:
    """The open folder is renamed, which the window notices; it is renamed back and found again."""
    page, repository = tour.go_to(REPOSITORY), tour.state.repository
    folder = Path(repository.root)
    away = folder.with_name(f"{folder.name} elsewhere")
    os.rename(folder, away)
    tour.user.until(
        lambda: repository.phase == "gone" and page.error_card.isVisible(), "notice that the folder is gone"
    )
    tour.camera.take("gone", both=True)
    words = page.error_card.cause.text()
    os.rename(away, folder)
    tour.user.click(page.error_card.action_button)
    tour.user.until(lambda: repository.phase == "ready", "find the folder again", lambda: repository.progress)
    return words
