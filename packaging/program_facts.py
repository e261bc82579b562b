"""Name, version and description of the program, as Windows, macOS and Linux need them.  Standard library only."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "Codecoil"
COMMAND = "codecoil"
IDENTIFIER = "org.codecoil.Codecoil"  # of the macOS bundle and of the AppStream component
OLDEST_MACOS = "12.0"  # required by Qt 6

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION: str = _PROJECT["version"]


def version_resource() -> str:
    """What Windows shows under Properties, Details, as the text that PyInstaller evaluates."""
    numbers = (*(int(part) for part in VERSION.split(".")), 0)
    words = {
        "FileDescription": NAME,
        "FileVersion": VERSION,
        "InternalName": COMMAND,
        "LegalCopyright": "MIT licence",
        "OriginalFilename": f"{COMMAND}.exe",
        "ProductName": NAME,
        "ProductVersion": VERSION,
    }
    strings = ", ".join(f"StringStruct({name!r}, {text!r})" for name, text in words.items())
    return (
        "VSVersionInfo(\n"
        f"  ffi=FixedFileInfo(filevers={numbers}, prodvers={numbers}, mask=0x3F, flags=0, OS=0x40004, fileType=1),\n"
        f"  kids=[StringFileInfo([StringTable('040904B0', [{strings}])]),\n"
        "        VarFileInfo([VarStruct('Translation', [0x0409, 1200])])],\n"
        ")\n"
    )


def bundle_information() -> dict[str, object]:
    """Info.plist of the macOS bundle."""
    return {
        "CFBundleDisplayName": NAME,
        "CFBundleShortVersionString": VERSION,
        "CFBundleVersion": VERSION,
        "LSApplicationCategoryType": "public.app-category.developer-tools",
        "LSMinimumSystemVersion": OLDEST_MACOS,
        "NSHighResolutionCapable": True,
        "NSHumanReadableCopyright": "MIT licence",
    }
