"""Latency at the socket, as llama.vim asks: a typed key with warm state, a jump elsewhere, the same while training.

    python tests/benchmarks/server.py [--lines 100000] [--keys 200] [--jumps 40] [--training-keys 60] [--folder FOLDER]
                                      [--llama-server PROGRAM]

On a synthetic repository with the built-in model, or on the first files of a folder: in made-up code hardly any line is
likely enough to be shown. With `--llama-server` the same keys and jumps go, in turns, to llama.cpp's own server with
the built-in model and with a dense one of the same size (`llama_cpp_server`), for one line at most. Our server is
`codecoil serve` in a process of its own; while training, it is the thread that trains, which answers in the middle of
its steps, in this process.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import llama_cpp_server  # noqa: E402
import numpy as np  # noqa: E402
from measure import report  # noqa: E402
from synthetic_repository import make  # noqa: E402

BEFORE, AFTER = 256, 64  # lines that llama.vim sends
PAUSE = 0.03  # seconds between two keys
TURNS = 4  # of each server, where there are several
ONE_LINE = {"stop": ["\n"], "n_predict": 16}  # for llama.cpp: we answer with a line, and random weights never end one
TOKEN = "benchmark"  # of llama.cpp's server
THREADS = 2


class Typist:
    """Types what stands in a file, key by key, and asks after each, on a new connection as curl does."""

    def __init__(self, port: int, token: str, root: Path, more: dict | None = None) -> None:
        """`more`: fields of each request in place of llama.vim's."""
        self._port, self._more = port, more or {}
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "User-Agent": "curl/8"}
        paths = [path for path in sorted(root.rglob("*.py")) if path.read_text().count("\n") >= 120]
        self._texts = [path.read_text().split("\n") for path in paths[::7] or paths]
        self._dice = random.Random(3)
        self.shown = self.asked = 0
        self.reused: list[float] = []

    def ask(self, lines: list[str], line: int, column: int) -> float:
        """Milliseconds from before the connection to the last byte of the answer."""
        body = {
            "input_prefix": "\n".join(lines[max(0, line - BEFORE) : line]) + "\n",
            "prompt": lines[line][:column],
            "input_suffix": "\n" + "\n".join(lines[line + 1 : line + 1 + AFTER]) + "\n",
            "input_extra": [],
            "n_predict": 128,
            "stream": False,
        } | self._more
        data = json.dumps(body).encode()
        began = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.request("POST", "/infill", data, self._headers)
        answer = json.loads(connection.getresponse().read())
        took = 1000 * (time.perf_counter() - began)
        connection.close()
        self.asked += 1
        self.shown += bool(answer["content"])
        if answer.get("tokens_evaluated"):
            self.reused.append(answer["tokens_cached"] / answer["tokens_evaluated"])
        return took

    def keys(self, count: int) -> list[float]:
        """Typing along lines somewhere in a file; the first key of each place does not count."""
        times: list[float] = []
        while len(times) < count:
            lines = self._dice.choice(self._texts)
            line = self._dice.randrange(40, len(lines) - 10)
            self.ask(lines, line, 0)
            for here in range(line, line + 2):
                for column in range(4, min(24, len(lines[here])), 2):
                    times.append(self.ask(lines, here, column))
                    time.sleep(PAUSE)
        return times[:count]

    def jumps(self, count: int) -> list[float]:
        """Other places of a file, far from each other."""
        times: list[float] = []
        while len(times) < count:
            lines = self._dice.choice(self._texts)
            self.ask(lines, len(lines) // 2, 0)  # the file is known
            for line in self._dice.sample(range(20, len(lines) - 10), 4):
                times.append(self.ask(lines, line, min(8, len(lines[line]))))
                time.sleep(PAUSE)
        return times[:count]


def say(name: str, times: list[float]) -> None:
    report(f"{name}_p50", float(np.percentile(times, 50)), "ms")
    report(f"{name}_p95", float(np.percentile(times, 95)), "ms")


@contextmanager
def our_server(root: Path, data: Path) -> Iterator[Typist]:
    """`codecoil serve` in a process of its own."""
    environment = dict(os.environ, CODECOIL_DATA=str(data))
    command = [sys.executable, "-m", "app", "serve", str(root), "--json"]
    began = time.perf_counter()
    server = subprocess.Popen(
        command, env=environment, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    )
    try:
        ready = json.loads(server.stdout.readline())
        report("server_ready", time.perf_counter() - began, "s")
        yield Typist(int(ready["url"].rpartition(":")[2]), ready["token"], root)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
    report("server_exit_code", server.returncode)


@contextmanager
def peers(program: Path | None, root: Path, folder: Path) -> Iterator[dict[str, Typist]]:
    """llama.cpp's server, with each of two models."""
    found: dict[str, Typist] = {}
    with ExitStack() as servers:
        built_in = ("built_in", llama_cpp_server.write_built_in, {})
        dense = ("dense", llama_cpp_server.write_dense, llama_cpp_server.always_a_word())
        for name, write, more in (built_in, dense) if program is not None else ():
            model = folder / f"{name}.gguf"
            report(f"llama_cpp_{name}_weights", write(model))
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            servers.enter_context(llama_cpp_server.llama_server(program, model, port, TOKEN, THREADS))
            found[f"llama_cpp_{name}"] = Typist(port, TOKEN, root, ONE_LINE | more)
        yield found


def idle(root: Path, data: Path, keys: int, jumps: int, program: Path | None) -> None:
    """Servers with nothing else to do, in turns: all of them get the same keys."""
    with our_server(root, data) as ours, peers(program, root, data) as others:
        typists = {"server": ours, **others}
        turns = TURNS if others else 1
        key: dict[str, list[float]] = {name: [] for name in typists}
        jump: dict[str, list[float]] = {name: [] for name in typists}
        for typist in typists.values():
            typist.keys(10)
        for _ in range(turns):
            for name, typist in typists.items():
                key[name] += typist.keys(keys // turns)
        report("server_key_reused", float(np.mean(ours.reused)))
        report("server_key_shown", ours.shown / ours.asked)
        for _ in range(turns):
            for name, typist in typists.items():
                jump[name] += typist.jumps(jumps // turns)
        for name in typists:
            say(f"{name}_key", key[name])
            say(f"{name}_jump", jump[name])


def training(root: Path, data: Path, keys: int) -> None:
    """In the thread that trains: a request waits for the present step."""
    from app.command_line.serve import open_model
    from app.server.folder import ServedFolder
    from app.server.listening import LoopbackServer
    from app.server.routes import Served
    from engine.session import Session, SessionPlan
    from engine.train.options import TrainingOptions

    os.environ["CODECOIL_DATA"] = str(data)
    folder = ServedFolder(root, data, lambda: open_model(None, root, "cpu"))
    steps: list[float] = []
    over = threading.Event()

    def run() -> None:  # in place of a loop that only answers
        session = Session(
            SessionPlan(root, data, TrainingOptions(mode="lora", minutes=30.0)), folder.chosen.device, lambda *_: None
        )
        while not over.is_set() and not session.finished:
            began = time.perf_counter()
            with folder.chosen.device.interludes.during(folder.service.answer_waiting):
                session.advance()
            steps.append(1000 * (time.perf_counter() - began))
            folder.service.answer_waiting()
        session.close()
        while not over.is_set():
            time.sleep(0.1)
            folder.service.answer_waiting()

    folder.service.run = run
    server = LoopbackServer(data, Served(folder.service, lambda: 0.25), 0)
    folder.start(lambda *_: None)
    server.start()
    try:
        while len(steps) < 4:
            time.sleep(0.1)
        typist = Typist(server.port, server.token, root)
        typist.keys(5)
        del steps[:]
        say("server_training_key", typist.keys(keys))
        say("server_training_step", steps)
    finally:
        over.set()
        server.stop()
        folder.stop()


def copy_code(source: Path, root: Path, lines: int) -> None:
    """The first Python files below `source`, by name, with so many lines in all."""
    for path in sorted(source.rglob("*.py")):
        if lines <= 0:
            break
        lines -= path.read_bytes().count(b"\n")
        target = root / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--jumps", type=int, default=40)
    parser.add_argument("--training-keys", type=int, default=60, help="0: do not train")
    parser.add_argument("--folder", type=Path, help="real code, in place of the synthetic repository")
    parser.add_argument("--llama-server", type=Path, metavar="PROGRAM", help="llama.cpp's server, as a peer")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root, data = Path(temporary, "repository"), Path(temporary, "data")
        root.mkdir()
        if options.folder is None:
            make(root, options.lines // 200, options.lines)
        else:
            copy_code(options.folder, root, options.lines)
        idle(root, data, options.keys, options.jumps, options.llama_server)
        if options.training_keys:
            training(root, data, options.training_keys)


if __name__ == "__main__":
    main()
