"""Tokens read ahead leave nothing behind where they are wrong; what is written with them is what single tokens give."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.errors import InputError
from engine.generate.decoder import Decoder
from engine.generate.foresight import Foresight
from engine.generate.programs import WANTED
from engine.generate.reading_ahead import AT_ONCE
from engine.graph.kernels import FEW_TOKENS
from engine.memory.evidence import Counter, Source
from engine.memory.few_tokens import FewTokens
from engine.memory.recall import Recall
from tests.generate.conftest import FIXTURES
from tests.generate.test_decoder import LIMIT, open_decoder
from tests.memory.brute import segment_of
from tests.memory.test_mixing import VOCABULARY, mixing_of, model_scores, text_of


def some_ids(decoder: Decoder, count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(3, decoder.model.config.vocab_size, count)


def one_at_a_time(decoder: Decoder, ids: np.ndarray) -> np.ndarray:
    """The scores after each of ids, by another decoder that reads nothing else."""
    other = Decoder(decoder.model)
    rows = np.stack([other.step(int(token)) for token in ids])
    other.close()
    return rows


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= LIMIT * max(1.0, float(np.abs(expected).max()))


def rows_of(few, row: int, size: int) -> np.ndarray:
    return few.of(row, np.arange(size, dtype=np.int32))


def test_wrong_tokens_leave_nothing_behind(decoder):
    """Readings of one to eight tokens of which any number is right, one after another."""
    ids, random = some_ids(decoder, 60), np.random.default_rng(1)
    size = decoder.model.config.vocab_size
    expected = one_at_a_time(decoder, ids)
    everything = np.arange(size, dtype=np.int32)[:WANTED]
    decoder.read(ids[:5])
    at, undone = 5, 0
    while at < len(ids) - FEW_TOKENS:
        room = decoder.room_ahead
        assert 1 <= room <= FEW_TOKENS
        count = int(random.integers(1, room + 1))
        right = int(random.integers(1, count + 1))
        read = ids[at : at + count].copy()
        read[right:] = (read[right:] + 1) % size
        few = decoder.read_ahead(read, everything)
        for row in range(right):
            scores = expected[at + row]
            assert_same(rows_of(few, row, size), scores)
            log_sum, token, score = few.best_of(row)
            assert token == scores.argmax() and score == pytest.approx(scores.max(), rel=1e-3)
            assert abs(log_sum - np.logaddexp.reduce(scores.astype(np.float64))) <= 10 * LIMIT
        decoder.keep(right, count)
        at += right
        undone += right < count
        assert decoder.position == at
    assert undone > 3, "nothing was undone"
    decoder.keep(1, len(decoder.read_ahead([*ids[at : at + 1], 1, 2], everything[:0]).best))
    assert_same(decoder.read(ids[at + 1 :]), expected[-1])
    assert decoder.position == len(ids)


@pytest.mark.parametrize("go_on", ["step", "read_each", "greedy", "snapshot", "read_top", "restore", "reset"])
def test_whatever_comes_next_finds_only_what_was_right(decoder, go_on):
    ids = some_ids(decoder, 12)
    expected = one_at_a_time(decoder, ids)
    decoder.read(ids[:4])
    before = decoder.snapshot()
    decoder.read_ahead([*ids[4:7], 1, 1, 1], np.empty(0, np.int32))
    decoder.keep(3, 6)
    if go_on == "step":
        assert_same(decoder.step(int(ids[7])), expected[7])
    elif go_on == "read_each":
        assert_same(decoder.read_each(ids[7:]), expected[7:])
    elif go_on == "greedy":
        assert decoder.greedy(1, int(ids[7])) == [expected[7].argmax()]
    elif go_on == "read_top":
        assert decoder.read_top(ids[7:8], 1)[0] == [expected[7].argmax()]
    elif go_on == "snapshot":
        kept = decoder.snapshot()
        decoder.read(ids[:3])
        decoder.restore(kept)
        assert_same(decoder.read(ids[7:]), expected[-1])
    elif go_on == "restore":
        decoder.restore(before)
        assert_same(decoder.read(ids[4:]), expected[-1])
    else:
        decoder.reset()
        assert_same(decoder.read(ids), expected[-1])


# ---- the memory's part


def recall_of(vocabulary: int, seed: int = 0, caution: float = 1.0) -> tuple[Recall, np.ndarray]:
    """A memory of a text that repeats itself, and the cursor's text in front."""
    ids = text_of(seed)
    sources = (Source(segment_of([text_of(seed).tolist(), text_of(seed + 9).tolist()], vocabulary)),)
    before = ids[:100]
    return Recall(Counter(vocabulary, 0), mixing_of(seed).more_cautious(caution), sources, before, ids[130:]), before


