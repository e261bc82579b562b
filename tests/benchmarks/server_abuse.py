"""The server for editors, abused in earnest: memory stays flat, the model's thread is never stuck, the port answers.

    python tests/benchmarks/server_abuse.py [--requests 10000] [--clients 200] [--seconds 20] [--at FOLDER]

`codecoil serve` runs in a process of its own on a small repository with the built-in model; this process is the enemy.
With --at, it attacks a server that runs already (`tests.benchmarks.window --abuse` has the window's attacked).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import psutil  # noqa: E402
from measure import report  # noqa: E402
from synthetic_repository import make  # noqa: E402

from app.server.access import read_access  # noqa: E402

INFILL = {"input_prefix": "import json\n\n\ndef load(path):\n", "input_suffix": "\n", "prompt": "    return json."}
PATIENCE = 30.0


class Enemy:
    """Knows the address and the token, and has no manners."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self._dice = random.Random(11)

    def send(self, data: bytes, half_close: bool = True) -> bytes:
        """What comes back until the server closes the connection.  A half-closed one counts as left by its client."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            received = b""
            try:
                connection.sendall(data)
                if half_close:
                    connection.shutdown(socket.SHUT_WR)
                while block := connection.recv(65536):
                    received += block
            except TimeoutError:
                raise
            except OSError:
                pass
            return received

    def request(self, path: str, body: object, headers: dict[str, str] | None = None) -> bytes:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        usual = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
        }
        lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in (usual | (headers or {})).items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + data

    def anything(self) -> bytes:
        """Bytes, broken requests, forbidden ones, and now and then a good one."""
        dice = self._dice
        kind = dice.randrange(6)
        if kind == 0:
            return dice.randbytes(dice.randrange(2000))
        if kind == 1:
            return self.request("/infill", INFILL, {"Host": dice.choice(["evil.example", "", "localhost"])})
        if kind == 2:
            return self.request("/infill", INFILL, {"Origin": "https://evil.example"})
        if kind == 3:
            return self.request("/infill", INFILL, {"Authorization": f"Bearer {dice.randbytes(16).hex()}"})
        if kind == 4:
            good = self.request("/v1/completions", {"prompt": "x = ", "suffix": "\n", "stream": dice.random() < 0.5})
            return good[: dice.randrange(len(good))]
        values = [None, 1, "x" * dice.randrange(5000), [], {}, [{"text": "y"}], True]
        body = {name: dice.choice(values) for name in (*INFILL, "input_extra", "stop", "n_predict", "response_fields")}
        return self.request(dice.choice(["/infill", "/completion", "/v1/completions", "/v1/fim/completions"]), body)

    def good(self, agent: str = "curl/8") -> float:
        """Milliseconds of a request that must be answered."""
        began = time.perf_counter()
        request = self.request("/infill", INFILL, {"User-Agent": agent, "Connection": "close"})
        answer = self.send(request, half_close=False)
        assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
        return 1000 * (time.perf_counter() - began)


def random_requests(enemy: Enemy, count: int) -> None:
    for number in range(count):
        answer = enemy.send(enemy.anything())
        assert answer == b"" or answer.startswith(b"HTTP/1."), answer[:200]
        if number % 500 == 0:
            enemy.good()


def slow_loris(enemy: Enemy, clients: int, seconds: float) -> list[float]:
    """Many connections that send a byte now and then; a good client beside them."""
    slow = [socket.create_connection(("127.0.0.1", enemy.port), PATIENCE) for _ in range(clients)]
    data, times, end = enemy.request("/infill", INFILL), [], time.monotonic() + seconds
    place = 0
    while time.monotonic() < end:
        for connection in slow:
            try:
                connection.send(data[place : place + 1])
            except OSError:
                connection.close()
        place += 1
        times.append(enemy.good())
        time.sleep(0.3)
    for connection in slow:
        connection.close()
    return times


def parallel(enemy: Enemy, clients: int) -> list[float]:
    times: list[float] = []
    problems: list[BaseException] = []

    def one(number: int) -> None:
        try:
            for _ in range(3):
                times.append(enemy.good(f"client {number}"))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report("abuse_parallel_problems", len(problems))
    return times


def never_reading(enemy: Enemy, clients: int) -> list[float]:
    """Each asks on and on and never takes an answer."""
    plugs = []
    for _ in range(clients):
        plug = socket.socket()
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        plug.settimeout(0.2)
        plug.connect(("127.0.0.1", enemy.port))
        try:
            for _ in range(50):
                plug.sendall(enemy.request("/infill", INFILL))
        except OSError:
            pass
        plugs.append(plug)
    times = [enemy.good() for _ in range(10)]
    for plug in plugs:
        plug.close()
    return times


def attack(enemy: Enemy, process: psutil.Process, options: argparse.Namespace) -> None:
    """Everything in turn, and what is left of it in the server's process."""
    for _ in range(20):
        enemy.good()
    memory, threads = process.memory_info().rss, process.num_threads()
    began = time.perf_counter()
    random_requests(enemy, options.requests // 2)
    half = process.memory_info().rss
    random_requests(enemy, options.requests - options.requests // 2)
    report("abuse_random_per_second", options.requests / (time.perf_counter() - began))
    report("abuse_memory_grown_in_second_half", (process.memory_info().rss - half) / 2**20, "MiB")
    report("abuse_slow_good_worst", max(slow_loris(enemy, options.clients // 2, options.seconds)), "ms")
    report("abuse_parallel_worst", max(parallel(enemy, options.clients)), "ms")
    report("abuse_never_reading_worst", max(never_reading(enemy, 20)), "ms")
    time.sleep(15)  # everything that waits for a time-out has met it
    report("abuse_good_after", enemy.good(), "ms")
    report("abuse_memory_grown", (process.memory_info().rss - memory) / 2**20, "MiB")
    report("abuse_threads_left", process.num_threads() - threads)
    report("abuse_files_open", process.num_fds() if hasattr(process, "num_fds") else -1)


def attack_own(options: argparse.Namespace) -> None:
    """A `codecoil serve` that is started for this."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary, "repository")
        root.mkdir()
        make(root, 60, 6_000)
        environment = dict(os.environ, CODECOIL_DATA=str(Path(temporary, "data")))
        command = [sys.executable, "-m", "app", "serve", str(root), "--json"]
        server = subprocess.Popen(
            command, env=environment, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            ready = json.loads(server.stdout.readline())
            enemy = Enemy(int(ready["url"].rpartition(":")[2]), ready["token"])
            attack(enemy, psutil.Process(server.pid), options)
        finally:
            server.send_signal(signal.SIGINT)
            _, errors = server.communicate(timeout=60)
        report("abuse_exit_code", server.returncode)
        report("abuse_words_on_stderr", len(errors.split()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0, help="that the slow clients take")
    parser.add_argument("--at", type=Path, metavar="FOLDER", help="the data folder of a server that runs already")
    options = parser.parse_args()
    if options.at is None:
        attack_own(options)
        return
    access = read_access(options.at)
    attack(Enemy(access.port, access.token), psutil.Process(access.process), options)


if __name__ == "__main__":
    main()
