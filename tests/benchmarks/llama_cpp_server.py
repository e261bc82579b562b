"""llama.cpp's own server as a peer of `server.py`: with the built-in model itself, or a dense one of the same size.

A recurrent state cannot be cut back to a common beginning as a cache of keys can; so the dense one, whose weights are
random, shows what llama.cpp does at its best.
"""

from __future__ import annotations

import http.client
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import engine
from engine.checkpoints.formats.gguf_export import write_gguf
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.devices import open_device
from engine.model import files
from engine.model.starter import starter_folder

PRECISION = "f16"  # in which we decode the built-in model
DENSE = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}
STARTS_WITHIN = 60.0  # seconds


def write_built_in(out: Path) -> int:
    """The built-in model; how many weights it has."""
    folder = starter_folder()
    config = files.read_config(folder)
    write_gguf(out, config, files.FolderParameters(folder, config), folder / "tokenizer.json", PRECISION)
    return config.parameter_count


def write_dense(out: Path) -> int:
    """A dense model with the same tokenizer and random weights; how many."""
    folder = starter_folder()
    device = open_device("cpu")
    model = engine.create_model({**DENSE, "vocab_size": files.read_config(folder).vocab_size}, 0, device)
    try:
        write_gguf(out, model.config, model.parameters, folder / "tokenizer.json", PRECISION)
        return model.config.parameter_count
    finally:
        model.close()
        device.close()


def always_a_word() -> dict:
    """Fields of a request: random weights would write half characters, which llama.cpp answers with an error."""
    word = Tokenizer.load(starter_folder()).encode(" self")
    return {"logit_bias": [[int(word[0]), 1000.0]]}


@contextmanager
def llama_server(program: Path, model: Path, port: int, token: str, threads: int) -> Iterator[None]:
    """Runs it so that typing only appends (the text after the cursor first, and all of the window's text), and waits
    until it answers: as llama.vim recommends it, with a batch of 1,024, it would read as many tokens for every key."""
    command = [program, "-m", model, "--host", "127.0.0.1", "--port", port, "--api-key", token, "-t", threads]
    command += ["-np", 1, "-c", 8192, "-b", 8192, "-ub", 512, "--spm-infill", "--cache-reuse", 256]
    with open(model.with_suffix(".log"), "w") as log:
        process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log)
    try:
        until = time.monotonic() + STARTS_WITHIN
        while not _is_ready(port):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(model.with_suffix(".log").read_text()[-2000:])
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(30)


def _is_ready(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
