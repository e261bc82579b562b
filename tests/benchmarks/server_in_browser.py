"""Pages in a real browser against a real `codecoil serve`: nothing is answered, nothing can be read.

    python tests/benchmarks/server_in_browser.py [--chromium PROGRAM]

Needs Chromium (Debian: chromium). Three pages try the same (`server_in_browser.html`):

    cross    one on another port of this machine, at the server
    rebound  one whose name has come to mean this machine (DNS rebinding): for the browser, the server is its own origin
    control  one at a server that lets everyone in: the attempts themselves work

What the page could read, it reports; what was sent and answered comes from the browser's own network log.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

from measure import report  # noqa: E402
from synthetic_repository import make  # noqa: E402

PAGE = Path(__file__).with_suffix(".html").read_text()
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--net-log-capture-mode=Everything",
)
REBOUND = "attacker.test"
PATIENCE = 180.0  # seconds for a page to try everything
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "authorization, content-type, x-api-key",
    "Access-Control-Allow-Methods": "*",
}


class Local(ThreadingHTTPServer):
    """On a free port of this machine, in a thread of its own."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    def handle_error(self, *_: object) -> None:
        """The browser has closed a connection: nothing to say."""


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def log_message(self, *_: object) -> None:
        pass


class Careless(Quiet):
    """What the control asks: everyone is let in."""

    def do_GET(self) -> None:
        self.body()
        self.reply(200, b'{"content":"open to all"}', "application/json", CORS)

    do_POST = do_PUT = do_OPTIONS = do_GET


class Attacker(Quiet):
    """Serves its page under a path that only it knows, takes the report, and, asked as a proxy, passes everything else
    on: the attacker's name means this machine by then."""

    plan: dict[str, str]
    reported: dict
    done: threading.Event
    forward_to: int

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == f"/page/{self.plan['secret']}":
            self.reply(200, PAGE.replace("{{plan}}", json.dumps(self.plan)).encode(), "text/html; charset=utf-8")
        elif path == f"/report/{self.plan['secret']}":
            self.reported.update(json.loads(self.body()))
            self.reply(200, b"{}", "application/json")
            self.done.set()
        elif self.path.startswith(f"http://{REBOUND}:{self.forward_to}/"):
            self._forward(path)
        else:
            self.reply(404, b"", "text/plain")

    do_POST = do_PUT = do_OPTIONS = do_GET

    def _forward(self, path: str) -> None:
        """As the browser sent it, its Host included."""
        connection = http.client.HTTPConnection("127.0.0.1", self.forward_to, timeout=30)
        connection.putrequest(self.command, path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if not name.lower().startswith("proxy-"):
                connection.putheader(name, value)
        connection.endheaders(self.body())
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        self.reply(answer.status, data, answer.headers.get("Content-Type", "text/plain"))


def attacked(chromium: str, target_port: int, token: str, *, rebound: bool) -> tuple[dict, list[tuple[str, str, int]]]:
    """What the page could read, and the requests that reached the target: method, path, status."""
    reported, done, secret = {}, threading.Event(), secrets.token_hex(8)
    name = REBOUND if rebound else "127.0.0.1"
    fields = {"reported": reported, "done": done, "forward_to": target_port}
    fields["plan"] = {"target": f"http://{name}:{target_port}", "token": token, "secret": secret}
    server = Local(type("This", (Attacker,), fields))
    page = f"http://{name}:{target_port if rebound else server.port}/page/{secret}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        log = Path(temporary, "net.json")
        command = [chromium, *FLAGS, f"--user-data-dir={temporary}/profile", f"--log-net-log={log}"]
        command += [f"--proxy-server=127.0.0.1:{server.port}"] if rebound else []
        command += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = subprocess.Popen([*command, "--remote-debugging-port=0", page], stderr=subprocess.DEVNULL)
        try:
            if not done.wait(PATIENCE):
                raise SystemExit("The page has reported nothing: did Chromium start?")
        finally:
            browser.terminate()
            browser.wait(30)
            server.shutdown()
            server.server_close()
        exchanges = [one for one in exchanges_in(log, name, target_port) if secret not in one[1]]
    return reported, exchanges


def exchanges_in(log: Path, name: str, port: int) -> list[tuple[str, str, int]]:
    """From the browser's network log, whose lines are events: what was asked of `name:port`, and the status."""
    text = log.read_text(errors="replace")
    constants = json.loads(re.search(r'"logEventTypes":(\{.*?\})', text)[1])
    kinds = {number: word for word, number in constants.items()}
    asked: dict[int, tuple[str, str]] = {}
    found = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            event = json.loads(line.rstrip(",").removesuffix("]}"))
            kind, params, source = kinds[event["type"]], event.get("params", {}), event["source"]["id"]
            if kind in ("URL_REQUEST_START_JOB", "CORS_PREFLIGHT_URL_REQUEST") and "url" in params:
                address = urlsplit(params["url"])
                if (address.hostname, address.port) == (name, port):
                    asked[source] = (params.get("method", "?"), address.path)
            elif kind == "HTTP_TRANSACTION_READ_RESPONSE_HEADERS" and source in asked:
                found.append((*asked[source], int(params["headers"][0].split()[1])))
    return found


@contextlib.contextmanager
def served() -> Iterator[tuple[int, str]]:
    """Port and token of a `codecoil serve` of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary, "repository")
        root.mkdir()
        make(root, 60, 6_000)
        environment = dict(os.environ, CODECOIL_DATA=str(Path(temporary, "data")))
        command = [sys.executable, "-m", "app", "serve", str(root), "--json"]
        server = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE)
        try:
            ready = json.loads(server.stdout.readline())
            yield int(ready["url"].rpartition(":")[2]), ready["token"]
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)


def say(name: str, reported: dict, exchanges: list[tuple[str, str, int]], shows: bool) -> None:
    """`shows`: list what could be read and what was answered with 200."""
    report(f"browser_{name}_tried", reported["tried"])
    report(f"browser_{name}_arrived", len(exchanges))
    statuses = Counter(status for _, _, status in exchanges)
    report(f"browser_{name}_statuses", " ".join(f"{status}:{count}" for status, count in sorted(statuses.items())))
    report(f"browser_{name}_answered", statuses[200])
    completed = [one for one in reported["read"] if '"content"' in one["text"] or '"choices"' in one["text"]]
    report(f"browser_{name}_read", len(reported["read"]))
    report(f"browser_{name}_completions_read", len(completed))
    if shows:
        for exchange in exchanges:
            if exchange[2] == 200:
                print(f"  answered: {exchange}")
        for one in sorted({(one["way"], one["text"]) for one in reported["read"]}):
            print(f"  read: {one}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chromium", default="chromium", metavar="PROGRAM")
    options = parser.parse_args()
    careless = Local(Careless)
    say("control", *attacked(options.chromium, careless.port, "token", rebound=False), False)
    careless.shutdown()
    with served() as (port, token):
        say("cross", *attacked(options.chromium, port, token, rebound=False), True)
        say("rebound", *attacked(options.chromium, port, token, rebound=True), True)


if __name__ == "__main__":
    main()
