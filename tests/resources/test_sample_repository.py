"""The sample repository is real code: its own tests pass, and a scan finds in it what the window shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.corpus.reading.verdict import Reason
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer

SAMPLE = Path(__file__).parents[2] / "resources" / "sample_repository"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    texts = [path.read_text(encoding="utf-8") for path in sorted(SAMPLE.rglob("*.py"))]
    return Repository(SAMPLE, data, Tokenizer.train(texts, 1024)).scan()


def test_its_own_tests_pass(tmp_path):
    copy = shutil.copytree(SAMPLE, tmp_path / "sample")
    command = [sys.executable, "-B", "-m", "unittest", "-q"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})
    assert done.returncode == 0, done.stderr


def test_it_is_large_enough_to_learn_from_and_measure_on(corpus):
    assert corpus.totals.learned.files >= 50
    assert len(corpus.held_out_documents) >= 4
    assert {"python", "typescript", "shell"} <= set(corpus.totals.by_language)


@pytest.mark.parametrize("reason", [Reason.GENERATED, Reason.LOCK_FILE, Reason.VENDORED])
def test_a_scan_has_something_to_leave_out(corpus, reason):
    assert corpus.totals.by_reason[reason].files == 1


def test_a_secret_is_found_and_masked(corpus):
    assert [finding.path for finding in corpus.secrets] == ["settings/example.env"]
    assert "4c1f0a9be27d4d53b86e7f3aa90c52d1" not in corpus.tokenizer.decode(corpus.tokens("settings/example.env"))
