"""The recipe of the starter model, on a handful of files: lists, cleaning, freezing, training, resuming, exporting."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import os
import re
import shutil
import signal
import tarfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from engine.errors import CodecoilError
from engine.train.options import TrainingOptions

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
TINY = {"hidden_size": 16, "num_hidden_layers": 1, "state_size": 4}


@pytest.fixture(autouse=True)
def packaging_on_the_path(monkeypatch):
    """The script's own folder, as when it is run."""
    monkeypatch.syspath_prepend(str(PACKAGING))


def module(name: str):
    return importlib.import_module(f"starter.{name}")


# ---- lists


def test_the_lists_are_pinned_disjoint_and_large_enough():
    lists = module("package_lists")
    packages = lists.read_lists()
    by_role = {role: [each for each in packages if each.role == role] for role in lists.ROLES}
    assert len(by_role["evaluation"]) >= 5 and len(by_role["tuning"]) >= 3 and by_role["watch"] and by_role["train"]
    assert len({(each.registry, each.name) for each in packages}) == len(packages)


@pytest.mark.parametrize(
    "text, words",
    [
        ('[train]\npython = ["one"]\n', "not pinned"),
        ('[train]\npython = ["a.b==1"]\n[evaluation]\npython = ["A-B==2"]\n', "two lists"),
        ('[other]\npython = ["one==1"]\n', "other.python"),
    ],
)
def test_a_list_that_is_wrong_is_refused(tmp_path, text, words):
    (tmp_path / "lists.toml").write_text(text)
    with pytest.raises(CodecoilError, match=words):
        module("package_lists").read_lists(tmp_path / "lists.toml")


@pytest.mark.parametrize(
    "licence, allowed",
    [
        ("MIT", True),
        ("Apache-2.0 OR BSD-3-Clause", True),
        ("Python Software Foundation License", True),
        ("MIT AND MPL-2.0", False),
        ("GNU Lesser General Public License v3 (LGPLv3)", False),
        ("not stated", False),
        ("Permitted", False),
    ],
)
def test_only_permissive_licences_are_taken(licence, allowed):
    assert module("package_lists").is_permissive(licence) is allowed


# ---- downloading


@pytest.mark.parametrize("has_source", [True, False])
def test_a_package_for_a_later_python_can_be_downloaded(tmp_path, monkeypatch, has_source):
    """Its source is only read, so what it needs to run must not matter."""
    lists, fetching = module("package_lists"), module("fetching")

    def run(command, folder, what, patience=None):
        if "--ignore-requires-python" not in command or ("--no-binary" in command and not has_source):
            raise fetching.FetchError("No matching distribution found")
        (folder / ("one-1.tar.gz" if has_source else "one-1-py3-none-any.whl")).write_bytes(b"")

    monkeypatch.setattr(fetching, "_run", run)
    found = fetching._download(tmp_path, lists.Package("python", "one", "1", "train"))
    assert found.name == ("one-1.tar.gz" if has_source else "one-1-py3-none-any.whl")


# ---- unpacking


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def unpacked(tmp_path: Path, files: dict[str, bytes], registry: str, role: str) -> set[str]:
    lists, fetching = module("package_lists"), module("fetching")
    target = tmp_path / "target"
    target.mkdir()
    package = lists.Package(registry, "one", "1", role)
    fetching._unpack(archive(tmp_path / "one-1.tar.gz", files), target, package)
    assert {path.name for path in tmp_path.iterdir()} == {"one-1.tar.gz", "target"}  # nothing beside it
    return {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}


def test_nothing_is_unpacked_outside_of_the_folder(tmp_path):
    files = {"one-1/a.py": b"x", "one-1/../../b.py": b"x", "/c.py": b"x", "one-1/big.py": b"x" * (1 << 20) + b"x"}
    assert unpacked(tmp_path, files, "python", "evaluation") <= {"a.py", "c.py"}


def test_compiled_code_beside_its_source_is_left_out(tmp_path):
    files = dict.fromkeys(("p/src/a.ts", "p/lib/a.js", "p/dist/a.js", "p/src/a.d.ts", "p/package.json"), b"{}")
    assert unpacked(tmp_path, files, "npm", "evaluation") == {"src/a.ts", "package.json"}


