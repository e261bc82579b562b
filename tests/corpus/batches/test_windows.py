"""Training windows: what is in them, in which order, and resuming after a stop."""

from __future__ import annotations

import itertools
import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.corpus.batches import windows as module
from engine.corpus.batches.framing import Framing
from engine.corpus.batches.windows import Windows
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import ConfigError, CorpusError, InputError, TokenizerError
from tests.corpus.tokens import samples


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_TOKENS", 20_000)


@cache
def big_corpus() -> samples.TextSource:
    return samples.source_corpus()


@pytest.fixture(scope="module")
def corpus() -> samples.TextSource:
    return big_corpus()


def batches(windows: Windows, count: int) -> list[np.ndarray]:
    return [windows.take().tokens for _ in range(count)]


def one_epoch(windows: Windows) -> np.ndarray:
    """All windows of the epoch that has just begun."""
    epoch, rows = windows.epoch, []
    while True:
        row = windows.take(1).tokens
        if windows.epoch != epoch:
            return np.concatenate(rows)
        rows.append(row)


def test_shape_and_starts(corpus):
    windows = Windows(corpus, 128, 6, seed=1)
    for batch in itertools.islice(windows, 40):
        assert batch.tokens.shape == (6, 129)
        assert batch.tokens.dtype == np.int32
        assert batch.counted.tolist() == [128] * 6
        assert np.array_equal(batch.targets, batch.tokens[:, 1:])
        assert np.array_equal(batch.inputs, batch.tokens[:, :-1])
        for row, starts in zip(batch.tokens, batch.starts, strict=True):
            assert starts.tolist() == np.flatnonzero(row == corpus.tokenizer.special.file).tolist()
    assert int(batch.tokens.max()) < corpus.tokenizer.vocab_size


def test_an_epoch_has_every_document_once(corpus):
    framing = Framing(corpus.tokenizer)
    whole = sum(len(framing.document(each.path, corpus.document_tokens(each))) for each in corpus.learned_documents)
    windows = Windows(corpus, 64, 3, seed=3, fim_share=0)
    assert len(windows._blocks) > 3
    rows = one_epoch(windows)
    targets = rows[:, 1:].size
    assert whole <= targets < whole + 65 * len(windows._blocks)
    parts = sorted(_documents(windows, corpus))
    expected = [(each.path, corpus.learned[each.path]) for each in corpus.learned_documents]
    assert parts == expected


def _documents(windows: Windows, corpus: samples.TextSource, epoch: int = 0) -> list[tuple[str, str]]:
    """Path and text of each document in the streams of an epoch, put together again where it was rearranged."""
    special, decode = corpus.tokenizer.special, corpus.tokenizer.decode
    found = []
    windows._begin(epoch)
    for block in range(len(windows._blocks)):
        windows._build(block)
        stream = windows._stream
        begins = np.flatnonzero(stream.begins).tolist()
        for begin, end in itertools.pairwise([*begins, len(stream.tokens)]):
            ids = stream.tokens[begin:end].tolist()
            assert ids[0] == special.file and ids[-1] == special.end_of_text
            ids = ids[1:-1]
            if special.fim_middle not in ids:
                found.append(tuple(decode(ids).split("\n", 1)))
                continue
            suffix, prefix, middle = (
                ids.index(i) for i in (special.fim_suffix, special.fim_prefix, special.fim_middle)
            )
            assert suffix < prefix < middle
            text = decode(ids[prefix + 1 : middle]) + decode(ids[middle + 1 :]) + decode(ids[suffix + 1 : prefix])
            found.append((decode(ids[:suffix]).rstrip("\n"), text))
    return found


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_rearranged_documents_are_the_documents(corpus, share):
    windows = Windows(corpus, 512, 2, seed=4, fim_share=share, fim_section=0)
    for epoch in (0, 1):
        assert sorted(_documents(windows, corpus, epoch)) == sorted(corpus.learned.items())


def test_sections_of_rearranged_documents_are_the_documents(corpus):
    windows = Windows(corpus, 256, 2, seed=4, fim_share=1)
    texts: dict[str, str] = {}
    parts = _documents(windows, corpus)
    for path, text in parts:
        texts[path] = texts.get(path, "") + text
    assert texts == corpus.learned
    assert len(parts) > 2 * len(texts)
    assert max(len(corpus.tokenizer.encode(text)) for _, text in parts) < 200


