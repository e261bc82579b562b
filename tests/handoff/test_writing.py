"""The folder that is handed off: what is in it, what is not, and where it is refused."""

from __future__ import annotations

import json
import shutil
from collections import namedtuple
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file

from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.batches.framing import Framing
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CheckpointError, ConfigError, InputError
from engine.generate.fits import fit_for_size
from engine.handoff import HandoffPlan, hand_off, training_data
from engine.handoff.preparing import prepare
from engine.handoff.writing import check_place
from engine.memory.evidence import Counter
from engine.memory.fitting import losses, observe
from engine.memory.mixing import SURE
from engine.memory.repository_memory import RepositoryMemory
from engine.model.architectures.own import OwnConfig
from engine.model.architectures.reading import config_from
from engine.session.batches import measured_windows, training_windows
from tests.handoff.other_machine import rows_of
from tests.session.small_repository import OPTIONS, save_base

LORA = OPTIONS.changed(mode="lora", rank=2)


@pytest.fixture
def plan(repository, data_folder, tiny_base):
    return HandoffPlan(repository, data_folder, LORA, "tiny")


def corpus_of(plan: HandoffPlan):
    store = CheckpointStore(plan.data_folder / "checkpoints")
    tokenizer = Tokenizer.load(store.tokenizer_path(store.get(plan.base).id))
    return Repository(plan.root, plan.data_folder, tokenizer).scan()


def files_in(folder):
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


