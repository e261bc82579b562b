"""`codecoil complete`: places in files, the choice of a model, and what is printed."""

from __future__ import annotations

import io
import itertools
import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from app.command_line import REFUSED, build_parser, main
from app.command_line.complete import is_offer, offset_of, path_in
from app.command_line.model_choice import newest_for
from app.data.data_folder import VARIABLE
from engine.checkpoints.store.delta import make_delta
from engine.checkpoints.store.loading import load_checkpoint
from engine.checkpoints.store.manifest import Facts
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.reading.known_folders import FILE_NAME, KnownFolder, folder_as_json
from engine.errors import CheckpointError, InputError
from engine.generate.decode_losses import DecodeLoss, DecodeLosses
from engine.generate.decoder import Decoder
from engine.generate.fits import built_in_fit
from tests.devices.opened import *  # noqa: F403  (fixtures)
from tests.generate.small import SOURCE, open_small, plain_tokenizer, tokenizer
from tests.named_pipe import *  # noqa: F403  (fixtures)

DEVICE = ("--device", "cpu", "--max-tokens", "5")
ENDLESS = {  # an expression that backtracks without end on a run of a
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": "(a+)+b"}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
    ],
}


@pytest.fixture
def store(data_folder, tmp_path, cpu):
    """Two checkpoints of a folder called shop, the second as a delta on the first."""
    store = CheckpointStore(data_folder / "checkpoints")
    tokenizer().save(tmp_path / "tokenizer.json")
    with open_small(cpu) as model:
        whole = {"config": model.config, "tokenizer": tmp_path / "tokenizer.json"}
        base = store.save(Facts(name="shop #1", mode="full"), parameters=model.parameters, **whole)
        changed = {name: array * 0.9 for name, array in model.parameters.items()}
        store.save_delta(
            Facts(name="shop #2", mode="wsla"), base=base.id, delta=make_delta("wsla", model.config, changed)
        )
        store.save(Facts(name="new model for shop", mode="base"), parameters=model.parameters, **whole)
    return store