def test_the_share_of_rearranged_documents():
    source = samples.TextSource(samples.trained(), {f"{number}.py": f"x = {number}\n" for number in range(2000)})
    middle = source.tokenizer.special.fim_middle
    for share in (0.0, 0.25, 0.5, 1.0):
        windows = Windows(source, 64, 4, seed=9, fim_share=share)
        found = 0
        for block in range(len(windows._blocks)):
            windows._build(block)
            found += int((windows._stream.tokens == middle).sum())
        assert abs(found / 2000 - share) < 0.04


def test_the_seed_decides(corpus):
    first, again, other = (batches(Windows(corpus, 64, 4, seed), 30) for seed in (5, 5, 6))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_epochs_differ(corpus):
    windows = Windows(corpus, 64, 4, 5, fim_share=0)
    assert not np.array_equal(one_epoch(windows)[:20], one_epoch(windows)[:20])


@cache
def tiny_corpus() -> samples.TextSource:
    texts = {"a.py": "x = 1\n" * 40, "b.py": "", "c.py": "def f():\r\n\treturn '中'\n" * 20}
    return samples.TextSource(samples.trained(), texts)


@given(st.integers(1, 60), st.integers(1, 7), st.sampled_from([0.0, 0.5]), st.booleans())
@settings(max_examples=20, deadline=None)
def test_restored_it_goes_on_as_if_it_had_never_stopped(stop, batch, share, tiny):
    source = tiny_corpus() if tiny else big_corpus()
    windows = Windows(source, 300, batch, 7, share)
    batches(windows, stop)
    state = json.loads(json.dumps(windows.state()))
    expected = batches(windows, 20)
    restored = Windows(source, 300, batch, 7, share)
    assert restored.restore(state) == ""
    assert restored.state() == state
    assert np.array_equal(batches(restored, 20), expected)
    assert restored.state() == windows.state()


def test_across_the_end_of_an_epoch(corpus):
    windows = Windows(corpus, 512, 4, 8)
    while windows.progress < 0.95:
        windows.take()
    state = windows.state()
    expected = []
    while windows.progress < 2.1:
        expected.append(windows.take().tokens)
    restored = Windows(corpus, 512, 4, 8)
    assert restored.restore(state) == ""
    assert np.array_equal(batches(restored, len(expected)), expected)
    assert restored.epoch == 2