def test_the_windows_are_those_of_a_run_in_its_order(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(training_data, "SHARD_BYTES", 5 * 4 * (LORA.sequence_length + 1))  # five rows a file
    done = hand_off(plan, tmp_path / "out")
    data = json.loads((done.path / "run.json").read_text())["data"]
    assert [file["rows"] for file in data["train"]] == [5, 5, 2] and done.rows == 12
    corpus = corpus_of(plan)
    windows = training_windows(corpus, LORA)
    expected = np.concatenate([windows.take().tokens for _ in range(LORA.steps)])
    assert np.array_equal(rows_of(done.path, data["train"], "tokens"), expected)
    measured = list(measured_windows(corpus, corpus.validation_code, LORA))
    counted = np.concatenate([batch.counted for batch in measured])
    tokens = np.concatenate([batch.tokens for batch in measured])
    assert np.array_equal(rows_of(done.path, data["held_out"], "tokens"), tokens[counted > 0])
    assert np.array_equal(rows_of(done.path, data["held_out"], "counted"), counted[counted > 0])


def test_the_schedule_is_that_of_a_run(plan, tmp_path):
    options = LORA.changed(learning_rate=0.0, steps=9, schedule="linear")
    done = hand_off(replace(plan, options=options), tmp_path / "out")
    schedule = load_file(done.path / "data" / "schedule.safetensors")
    assert done.options.learning_rate > 0  # the one that suits the model
    assert schedule["learning_rate"].tolist() == [done.options.rate_at(step) for step in range(1, 10)]
    assert schedule["evaluated"].tolist() == [1, *(int(done.options.evaluates_at(step)) for step in range(1, 10))]


def test_epochs_become_steps(plan, tmp_path):
    done = hand_off(replace(plan, options=LORA.changed(steps=0, epochs=1.0)), tmp_path / "out")
    assert done.options.steps > 0 and done.rows == done.options.steps * LORA.batch_size


def test_the_hash_of_every_file_that_is_read_is_in_run_json(plan, tmp_path):
    done = hand_off(plan, tmp_path / "out")
    named = json.loads((done.path / "run.json").read_text())["files"]
    about = {"run.json", "README.md", "data/README.md", "train.py", "requirements.txt", "fsdp.yaml"}
    assert set(named) == set(files_in(done.path)) - about
    assert sum(path.stat().st_size for path in files_in(done.path).values()) == done.nbytes


def test_the_readme_has_every_command_and_says_what_leaves(plan, tmp_path):
    done = hand_off(plan, tmp_path / "out")
    text = (done.path / "README.md").read_text()
    commands = [command for several in done.commands.values() for command in several]
    assert len(commands) == 6 and all(f"\n{command}\n" in text for command in commands)
    assert all(sentence in text for sentence in done.leaves)
    assert "$" not in text and "$" not in (done.path / "data" / "README.md").read_text()
    assert "is your code" in done.leaves[0]


def test_neither_the_place_nor_a_secret_leaves(plan, repository, tmp_path):
    secret = "ghp_" + "a8Kd02mZ5qXw7Lr4Tb9Nc1Vy6Hs3Jf0Pe2Gu"
    for path in sorted(repository.glob("*.py")):
        path.write_text(f'TOKEN = "{secret}"\n{path.read_text()}')
    done = hand_off(replace(plan, options=LORA.changed(steps=150)), tmp_path / "out")
    for path in files_in(done.path).values():
        assert str(tmp_path).encode() not in path.read_bytes()
    data = json.loads((done.path / "run.json").read_text())["data"]
    tokenizer = Tokenizer.load(done.path / "base" / "tokenizer.json")
    rows = np.concatenate([rows_of(done.path, data[part], "tokens") for part in ("train", "held_out")])
    text = "".join(tokenizer.decode(row) for row in rows)
    assert '"""Sums of' in text and "ghp_" not in text and len(corpus_of(plan).secrets) == 9


def test_a_base_is_written_in_the_precision_in_which_nothing_is_lost(plan, tmp_path):
    store = CheckpointStore(plan.data_folder / "checkpoints")
    half = store.convert("tiny", "bfloat16", name="half")
    done = hand_off(replace(plan, base="half"), tmp_path / "out")
    written = load_file_types(done.path / "base" / "model.safetensors")
    assert written["backbone.embeddings.weight"] == "BF16" and written["backbone.norm_f.weight"] == "F32"
    assert half.precision == "bfloat16"


def test_where_a_base_came_from_stays_here(plan, tmp_path):
    store = CheckpointStore(plan.data_folder / "checkpoints")
    tokenizer = Tokenizer.load(store.tokenizer_path(store.get("tiny").id))
    keys = store.config("tiny").to_hugging_face() | {"_name_or_path": str(tmp_path / "models")}
    save_base(plan.data_folder, tokenizer, "named", config=config_from(keys))
    done = hand_off(replace(plan, base="named"), tmp_path / "out")
    assert "_name_or_path" not in json.loads((done.path / "base" / "config.json").read_text())


def load_file_types(path) -> dict[str, str]:
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return {name: entry["dtype"] for name, entry in header.items() if name != "__metadata__"}


def test_the_memory_s_numbers_give_the_losses_of_the_mixture(plan, tmp_path):
    """a p + b is what the fit computes from what was observed, for a model of any confidence."""
    done = hand_off(replace(plan, with_memory=True), tmp_path / "out")
    data = json.loads((done.path / "run.json").read_text())["data"]
    assert data["memory"] == {"confidence": SURE.tolist()}
    keys = ("memory_factor", "memory_share")
    factor, share = (rows_of(done.path, data["held_out"], key).astype(np.float64) for key in keys)
    corpus = corpus_of(plan)
    document = corpus.validation_code[0]
    content = np.asarray(corpus.document_tokens(document))
    first = len(Framing(corpus.tokenizer).header(document.path))
    l, seen = LORA.sequence_length, min(len(content), 3 * LORA.sequence_length - first)
    repository = Repository(plan.root, plan.data_folder)
    memory = RepositoryMemory(repository.folder, corpus.tokenizer).update(corpus)
    memory = memory.without({each.path for each in corpus.held_out_documents})
    counter = Counter(corpus.tokenizer.vocab_size, corpus.tokenizer.special.end_of_text)
    random = np.random.default_rng(0)
    chance = random.uniform(0.001, 1.0, len(content))
    best = np.maximum(chance, random.uniform(0.0, 1.0, len(content)))
    none = np.empty(0, np.int64)
    observed = observe(
        counter, memory.sources(document.path), content, none, chance, best, np.ones(len(content)), see_after=False
    )
    expected = losses(observed, fit_for_size(40_000).mixing)
    places = np.arange(1, seen)
    rows, columns = np.divmod(first + places - 1, l)
    sure = np.searchsorted(SURE, best[places])
    found = -np.log(factor[rows, columns, sure] * chance[places] + share[rows, columns, sure])
    assert np.allclose(found, expected[places - 1], atol=1e-5)
    assert (share[rows, columns] > 0).any()
    assert np.all(factor[0, : first - 1] == 1.0) and np.all(share[0, : first - 1] == 0.0)  # the path


# ---- refused


def test_only_a_new_or_empty_folder_elsewhere_is_written(plan, repository, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        hand_off(plan, full)
    with pytest.raises(InputError, match="inside the repository"):
        hand_off(plan, repository / "deep" / "out")
    with pytest.raises(InputError, match="inside the data folder"):
        hand_off(plan, plan.data_folder / "out")
    assert [path.name for path in full.iterdir()] == ["notes.txt"]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert (hand_off(plan, empty).path / "train.py").is_file()


def test_a_folder_beside_the_one_learned_is_still_in_the_repository(plan, repository):
    (repository / ".git").mkdir()
    (repository / "src").mkdir()
    inner = replace(plan, root=repository / "src")
    with pytest.raises(InputError, match="inside the repository"):
        check_place(inner, repository / "out")


def test_too_little_disk_is_said_before_anything_is_written(plan, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 9, 1))
    with pytest.raises(CheckpointError, match=r"cannot be written: it needs .* free"):
        hand_off(plan, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("when", ["Writing the base, in MiB", "Writing windows"])
def test_ended_by_ctrl_c_it_leaves_nothing(plan, tmp_path, when):
    place = tmp_path / "place"

    def interrupt(done, total, what):
        if what == when:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hand_off(plan, place / "out", interrupt)
    assert list(place.iterdir()) == [] and not (plan.data_folder / "handoffs").exists()


def test_what_nobody_else_can_train_is_refused(plan, tmp_path):
    store = CheckpointStore(plan.data_folder / "checkpoints")
    tokenizer = Tokenizer.load(store.tokenizer_path(store.get("tiny").id))
    own = OwnConfig(hidden_size=64, num_hidden_layers=1, vocab_size=tokenizer.vocab_size, num_attention_heads=2)
    save_base(plan.data_folder, tokenizer, "own", config=own)
    with pytest.raises(InputError, match="transformers does not know codecoil_hybrid"):
        hand_off(replace(plan, base="own"), tmp_path / "out")
    mixture = config_from(
        {
            "model_type": "granitemoehybrid", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
            "num_key_value_heads": 1, "vocab_size": tokenizer.vocab_size, "shared_intermediate_size": 24,
            "intermediate_size": 8, "num_local_experts": 2, "num_experts_per_tok": 1, "router_aux_loss_coef": 0.01,
            "output_router_logits": True, "layer_types": ["attention"], "tie_word_embeddings": True,
        }
    )  # fmt: skip
    assert mixture.balance_factor
    save_base(plan.data_folder, tokenizer, "mixture", config=mixture)
    with pytest.raises(InputError, match="load-balancing"):
        hand_off(replace(plan, base="mixture"), tmp_path / "out")
    with pytest.raises(InputError, match="nothing to train"):
        hand_off(replace(plan, options=LORA.changed(mode="qk")), tmp_path / "out")
    with pytest.raises(ConfigError, match="by minutes"):
        replace(plan, options=LORA.changed(minutes=5.0))
    assert not (tmp_path / "out").exists()


def test_the_base_is_kept_while_it_is_written(plan):
    store = CheckpointStore(plan.data_folder / "checkpoints")
    with ExitStack() as held:
        prepare(plan, held, lambda done, total, what: None)
        with pytest.raises(CheckpointError, match="needed"):
            store.delete("tiny")
    assert store.get("tiny").name == "tiny"
