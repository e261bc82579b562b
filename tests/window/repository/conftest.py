"""The Repository page, one with a repository on it, and what it asks its controller for."""

from __future__ import annotations

import pytest

from tests.app.played_jobs import record
from tests.window.stage import open_repository


@pytest.fixture
def page(main_window):
    return main_window.page("Repository")


@pytest.fixture
def opened(page, application):
    """The page with a repository on it."""
    open_repository(application)
    return page


@pytest.fixture
def asked(application):
    """The jobs of the repository and the scoring that were asked for, by name, and "cancel" for what is being read."""
    asked = record(
        application.jobs,
        *("open", "override", "choose_language", "set_not_secret", "set_policy", "score_files", "rescan"),
    )
    application.repository.cancel_wanted.connect(lambda: asked.append(("cancel",)))
    return asked
