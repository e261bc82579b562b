"""Latency at the socket, as llama.vim asks: a typed key with warm state, a jump elsewhere, the same while training.

    python tests/benchmarks/server.py [--lines 100000] [--keys 200] [--jumps 40] [--training-keys 60]

On a synthetic repository with the built-in model. The server is `codecoil serve` in a process of its own; while
training, it is the thread that trains, which answers in the middle of its steps, in this process.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import numpy as np  # noqa: E402
from measure import report  # noqa: E402
from synthetic_repository import make  # noqa: E402

BEFORE, AFTER = 256, 64  # lines that llama.vim sends
PAUSE = 0.03  # seconds between two keys


class Typist:
    """Types what stands in a file, key by key, and asks after each, on a new connection as curl does."""

    def __init__(self, port: int, token: str, root: Path) -> None:
        self._port = port
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
        }
        data = json.dumps(body).encode()
        began = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.request("POST", "/infill", data, self._headers)
        answer = json.loads(connection.getresponse().read())
        took = 1000 * (time.perf_counter() - began)
        connection.close()
        self.asked += 1
        self.shown += bool(answer["content"])
        if answer["tokens_evaluated"]:
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
    report(f"server_{name}_p50", float(np.percentile(times, 50)), "ms")
    report(f"server_{name}_p95", float(np.percentile(times, 95)), "ms")


def idle(root: Path, data: Path, keys: int, jumps: int) -> None:
    """`codecoil serve`, with nothing else to do."""
    environment = dict(os.environ, CODECOIL_DATA=str(data))
    command = [sys.executable, "-m", "app", "serve", str(root), "--json"]
    began = time.perf_counter()
    server = subprocess.Popen(
        command, env=environment, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    )
    try:
        ready = json.loads(server.stdout.readline())
        report("server_ready", time.perf_counter() - began, "s")
        typist = Typist(int(ready["url"].rpartition(":")[2]), ready["token"], root)
        typist.keys(10)
        say("key", typist.keys(keys))
        report("server_key_reused", float(np.mean(typist.reused)))
        report("server_key_shown", typist.shown / typist.asked)
        say("jump", typist.jumps(jumps))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
    report("server_exit_code", server.returncode)


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
        say("training_key", typist.keys(keys))
        say("training_step", steps)
    finally:
        over.set()
        server.stop()
        folder.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--jumps", type=int, default=40)
    parser.add_argument("--training-keys", type=int, default=60, help="0: do not train")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root, data = Path(temporary, "repository"), Path(temporary, "data")
        root.mkdir()
        make(root, options.lines // 200, options.lines)
        idle(root, data, options.keys, options.jumps)
        if options.training_keys:
            training(root, data, options.training_keys)


if __name__ == "__main__":
    main()