def test_vendored_code_is_not_even_unpacked(tmp_path):
    files = dict.fromkeys(("p/a.go", "p/vendor/other/b.go", "p/vendor.go"), b"package a")
    assert unpacked(tmp_path, files, "python", "train") == {"a.go", "vendor.go"}


def test_a_large_package_gives_more_of_a_rare_language(tmp_path):
    files = {f"p/{number}{suffix}": b"x" * 500_000 for number in range(9) for suffix in (".py", ".rs")}
    few = unpacked(tmp_path, files, "python", "train")
    assert sum(name.endswith(".py") for name in few) == 1 and sum(name.endswith(".rs") for name in few) == 8


def test_a_large_package_gives_its_share_and_others_all(tmp_path):
    files = {f"p/{number}.py": b"x" * 100_000 for number in range(8)} | {"p/a.c": b"x"}
    few = unpacked(tmp_path, files, "python", "train")
    assert len(few) == 6 and "a.c" in few
    (tmp_path / "second").mkdir()
    assert len(unpacked(tmp_path / "second", files, "python", "tuning")) == 9


# ---- the corpus


def source(seed: int, lines: int = 60) -> str:
    draw = np.random.default_rng(seed)
    names = [f"{a}_{b}" for a in ("read", "write", "count", "join") for b in ("file", "line", "token", "state")]
    picked = draw.choice(names, (lines, 3))
    return "".join(
        f"def {a}_{seed}({b}):\n    return {c}_of({b}, {seed + n})\n\n" for n, (a, b, c) in enumerate(picked)
    )


@pytest.fixture
def work(tmp_path):
    """A work folder with a few fetched packages."""
    files = {f"train/alpha-1/src/part{n}.py": source(n) for n in range(6)}
    files |= {f"train/beta-2/part{n}.py": source(10 + n) for n in range(4)}
    files |= {"train/alpha-1/setup.py": source(20), "train/beta-2/setup.py": source(21)}
    files |= {"train/alpha-1/data.json": json.dumps([f"entry number {n}" for n in range(400)], indent=1)}
    files |= {"train/beta-2/table.py": "X = [" + "123456789, " * 200 + "]\n"}
    files |= {"train/beta-2/settings.json": json.dumps({f"option_{n}": n > 3 for n in range(7)}, indent=1)}
    files |= {"train/beta-2/gnu.py": "# GNU General Public License\n" + source(30)}
    files |= {"train/beta-2/copied.py": "import os\n" + source(40), "evaluation/gamma-1/own.py": source(40)}
    files |= {"watch/delta-1/seen.py": source(50), "watch/delta-1/too.py": source(51)}
    files |= {"tuning/epsilon-1/other.py": source(60)}
    for path, text in files.items():
        target = tmp_path / "work" / "packages" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return tmp_path / "work"


@pytest.fixture
def corpus(work, monkeypatch):
    prepared = module("prepared_corpus")
    monkeypatch.setattr(prepared, "VOCABULARY", 400)
    monkeypatch.setitem(prepared.SHARE_OF_PYTHON, "json", 1.0)  # so that only its length keeps a file out
    return prepared.prepare(work, lambda text: None)


def test_what_is_prepared_is_clean_and_only_the_watched_is_held_out(corpus, work):
    paths = {document.path for document in corpus.learned_documents}
    assert {"src/part0.py", "part0.py", "setup.py", "beta-2/setup.py", "settings.json"} <= paths
    assert not {"data.json", "table.py", "gnu.py", "copied.py"} & paths
    assert [document.path for document in corpus.held_out_documents] == ["seen.py", "too.py"]
    text = corpus.tokenizer.decode(corpus.document_tokens(corpus.held_out_documents[0]))
    assert text == source(50)
    again = module("prepared_corpus").PreparedCorpus(work / "corpus")
    assert again.learned_documents == corpus.learned_documents


