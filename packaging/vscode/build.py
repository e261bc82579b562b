#!/usr/bin/env python3
"""Builds the extension for VS Code:  python3 packaging/vscode/build.py [--out FOLDER] [--no-tests]

    --out FOLDER   where codecoil-VERSION.vsix goes; default: dist
    --no-tests     build only

Needs Node 20 or later with npm, which gets the client library and the compiler by their names in package-lock.json.
The .vsix is written here and not by the editor's own packager: it is a zip with two small descriptions, and the same
sources give the same bytes.  The version is the program's (pyproject.toml); package.json has none.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

import program_facts as facts  # noqa: E402
from checks import CheckFailed, empty_environment, without_network  # noqa: E402
from quiet_command import run_quietly  # noqa: E402

BUNDLE = HERE / "out" / "extension.js"
COMPILED = HERE / "out" / "compiled"
MODULES = HERE / "node_modules"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time that a zip can hold
CONTENT_TYPES = {
    "js": "application/javascript",
    "json": "application/json",
    "md": "text/markdown",
    "png": "image/png",
    "txt": "text/plain",
    "vsixmanifest": "text/xml",
}


class BuildFailed(Exception):
    """Its text is for the person who builds."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="FOLDER")
    parser.add_argument("--no-tests", action="store_true")
    arguments = parser.parse_args()
    try:
        print("Installing the compiler and the client library…", flush=True)
        npm("ci", "--ignore-scripts")
        npm("run", "compile")
        npm("run", "bundle")
        file = write_vsix(arguments.out.absolute())
        if not arguments.no_tests:
            print("Testing what is in the package, elsewhere, with an empty environment and no network…", flush=True)
            test_elsewhere(file)
    except (BuildFailed, CheckFailed) as problem:
        print(f"Failed: {problem}", file=sys.stderr)
        return 1
    print(f"{file} has {file.stat().st_size / 1e3:.0f} kB. Install it with: code --install-extension {file.name}")
    return 0


def npm(*words: str) -> None:
    """Run npm in the extension's folder."""
    program = shutil.which("npm")
    if program is None:
        raise BuildFailed("npm is not installed; it comes with Node 20 or later")
    try:
        failed = run_quietly([program, *words], cwd=HERE)
    except subprocess.SubprocessError as problem:
        raise BuildFailed(str(problem)) from problem
    if failed:
        raise BuildFailed(f"npm {' '.join(words)} failed; its output is above")


def test_elsewhere(file: Path) -> None:
    """The extension's own tests on the package, where nothing is but what it holds.  Leaves the network for good."""
    node = shutil.which("node")
    if node is None:
        raise BuildFailed("node is not installed")
    with tempfile.TemporaryDirectory(prefix="codecoil-vsix-") as place, without_network():
        with zipfile.ZipFile(file) as package:
            package.extractall(place)
        compiled = Path(place) / "extension" / "out" / COMPILED.name
        shutil.copytree(COMPILED, compiled)
        tests = sorted((compiled / "test").glob("*.test.js"))
        if not tests:
            raise BuildFailed(f"{COMPILED} has no tests")
        command = [node, "--require", compiled / "test" / "fake_vscode.js", "--test", *tests]
        if run_quietly(command, cwd=place, env=empty_environment()):
            raise BuildFailed("the extension does not work elsewhere; the output above says why")


# ---- the package


def write_vsix(out: Path) -> Path:
    """The package of what has been compiled; returns its file."""
    contents = {"README.md": (HERE / "README.md").read_bytes(), "LICENSE.txt": (ROOT / "LICENSE").read_bytes()}
    contents["icon.png"] = (HERE / "icon.png").read_bytes()
    contents["package.json"] = json.dumps(description(), indent=2, ensure_ascii=False).encode()
    contents["out/extension.js"] = BUNDLE.read_bytes()
    contents["licences.txt"] = licences(MODULES, bundled_packages()).encode()
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{facts.COMMAND}-{facts.VERSION}.vsix"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        _add(package, "extension.vsixmanifest", manifest(description()).encode())
        _add(package, "[Content_Types].xml", content_types().encode())
        for name, content in contents.items():
            _add(package, f"extension/{name}", content)
    return file


def description() -> dict:
    """package.json as VS Code reads it: with a version, without what only npm needs."""
    written = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    for name in ("private", "scripts", "dependencies", "devDependencies"):
        del written[name]
    return {"name": written.pop("name"), "version": facts.VERSION, **written}


def manifest(about: dict) -> str:
    """What `code --install-extension` reads first."""
    properties = {
        "Microsoft.VisualStudio.Code.Engine": about["engines"]["vscode"],
        "Microsoft.VisualStudio.Code.ExtensionDependencies": "",
        "Microsoft.VisualStudio.Code.ExtensionPack": "",
        "Microsoft.VisualStudio.Code.ExtensionKind": ",".join(about["extensionKind"]),
    }
    assets = {
        "Microsoft.VisualStudio.Code.Manifest": "package.json",
        "Microsoft.VisualStudio.Services.Content.Details": "README.md",
        "Microsoft.VisualStudio.Services.Content.License": "LICENSE.txt",
        "Microsoft.VisualStudio.Services.Icons.Default": about["icon"],
    }
    identity = f'Id={quoteattr(about["name"])} Version="{about["version"]}" Publisher={quoteattr(about["publisher"])}'
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">',
        "<Metadata>",
        f'<Identity Language="en-US" {identity}/>',
        f"<DisplayName>{escape(about['displayName'])}</DisplayName>",
        f'<Description xml:space="preserve">{escape(about["description"])}</Description>',
        f"<Categories>{escape(','.join(about['categories']))}</Categories>",
        "<Properties>",
        *(f"<Property Id={quoteattr(name)} Value={quoteattr(value)}/>" for name, value in properties.items()),
        "</Properties>",
        "<License>extension/LICENSE.txt</License>",
        f"<Icon>extension/{about['icon']}</Icon>",
        "</Metadata>",
        '<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>',
        "<Dependencies/>",
        "<Assets>",
        *(
            f'<Asset Type={quoteattr(kind)} Path="extension/{name}" Addressable="true"/>'
            for kind, name in assets.items()
        ),
        "</Assets>",
        "</PackageManifest>",
    ]
    return "\n".join(lines)


def content_types() -> str:
    """Every ending that the package has, as the format demands."""
    types = "".join(f'<Default Extension=".{end}" ContentType="{kind}"/>' for end, kind in CONTENT_TYPES.items())
    namespace = "http://schemas.openxmlformats.org/package/2006/content-types"
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="{namespace}">{types}</Types>'


def bundled_packages() -> list[str]:
    """The packages that are inside the bundle: all that are installed and not only for building."""
    locked = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return sorted(path.removeprefix("node_modules/") for path, about in locked.items() if path and not about.get("dev"))


def licences(modules: Path, names: list[str]) -> str:
    """The licence of each package in the bundle; fails if one has none."""
    parts = []
    for name in names:
        texts = [file for file in sorted((modules / name).iterdir()) if file.name.lower().startswith("licen")]
        if not texts:
            raise BuildFailed(f"{name} has no licence file")
        parts.append(f"{name}\n{'=' * len(name)}\n\n{texts[0].read_text(encoding='utf-8').strip()}\n")
    return "\n\n".join(parts)


def _add(package: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    package.writestr(entry, content)


if __name__ == "__main__":
    sys.exit(main())
