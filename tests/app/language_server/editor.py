"""An editor that a test plays, over real pipes: with a server in this process, or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from app.language_server.asking import Question, Suggestion
from app.language_server.serving import LanguageServer
from app.server.status import Status

ROOT = Path(__file__).parents[3]


class Editor:
    """Writes and reads messages.  What is not the answer that a test waits for is kept in `unasked`."""

    def __init__(self, target: int, source: int) -> None:
        self._target, self._source = target, os.fdopen(source, "rb")
        self._id = 0
        self.unasked: list[dict] = []

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._target, data) :]

    def send(self, **content: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **content}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def notify(self, method: str, params: Any = None) -> None:
        self.send(method=method, params=params)

    def ask(self, method: str, params: Any = None) -> int:
        """The id of the request."""
        self._id += 1
        self.send(id=self._id, method=method, params=params)
        return self._id

    def read(self) -> dict:
        """The next message, whichever it is.  Anything on the pipe that is none fails."""
        header = self._source.readline()
        assert header.startswith(b"Content-Length: "), header
        assert self._source.readline() == b"\r\n"
        return json.loads(self._source.read(int(header.split(b":")[1])))

    def answer(self, id: int | None) -> dict:
        """To a request that was sent."""
        for kept in self.unasked:
            if kept.get("id") == id and "method" not in kept:
                self.unasked.remove(kept)
                return kept
        while (message := self.read()).get("id") != id or "method" in message:
            self.unasked.append(message)
        return message

    def result(self, method: str, params: Any = None) -> Any:
        return self.answer(self.ask(method, params))["result"]

    def error(self, method: str, params: Any = None) -> int:
        return self.answer(self.ask(method, params))["error"]["code"]

    # ---- what editors do

    def begin(self, *folders: Path, encodings: list[str] | None = None, **options: Any) -> dict:
        capabilities = {"general": {"positionEncodings": encodings}} if encodings else {}
        named = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        params = {"processId": os.getpid(), "rootUri": None, "workspaceFolders": named, "capabilities": capabilities}
        result = self.result("initialize", params | options)
        self.notify("initialized", {})
        return result

    def open(self, path: Path, text: str) -> str:
        uri = path.as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def change(self, uri: str, *changes: dict) -> None:
        document = {"uri": uri, "version": 2}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def complete(self, uri: str, line: int, character: int, *, invoked: bool = False, **context: Any) -> int:
        position = {"line": line, "character": character}
        context = {"triggerKind": 1 if invoked else 2, **context}
        params = {"textDocument": {"uri": uri}, "position": position, "context": context}
        return self.ask("textDocument/inlineCompletion", params)

    def close_pipes(self) -> None:
        os.close(self._target)
        self._source.close()


class PlayedSource:
    """Notes questions; answers at once with `text`, or, where that is None, when a test says so."""

    def __init__(self, folder: Path | None, text: str | None, replaces: int = 0) -> None:
        self.folder, self.text, self.replaces = folder, text, replaces
        self.questions: list[Question] = []
        self.waiting: list = []
        self.cancelled: list[Question] = []
        self.has_ended = False

    def ask(self, question, heard):
        self.questions.append(question)
        if self.text is None:
            self.waiting.append(heard)
        else:
            heard(Suggestion(self.text, self.replaces))
        return lambda: self.cancelled.append(question)

    def status(self):
        return Status(folder=str(self.folder), model="played", memory_files=3)

    def end(self):
        self.has_ended = True

    def join(self, seconds):
        assert self.has_ended


class PlayedServer:
    """A server in this process; `editor` is at the other end of its pipes, `sources` are by folder."""

    def __init__(self, text: str | None = "answer", replaces: int = 0) -> None:
        self.text, self.replaces, self.sources = text, replaces, {}
        inward, outward = os.pipe(), os.pipe()
        self._ends = inward[0], outward[1]
        self.editor = Editor(inward[1], outward[0])
        self.server = LanguageServer(
            lambda size: os.read(inward[0], size), lambda data: os.write(outward[1], data), self._opened
        )
        self.code: int | None = None
        self._thread = threading.Thread(target=self._run, name="played server")
        self._thread.start()

    def _opened(self, folder, changed, lost):
        source = self.sources[folder] = PlayedSource(folder, self.text, self.replaces)
        self.changed, self.lost = changed, lost
        return source

    def _run(self) -> None:
        self.code = self.server.run()

    @property
    def source(self) -> PlayedSource:
        (source,) = self.sources.values()
        return source

    def wait(self) -> int:
        self._thread.join()
        return self.code

    def close(self) -> None:
        self.server.end(0)
        self._thread.join()
        self.editor.close_pipes()
        for end in self._ends:
            os.close(end)


class Process(Editor):
    """`codecoil lsp` in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "app", "lsp", "--stdio", "--device", "cpu", *arguments]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        super().__init__(self.process.stdin.fileno(), os.dup(self.process.stdout.fileno()))

    def rest(self) -> bytes:
        """What is still on the pipe after the process has ended."""
        return self._source.read()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self._source.close()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
