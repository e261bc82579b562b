"""What a trained tokenizer looks like."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import TokenizerError

from . import samples


def pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer.decode([number]) for number in tokenizer.encode(text)]


def test_digits_stand_alone():
    text = "x = 1234567890, 0x12ab 99"
    assert [piece for piece in pieces(samples.trained(), text) if any(map(str.isdigit, piece))] == list(
        "123456789001299"
    )


def test_runs_of_spaces_are_tokens():
    tokenizer = samples.trained()
    for count in (2, 4, 8, 12):
        assert pieces(tokenizer, " " * count + "x")[0] == " " * count
    for count in (4, 8, 12):
        assert pieces(tokenizer, "\n" + " " * count + "x")[0] == "\n" + " " * count


def test_names_start_after_punctuation():
    assert "." in pieces(samples.trained(), "self.append(x)")


def test_special_tokens_come_first_and_are_all_there():
    tokenizer = samples.trained()
    special = tokenizer.special
    names = ["<|endoftext|>", "<|file|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|pad|>"]
    ids = [special.end_of_text, special.file, special.fim_prefix, special.fim_suffix, special.fim_middle, special.pad]
    assert ids == list(range(6))
    assert [tokenizer.token(number) for number in ids] == names
    assert tokenizer.has_fim
    assert tokenizer.vocab_size == 1024
    assert tokenizer.dtype == "uint16"
    assert tokenizer.fits(1024)
    assert not tokenizer.fits(1023)


def test_same_texts_same_tokenizer():
    again = Tokenizer.train(reversed(samples.source_texts()), 1024)
    assert again.digest == samples.trained().digest
    assert Tokenizer.train(samples.source_texts(), 1023).digest != again.digest


def test_same_in_another_process(tmp_path):
    code = "from tests.corpus.tokens import samples\nprint(samples.trained().digest)"
    environment = os.environ | {"PYTHONHASHSEED": "7", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert (done.stdout.strip(), done.stderr) == (samples.trained().digest, "")


def test_few_texts_give_a_small_vocabulary():
    tokenizer = Tokenizer.train(["abab abab"], 8192)
    assert 262 < tokenizer.vocab_size < 270
    assert tokenizer.decode(tokenizer.encode("中 x")) == "中 x"
    assert Tokenizer.train([], 300).vocab_size == 262


def test_texts_with_lone_surrogates_do_not_stop_training():
    assert Tokenizer.train(["a\ud800b" * 3], 300).vocab_size >= 262


@pytest.mark.parametrize("size", [0, 261, 1 << 24])
def test_a_vocabulary_that_cannot_be_is_refused(size):
    with pytest.raises(TokenizerError, match=f"{size} entries"):
        Tokenizer.train(["x"], size)
