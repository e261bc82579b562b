"""A stand-in for the hub on loopback: states a repository's files with hashes, gives them out, in parts if asked."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

COMMIT = "0123456789abcdef0123456789abcdef01234567"


HOLD_AT_MOST = 600  # seconds: a test that never releases ends all the same


@dataclass
class Hub:
    """What it has, what it was asked for, and the faults that a test plants."""

    repository: str
    files: dict[str, bytes]
    stated: dict[str, str] = field(default_factory=dict)  # hashes that it states instead of the true ones
    sizes: dict[str, int] = field(default_factory=dict)
    missing: bool = False
    breaks: list[int] = field(default_factory=list)  # bytes of weights after which the connection breaks, once each
    delay: float = 0.0  # seconds before each 1,000 bytes
    holds_at: int = 0  # bytes of weights after which it waits until `released`
    released: threading.Event = field(default_factory=threading.Event)
    silent: str = ""  # how the path ends at which it accepts and says no more, until it is ended
    passes_on: str = ""  # where it sends who asks for weights
    asked: list[tuple[str, str, str]] = field(default_factory=list)  # method, path, range
    headers: list[dict[str, str]] = field(default_factory=list)
    address: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def listing(self) -> dict:
        siblings = []
        for name, content in self.files.items():
            size = self.sizes.get(name, len(content))
            entry = {"rfilename": name, "size": size, "blobId": git_hash(content)}
            if name.endswith(".safetensors"):
                sha256 = self.stated.get(name, hashlib.sha256(content).hexdigest())
                entry["lfs"] = {"size": size, "sha256": sha256, "pointerSize": 134}
            elif name in self.stated:
                entry["blobId"] = self.stated[name]
            siblings.append(entry)
        return {"_id": "1", "id": self.repository, "modelId": self.repository, "sha": COMMIT, "siblings": siblings}

    def fetched(self) -> list[str]:
        """The files that were asked for, in order."""
        return [path.rpartition("/")[2] for method, path, _ in self.asked if method == "GET" and "/resolve/" in path]


def git_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def handler_for(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def do_GET(self) -> None:
            self.answer(with_body=True)

        def answer(self, with_body: bool) -> None:
            path, wanted = self.path.partition("?")[0], self.headers.get("Range", "")
            hub.asked.append((self.command, path, wanted))
            hub.headers.append({name.lower(): value for name, value in self.headers.items()})
            name = path.rpartition("/")[2]
            if hub.silent and path.endswith(hub.silent):
                hub.over.wait()
                self.close_connection = True
            elif hub.passes_on and name.endswith(".safetensors") and self.headers["Host"] in hub.address:
                self.reply(302, b"", {"Location": hub.passes_on + path}, with_body)
            elif hub.missing:
                self.reply(404, b"{}", {"X-Error-Code": "RepoNotFound"}, with_body)
            elif path.startswith(f"/api/models/{hub.repository}"):
                self.reply(200, json.dumps(hub.listing()).encode(), {"Content-Type": "application/json"}, with_body)
            elif path.startswith(f"/{hub.repository}/resolve/{COMMIT}/") and name in hub.files:
                content = hub.files[name]
                tag = {"ETag": f'"{git_hash(content)}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
                if wanted:
                    start = int(wanted.removeprefix("bytes=").partition("-")[0])
                    tag["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
                    self.reply(206, content[start:], tag, with_body)
                else:
                    self.reply(200, content, tag, with_body)
            else:
                self.reply(404, b"{}", {"X-Error-Code": "EntryNotFound"}, with_body)

        def reply(self, status: int, body: bytes, headers: dict[str, str], with_body: bool) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body and hub.breaks and self.path.endswith(".safetensors"):
                body, self.close_connection = body[: hub.breaks.pop(0)], True
            for start in range(0, len(body), 1000) if with_body else ():
                time.sleep(hub.delay)
                if hub.holds_at and start >= hub.holds_at and self.path.endswith(".safetensors"):
                    hub.released.wait(HOLD_AT_MOST)
                self.wfile.write(body[start : start + 1000])

        def log_message(self, *_arguments) -> None:
            """A test reads `asked`."""

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                return  # whoever asked has cancelled

    return Handler


def serve(hub: Hub, host: str = "127.0.0.1") -> Callable[[], None]:
    """Start it; gives what ends it."""

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

    server = Server((host, 0), handler_for(hub))
    hub.address = f"http://{host}:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="hub")
    thread.start()

    def end() -> None:
        hub.over.set()
        server.shutdown()
        server.server_close()
        thread.join()

    return end
