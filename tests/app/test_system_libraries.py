"""The list of system libraries: it names all that the installed Qt and Numba are linked against."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import system_libraries as system

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="shared libraries of Linux")
MODULES = ("QtCore", "QtGui", "QtWidgets", "QtSvg", "QtNetwork", "QtTest", "QtOpenGL", "QtOpenGLWidgets")
# Every system that has Python has these.
EVERYWHERE = (
    "libc.",
    "libm.",
    "libdl.",
    "libpthread.",
    "librt.",
    "ld-linux",
    "libgcc_s.",
    "libstdc++.",
    "libz.",
    "libresolv.",
)
DYNAMIC, LOAD, NEEDED, STRINGS = 2, 1, 1, 5
BEHIND_OTHERS = {"libxcb.so.1", "libglib-2.0.so.0", "libbrotlicommon.so.1"}  # in the package of one of the list


def needed(file: Path) -> Iterator[str]:
    """The libraries that a 64-bit little-endian ELF file names in its dynamic section."""
    data = file.read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01"
    start, size, count = (*struct.unpack_from("<Q", data, 0x20), *struct.unpack_from("<HH", data, 0x36))
    segments = [struct.unpack_from("<IIQQQQQQ", data, start + size * index) for index in range(count)]

    def position(address: int) -> int:
        """Where in the file an address of the loaded library is."""
        return next(s[2] + address - s[3] for s in segments if s[0] == LOAD and s[3] <= address < s[3] + s[5])

    (section,) = (s for s in segments if s[0] == DYNAMIC)
    entries = list(struct.iter_unpack("<QQ", data[section[2] : section[2] + section[5]]))
    strings = position(next(value for tag, value in entries if tag == STRINGS))
    for tag, value in entries:
        if tag == NEEDED:
            yield data[strings + value : data.index(b"\0", strings + value)].decode()


def linked(files: list[Path], beside: Path) -> set[str]:
    """What `files` are linked against, and what those of it that lie in `beside` are; without what is everywhere."""
    found: set[str] = set()
    while files:
        for name in needed(files.pop()):
            if name in found or name.startswith(EVERYWHERE):
                continue
            found.add(name)
            if (beside / name).is_file():
                files.append(beside / name)
    return {name for name in found if not (beside / name).is_file()}


@pytest.fixture
def qt() -> Path:
    import PySide6

    return Path(PySide6.__file__).parent


def names(*purposes: str) -> set[str]:
    return {library.file for library in system.LIBRARIES if library.purpose in purposes} | BEHIND_OTHERS


def missing(files: list[Path], qt: Path, listed: set[str]) -> set[str]:
    own = {"libshiboken6", "libpyside6"}
    return {name for name in linked(files, qt / "Qt" / "lib") - listed if name.split(".")[0] not in own}


def test_the_modules_that_we_use(qt):
    files = [qt / f"{name}.abi3.so" for name in MODULES]
    plugins = qt / "Qt" / "plugins"
    files += [plugins / "platforms" / "libqoffscreen.so", plugins / "imageformats" / "libqsvg.so"]
    assert missing(files, qt, names(system.BASE)) == set()


@pytest.mark.parametrize(("plugin", "screen"), [("libqxcb.so", "X11"), ("libqwayland.so", "WAYLAND")])
def test_the_screens(qt, plugin, screen):
    listed = names(system.BASE, getattr(system, screen))
    assert missing([qt / "Qt" / "plugins" / "platforms" / plugin], qt, listed) == set()


def test_the_threads_of_numba():
    from numba.np.ufunc import omppool

    assert linked([Path(omppool.__file__)], Path()) == names(system.THREADS) - BEHIND_OTHERS