@pytest.fixture
def ask(store, capsys):
    """The JSON of a command."""

    def asked(*arguments):
        assert main(["complete", *DEVICE, *map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    return asked


@pytest.fixture
def filling_in(monkeypatch):
    """As with a larger model, which is shown what is after the cursor."""
    monkeypatch.setattr("engine.generate.completer.fit_for", lambda model: replace(built_in_fit(), fill_in=True))


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "shop" / "lib" / "prices.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE, encoding="utf-8")
    return path


def test_a_prompt_as_json(ask):
    found = ask("--prompt", SOURCE[:80])
    assert found["tokens"] == 5 and found["reason"] == "token limit" and found["text"]
    assert found["model"] == "shop #2" and found["fim"] is False and found["note"] == ""
    assert found["prompt_tokens"] > found["reused_tokens"] == 0
    assert found["prefill_tokens_per_second"] > 0 and found["decode_tokens_per_second"] > 0
    assert 0 < found["first_token_ms"] <= found["total_ms"]
    assert ask("--prompt", SOURCE[:80])["text"] == found["text"]


@pytest.mark.parametrize(("given", "used"), [((), "float16"), (("--precision", "int8"), "int8")])
def test_weights_are_read_in_the_precision_that_is_asked_for(ask, monkeypatch, given, used):
    made = []
    plain = Decoder.__init__
    monkeypatch.setattr(Decoder, "__init__", lambda *a, **named: made.append(named["precision"]) or plain(*a, **named))
    found = ask("--prompt", SOURCE[:80], *given)
    assert found["precision"] == used and made == [used]
    assert found["held_out_loss"] is None  # nobody has measured it yet


def test_the_loss_that_was_measured_is_said_beside_the_precision(ask, store, data_folder, capsys):
    id = next(manifest.id for manifest in store.list() if manifest.name == "shop #2")
    command = ["complete", *DEVICE, "--prompt", SOURCE[:80], "--precision", "int8"]
    assert main(command) == 0 and "score PATH --precision int8" in capsys.readouterr().err
    DecodeLosses(data_folder).keep(id, "int8", DecodeLoss(1.2345, 900, "/shop"))
    DecodeLosses(data_folder).keep(id, "float32", DecodeLoss(1.2301, 900, "/shop"))
    assert ask("--prompt", SOURCE[:80], "--precision", "int8")["held_out_loss"] == 1.2345
    assert main(command) == 0
    said = capsys.readouterr().err
    assert "1.2345" in said and "1.2301" in said


def test_a_cursor_in_a_file_looks_at_both_sides(ask, source, filling_in):
    found = ask("--file", source, "--line", 7, "--column", 5)
    assert found["fim"] is True
    assert ask("--file", source)["fim"] is False


def test_the_text_streamed_and_whole_are_the_same(store, capsys, monkeypatch):
    arguments = ["complete", "--prompt", SOURCE[:80], *DEVICE]
    printed = []
    for more in ([], ["--stream"], ["--json"], ["--json", "--stream"]):
        assert main([*arguments, *more]) == 0
        printed.append(capsys.readouterr().out)
    text = json.loads(printed[2])["text"]
    assert printed[0] == printed[1] == text + "\n"
    *pieces, last = map(json.loads, printed[3].splitlines())
    assert "".join(piece["piece"] for piece in pieces) == text == last["text"]


def test_standard_input_in_any_encoding_of_the_corpus(ask, monkeypatch):
    def typed(data):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        return ask("-")["prompt_tokens"]

    assert typed("größe = 1".encode("latin-1")) == typed("größe = 1".encode()) == typed("größe = 1".encode("utf-16"))
    assert typed(b"") >= 1


def test_options_reach_the_model(ask, monkeypatch):
    prompt = ("--prompt", SOURCE[:80])
    drawn = (
        "--temperature",
        "5",
        "--top-k",
        "50",
        "--top-p",
        "0.99",
        "--min-p",
        "0.001",
        "--repetition-penalty",
        "1.1",
    )
    texts = {ask(*prompt, *drawn, "--seed", seed)["text"] for seed in (1, 2, 3)}
    assert len(texts) > 1
    text = ask(*prompt)["text"]
    stopped = ask(*prompt, "--stop", text[2:4], "--stop", "never")
    assert (stopped["text"], stopped["reason"]) == (text[: text.index(text[2:4])], "stop string")
    clock = itertools.count()  # a second goes by with every look at the clock
    monkeypatch.setattr("engine.generate.completion_run.time.perf_counter", lambda: float(next(clock)))
    assert ask(*prompt, "--milliseconds", "1", "--max-tokens", "4096")["reason"] == "time limit"


def test_other_files_are_looked_at(ask, source, tmp_path):
    other = tmp_path / "shop" / "basket.py"
    other.write_text(SOURCE, encoding="utf-8")
    alone, more = ask("--file", source), ask("--file", source, "--context", other)
    assert more["prompt_tokens"] > alone["prompt_tokens"]


def test_models_by_name_and_from_a_folder(ask, store, cpu, tmp_path, filling_in):
    assert ask("--prompt", "x", "--checkpoint", "shop #1")["model"] == "shop #1"
    with open_small(cpu, plain_tokenizer()) as model:
        model.save(tmp_path / "model")
        plain_tokenizer().save(tmp_path / "model")
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    found = ask("--file", tmp_path / "a.py", "--line", 1, "--base", tmp_path / "model")
    assert found["model"].endswith("model") and found["fim"] is False and found["note"]


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("config.json", {"num_hidden_layers": 1_000_000}, "impossible size"),
        ("tokenizer.json", {"pre_tokenizer": ENDLESS}, "split"),
    ],
)
def test_a_folder_gets_the_checks_of_import(store, cpu, tmp_path, capsys, file, change, words):
    """A million layers once took 3.7 GB and gave no answer; an endless tokenizer ended in a panic."""
    with open_small(cpu, plain_tokenizer()) as model:
        model.save(tmp_path / "model")
        plain_tokenizer().save(tmp_path / "model")
    path = tmp_path / "model" / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert main(["complete", *DEVICE, "--prompt", "x", "--base", str(tmp_path / "model")]) == REFUSED
    said = capsys.readouterr().err
    assert words in said and str(tmp_path / "model") in said and "Traceback" not in said


