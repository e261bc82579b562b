"""train.py is text here: it compiles, and what it reads and writes is what this program writes and reads.

Its numbers are compared with this engine's by `tests/benchmarks/handoff.py`, which needs PyTorch.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import MISSING, fields

import pytest

from engine.handoff import HandoffPlan, hand_off
from engine.handoff.importing import EVENTS, Result
from engine.handoff.words import commands, resource
from engine.train.options import TrainingOptions
from tests.session.small_repository import OPTIONS

TEXT = resource("train.py")
TREE = ast.parse(TEXT)
REQUIRED = {
    line.split(">=")[0] for line in resource("requirements.txt").splitlines() if line and not line.startswith("#")
}
STANDARD = {"argparse", "contextlib", "hashlib", "json", "math", "os", "time", "pathlib"}


def keys_of(*owners: str) -> set[str]:
    """The constant keys by which any of these names (`run`, `self.options`) is asked."""
    return {
        node.slice.value
        for node in ast.walk(TREE)
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        and ast.unparse(node.value) in owners
    }


@pytest.fixture
def run(repository, data_folder, tiny_base, tmp_path):
    """run.json of a hand-off."""
    options = OPTIONS.changed(mode="vocabulary", rank=2)
    done = hand_off(HandoffPlan(repository, data_folder, options, "tiny", with_memory=True), tmp_path / "out")
    return json.loads((done.path / "run.json").read_text())


def test_it_compiles_and_needs_only_what_is_required():
    compile(TEXT, "train.py", "exec")
    found = set()
    for node in ast.walk(TREE):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.split(".")[0])
    assert found - STANDARD == REQUIRED - {"numpy"}  # which the others need


def test_nothing_is_fetched():
    """The hub is switched off before a library that knows it is imported."""
    assert TEXT.index('os.environ["HF_HUB_OFFLINE"] = "1"') < TEXT.index("import torch")
    assert not re.search(r"https?://|requests|urllib|socket", TEXT)


def test_it_asks_run_json_for_nothing_that_is_not_there(run):
    asked = keys_of("run", "self.run")
    assert asked and asked <= set(run)
    of_data = keys_of("self.data")
    assert of_data == set(run["data"])
    parts = keys_of("part")
    known = {key for part in run["trained"] for key in part} | {"first", "last"}  # of rows in a range
    assert parts and parts <= known
    assert keys_of("memory") == set(run["data"]["memory"])


def test_every_option_that_changes_a_run_is_used():
    """The schedule has the learning rate, the warm-up, the steps and when held-out code is measured."""
    asked = keys_of("o", "self.options", "run['options']")
    assert asked == {
        "mode", "batch_size", "micro_batch", "sequence_length", "weight_decay", "beta1", "beta2", "epsilon",
        "max_gradient_norm", "rank", "patience", "trust_region",
    }  # fmt: skip
    assert asked <= {field.name for field in fields(TrainingOptions)}


def test_its_events_are_those_of_a_run():
    seen = set()
    for node in ast.walk(TREE):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "self.note":
            kind = EVENTS[node.args[0].value]
            given = {keyword.arg for keyword in node.keywords}
            needed = {field.name for field in fields(kind) if field.default is MISSING}
            assert needed <= given <= {field.name for field in fields(kind)}, kind
            seen.add(kind.event)
    assert seen == set(EVENTS)


def test_its_result_is_the_one_that_is_read():
    (written,) = (
        {key.value for key in node.keys}
        for node in ast.walk(TREE)
        if isinstance(node, ast.Dict) and any(getattr(key, "value", "") == "trained_sha256" for key in node.keys)
    )
    assert written == {field.name for field in fields(Result)}


def test_every_command_runs_it_with_a_configuration_that_is_there():
    for command in (command for several in commands().values() for command in several):
        assert command.startswith("accelerate launch ") and command.endswith(" train.py")
        for file in re.findall(r"--config_file (\S+)", command):
            assert "fsdp_version: 2" in resource(file)
