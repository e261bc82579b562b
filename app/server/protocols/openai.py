"""OpenAI's completions, Mistral's fill-in and Tabby's segments; one answer has the fields that all of them read."""

from __future__ import annotations

import time
import uuid
from typing import Any

from app.server.protocols.fim_templates import Parts, parts_of, with_named_files
from app.server.protocols.shapes import about
from app.server.protocols.wanted import Chunk, Wanted, chunks_of, common_of, is_set, number_of, text_of
from app.server.rules import Refused
from engine.generate.service.asking import Answer

MODEL = "codecoil"
MOST_ALTERNATIVES = 8
SNIPPETS = (  # lists of Tabby's segments, least important first
    "relevant_snippets_from_recently_opened_files",
    "relevant_snippets_from_changed_files",
    "declarations",
)


def read_completions(body: dict[str, Any]) -> Wanted:
    """Zed, minuet and Continue send a prompt, with a suffix or with markers; Tabby's clients send segments."""
    if body.get("segments") is not None:
        return _read_segments(body)
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1:  # the original API takes a list of prompts
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise Refused(400, '"prompt" must be a text.')
    suffix = text_of(body, "suffix")
    parts = parts_of(prompt)
    if parts is None and "suffix" in body and body["suffix"] is not None:
        parts = with_named_files(prompt, suffix)
    return _wanted(body, prompt, parts)


def read_fim(body: dict[str, Any]) -> Wanted:
    """Mistral's: always at a cursor, with or without a suffix."""
    return _wanted(body, "", with_named_files(text_of(body, "prompt", None), text_of(body, "suffix")))


def _wanted(body: dict[str, Any], prompt: str, parts: Parts | None) -> Wanted:
    common = common_of(body) | {"model": text_of(body, "model")}
    if parts is None:
        return Wanted(prompt, fills_in=False, **common)
    return Wanted(parts.prefix, parts.suffix, parts.path, parts.chunks, **common)


def _read_segments(body: dict[str, Any]) -> Wanted:
    """Four fields are our own: `whole_file`, where nothing stands before prefix and after suffix, `can_replace`,
    `folder` and `alternatives`."""
    segments = body["segments"]
    if not isinstance(segments, dict):
        raise Refused(400, '"segments" must be an object.')
    chunks: list[Chunk] = []
    for name in SNIPPETS:
        chunks += chunks_of(segments.get(name), name, "filepath", "body")
    return Wanted(
        text_of(segments, "prefix", None),
        text_of(segments, "suffix"),
        text_of(segments, "filepath"),
        tuple(chunks),
        model=text_of(body, "model"),
        is_whole=is_set(body, "whole_file"),
        can_replace=is_set(body, "can_replace"),
        folder=text_of(body, "folder"),
        alternatives=int(number_of(body, ("alternatives",), 0, 0, MOST_ALTERNATIVES)),
    )


# ---- answers


def new_id() -> str:
    return f"cmpl-{uuid.uuid4().hex}"


def content(text: str, answer: Answer, wanted: Wanted, id: str) -> dict[str, Any]:
    """With both `text` and `message`: the clients read one or the other, and Zed wants every field to be there."""
    done = answer.completion
    prompt, written = (done.prompt_tokens, done.tokens) if done is not None else (0, 0)
    choice = {
        "index": 0,
        "text": text,
        "message": {"role": "assistant", "content": text},
        "finish_reason": finish_reason(answer),
        "logprobs": None,
    }
    usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    return {
        "id": id,
        "object": "text_completion",
        "created": int(time.time()),
        "model": wanted.model or MODEL,
        "choices": [choice],
        "usage": usage,
        "codecoil": about(answer),
    }


def piece(text: str, wanted: Wanted, id: str, finish: str | None, *, as_chat: bool) -> dict[str, Any]:
    """One of several events; `as_chat`: Mistral's clients read `delta`."""
    own = {"delta": {"role": "assistant", "content": text}} if as_chat else {"text": text, "logprobs": None}
    return {
        "id": id,
        "object": "chat.completion.chunk" if as_chat else "text_completion",
        "created": int(time.time()),
        "model": wanted.model or MODEL,
        "choices": [{"index": 0, **own, "finish_reason": finish}],
    }


def finish_reason(answer: Answer) -> str:
    return "length" if answer.reached_limit else "stop"


def models(names: tuple[str, ...], context: int) -> dict[str, Any]:
    """The list of models, in OpenAI's shape and in llama.cpp's."""
    return {
        "object": "list",
        "data": [
            {"id": name, "object": "model", "created": 0, "owned_by": "codecoil", "meta": {"n_ctx": context}}
            for name in names
        ],
        "models": [{"name": name, "model": name} for name in names],
    }
