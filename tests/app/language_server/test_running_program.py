"""The program that runs already is asked, if it has the folder open."""

from __future__ import annotations

import json
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.language_server.asking import Question, Suggestion
from app.language_server.documents import Chunk
from app.language_server.running_program import RunningProgram, find_program
from app.server.access import Access, keep_access
from app.server.listening import LoopbackServer
from app.server.routes import Served
from app.server.status import Status
from tests.generate.service.played import PlayedCompleter, service_with

TOKEN = "t" * 43


class FakeProgram(ThreadingHTTPServer):
    """Answers as a server of ours would; `hold` keeps a completion until the client is gone."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), FakeHandler)
        self.status = Status(folder=str(folder), model="fake", training="running").to_json()
        self.answer = {"choices": [{"text": "from the program"}]}
        self.bodies, self.agents, self.code = [], [], 200
        self.hold = False
        self.held, self.left = threading.Event(), threading.Event()


class FakeHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        assert self.path == "/codecoil/status" and self.headers["Authorization"] == f"Bearer {TOKEN}"
        self.reply(self.server.status)

    def do_POST(self):
        server = self.server
        server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        server.agents.append(self.headers["User-Agent"])
        if server.hold:
            server.held.set()
            self.connection.recv(1)
            server.left.set()
            return
        self.reply(server.answer)

    def reply(self, content) -> None:
        data = json.dumps(content).encode()
        self.send_response(self.server.code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def program(tmp_path, data_folder):
    program = FakeProgram(tmp_path)
    thread = threading.Thread(target=program.serve_forever, args=(0.02,))
    thread.start()
    data_folder.mkdir()
    keep_access(data_folder, Access(TOKEN, program.server_port, os.getpid()))
    yield program
    program.shutdown()
    program.server_close()
    thread.join()


def asked(source, question: Question) -> Suggestion:
    done, suggestions = threading.Event(), []
    source.ask(question, lambda heard: (suggestions.append(heard), done.set()))
    done.wait()
    return suggestions[0]


def test_it_is_found_by_its_file_and_asked_with_path_and_edits(program, tmp_path, data_folder):
    access, root = find_program(data_folder, tmp_path / "part")
    assert root == tmp_path
    source = RunningProgram(access, root, lambda lost: pytest.fail("it is there"))
    edited = (Chunk(tmp_path / "part" / "b.py", "b = 1\n"), Chunk(Path("/elsewhere/c.py"), "c = 1\n"))
    assert asked(source, Question("é😀 = ", "\n", tmp_path / "part" / "a.py", edited)) == Suggestion("from the program")
    (body,) = program.bodies
    segments = body["segments"]
    assert body["whole_file"] is True and segments["filepath"] == "part/a.py"
    assert (segments["prefix"], segments["suffix"]) == ("é😀 = ", "\n")
    chunks = segments["relevant_snippets_from_changed_files"]
    assert chunks == [{"filepath": "part/b.py", "body": "b = 1\n"}, {"filepath": "c.py", "body": "c = 1\n"}]
    status = source.status()
    assert status.is_shared and status.model == "fake" and status.training == "running"
    source.end()
    source.join(60)


def test_one_with_another_folder_or_none_is_not_asked(program, tmp_path, data_folder):
    program.status = Status(folder=str(tmp_path / "other")).to_json()
    assert find_program(data_folder, tmp_path) is None
    program.status = Status().to_json()
    assert find_program(data_folder, tmp_path) is None
    assert find_program(data_folder, None) is None


@pytest.mark.parametrize("status", [{}, [], "text", {**Status(folder="/").to_json(), "folder": 7}])
def test_what_answers_something_else_is_no_program_of_ours(program, tmp_path, data_folder, status):
    program.status = status
    assert find_program(data_folder, tmp_path) is None


def test_a_file_of_a_program_that_was_killed_is_no_program(tmp_path, data_folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data_folder.mkdir()
    assert find_program(data_folder, tmp_path) is None
    keep_access(data_folder, Access(TOKEN, port, 1))
    assert find_program(data_folder, tmp_path) is None


def test_cancelling_closes_the_connection(program, tmp_path):
    lost, heard = [], []
    source = RunningProgram(Access(TOKEN, program.server_port), tmp_path, lost.append)
    program.hold = True
    cancel = source.ask(Question("x", "", tmp_path / "a.py"), heard.append)
    program.held.wait()
    cancel()
    program.left.wait()
    source.join(60)
    assert lost == [] and heard == [Suggestion()]


@pytest.mark.parametrize("fault", ["status", "shape", "gone"])
def test_one_that_no_longer_answers_is_given_up(program, tmp_path, fault):
    lost = []
    port = program.server_port
    if fault == "status":
        program.code = 401
    elif fault == "shape":
        program.answer = {"choices": []}
    else:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    source = RunningProgram(Access(TOKEN, port), tmp_path, lost.append)
    assert asked(source, Question("x", "", tmp_path / "a.py")) == Suggestion()
    assert lost == [source]
    source.join(60)


def test_a_program_that_has_opened_another_folder_is_given_up(tmp_path, data_folder):
    completer = PlayedCompleter("from the wrong folder")
    service = service_with(completer)
    thread = threading.Thread(target=service.run)
    thread.start()
    folder = [str(tmp_path / "one")]
    served = Served(service, lambda: 0.25, status=lambda: Status(folder=folder[0]), deadline=600.0)
    server = LoopbackServer(data_folder, served, 0)
    server.start()
    lost = []
    try:
        source = RunningProgram(*find_program(data_folder, tmp_path / "one"), lost.append)
        folder[0] = str(tmp_path / "two")
        assert asked(source, Question("x = ", "\n", tmp_path / "one" / "a.py")) == Suggestion()
        assert lost == [source] and completer.requests == []
        assert find_program(data_folder, tmp_path / "one") is None
        source.join(60)
    finally:
        server.stop()
        service.close()
        thread.join()


def test_a_real_server_answers_it(tmp_path, data_folder):
    completer = PlayedCompleter("total = 0")
    service = service_with(completer)
    thread = threading.Thread(target=service.run)
    thread.start()
    served = Served(service, lambda: 0.25, status=lambda: Status(folder=str(tmp_path), model="played"), deadline=600.0)
    server = LoopbackServer(data_folder, served, 0)
    server.start()
    try:
        access, root = find_program(data_folder, tmp_path)
        source = RunningProgram(access, root, lambda lost: pytest.fail("it is there"))
        edited = (Chunk(tmp_path / "b.py", "brew(kumquat)\n"),)
        assert asked(source, Question("x = ", "\n", tmp_path / "a.py", edited)) == Suggestion("total = 0")
        (request,) = completer.requests
        assert (request.prefix, request.suffix, request.path) == ("x = ", "\n", "a.py")
        assert [(chunk.path, chunk.text) for chunk in request.nearby] == [("b.py", "brew(kumquat)\n")]
        completer.text = ", c):"
        assert asked(source, Question("for a in zip(b", ")\n", tmp_path / "a.py")) == Suggestion(", c):", 1)
        assert source.status().model == "played"
        source.join(60)
    finally:
        server.stop()
        service.close()
        thread.join()
