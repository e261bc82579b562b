"""The page with a model that a test plays."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.window.complete.script import PATH, STARTER, TEXT, Script, list_models
from tests.window.stage import open_repository


@pytest.fixture
def script(application):
    return Script(application)


@pytest.fixture
def models(application):
    list_models(application)
    application.completion.choose_model(STARTER)


@pytest.fixture
def quick(application):
    """No delays worth waiting for."""
    application.settings.completion_delay_least = 0
    application.settings.completion_delay_most = 1


@pytest.fixture
def pane(application, script, models, quick, theme, qtbot):
    """The editor alone with its suggestions: made quicker than the page."""
    from app.window.complete.editor_card import EditorCard
    from app.window.complete.keys import GhostKeys
    from app.window.complete.suggester import Suggester

    keys = GhostKeys(application.settings, application)
    card = EditorCard(keys)
    qtbot.addWidget(card)
    theme.dress(card)
    suggester = Suggester(card.editor, application.completion, application.settings)
    card.resize(600, 500)
    card.show()
    card.activateWindow()
    qtbot.waitUntil(card.isActiveWindow)
    return SimpleNamespace(card=card, editor=card.editor, suggester=suggester, keys=keys)


@pytest.fixture
def editor(pane, qtbot):
    """The editor with a text, the cursor at its end, and the focus."""
    pane.card.show_text("/somewhere/orbit", PATH, TEXT, len(TEXT))
    pane.suggester.path = PATH
    pane.editor.setFocus()
    qtbot.waitUntil(pane.editor.hasFocus)
    return pane.editor


@pytest.fixture
def page(application, script, models, quick, theme, qtbot):
    """Shown, with a repository, and nothing to compare with until a test wants it; but for scores all is unfolded."""
    from app.window.complete.page import CompletePage

    application.settings.unfolded = ["compare", "blend", "timeline", "options"]
    page = CompletePage(application)
    qtbot.addWidget(page)
    theme.dress(page)
    page.sides._declined = True
    page.resize(1080, 700)
    page.show()
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    open_repository(application)
    page.card.show_text(application.repository.root, PATH, TEXT, len(TEXT))
    page.editor.setFocus()
    qtbot.waitUntil(page.editor.hasFocus)
    return page


@pytest.fixture
def asked(script, qtbot):
    """Waits until a channel was asked again; gives the question."""

    def wait(channel: str = "ghost", since: int | None = None):
        count = since if since is not None else sum(query.channel == channel for query in script.asked)
        qtbot.waitUntil(lambda: sum(query.channel == channel for query in script.asked) > count)
        return script.last(channel)

    return wait
