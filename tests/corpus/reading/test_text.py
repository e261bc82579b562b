"""Encodings, what is no text, and notebooks."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.corpus.reading.text import Decoded, decode, notebook_code
from engine.corpus.reading.verdict import Reason

TEXT = "naïve = 'größe'\r\n\tif x:\n"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (b"\xef\xbb\xbf" + TEXT.encode(), "utf-8-sig"),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), "utf-16"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16"),
        (TEXT.encode("latin-1"), "latin-1"),
    ],
)
def test_encodings_keep_every_character_and_line_end(data, encoding):
    assert decode(data) == Decoded(TEXT, encoding)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Reason.EMPTY),
        (b"\xef\xbb\xbf", Reason.EMPTY),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Reason.BINARY),
        (b"\xff\xfe\0\0h\0\0\0", Reason.BINARY),
        (b"\xff\xfea", Reason.BINARY),
        (bytes(range(1, 9)) * 20 + b"text", Reason.NOT_TEXT),
        (bytes(range(128, 256)) * 4, Reason.NOT_TEXT),
    ],
)
def test_what_is_no_text(data, reason):
    assert decode(data) is reason


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_utf8_comes_back_as_it_was(text):
    if not text.startswith("\ufeff"):
        assert decode(text.encode()) == Decoded(text, "utf-8")


@given(st.binary())
def test_no_bytes_are_too_odd(data):
    assert isinstance(decode(data), Decoded | Reason)


def test_colours_and_form_feeds_are_text():
    assert isinstance(decode(b"\x1b[31mred\x1b[0m\n\x0cnext page\n" * 3), Decoded)


def test_notebooks_give_their_code():
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# title"]},
            {"cell_type": "code", "source": ["import os\n", "x = 1"], "outputs": [{"text": "secret output"}]},
            {"cell_type": "code", "source": "print(x)\n"},
            {"cell_type": "code", "source": []},
        ],
        "nbformat": 4,
    }
    assert notebook_code(json.dumps(notebook)) == "import os\nx = 1\n\nprint(x)\n"


def test_old_notebooks():
    sheet = {"cells": [{"cell_type": "code", "input": ["a = 1"]}]}
    assert notebook_code(json.dumps({"worksheets": [sheet], "nbformat": 3})) == "a = 1\n"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"cells": 3}', '{"cells": [{}]}', '{"cells": [3]}', "[" * 100_000]
)
def test_what_is_no_notebook(text):
    assert notebook_code(text) is None


def test_a_notebook_without_code():
    assert notebook_code('{"cells": []}') == ""
