"""Tests a Codecoil that was installed or built: from another folder, with an empty environment and no network.

build.py runs this on a frozen build and check_wheel.py on an installed wheel.  Every check prints a line with its time;
the first that fails ends the run with the program's own output.  Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import no_network

SAMPLE = Path(__file__).resolve().parent.parent / "resources" / "sample_repository"
SHORT_RUN = ("--steps", "24", "--batch-size", "2", "--sequence-length", "64", "--mode", "full")
KEPT, NOT_BETTER = 0, 1  # exit codes of a run that finished
PATIENCE = 3600.0  # seconds for one command; the first compiles kernels, and machines are busy
LOG = "codecoil.log"
READY = "Codecoil "  # the log's first line, written when the window is shown
EVERY_PAGE = "Every page is loaded"  # logged by app.window.preloading
NO_ANSWER = "The language server ended without an answer"
LEAVING = "The window was closed"
PROBLEMS = ("WARNING", "ERROR")  # of the log
STARTS = 3


class CheckFailed(Exception):
    """A check failed; the message says what was seen instead."""


@dataclass(frozen=True)
class Program:
    """How a Codecoil is started: its command line, its desktop, and the tour of it if that can be taken."""

    command: tuple[str, ...]
    desktop: tuple[str, ...]
    version: str
    tour: tuple[str, ...] = ()


@dataclass
class Checks:
    """One program, a folder that it is started from, and one for its data."""

    program: Program
    place: Path
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.place / "data"

    @property
    def sample(self) -> Path:
        return self.place / "tidewater"

    def run(self, *arguments: str, codes: Sequence[int] = (0,)) -> str:
        """What a command prints; fails unless its exit code is one of `codes`."""
        return self.start(self.program.command, "--data-dir", str(self.data), *arguments, codes=codes)

    def start(self, program: Sequence[str], *arguments: str, codes: Sequence[int] = (0,)) -> str:
        done = subprocess.run(
            [*program, *arguments],
            cwd=self.place / "elsewhere",
            env=empty_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        if done.returncode not in codes:
            last = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
            raise CheckFailed(f"{' '.join([program[-1], *arguments])} exited with {done.returncode}:\n{last}")
        return done.stdout

    @contextlib.contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """A check by name; prints how long it took."""
        began = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - began
        print(f"{self.seconds[name]:8.1f} s  {name}", flush=True)


def hiding(folder: Path) -> tuple[str, ...]:
    """A prefix for a command that makes it see `folder` empty; () if the system does not allow that."""
    unshare, shell = shutil.which("unshare"), shutil.which("sh")
    if not unshare or not shell:
        return ()
    prefix = (unshare, "--mount", shell, "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(folder))
    seen = subprocess.run([*prefix, "ls", str(folder)], capture_output=True, check=False)
    return prefix if seen.returncode == 0 and not seen.stdout else ()


@contextlib.contextmanager
def without_network() -> Iterator[None]:
    """Cut this process off for good, and all that it starts; fails if anything wanted to reach beyond this machine."""
    alone = no_network.cut_off()
    if not alone:
        print("            the network cannot be cut off on this system: nobody counts who asks for it", flush=True)
    before = no_network.tried_to_leave() if alone else 0
    yield
    count = no_network.tried_to_leave() - before if alone else 0
    if count:
        raise CheckFailed(f"Something asked for a way out of this machine, {count} times; there was none")


def empty_environment() -> dict[str, str]:
    """Empty, except on Windows for the one variable that no program starts without."""
    return {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}


def check(program: Program, with_webgpu: bool = True) -> dict[str, float]:
    """Run all checks; returns the seconds of each by name.  Raises CheckFailed at the first failure."""
    with tempfile.TemporaryDirectory(prefix="codecoil-check-") as place:
        checks = Checks(program, Path(place))
        (checks.place / "elsewhere").mkdir()
        shutil.copytree(SAMPLE, checks.sample, ignore=shutil.ignore_patterns("__pycache__"))
        before = listing(checks.sample)
        check_command_line(checks, with_webgpu)
        check_training(checks)
        check_server(checks)
        check_language_server(checks)
        check_desktop(checks)
        if program.tour:
            check_tour(checks)
        if listing(checks.sample) != before:
            raise CheckFailed(f"The repository was written to: {sorted(listing(checks.sample) ^ before)}")
        if left := [path.name for path in (checks.place / "elsewhere").iterdir() if path.name != "tour"]:
            raise CheckFailed(f"The folder that it was started from was written to: {left}")
        return checks.seconds


def listing(folder: Path) -> set[tuple[str, int]]:
    """Every file of a folder with its size."""
    return {(str(path.relative_to(folder)), path.stat().st_size) for path in folder.rglob("*") if path.is_file()}


def check_command_line(checks: Checks, with_webgpu: bool) -> None:
    """Version, devices, and every kernel on each; the kernels are compiled only once."""
    with checks.timed("version"):
        printed = checks.run("--version").strip()
        if printed != f"codecoil {checks.program.version}":
            raise CheckFailed(f"--version prints {printed!r} instead of codecoil {checks.program.version}")
    with checks.timed("devices"):
        devices = [device["name"] for device in json.loads(checks.run("devices", "--json"))["devices"]]
    with checks.timed("selftest, first time"):
        checks.run("selftest", "--device", "cpu")
    with checks.timed("selftest, again"):
        checks.run("selftest", "--device", "cpu")
    adapters = [name for name in devices if name.startswith("webgpu")]
    if not adapters:
        print("            no WebGPU adapter on this machine: its kernels were not tested", flush=True)
    elif with_webgpu:
        with checks.timed(f"selftest on {adapters[0]}"):
            checks.run("selftest", "--device", adapters[0])


def check_training(checks: Checks) -> None:
    """From a folder to a completion, on the sample project."""
    with checks.timed("scan"):
        files = json.loads(checks.run("scan", str(checks.sample), "--json"))["files"]
        known = {Path(file["path"]).name for file in files}
        if missing := {".gitignore", "harbour.py", "board.ts", "tides.md"} - known:
            raise CheckFailed(f"The scan of the sample does not list {', '.join(sorted(missing))}")
    with checks.timed("train"):
        checks.run("train", str(checks.sample), *SHORT_RUN, codes=(KEPT, NOT_BETTER))
    with checks.timed("complete"):
        harbour = checks.sample / "tidewater" / "harbour.py"
        checks.run("complete", "--file", str(harbour), "--line", "20", "--max-tokens", "8")
    with checks.timed("checkpoints list, base list"):
        checks.run("checkpoints", "list")
        checks.run("base", "list")


def check_server(checks: Checks) -> None:
    """`serve` answers a request that has its token, refuses one that has not, and ends on SIGTERM."""
    with checks.timed("serve"), started(checks, "serve", str(checks.sample), "--json") as server:
        line = server.stdout.readline()
        if not line:
            raise CheckFailed(f"The server ended with {server.wait(PATIENCE)} before it was ready")
        ready = json.loads(line)
        body = json.dumps({"input_prefix": "def ", "input_suffix": "", "prompt": ""}).encode()
        for token, expected in ((ready["token"], 200), ("wrong", 401)):
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            request = urllib.request.Request(f"{ready['url']}/infill", body, headers)
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                    status = response.status
            except urllib.error.HTTPError as refusal:
                status = refusal.code
            if status != expected:
                raise CheckFailed(f"The server answered a request with the token {token[:5]}… by {status}")
        server.send_signal(signal.SIGTERM)
        if server.wait(PATIENCE) and sys.platform != "win32":
            raise CheckFailed(f"The server ended with {server.returncode}")


def check_language_server(checks: Checks) -> None:
    """`lsp` introduces itself and leaves when it is told to."""
    with checks.timed("lsp"), started(checks, "lsp", "--stdio") as server:
        folder = {"uri": checks.sample.as_uri(), "name": checks.sample.name}
        send(
            server,
            id=1,
            method="initialize",
            params={"processId": None, "capabilities": {}, "workspaceFolders": [folder]},
        )
        if "inlineCompletionProvider" not in answer(server, 1)["capabilities"]:
            raise CheckFailed("The language server offers no completions")
        send(server, id=2, method="shutdown")
        answer(server, 2)
        send(server, method="exit")
        if server.wait(PATIENCE):
            raise CheckFailed(f"The language server ended with {server.returncode}")


@contextlib.contextmanager
def started(checks: Checks, *arguments: str) -> Iterator[subprocess.Popen]:
    """A command that runs until it is told to end; killed if it was not."""
    process = subprocess.Popen(
        [*checks.program.command, "--data-dir", str(checks.data), *arguments],
        cwd=checks.place / "elsewhere",
        env=empty_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def send(server: subprocess.Popen, **content: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **content}).encode()
    try:
        server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        server.stdin.flush()
    except BrokenPipeError as gone:
        raise CheckFailed(NO_ANSWER) from gone


def answer(server: subprocess.Popen, id: int) -> Any:
    """The result of a request; what the server says unasked is passed over."""
    while header := server.stdout.readline():
        server.stdout.readline()
        message = json.loads(server.stdout.read(int(header.split(b":")[1])))
        if message.get("id") == id and "method" not in message:
            return message["result"]
    raise CheckFailed(NO_ANSWER)


def check_desktop(checks: Checks) -> None:
    """The desktop opens its window, loads every page without a problem and closes on SIGTERM.

    Several times, for the time from start to window.
    """
    for number in range(STARTS):
        data = checks.place / f"desktop-{number}"
        shutil.copytree(checks.data, data, ignore=shutil.ignore_patterns(LOG))
        log = data / LOG
        began = time.monotonic()
        desktop = subprocess.Popen(
            [*checks.program.desktop, "--data-dir", str(data)],
            cwd=checks.place / "elsewhere",
            env=empty_environment() | {"QT_QPA_PLATFORM": "offscreen"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_for(desktop, log, READY)
            checks.seconds[f"window, start {number + 1}"] = time.monotonic() - began
            print(f"{time.monotonic() - began:8.1f} s  window, start {number + 1}", flush=True)
            wait_for(desktop, log, EVERY_PAGE)
            desktop.send_signal(signal.SIGTERM)
            desktop.communicate(timeout=PATIENCE)
        finally:
            if desktop.poll() is None:
                desktop.kill()
                desktop.communicate()
        lines = log.read_text(encoding="utf-8")
        if any(word in lines for word in PROBLEMS):
            raise CheckFailed(f"The desktop logged a problem:\n{lines}")
        if sys.platform != "win32" and LEAVING not in lines:
            raise CheckFailed(f"The desktop did not close cleanly (exit code {desktop.returncode})")


def wait_for(process: subprocess.Popen, log: Path, words: str) -> None:
    """Wait until the log contains `words`; fails if the process ends first."""
    deadline = time.monotonic() + PATIENCE
    while not (log.is_file() and words in log.read_text(encoding="utf-8")):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            output = process.communicate()[0].decode(errors="replace")
            lines = log.read_text(encoding="utf-8") if log.is_file() else ""
            raise CheckFailed(f"The desktop did not log {words!r} (exit code {process.returncode}):\n{output}{lines}")
        time.sleep(0.01)


def check_tour(checks: Checks) -> None:
    """The tour of the real window, which needs a Python to run in: a frozen build has none."""
    with checks.timed("tour"):
        checks.start(checks.program.tour, "--brief", "--out", "tour")
        if not list((checks.place / "elsewhere" / "tour").glob("*.png")):
            raise CheckFailed("The tour left no picture")
