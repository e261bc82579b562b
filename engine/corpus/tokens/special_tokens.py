"""Tokens that mean something and stand for no text: which they are, and a description that cannot make them from text.

Published tokenizers name them differently and flag them unreliably (Qwen's FIM tokens are flagged as ordinary), so they
are known by role and by shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import TokenizerError

# In order of preference. The first of each is what a tokenizer trained here has; the last ones of the middle are
# Falcon's and DeepSeek's (begin, hole, end).
ROLE_NAMES = {
    "end_of_text": ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<｜end▁of▁sentence｜>"),
    "file": ("<|file|>", "<|file_sep|>", "<file_sep>", "<filename>"),
    "fim_prefix": ("<|fim_prefix|>", "<fim_prefix>", "<fim-prefix>", "<|prefix|>", "<｜fim▁begin｜>"),
    "fim_suffix": ("<|fim_suffix|>", "<fim_suffix>", "<fim-suffix>", "<|suffix|>", "<｜fim▁hole｜>"),
    "fim_middle": ("<|fim_middle|>", "<fim_middle>", "<fim-middle>", "<|middle|>", "<｜fim▁end｜>"),
    "pad": ("<|pad|>", "<|fim_pad|>", "<fim_pad>", "<|padding|>", "<pad>", "[PAD]"),
}
TRAINED_SPECIAL_TOKENS = tuple(names[0] for names in ROLE_NAMES.values())


@dataclass(frozen=True)
class SpecialTokens:
    """Ids by role; None where the tokenizer has no such token.

    `suffix_first`: models with this tokenizer read the text after the cursor before the text in front of it.
    """

    end_of_text: int
    file: int | None = None
    fim_prefix: int | None = None
    fim_suffix: int | None = None
    fim_middle: int | None = None
    pad: int | None = None
    suffix_first: bool = False

    @property
    def fim(self) -> tuple[int | None, int | None, int | None]:
        """Prefix, suffix and middle."""
        return self.fim_prefix, self.fim_suffix, self.fim_middle


def special_ids(description: dict[str, Any]) -> dict[str, int]:
    """Every special token and its id: flagged so, written in brackets, or named in a role."""
    found = {
        token["content"]: token["id"]
        for token in description.get("added_tokens") or []
        if token.get("special") or _in_brackets(token["content"])
    }
    vocab = description["model"]["vocab"]
    for names in ROLE_NAMES.values():
        found.update((name, vocab[name]) for name in names if name in vocab)
    return found


def roles(special: Mapping[str, int], description: dict[str, Any], name: str, taught: bool = False) -> SpecialTokens:
    """`special` by role; `name` is the file, for the message.  `taught`: filling in was taught here (`taught_fim`)."""
    ids = {
        role: next((special[known] for known in names if known in special), None) for role, names in ROLE_NAMES.items()
    }
    if ids["end_of_text"] is None:
        raise TokenizerError(
            f"{name} has no end-of-text token ({', '.join(ROLE_NAMES['end_of_text'])}).",
            "Put the model's tokenizer.json beside it: it names the special tokens.",
        )
    return SpecialTokens(**ids, suffix_first=taught or _suffix_first(special, description))


def _suffix_first(special: Mapping[str, int], description: dict[str, Any]) -> bool:
    """The order that a model was trained in, which no file states.

    What is trained or taught here has the suffix first, so that a prompt grows at its end while somebody types; so has
    Mellum's, which has StarCoder's names but, unlike StarCoder's, does not split digits.  All others (Qwen, Granite,
    StarCoder, Falcon, DeepSeek) put the prefix first.
    """
    if special.keys() >= set(TRAINED_SPECIAL_TOKENS):
        return True
    step = description.get("pre_tokenizer") or {}
    return "<fim_suffix>" in special and step.get("type") == "ByteLevel"


def exact_description(description: dict[str, Any], special: Mapping[str, int]) -> dict[str, Any]:
    """`description` for reading text: every text comes back as it was, and none becomes a special token.

    Without normalizer (NFC would change text), prefix space, stripping around added tokens and dropout, and without
    the special tokens.  Ids stay as they are.
    """
    model = dict(description["model"])
    ordinary = [token for token in description.get("added_tokens") or [] if token["content"] not in special]
    vocab = {token: number for token, number in model["vocab"].items() if token not in special}
    # The library numbers added tokens by itself unless the vocabulary has them.
    vocab.update((token["content"], token["id"]) for token in ordinary)
    if not special.keys().isdisjoint(model["vocab"]):
        model["merges"] = [merge for merge in model["merges"] if special.keys().isdisjoint(_tokens_of(merge))]
    model.update(type="BPE", vocab=vocab, dropout=None, unk_token=None, byte_fallback=False, fuse_unk=False)
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": token["id"], "content": token["content"]} | plain for token in ordinary],
        "normalizer": None,
        "pre_tokenizer": _without_prefix_space(description["pre_tokenizer"]),
        "post_processor": None,
        "decoder": None,
        "model": model,
    }


def _in_brackets(content: str) -> bool:
    return len(content) > 2 and (content[0], content[-1]) in {("<", ">"), ("[", "]")}


def _tokens_of(merge: Any) -> list[str]:
    """The tokens that a merge takes, and the one it makes; merges are pairs or, in older files, "a b"."""
    pair = [str(part) for part in merge] if isinstance(merge, list) else str(merge).split(" ")
    return [*pair, "".join(pair)]


def _without_prefix_space(step: dict[str, Any]) -> dict[str, Any]:
    if step.get("type") == "Sequence":
        return step | {"pretokenizers": [_without_prefix_space(part) for part in step["pretokenizers"]]}
    return step | {"add_prefix_space": False} if step.get("type") == "ByteLevel" else step
