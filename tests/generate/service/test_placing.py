"""Which file a text is from, and what stands around the window that was sent."""

from __future__ import annotations

import itertools

import pytest

from engine.generate.requests import CompletionRequest
from engine.generate.service.anchoring import surrounded
from engine.generate.service.file_finding import find_file, text_of
from engine.generate.service.indentation import indentation_at
from engine.generate.service.placing import Placing, known_path
from tests.generate.test_offering import remembered


def module(name: str, functions: int) -> str:
    """A file of its own: each function has lines that no other file has, and some that all have."""
    parts = [
        f"def {name}_{number}(items):\n    total_{name}_{number} = 0\n    for item in items:\n"
        f"        total_{name}_{number} += item.{name}_price_{number}\n    return total_{name}_{number}\n\n\n"
        for number in range(functions)
    ]
    return "import json\n\n\n" + "".join(parts)


FILES = {f"src/{name}.py": module(name, 60) for name in ("orders", "ledger", "basket")}
ORDERS = FILES["src/orders.py"]


@pytest.fixture(scope="module")
def memory():
    return remembered(FILES)


def window(text: str, line: int, before: int = 100, after: int = 30) -> tuple[str, str]:
    """As an editor sends it: whole lines before the cursor's line, and after it."""
    lines = text.split("\n")
    return "\n".join(lines[max(0, line - before) : line]) + "\n", "\n" + "\n".join(
        lines[line + 1 : line + after]
    ) + "\n"


def test_the_file_is_found_by_its_lines(memory):
    for path, text in FILES.items():
        assert find_file(memory, *window(text, 200)) == path


def test_it_is_found_with_edits_that_are_not_saved(memory):
    prefix, suffix = window(ORDERS, 200)
    edited = prefix.replace("total_orders_30", "renamed") + "    something_new(1, 2)\n    more_of_it = 3\n"
    assert find_file(memory, edited, suffix) == "src/orders.py"


def test_a_new_file_that_borrows_lines_is_nobody_s(memory):
    borrowed = "\n".join(ORDERS.split("\n")[10:14])
    new = "".join(f"def quite_new_{number}(argument):\n    pass_on({number}, argument)\n" for number in range(12))
    assert find_file(memory, new + borrowed + "\n", "\n") == ""


def test_a_text_of_common_lines_only_is_nobody_s(memory):
    assert find_file(memory, "import json\n\n\n", "\n    for item in items:\n") == ""


def test_the_text_of_a_file_is_as_the_memory_has_it(memory):
    assert text_of(memory, "src/orders.py") == ORDERS and text_of(memory, "src/none.py") == ""


@pytest.mark.parametrize(
    ("sent", "known"),
    [
        ("src/orders.py", "src/orders.py"),
        ("/home/me/shop/src/orders.py", "src/orders.py"),
        ("C:\\shop\\src\\orders.py", "src/orders.py"),
        ("new/thing.py", "new/thing.py"),
        ("/home/me/new.py", "new.py"),
    ],
)
def test_a_path_is_brought_into_the_repository_s_form(memory, sent, known):
    assert known_path(memory, sent) == known


def test_a_window_is_put_back_into_its_file():
    prefix, suffix = window(ORDERS, 200)
    assert surrounded(ORDERS, prefix, suffix) == (
        "\n".join(ORDERS.split("\n")[:200]) + "\n",
        "\n" + "\n".join(ORDERS.split("\n")[201:]),
    )


def test_what_is_not_from_the_file_stays_alone():
    assert surrounded(ORDERS, "other\ntext that is\nnot in there at all\n", "\nnor this\n") == (
        "other\ntext that is\nnot in there at all\n",
        "\nnor this\n",
    )


def test_a_window_at_an_ambiguous_place_stays_alone():
    twice = "first line of the block\nsecond line of the block, with enough in it to be recognised by\n" * 2
    assert surrounded("above\n" + twice, twice[: len(twice) // 2] + "x = ", "\n")[0].startswith("first line")


def test_a_window_that_slides_by_a_line_gives_a_prompt_that_begins_the_same(memory):
    """llama.vim's window moves by a line with every Enter; the file does not."""
    placing = Placing()
    prefixes = []
    lines = ORDERS.split("\n")
    for line in range(200, 206):
        prefix, suffix = window(ORDERS, line)
        request = placing.placed(CompletionRequest(prefix, suffix), memory)
        assert request.path == "src/orders.py"
        prefixes.append(request.prefix)
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(prefixes))
    assert prefixes[0].split("\n")[0] == lines[0]


def test_a_file_that_is_not_in_the_repository_is_known_as_far_as_it_was_sent():
    text = module("unknown", 60)
    placing = Placing()
    first, later = [placing.placed(CompletionRequest(*window(text, line)), None) for line in (100, 130)]
    assert later.prefix == "\n".join(text.split("\n")[:130]) + "\n" and later.path == ""
    assert first.prefix == "\n".join(text.split("\n")[:100]) + "\n"


def test_another_file_is_noticed(memory):
    placing = Placing()
    paths = [
        placing.placed(CompletionRequest(*window(FILES[path], 200)), memory).path
        for path in ("src/orders.py", "src/ledger.py", "src/orders.py")
    ]
    assert paths == ["src/orders.py", "src/ledger.py", "src/orders.py"]


@pytest.mark.parametrize(
    ("prefix", "suffix", "indent"),
    [
        ("def f():\n", "\n", "    "),
        ("class A:\n  def f(self):\n    pass\n\n  def g(self):\n", "\n", "    "),
        ("def f():\n    x = 1\n", "\n    y = 2\n", "    "),
        ("def f():\n    return 1\n", "\n\n\ndef g():\n", ""),
        ("def f():\n    x = 1\n\n", "\n    y = 2\n", "    "),
        ("func f() {\n", "\n}\n", "    "),
        ("func f() {\n\tx := 1\n\tif x {\n", "\n\t}\n}\n", "\t\t"),
        ("x = 1\n", "\n", ""),
        ("", "\n", ""),
        ("call(\n", "\n        second,\n    )\n", "        "),
    ],
)
def test_the_indentation_follows_the_lines_around(prefix, suffix, indent):
    assert indentation_at(prefix, suffix) == indent


def test_a_whole_file_is_left_as_it_is_whatever_the_repository_has(memory):
    """Lines that were just deleted at its start do not come back."""
    from tests.generate.service.played import Client, PlayedCompleter, service_with

    completer = PlayedCompleter()
    completer.memory = memory
    service = service_with(completer)
    shortened = "\n".join(ORDERS.split("\n")[20:200]) + "\n"
    Client(service, "window").ask(shortened, path="/home/me/shop/src/orders.py")
    Client(service, "editor").ask(shortened, path="src/orders.py", is_window=True)
    service.answer_waiting()
    whole, window = completer.requests
    assert (whole.prefix, whole.path) == (shortened, "src/orders.py")
    assert window.prefix.endswith(shortened) and len(window.prefix) > len(shortened)
