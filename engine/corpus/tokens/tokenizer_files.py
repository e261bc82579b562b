"""Tokenizer files of others: `tokenizer.json`, or `vocab.json` with `merges.txt`, read into one description.

The description is the JSON of `tokenizer.json`. What does not work on bytes is refused by name, because then reading a
text and writing it back could lose characters.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.corpus.reading.safe_opening import read_file
from engine.corpus.tokens.byte_alphabet import CHARACTER_OF_BYTE
from engine.errors import TokenizerError

MAX_FILE_BYTES = 128 << 20
MAX_ID = 1 << 22
REMEDY = "Choose the folder of a model with a byte-level BPE tokenizer (GPT-2, GPT-NeoX, Qwen and StarCoder have one)."

# How Qwen's own code splits text; a folder without tokenizer.json names only the class that does it.
QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Bytes that a vocabulary may lack (SmolLM2 lacks 21 of them): no UTF-8 text has them, or only for characters that are
# not assigned, or they are control characters that source code does not have.  Where one occurs, it is lost.
DISPENSABLE_BYTES = frozenset(
    [0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100), *(set(range(0x20)) - set(b"\t\n\r\f\x1b")), 0x7F]
)
KEEPS_EVERY_CHARACTER = frozenset(["Digits", "UnicodeScripts"])


def read_description(path: Path) -> dict[str, Any]:
    """The description of the tokenizer at `path`: one of the files, or a folder that holds them."""
    if path.is_dir():
        if (path / "tokenizer.json").exists():
            path = path / "tokenizer.json"
        elif (path / "vocab.json").exists():
            path = path / "vocab.json"
        else:
            raise TokenizerError(f"{path} contains neither tokenizer.json nor vocab.json with merges.txt.", REMEDY)
    if path.name == "merges.txt":
        path = path.with_name("vocab.json")
    content = read_json(path)
    if "model" in content:
        return content
    if content and all(isinstance(value, int) for value in content.values()):
        return _from_vocab_and_merges(path, content)
    raise TokenizerError(f"{path} is JSON, but not a tokenizer: it has no model.", REMEDY)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        content = json.loads(_read_text(path))
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"{path} is damaged: {error}.", "Download it again.") from error
    if not isinstance(content, dict):
        raise TokenizerError(f"{path} is JSON, but not a tokenizer: it is not an object.", REMEDY)
    return content


def _read_text(path: Path) -> str:
    try:
        data = read_file(path.resolve(strict=True), MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise TokenizerError(f"{path} is larger than {MAX_FILE_BYTES >> 20} MB, too large for a tokenizer.", REMEDY)
        return data.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise TokenizerError(f"{path} does not exist.", REMEDY) from error
    except OSError as error:
        raise TokenizerError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise TokenizerError(f"{path} is damaged: it is not UTF-8 ({error.reason}).", "Download it again.") from error


def _from_vocab_and_merges(path: Path, vocab: dict[str, Any]) -> dict[str, Any]:
    """vocab.json, merges.txt and, where they are, added_tokens.json and tokenizer_config.json."""
    config_path = path.with_name("tokenizer_config.json")
    config = read_json(config_path) if config_path.exists() else {}
    byte_level: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    pre_tokenizer: dict[str, Any] = byte_level | {"use_regex": True}
    if "Qwen" in str(config.get("tokenizer_class", "")):
        split = {"type": "Split", "pattern": {"Regex": QWEN_PATTERN}, "behavior": "Isolated", "invert": False}
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [split, byte_level | {"use_regex": False}]}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(path, config),
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": byte_level | {"use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": _read_merges(path.with_name("merges.txt"))},
    }


def _read_merges(path: Path) -> list[list[str]]:
    merges = []
    for number, line in enumerate(_read_text(path).split("\n"), start=1):
        line = line.rstrip("\r")
        if not line or (number == 1 and line.startswith("#version")):
            continue
        pair = line.split(" ")
        if len(pair) != 2 or not all(pair):
            raise TokenizerError(f"{path} is damaged: line {number} is not a pair of tokens.", "Download it again.")
        merges.append(pair)
    return merges


def _added_tokens(path: Path, config: dict[str, Any]) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    beside = path.with_name("added_tokens.json")
    for content, number in (read_json(beside) if beside.exists() else {}).items():
        found[number] = {"id": number, "content": content, "special": True}
    decoder = config.get("added_tokens_decoder", {})
    if not isinstance(decoder, dict):
        raise TokenizerError(
            f"{path.with_name('tokenizer_config.json')} is damaged: its added tokens are not an object."
        )
    for number, token in decoder.items():
        if not number.isdecimal() or not isinstance(token, dict):
            raise TokenizerError(f"{path.with_name('tokenizer_config.json')} is damaged: added token {number!r}.")
        found[int(number)] = {
            "id": int(number),
            "content": token.get("content"),
            "special": token.get("special", True),
        }
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return [token | flags for _, token in sorted(found.items())]


def check_description(description: dict[str, Any], name: str) -> None:
    """That a description is a byte-level BPE which loses nothing; `name` is the file, for the message."""
    model = description.get("model")
    if not isinstance(model, dict) or model.get("type", "BPE") != "BPE":
        kind = model.get("type") if isinstance(model, dict) else type(model).__name__
        raise TokenizerError(f"{name} is a {kind} tokenizer; only byte-level BPE reproduces every text.", REMEDY)
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        raise TokenizerError(f"{name} marks word parts, which would lose spaces.", REMEDY)
    vocab, added = model.get("vocab"), description.get("added_tokens") or []
    if not isinstance(vocab, dict) or not isinstance(model.get("merges"), list) or not isinstance(added, list):
        raise TokenizerError(f"{name} is damaged: it has no vocabulary or no merges.", "Download it again.")
    _check_ids(vocab, added, name)
    missing = [
        byte
        for byte, character in enumerate(CHARACTER_OF_BYTE)
        if character not in vocab and byte not in DISPENSABLE_BYTES
    ]
    if missing:
        raise TokenizerError(
            f"{name} has no token for {len(missing)} of the 256 bytes (first: 0x{missing[0]:02x}).", REMEDY
        )
    if "ByteLevel" not in _pre_tokenizer_kinds(description.get("pre_tokenizer"), name):
        raise TokenizerError(f"{name} does not work on bytes (it has no ByteLevel step).", REMEDY)


def _check_ids(vocab: dict[str, Any], added: list[Any], name: str) -> None:
    holder: dict[int, str] = {}
    for token in added:
        if not isinstance(token, dict) or not isinstance(token.get("content"), str) or not token["content"]:
            raise TokenizerError(f"{name} is damaged: an added token has no text.", "Download it again.")
    for content, number in [*vocab.items(), *((token["content"], token.get("id")) for token in added)]:
        if type(number) is not int or not 0 <= number < MAX_ID:
            raise TokenizerError(f"{name} is damaged: token {content!r} has id {number!r}.", "Download it again.")
        if holder.setdefault(number, content) != content:
            raise TokenizerError(
                f"{name} is damaged: id {number} is used for both {holder[number]!r} and {content!r}.",
                "Download it again.",
            )
        if vocab.get(content, number) != number:
            raise TokenizerError(
                f"{name} is damaged: {content!r} has the ids {vocab[content]} and {number}.", "Download it again."
            )


def _pre_tokenizer_kinds(step: Any, name: str) -> set[str]:
    """The kinds of pre-tokenizer in `step`; one that would drop characters is refused."""
    if not isinstance(step, dict):
        return set()
    kind = step.get("type")
    if kind == "Sequence":
        return set().union(*(_pre_tokenizer_kinds(part, name) for part in step.get("pretokenizers") or []))
    keeps = step.get("behavior") != "Removed" if kind in ("Split", "Punctuation") else kind in KEEPS_EVERY_CHARACTER
    if kind != "ByteLevel" and not keeps:
        raise TokenizerError(f"{name} splits text with {kind}, which may lose characters.", REMEDY)
    return {str(kind)}