def test_a_long_file_is_cut_at_the_end_of_a_line(corpus, monkeypatch):
    prepared = module("prepared_corpus")
    monkeypatch.setattr(prepared, "MOST_TOKENS", 40)
    text = source(70)
    tokens = corpus.tokenizer.encode(text)
    short = corpus.tokenizer.decode(prepared.shortened(tokens, corpus.tokenizer))
    assert text.startswith(short) and text[len(short)] == "\n"
    assert 30 < len(prepared.shortened(tokens, corpus.tokenizer)) <= 40
    assert len(prepared.shortened(tokens[:40], corpus.tokenizer)) == 40


def test_a_corpus_that_was_cut_short_is_refused(corpus, work):
    tokens = work / "corpus" / "tokens.u16"
    tokens.write_bytes(tokens.read_bytes()[:-2])
    with pytest.raises(CodecoilError, match="damaged"):
        module("prepared_corpus").PreparedCorpus(work / "corpus")


# ---- the run


def recipe(save_seconds: float = 1e9):
    options = TrainingOptions(
        mode="full", steps=6, batch_size=2, sequence_length=32, warm_up=1, evaluations=2, learning_rate=1e-2
    )
    return module("training").Recipe(TINY, options, save_seconds, 1e9)


def steps_of(work: Path) -> list[dict]:
    events = [json.loads(line) for line in (work / "history.jsonl").read_text().splitlines()]
    return [event for event in events if event["event"] == "step"]


@pytest.fixture
def every_step(monkeypatch):
    monkeypatch.setattr(module("training"), "LOGGED_STEPS", 1)


def same_weights(one: Path, other: Path) -> bool:
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (one, other))
    return all(np.array_equal(ours[name], theirs[name]) for name in theirs)


def test_a_run_that_is_stopped_goes_on_exactly(corpus, tmp_path, every_step):
    training = module("training")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    training.train(whole, corpus, lambda text: None, recipe())

    def stop_after_two(text: str) -> None:
        if text.startswith("step     2  loss"):
            os.kill(os.getpid(), signal.SIGTERM)

    training.train(parts, corpus, stop_after_two, recipe())
    assert len(steps_of(parts)) == 2
    said: list[str] = []
    training.train(parts, corpus, said.append, recipe())
    assert "step 2 of 6" in said[0]
    assert [event["loss"] for event in steps_of(parts)] == [event["loss"] for event in steps_of(whole)]
    assert same_weights(parts / "stable", whole / "stable")


def test_a_run_that_is_killed_goes_on_from_its_last_save(corpus, tmp_path, every_step):
    training = module("training")

    class Killed(BaseException):
        pass

    def kill_at_four(text: str) -> None:
        if text.startswith("step     4  loss"):
            raise Killed

    with pytest.raises(Killed):
        training.train(tmp_path / "run", corpus, kill_at_four, recipe(save_seconds=0.0))
    training.train(tmp_path / "run", corpus, lambda text: None, recipe())
    assert [event["step"] for event in steps_of(tmp_path / "run")] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "losses, over",
    [
        ([9.0], False),
        ([9.0, 5.0, 4.0], False),  # nothing before the last three
        ([9.0, 5.0, 4.0, 3.995], False),
        ([9.0, 5.0, 4.999, 4.998, 4.995], True),
        ([9.0, 5.0, 5.2, 5.1, 4.985], False),  # a bad moment on the way
        ([9.0, 5.0, 5.2, 5.1, 5.3], True),
    ],
)
def test_a_run_is_over_when_the_last_evaluations_gained_too_little(losses, over):
    assert module("training").StopRule(evaluations=3, nats=0.01).is_over(losses) is over


def finished(work: Path) -> dict:
    return json.loads((work / "history.jsonl").read_text().splitlines()[-1])


def test_a_run_ends_by_itself_when_going_on_no_longer_pays(corpus, tmp_path, every_step):
    training = module("training")
    told = recipe()
    never_enough = dataclasses.replace(told, stop_rule=training.StopRule(1, 1e9))
    training.train(tmp_path / "short", corpus, lambda text: None, never_enough)
    assert len(steps_of(tmp_path / "short")) == 3 and finished(tmp_path / "short")["reason"].endswith("no longer pays")
    always_enough = dataclasses.replace(told, stop_rule=training.StopRule(1, -1e9))
    training.train(tmp_path / "whole", corpus, lambda text: None, always_enough)
    assert len(steps_of(tmp_path / "whole")) == 6


