"""Fetching a base model: the one connection that Codecoil makes, and only after the user agreed to host and size.

    list what the repository holds ─▶ fetch each file ─▶ compare every hash ─▶ take it into the store

The guard is open for the hosts of the hub, by name, and only inside `fetch`.  What is cut off is gone on with the next
time; what does not have the hash that the hub states for it is thrown away.  No token of the user is sent.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app import connections
from app.base_models import BaseModel
from engine.errors import CodecoilError

HUB = "https://huggingface.co"
ENDPOINT_VARIABLE = "HF_ENDPOINT"  # the hub's own setting: a mirror inside a company, or a stand-in
FILE_HOSTS = {"huggingface.co": ("hf.co",)}  # the hub passes large files on to hosts below these
WANTED = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
WEIGHTS = ".safetensors"
INDEX = ".safetensors.index.json"
CHUNK = 256 * 1024  # bytes between two reports; cancelling waits for one
TRIES, PAUSE, TIMEOUT = 4, 1.0, 30.0  # seconds
SLACK = 1.1  # a repository that holds more than this times what was agreed to is not what was agreed to
NETWORK_MODULES = ("huggingface_hub", "httpx2", "httpx", "httpcore2", "httpcore")
MOST_BESIDES = 64 << 20  # the sum of all that is not weights

Report = Callable[[int, int, str], None]  # bytes, of bytes, what is being done


class FetchError(CodecoilError):
    """A base model could not be fetched."""


@dataclass(frozen=True)
class HubFile:
    """A file as the hub states it.  Large ones have a SHA-256; small ones the hash by which git knows them."""

    name: str
    size: int
    sha256: str
    git_hash: str


@dataclass(frozen=True)
class Agreement:
    """What the user is asked to agree to."""

    model: BaseModel
    hosts: tuple[str, ...]
    nbytes: int

    @property
    def question(self) -> str:
        """The same in the window and on the command line."""
        from app.words import nbytes

        hosts = " and ".join(self.hosts)
        return (
            f"Fetch {self.model.name} ({nbytes(self.nbytes)}, {self.model.licence}) from {hosts}? "
            "The host sees your address and which files you ask for, and nothing of your code."
        )


def endpoint() -> str:
    """Where the hub is."""
    return os.environ.get(ENDPOINT_VARIABLE, "").rstrip("/") or HUB


def agreement_for(model: BaseModel) -> Agreement:
    """What fetching this model would mean.  Connects to nothing."""
    from urllib.request import getproxies  # slow to load; the list of models does not need it

    address = urlsplit(endpoint())
    host = address.hostname or ""
    hosts = [host, *FILE_HOSTS.get(host, ())]
    proxy = urlsplit(getproxies().get(address.scheme, "")).hostname
    if proxy and not connections.is_this_machine(host):
        hosts.append(proxy)
    return Agreement(model, tuple(hosts), model.nbytes)


def fetch(
    agreement: Agreement, data_folder: Path, report: Report, guard: connections.Guard | None = None, name: str = ""
) -> Any:
    """Fetch, check and import; gives the checkpoint's manifest.  `report` may raise to cancel: what is there stays."""
    model, folder = agreement.model, data_folder / "downloads" / agreement.model.name
    _need_room(agreement, data_folder)
    folder.mkdir(parents=True, exist_ok=True)
    guard = guard or connections.install()
    with guard.allowing(agreement.hosts, f"Get {model.name}"), _in_words(agreement):
        report(0, agreement.nbytes, f"Asking {agreement.hosts[0]}")
        try:
            commit, files = _listing(agreement)
            _download(agreement, commit, files, folder, report)
        finally:
            _hub().close_session()  # an idle connection would outlive what was agreed to
    _check(files, folder, report)

    from engine.checkpoints.formats.importing import import_checkpoint
    from engine.checkpoints.store import CheckpointStore

    report(agreement.nbytes, agreement.nbytes, "Taking it into the store")
    manifest = import_checkpoint(CheckpointStore(data_folder / "checkpoints"), folder, name or model.name)
    shutil.rmtree(folder)
    return manifest


def _hub():
    """The hub's library, loaded when it is needed, without the parts that the guard cannot see or nobody asked for."""
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # compiled: it would go around the guard
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1"
    import huggingface_hub
    import huggingface_hub.constants as constants

    constants.HF_HUB_DISABLE_XET = True  # in case that somebody loaded it before us
    constants.HF_HUB_DISABLE_TELEMETRY = True
    return huggingface_hub


