"""Keeps what is in the editor for the next start: a moment after every change, and when the window closes."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QRunnable, QThreadPool, QTimer, Slot

from app.window.complete.editor_card import EditorCard
from app.window.complete.sessions import Session, keep_session, kept_session

DELAY = 1500  # milliseconds: typing writes once it rests

log = logging.getLogger(__name__)


class SessionKeeper(QObject):
    """One repository at a time; writes in a thread of its own."""

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
        """Keep this repository's, and bring back that one's.

        A scratch text that was begun while no repository was open goes along, unless that one has its own.
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
        """Write, and wait for the disk."""
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
            log.warning("What is in the editor cannot be kept: %s", error)
