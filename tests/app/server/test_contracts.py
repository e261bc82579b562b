"""Requests as the real clients send them, answers read by the rules by which each client reads them."""

from __future__ import annotations

import json
import re
import threading
import time

import pytest

from tests.app.server.clients import Connection, read_response

PREFIX, SUFFIX = "def total(items):\n", "\n    return result\n"
CHUNK = {"text": "def other():\n    return 2\n", "time": [1700000000, 123456], "filename": "src/other.py"}
LLAMA_VIM_FIELDS = [
    *("content", "timings/prompt_n", "timings/prompt_ms", "timings/prompt_per_token_ms", "timings/prompt_per_second"),
    *("timings/predicted_n", "timings/predicted_ms", "timings/predicted_per_token_ms", "timings/predicted_per_second"),
    *("truncated", "tokens_cached"),
]
LLAMA_VIM = {
    "id_slot": 0,
    "input_prefix": PREFIX,
    "input_suffix": SUFFIX,
    "input_extra": [CHUNK],
    "prompt": "    result = ",
    "n_predict": 128,
    "stop": [],
    "n_indent": 4,
    "top_k": 40,
    "top_p": 0.90,
    "samplers": ["top_k", "top_p", "infill"],
    "stream": False,
    "cache_prompt": True,
    "t_max_prompt_ms": 500,
    "t_max_predict_ms": 250,
    "response_fields": LLAMA_VIM_FIELDS,
    "model": "",
}
LLAMA_VSCODE = {
    "id_slot": 0,
    "input_prefix": PREFIX,
    "input_suffix": SUFFIX,
    "input_extra": [{"text": "x = 1\n", "time": 1700000000000, "filename": "/home/me/shop/src/x.py"}],
    "prompt": "    result = ",
    "n_predict": 128,
    "n_cmpl": 3,
    "top_k": 40,
    "top_p": 0.99,
    "samplers": ["top_k", "top_p", "infill"],
    "stream": False,
    "cache_prompt": True,
    "t_max_prompt_ms": 500,
    "t_max_predict_ms": 500,
    "model": "google/gemini-2.5-flash",
}
WARM_UP = {
    "id_slot": 0,
    "input_prefix": "",
    "input_suffix": "",
    "input_extra": [CHUNK],
    "prompt": "",
    "n_predict": 0,
    "temperature": 0.0,
    "samplers": [],
    "stream": False,
    "cache_prompt": True,
    "t_max_prompt_ms": 1,
    "t_max_predict_ms": 1,
    "response_fields": [""],
}


# ---- llama.cpp's clients


def test_llama_vim_finds_its_fields(ask, completer):
    """It wants `"content":"` without a blank, the whole reply on one line, and flattened fields."""
    response = ask("/infill", LLAMA_VIM, {"User-Agent": "curl/7.88.1", "Accept": "*/*"})
    text = response.body.decode()
    assert response.status == 200 and re.search(r'"content"\s*:"', text) and "\n" not in text
    content = response.json
    assert list(content) == [name for name in LLAMA_VIM_FIELDS if name in content]
    assert content["content"] == "total = 0" and content["truncated"] is False
    assert all(isinstance(content[name], int | float) for name in LLAMA_VIM_FIELDS if name.startswith("timings/"))
    (request,) = completer.requests
    assert request.prefix == PREFIX + "    result = " and request.suffix == SUFFIX
    assert [chunk.path for chunk in request.nearby] == ["src/other.py"] and request.context == ()


def test_llama_vim_s_blank_line_gets_its_indentation(ask):
    """On a blank line the prompt is empty, whatever was typed: the client strips what is there already."""
    body = LLAMA_VIM | {"prompt": "", "n_indent": 0, "input_suffix": "\n    return result\n"}
    assert ask("/infill", body).json["content"] == "    total = 0"


def test_a_cursor_at_the_start_of_a_line_with_text_gets_none(ask, completer):
    ask("/infill", LLAMA_VIM | {"prompt": "", "input_suffix": "x = 1\n"})
    assert completer.requests[0].prefix == PREFIX


def test_a_warm_up_is_answered_at_once_and_asks_nothing(ask, completer):
    response = ask("/infill", WARM_UP)
    assert response.status == 200 and response.json == {} and completer.requests == []