def repeated(folder):
    """Two files that share a line which no model could guess; the path of a third that has begun it."""
    for name in ("first.py", "second.py"):
        (folder / name).write_text(f'"""{name}."""\n\nbefore_it = 1\nquota = brew_marmalade(kumquat, 9731)\n')
    asking = folder / "asking.py"
    asking.write_text("import os\n\nbefore_it = 1\nquota = brew_marm")
    return asking


def test_the_memory_of_the_repository_is_asked(store, source, capsys):
    asking = repeated(source.parent)
    (source.parents[1] / ".git").mkdir()
    arguments = ["complete", "--file", str(asking), "--device", "cpu"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text"] == "alade(kumquat, 9731)" and 0 <= found["chance"] <= 1 and found["silence"] == ""
    assert found["sources"] == [{"path": "lib/first.py", "line": 4}] and found["more_sources"] == 1
    assert isinstance(found["alternatives"], list) and found["model"] == "shop #2"
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.out == "alade(kumquat, 9731)\n" and "as in lib/first.py:4 and 1 more" in printed.err
    assert main([*arguments, "--max-tokens", "40", "--json"]) == 0, "without an offer the memory is mixed in as well"
    found = json.loads(capsys.readouterr().out)
    assert found["text"].startswith("alade(kumquat, 9731)\n") and found["chance"] is None
    assert main([*arguments, "--no-memory", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "kumquat" not in found["text"] and found["sources"] == []


def test_a_whole_line_unless_something_says_how_to_go_on():
    def asked(*more):
        return is_offer(build_parser().parse_args(["complete", "--prompt", "x", *more]))

    assert asked() and asked("--json") and asked("--no-memory") and asked("--context", "a.py")
    for more in ("--max-tokens 5", "--stop x", "--end-of-line", "--end-of-block", "--stream", "--top-k 3", "--seed 1"):
        assert not asked(*more.split()), more


def test_the_newest_checkpoint_of_the_files_folder_is_taken(tmp_path):
    def made(name, mode="lora", root="", snapshot=False):
        return SimpleNamespace(name=name, mode=mode, data={"root": root} if root else {}, is_snapshot=snapshot)

    newest = [made("new model for other", "base"), made("other #3"), made("shop #12"), made("shop #2")]
    assert newest_for(newest, tmp_path / "shop" / "lib" / "a.py").name == "shop #12"
    assert newest_for(newest, tmp_path / "else" / "a.py").name == newest_for(newest, None).name == "other #3"
    assert newest_for(newest[:1], None) is None
    shop = str(tmp_path / "shop")
    renamed = [made("other #3"), made("shop at step 4", root=shop, snapshot=True), made("my first", root=shop)]
    assert newest_for(renamed, tmp_path / "shop" / "a.py").name == "my first"
    outer = [made("other #3"), made("inner", root=str(tmp_path / "shop" / "lib"))]
    assert newest_for(outer, tmp_path / "shop" / "a.py").name == "inner"  # of a folder inside the file's


def test_the_path_is_as_in_training(tmp_path, monkeypatch):
    file = tmp_path / "shop" / "lib" / "a.py"
    file.parent.mkdir(parents=True)
    assert path_in(None, file) == "a.py" and path_in(None, None) == ""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    for number, folder in enumerate((file.parent, tmp_path / "shop", tmp_path / "else")):
        about = tmp_path / "data" / "repositories" / str(number) / FILE_NAME
        about.parent.mkdir(parents=True)
        about.write_text(folder_as_json(KnownFolder(str(folder), 1, 2, 1, f"2026-11-1{number}T01:00:00+00:00")))
    assert path_in(None, file) == "lib/a.py", "of the two folders around it, the one that was read last"
    assert path_in(None, tmp_path / "b.py") == "b.py"
    (file.parent / ".git").mkdir()
    assert path_in(None, file) == "a.py"
    assert path_in(tmp_path, file) == "shop/lib/a.py"


@pytest.mark.parametrize(
    ("line", "column", "offset"), [(1, 1, 0), (1, None, 2), (2, 2, 5), (2, None, 5), (3, 1, 7), (None, None, 7)]
)
def test_lines_and_columns_count_from_one(line, column, offset):
    assert offset_of("ab\r\nc\r\n", line, column, "a.py") == offset


@pytest.mark.parametrize(
    ("line", "column", "words"), [(4, 1, "no line 4; it has 3"), (0, 1, "no line 0"), (2, 3, "no column 3; it has 2")]
)
def test_a_place_that_is_not_there_is_refused(line, column, words):
    with pytest.raises(InputError, match=words):
        offset_of("ab\r\nc\r\n", line, column, "a.py")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "one text to complete"),
        (["-", "--prompt", "x"], "one text to complete"),
        (["--prompt", "x", "--line", "1"], "--line and --column"),
        (["--file", "missing.py"], "missing.py cannot be read"),
        (["--prompt", "x", "--top-p", "2"], "top_p is 2.0"),
        (["--prompt", "x", "--max-tokens", "0"], "max_tokens is 0"),
        (["--prompt", "x", "--stop", ""], "strings"),
        (["--prompt", "x", "--checkpoint", "nobody", "--device", "cpu"], "nobody"),
    ],
)
def test_what_cannot_be_is_refused_in_words(arguments, words, capsys):
    assert main(["complete", *arguments]) == REFUSED
    assert words in capsys.readouterr().err