@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_few_is_the_best_of_all(seed):
    recall, _ = recall_of(VOCABULARY, seed)
    for number, written in enumerate(([], [3], [3, 5], text_of(seed)[100:110].tolist(), [39, 38])):
        scores = model_scores(20 * seed + number)
        mixed = recall.mixed(scores, written)
        few = recall.few_tokens(written)
        assert len(few.tokens) < VOCABULARY, "nothing was left out"
        log_sum = np.logaddexp.reduce(scores.astype(np.float64))
        token, chance = few.best(scores[few.tokens], log_sum, int(scores.argmax()), float(scores.max()))
        assert token == mixed.argmax() and chance == pytest.approx(mixed[token], rel=1e-6)


def test_the_guess_is_what_the_memory_has_seen_most():
    recall, _ = recall_of(VOCABULARY)
    following = text_of(0)[100:106].tolist()
    token, share = recall.few_tokens(following[:4]).guess()
    assert token == following[4] and 0 < share <= 1
    nothing = Recall(Counter(VOCABULARY, 0), mixing_of(0), (), np.array([1]), np.array([2]))
    assert nothing.few_tokens([30]).guess() == (-1, 0.0)


def test_of_equal_tokens_the_lowest_is_the_best():
    nothing = FewTokens(np.array([3, 8], np.int32), [])
    scores = np.zeros(2, np.float32)
    assert nothing.best(scores, 3.0, 2, 0.0)[0] == 2
    assert nothing.best(scores, 3.0, 5, 0.0)[0] == 3
    assert nothing.best(scores - 1, 3.0, 5, 0.0)[0] == 5
    assert FewTokens.of([]).best(scores[:0], 3.0, 5, 0.0) == (5, pytest.approx(np.exp(-3)))


def one_by_one(decoder: Decoder, recall: Recall, ids: list[int], count: int) -> list[tuple[int, float]]:
    """The reference: a token a pass, all scores."""
    written, found = list(ids), []
    for _ in range(count):
        mixed = recall.mixed(decoder.step(written[-1]), written)
        written.append(int(mixed.argmax()))
        found.append((written[-1], float(mixed[written[-1]])))
    return found


def lengths_of_passes(decoder: Decoder, monkeypatch) -> list[int]:
    lengths: list[int] = []
    read_ahead = decoder.read_ahead
    monkeypatch.setattr(decoder, "read_ahead", lambda ids, *more: lengths.append(len(ids)) or read_ahead(ids, *more))
    return lengths


@pytest.mark.parametrize("least, caution", [(1e-9, 1.0), (1e-9, 300.0), (0.5, 1.0), (2.0, 1.0)])
def test_foresight_writes_what_single_tokens_give(decoder, monkeypatch, least, caution):
    """With any courage to guess: all of it, also where most is wrong, some, none."""
    monkeypatch.setattr("engine.generate.foresight.LEAST_SHARE", least)
    passes, kept, keep = lengths_of_passes(decoder, monkeypatch), [], decoder.keep

    def noted(count, of):
        kept.append(count)
        assert len(decoder._since_saved) <= AT_ONCE  # with those that are read again
        keep(count, of)

    monkeypatch.setattr(decoder, "keep", noted)
    for seed in range(3):
        recall, before = recall_of(decoder.model.config.vocab_size, seed, caution)
        decoder.reset()
        decoder.read(before)
        start = decoder.snapshot()
        first = [int(text_of(seed)[100])]
        expected = one_by_one(decoder, recall, first, 24)
        decoder.restore(start)
        foresight, written, found = Foresight(decoder, recall, lambda token: b"\n" * (token == 1)), list(first), []
        for _ in range(24):
            found.append(foresight.after(written))
            written.append(found[-1][0])
        assert [token for token, _ in found] == [token for token, _ in expected]
        np.testing.assert_allclose([chance for _, chance in found], [chance for _, chance in expected], rtol=1e-3)
    assert max(passes) == 1 if least > 1 else max(passes) > 1
    if caution > 1:
        assert sum(kept) < 0.9 * sum(passes), "hardly any guess was wrong"


