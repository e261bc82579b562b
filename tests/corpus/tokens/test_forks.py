"""A program that forks after tokenizing hears no warning and does not hang."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import os, subprocess, sys, tempfile
from pathlib import Path
from engine.corpus.tokens.tokenizer import Tokenizer
from tests.corpus.tokens import samples

with tempfile.TemporaryDirectory() as folder:
    foreign = Tokenizer.load(samples.write_gpt2_style(Path(folder)))
own = Tokenizer.train(samples.source_texts()[:8], 400)
texts = list(samples.source_texts()[:10])
expected = [ids.tolist() for ids in foreign.encode_batch(texts) + own.encode_batch(texts)]
child = os.fork()
if child == 0:
    same = [ids.tolist() for ids in foreign.encode_batch(texts) + own.encode_batch(texts)] == expected
    os._exit(0 if same else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
subprocess.run([sys.executable, "-c", "pass"], check=True)
foreign.encode_batch(texts)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_no_warning_and_no_hang_after_a_fork():
    environment = {key: value for key, value in os.environ.items() if key != "TOKENIZERS_PARALLELISM"}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=environment, timeout=180)
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("0", "", 0)
