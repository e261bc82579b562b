"""The compiled merging gives the ids of `tokenizers`, text for text."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given, settings
from tokenizers import Tokenizer as Library

from engine.corpus.tokens.code_merges import SHORT, CodeMerges
from engine.corpus.tokens.special_tokens import exact_description, special_ids
from engine.corpus.tokens.tokenizer import Tokenizer

from . import samples


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> tuple[CodeMerges, Library]:
    path = tmp_path_factory.mktemp("trained") / "tokenizer.json"
    samples.trained().save(path)
    description = json.loads(path.read_text(encoding="utf-8"))
    exact = exact_description(description, special_ids(description))
    assert CodeMerges.can_read(exact)
    return CodeMerges(exact["model"]), Library.from_str(json.dumps(exact))


@given(samples.every_text)
@settings(max_examples=400, deadline=None)
def test_same_ids_as_the_library(both, text):
    merges, library = both
    text = text.encode("utf-8", "replace").decode()
    assert merges.encode(text.encode()).tolist() == library.encode(text).ids


@pytest.mark.parametrize(
    "text",
    [
        *("return" * count for count in (1, SHORT // 6, SHORT // 6 + 1, 400)),
        *("e" * count for count in (1, 2, SHORT - 1, SHORT, SHORT + 1, SHORT + 2, 5001)),
        *(" " * count + "x" for count in (1, 2, 3, 4, 8, SHORT, 4001)),
        "\n" * 999 + "\t \t" * 99,
        "==" * 3000 + "self._name__x" * 200,
        "\x0b\f\x0b x\x1c\x7f_é__中 _1_a $a$ _",
    ],
)
def test_same_ids_at_the_edges(both, text):
    merges, library = both
    assert merges.encode(text.encode()).tolist() == library.encode(text).ids


def test_same_ids_on_source_code(both):
    merges, library = both
    for text in samples.source_texts():
        assert merges.encode(text.encode()).tolist() == library.encode(text).ids


def test_the_text_may_be_read_in_many_threads_and_the_lock_is_free(both):
    merges, _ = both
    data = "\n".join(samples.source_texts()).encode() * 5
    expected = merges.encode(data).tolist()
    results: list[list[int]] = []
    threads = [threading.Thread(target=lambda: results.append(merges.encode(data).tolist())) for _ in range(4)]
    for thread in threads:
        thread.start()
    turns = 0
    while not results:
        turns += 1
    for thread in threads:
        thread.join()
    assert results == [expected] * 4
    assert turns > 1000  # with the lock held, this thread would have stood still


def test_other_patterns_are_left_to_the_library(tmp_path):
    tokenizer = Tokenizer.load(samples.write_gpt2_style(tmp_path))
    assert tokenizer._merges is None
