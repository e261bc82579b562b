"""Collects the licences of everything in a frozen build:  python packaging/licences.py FOLDER BUILT

Writes to FOLDER the licence files of Python, of each library in this environment and of the system packages that the
shared libraries in BUILT come from, with a table of all of them.  A library that is installed here but not in the
program is listed as well: too many do no harm.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

FOLDER = "licences"
TABLE = "README.txt"
TOOLS = {"pip", "setuptools", "wheel", "altgraph", "macholib", "pefile", "pywin32-ctypes"}
COMMON = Path("/usr/share/common-licenses")  # where Debian keeps texts that many packages refer to
REFERRED_TO = ("GPL-2", "GPL-3", "LGPL-2", "LGPL-2.1", "LGPL-3", "Apache-2.0")
IS_LICENCE = re.compile(r"(licen[cs]e|copying|notice|authors)", re.IGNORECASE)


def gather(folder: Path, built: Path) -> list[str]:
    """Copy the files; returns the lines of the table."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    of_python = (Path(place, "LICENSE.txt") for place in (sys.base_prefix, sysconfig.get_path("stdlib")))
    copy([path for path in of_python if path.is_file()][:1], folder / "Python")
    copy([COMMON / name for name in REFERRED_TO if (COMMON / name).is_file()], folder / "common")
    lines = [f"Python {platform.python_version()}: PSF-2.0"]
    for package in sorted(importlib.metadata.distributions(), key=lambda package: package.name.lower()):
        if package.name.lower() not in TOOLS:
            copy(licence_files(package), folder / f"{package.name}-{package.version}")
            lines.append(f"{package.name} {package.version}: {licence_of(package)}")
    lines += ["", "Other shared libraries, with the system package that they come from:"]
    for name in system_libraries(built):
        package = system_package(name)
        words = Path("/usr/share/doc", package.split(":")[0], "copyright")
        if package and words.is_file():
            copy([words], folder / "system" / package.split(":")[0])
        lines.append(f"  {name} {package}".rstrip())
    return lines


def copy(files: list[Path], folder: Path) -> None:
    for file in files:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / file.name)


def licence_files(package: importlib.metadata.Distribution) -> list[Path]:
    """Files in a package's record whose name looks like a licence."""
    found = [file for file in package.files or () if ".dist-info" in str(file) and IS_LICENCE.search(file.name)]
    return sorted(path for path in (Path(str(package.locate_file(file))) for file in found) if path.is_file())


def licence_of(package: importlib.metadata.Distribution) -> str:
    """One line: the licence expression, the older licence field, or the classifiers."""
    about = package.metadata
    named = about.get("License-Expression") or (about.get("License") or "").strip().split("\n")[0]
    classifiers = [line.split(" :: ")[-1] for line in about.get_all("Classifier") or () if line.startswith("License")]
    return named or ", ".join(classifiers) or "see its files"


def system_libraries(built: Path) -> list[str]:
    """Shared libraries that belong to no Python package: those at the top of the program's folder."""
    return sorted(path.name for path in built.glob("_internal/lib*.so*") if not path.is_symlink())


def system_package(name: str) -> str:
    """The Debian package that contains a shared library of this name; "" if unknown."""
    if shutil.which("dpkg-query") is None:
        return ""
    found = subprocess.run(["dpkg-query", "--search", f"*/{name}"], capture_output=True, text=True, check=False)
    return found.stdout.split(": ")[0].split(",")[0] if found.returncode == 0 else ""


if __name__ == "__main__":
    target = Path(sys.argv[1])
    table = gather(target, Path(sys.argv[2]))
    (target / TABLE).write_text("\n".join(["What this program contains", "", *table, ""]), encoding="utf-8")
