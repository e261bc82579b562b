"""Lines from elsewhere in the words of another place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.memory.analogies import LONGEST, adapted


@pytest.mark.parametrize(
    ("line", "there", "here", "wanted"),
    [
        (
            "parser_foo.set_defaults(func=base_foo)",
            ('parser_foo.add_argument("x")', ""),
            ('parser_bar.add_argument("x")', ""),
            "parser_bar.set_defaults(func=base_bar)",
        ),
        ("self._index = index", ("", "self._parent = 1"), ("", "self._child = 1"), None),
        ("class FooTest(Base):", ("foo = 1", ""), ("bar = 1", ""), "class BarTest(Base):"),
        ("MAX_FOO = 1", ("foo = 1", ""), ("bar = 1", ""), "MAX_BAR = 1"),
        ("x = left", ("if left:", "return left"), ("if right:", "return right"), "x = right"),
        ("x = 8", ("y = 8", ""), ("y = 16", ""), "x = 16"),
        ("a = 1", ("z" * (LONGEST + 1), ""), ("y" * (LONGEST + 1), ""), None),
        ("a = 1", ("same", "lines"), ("same", "lines"), None),
    ],
)
def test_what_differs_around_is_replaced(line, there, here, wanted):
    assert next(adapted(line, there, here), None) == wanted


def test_each_side_alone_makes_a_version_too():
    versions = list(adapted("one(two)", ("one", "two"), ("ONE_A", "six")))
    assert versions[0] == "ONE_A(six)" and "one(six)" in versions and len(set(versions)) == len(versions)


@given(
    st.text("ab_1 .(A", max_size=30), *[st.tuples(st.text("ab_1 .(A", max_size=20), st.text("ab_", max_size=20))] * 2
)
def test_versions_differ_from_the_line_and_from_each_other(line, there, here):
    versions = list(adapted(line, there, here))
    assert line not in versions and len(versions) == len(set(versions)) <= 3
