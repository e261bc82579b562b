"""Loading, saving, and what is said about files that cannot be used."""

from __future__ import annotations

import json
import os

import pytest

from engine.corpus.tokens.special_tokens import SpecialTokens
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import TokenizerError
from tests.named_pipe import *  # noqa: F403  (fixtures)

from . import samples

WRITERS = [samples.write_gpt2_style, samples.write_neox_style, samples.write_qwen_style]


@pytest.mark.parametrize("write", WRITERS)
def test_saved_and_loaded_it_is_the_same(tmp_path, write):
    tokenizer = Tokenizer.load(write(tmp_path))
    tokenizer.save(tmp_path / "again.json")
    again = Tokenizer.load(tmp_path / "again.json")
    assert (again.digest, again.special, again.vocab_size) == (
        tokenizer.digest,
        tokenizer.special,
        tokenizer.vocab_size,
    )
    text = samples.source_texts()[0]
    assert again.encode(text).tolist() == tokenizer.encode(text).tolist()
    assert len(again.digest) == 32


def test_a_trained_one_is_the_same_and_the_library_reads_it(tmp_path):
    tokenizer = samples.trained()
    tokenizer.save(tmp_path)
    assert Tokenizer.load(tmp_path).digest == Tokenizer.load(tmp_path / "tokenizer.json").digest == tokenizer.digest
    library = samples.Library.from_file(str(tmp_path / "tokenizer.json"))
    text = samples.source_texts()[1]
    assert library.encode(text).ids == tokenizer.encode(text).tolist()
    assert library.decode(library.encode(text).ids) == text
    assert os.listdir(tmp_path) == ["tokenizer.json"]


def test_gpt2_style(tmp_path):
    folder = samples.write_gpt2_style(tmp_path)
    tokenizer = Tokenizer.load(folder)
    vocab = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    assert tokenizer.special == SpecialTokens(end_of_text=vocab["<|endoftext|>"])
    assert not tokenizer.has_fim
    assert tokenizer.vocab_size == len(vocab)
    library = samples.Library(samples.models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    library.pre_tokenizer = samples.pre_tokenizers.ByteLevel(add_prefix_space=False)
    text = samples.source_texts()[2]
    assert tokenizer.encode(text).tolist() == library.encode(text).ids
    for path in (folder / "vocab.json", folder / "merges.txt", str(folder)):
        assert Tokenizer.load(path).digest == tokenizer.digest


def test_the_files_beside_vocab_json_name_special_tokens(tmp_path):
    samples.write_gpt2_style(tmp_path, end_of_text=False)
    with pytest.raises(TokenizerError, match="end-of-text"):
        Tokenizer.load(tmp_path)
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<|endoftext|>": 700}))
    assert Tokenizer.load(tmp_path).special.end_of_text == 700
    decoder = {str(701 + i): {"content": f"<|fim_{name}|>"} for i, name in enumerate(["prefix", "suffix", "middle"])}
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": decoder})
    )
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.special == SpecialTokens(700, None, 701, 702, 703, None)
    assert tokenizer.has_fim
    assert tokenizer.vocab_size == 704
    assert all(len(tokenizer.decode_bytes([number])) == 1 for number in tokenizer.encode("1234"))


def test_neox_style_keeps_its_runs_of_spaces(tmp_path):
    folder = samples.write_neox_style(tmp_path)
    tokenizer = Tokenizer.load(folder)
    library = samples.Library.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.special == SpecialTokens(end_of_text=0, pad=1)
    assert not tokenizer.has_fim
    text = samples.source_texts()[3]
    assert tokenizer.encode(text).tolist() == library.encode(text).ids
    assert tokenizer.encode(" " * 24).tolist() == [library.token_to_id(" " * 24)]
    assert tokenizer.vocab_size == library.get_vocab_size()


def test_qwen_style_has_fim_though_not_flagged(tmp_path):
    tokenizer = Tokenizer.load(samples.write_qwen_style(tmp_path))
    assert tokenizer.has_fim
    assert tokenizer.token(tokenizer.special.file) == "<|file_sep|>"
    assert tokenizer.token(tokenizer.special.pad) == "<|fim_pad|>"
    ids = tokenizer.encode("<|fim_prefix|>a<|endoftext|>").tolist()
    assert not tokenizer.special_ids.intersection(ids)


def test_a_prefix_space_stripping_and_dropout_are_put_right(tmp_path):
    def change(content):
        content["pre_tokenizer"]["add_prefix_space"] = True
        content["model"]["dropout"] = 0.5
        content["added_tokens"].append(
            {
                "id": 900,
                "content": "foo",
                "special": False,
                "single_word": False,
                "lstrip": True,
                "rstrip": True,
                "normalized": True,
            }
        )

    tokenizer = Tokenizer.load(_changed(tmp_path, change))
    for text in ("x", " x", "a  foo  b foo"):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert 900 in tokenizer.encode("a foo")