def test_nothing_is_guessed_beyond_a_line(cpu, monkeypatch):
    with open_decoder(cpu) as decoder:
        recall, before = recall_of(decoder.model.config.vocab_size)
        decoder.read(before)
        passes = lengths_of_passes(decoder, monkeypatch)
        foresight, written = Foresight(decoder, recall, lambda token: b"\n"), [int(text_of(0)[100])]
        for _ in range(5):
            written.append(foresight.after(written)[0])
        assert passes == [1] * 5


def test_more_tokens_than_come_back_are_looked_up_in_the_whole_row(device):
    wide = {"hidden_size": 12, "num_hidden_layers": 1, "vocab_size": 2 * WANTED}
    with open_decoder(device, wide) as decoder:
        ids = some_ids(decoder, 6)
        expected = one_at_a_time(decoder, ids)
        decoder.read(ids[:4])
        wanted = np.arange(0, 2 * WANTED, dtype=np.int32)
        few = decoder.read_ahead(ids[4:], wanted)
        for row in range(2):
            assert_same(few.of(row, wanted), expected[4 + row])
            assert_same(few.of(row, wanted[3:WANTED:50]), expected[4 + row][3:WANTED:50])
        decoder.keep(2, 2)


def test_programs_of_every_length_work_in_the_same_memory_and_can_be_made_before(fresh_device):
    with open_decoder(fresh_device) as decoder:
        decoder.read_ahead([1, 2, 3], np.empty(0, np.int32))
        before = fresh_device.ledger.snapshot()
        decoder.prepare()
        prepared = set(decoder._executables)
        for length in range(1, FEW_TOKENS + 1):
            decoder.read_ahead([1] * length, np.empty(0, np.int32), certain=length)
            decoder.read_ahead([1] * length, np.empty(0, np.int32), certain=0)
            decoder.keep(0, length)
            decoder.read_ahead([1] * length, np.empty(0, np.int32))
        assert set(decoder._executables) == prepared
        assert len([key for key in prepared if key[0] == "ahead"]) == 3 * FEW_TOKENS
        assert fresh_device.ledger.snapshot() == before


def test_what_was_certain_cannot_be_undone(device):
    with open_decoder(device) as decoder:
        decoder.read_ahead([1, 2, 3], np.empty(0, np.int32), certain=3)
        with pytest.raises(InputError, match="as certain"):
            decoder.keep(2, 3)


def test_more_tokens_than_there_is_room_for_beside_those_to_be_read_again(decoder):
    ids = some_ids(decoder, 12)
    expected = one_at_a_time(decoder, ids)
    decoder.read_ahead([*ids[:5], 1], np.empty(0, np.int32))
    decoder.keep(5, 6)
    few = decoder.read_ahead(ids[5:12], np.arange(3, dtype=np.int32))
    assert_same(few.of(6, np.arange(3)), expected[-1][:3])
    assert decoder.position == 12


def test_a_cache_that_is_nearly_full_is_read_to_its_end(device):
    model = engine.load_model(FIXTURES / "dense/qwen2", device)
    decoder = Decoder(model, context=20)
    ids = some_ids(decoder, 17)
    decoder.read(ids)
    assert decoder.room_ahead == 3
    decoder.read_ahead([3, 4, 5], np.empty(0, np.int32))
    decoder.keep(1, 3)
    assert decoder.room_ahead == 2 and decoder.position == 18
    with pytest.raises(InputError, match="more than 20 tokens"):
        decoder.read_ahead([3, 4, 5], np.empty(0, np.int32))
    assert decoder.position == 18
    decoder.close()
    model.close()
