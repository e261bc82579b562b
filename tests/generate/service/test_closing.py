"""What the editor has closed by itself is asked without, and replaced or met."""

import pytest

from engine.generate.service.closing import closed_behind, met
from tests.generate.service.played import Client, PlayedCompleter, service_with


@pytest.mark.parametrize(
    ("line", "rest", "closed"),
    [
        ("x = f(", ")", ")"),
        ("x = f(a[", "])  ", "])"),
        ('print("hel', '")', '")'),
        ("print(f('a', g({", "}))", "}))"),
        ("x = f(a[", "]", "]"),  # the outer one is still open
        ("x = f(", "):", ""),  # somebody wrote the colon
        ("x = f(", ") + 1", ""),
        ("x = f(", "]", ""),
        ("x = f", ")", ""),  # opened in an earlier line, or nowhere
        ("x = '(", ")", ""),
        ("x = f(", "", ""),
    ],
)
def test_only_what_the_cursor_s_line_has_opened_counts(line, rest, closed):
    assert closed_behind(f"earlier(\n    {line}", f"{rest}\nlater()\n") == closed


@pytest.mark.parametrize(
    ("line", "closed", "text", "replaced", "inserted"),
    [
        ("for a in zip(b, c", ")", ", d):", 1, ", d"),
        ("x = f(g(a", "))", ", b), c)", 2, ", b"),
        ("x = f(g(a", "))", ", b), c", 1, ", b"),  # the outer one is still needed
        ("x = f(", ")", "g(a)", 0, "g(a)"),
        ('print("hel', '")', 'lo (all)")', 2, "lo (all)"),
        ("x = f(", ")", "\n    a,\n    b,\n)", 1, "\n    a,\n    b,\n"),
        ("x = f(a", ")", ")", 1, ""),
        ("x = f(a", ")", "):\n    g(b)", 1, ""),
    ],
)
def test_a_text_replaces_what_it_closes_itself_or_ends_before_it(line, closed, text, replaced, inserted):
    assert met(f"y = (\n{line}", text, closed, can_replace=True) == (text, replaced)
    assert met(f"y = (\n{line}", text, closed, can_replace=False) == (inserted, 0)


@pytest.mark.parametrize(
    ("can_replace", "text", "replaces", "others"), [(True, ", c):", 1, (", d):",)), (False, ", c", 0, (", d", "x"))]
)
def test_the_model_is_asked_without_and_the_client_gets_what_it_can_use(can_replace, text, replaces, others):
    completer = PlayedCompleter(", c):")
    completer.alternatives = (", c):", ", d):", "x")
    service = service_with(completer)
    client = Client(service)
    client.ask("for a in zip(b", suffix=")\nend()\n", can_replace=can_replace)
    service.answer_waiting()
    (answer,) = client.answers
    assert completer.requests[0].suffix == "\nend()\n"
    assert (client.text, answer.text, answer.replaces) == (text, text, replaces)
    assert answer.completion.alternatives == others


def test_nothing_but_what_is_closed_already_is_no_suggestion():
    service = service_with(PlayedCompleter(")"))
    client = Client(service)
    client.ask("x = f(a", suffix=")\n")
    service.answer_waiting()
    assert client.text == "" and "closed" in client.answers[0].why_empty
