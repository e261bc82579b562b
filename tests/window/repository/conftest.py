"""The Repository page, one with a repository on it, and what it asks its controller for."""

from __future__ import annotations

import pytest

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
    """What the controller was asked for, by name."""
    repository, told = application.repository, []
    for name in ("open", "override", "language", "not_secret", "policy", "score", "cancel_score", "rescan", "cancel"):
        getattr(repository, f"{name}_wanted").connect(lambda *what, name=name: told.append((name, *what)))
    return told
