"""The completion service: many clients, one model, newest first, always an answer."""

from __future__ import annotations

import threading

import pytest

from engine.errors import InputError
from engine.generate.requests import CompletionRequest
from engine.generate.service.asking import CLOSED, LATE, SUPERSEDED, Asking, Urgency
from engine.generate.service.service import CompletionService, limited
from tests.generate.service.played import Client, PlayedCompleter, service_with
from tests.generate.small import tokenizer


def test_a_client_hears_pieces_and_then_the_answer():
    service = service_with(PlayedCompleter("total"))
    client = Client(service)
    client.ask()
    assert client.heard == []  # nobody has answered yet
    assert service.answer_waiting() == 1
    (answer,) = client.answers
    assert client.text == answer.text == "total" and answer.why_empty == "" and answer.model == "played"
    assert client.heard[-1] is answer and answer.total_ms >= answer.waited_ms >= 0


def test_an_empty_answer_says_why():
    service = service_with(PlayedCompleter(""))
    client = Client(service)
    client.ask()
    service.answer_waiting()
    assert client.answers[0].text == "" and client.answers[0].why_empty == "Not sure."


def test_the_newest_request_of_a_client_ends_the_one_that_waits():
    completer = PlayedCompleter()
    service = service_with(completer)
    client, other = Client(service), Client(service, "emacs")
    client.ask("a")
    other.ask("b")
    client.ask("c")
    assert [answer.why_empty for answer in client.answers] == [SUPERSEDED]  # at once
    service.answer_waiting()
    assert [request.prefix for request in completer.requests] == ["b", "c"]
    assert client.answers[-1].text == other.answers[-1].text == "answer"


def test_the_newest_request_of_a_client_ends_the_one_that_is_being_answered():
    def during(request: CompletionRequest) -> None:
        if request.prefix == "a":
            client.ask("ab")
            assert [answer.why_empty for answer in client.answers] == [SUPERSEDED]

    service = service_with(PlayedCompleter(during=during))
    client = Client(service)
    client.ask("a")
    assert service.answer_waiting() == 2
    assert [answer.text for answer in client.answers] == ["", "answer"]


def test_identical_requests_at_the_same_time_are_answered_together():
    completer = PlayedCompleter(during=lambda request: late.ask())
    service = service_with(completer)
    clients = [Client(service) for _ in range(3)]
    late = Client(service)
    for client in clients:
        client.ask()
    service.answer_waiting()
    assert len(completer.requests) == 1
    assert [client.text for client in (*clients, late)] == ["answer"] * 4


def test_one_of_several_listeners_may_leave():
    completer = PlayedCompleter()
    service = service_with(completer)
    stays, leaves = Client(service), Client(service)
    stays.ask()
    leaves.ask().leave(leaves.heard.append)
    service.answer_waiting()
    assert stays.text == "answer" and leaves.heard == []


def test_a_request_that_nobody_waits_for_is_not_read():
    completer = PlayedCompleter()
    service = service_with(completer)
    client = Client(service)
    client.ask().leave(client.heard.append)
    assert service.answer_waiting() == 0 and completer.requests == []


def test_an_editor_comes_before_a_warm_up_and_both_before_a_comparison():
    completer = PlayedCompleter()
    service = service_with(completer)
    for name, urgency in (("c", Urgency.COMPARING), ("w", Urgency.WARM_UP), ("e", Urgency.EDITOR)):
        Client(service, name).ask(name, urgency=urgency)
    service.answer_waiting()
    assert [request.prefix for request in completer.requests] == ["e", "w", "c"]


def test_a_comparison_makes_way_for_an_editor_and_is_answered_after_it():
    def during(request: CompletionRequest) -> None:
        if request.prefix == "compare" and not editor.heard:
            editor.ask("key")

    completer = PlayedCompleter(during=during)
    service = service_with(completer)
    comparing, editor = Client(service, "window"), Client(service, "vim")
    comparing.ask("compare", urgency=Urgency.COMPARING)
    service.answer_waiting()
    assert [request.prefix for request in completer.requests] == ["compare", "key", "compare"]
    assert comparing.text == editor.text == "answer" and len(comparing.answers) == 1