def test_llama_vscode_reads_settings_and_timings(ask):
    """It reads `generation_settings.n_ctx` unguarded, and takes a single object however many it asked for."""
    content = ask("/infill", LLAMA_VSCODE, {"User-Agent": "axios/1.7.9", "Accept-Encoding": "gzip, br"}).json
    assert isinstance(content, dict) and content["content"] == "total = 0"
    assert isinstance(content["generation_settings"]["n_ctx"], int)
    assert {"prompt_n", "prompt_ms", "prompt_per_second", "predicted_n", "predicted_ms", "predicted_per_second"} <= set(
        content["timings"]
    )


def test_nothing_to_say_is_a_good_answer(ask, completer):
    """Any other status would be two or three pop-ups in VS Code, at every key."""
    completer.text = ""
    response = ask("/infill", LLAMA_VSCODE)
    assert response.status == 200 and response.json["content"] == ""
    assert response.json["codecoil"]["why"] == "Not sure."


def test_no_model_is_a_good_answer_too(ask, completer):
    from engine.errors import CheckpointError

    def fail(request):
        raise CheckpointError("There is no model yet.", "Train one.")

    completer._during = fail
    response = ask("/infill", LLAMA_VSCODE)
    assert response.status == 200 and response.json["codecoil"]["why"] == "There is no model yet."


def test_a_defect_is_an_error_without_details(ask, completer, server):
    def fail(request):
        raise ZeroDivisionError(request.prefix)

    completer._during = fail
    response = ask("/infill", LLAMA_VSCODE)
    assert response.status == 500 and response.json["error"]["type"] == "server_error"
    assert "total(items)" not in response.body.decode()


def test_an_empty_bearer_is_told_so(ask):
    """llama.vim sends one even where no key is set."""
    assert ask("/infill", LLAMA_VIM, {"Authorization": "Bearer "}).status == 401


def test_a_large_body_is_sent_after_leave_was_given(server, completer):
    """curl asks before it sends more than a kilobyte: sixteen chunks are more than 100 kB."""
    chunks = [CHUNK | {"text": f"line_{number} = {number}\n" * 600} for number in range(16)]
    data = json.dumps(LLAMA_VIM | {"input_extra": chunks}).encode()
    assert len(data) > 100_000
    connection = Connection(server)
    with connection.open() as plug:
        plug.sendall(connection.head("POST", "/infill", {"Expect": "100-continue"}, len(data)))
        assert plug.recv(65536).startswith(b"HTTP/1.1 100 Continue")
        plug.sendall(data)
        assert read_response(plug).json["content"] == "total = 0"
    assert len(completer.requests[0].nearby) == 16


def test_two_requests_on_one_connection(server):
    connection = Connection(server)
    data = json.dumps(LLAMA_VIM).encode()
    with connection.open() as plug:
        for _ in range(2):
            plug.sendall(connection.head("POST", "/infill", {}, len(data)) + data)
            assert read_response(plug).status == 200


def test_stop_strings_and_the_length_are_kept_to(ask, completer):
    completer.text = "a = 1\nb = 2\nc = 3"
    assert ask("/infill", LLAMA_VSCODE | {"stop": ["b ="]}).json["content"] == "a = 1\n"
    short = ask("/infill", LLAMA_VSCODE | {"n_predict": 6}).json
    assert short["content"] == "a = 1" and short["stop_type"] == "limit"


@pytest.mark.parametrize("missing", ["input_prefix", "input_suffix"])
def test_what_llama_cpp_requires_is_required(ask, missing):
    assert ask("/infill", {name: value for name, value in LLAMA_VIM.items() if name != missing}).status == 400


def test_completion_streams_and_ends_with_the_whole_figures(ask):
    """Continue's llama.cpp provider: templated prompt, events with `content`."""
    prompt = "<fim_prefix>x = <fim_suffix>\ny = 2<fim_middle>"
    response = ask("/completion", {"prompt": prompt, "stream": True, "n_predict": 64})
    assert response.headers["content-type"].startswith("text/event-stream")
    assert "".join(event["content"] for event in response.events) == "total = 0"
    assert [event["stop"] for event in response.events] == [False, True]