def test_a_file_that_is_no_text_is_refused(tmp_path, capsys):
    (tmp_path / "a.bin").write_bytes(b"\0\1\2")
    assert main(["complete", "--file", str(tmp_path / "a.bin")]) == REFUSED
    assert "not text" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--file"], ["--prompt", "x", "--context"]])
def test_a_pipe_is_refused_and_not_waited_for(arguments, pipe, store, capsys):
    assert main(["complete", *DEVICE, *arguments, str(pipe)]) == REFUSED
    assert "pipe.py is not a regular file" in capsys.readouterr().err


def test_a_file_that_is_too_large_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("app.command_line.complete.LARGEST_FILE", 1 << 20)
    (tmp_path / "a.py").write_bytes(b"x" * ((1 << 20) + 1))
    assert main(["complete", "--file", str(tmp_path / "a.py")]) == REFUSED
    assert "a.py is larger than 1 MiB" in capsys.readouterr().err


def test_a_file_is_read_through_a_link(ask, source, tmp_path):
    (tmp_path / "link.py").symlink_to(source)
    assert ask("--file", tmp_path / "link.py")["prompt_tokens"] > 0


def test_a_checkpoint_becomes_a_model(store, cpu):
    model, tokens = load_checkpoint(store, "shop #2", cpu)
    stored = store.load_parameters("shop #2")
    assert all((model.parameters[name] == stored[name]).all() for name in stored)
    assert tokens.digest == tokenizer().digest
    stored.close()
    model.close()
    assert cpu.ledger.total == 0


def test_a_checkpoint_without_a_fitting_tokenizer_is_refused(store, cpu, tmp_path):
    with open_small(cpu, plain_tokenizer()) as model:
        facts = Facts(name="bare", mode="full")
        store.save(facts, config=model.config, parameters=model.parameters)
        facts = Facts(name="wrong", mode="full")
        store.save(facts, config=model.config, parameters=model.parameters, tokenizer=tmp_path / "tokenizer.json")
    for name, words in (("bare", "has no tokenizer"), ("wrong", "entries")):
        with pytest.raises(CheckpointError, match=words):
            load_checkpoint(store, name, cpu)
    assert cpu.ledger.total == 0


def test_without_any_model_it_says_how_to_get_one(data_folder, monkeypatch, capsys):
    monkeypatch.setattr("engine.session.bases.starter_folder", lambda: None)
    assert main(["complete", "--prompt", "def f", "--device", "cpu"]) == 2
    said = capsys.readouterr().err
    assert "There is no model yet." in said and "codecoil train" in said
