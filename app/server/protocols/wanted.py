"""A request in our own terms, whichever protocol it came by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.server.rules import Refused

USUAL_TOKENS, MOST_TOKENS = 128, 4096
MOST_STOPS, LONGEST_STOP = 64, 1024
MOST_CHUNKS = 64


@dataclass(frozen=True)
class Chunk:
    """A piece of a file that the client has sent along."""

    path: str
    text: str


@dataclass(frozen=True)
class Wanted:
    """`fills_in`: a line or nothing at the cursor between prefix and suffix; else text is written until it stops.

    `warms_up`: nothing is to be written. `adds_indent`: a blank line's own indentation was not sent.
    """

    prefix: str
    suffix: str = ""
    path: str = ""
    chunks: tuple[Chunk, ...] = ()
    fills_in: bool = True
    warms_up: bool = False
    adds_indent: bool = False
    max_tokens: int = USUAL_TOKENS
    stop: tuple[str, ...] = ()
    stream: bool = False
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    model: str = ""
    fields: tuple[str, ...] | None = None  # of the answer, where the client names them
    is_whole: bool = False  # prefix and suffix are the whole file; our own clients say so
    can_replace: bool = False  # brackets that the editor has closed behind the cursor
    folder: str = ""  # that the client means; "": whichever is open
    alternatives: int = 0  # other texts that are wanted beside the best one


def text_of(body: dict[str, Any], name: str, default: str | None = "") -> str:
    """A text; `default` None: it must be there."""
    value = body.get(name, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise Refused(400, f'"{name}" must be a text.')
    return value


def number_of(body: dict[str, Any], names: tuple[str, ...], default: float, low: float, high: float) -> float:
    """The first of `names` that is there, brought into range."""
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise Refused(400, f'"{name}" must be a number.')
        return min(max(value, low), high)
    return default


def tokens_of(body: dict[str, Any]) -> int:
    """How many tokens may be written; -1 is llama.cpp's "no limit"."""
    wanted = number_of(body, ("n_predict", "max_tokens", "max_completion_tokens"), USUAL_TOKENS, -1, MOST_TOKENS)
    return int(wanted) if wanted >= 0 else MOST_TOKENS


def stops_of(body: dict[str, Any]) -> tuple[str, ...]:
    value = body.get("stop") or []
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise Refused(400, '"stop" must be a text or a list of texts.')
    return tuple(each for each in texts if 0 < len(each) <= LONGEST_STOP)[:MOST_STOPS]


def chunks_of(values: Any, name: str, path_key: str, text_key: str) -> tuple[Chunk, ...]:
    """The newest last; whatever else a client puts beside path and text is ignored."""
    if values is None:
        return ()
    if not isinstance(values, list):
        raise Refused(400, f'"{name}" must be a list.')
    chunks = []
    for value in values[-MOST_CHUNKS:]:
        text = value.get(text_key) if isinstance(value, dict) else None
        path = value.get(path_key) if isinstance(value, dict) else None
        if not isinstance(text, str) or not isinstance(path, str | None):
            raise Refused(400, f'Each of "{name}" needs a text.')
        chunks.append(Chunk(path or "", text))
    return tuple(chunks)


def common_of(body: dict[str, Any]) -> dict[str, Any]:
    """The fields of `Wanted` that have the same names everywhere."""
    tokens = tokens_of(body)
    return {
        "warms_up": tokens == 0,
        "max_tokens": max(1, tokens),
        "stop": stops_of(body),
        "stream": is_set(body, "stream"),
        "temperature": number_of(body, ("temperature",), 0.0, 0.0, 5.0),
        "top_p": number_of(body, ("top_p",), 1.0, 0.0, 1.0),
        "seed": int(number_of(body, ("seed",), 0, 0, 2**31 - 1)),
    }


def is_set(body: dict[str, Any], name: str) -> bool:
    return body.get(name) is True


def cut_at(text: str, stops: tuple[str, ...]) -> str:
    """`text` up to the first of the stops in it."""
    return text[: min((place for stop in stops if (place := text.find(stop)) >= 0), default=len(text))]