def _listing(agreement: Agreement) -> tuple[str, list[HubFile]]:
    """The commit, and the files of it that we want; refused if that is not what was agreed to."""
    hub, model = _hub(), agreement.model
    info = hub.HfApi(endpoint=endpoint(), token=False).model_info(model.repository, files_metadata=True)
    files = [
        HubFile(each.rfilename, each.size or 0, each.lfs.sha256 if each.lfs else "", each.blob_id or "")
        for each in info.siblings or ()
        if "/" not in each.rfilename and (each.rfilename in WANTED or each.rfilename.endswith((WEIGHTS, INDEX)))
    ]
    weights = sum(file.size for file in files if file.name.endswith(WEIGHTS))
    others = sum(file.size for file in files) - weights
    if not weights or not any(file.name == "config.json" for file in files):
        raise FetchError(f"{model.repository} holds no weights that Codecoil reads.", "Choose another model.")
    if weights > SLACK * agreement.nbytes or others > MOST_BESIDES:
        raise FetchError(
            f"{model.repository} now holds {weights + others:,} bytes; you agreed to about {agreement.nbytes:,}.",
            "It is not what it was when this list was made. Nothing was fetched.",
        )
    if not all(file.sha256 or file.git_hash for file in files):
        raise FetchError(f"{agreement.hosts[0]} states no hash for some files.", "They could not be checked.")
    return info.sha or "main", files


def _download(agreement: Agreement, commit: str, files: list[HubFile], folder: Path, report: Report) -> None:
    """Fetch what is not there yet; a connection that breaks is taken up again a few times."""
    total, before = sum(file.size for file in files), 0
    for file in files:
        words = f"Fetching {file.name}"
        address = _hub().hf_hub_url(agreement.model.repository, file.name, revision=commit, endpoint=endpoint())
        for attempt in range(1, TRIES + 1):
            try:
                _fetch_file(address, file, folder, partial(_report_from, report, before, total, words))
                break
            except Exception as error:
                if attempt == TRIES or getattr(error, "response", None) is not None or not _is_of_network(error):
                    raise
                time.sleep(PAUSE)
        before += file.size


def _report_from(report: Report, before: int, total: int, words: str, done: int) -> None:
    report(before + done, total, words)


def _fetch_file(address: str, file: HubFile, folder: Path, report: Callable[[int], None]) -> None:
    """One file, beginning where an earlier try ended.  The hub's own library would begin anew."""
    if (folder / file.name).is_file():
        return
    part = folder / f"{file.name}.{(file.sha256 or file.git_hash)[:16]}.part"  # of this very content
    have = part.stat().st_size if part.is_file() else 0
    if have < file.size:
        from huggingface_hub.utils import get_session, hf_raise_for_status

        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with get_session().stream("GET", address, headers=headers, timeout=TIMEOUT, follow_redirects=True) as response:
            hf_raise_for_status(response)
            have = have if response.status_code == 206 else 0
            with open(part, "ab" if have else "wb") as out:
                for block in response.iter_bytes(CHUNK):
                    have += len(block)
                    if have > file.size:
                        break  # longer than stated: the hash will tell
                    out.write(block)
                    report(have)
    if have < file.size:
        raise ConnectionResetError(f"{file.name} ended after {have:,} of {file.size:,} bytes")
    os.replace(part, folder / file.name)


def _check(files: list[HubFile], folder: Path, report: Report) -> None:
    """Every file against its hash; one that differs is thrown away."""
    total, done = sum(file.size for file in files), 0
    for file in files:
        path = folder / file.name
        digest = hashlib.sha256() if file.sha256 else hashlib.sha1(f"blob {path.stat().st_size}\0".encode())
        with open(path, "rb") as opened:
            while block := opened.read(1 << 20):
                digest.update(block)
                done += len(block)
                report(done, total, f"Checking {file.name}")
        if digest.hexdigest() != (file.sha256 or file.git_hash):
            shutil.rmtree(folder)
            raise FetchError(
                f"{file.name} does not have the hash that the hub states for it. It was thrown away.",
                "Try again; if it happens again, something between here and the hub changes files.",
            )


def _need_room(agreement: Agreement, data_folder: Path) -> None:
    data_folder.mkdir(parents=True, exist_ok=True)
    needed, free = 2 * agreement.nbytes, shutil.disk_usage(data_folder).free  # once fetched, once in the store
    if needed > free:
        raise FetchError(
            f"There are {free / 1e9:.1f} GB free in {data_folder}; to fetch and to keep it takes {needed / 1e9:.1f}.",
            "Make room, or choose another data folder with --data-dir.",
        )


@contextlib.contextmanager
def _in_words(agreement: Agreement) -> Iterator[None]:
    """Errors of the hub's library and of the network as words for people."""
    try:
        yield
    except CodecoilError:
        raise
    except Exception as error:
        if not _is_of_network(error):
            raise
        raise FetchError(
            _cause(error, agreement),
            "Try again later: what was fetched is kept. A folder on disk can be imported instead.",
        ) from error


def _is_of_network(error: Exception) -> bool:
    return isinstance(error, OSError) or type(error).__module__.partition(".")[0] in NETWORK_MODULES


def _cause(error: Exception, agreement: Agreement) -> str:
    host, status = agreement.hosts[0], getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 404):
        return f"{host} has no model {agreement.model.repository} that everybody may have."
    if status is not None:
        return f"{host} answered with an error ({status})."
    return f"{host} cannot be reached: {(str(error) or type(error).__name__).splitlines()[0]}."