def test_proxy_ai_reads_content(ask, completer):
    body = {
        "prompt": "<|fim_prefix|>x = <|fim_suffix|>\n<|fim_middle|>",
        "n_predict": 64,
        "stream": False,
        "stop": ["\n\n"],
    }
    assert ask("/completion", body).json["content"] == "total = 0"
    assert (completer.requests[0].prefix, completer.requests[0].suffix) == ("x = ", "\n")


# ---- OpenAI's, Mistral's and Tabby's clients

ZED = {
    "model": "codecoil",
    "prompt": "<|fim_prefix|>x = <|fim_suffix|>\ny = 2\n<|fim_middle|>",
    "max_tokens": 64,
    "stop": ["<|endoftext|>", "<|file_sep|>", "<|fim_prefix|>"],
}


def test_zed_finds_every_field_that_it_requires(ask):
    content = ask("/v1/completions", ZED, {"User-Agent": "Zed/0.190.0 (linux; x86_64)"}).json
    assert isinstance(content["id"], str) and isinstance(content["object"], str) and content["created"] >= 0
    assert content["model"] == "codecoil" and content["choices"][0]["text"] == "total = 0"
    assert content["choices"][0]["finish_reason"] in ("stop", "length")
    assert set(content["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}


def test_zed_s_codestral_reads_a_message(ask, completer):
    body = {
        "model": "x",
        "prompt": "x = ",
        "suffix": "\n",
        "max_tokens": 350,
        "temperature": 0.2,
        "top_p": 1,
        "stream": False,
    }
    choice = ask("/v1/fim/completions", body).json["choices"][0]
    assert choice["message"] == {"role": "assistant", "content": "total = 0"} and choice["finish_reason"] == "stop"
    assert choice["index"] == 0 and completer.requests[0].offer.least_chance == 0.25


def test_minuet_reads_events_without_their_notes(ask, completer):
    prompt = "# language: python\n# indentation: use 4 spaces for a tab\nx = "
    body = {"model": "codecoil", "stream": True, "prompt": prompt, "suffix": "\ny = 2", "max_tokens": 128}
    response = ask("/v1/completions", body)
    assert response.body.endswith(b"data: [DONE]\n\n") and b"\n:" not in response.body
    assert "".join(event["choices"][0]["text"] for event in response.events) == "total = 0"
    assert [event["choices"][0]["finish_reason"] for event in response.events] == [None, "stop"]
    assert completer.requests[0].prefix == "x = "


def test_mistral_s_events_have_a_delta_and_files_have_names(ask, completer):
    """Continue with provider mistral: other files and the path of the open one are in the prompt."""
    prompt = "+++++ src/a.py\nA = 1\n\n+++++ src/b.py\nx = "
    body = {"model": "codestral-x", "prompt": prompt, "suffix": "\n", "max_tokens": 64, "stream": True}
    events = ask("/v1/fim/completions", body).events
    assert "".join(event["choices"][0]["delta"]["content"] for event in events) == "total = 0"
    assert events[0]["object"] == "chat.completion.chunk"
    (request,) = completer.requests
    assert (request.prefix, request.path) == ("x = ", "src/b.py")
    assert [(chunk.path, chunk.text.strip()) for chunk in request.nearby] == [("src/a.py", "A = 1")]


def test_tabby_s_segments_name_the_file(ask, completer):
    segments = {
        "prefix": "x = ",
        "suffix": "\n",
        "filepath": "src/b.py",
        "git_url": "https://example.org/x.git",
        "declarations": [{"filepath": "src/a.py", "body": "def a(): ..."}],
        "relevant_snippets_from_changed_files": [{"filepath": "src/c.py", "body": "c = 3", "score": 1.0}],
        "clipboard": "secret",
    }
    content = ask("/v1/completions", {"language": "python", "segments": segments, "temperature": 0.1}).json
    assert content["choices"][0]["index"] == 0 and content["choices"][0]["text"] == "total = 0" and content["id"]
    (request,) = completer.requests
    assert (request.path, request.prefix) == ("src/b.py", "x = ")
    assert [chunk.path for chunk in request.nearby] == ["src/c.py", "src/a.py"]


def test_our_own_clients_send_whole_files_and_may_want_alternatives(ask, completer):
    segments = {"prefix": "x = ", "suffix": "\n", "filepath": "src/b.py"}
    content = ask("/v1/completions", {"segments": segments, "whole_file": True, "alternatives": 3}).json
    assert content["codecoil"]["alternatives"] == [] and content["codecoil"]["why"] == ""
    assert completer.requests[0].offer.alternatives == 3


def test_only_clients_that_say_so_have_closed_brackets_replaced(ask, completer):
    completer.text = ", c):"
    segments = {"prefix": "for a in zip(b", "suffix": ")\n"}
    for more, text, replaces in (({}, ", c", 0), ({"can_replace": True}, ", c):", 1)):
        content = ask("/v1/completions", {"segments": segments, **more}).json
        assert (content["choices"][0]["text"], content["codecoil"]["replaces"]) == (text, replaces)


def test_a_prompt_without_markers_is_continued(ask, completer):
    response = ask(
        "/v1/completions", {"prompt": "Once", "max_tokens": 9, "temperature": 0.5, "stop": "\n\n", "seed": 3}
    )
    assert response.json["choices"][0]["text"] == "total = 0"
    (request,) = completer.requests
    assert request.offer is None and request.stops.max_tokens == 9 and request.stops.stop == ("\n\n",)
    assert (request.sampling.temperature, request.sampling.seed) == (0.5, 3)


def test_an_error_before_the_first_piece_is_an_error(ask, completer):
    def fail(request):
        raise ZeroDivisionError

    completer._during = fail
    assert ask("/v1/completions", {"prompt": "x", "stream": True}).status == 500


def test_a_stream_that_stops_at_a_string(ask, completer):
    completer.text = "one\ntwo"
    body = {"prompt": "x", "suffix": "", "stream": True, "stop": ["\ntwo"]}
    assert "".join(event["choices"][0]["text"] for event in ask("/v1/completions", body).events) == "one"


def test_models_are_listed_in_both_shapes(ask):
    content = ask("/v1/models").json
    assert content["object"] == "list" and content["data"][0]["id"] == "codecoil"
    assert content["data"][0]["meta"]["n_ctx"] > 0 and content["models"][0]["model"] == "codecoil"


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": 3},
        {},
        {"prompt": "x", "max_tokens": "many"},
        {"prompt": "x", "stop": {"a": 1}},
        {"segments": []},
        {"segments": {"prefix": 1}},
        {"prompt": "x", "temperature": True},
    ],
)
def test_wrong_types_are_refused_in_words(ask, body):
    response = ask("/v1/completions", body)
    assert response.status == 400 and '"' in response.json["error"]["message"]


