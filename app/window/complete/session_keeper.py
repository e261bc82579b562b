"""Saves the editor's session for the next start: shortly after every change, and when the window closes."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QRunnable, QThreadPool, QTimer, Slot

from app.window.complete.editor_card import EditorCard
from app.window.complete.sessions import Session, keep_session, kept_session

DELAY = 1500  # milliseconds after the last key

log = logging.getLogger(__name__)


class SessionKeeper(QObject):
    """The session of one repository at a time, written in a thread of its own."""

    def __init__(self, card: EditorCard, folder: Path) -> None:
        super().__init__(card)
        self._card, self._folder = card, folder
        self._kept: tuple[str, Session] | None = None
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self.on_due)
        card.editor.textChanged.connect(self._timer.start)
        card.editor.cursorPositionChanged.connect(self._timer.start)
        card.opened.connect(self._timer.start)

    def switch(self, root: str) -> None:
        """Save the session of this repository and restore that of another.

        Scratch text typed while no repository was open moves along, unless the repository has its own.
        """
        card, session = self._card, kept_session(self._folder, root)
        is_loose = not card.root and not card.path and card.editor.document().isModified()
        if root and is_loose and not session.scratch.text:
            session = replace(session, path="", scratch=card.session().scratch)
            card.editor.replace_text("")
        self.keep_now()
        card.restore(root, session)

    @Slot()
    def on_due(self) -> None:
        self._write()

    def keep_now(self) -> None:
        """Write, and wait until it is on disk."""
        self._timer.stop()
        self._write()
        self._pool.waitForDone()

    def _write(self) -> None:
        now = (self._card.root, self._card.session())
        if now != self._kept:
            self._kept = now
            self._pool.start(_Job(self._folder, *now))


class _Job(QRunnable):
    def __init__(self, folder: Path, root: str, session: Session) -> None:
        super().__init__()
        self._folder, self._root, self._session = folder, root, session

    def run(self) -> None:
        try:
            keep_session(self._folder, self._root, self._session)
        except OSError as error:
            log.warning("The editor's session could not be saved: %s", error)