def test_a_run_that_goes_on_knows_what_was_measured_before(corpus, tmp_path, every_step):
    training = module("training")

    def stop_after_four(text: str) -> None:
        if text.startswith("step     4  loss"):
            os.kill(os.getpid(), signal.SIGTERM)

    training.train(tmp_path, corpus, stop_after_four, recipe())
    assert (
        len(training.held_out_losses(tmp_path / "history.jsonl", 4)) == 2
    )  # before the first step and after the third
    course = training._open(tmp_path, training.RUN, corpus, lambda text: None, recipe())
    course.trainer.close()
    course.model.close()
    assert len(course.held_out) == 2


def stopped_at_four(training, corpus, work: Path, usual) -> None:
    """A stable run that was stopped after its fourth step."""

    def stop(text: str) -> None:
        if text.startswith("step     4  loss"):
            os.kill(os.getpid(), signal.SIGTERM)

    training.train(work, corpus, stop, usual)


def test_a_decay_takes_the_rate_down_and_leaves_the_stable_run_as_it_was(corpus, tmp_path, every_step):
    training = module("training")
    usual = recipe()
    usual = dataclasses.replace(usual, options=usual.options.changed(schedule="constant"))
    training.train(tmp_path / "whole", corpus, lambda text: None, usual)
    stopped_at_four(training, corpus, tmp_path / "parts", usual)
    training.decay(tmp_path / "parts", corpus, lambda text: None, usual, share=0.5)
    steps = steps_of(tmp_path / "parts")
    assert [event["step"] for event in steps] == [1, 2, 3, 4, 5, 6]
    rates = [event["learning_rate"] for event in steps]
    assert rates[:4] == [1e-2] * 4 and rates[4] == pytest.approx(0.525e-2) and rates[5] == pytest.approx(0.05e-2)
    decayed = load_file(tmp_path / "parts" / "snapshot" / "model.safetensors")
    training.train(tmp_path / "parts", corpus, lambda text: None, usual)
    assert same_weights(tmp_path / "parts" / "stable", tmp_path / "whole" / "stable")
    stable = load_file(tmp_path / "parts" / "stable" / "model.safetensors")
    assert any(not np.array_equal(stable[name], decayed[name]) for name in stable)


def test_a_decay_that_is_stopped_goes_on_and_then_makes_room_for_the_next(corpus, tmp_path, every_step):
    training = module("training")
    usual = recipe()
    stopped_at_four(training, corpus, tmp_path / "run", usual)

    def stop(text: str) -> None:
        if text.startswith("step     5  loss"):
            os.kill(os.getpid(), signal.SIGTERM)

    training.decay(tmp_path / "run", corpus, stop, usual, share=0.5)
    said: list[str] = []
    training.decay(tmp_path / "run", corpus, said.append, usual, share=0.5)
    assert "resuming decay at step 5 of 6" in said[0]
    assert not (tmp_path / "run" / "runs" / "decay.safetensors").exists()
    assert json.loads((tmp_path / "run" / "snapshot" / "about.json").read_text())["state"] == "finished"


def test_a_run_begins_with_the_weights_and_the_curve_of_a_model(corpus, work, tmp_path, every_step):
    training, exporting = module("training"), module("exporting")
    usual = recipe()
    stopped_at_four(training, corpus, work, usual)
    training.decay(work, corpus, lambda text: None, usual)
    exporting.export(work, tmp_path / "first", [])
    onward = dataclasses.replace(usual, model=tmp_path / "first", options=usual.options.changed(learning_rate=1e-9))
    shutil.copytree(work / "corpus", tmp_path / "second" / "corpus")
    training.train(tmp_path / "second", corpus, lambda text: None, onward)
    assert same_weights(tmp_path / "second" / "stable", tmp_path / "first")
    assert [event["tokens"] for event in steps_of(tmp_path / "second")] == [64 * n for n in range(6, 12)]
    training.decay(tmp_path / "second", corpus, lambda text: None, onward)
    about = exporting.export(tmp_path / "second", tmp_path / "shipped", [])
    curve = json.loads((tmp_path / "shipped" / "training_curve.json").read_text())
    assert [tokens for tokens, _ in curve["training"]] == [64 * n for n in range(1, 13)]
    assert about["tokens"] == curve["tokens_seen"] == 64 * 12
    assert "320 of them in earlier runs" in (tmp_path / "shipped" / "README.md").read_text()


