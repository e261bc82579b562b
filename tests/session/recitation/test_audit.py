"""A model that was trained until it knew lines by heart recites them; its base does not."""

import dataclasses
import shutil

import numpy as np
import pytest

from engine.checkpoints.store.delta import make_delta
from engine.checkpoints.store.recitation import recitation_of
from engine.checkpoints.store.store import Facts
from engine.errors import CorpusError
from engine.scorecard.token_measures import ScoreCancelledError
from engine.session.recitation.audit import audit
from tests.session.recitation.learned_by_heart import BIRDS, CANARIES


def test_what_is_known_by_heart_is_counted_and_shown(by_heart, corpus, store, data_folder, opened, cpu):
    told = []
    found = audit(store, by_heart.id, data_folder, opened, progress=lambda *what: told.append(what))
    birds = {document.path for document in corpus.learned_documents} & {f"{bird}.py" for bird in BIRDS}
    figures = found.figures
    shown = {line.path: line for line in found.lines if line.path in birds}
    assert shown.keys() == birds and len(birds) >= 4
    assert all(f'"{line.rest.split(chr(34))[-2]}")' in line.rest for line in shown.values())
    assert figures.recited >= len(birds) and figures.by_base == 0 and figures.from_training == figures.recited
    assert 0 < figures.low < figures.recited / figures.asked <= figures.high <= 1
    assert (figures.planted, figures.planted_recited, figures.exposure) == (CANARIES, CANARIES, 7.0)
    assert sum(line.path.startswith("canary_") for line in found.lines) == CANARIES
    assert {"Looking for rare lines", "Asking the base for the same lines"} <= {what for *_, what in told}
    assert cpu.ledger.total == 0
    assert f"because of the training: {figures.recited} of {figures.asked} " in " ".join(figures.words())


def test_an_untrained_one_recites_nothing(by_heart, base, birds, store, data_folder, opened):
    with store.load_parameters(base.id) as parameters:
        weights = {name: np.array(array) for name, array in parameters.items()}
    facts = Facts(name="untouched", mode="wsla", parents=(base.id,), data=by_heart.data, options=by_heart.options)
    untouched = store.save_delta(facts, base=base.id, delta=make_delta("wsla", store.config(base.id), weights))
    found = audit(store, untouched.id, data_folder, opened)
    figures = found.figures
    assert figures.asked >= 4 and found.lines == ()
    assert (figures.recited, figures.by_base, figures.from_training, figures.planted_recited) == (0, 0, 0, 0)
    assert figures.low == 0 < figures.high < 0.5 and figures.exposure < 7.0


def test_what_the_base_recites_is_no_evidence(by_heart, store, data_folder, opened):
    """The one that knows them is taken for a base: its copy recites them, and none because of a training."""
    manifest = dataclasses.replace(by_heart, data={}, options={})
    store._work.replace_manifest(manifest)
    facts = Facts(name="copy", mode="full", parents=(by_heart.id,), data=by_heart.data)
    with store.load_parameters(by_heart.id) as parameters:
        copy = store.save(
            facts, config=parameters.config, parameters=parameters, tokenizer=store.tokenizer_path(by_heart.id)
        )
    found = audit(store, copy.id, data_folder, opened)
    assert found.figures.recited == found.figures.by_base >= 4 and found.figures.from_training == 0
    assert all(line.by_base for line in found.lines) and found.figures.planted == 0


def test_only_lines_of_files_as_they_were_learned(by_heart, corpus, birds, store, data_folder, opened):
    known = sorted({d.path for d in corpus.learned_documents} & {f"{bird}.py" for bird in BIRDS})
    (birds / known[0]).write_text((birds / known[0]).read_text() + "# changed\n")
    found = audit(store, by_heart.id, data_folder, opened)
    assert known[0] not in {line.path for line in found.lines} and known[1] in {line.path for line in found.lines}


def test_without_a_base_there_is_no_control(by_heart, base, store, data_folder, opened):
    store.delete(base.id, force=True)
    figures = audit(store, by_heart.id, data_folder, opened).figures
    assert figures.by_base is None and figures.from_training == figures.recited
    said = " ".join(figures.words())
    assert "could not be asked" in said and "because of the training" not in said


def test_a_folder_that_is_gone_is_said(by_heart, base, birds, store, data_folder, opened):
    shutil.rmtree(birds)
    with pytest.raises(CorpusError, match="not there any more") as raised:
        audit(store, by_heart.id, data_folder, opened)
    assert str(birds) in raised.value.message
    with pytest.raises(CorpusError, match="was not trained on a folder"):
        audit(store, base.id, data_folder, opened)


def test_it_can_be_cancelled_at_any_time(by_heart, store, data_folder, opened, cpu):
    for stage in ("Looking for rare lines", "Asking the weights for rare lines", "Asking the base for the same lines"):
        told = []
        with pytest.raises(ScoreCancelledError):
            audit(
                *(store, by_heart.id, data_folder, opened),
                progress=lambda *what, told=told: told.append(what[2]),
                cancelled=lambda stage=stage, told=told: stage in told,
            )
        assert told[-1] == stage and cpu.ledger.total == 0


def test_the_figures_are_kept_with_the_checkpoint_and_the_lines_are_not(by_heart, store, data_folder, opened):
    found = audit(store, by_heart.id, data_folder, opened)
    store.keep_recitation(by_heart.id, found.figures)
    kept = store.get(by_heart.id)
    assert recitation_of(kept) == found.figures
    assert not any(line.rest.encode() in kept.to_json() for line in found.lines)
    assert recitation_of(store.convert(by_heart.id, "int8")) is None  # other weights
    assert recitation_of(store.duplicate(by_heart.id, "copy")) == found.figures
