"""With a real model: what was read for one request serves the next, also where an editor's window slides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.generate.completer import Completer
from engine.generate.prompt import MARK_TOKENS
from engine.generate.requests import CompletionRequest, Offer
from engine.generate.service.asking import Asking
from engine.generate.service.service import CompletionService, Opened
from tests.generate.service.test_placing import ORDERS, window
from tests.generate.small import open_small, tokenizer
from tests.generate.test_offering import remembered

FILES = {"src/orders.py": ORDERS}


@pytest.fixture
def ask():
    """Asks as an editor does, and gives the answer."""
    from engine.devices import open_device

    device = open_device("cpu")
    with open_small(device) as model:
        completer = Completer(model, tokenizer())
        completer.fit = replace(completer.fit, fill_in=False)
        completer.memory = remembered(FILES)
        service = CompletionService(lambda asking: Opened(completer))

        def asked(line: int, text: str = ORDERS):
            heard = []
            request = CompletionRequest(*window(text, line), offer=Offer())
            service.ask(Asking("vim", request, is_window=True), heard.append)
            service.answer_waiting()
            return heard[-1]

        yield asked
        completer.close()
    device.close()


def read_anew(done) -> bool:
    return done.prompt_tokens - done.reused_tokens > MARK_TOKENS


def test_a_window_that_slides_by_a_line_is_not_read_again(ask):
    """The beginning of a prompt moves now and then, in large steps, and not with every line."""
    answers = [ask(line) for line in range(200, 220)]
    assert {answer.path for answer in answers} == {"src/orders.py"}
    assert read_anew(answers[0].completion)
    assert sum(read_anew(answer.completion) for answer in answers[1:]) <= 1


def test_a_window_of_an_unknown_file_slides_as_well(ask):
    text = ORDERS.replace("orders", "parcels")
    answers = [ask(line, text) for line in range(200, 220)]
    assert {answer.path for answer in answers} == {""}
    assert sum(read_anew(answer.completion) for answer in answers[1:]) <= 1
