"""The checks of a built program, on a stand-in that answers as Codecoil does and can be told to do one thing wrong."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
STAND_IN = """
import json, os, signal, sys, time
fault, *words = sys.argv[1:]
if words[0] == "--data-dir":
    data, words = words[1], words[2:]
    os.makedirs(data, exist_ok=True)
what = words[0] if words else "desktop"
assert "HOME" not in os.environ and "PATH" not in os.environ
if what == fault:
    sys.exit("it does not work")
if what == "--version":
    print("codecoil 9.9" if fault == "old" else "codecoil 1.2.3")
elif what == "devices":
    print(json.dumps({"devices": [{"name": "cpu"}, {"name": "webgpu:0"}]}))
elif what == "scan":
    names = ["tidewater/harbour.py", "board/src/board.ts", "docs/tides.md"] + [".gitignore"] * (fault != "lost")
    print(json.dumps({"files": [{"path": name} for name in names]}))
elif what == "train":
    if fault == "untidy":
        open("core", "w").close()
    if fault == "meddling":
        open(os.path.join(words[1], "harbour.pyc"), "w").close()
    sys.exit(1)  # nothing was better: no fault of the program's
elif what == "serve":
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            known = fault == "open" or self.headers["Authorization"] == "Bearer right"
            self.send_response(200 if known else 401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answers)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(3 if fault == "clinging" else 0))
    print(json.dumps({"token": "right", "url": f"http://127.0.0.1:{server.server_port}"}), flush=True)
    server.serve_forever()
elif what == "lsp":
    def read():
        length = int(sys.stdin.buffer.readline().split(b":")[1])
        sys.stdin.buffer.readline()
        return json.loads(sys.stdin.buffer.read(length))

    def reply(request, result):
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
        sys.stdout.buffer.flush()

    reply(read(), {"capabilities": {} if fault == "speechless" else {"inlineCompletionProvider": True}})
    reply(read(), None)
    read()
elif what == "--brief":  # the tour
    os.mkdir("tour")
    if fault != "blind":
        open("tour/one.png", "w").close()
elif what == "desktop":
    def leave(*_):
        if fault != "abrupt":
            os.write(log.fileno(), b"The window was closed\\n")  # print may just be writing the line above
        os._exit(143)
    signal.signal(signal.SIGTERM, leave)
    log = open(os.path.join(data, "codecoil.log"), "w")
    print("INFO Codecoil 1.2.3, Python", file=log, flush=True)
    if fault == "pages":
        sys.exit("a page is broken")
    if fault == "incomplete":
        print("WARNING app.window.plots could not be loaded ahead", file=log, flush=True)
    print("INFO Every page is loaded", file=log, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def checks(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(PACKAGING))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    module = importlib.import_module("checks")
    monkeypatch.setattr(module, "STARTS", 1)
    return module


@pytest.fixture
def try_out(checks, tmp_path):
    """All checks on the stand-in with this fault."""
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN)

    def try_out(fault: str):
        command = (sys.executable, "-I", "-S", str(script), fault)
        return checks.check(checks.Program(command, command, "1.2.3", command))

    return try_out


def test_a_program_that_works_passes_every_check(try_out):
    assert {
        "version",
        "selftest, again",
        "selftest on webgpu:0",
        "train",
        "complete",
        "serve",
        "lsp",
        "window, start 1",
        "tour",
    } <= set(try_out("none"))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("selftest", "selftest --device cpu exited with 1:\nit does not work"),
        ("old", "codecoil 9.9"),
        ("lost", "\\.gitignore"),
        ("complete", "exited with 1"),
        ("untidy", "was written to: \\['core'\\]"),
        ("meddling", "The repository was written to.*harbour.pyc"),
        ("serve", "ended with 1 before it was ready"),
        ("open", "token wrong… by 200"),
        ("clinging", "The server ended with 3"),
        ("lsp", "ended without an answer"),
        ("speechless", "offers no completions"),
        ("desktop", "did not log 'Codecoil '.*\nit does not work"),
        ("pages", "did not log 'Every page is loaded'.*\na page is broken"),
        ("incomplete", "app.window.plots could not be loaded"),
        ("abrupt", "exit code 143"),
        ("blind", "no picture"),
    ],
)
def test_a_fault_is_reported(checks, try_out, fault, words):
    with pytest.raises(checks.CheckFailed, match=words):
        try_out(fault)


ALONE = """
import http.server, socket, sys, threading, urllib.request
import checks
try:
    with checks.without_network():
        server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
        threading.Thread(target=server.handle_request).start()
        urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/", timeout=600).close()
        server.server_close()
        if sys.argv[1:]:
            try:
                socket.create_connection((sys.argv[1], 443), timeout=600)
            except OSError:
                pass
except checks.CheckFailed as problem:
    sys.exit(str(problem))
"""


@pytest.mark.parametrize("host", ["", "192.0.2.1", "2001:db8::1"])
def test_what_asks_for_the_network_fails_the_checks_and_loopback_does_not(host):
    command = [sys.executable, "-c", ALONE, *([host] if host else [])]
    done = subprocess.run(command, cwd=PACKAGING, capture_output=True, text=True, timeout=600)
    if "cannot be cut off" in done.stdout:
        pytest.skip("this system lets nobody leave the network")
    assert ("asked for a way out" in done.stderr) == bool(host) == (done.returncode == 1), done.stderr


def test_a_hidden_folder_is_empty_for_the_program_and_for_nobody_else(checks, tmp_path):
    (tmp_path / "file").write_text("here")
    prefix = checks.hiding(tmp_path)
    if not prefix:
        pytest.skip("this system lets nobody hide a folder")
    seen = subprocess.run([*prefix, "ls", str(tmp_path)], capture_output=True, text=True, check=True)
    assert seen.stdout == "" and (tmp_path / "file").is_file()
