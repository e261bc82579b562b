"""Downloading a base model: the one connection that Codecoil makes, only after the user agreed to host and size.

    list the repository ─▶ download each file ─▶ verify every checksum ─▶ import into the store
    or, from the package index: `package_fetching` ──────────────────────────┘

The guard is open for the named hosts of the hub, and only inside `fetch`.  An interrupted download is resumed the next
time; a file that does not match the hub's checksum is deleted.  No token of the user is sent.

A silent connection is dropped after `WAIT` and tried again; `report` is called between two tries, so that cancelling
never takes longer than that.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

from app.network import connections
from app.network.agreement import Agreement, FetchError, Report, endpoint
from app.network.package_fetching import fetch_package
from engine.errors import CodecoilError

WANTED = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
WEIGHTS = ".safetensors"
INDEX = ".safetensors.index.json"
CHUNK = 256 * 1024  # bytes between two reports; cancelling waits for one
WAIT, PAUSE, LOOK = 4.0, 1.0, 0.1  # seconds: for an answer or a block, between two tries, between two looks meanwhile
TRIES = 6  # without a single new byte
MOST_HOPS = 5  # from one host to another
SLACK = 1.1  # a repository that holds more than this times what was agreed to is not what was agreed to
NETWORK_MODULES = ("huggingface_hub", "httpx2", "httpx", "httpcore2", "httpcore")
MOST_BESIDES = 64 << 20  # the sum of all that is not weights

T = TypeVar("T")


@dataclass(frozen=True)
class HubFile:
    """A file as the hub lists it.  Large ones have a SHA-256, small ones the hash that git uses."""

    name: str
    size: int
    sha256: str
    git_hash: str


def downloads_folder(data_folder: Path) -> Path:
    """Where files are until they are complete and verified."""
    return data_folder / "downloads"


def fetch(
    agreement: Agreement, data_folder: Path, report: Report, guard: connections.Guard | None = None, name: str = ""
) -> Any:
    """Download, verify and import; returns the manifest.  `report` may raise to cancel.

    Partial files of the hub stay for the next time, those of the package index do not.
    """
    guard = guard or connections.install()
    with _in_words(agreement):
        folder = downloads_folder(data_folder) / agreement.model.name
        _need_room(agreement, data_folder, folder)
        with guard.allowing(agreement.hosts, f"Get {agreement.model.name}"):
            if agreement.model.package:
                path, files = fetch_package(agreement, folder, report, guard), []
            else:
                path, files = folder, _fetch_files(agreement, folder, report)
        _check(files, folder, report)
        try:
            manifest = _import(agreement, data_folder, path, name, report)
        except BaseException:
            if agreement.model.package:
                shutil.rmtree(folder)
            raise
        shutil.rmtree(folder)
        return manifest


def _import(agreement: Agreement, data_folder: Path, path: Path, name: str, report: Report) -> Any:
    """Into the store; `report` may still raise to cancel, and the store then removes what it has written."""
    from engine.checkpoints.formats.importing import import_checkpoint
    from engine.checkpoints.store.store import CheckpointStore
    from engine.checkpoints.store.writing import WatchedDisk

    total, done, words = agreement.model.stored_nbytes, 0, "Importing the model"

    def wrote(count: int) -> None:
        nonlocal done
        done = min(done + count, total)
        report(done, total, words)

    report(0, total, words)
    store = CheckpointStore(data_folder / "checkpoints", WatchedDisk(wrote=wrote))
    return import_checkpoint(store, path, name or agreement.model.name)


def _fetch_files(agreement: Agreement, folder: Path, report: Report) -> list[HubFile]:
    """Download what is missing; returns the hub's list of files."""
    folder.mkdir(parents=True, exist_ok=True)
    asking = partial(report, 0, agreement.nbytes, f"Connecting to {agreement.hosts[0]}")
    try:
        commit, files = _with_tries(partial(_listing, agreement), asking)
        _drop_stale(files, folder, report)
        _download(agreement, commit, files, folder, report)
    finally:
        _hub().close_session()  # an idle connection would outlive the agreement
    return files


def _hub():
    """The hub's library, loaded on demand, without telemetry and without the part that the guard cannot see."""
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # compiled: it would bypass the guard
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1"
    import huggingface_hub
    import huggingface_hub.constants as constants

    constants.HF_HUB_DISABLE_XET = True  # in case it was loaded before
    constants.HF_HUB_DISABLE_TELEMETRY = True
    return huggingface_hub


