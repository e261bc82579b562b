"""The shared libraries that Qt, Vulkan and Numba load on Linux and pip cannot install.

The list is what our Qt modules, libqoffscreen.so, libqxcb.so and libqwayland.so are linked against, and the threading
library that Numba needs: without it Numba falls back to one that ends the process when two of our threads compute at
the same time.  Used by the program and, before anything is installed, by `packaging/dev.py`: standard library only, and
no syntax newer than Python 3.8.
"""

from __future__ import annotations

import ctypes
import glob
import os
import shutil
import sys
from typing import NamedTuple

BASE, X11, WAYLAND, VULKAN, VENV = "Qt", "Qt on X11", "Qt on Wayland", "Vulkan", "virtual environments"
THREADS = "Numba's threads"
MANAGERS = {  # in the order they are looked for
    "apt": ("apt-get", "apt-get install -y --no-install-recommends"),
    "dnf": ("dnf", "dnf install -y"),
    "pacman": ("pacman", "pacman -S --needed --noconfirm"),
}
DRIVER_FILES = ("/usr/share/vulkan/icd.d/*.json", "/usr/local/share/vulkan/icd.d/*.json", "/etc/vulkan/icd.d/*.json")


class Library(NamedTuple):
    """A file to load, what it is for, and the package it comes in for each package manager."""

    file: str
    purpose: str
    apt: str
    dnf: str
    pacman: str


LIBRARIES = [
    Library("libEGL.so.1", BASE, "libegl1", "libglvnd-egl", "libglvnd"),
    Library("libGL.so.1", BASE, "libgl1", "libglvnd-glx", "libglvnd"),
    Library("libX11.so.6", BASE, "libx11-6", "libX11", "libx11"),
    Library("libxkbcommon.so.0", BASE, "libxkbcommon0", "libxkbcommon", "libxkbcommon"),
    Library("libdbus-1.so.3", BASE, "libdbus-1-3", "dbus-libs", "dbus"),
    Library("libfontconfig.so.1", BASE, "libfontconfig1", "fontconfig", "fontconfig"),
    Library("libfreetype.so.6", BASE, "libfreetype6", "freetype", "freetype2"),
    Library("libgthread-2.0.so.0", BASE, "libglib2.0-0", "glib2", "glib2"),
    Library("libzstd.so.1", BASE, "libzstd1", "libzstd", "zstd"),
    Library("libbrotlidec.so.1", BASE, "libbrotli1", "libbrotli", "brotli"),
    Library("libgssapi_krb5.so.2", BASE, "libgssapi-krb5-2", "krb5-libs", "krb5"),
    Library("libX11-xcb.so.1", X11, "libx11-xcb1", "libX11-xcb", "libx11"),
    Library("libxkbcommon-x11.so.0", X11, "libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11"),
    Library("libxcb-cursor.so.0", X11, "libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor"),
    Library("libxcb-icccm.so.4", X11, "libxcb-icccm4", "xcb-util-wm", "xcb-util-wm"),
    Library("libxcb-util.so.1", X11, "libxcb-util1", "xcb-util", "xcb-util"),
    Library("libxcb-image.so.0", X11, "libxcb-image0", "xcb-util-image", "xcb-util-image"),
    Library("libxcb-keysyms.so.1", X11, "libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms"),
    Library("libxcb-render-util.so.0", X11, "libxcb-render-util0", "xcb-util-renderutil", "xcb-util-renderutil"),
    Library("libxcb-randr.so.0", X11, "libxcb-randr0", "libxcb", "libxcb"),
    Library("libxcb-render.so.0", X11, "libxcb-render0", "libxcb", "libxcb"),
    Library("libxcb-shape.so.0", X11, "libxcb-shape0", "libxcb", "libxcb"),
    Library("libxcb-shm.so.0", X11, "libxcb-shm0", "libxcb", "libxcb"),
    Library("libxcb-sync.so.1", X11, "libxcb-sync1", "libxcb", "libxcb"),
    Library("libxcb-xfixes.so.0", X11, "libxcb-xfixes0", "libxcb", "libxcb"),
    Library("libxcb-xkb.so.1", X11, "libxcb-xkb1", "libxcb", "libxcb"),
    Library("libwayland-client.so.0", WAYLAND, "libwayland-client0", "libwayland-client", "wayland"),
    Library("libwayland-cursor.so.0", WAYLAND, "libwayland-cursor0", "libwayland-cursor", "wayland"),
    Library("libgomp.so.1.0.0", THREADS, "libgomp1", "libgomp", "gcc-libs"),
    Library("libvulkan.so.1", VULKAN, "libvulkan1", "vulkan-loader", "vulkan-icd-loader"),
]
DRIVER = Library("a Vulkan driver", VULKAN, "mesa-vulkan-drivers", "mesa-vulkan-drivers", "vulkan-swrast")
_PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"
ENSUREPIP = Library("Python's ensurepip", VENV, f"{_PYTHON}-venv", "python3-libs", "python")


def screen_kinds() -> set[str]:
    """The kinds of screen that Qt could open a window on here."""
    return {kind for kind, name in ((X11, "DISPLAY"), (WAYLAND, "WAYLAND_DISPLAY")) if os.environ.get(name)}


def loads(file: str) -> bool:
    try:
        ctypes.CDLL(file)
    except OSError:
        return False
    return True


def has_vulkan_driver() -> bool:
    named = os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES")
    return bool(named) or any(glob.glob(pattern) for pattern in DRIVER_FILES)


def missing_libraries(every_screen: bool = False) -> list[Library]:
    """What Qt (offscreen, and on the screens there are), Vulkan and Numba would not find; nothing on other systems.

    `every_screen`: also what Qt would not find on the kinds of screen that are not here.
    """
    if not sys.platform.startswith("linux"):
        return []
    wanted = {BASE, THREADS, VULKAN} | ({X11, WAYLAND} if every_screen else screen_kinds())
    missing = [library for library in LIBRARIES if library.purpose in wanted and not loads(library.file)]
    return missing if has_vulkan_driver() else [*missing, DRIVER]


def package_manager() -> str | None:
    return next((name for name, (program, _) in MANAGERS.items() if shutil.which(program)), None)


def install_command(missing: list[Library], manager: str) -> str:
    """The one command, without sudo, that installs the packages of `missing`, each once."""
    packages = dict.fromkeys(getattr(library, manager) for library in missing)
    return " ".join([MANAGERS[manager][1], *packages])


def advice(missing: list[Library], manager: str | None) -> str:
    """One line that says what is missing, and one with the command that brings it."""
    files = f"Missing: {', '.join(library.file for library in missing)}."
    if manager is None:
        return f"{files}\nInstall them with your system's package manager, then run the same command again."
    fresh_lists = "sudo apt-get update && " if manager == "apt" else ""
    return f"{files}\nInstall them with:  {fresh_lists}sudo {install_command(missing, manager)}"
