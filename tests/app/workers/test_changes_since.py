"""Since which checkpoint changes are counted: the model in use, where that is one of this folder, else the newest."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from app.values.completion import STARTER
from app.workers.changes import since_checkpoint
from engine.checkpoints.store.store import CheckpointStore
from engine.session.changes import SEEN


def edit(repository, n: int) -> None:
    path = repository / f"shelf_{n}.py"
    path.write_text(path.read_text() + f"def added_{n}():\n    return 'one more line'\n")


@pytest.fixture
def adapted(program, repository, tiny):
    """A program that has adapted to a repository twice, with an edit between the two and one after: it, their ids."""
    one = program()
    state = one.state
    one.open(repository)
    one.small_options(tiny)
    ids = []
    for n in (3, 5):
        one.run_to_end()
        ids.append(state.training.finished.checkpoint)
        state.training.cancel_scoring()
        one.until(lambda: state.repository.changes.checkpoint == ids[-1])
        edit(repository, n)
        one.until(lambda: state.repository.changes.any)
    return one, ids


def test_it_is_the_model_in_use(adapted, tiny):
    one, (first, second) = adapted
    state = one.state
    assert state.repository.changes.checkpoint == second and state.repository.changes.files == 1
    one.until(lambda: state.completion.choice(first))
    state.completion.choose_model(first)
    one.until(lambda: state.repository.changes.checkpoint == first)
    assert state.repository.changes.files == 2
    state.completion.choose_model(tiny)  # never trained on this folder
    one.until(lambda: state.repository.changes.checkpoint == second)


def test_what_was_thrown_away_is_not_counted_from(adapted):
    one, (first, second) = adapted
    state = one.state
    state.training.discard()
    one.until(lambda: state.repository.changes.checkpoint == first)
    assert state.repository.changes.files == 2
    one.until(lambda: second in [row.id for row in state.checkpoints.trash])  # beside the snapshots of its run
    (trashed,) = [row for row in state.checkpoints.trash if row.id == second]
    state.checkpoints.restore(trashed.key)
    one.until(lambda: state.completion.choice(second))
    state.completion.choose_model(second)
    one.until(lambda: state.repository.changes.checkpoint == second)
    state.checkpoints.delete(second)
    one.until(lambda: state.repository.changes.checkpoint == first)
    state.training.adapt_to_changes()
    one.until(lambda: not state.training.active)
    assert state.training.phase == "finished" and one.failures == []


def test_one_that_does_not_know_what_it_has_seen_is_passed_over(adapted, folder, repository):
    """A merge keeps the folder of its parents but has seen nothing itself."""
    from app.workers.changes import since_checkpoint

    one, (first, second) = adapted
    with one.qtbot.waitSignal(one.state.checkpoints.merged) as merged:
        one.state.checkpoints.merge(first, second, 0.5)
    manifests = CheckpointStore(folder / "checkpoints").list()
    assert manifests[0].id == merged.args[0].child
    assert since_checkpoint(manifests, repository, manifests[0].id).id == second
    assert since_checkpoint(manifests, repository, STARTER).id == second
    assert since_checkpoint(manifests, repository, first).id == first
    assert since_checkpoint(manifests, repository / "elsewhere", first) is None


def manifest(name: str, *parents: str, root: str = "/code", snapshot: bool = False):
    return SimpleNamespace(id=name, parents=parents, is_snapshot=snapshot, data={"root": root, SEEN: {}})


def test_what_was_made_from_the_one_in_use_counts_for_it():
    """So that an adaptation to changes is not offered again, though its beginning is still the one in use."""
    others = manifest("elsewhere", "one", root="/other"), manifest("point", "one", snapshot=True)
    newest_first = [manifest("apart", "base"), manifest("three", "two"), *others, manifest("two", "one")]
    newest_first += [manifest("one", "base")]
    found = {each: since_checkpoint(newest_first, Path("/code"), each).id for each in ("one", "two", "apart", "base")}
    assert found == {"one": "three", "two": "three", "apart": "apart", "base": "apart"}
    assert since_checkpoint(newest_first, Path("/empty"), "one") is None
