"""The server for editors as the window sees it: on or off, where, and what it has answered lately."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.server.editor_snippets import Snippet, snippets
from app.server.recorded import Recorded, ServedRequest
from app.server.status import Status
from app.state.settings import Settings
from engine.errors import CodecoilError
from engine.generate.service.service import CompletionService

if TYPE_CHECKING:
    from app.server.listening import LoopbackServer


class ServerController(QObject):
    """Off until the user switches it on; then it also starts with the program."""

    changed = Signal()  # url, problem
    requests_changed = Signal()  # requests

    _noted = Signal()  # from a connection's thread

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        service: CompletionService,
        parent: QObject | None = None,
        status: Callable[[], Status] = Status,
    ) -> None:
        """`status` is called from connections' threads."""
        super().__init__(parent)
        self._status = status
        self._folder, self._settings, self._service = folder, settings, service
        self._recorded = Recorded(self._noted.emit)
        self._server: LoopbackServer | None = None
        self._ending: list[threading.Thread] = []
        self._started = False
        self.problem = ""  # why it is not listening, in words
        self._noted.connect(self.requests_changed)
        settings.changed.connect(self.on_setting_changed)

    @property
    def is_on(self) -> bool:
        """Whether it listens."""
        return self._server is not None

    @property
    def url(self) -> str:
        """Where; "" while it is off."""
        return self._server.url if self._server is not None else ""

    @property
    def token(self) -> str:
        return self._server.token if self._server is not None else ""

    @property
    def requests(self) -> tuple[ServedRequest, ...]:
        """The newest last."""
        return self._recorded.requests

    @property
    def snippets(self) -> tuple[Snippet, ...]:
        """What to paste into each editor; empty while it is off."""
        return snippets(self.url, self.token) if self.is_on else ()

    def start(self) -> None:
        """The program has started: listen if the user wants that."""
        self._started = True
        self.on_setting_changed("server_enabled")

    def stop(self) -> None:
        """The program is ending."""
        self._started = False
        self._end()
        for thread in self._ending:
            thread.join()
        self._ending = []

    def switch(self, on: bool) -> None:
        """Listen, or not; saved as a setting."""
        self._settings.server_enabled = on
        if on and not self.is_on:
            self.on_setting_changed("server_enabled")  # it was on, but could not listen: try again

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name != "server_enabled" or not self._started:
            return
        if self._settings.server_enabled and self._server is None:
            self._begin()
        elif not self._settings.server_enabled:
            self._end()
        self.changed.emit()

    def _begin(self) -> None:
        from app.server.listening import LoopbackServer  # not needed at the start, and http.server takes a moment
        from app.server.routes import Served

        settings = self._settings
        served = Served(
            self._service,
            lambda: settings.least_chance,
            uses_memory=lambda: settings.memory_on,
            recorded=self._recorded,
            status=self._status,
        )
        server = LoopbackServer(self._folder, served)
        try:
            server.start()
        except (CodecoilError, OSError) as error:
            self.problem = f"{getattr(error, 'message', error)} {getattr(error, 'remedy', '')}".strip()
            return
        self._server, self.problem = server, ""

    def _end(self) -> None:
        """In a thread of its own: connections take a moment to end."""
        server, self._server = self._server, None
        self.problem = ""
        if server is not None:
            thread = threading.Thread(target=server.stop, name="server ending")
            self._ending = [each for each in self._ending if each.is_alive()] + [thread]
            thread.start()
