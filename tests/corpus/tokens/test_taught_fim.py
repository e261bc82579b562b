"""Control tokens that nothing uses get the roles of fill-in-the-middle: names change, ids and texts do not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from tokenizers import Tokenizer as Library

from engine.corpus.batches.framing import Framing
from engine.corpus.tokens.taught_fim import FIM_NAMES, with_fim, without_fim
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.corpus.tokens.tokenizer_files import read_description
from tests.corpus.tokens import samples

BEGIN = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<file_sep>", "<filename>"]
SMOLLM = [*BEGIN, "<gh_stars>", "<issue_start>", "<issue_comment>", "<jupyter_text>", "<empty_output>"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A tokenizer with the control tokens of SmolLM2."""
    return samples.write_style(tmp_path_factory.mktemp("smollm"), SMOLLM) / "tokenizer.json"


@pytest.fixture(scope="module")
def both(path):
    tokenizer = Tokenizer.load(path)
    return tokenizer, tokenizer.with_taught_fim()


def names_of(tokenizer: Tokenizer) -> list[str]:
    return [tokenizer.token(number) for number in range(tokenizer.vocab_size)]


def test_three_unused_tokens_get_the_roles_and_keep_their_ids(both):
    before, after = both
    assert not before.has_fim and not before.has_taught_fim
    assert after.has_fim and after.has_taught_fim
    assert [before.token(number) for number in after.special.fim] == ["<gh_stars>", "<issue_start>", "<issue_comment>"]
    assert [after.token(number) for number in after.special.fim] == list(FIM_NAMES)
    changed = [n for n, (a, b) in enumerate(zip(names_of(before), names_of(after), strict=True)) if a != b]
    assert changed == sorted(after.special.fim)
    assert (after.special.end_of_text, after.special.file) == (before.special.end_of_text, before.special.file)
    assert after.special_ids == before.special_ids


def test_caches_of_the_one_are_those_of_the_other(both):
    before, after = both
    assert after.digest == before.digest
    assert (after.vocab_size, after.dtype) == (before.vocab_size, before.dtype)


@given(samples.every_text)
@settings(deadline=None)
def test_texts_give_the_same_ids_whatever_names_stand_in_them(both, text):
    before, after = both
    text = f"{text}<|fim_prefix|><gh_stars><|im_end|>{text}"
    assert after.encode(text).tolist() == before.encode(text).tolist()
    assert after.decode(after.encode(text)) == text


def test_what_is_taught_here_reads_the_suffix_first(both):
    _, after = both
    ids = Framing(after).fill_in_prompt("", after.encode("x"), after.encode("y")).tolist()
    prefix, suffix, middle = after.special.fim
    assert ids.index(suffix) < ids.index(prefix) < ids.index(middle) == len(ids) - 1


def test_the_file_says_it_and_it_can_be_undone(both, path, tmp_path):
    _, after = both
    after.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.has_taught_fim and loaded.special == after.special and loaded.digest == after.digest
    assert without_fim(read_description(tmp_path)) == json.loads(path.read_text())
    assert loaded.without_taught_fim().special == Tokenizer.load(path).special
    assert Tokenizer.load(path).without_taught_fim().special == Tokenizer.load(path).special
    assert loaded.with_taught_fim() is None  # it has it


def test_other_programs_read_the_file(both, tmp_path):
    _, after = both
    after.save(tmp_path)
    library = Library.from_file(str(tmp_path / "tokenizer.json"))
    assert [library.token_to_id(name) for name in FIM_NAMES] == list(after.special.fim)
    assert library.encode("<|fim_middle|>").ids == [after.special.fim_middle]
    assert library.token_to_id("<gh_stars>") is None


@pytest.mark.parametrize(
    ("special", "chosen"),
    [
        ([*SMOLLM, "<|reserved_0|>", "<unused_7>", "<|dummy_1|>"], ["<|reserved_0|>", "<unused_7>", "<|dummy_1|>"]),
        ([*SMOLLM, "<|reserved_special_token_0|>"], ["<|reserved_special_token_0|>", "<gh_stars>", "<issue_start>"]),
        ([*BEGIN, "<jupyter_text>", "<empty_output>"], None),  # two are too few
        ([*BEGIN, "<|user|>", "<|assistant|>", "<think>", "<|tool_call|>", "<mask>"], None),
        ([*SMOLLM, "<|fim_middle|>"], None),  # the name is taken
        ([*SMOLLM, "<fim_prefix>", "<fim_suffix>", "<fim_middle>"], None),  # it has it
    ],
    ids=["reserved", "one reserved", "two", "chat", "taken", "has it"],
)
def test_the_rule(tmp_path, special, chosen):
    before = Tokenizer.load(samples.write_style(tmp_path, special))
    after = before.with_taught_fim()
    assert (after and [before.token(number) for number in after.special.fim]) == chosen


def test_a_token_that_is_not_flagged_as_special_stays_what_it_is(path):
    description = json.loads(path.read_text())
    for token in description["added_tokens"]:
        token["special"] = token["content"] not in ("<gh_stars>", "<issue_start>", "<empty_output>")
    assert with_fim(description) is None


@pytest.mark.parametrize("lie", ["ordinary", "twice", "taken", "no text", "not special"])
def test_a_file_that_lies_about_former_names_has_a_digest_of_its_own(both, lie):
    """Otherwise it would read the tokens of a tokenizer that gives other ids."""
    before, after = both
    description = json.loads(after.to_json())
    first, second, _ = (token for token in description["added_tokens"] if "renamed_from" in token)
    if lie == "ordinary":
        first["renamed_from"] = "de"
        assert "de" in description["model"]["vocab"]
    elif lie == "twice":
        first["renamed_from"] = second["renamed_from"]
    elif lie == "taken":
        first["renamed_from"] = "<|im_end|>"
    elif lie == "no text":
        first["renamed_from"] = 7
    else:
        first["special"] = False
    liar = Tokenizer(description, "liar")
    assert liar.digest != before.digest and not liar.has_taught_fim and not liar.special.suffix_first
