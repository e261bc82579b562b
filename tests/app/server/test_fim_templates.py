"""Prompts with the markers of other people's models."""

from __future__ import annotations

import pytest

from app.server.protocols.fim_templates import parts_of, with_named_files

P, S = "def f(a):\n    return ", "\n\nx = '<y>'\n"


@pytest.mark.parametrize(
    "prompt",
    [
        f"<|fim_prefix|>{P}<|fim_suffix|>{S}<|fim_middle|>",
        f"<fim_prefix>{P}<fim_suffix>{S}<fim_middle>",
        f"<PRE> {P} <SUF>{S} <MID>",
        f"[SUFFIX]{S}[PREFIX]{P}",
        f"<｜fim▁begin｜>{P}<｜fim▁hole｜>{S}<｜fim▁end｜>",
        f"<|code_prefix|>{P}<|code_suffix|>{S}<|code_middle|>",
    ],
)
def test_the_six_templates(prompt):
    parts = parts_of(prompt)
    assert (parts.prefix, parts.suffix, parts.path, parts.chunks) == (P, S, "", ())


def test_an_empty_prefix_and_suffix():
    parts = parts_of("<|fim_prefix|><|fim_suffix|><|fim_middle|>")
    assert parts is not None and (parts.prefix, parts.suffix) == ("", "")


@pytest.mark.parametrize(
    "prompt", ["plain text", "", "<|fim_prefix|>x", "<fim_suffix>a<fim_prefix>b", "[PREFIX]a[SUFFIX]b"]
)
def test_a_text_without_a_whole_template_is_a_text(prompt):
    assert parts_of(prompt) is None


def test_other_files_come_before_and_the_last_name_is_the_open_file():
    prompt = (
        "<|repo_name|>shop\n<|file_sep|>src/a.py\nA = 1\n<|file_sep|>src/b.py\nB = 2\n"
        f"<|file_sep|>src/open.py\n<|fim_prefix|>{P}<|fim_suffix|>{S}<|fim_middle|>"
    )
    parts = parts_of(prompt)
    assert (parts.prefix, parts.suffix, parts.path) == (P, S, "src/open.py")
    assert [(chunk.path, chunk.text) for chunk in parts.chunks] == [("src/a.py", "A = 1\n"), ("src/b.py", "B = 2\n")]


def test_codestral_s_files():
    parts = parts_of(f"[SUFFIX]{S}[PREFIX]+++++ src/a.py\nA = 1\n+++++ src/open.py\n{P}")
    assert (parts.prefix, parts.suffix, parts.path) == (P, S, "src/open.py")
    assert [chunk.path for chunk in parts.chunks] == ["src/a.py"]


def test_plus_signs_inside_a_text_name_no_file():
    assert with_named_files("x = 1\n+++++ not a name\ny = ", "").prefix == "x = 1\n+++++ not a name\ny = "


@pytest.mark.parametrize("note", ["# language: python\n", "-- language: lua\n-- indentation: use 2 spaces for a tab\n"])
def test_notes_above_the_text_are_removed(note):
    assert with_named_files(note + "x = ", "").prefix == "x = "
    assert with_named_files("# a comment\nx = ", "").prefix == "# a comment\nx = "