def _listing(agreement: Agreement) -> tuple[str, list[HubFile]]:
    """The commit and its files that we need; refused if they are not what was agreed to."""
    hub, model = _hub(), agreement.model
    info = hub.HfApi(endpoint=endpoint(), token=False).model_info(model.repository, files_metadata=True, timeout=WAIT)
    files = [
        HubFile(each.rfilename, each.size or 0, each.lfs.sha256 if each.lfs else "", each.blob_id or "")
        for each in info.siblings or ()
        if "/" not in each.rfilename and (each.rfilename in WANTED or each.rfilename.endswith((WEIGHTS, INDEX)))
    ]
    weights = sum(file.size for file in files if file.name.endswith(WEIGHTS))
    others = sum(file.size for file in files) - weights
    if not weights or not any(file.name == "config.json" for file in files):
        raise FetchError(f"{model.repository} has no weights that Codecoil can read.", "Choose another model.")
    if weights > SLACK * agreement.nbytes or others > MOST_BESIDES:
        raise FetchError(
            f"{model.repository} now holds {weights + others:,} bytes; you agreed to about {agreement.nbytes:,}.",
            "The model has changed since this list was made. Nothing was downloaded.",
        )
    if not all(file.sha256 or file.git_hash for file in files):
        raise FetchError(f"{agreement.hosts[0]} gives no checksum for some files.", "They could not be verified.")
    return info.sha or "main", files


def _drop_stale(files: list[HubFile], folder: Path, report: Report) -> None:
    """Delete what an earlier attempt left and the hub no longer lists."""
    wanted, parts = {file.name: file for file in files}, {_part(file, folder) for file in files}
    for path in sorted(folder.iterdir()):
        file = wanted.get(path.name)
        if path not in parts and not (file and _has_its_hash(path, file, _checking(report, files, file))):
            path.unlink()


def _download(agreement: Agreement, commit: str, files: list[HubFile], folder: Path, report: Report) -> None:
    """Download what is missing; a broken or silent connection is retried."""
    total, before = sum(file.size for file in files), 0
    for file in files:
        if not (folder / file.name).is_file():
            address = _hub().hf_hub_url(agreement.model.repository, file.name, revision=commit, endpoint=endpoint())
            progress = partial(_report_from, report, before, total, f"Downloading {file.name}")
            kept = partial(_size, _part(file, folder))
            _with_tries(
                partial(_fetch_file, agreement, address, file, folder, progress), partial(_tell, progress, kept), kept
            )
        before += file.size


def _tell(progress: Callable[[int], None], kept: Callable[[], int]) -> None:
    progress(kept())


def _report_from(report: Report, before: int, total: int, words: str, done: int) -> None:
    report(before + done, total, words)


def _with_tries(do: Callable[[], T], look: Callable[[], None], so_far: Callable[[], int] = lambda: 0) -> T:
    """The result of `do`.  Network errors are retried until `TRIES` in a row have brought nothing new."""
    tries, had = 0, so_far()
    while True:
        look()
        try:
            return do()
        except Exception as error:
            have = so_far()
            tries, had = (1 if have > had else tries + 1), have
            if tries == TRIES or getattr(error, "response", None) is not None or not _is_of_network(error):
                raise
        until = time.monotonic() + PAUSE
        while (left := until - time.monotonic()) > 0:
            look()
            time.sleep(min(left, LOOK))


def _part(file: HubFile, folder: Path) -> Path:
    """The partial file, named by its content, so that another commit's is not appended to it."""
    return folder / f"{file.name}.{(file.sha256 or file.git_hash)[:16]}.part"


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _fetch_file(agreement: Agreement, address: str, file: HubFile, folder: Path, report: Callable[[int], None]) -> None:
    """One file, starting where an earlier attempt ended.  The hub's own library would start over."""
    part = _part(file, folder)
    part.touch()
    have = _size(part)
    if have < file.size:
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with _answer(agreement, address, headers) as response:
            have = have if response.status_code == 206 else 0
            with open(part, "ab" if have else "wb") as out:
                for block in response.iter_bytes(CHUNK):
                    have += len(block)
                    if have > file.size:
                        break  # longer than listed: the checksum will fail
                    out.write(block)
                    report(have)
    if have < file.size:
        raise ConnectionResetError(f"{file.name} ended after {have:,} of {file.size:,} bytes")
    os.replace(part, folder / file.name)