def test_progress_goes_by_tokens_though_the_last_block_is_small(corpus):
    """Most of the corpus in the first block, a few documents in the second."""
    most = int(0.9 * sum(document.tokens for document in corpus.learned_documents))
    windows = Windows(corpus, 32, 1, 8, 0.0, block_tokens=most)
    assert len(windows._blocks) == 2
    batches(windows, len(one_epoch(Windows(corpus, 32, 1, 8, 0.0, block_tokens=most))) // 2)
    assert windows.progress == pytest.approx(0.5, abs=0.05)


def test_another_size_of_batch_gives_the_same_windows(corpus):
    windows = Windows(corpus, 64, 8, 2)
    windows.take()
    smaller = Windows(corpus, 64, 2, 2)
    assert smaller.restore(windows.state()) == ""
    expected = windows.take().tokens
    assert np.array_equal(np.concatenate(batches(smaller, 4)), expected)
    assert np.array_equal(np.concatenate([windows.take(3).tokens, windows.take(5).tokens]), smaller.take(8).tokens)
    assert windows.delivered == 24


def test_a_corpus_smaller_than_a_window_repeats():
    source = samples.TextSource(samples.trained(), {"a.py": "x = 1\n"})
    document = Framing(source.tokenizer).document("a.py", source.tokenizer.encode("x = 1\n"))
    batch = Windows(source, 100, 3, 1, fim_share=0).take()
    assert np.array_equal(batch.tokens[0], np.resize(document, 101))
    assert batch.starts[0].tolist() == list(range(0, 101, len(document)))
    assert batch.tokens.shape == (3, 101)
    empty = samples.TextSource(samples.trained(), {"empty.py": ""})
    assert Windows(empty, 32, 2, 1).take().tokens.shape == (2, 33)


def test_a_changed_corpus_starts_the_next_epoch_and_says_so(corpus):
    windows = Windows(corpus, 64, 4, 1)
    batches(windows, 10)
    state = windows.state()
    changed = samples.TextSource(samples.trained(), dict(corpus.learned) | {"lib/new.py": "y = 2\n"})
    restored = Windows(changed, 64, 4, 1)
    assert "files to learn have changed" in restored.restore(state)
    assert (restored.epoch, restored.delivered) == (1, 40)
    assert restored.take().tokens.shape == (4, 65)
    assert Windows(changed, 64, 4, 1).restore(restored.state()) == ""
    assert "seq_len" in Windows(corpus, 32, 4, 1).restore(state)
    assert "seed" in Windows(corpus, 64, 4, 2).restore(state)


def test_the_cursor_of_another_tokenizer_is_refused(corpus, tmp_path):
    other = samples.TextSource(Tokenizer.load(samples.write_qwen_style(tmp_path)), {"a.py": "x"})
    with pytest.raises(TokenizerError, match="another tokenizer"):
        Windows(other, 64, 4, 1).restore(Windows(corpus, 64, 4, 1).state())


@pytest.mark.parametrize(
    "damage",
    [
        {"epoch": -1},
        {"block": "0"},
        {"window": None},
        {"version": 99},
        {"block": 10**6},
        {"window": 10**9},
        {"epoch": True},
    ],
)
def test_a_damaged_cursor_is_refused_and_nothing_moves(corpus, damage):
    windows, same = Windows(corpus, 64, 4, 1), Windows(corpus, 64, 4, 1)
    windows.take(), same.take()
    with pytest.raises(InputError, match="saved"):
        windows.restore(windows.state() | damage)
    assert np.array_equal(windows.take().tokens, same.take().tokens)
    assert windows.state() == same.state()


def test_without_fim_tokens_nothing_is_rearranged(tmp_path):
    source = samples.TextSource(Tokenizer.load(samples.write_neox_style(tmp_path)), {"a.py": "x = 1\n" * 50})
    windows = Windows(source, 64, 2, 1, fim_share=0.5)
    assert windows.fim_share == 0
    assert windows.take().tokens.shape == (2, 65)


def test_larger_blocks_spread_the_windows_and_have_cursors_of_their_own(corpus):
    usual = Windows(corpus, 64, 3, seed=3)
    large = Windows(corpus, 64, 3, seed=3, block_tokens=10 * module.BLOCK_TOKENS)
    assert len(large._blocks) < len(usual._blocks)
    assert sorted(_documents(large, corpus)) == sorted(_documents(usual, corpus))
    again = Windows(corpus, 64, 3, seed=3, block_tokens=10 * module.BLOCK_TOKENS)
    batches(large, 5)
    assert again.restore(large.state()) == ""
    assert np.array_equal(again.take().tokens, large.take().tokens)
    assert "block_tokens" in again.restore(usual.state())
    old = {key: value for key, value in usual.state().items() if key != "block_tokens"}
    assert "block_tokens" in usual.restore(old)  # from when blocks were smaller and cursors did not say so


def test_only_some_documents(corpus):
    chosen = corpus.learned_documents[:2]
    windows = Windows(corpus, 64, 2, 1, documents=chosen)
    assert {path for path, _ in _documents(windows, corpus)} == {each.path for each in chosen}


def test_what_cannot_be_is_refused(corpus):
    for seq_len, batch in ((0, 1), (1, 0)):
        with pytest.raises(ConfigError):
            Windows(corpus, seq_len, batch, 1)
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(ConfigError):
            Windows(corpus, 8, 1, 1, share)
    with pytest.raises(ConfigError):
        Windows(corpus, 8, 1, 1, fim_section=-1)
    with pytest.raises(CorpusError, match="nothing to learn"):
        Windows(samples.TextSource(samples.trained(), {}), 8, 1, 1)
    assert Windows(corpus, 1, 1, 1).take().tokens.shape == (1, 2)
