"""Kept states: found by exactly the tokens that led to them, and bounded in size."""

from __future__ import annotations

import numpy as np

from engine.generate.prefix_states import ENTRY_BYTES, PrefixState, PrefixStates
from engine.generate.snapshot import Snapshot

SIZE = 1000 + ENTRY_BYTES


def state(position: int, scores: bool = False) -> PrefixState:
    snapshot = Snapshot(position, (np.zeros(50, np.float32), np.zeros(200, np.float32)))
    return PrefixState(position, snapshot, np.zeros(3, np.float32) if scores else None)


def test_the_longest_beginning_is_found():
    states, ids = PrefixStates(1 << 20), np.arange(100)
    for position in (10, 50, 90):
        states.keep(ids, state(position))
    assert states.find(ids).position == 90
    assert states.find(ids[:89]).position == 50
    assert states.find(np.append(ids[:60], 7)).position == 50
    assert states.find(ids[:9]) is None


def test_one_other_token_is_another_beginning():
    states, ids = PrefixStates(1 << 20), np.arange(100)
    states.keep(ids, state(10))
    states.keep(ids, state(50))
    changed = ids.copy()
    changed[30] = 7
    assert states.find(changed).position == 10
    changed[0] = 7
    assert states.find(changed) is None


def test_ids_of_any_width_are_the_same_ids():
    states = PrefixStates(1 << 20)
    states.keep(np.arange(20, dtype=np.uint16), state(10))
    assert states.find(np.arange(20, dtype=np.int64)).position == 10


def test_the_end_of_a_prompt_only_serves_with_its_scores():
    states, ids = PrefixStates(1 << 20), np.arange(20)
    states.keep(ids, state(10))
    states.keep(ids, state(20))
    assert states.find(ids).position == 10
    states.keep(ids, state(20, scores=True))
    assert states.find(ids).position == 20 and len(states) == 2


def test_the_size_is_bounded_and_the_least_used_goes_first():
    states, ids = PrefixStates(3 * SIZE), np.arange(100)
    other = ids + 1
    states.keep(ids, state(10))
    states.keep(other, state(20))
    states.keep(other, state(30))
    assert states.find(ids).position == 10  # used, so that 20 is the oldest now
    states.keep(other, state(40))
    assert states.nbytes == 3 * SIZE and len(states) == 3
    assert states.find(ids).position == 10
    assert states.find(other[:29]) is None and states.find(other).position == 40


def test_all_states_of_the_prompt_stay_when_side_ways_are_tried():
    states, ids = PrefixStates(4 * SIZE), np.arange(100)
    for position in (10, 50):
        states.keep(ids, state(position))
    for typed in range(20):
        tried = np.append(ids[:60], 1000 + typed)
        assert states.find(tried).position == 50
        states.keep(tried, state(61))
    assert states.find(ids[:40]).position == 10


def test_what_is_larger_than_all_is_not_kept():
    states = PrefixStates(SIZE - 1)
    states.keep(np.arange(20), state(10))
    assert len(states) == 0 and states.nbytes == 0


def test_clear_forgets_all():
    states = PrefixStates(1 << 20)
    states.keep(np.arange(20), state(10))
    states.clear()
    assert states.find(np.arange(20)) is None and states.nbytes == 0
