"""Stations: the first sight of the window, the sample project, and what the model does not know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.tour.camera import LARGE, SMALL
from app.tour.hands import StationMissed
from app.values.words import counted
from app.window.pages import REPOSITORY

if TYPE_CHECKING:
    from app.tour.guide import Tour


def start(tour: Tour) -> str:
    """An empty window that says what to do."""
    state = tour.state
    tour.hands.until(lambda: not state.engine.busy and state.checkpoints.listed, "find the devices")
    if state.engine.found is None:
        raise StationMissed("The engine could not be loaded.")
    tour.camera.take("start", both=True)
    return f"{state.engine.in_use.description}, " + ("a built-in model" if tour.has_model else "no built-in model")


def open_sample(tour: Tour) -> str:
    """What will be learned, by language, and what is left out and why."""
    page, repository = tour.window.page(REPOSITORY), tour.state.repository
    tour.hands.click(page.start.sample_button)
    tour.hands.until(
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
    """What was found and is never learned."""
    page = tour.window.page(REPOSITORY)
    tour.hands.click(page.figures.secrets)
    tour.hands.until(lambda: page.secrets.isVisible(), "show the secrets")
    tour.camera.take("secrets")
    tour.hands.click(page.which.buttons["files"])
    return counted(len(tour.state.repository.corpus.secrets), "secret")


def score_files(tour: Tour) -> str:
    """The held-out files, coloured by how little the model knows them."""
    if not tour.has_model:
        return "later, there is no model yet"
    page, repository = tour.window.page(REPOSITORY), tour.state.repository
    tour.hands.click(page.score_button)
    tour.hands.until(
        lambda: repository.losses and not repository.scoring[1],
        "score the files",
        lambda: repository.scoring,
        lambda: page.error_card.cause.text() if page.error_card.isVisible() else "",
    )
    tour.hands.click(page.figures.held_out)
    tour.camera.take("heat")
    tour.hands.click(page.figures.learned)
    worst = max(repository.losses, key=repository.losses.get)
    return f"{counted(len(repository.losses), 'file')}, least of all {worst}"
