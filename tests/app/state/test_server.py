"""The server for editors in the whole program: off until switched on, answered by the model in use."""

from __future__ import annotations

import json
import threading
import urllib.request

import pytest

from app.server import listening
from engine.generate.requests import CompletionRequest, Offer
from engine.generate.service.asking import Answer, Asking
from engine.session import Session
from tests.app.state.program import PATIENCE

INFILL = {"input_prefix": "class Shelf1:\n", "input_suffix": "\n", "prompt": "    def put("}


@pytest.fixture(autouse=True)
def free_port(monkeypatch):
    """Not the usual one, which a server of the developer's own may have."""
    monkeypatch.setattr(listening, "PORT", 0)
    monkeypatch.setattr(listening, "TRIED", 1)


def asked(one, body: dict = INFILL) -> dict:
    """What an editor gets, while the window does its own things."""
    server, answers = one.state.server, []

    def ask() -> None:
        headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{server.url}/infill", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE / 1000) as response:
            answers.append(json.load(response))

    thread = threading.Thread(target=ask)
    thread.start()
    one.until(lambda: not thread.is_alive())
    return answers[0]


def test_it_is_off_until_it_is_switched_on_and_then_stays_on(program, folder):
    one = program()
    server = one.state.server
    assert not server.is_on and server.url == "" and server.snippets == ()
    server.switch(True)
    assert server.is_on and one.state.settings.server_enabled
    assert all(server.url in snippet.text and server.token in snippet.text for snippet in server.snippets)
    one.state.stop()
    assert not server.is_on
    again = program()
    assert again.state.server.is_on
    again.state.server.switch(False)
    assert not again.state.server.is_on and not again.state.settings.server_enabled


def test_the_model_in_use_answers_with_the_memory(program, repository, tiny, monkeypatch):
    one = program()
    one.open(repository)
    one.until(lambda: one.state.memory.is_there)
    one.state.completion.choose_model(tiny)
    one.state.server.switch(True)
    monkeypatch.setattr("app.server.routes.DEADLINE", 600.0)
    object.__setattr__(one.state.server._server.served, "deadline", 600.0)  # the first one compiles
    text = (repository / "shelf_1.py").read_text().split("\n")
    body = {
        "input_prefix": "\n".join(text[:20]) + "\n",
        "input_suffix": "\n" + "\n".join(text[21:]),
        "prompt": text[20][:6],
    }
    answer = asked(one, body)
    assert answer["codecoil"]["model"] == tiny and answer["tokens_evaluated"] > 0
    assert answer["codecoil"]["path"] == "shelf_1.py"
    one.until(lambda: one.state.server.requests)
    (request,) = one.state.server.requests
    assert request.status == 200 and request.path == "shelf_1.py" and (request.text or request.why)


def test_it_answers_during_training(program, repository, tiny):
    one = program()
    one.open(repository)
    one.small_options(tiny, steps=100_000)
    one.state.completion.choose_model(tiny)
    one.state.server.switch(True)
    object.__setattr__(one.state.server._server.served, "deadline", 600.0)
    one.state.training.start()
    one.until(lambda: one.state.training.step > 2)
    assert asked(one)["tokens_evaluated"] > 0
    before = one.state.training.step
    one.until(lambda: one.state.training.step > before)  # the run went on
    one.state.training.stop()
    one.until(lambda: not one.state.training.active)


def test_it_answers_in_the_middle_of_a_step(program, repository, tiny, monkeypatch):
    """What was asked before a step began is answered before it is over."""
    monkeypatch.setattr("engine.devices.interludes.EVERY", 0.0)
    one = program()
    one.open(repository)
    one.small_options(tiny, steps=100_000)
    one.state.completion.choose_model(tiny)
    service, advance, heard, after = one.state.server._service, Session.advance, [], []

    def asked_before(session):
        if session.trainer.step == 3 and not after:
            request = CompletionRequest("class Shelf1:\n    def put(", "\n", offer=Offer())
            # From another thread, as a server does: from this one it would be answered at once.
            asking = threading.Thread(target=service.ask, args=(Asking("vim", request), heard.append))
            asking.start()
            asking.join()
            events = advance(session)
            after.extend(heard or [None])
            return events
        return advance(session)

    monkeypatch.setattr(Session, "advance", asked_before)
    one.state.training.start()
    one.until(lambda: after)
    assert isinstance(after[-1], Answer) and after[-1].error is None and after[-1].model == tiny
    one.state.training.stop()
    one.until(lambda: not one.state.training.active)
    assert one.failures == []


def test_without_a_model_the_answer_is_empty_and_says_so(program):
    one = program()
    one.state.server.switch(True)
    object.__setattr__(one.state.server._server.served, "deadline", 600.0)
    answer = asked(one)
    assert answer["content"] == "" and "no model" in answer["codecoil"]["why"]


def test_a_port_that_cannot_be_had_is_explained_and_can_be_tried_again(program, monkeypatch):
    import socket

    one = program()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(listening, "PORT", taken.getsockname()[1])
        one.state.server.switch(True)
        assert not one.state.server.is_on and str(taken.getsockname()[1]) in one.state.server.problem
    one.state.server.switch(True)
    assert one.state.server.is_on and one.state.server.problem == ""


def test_language_servers_learn_which_folder_is_open(program, repository, tiny):
    one = program()
    one.open(repository)
    one.until(lambda: one.state.memory.is_there)
    one.state.completion.choose_model(tiny)
    one.state.server.switch(True)
    status = one.state.server._server.served.status()
    assert status.folder == str(repository) and status.model == tiny and status.memory_files > 0
    assert status.training == "" and status.state == "ready"
