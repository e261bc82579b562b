"""What may be said about a machine: what computes and which versions, and nothing about who owns it.

No path, no user, no name of the machine: the text goes to a public place.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import platform
import re
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from engine.devices import DeviceInfo, list_devices

PACKAGES = ("numpy", "numba", "wgpu")
PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\\/][^\s\\/:,;'\"()]+){2,}[\\/]?|~[\\/]\S*")
LEAST_NAME = 3  # letters of a name that is looked for in a text


@dataclass(frozen=True)
class Machine:
    """`device` is what was measured: a graphics card, or the processor itself."""

    processor: str
    threads: int
    device: str
    name: str
    backend: str
    kind: str
    driver: str
    features: tuple[str, ...]
    system: str
    versions: tuple[tuple[str, str], ...]


def describe(info: DeviceInfo) -> Machine:
    processor = list_devices()[0]
    words = (processor.description, info.description, info.driver)
    named = [without_private(each) for each in words]
    versions = (("Python", platform.python_version()), *((name, _version(name)) for name in PACKAGES))
    return Machine(
        processor=named[0],
        threads=processor.limits.get("threads", 1),
        device=info.name,
        name=named[1],
        backend=info.backend,
        kind=info.kind,
        driver=named[2],
        features=info.features,
        system=system_words(),
        versions=versions,
    )


def system_words() -> str:
    """The operating system with its version; a kernel's own name may say who built it, its number does not."""
    machine = platform.machine()
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]} ({machine})"
    if sys.platform == "win32":
        return f"Windows {platform.version()} ({machine})"
    number = re.match(r"[\d.]*\d", platform.release())
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        name = platform.system()
    return f"{without_private(name)}, kernel {number[0] if number else '?'} ({machine})"


def without_private(text: str) -> str:
    """A text that others wrote (a driver, an exception) without paths and without the names of user and machine."""
    text = PATH.sub("…", text)
    for name in _private_names():
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "…", text, flags=re.IGNORECASE)
    return text


def _private_names() -> list[str]:
    names = {Path.home().name, platform.node(), platform.node().split(".")[0], os.environ.get("USERNAME", "")}
    with contextlib.suppress(KeyError, OSError, ImportError):  # this user has no name
        names.add(getpass.getuser())
    return sorted((name for name in names if len(name) >= LEAST_NAME), key=len, reverse=True)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # a frozen build may have the package without what describes it
        return "?"
