"""A folder that this process reads, watches and completes for, where no program runs that does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from app.language_server.asking import Cancel, Heard, Question, Suggestion, relative, windows
from app.server.folder import Chosen, ServedFolder
from app.server.status import FAILED, Status
from engine.errors import CodecoilError
from engine.generate.service.asking import Answer, Asking

CLIENT = "editor"
PATIENCE = 5.0  # seconds after which a suggestion that nobody asked for is too late

log = logging.getLogger(__name__)


class _Ended(Exception):
    """Reading the folder is interrupted."""


class OwnFolder:
    """Loads and reads in a thread of its own; questions wait for the model, not for the folder.

    `root` None: a text that is in no folder, completed without a memory.
    """

    def __init__(
        self,
        root: Path | None,
        data_folder: Path,
        choose: Callable[[], Chosen],
        least_chance: float,
        uses_memory: bool,
        changed: Callable[[], None],
    ) -> None:
        """`choose` opens the model; `changed` is called, from any thread, when the status is another one."""
        self._root, self._changed = root, changed
        self._least_chance, self._uses_memory = least_chance, uses_memory
        self._served = ServedFolder(root, data_folder, choose)
        self._problem, self._ending = "", False
        self._thread = threading.Thread(target=self._run, name="folder", daemon=True)
        self._thread.start()

    def ask(self, question: Question, heard: Heard) -> Cancel:
        from engine.generate.context import ContextChunk
        from engine.generate.requests import CompletionRequest, Offer

        prefix, suffix = windows(question.prefix, question.suffix)
        least = 0.0 if question.is_invoked else self._least_chance
        request = CompletionRequest(
            prefix,
            suffix,
            relative(question.path, self._root),
            memory=self._uses_memory,
            offer=Offer(least, 0),
        )
        chunks = tuple(ContextChunk(relative(chunk.path, self._root), chunk.text) for chunk in question.edited)
        seconds = 0.0 if question.is_invoked else PATIENCE

        def listen(item: object) -> None:
            if isinstance(item, Answer):
                if item.error is not None and not isinstance(item.error, CodecoilError):
                    log.error("A completion failed", exc_info=item.error)
                heard(Suggestion(item.text, item.replaces))

        asking = Asking(CLIENT, request, seconds=seconds, chunks=chunks, can_replace=question.can_replace)
        asked = self._served.service.ask(asking, listen)
        return lambda: asked.leave(listen)

    def status(self) -> Status:
        status = self._served.status()
        return replace(status, state=FAILED, problem=self._problem) if self._problem else status

    def end(self) -> None:
        self._ending = True
        self._served.end()
        self._served.service.close()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            self._served.start(self._progress)
            self._changed()
            self._served.follow(lambda words: log.warning("%s", words))
        except _Ended:
            pass
        except Exception as error:
            log.error("The folder cannot be served", exc_info=error)
            known = isinstance(error, CodecoilError)
            self._problem = f"{error.message} {error.remedy}".strip() if known else type(error).__name__
            self._changed()
        finally:
            self._served.stop()

    def _progress(self, _done: int, _whole: int, _words: str) -> None:
        if self._ending:
            raise _Ended