def test_a_model_with_another_tokenizer_cannot_be_trained_further(corpus, tmp_path):
    other = PACKAGING.parent / "resources" / "starter"
    with pytest.raises(CodecoilError, match="another tokenizer"):
        module("training").train(tmp_path, corpus, lambda text: None, dataclasses.replace(recipe(), model=other))


def test_a_model_that_was_trained_before_keeps_its_tokenizer(corpus, work):
    shutil.rmtree(work / "corpus")
    (work / "tokenizer.json").unlink()
    again = module("prepared_corpus").prepare(work, lambda text: None, corpus.tokenizer)
    assert again.tokenizer.digest == corpus.tokenizer.digest and not (work / "tokenizer.json").exists()


def test_evaluation_is_a_command_of_the_same_script(tmp_path, monkeypatch, capsys):
    script = importlib.import_module("starter_model")
    assert script.BENCHMARK.is_file()
    assert script.main(["evaluate", "--work", str(tmp_path)]) == 1 and "Train first" in capsys.readouterr().err
    (tmp_path / "snapshot").mkdir()
    calls: list[list] = []
    monkeypatch.setattr(script.subprocess, "run", lambda words, check: calls.append(words))
    assert script.main(["evaluate", "--work", str(tmp_path)]) == 0
    assert calls[0][1:] == [script.BENCHMARK, "--work", tmp_path, "--model", tmp_path / "snapshot"]


# ---- the files that are shipped


def test_the_shipped_card_is_what_the_recipe_writes():
    """The table of the card as figures, and from these the card's chapter once more."""
    exporting = module("exporting")
    card = (PACKAGING.parent / "resources" / "starter" / "README.md").read_text(encoding="utf-8")
    chapter = card.split("## How good it is\n\n")[1].split("\n\n## ")[0]
    head, _, *rows = [line.strip("| ").split(" | ") for line in chapter.splitlines() if line.startswith("|")]
    keys = ["bits_per_byte", "five_gram", "xz_bits_per_byte", "exact", "by_line", "by_word"]
    first, later = re.search(r"load in (\d+) ms, the first time in a process in (\d+) ms", chapter).groups()
    figures = {
        "tokens_seen": int(re.search(r"([\d,]+) tokens seen", chapter)[1].replace(",", "")),
        "columns": dict(zip(keys, head[1:], strict=True)),
        "packages": {row[0]: dict(zip(keys, map(float, row[1:]), strict=True)) for row in rows},
        "load_ms": float(first),
        "load_first_ms": float(later),
    }
    assert "\n".join(exporting._worth(figures)) == chapter
    assert "pint-0.25.3 (1.309 against 1.370)" in chapter


def test_an_export_can_be_loaded_and_says_what_it_is(corpus, work, monkeypatch):
    import engine

    training, exporting, fetching = module("training"), module("exporting"), module("fetching")
    monkeypatch.setattr(training, "LOGGED_STEPS", 1)
    stopped_at_four(training, corpus, work, recipe())
    training.decay(work, corpus, lambda text: None, recipe(), share=0.5)
    licences = [fetching.Licence("python", "alpha", "1", "train", "MIT", "alpha-1.tar.gz")]
    target = work / "shipped"
    about = exporting.export(work, target, licences)
    assert about["tokens"] == 6 * 64
    model = engine.load_model(target, device="cpu")
    assert model.config.hidden_size == 16 and np.isfinite(model.logits(np.array([[1, 2, 3]]))).all()
    model.close()
    assert "384 tokens" in (target / "README.md").read_text()
    assert "| alpha | 1 | Python | MIT |" in (target / "DATA.md").read_text()
    curve = json.loads((target / "training_curve.json").read_text())
    assert len(curve["training"]) == 6 and curve["training"][-1][0] == 384 and len(curve["held_out"]) == 5
    assert (target / "training_curve.svg").read_text().startswith("<svg")
    assert not list(target.glob("*.part"))