# ---- clients that leave


def test_parallel_requests_that_are_killed_leave_nothing_behind(server, completer, service):
    """minuet starts three at once and kills curl at the next key."""
    begun, go_on = threading.Event(), threading.Event()

    def during(request):
        begun.set()
        go_on.wait(60)

    completer._during = during
    connection = Connection(server)
    data = json.dumps({"prompt": "x = ", "suffix": "\n", "stream": True, "model": "m"}).encode()
    plugs = [connection.open() for _ in range(3)]
    for plug in plugs:
        plug.sendall(connection.head("POST", "/v1/completions", {"User-Agent": "curl/8"}, len(data)) + data)
    assert begun.wait(60)
    asked = service._line._present
    for plug in plugs:
        plug.close()
    _until(lambda: asked.is_over)  # nobody listens: the model stops at its next token
    go_on.set()
    _until(lambda: not any(listener._open for listener in server._listeners))
    completer._during = lambda request: None
    assert connection.request("/infill", LLAMA_VIM).json["content"] == "total = 0"


def test_what_is_answered_is_recorded_and_what_was_asked_is_not(ask, server, caplog):
    ask("/infill", LLAMA_VIM, {"User-Agent": "curl/7.88.1"})
    _until(lambda: server.served.recorded.requests)  # after the answer was sent
    ask("/v1/completions", ZED, {"User-Agent": "Zed/0.190.0", "Authorization": None})
    _until(lambda: len(server.served.recorded.requests) == 2)
    good, bad = server.served.recorded.requests
    assert (good.client, good.status, good.text, good.why) == ("llama.vim", 200, "total = 0", "")
    assert (bad.client, bad.status, bad.text) == ("Zed", 401, "") and "token" in bad.why
    assert "total(items)" not in repr(server.served.recorded.requests) + caplog.text


def _until(is_so) -> None:
    for _ in range(6000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")