@contextlib.contextmanager
def _answer(agreement: Agreement, address: str, headers: dict[str, str]) -> Iterator[Any]:
    """The response at an address, following redirects to agreed hosts only."""
    from huggingface_hub.utils import get_session, hf_raise_for_status

    for _ in range(MOST_HOPS):
        with get_session().stream("GET", address, headers=headers, timeout=WAIT, follow_redirects=False) as response:
            if not response.has_redirect_location:
                hf_raise_for_status(response)
                yield response
                return
            address = urljoin(address, response.headers["location"])
        _need_agreed(agreement, urlsplit(address).hostname or "")
    raise FetchError(f"{agreement.hosts[0]} redirects too many times.", "Try again later.")


def _need_agreed(agreement: Agreement, host: str) -> None:
    """A test server on this machine may redirect to another one there; the hub may not."""
    own = connections.is_this_machine(agreement.hosts[0]) and connections.is_this_machine(host)
    if not own and not connections.Permission(agreement.hosts, "").covers(host):
        raise FetchError(
            f"{agreement.hosts[0]} redirects to {host}, which you did not agree to.",
            "That host was not contacted. Download the model another way and import its folder.",
        )


def _check(files: list[HubFile], folder: Path, report: Report) -> None:
    """Verify every file's checksum; one that differs is deleted."""
    for file in files:
        path = folder / file.name
        if not _has_its_hash(path, file, _checking(report, files, file)):
            path.unlink()
            raise FetchError(
                f"{file.name} does not match the checksum given by the hub. It was deleted.",
                "Try again. If it happens again, something between you and the hub is altering files.",
            )


def _checking(report: Report, files: list[HubFile], file: HubFile) -> Callable[[int], None]:
    """Reports how far the verification of one file is."""
    sizes = [each.size for each in files]
    return partial(_report_from, report, sum(sizes[: files.index(file)]), sum(sizes), f"Checking {file.name}")


def _has_its_hash(path: Path, file: HubFile, report: Callable[[int], None]) -> bool:
    digest = hashlib.sha256() if file.sha256 else hashlib.sha1(f"blob {path.stat().st_size}\0".encode())
    done = 0
    with open(path, "rb") as opened:
        while block := opened.read(1 << 20):
            digest.update(block)
            done += len(block)
            report(done)
    return digest.hexdigest() == (file.sha256 or file.git_hash)


def _need_room(agreement: Agreement, data_folder: Path, folder: Path) -> None:
    """Space for the download and for the store, less what is already downloaded."""
    data_folder.mkdir(parents=True, exist_ok=True)
    kept = sum(_size(path) for path in folder.glob("*"))
    needed, free = agreement.model.room - kept, shutil.disk_usage(data_folder).free
    if needed > free:
        raise FetchError(
            f"{data_folder} has {free / 1e9:.1f} GB free, but downloading and storing takes {needed / 1e9:.1f} GB.",
            "Free some space, or choose another data folder with --data-dir.",
        )


@contextlib.contextmanager
def _in_words(agreement: Agreement) -> Iterator[None]:
    """Turn errors of the hub's library, the network and the disk into messages."""
    try:
        yield
    except CodecoilError:
        raise
    except Exception as error:
        kept = "" if agreement.model.package else ": what was downloaded is kept"
        if _is_of_network(error):
            remedy = f"Try again later{kept}. You can also import a folder from disk."
            raise FetchError(_cause(error, agreement), remedy) from error
        if isinstance(error, OSError):
            cause = f"{error.filename or 'The data folder'} cannot be written: {error.strerror or error}."
            raise FetchError(cause, f"Free some space or fix that, and try again{kept}.") from error
        raise


def _is_of_network(error: Exception) -> bool:
    kinds = (ConnectionError, TimeoutError, socket.gaierror)
    return isinstance(error, kinds) or type(error).__module__.partition(".")[0] in NETWORK_MODULES


def _cause(error: Exception, agreement: Agreement) -> str:
    host, status = agreement.hosts[0], getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 404):
        return f"{host} has no model {agreement.model.repository} that is publicly available."
    if status is not None:
        return f"{host} answered with an error ({status})."
    return f"{host} cannot be reached: {(str(error) or type(error).__name__).splitlines()[0]}."