def test_what_is_late_is_answered_with_nothing_and_read_on_for_the_next_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("engine.generate.service.waiting.time.perf_counter", lambda: now[0])

    def during(request: CompletionRequest) -> None:
        now[0] += 1.0

    completer = PlayedCompleter(during=during)
    service = service_with(completer)
    client = Client(service)
    client.ask(seconds=0.5)
    assert service.answer_waiting() == 2  # the request, and the rest of its prompt for nobody
    assert [answer.why_empty for answer in client.answers] == [LATE] and len(completer.requests) == 2


def test_what_has_waited_too_long_is_not_read_at_all(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("engine.generate.service.waiting.time.perf_counter", lambda: now[0])
    completer = PlayedCompleter()
    service = service_with(completer)
    client = Client(service)
    client.ask(seconds=0.5)
    now[0] = 2.0  # a training step took that long
    service.answer_waiting()
    assert completer.requests == [] and client.answers[0].why_empty == LATE and client.answers[0].waited_ms == 2000


def test_an_error_is_an_answer_and_the_next_request_is_answered():
    def fail(asking: Asking):
        raise InputError("There is no model yet.")

    service = CompletionService(fail)
    first, second = Client(service), Client(service, "emacs")
    first.ask()
    second.ask()
    service.answer_waiting()
    assert first.answers[0].why_empty == second.answers[0].why_empty == "There is no model yet."
    assert isinstance(first.answers[0].error, InputError)


def test_a_closed_service_answers_everyone_and_its_thread_ends():
    service = service_with(PlayedCompleter())
    thread = threading.Thread(target=service.run)
    waiting = Client(service)
    waiting.ask()
    service.close()
    thread.start()
    thread.join(30)
    later = Client(service, "emacs")
    later.ask()
    assert not thread.is_alive()
    assert waiting.answers[0].why_empty == later.answers[0].why_empty == CLOSED


def test_a_thread_of_its_own_answers_what_others_ask():
    service = service_with(PlayedCompleter())
    heard = threading.Event()
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        service.ask(Asking("vim", CompletionRequest("x")), lambda item: heard.set())
        assert heard.wait(30)
    finally:
        service.close()
        thread.join(30)


def test_whoever_owns_the_thread_is_woken():
    woken = []
    service = CompletionService(lambda asking: None, lambda: woken.append(1))
    Client(service).ask()
    assert woken == [1]


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("a = 1", 0, ("a = 1", False)),
        ("a = 1\nb = 2\nc = 3", 12, ("a = 1\nb = 2", True)),
        ("a = 1", 50, ("a = 1", False)),
    ],
)
def test_an_answer_is_cut_at_whole_lines(text, most, expected):
    assert limited(text, most, tokenizer()) == expected


def test_a_single_line_is_cut_where_the_limit_is():
    text, cut = limited("first second third fourth", 3, tokenizer())
    assert cut and text and "first second third fourth".startswith(text) and len(tokenizer().encode(text)) <= 3


def test_the_indentation_of_a_blank_line_comes_with_the_answer():
    completer = PlayedCompleter("return total")
    service = service_with(completer)
    client = Client(service)
    client.ask("def f():\n    total = 0\n", suffix="\n\n\nx = 1\n", adds_indent=True)
    service.answer_waiting()
    assert client.text == "    return total" and completer.requests[0].prefix.endswith("total = 0\n    ")


def test_what_was_edited_lately_goes_to_the_memory_and_not_into_the_prompt():
    from engine.generate.context import ContextChunk

    completer = PlayedCompleter()
    service = service_with(completer)
    new, known = ContextChunk("b.py", "def other():\n    return 2\n"), ContextChunk("a.py", "x = 1\ny = 2\n")
    Client(service).ask("x = 1\ny = 2\nz = ", chunks=(new, known))
    service.answer_waiting()
    assert completer.requests[0].nearby == (new,) and completer.requests[0].context == ()