def test_a_special_token_that_merges_make_is_never_made(tmp_path):
    def change(content):
        model = content["model"]
        for number, (left, right) in enumerate([("<", "|"), ("<|", "e"), ("<|e", "|"), ("<|e|", ">"), ("<|e|>", "x")]):
            model["vocab"].setdefault(left + right, 1000 + number)
            model["merges"].append([left, right])
        model["ignore_merges"] = True
        content["pre_tokenizer"]["use_regex"] = False
        content["added_tokens"].append({"id": model["vocab"]["<|e|>"], "content": "<|e|>", "special": True})

    tokenizer = Tokenizer.load(_changed(tmp_path, change))
    ids = tokenizer.encode("<|e|>")
    assert tokenizer.decode(ids) == "<|e|>"
    assert not tokenizer.special_ids.intersection(ids.tolist())


DAMAGE = {
    "no byte level": (lambda c: c.update(pre_tokenizer={"type": "Digits", "individual_digits": True}), "ByteLevel"),
    "drops spaces": (lambda c: c.update(pre_tokenizer={"type": "Whitespace"}), "Whitespace"),
    "no pre-tokenizer": (lambda c: c.update(pre_tokenizer=None), "ByteLevel"),
    "word pieces": (lambda c: c["model"].update(type="WordPiece"), "WordPiece"),
    "no model": (lambda c: c.update(model=[1]), "list"),
    "no vocabulary": (lambda c: c["model"].update(vocab=None), "no vocabulary"),
    "byte missing": (lambda c: c["model"]["vocab"].pop("Ġ"), "0x20"),
    "id is text": (lambda c: c["model"]["vocab"].update(zz="7"), "'7'"),
    "id is huge": (lambda c: c["model"]["vocab"].update(zz=1 << 40), str(1 << 40)),
    "id below zero": (lambda c: c["model"]["vocab"].update(zz=-1), "-1"),
    "id twice": (lambda c: c["model"]["vocab"].update(zz=5), "id 5"),
    "two ids": (lambda c: c["added_tokens"].append({"id": 5000, "content": "a"}), "5000"),
    "added without text": (lambda c: c["added_tokens"].append({"id": 5}), "no text"),
    "added with the id of another": (lambda c: c["added_tokens"].append({"id": 5, "content": "<x>"}), "id 5"),
    "merge of nothing": (lambda c: c["model"]["merges"].append(["zzz", "qqq"]), "zzz"),
    "merge of three": (lambda c: c["model"]["merges"].append(["a", "b", "c"]), "damaged"),
    "marked words": (lambda c: c["model"].update(end_of_word_suffix="</w>"), "spaces"),
    "no end of text": (
        lambda c: (c["added_tokens"].clear(), c["model"]["vocab"].pop("<|endoftext|>")),
        "end-of-text",
    ),
}


@pytest.mark.parametrize(("change", "words"), DAMAGE.values(), ids=DAMAGE.keys())
def test_what_cannot_be_used_is_refused_with_file_and_cause(tmp_path, change, words):
    path = _changed(tmp_path, change)
    with pytest.raises(TokenizerError) as caught:
        Tokenizer.load(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)
    assert caught.value.remedy


def test_files_that_cannot_be_read(tmp_path):
    def refused(path, words):
        with pytest.raises(TokenizerError) as caught:
            Tokenizer.load(path)
        assert str(path) in str(caught.value)
        assert words in str(caught.value)

    refused(tmp_path, "neither")
    refused(tmp_path / "nothing.json", "does not exist")
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"")
    refused(path, "damaged")
    path.write_bytes(b'{"model": {"vocab": {"a": 1')
    refused(path, "damaged")
    path.write_bytes(b"\xff\xfe\x00")
    refused(path, "UTF-8")
    path.write_bytes(b"[" * 100_000)
    refused(path, "damaged")
    path.write_bytes(b"[]")
    refused(path, "not an object")
    path.write_bytes(b'{"a": "b"}')
    refused(path, "no model")
    path.unlink()
    path.mkdir()
    refused(path, "neither")


def test_merges_that_cannot_be_read(tmp_path):
    samples.write_gpt2_style(tmp_path)
    merges = tmp_path / "merges.txt"
    merges.write_text(merges.read_text(encoding="utf-8") + "one two three\n", encoding="utf-8")
    with pytest.raises(TokenizerError, match=r"merges\.txt is damaged: line \d+"):
        Tokenizer.load(tmp_path)
    merges.unlink()
    with pytest.raises(TokenizerError, match=r"merges\.txt does not exist"):
        Tokenizer.load(tmp_path)


def test_a_pipe_is_not_waited_for(pipe):
    with pytest.raises(TokenizerError, match=r"pipe\.py cannot be read: Not a file"):
        Tokenizer.load(pipe)


def test_a_folder_that_is_missing_is_made(tmp_path):
    samples.trained().save(tmp_path / "missing" / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "missing").digest == samples.trained().digest


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(TokenizerError, match="cannot be written"):
        samples.trained().save(tmp_path / "file" / "tokenizer.json")


def _changed(folder, change):
    path = samples.write_neox_style(folder) / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
