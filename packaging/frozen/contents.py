"""What a frozen Codecoil contains beyond what PyInstaller finds, and what it leaves out.

    all_modules, data_files    modules that are imported by name, and data: added
    EXCLUDED                   optional modules of our libraries that nothing here calls: left out
    wanted_plugins             Qt's plugins: by default all, with the libraries that they are linked against
    of_the_system              shared libraries that must come from the user's machine

Standard library only: used by the spec, its hooks and the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("app", "engine")  # every module of them: commands and pages are imported by name
DATA_PACKAGES = ("shaders", "resources")
BY_NAME = (
    "PySide6.QtOpenGL",
    "PySide6.QtOpenGLWidgets",
)  # pyqtgraph imports them by name
NOT_DATA = ("__pycache__", "pictures")  # the pictures are for the README

EXCLUDED = [
    *("IPython", "PIL", "matplotlib", "pandas", "scipy", "tkinter", "curses", "readline"),
    *("pip", "setuptools", "pkg_resources", "numba.tests", "numba.testing", "numba.pycc", "pdb", "doctest"),
    *("pyqtgraph.opengl", "pyqtgraph.examples"),
    "hf_xet",  # compiled: it would bypass the connection guard, and base_model_fetching switches it off
]

# By folder: the plugins to keep, without `lib` and suffix.  Other folders are left out.  Our windows are painted by the
# CPU and open no connection: no OpenGL, no certificates.  GTK's theme would mix the user's GTK with libraries of the
# build machine; the portal provides the desktop's own file dialogs without that.
PLUGINS = {
    "platforms": {"qxcb", "qwayland", "qoffscreen", "qwindows", "qcocoa"},
    "platformthemes": {"qxdgdesktopportal"},
    "platforminputcontexts": {"composeplatforminputcontextplugin", "ibusplatforminputcontextplugin"},
    "wayland-decoration-client": {"adwaita", "bradient"},
    "wayland-shell-integration": {"xdg-shell"},
    "iconengines": {"qsvgicon"},
    "imageformats": {"qsvg", "qico"},
    "styles": {"qmodernwindowsstyle", "qmacstyle"},
}

# A graphics driver is loaded into our process with the libraries it was built with.  An older copy of one of them,
# found in our folder first, keeps the driver from loading: the GPU is then silently missing.  Every system with a
# driver has these.
SYSTEM_LIBRARIES = re.compile(
    r"lib(stdc\+\+|gcc_s|z|zstd|expat|drm|elf|xml2|vulkan|GL|EGL|gbm|wayland-\w+"
    r"|X11|X11-xcb|Xau|Xdmcp|Xext|xcb|xcb-(glx|randr|shm|sync|xfixes|present|dri[23]))\.so(\..*)?"
)


def all_modules(submodules: Callable[[str], list[str]]) -> list[str]:
    """Names of all our modules, and of those that a library imports by name; `submodules` is PyInstaller's search."""
    return [*DATA_PACKAGES, *BY_NAME, *(name for package in PACKAGES for name in submodules(package))]


def data_files(root: Path = ROOT) -> list[tuple[str, str]]:
    """(file, target folder) for everything in the data packages that is not our code."""
    return [
        (str(path), path.parent.relative_to(root).as_posix())
        for package in DATA_PACKAGES
        for path in sorted((root / package).rglob("*"))
        if path.is_file()
        and not set(NOT_DATA) & set(path.relative_to(root).parts)
        and path != root / package / "__init__.py"
    ]


def wanted_plugins(entries: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Of the (file, folder) pairs that a hook for Qt would add, those to keep; anything that is no plugin is kept."""
    for file, folder in entries:
        parts = PurePath(folder.replace("\\", "/")).parts
        if "plugins" not in parts or plugin_name(file) in PLUGINS.get(parts[-1], ()):
            yield file, folder


def plugin_name(file: str) -> str:
    """qxcb of …/libqxcb.so, qwindows of …\\qwindows.dll"""
    return re.split(r"[\\/]", file)[-1].split(".")[0].removeprefix("lib")


def of_the_system(name: str) -> bool:
    """Whether a shared library is left to the user's machine; only names without a folder are."""
    return SYSTEM_LIBRARIES.fullmatch(name) is not None
