"""The token and the address, in a file of the data folder that only its owner can read.

The token stays the same between starts: it is in the settings of people's editors. Deleting the file makes a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.atomic_file import replace_file
from engine.errors import ConfigError

FILE_NAME = "server.json"
TOKEN_BYTES = 32
OWNER_ONLY = 0o600


@dataclass(frozen=True)
class Access:
    """`port` and `process`: of the server that runs now, or ran last; 0 if none has."""

    token: str
    port: int = 0
    process: int = 0


def read_access(folder: Path) -> Access | None:
    """What the file says; None where there is none, or it is damaged or open to others."""
    path = folder / FILE_NAME
    try:
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            return None  # others may have read it
        content = json.loads(path.read_bytes()[:4096])
        access = Access(content["token"], content.get("port", 0), content.get("process", 0))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    usable = isinstance(access.token, str) and len(access.token) >= TOKEN_BYTES and access.token.isascii()
    return access if usable and isinstance(access.port, int) and isinstance(access.process, int) else None


def token_of(folder: Path) -> str:
    """The token, made and kept if there is none yet."""
    access = read_access(folder)
    if access is None:
        access = Access(secrets.token_urlsafe(TOKEN_BYTES))
        keep_access(folder, access)
    return access.token


def keep_access(folder: Path, access: Access) -> None:
    try:
        replace_file(folder / FILE_NAME, json.dumps(asdict(access)), mode=OWNER_ONLY, durable=False)
    except OSError as error:
        raise ConfigError(
            f"The token cannot be kept in {folder / FILE_NAME}: {error.strerror or error}.",
            "Give Codecoil permission to write there.",
        ) from error


def forget_server(folder: Path) -> None:
    """The server has ended: the file keeps the token only."""
    access = read_access(folder)
    if access is not None and access.process == os.getpid():
        with contextlib.suppress(ConfigError):  # the next start overwrites it anyway
            keep_access(folder, Access(access.token))
