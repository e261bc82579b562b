"""Fill-in-the-middle for a tokenizer that has no tokens for it: three control tokens that nothing uses get the roles.

The tokens keep their ids and get the usual names, and each keeps its former name beside it (`renamed_from`, which other
programs ignore). Text gives the same ids as before, so everything that is kept by a tokenizer's digest stays valid, and
the renaming can be undone. Models that are taught here read the suffix first (`framing`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from engine.corpus.tokens.special_tokens import ROLE_NAMES

FIM_ROLES = ("fim_prefix", "fim_suffix", "fim_middle")
FIM_NAMES = tuple(ROLE_NAMES[role][0] for role in FIM_ROLES)
FORMER_NAME = "renamed_from"
# A token that says of itself that it is free, and StarCoder's signs for issues, notebooks and stars, which many
# tokenizers have inherited and which never stand in a file of source code: in SmolLM2 they all have the same row, that
# of a token which was never seen. Tokens of chats, and those that name a repository or a file, are left alone.
RESERVED = re.compile(r"reserved|unused|extra_?(?:id|token)?_?\d|dummy|placeholder", re.IGNORECASE)
INHERITED = re.compile(r"<(?:gh_stars|issue_\w+|jupyter_\w+|empty_output)>\Z")


def with_fim(description: dict[str, Any]) -> dict[str, Any] | None:
    """`description` with roles for three of its unused control tokens; None where it has fewer, or these names already.

    Those that are called reserved come first, then the inherited ones, the lowest ids of each.
    """
    vocab, added = description["model"]["vocab"], description.get("added_tokens") or []
    names = {*vocab, *(token["content"] for token in added)}
    free = [token for token in added if token.get("special") and _is_unused(token["content"])]
    free.sort(key=lambda token: (RESERVED.search(token["content"]) is None, token["id"]))
    if len(free) < len(FIM_NAMES) or not names.isdisjoint(FIM_NAMES):
        return None
    new = {token["content"]: name for token, name in zip(free, FIM_NAMES, strict=False)}
    return _renamed(description, new, lambda token: token | {FORMER_NAME: token["content"]})


def without_fim(description: dict[str, Any]) -> dict[str, Any]:
    """`description` as it was before `with_fim`; itself where no roles were given."""
    old = former_names(description)
    return _renamed(description, old, lambda token: {k: v for k, v in token.items() if k != FORMER_NAME})


def former_names(description: dict[str, Any]) -> dict[str, str]:
    """What the tokens with roles that were given here were called before, by their present names.

    Empty if that cannot be true of control tokens: the digest, and with it every cache, relies on it.
    """
    vocab, added = description["model"]["vocab"], description.get("added_tokens") or []
    found = {
        token["content"]: token[FORMER_NAME]
        for token in added
        if token["content"] in FIM_NAMES and token.get("special") and isinstance(token.get(FORMER_NAME), str)
    }
    before = {*found.values()} - {*vocab, *(token["content"] for token in added), ""}
    return found if len(found) == len(before) == len(FIM_NAMES) else {}


def _is_unused(name: str) -> bool:
    return RESERVED.search(name) is not None or INHERITED.match(name) is not None


def _renamed(description: dict[str, Any], names: dict[str, str], mark: Callable[[dict], dict]) -> dict[str, Any]:
    """`description` with other names for some added tokens; `mark` changes the rest of their entries."""
    if not names:
        return description
    added = [
        mark(token) | {"content": names[token["content"]]} if token["content"] in names else token
        for token in description["added_tokens"]
    ]
    vocab = {names.get(token, token): number for token, number in description["model"]["vocab"].items()}
    return description | {"added_tokens": added, "model": description["model"] | {"vocab": vocab}}
