"""llama.cpp's own requests: `/infill`, as llama.vim and llama.vscode send it, and `/completion`."""

from __future__ import annotations

from typing import Any

from app.server.protocols.fim_templates import parts_of
from app.server.protocols.shapes import about
from app.server.protocols.wanted import Wanted, chunks_of, common_of, text_of
from app.server.rules import Refused
from engine.generate.service.asking import Answer

CONTEXT = 4096  # tokens, for clients that show how full it is


def read_infill(body: dict[str, Any]) -> Wanted:
    """`prompt` is what stands on the cursor's line before it; "" also where that is blank, whatever its indentation."""
    middle = text_of(body, "prompt")
    before, suffix = text_of(body, "input_prefix", None), text_of(body, "input_suffix", None)
    return Wanted(
        before + middle,
        suffix,
        chunks=chunks_of(body.get("input_extra"), "input_extra", "filename", "text"),
        adds_indent=not middle,
        fields=_fields(body),
        **common_of(body),
    )


def read_completion(body: dict[str, Any]) -> Wanted:
    """A prompt with markers, or a text to be continued."""
    prompt = text_of(body, "prompt", None)
    parts = parts_of(prompt)
    common = common_of(body) | {"fields": _fields(body)}
    if parts is None:
        return Wanted(prompt, fills_in=False, **common)
    return Wanted(parts.prefix, parts.suffix, parts.path, parts.chunks, **common)


def content(text: str, answer: Answer, wanted: Wanted) -> dict[str, Any]:
    """The whole answer.  `generation_settings` must be an object: llama.vscode reads from it unasked."""
    done = answer.completion
    tokens, prompt = (done.tokens, done.prompt_tokens) if done is not None else (0, 0)
    reused = done.reused_tokens if done is not None else 0
    prompt_ms = done.first_token_ms if done is not None else 0.0
    writing_ms = max(0.0, done.total_ms - prompt_ms) if done is not None else 0.0
    whole = {
        "content": text,
        "index": 0,
        "id_slot": 0,
        "stop": True,
        "stop_type": "limit" if answer.reached_limit else "eos",
        "model": "codecoil",
        "tokens_predicted": tokens,
        "tokens_evaluated": prompt,
        "tokens_cached": reused,
        "truncated": False,
        "generation_settings": {"n_ctx": CONTEXT, "n_predict": wanted.max_tokens, "stop": list(wanted.stop)},
        "timings": {
            "prompt_n": prompt - reused,
            "prompt_ms": round(prompt_ms, 3),
            "prompt_per_token_ms": round(prompt_ms / max(1, prompt - reused), 3),
            "prompt_per_second": round(_rate(prompt - reused, prompt_ms), 3),
            "predicted_n": tokens,
            "predicted_ms": round(writing_ms, 3),
            "predicted_per_token_ms": round(writing_ms / max(1, tokens), 3),
            "predicted_per_second": round(_rate(tokens, writing_ms), 3),
        },
        "codecoil": about(answer),
    }
    return whole if wanted.fields is None else _chosen(whole, wanted.fields)


def piece(text: str) -> dict[str, Any]:
    """One of several events."""
    return {"content": text, "stop": False, "index": 0}


def _chosen(whole: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The fields that a client asked for, in its order: `timings/prompt_n` is a key of its own, unknown ones are
    left out."""
    chosen = {}
    for name in names:
        value: Any = whole
        for part in name.split("/"):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            chosen[name] = value
    return chosen


def _fields(body: dict[str, Any]) -> tuple[str, ...] | None:
    names = body.get("response_fields")
    if names is None or names == []:
        return None
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise Refused(400, '"response_fields" must be a list of names.')
    return tuple(names[:64])


def _rate(count: int, milliseconds: float) -> float:
    return 1000 * count / milliseconds if milliseconds > 0 else 0.0
