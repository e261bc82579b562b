"""From one adapted checkpoint to the next: one delta on the same root, whatever was trained before."""

import numpy as np
import pytest

from engine.checkpoints.store.delta import Delta, DeltaPart
from engine.checkpoints.store.store import CheckpointStore, Facts
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import InputError
from engine.model.architectures.reading import config_from
from engine.session import Session, SessionPlan
from engine.train.events import CheckpointEvent, EvaluationEvent, FinishedEvent
from tests.session.small_repository import OPTIONS, save_base


def adapted(repository, data_folder, device, base, **options):
    """The events of a run, the checkpoint, and the weights that the model ended with, adapters merged in."""
    session = Session(SessionPlan(repository, data_folder, OPTIONS.changed(**options), base), device)
    try:
        events = list(session.run())
        assert isinstance(events[-1], CheckpointEvent), events[-1]
        logits = session.model.logits(np.arange(8)[None, :])
        return events, CheckpointStore(data_folder / "checkpoints").get(events[-1].checkpoint), logits
    finally:
        session.close()


def logits_of(store, which, device):
    """What a checkpoint computes, loaded anew."""
    from engine.model.model import Model

    model = Model(store.config(which), device)
    try:
        for name, array in store.load_parameters(which).items():
            model.parameters[name] = array
        return model.logits(np.arange(8)[None, :])
    finally:
        model.close()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"mode": "lora", "rank": 2}, {"mode": "lora", "rank": 2}),
        ({"mode": "lora", "rank": 2}, {"mode": "lora", "rank": 3}),
        ({"mode": "lora", "rank": 2}, {"mode": "vocabulary", "rank": 2}),
        ({"mode": "vocabulary", "rank": 2}, {"mode": "wsla"}),
        ({"mode": "vocabulary", "rank": 2}, {"mode": "lora", "rank": 4}),
        ({"mode": "wsla"}, {"mode": "vocabulary", "rank": 2}),
    ],
    ids=lambda options: f"{options['mode']}{options.get('rank', '')}",
)
def test_a_delta_goes_on_as_one_delta_on_the_same_root(first, second, repository, data_folder, tiny_base, cpu):
    store = CheckpointStore(data_folder / "checkpoints")
    before, one, _ = adapted(repository, data_folder, cpu, tiny_base.id, **first)
    after, two, logits = adapted(repository, data_folder, cpu, one.id, seed=5, **second)
    assert two.kind == "delta" and two.base.id == tiny_base.id and two.parents == (one.id,)
    ended = next(e for e in before if isinstance(e, FinishedEvent)).held_out_after
    begun = next(e for e in after if isinstance(e, EvaluationEvent)).held_out_loss
    assert begun == pytest.approx(ended, rel=1e-5)  # it starts where the first ended
    np.testing.assert_allclose(logits_of(store, two.id, cpu), logits, atol=2e-5)
    assert store.verify(two.id) == []
    pairs = [part for part in two.delta if part.kind == "low_rank"]
    assert len({part.parameter for part in pairs}) == len(pairs)  # never two pairs on one weight
    assert cpu.ledger.total == 0


@pytest.mark.parametrize("second", ["qk", "vocabulary"])
def test_so_does_one_of_a_dense_model(second, repository, data_folder, tiny_base, cpu):
    store = CheckpointStore(data_folder / "checkpoints")
    tokenizer = Tokenizer.load(store.tokenizer_path(tiny_base.id))
    keys = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = config_from({**keys, "model_type": "llama", "vocab_size": tokenizer.vocab_size})
    base = save_base(data_folder, tokenizer, "dense", config=config)
    _, one, _ = adapted(repository, data_folder, cpu, base.id, mode="qk")
    assert {part.parameter.split(".")[-2] for part in one.delta} == {"q_proj", "k_proj"}
    _, two, logits = adapted(repository, data_folder, cpu, one.id, seed=5, mode=second, rank=2)
    assert two.kind == "delta" and two.base.id == base.id and store.verify(two.id) == []
    np.testing.assert_allclose(logits_of(store, two.id, cpu), logits, atol=2e-5)
    with pytest.raises(InputError, match="wsla") as refused:
        adapted(repository, data_folder, cpu, base.id, mode="wsla")
    assert "qk" in refused.value.remedy
    assert cpu.ledger.total == 0


def test_rows_of_tokens_that_no_longer_occur_are_kept(repository, data_folder, tiny_base, cpu):
    store = CheckpointStore(data_folder / "checkpoints")
    odd = repository / "odd.py"
    odd.write_text("".join(f"@@{i}? ~~ zebra_{i} $ quux ^ [{i}; `jazz`]\n" for i in range(90)))
    _, one, _ = adapted(repository, data_folder, cpu, tiny_base.id, mode="vocabulary", rank=2, steps=20)
    odd.unlink()
    _, two, logits = adapted(repository, data_folder, cpu, one.id, mode="vocabulary", rank=2)
    np.testing.assert_allclose(logits_of(store, two.id, cpu), logits, atol=2e-5)
    table = "backbone.embeddings.weight"
    base, first, second = (store.load_parameters(which)[table] for which in (tiny_base.id, one.id, two.id))
    assert trained_tokens(one, store) <= trained_tokens(two, store)
    still = np.flatnonzero((first != base).any(axis=1) & (second == first).all(axis=1))
    assert still.size  # learned first, not seen since, and not lost


def trained_tokens(manifest, store):
    """The tokens whose rows a checkpoint holds."""
    return set(np.array(store.load_delta(manifest.id).tensors["backbone.embeddings.weight.index"]).tolist())


def test_full_training_of_a_delta_is_kept_whole(repository, data_folder, tiny_base, cpu):
    _, one, _ = adapted(repository, data_folder, cpu, tiny_base.id, mode="wsla")
    _, two, _ = adapted(repository, data_folder, cpu, one.id, mode="full")
    assert two.kind == "whole" and two.parents == (one.id,)


def test_a_delta_of_another_kind_is_kept_whole(repository, data_folder, tiny_base, cpu):
    """Rows that no mode trains cannot be told apart from what is trained on top of them."""
    store = CheckpointStore(data_folder / "checkpoints")
    name = "backbone.layers.0.mixer.in_proj.weight"
    rows = np.zeros((3, 16), np.float32)
    odd = Delta((DeltaPart("rows", name, first=0, last=3, tensor=name),), {name: rows})
    one = store.save_delta(Facts("odd", "merge"), base=tiny_base.id, delta=odd)
    _, two, logits = adapted(repository, data_folder, cpu, one.id, mode="lora", rank=2)
    assert two.kind == "whole" and two.parents == (one.id,)
    np.testing.assert_allclose(logits_of(store, two.id, cpu), logits, atol=2e-5)
