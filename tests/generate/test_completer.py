"""Requests from beginning to end: the same text however the prompt was read, and every way in which one can end."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

from engine.errors import InputError
from engine.generate import completer as module
from engine.generate import stops as reasons
from engine.generate.completer import Completer, Completion, CompletionRequest, Piece
from engine.generate.options import Sampling, Stops
from engine.generate.prompt import NO_FIM, PromptBuilder, PromptLimits
from engine.generate.sampling import Candidates, choose
from tests.generate.small import (
    SOURCE,
    ScriptedDecoder,
    filling_in,
    open_small,
    plain_tokenizer,
    scripted_completer,
    tokenizer,
)

FEW = Stops(max_tokens=12)


@pytest.fixture
def small(cpu):
    """A completer with a random model."""
    with open_small(cpu) as model:
        completer = Completer(model, tokenizer())
        yield completer
        completer.close()


@pytest.fixture
def says(monkeypatch):
    """A completer whose model says a text, whatever it is asked."""
    monkeypatch.setattr(module, "Decoder", ScriptedDecoder)

    return scripted_completer


def fresh(completer: Completer, request: CompletionRequest) -> Completion:
    """The answer of a completer that has read nothing before."""
    other = Completer(completer.model, completer.tokenizer)
    try:
        return other.complete(request)
    finally:
        other.close()


def whole(completer: Completer, request: CompletionRequest, **options) -> tuple[list[str], Completion]:
    *pieces, completion = completer.stream(request, **options)
    assert all(isinstance(piece, Piece) and piece.text for piece in pieces)
    assert "".join(piece.text for piece in pieces) == completion.text
    return [piece.text for piece in pieces], completion


# ---- what was read before


@pytest.mark.parametrize("suffix", ["", SOURCE[300:]])
def test_typing_editing_and_coming_back_give_the_text_of_a_fresh_start(small, suffix):
    typed = [SOURCE[:end] for end in range(200, 212)]
    edited = [SOURCE[:60] + "X" + SOURCE[60:end] for end in (211, 212)]
    for prefix in [*typed, *edited, typed[3], SOURCE[:40], *typed[-2:]]:
        request = CompletionRequest(prefix, suffix, "shop.py", stops=FEW)
        assert small.complete(request).text == fresh(small, request).text


def test_typing_at_the_end_reads_only_the_last_word(small):
    counts = []
    for end in range(300, 330):
        completion = small.complete(CompletionRequest(SOURCE[:end], SOURCE[340:], "shop.py", stops=FEW))
        counts.append(completion.prompt_tokens - completion.reused_tokens)
    assert max(counts[1:]) <= 12 < counts[0]


def test_the_same_request_again_reads_nothing(small):
    request = CompletionRequest(SOURCE[:200], path="shop.py", stops=FEW)
    first, second = small.complete(request), small.complete(request)
    assert first.reused_tokens == 0 and first.prefill_tokens_per_second > 0
    assert second.reused_tokens == second.prompt_tokens and second.prefill_tokens_per_second == 0
    assert first.text == second.text and first.tokens == 12


def test_an_edit_in_the_middle_starts_from_a_state_before_it(cpu):
    with open_small(cpu) as model:
        completer = Completer(model, tokenizer(), limits=PromptLimits(prefix_characters=1 << 16))
        text = SOURCE * 8
        completer.complete(CompletionRequest(text, stops=FEW))
        changed = completer.complete(CompletionRequest(text[:1500] + "#" + text[1500:], stops=FEW))
        assert changed.reused_tokens == 256 < changed.prompt_tokens / 2
        completer.close()


def test_without_room_nothing_is_kept_and_the_text_is_the_same(small):
    request = CompletionRequest(SOURCE[:100], stops=FEW)
    bare = Completer(small.model, small.tokenizer, cache_bytes=0)
    answers = [bare.complete(request) for _ in range(2)]
    bare.close()
    assert [answer.reused_tokens for answer in answers] == [0, 0]
    assert {answer.text for answer in answers} == {small.complete(request).text}


def test_other_weights_forget_what_was_read(small):
    request = CompletionRequest(SOURCE[:100], stops=FEW, memory=False)  # the memory would outvote a random model
    before = small.complete(request)
    for name in ("A_log", "D"):  # both are worked into what the decoder keeps beside the weights
        name = f"backbone.layers.1.mixer.{name}"
        small.model.parameters[name] = small.model.parameters[name] * -4
    small.weights_changed()
    after = small.complete(request)
    assert after.reused_tokens == 0
    assert after.text == fresh(small, request).text != before.text


@pytest.mark.parametrize("suffix", ["", SOURCE[80:120]])
def test_both_devices_say_what_the_whole_forward_pass_says(device, cpu, suffix):
    drawn = Sampling(temperature=0.7, top_k=5, repetition_penalty=1.2, repetition_window=4, seed=3)
    requests = [
        CompletionRequest(SOURCE[:60], suffix, stops=Stops(max_tokens=4), sampling=s, memory=False)
        for s in (Sampling(), drawn)
    ]
    with open_small(device) as model:
        completer = filling_in(Completer(model, tokenizer()))
        found = [completer.complete(request).text.rstrip("\ufffd") for request in requests]
        completer.close()
    with open_small(cpu) as model:
        assert found == [by_definition(model, request) for request in requests]
    assert device.ledger.total == 0


def by_definition(model, request: CompletionRequest) -> str:
    """The completion from the scores of the whole text so far, for every token again; what is typed comes first."""
    tokens = tokenizer()
    prompt = PromptBuilder(tokens).build(request.prefix, request.suffix)
    ids, written, begun = prompt.ids.tolist(), b"", 0
    for drawn in itertools.count():
        scores = model.logits(np.array([ids]))[0, -1].copy()
        if left := prompt.typed[len(written) :]:
            fits = [data and (left.startswith(data) or data.startswith(left)) for data in tokens.token_bytes]
            scores[~np.array(fits, bool)] = -np.inf
        possible = np.flatnonzero(np.isfinite(scores))
        ids.append(choose(Candidates(scores[possible], possible), request.sampling, ids, drawn))
        written += tokens.token_bytes[ids[-1]]
        begun += len(written) > len(prompt.typed)
        if begun == request.stops.max_tokens:
            return written[len(prompt.typed) :].decode("utf-8", "replace").rstrip("\ufffd")
    raise AssertionError("it counts without end")


# ---- how one ends


def test_the_end_of_the_text(says):
    pieces, completion = whole(says("return total"), CompletionRequest("x"))
    assert (completion.text, completion.reason) == ("return total", reasons.END_OF_TEXT)
    assert len(pieces) > 1 and completion.tokens == len(tokenizer().encode("return total"))


def test_no_more_tokens_than_asked_for(says):
    completer = says("return total")
    completion = completer.complete(CompletionRequest("x", stops=Stops(max_tokens=2)))
    assert (completion.tokens, completion.reason) == (2, reasons.TOKEN_LIMIT)
    typed_again, first = tokenizer().encode("x")[0], tokenizer().encode("return total")[0]
    assert completer._decoder.read_ids[-2:] == [typed_again, first], "the last one is not even read"


def test_a_stop_string_over_the_border_of_tokens(says):
    tokens = tokenizer()
    answer = [id for letter in "sum(a) END" for id in tokens.encode(letter).tolist()]
    _, completion = whole(says(answer), CompletionRequest("x", stops=Stops(stop=("END",))))
    assert (completion.text, completion.reason) == ("sum(a) ", reasons.STOP_STRING)


@pytest.mark.parametrize(
    ("stops", "text", "reason"),
    [
        (Stops(end_of_line=True), "a = 1", reasons.END_OF_LINE),
        (Stops(end_of_block=True), "a = 1\n    b = 2", reasons.END_OF_BLOCK),
    ],
)
def test_lines_and_blocks(says, stops, text, reason):
    _, completion = whole(says("a = 1\n    b = 2\n\nc = 3\n"), CompletionRequest("def f():\n    ", stops=stops))
    assert (completion.text, completion.reason) == (text, reason)


def test_what_stands_after_the_cursor_ends_it(says):
    completer = filling_in(says("total += 1\n    return total\n\n\nclass B:\n    pass\n"))
    request = CompletionRequest("def f():\n    ", "\n    return total\n", stops=Stops(max_tokens=500))
    _, completion = whole(completer, request)
    assert (completion.text, completion.reason) == ("total += 1", reasons.JOINED)
    assert completion.fim_used and completion.tokens < 20


def test_saying_the_same_over_and_over_ends_it(says):
    tokens = tokenizer()
    answer = [*tokens.encode("total").tolist(), *tokens.encode("_price(items").tolist() * 30]
    _, completion = whole(says(answer), CompletionRequest("x", stops=Stops(max_tokens=500)))
    assert (completion.text, completion.reason) == ("total_price(items_price(items", reasons.LOOP)
    assert completion.tokens < 30


def test_a_model_without_tokens_for_filling_in_says_so(says):
    _, completion = whole(filling_in(says("x)", plain_tokenizer())), CompletionRequest("f(", ")\n"))
    assert (completion.text, completion.fim_used, completion.note) == ("x", False, NO_FIM)


def test_a_small_model_is_not_shown_what_is_after_the_cursor(says):
    completion = says("x").complete(CompletionRequest("f(", ")\n"))
    assert (completion.fim_used, completion.note) == (False, "")


def test_a_special_token_or_one_beyond_the_tokenizer_ends_the_text(says):
    tokens = tokenizer()
    for odd in (tokens.special.file, tokens.special.fim_middle, tokens.vocab_size + 2):
        answer = [*tokens.encode("a").tolist(), odd, *tokens.encode("b").tolist()]
        completion = says(answer).complete(CompletionRequest("x"))
        assert (completion.text, completion.reason, completion.tokens) == ("a", reasons.END_OF_TEXT, 1)


def test_a_character_comes_whole_or_not_at_all(says):
    tokens = tokenizer()
    bytes_of = [int(id) for id in tokens._byte_ids[list("a中".encode())]]
    pieces, completion = whole(says(bytes_of), CompletionRequest("x"))
    assert pieces == ["a", "中"]
    _, completion = whole(says(bytes_of), CompletionRequest("x", stops=Stops(max_tokens=3)))
    assert completion.text == "a"


def test_cancelling_takes_one_token(small):
    answers = itertools.chain([False] * 20, itertools.repeat(True))
    asked = []

    def cancelled():
        asked.append(next(answers))
        return asked[-1]

    _, completion = whole(small, CompletionRequest(SOURCE[:50], stops=Stops(max_tokens=500)), cancelled=cancelled)
    assert completion.reason == reasons.CANCELLED and 10 < completion.tokens <= 20
    assert sum(asked) == 1


def test_cancelling_while_the_prompt_is_read(small):
    done = []
    request = CompletionRequest(SOURCE * 4, stops=FEW)
    completion = whole(
        small, request, cancelled=lambda: len(done) > 2, progress=lambda now, total: done.append((now, total))
    )[1]
    assert (completion.text, completion.tokens, completion.reason) == ("", 0, reasons.CANCELLED)
    assert done[-1][0] < done[-1][1]
    again = small.complete(request)
    assert again.reused_tokens > 0 and again.text == fresh(small, request).text


def test_progress_counts_what_is_left_to_read(small):
    heard = []
    small.complete(CompletionRequest(SOURCE[:100], stops=FEW))
    completion = whole(small, CompletionRequest(SOURCE[:300], stops=FEW), progress=lambda *now: heard.append(now))[1]
    left = completion.prompt_tokens - completion.reused_tokens
    assert heard == sorted(heard) and heard[-1] == (left, left) and completion.reused_tokens > 0


def test_time_runs_out(small, monkeypatch):
    clock = itertools.count()  # a second goes by with every look at the clock
    monkeypatch.setattr("engine.generate.completion_run.time.perf_counter", lambda: float(next(clock)))
    request = CompletionRequest(SOURCE[:5], stops=Stops(max_tokens=500, milliseconds=20_000))
    completion = small.complete(request)
    assert completion.reason == reasons.TIME_LIMIT and 5 < completion.tokens <= 20
    late = small.complete(CompletionRequest(SOURCE[:100], stops=Stops(milliseconds=1)))
    assert (late.tokens, late.reason) == (1, reasons.TIME_LIMIT), "however long reading took, something is said"


# ---- odd prompts


@pytest.mark.parametrize(
    "request_",
    [
        CompletionRequest(""),
        CompletionRequest("", path="a.py"),
        CompletionRequest("", "x = 1\n", "a.py"),
        CompletionRequest("<|endoftext|><|fim_prefix|>"),
        CompletionRequest("\udcff\ud800"),
        CompletionRequest("\0\r\n\x1b"),
        CompletionRequest(SOURCE * 60, SOURCE * 20, "a.py"),
    ],
)
@pytest.mark.parametrize("memory", [False, True])
def test_odd_prompts_are_completed(small, request_, memory):
    _, completion = whole(small, CompletionRequest(**vars(request_) | {"stops": FEW, "memory": memory}))
    # A memory of the same text sixty times knows how it continues: up to the text after the cursor.
    assert (completion.tokens == 12) != (completion.reason == reasons.JOINED and memory)
    assert completion.prompt_tokens >= 1
    assert bool(completion.text.encode()) == (completion.tokens == 12)  # valid Unicode


def test_a_seed_gives_its_text_again_and_another_one_another(small):
    def drawn(seed):
        sampling = Sampling(temperature=1.5, seed=seed)
        return small.complete(CompletionRequest(SOURCE[:50], sampling=sampling, stops=FEW)).text

    assert drawn(1) == drawn(1) != drawn(2)


# ---- several at once


def test_two_threads_take_turns(small):
    requests = [CompletionRequest(SOURCE[:end], stops=FEW) for end in (50, 90)]
    wanted = [fresh(small, request).text for request in requests]
    found = {}

    def ask(number):
        found[number] = [small.complete(requests[number]).text for _ in range(5)]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [wanted[number]] * 5 for number in range(2)}


def test_a_second_request_of_one_thread_is_refused_until_the_first_is_left(small):
    request = CompletionRequest(SOURCE[:50], stops=FEW)
    first = small.stream(request)
    next(first)
    with pytest.raises(InputError, match="still answering"):
        small.complete(request)
    with pytest.raises(InputError, match="still answering"):
        small.weights_changed()
    first.close()
    assert small.complete(request).tokens == 12


def test_a_fault_leaves_the_completer_usable(small, monkeypatch):
    def fail(*_):
        raise RuntimeError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(small._decoder, "read", fail)
        with pytest.raises(RuntimeError, match="planted"):
            small.complete(CompletionRequest(SOURCE[:50]))
    request = CompletionRequest(SOURCE[:50], stops=FEW)
    assert small.complete(request).text == fresh(small, request).text


def test_a_tokenizer_of_another_model_is_refused(cpu):
    with open_small(cpu, plain_tokenizer()) as model, pytest.raises(InputError, match="entries"):
        Completer(model, tokenizer())
    assert cpu.ledger.total == 0


def test_nothing_is_left_on_the_device(cpu):
    with open_small(cpu) as model:
        before = cpu.ledger.total
        completer = Completer(model, tokenizer())
        completer.complete(CompletionRequest(SOURCE[:50], stops=FEW))
        during = cpu.ledger.total
        for _ in range(3):
            completer.complete(CompletionRequest(SOURCE[:50], stops=Stops(max_tokens=100)))
        assert cpu.ledger.total == during > before
        completer.close()
        assert cpu.ledger.total == before
        assert np.isfinite(model.logits(np.array([[1, 2]]))).all()
