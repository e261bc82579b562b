"""What a frozen Codecoil holds beside what PyInstaller finds by itself, and what of that it does without.

    all_modules, data_files    modules that are loaded by their names, and what is no code: put in
    EXCLUDED                   modules that libraries of ours would like to have, and that nothing here calls
    wanted_plugins             Qt's plugins: by default all, with the libraries that they are linked against
    of_the_system              shared libraries that must be those of the user's machine

Standard library only: the recipe, its hooks and the tests read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("app", "engine")  # every module of them: commands and pages are loaded by their names
DATA_PACKAGES = ("shaders", "resources")
BY_NAME = ("PySide6.QtOpenGL", "PySide6.QtOpenGLWidgets")  # pyqtgraph loads them so, whether it draws with them or not
NOT_DATA = ("__pycache__", "pictures")  # the pictures are the README's

EXCLUDED = [
    *("IPython", "PIL", "matplotlib", "pandas", "scipy", "tkinter", "curses", "readline"),
    *("pip", "setuptools", "pkg_resources", "numba.tests", "numba.testing", "numba.pycc", "pdb", "doctest"),
    *("pyqtgraph.opengl", "pyqtgraph.examples"),
    "hf_xet",  # compiled: it would go around the guard on connections, and base_model_fetching switches it off
]

# By folder: the plugins that stay, without `lib` and suffix.  A folder that is not named is left out.  Our windows are
# painted by the processor and speak to nobody: no OpenGL, no certificates.  GTK's theme would mix the user's GTK with
# libraries of the machine that this was built on; the portal gives the desktop's own file dialogs without that.
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

# A graphics driver is loaded into our process and brings what it was built with.  An older copy of a library that both
# use, found in our folder first, keeps the driver from loading: the GPU is then silently not there.  Every system
# with a driver has these.
SYSTEM_LIBRARIES = re.compile(
    r"lib(stdc\+\+|gcc_s|z|zstd|expat|drm|elf|xml2|vulkan|GL|EGL|gbm|wayland-\w+"
    r"|X11|X11-xcb|Xau|Xdmcp|Xext|xcb|xcb-(glx|randr|shm|sync|xfixes|present|dri[23]))\.so(\..*)?"
)


def all_modules(submodules: Callable[[str], list[str]]) -> list[str]:
    """Names of all our modules, and of those that a library loads by name; `submodules` is PyInstaller's search."""
    return [*DATA_PACKAGES, *BY_NAME, *(name for package in PACKAGES for name in submodules(package))]


def data_files(root: Path = ROOT) -> list[tuple[str, str]]:
    """(file, folder that it goes to) for everything in the data packages that is no code of ours."""
    return [
        (str(path), path.parent.relative_to(root).as_posix())
        for package in DATA_PACKAGES
        for path in sorted((root / package).rglob("*"))
        if path.is_file()
        and not set(NOT_DATA) & set(path.relative_to(root).parts)
        and path != root / package / "__init__.py"
    ]


def wanted_plugins(entries: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Of the files that a hook for Qt would put in, (file, folder), those that stay.  What is no plugin does."""
    for file, folder in entries:
        parts = PurePath(folder.replace("\\", "/")).parts
        if "plugins" not in parts or plugin_name(file) in PLUGINS.get(parts[-1], ()):
            yield file, folder


def plugin_name(file: str) -> str:
    """qxcb of …/libqxcb.so, qwindows of …\\qwindows.dll"""
    return re.split(r"[\\/]", file)[-1].split(".")[0].removeprefix("lib")


def of_the_system(name: str) -> bool:
    """Whether a shared library of this name is left to the user's machine.  One under another folder is not meant."""
    return SYSTEM_LIBRARIES.fullmatch(name) is not None