def test_a_configuration_of_any_order_of_layers_is_trained_and_exported(corpus, work):
    """A snapshot of it is a model, and its card does not call it the starter's kind."""
    import engine

    keys = {"model_type": "codecoil_hybrid", "hidden_size": 16, "num_hidden_layers": 3, "mamba2_head_dim": 8}
    keys |= {"layer_types": ["mamba2", "attention", "mamba"], "head_dim": 4, "window": 9, "vocab_size": 5}
    file = work / "hybrid.json"
    file.write_text(json.dumps(keys))
    script, training, usual = importlib.import_module("starter_model"), module("training"), recipe()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "Recipe", lambda keys, options, stop_rule, model: dataclasses.replace(usual, keys=keys))
        for command in ("train", "decay"):
            assert script.main([command, "--work", str(work), "--config", str(file)]) == 0
    module("exporting").export(work, work / "shipped", [])
    model = engine.load_model(work / "shipped", device="cpu")
    assert (
        model.config.layer_types == ("mamba2", "attention", "mamba")
        and model.config.vocab_size == corpus.tokenizer.vocab_size
    )
    assert "backbone.layers.1.self_attn.q_proj.weight" in model.parameters
    model.close()
    assert model.config.label in (work / "shipped" / "README.md").read_text()


def test_an_export_without_a_snapshot_says_what_to_do(tmp_path):
    with pytest.raises(CodecoilError, match="Train first"):
        module("exporting").export(tmp_path, tmp_path / "shipped", [])


# ---- what the starter is held against


def test_the_five_gram_model_is_a_probability_and_knows_what_it_has_seen(monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGING.parent / "tests" / "benchmarks"))
    five_gram = importlib.import_module("five_gram")
    draw = np.random.default_rng(0)
    v = 11
    stream = np.concatenate([draw.choice(v - 1, 2000), np.tile([1, 2, 3, 4, 5, 6], 50)])
    model = five_gram.FiveGram(stream, v)
    for context in ([1, 2, 3, 4], [10, 10, 10, 10], [10, 1, 2, 3], [9, 8], []):
        chances = [2.0 ** -model.bits(np.array([*context, token]))[-1] for token in range(v)]
        assert sum(chances) == pytest.approx(1.0)
        assert min(chances) > 0
    bits = model.bits(np.array([1, 2, 3, 4, 5, 6, 1, 2, 3]))
    assert bits[4:].max() < 0.5 < np.log2(v) - 1 < model.bits(stream[:1000]).mean() + 3


def test_a_package_is_scored_on_its_main_language(tmp_path, corpus, monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGING.parent / "tests" / "benchmarks"))
    read = importlib.import_module("package_material").read_material
    rust = "".join(f"fn part_{n}(value: u32) -> u32 {{\n    value + {n}\n}}\n" for n in range(40))
    files = {"src/lib.rs": rust, "setup.py": source(1, 4), "README.md": "Words about it.\n" * 400}
    for name, text in files.items():
        (tmp_path / "one" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "one" / name).write_text(text)
    material = read(tmp_path / "one", tmp_path, corpus.tokenizer, 60_000, 5)
    assert [text.path for text in material.texts] == ["src/lib.rs"]
    assert len(material.cursors) == 5


def test_a_package_without_code_gives_no_material(tmp_path, corpus, monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGING.parent / "tests" / "benchmarks"))
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "README.md").write_text("Words about it.\n" * 400)
    read = importlib.import_module("package_material").read_material
    assert not read(tmp_path / "one", tmp_path, corpus.tokenizer, 60_000, 5).texts
