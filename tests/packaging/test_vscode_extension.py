"""The extension for VS Code, as far as it can be checked without Node: what it declares, and the package around it.

Its own tests (packaging/vscode/test) run with `npm test` or when it is built.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import xml.etree.ElementTree as xml
import zipfile
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from app import VERSION
from app.command_line import build_parser

EXTENSION = Path(__file__).resolve().parents[2] / "packaging" / "vscode"
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in (EXTENSION / "src").glob("*.ts")}


@pytest.fixture(scope="module")
def builder():
    """The script that builds it; `packaging/build.py` has the same name."""
    found = importlib.util.spec_from_file_location("vscode_build", EXTENSION / "build.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def declared():
    return json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))


@pytest.fixture
def package(builder, tmp_path, monkeypatch):
    """The package, around a bundle and a library that npm would have made."""
    bundle, modules = tmp_path / "extension.js", tmp_path / "modules"
    bundle.write_text("exports.activate = () => {};")
    for name in builder.bundled_packages():
        (modules / name).mkdir(parents=True)
        (modules / name / "License.txt").write_text(f"Terms of {name}")
    monkeypatch.setattr(builder, "BUNDLE", bundle)
    monkeypatch.setattr(builder, "MODULES", modules)
    return zipfile.ZipFile(builder.write_vsix(tmp_path / "dist"))


# ---- the package, tested elsewhere

NODE = """#!/bin/sh
/usr/bin/env | /usr/bin/grep -v -e '^PWD=' -e '^_=' -e '^SHLVL=' > {seen}
echo "$PWD" "$@" >> {seen}
/bin/cat extension/out/extension.js >> {seen} && exit {code}
"""


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for node is a shell script")
@pytest.mark.parametrize("code", [0, 1])
def test_it_is_tested_where_nothing_is_but_what_the_package_holds(builder, package, tmp_path, monkeypatch, code):
    compiled, seen, node = tmp_path / "compiled", tmp_path / "seen", tmp_path / "node"
    (compiled / "test").mkdir(parents=True)
    for name in ("fake_vscode.js", "one.test.js"):
        (compiled / "test" / name).touch()
    node.write_text(NODE.format(seen=seen, code=code))
    node.chmod(0o755)
    monkeypatch.setattr(builder, "COMPILED", compiled)
    monkeypatch.setattr(builder.shutil, "which", lambda name: str(node))
    alone = []
    monkeypatch.setattr(builder, "without_network", lambda: contextlib.nullcontext(alone.append(True)))
    with pytest.raises(builder.BuildFailed, match="elsewhere") if code else contextlib.nullcontext():
        builder.test_elsewhere(Path(package.filename))
    command, bundle = seen.read_text().splitlines()  # and no line of the environment
    place = Path(command.split()[0])
    assert not place.is_relative_to(EXTENSION) and not place.exists() and alone
    assert command.endswith(f"{place}/extension/out/compiled/test/one.test.js")
    assert bundle == "exports.activate = () => {};"


# ---- what it declares


def test_the_version_has_one_owner(builder, declared):
    assert "version" not in declared
    assert builder.description()["version"] == VERSION


def test_the_client_library_is_the_only_dependency(declared):
    assert list(declared["dependencies"]) == ["vscode-languageclient"]
    assert int(re.search(r"\d+", declared["dependencies"]["vscode-languageclient"])[0]) >= 10


def test_the_locked_packages_name_no_host():
    assert "://" not in re.sub(r'"url": "[^"]*"', "", (EXTENSION / "package-lock.json").read_text(encoding="utf-8"))


def test_a_workspace_cannot_choose_the_program(declared):
    assert declared["contributes"]["configuration"]["properties"]["codecoil.path"]["scope"] == "machine"


def test_the_readme_lists_every_command_and_setting(declared):
    readme = (EXTENSION / "README.md").read_text(encoding="utf-8")
    for command in declared["contributes"]["commands"]:
        assert f"{command['category']}: {command['title']}" in readme
    settings = declared["contributes"]["configuration"]["properties"]
    assert set(re.findall(r"^\| `(codecoil\.\w+)`", readme, re.MULTILINE)) == set(settings)


def test_the_program_has_the_commands_that_it_starts():
    started = set(re.findall(r'spawn\(\w+, \["(\w+)"', "".join(SOURCES.values())))
    assert started == {"lsp", "open"}
    for command in started:
        assert build_parser().parse_args([command]).handler


def test_it_has_no_way_to_connect():
    imported = set(re.findall(r'^(?:import|\}) .*from "([^"]+)"', "".join(SOURCES.values()), re.MULTILINE))
    outside = {name for name in imported if not name.startswith("./")}
    assert outside == {"node:child_process", "node:fs", "node:path", "vscode", "vscode-languageclient/node"}
    assert not re.search(r"\bfetch\(|telemetry|openExternal", "".join(SOURCES.values()), re.IGNORECASE)


def test_the_icon_is_the_drawing(builder):
    import icons

    committed, drawn = QImage(str(EXTENSION / "icon.png")), QImage.fromData(icons.picture(128))
    assert committed.size() == drawn.size()
    differences = [
        abs(committed.pixelColor(x, y).lightness() - drawn.pixelColor(x, y).lightness())
        for x in range(0, 128, 4)
        for y in range(0, 128, 4)
    ]
    assert max(differences) < 16  # another Qt may draw edges a little differently


# ---- the package


def test_the_package_has_these_files_and_no_others(package):
    inside = {"package.json", "README.md", "LICENSE.txt", "licences.txt", "icon.png", "out/extension.js"}
    assert set(package.namelist()) == {
        "[Content_Types].xml",
        "extension.vsixmanifest",
        *(f"extension/{name}" for name in inside),
    }


def test_every_ending_has_a_content_type(package):
    types = xml.fromstring(package.read("[Content_Types].xml"))
    known = {each.get("Extension") for each in types}
    assert {Path(name).suffix for name in package.namelist()} - {".xml"} <= known


def test_the_manifest_agrees_with_what_is_inside(package):
    manifest = xml.fromstring(package.read("extension.vsixmanifest"))
    named = manifest.tag.removesuffix("PackageManifest")
    identity = manifest.find(f"{named}Metadata/{named}Identity")
    inside = json.loads(package.read("extension/package.json"))
    assert identity.get("Version") == inside["version"] == VERSION
    assert (identity.get("Id"), identity.get("Publisher")) == (inside["name"], inside["publisher"])
    assets = [each.get("Path") for each in manifest.iter(f"{named}Asset")]
    assert assets and set(assets) <= set(package.namelist())
    assert f"extension/{Path(inside['main'])}" in package.namelist()


def test_nothing_of_npm_is_left_in_the_package(package):
    inside = json.loads(package.read("extension/package.json"))
    assert not inside.keys() & {"private", "scripts", "dependencies", "devDependencies"}


def test_the_licence_of_every_bundled_package_is_inside(builder, package):
    licences = package.read("extension/licences.txt").decode()
    names = builder.bundled_packages()
    assert "vscode-languageclient" in names and "typescript" not in names
    assert all(f"Terms of {name}" in licences for name in names)


def test_a_package_without_a_licence_is_refused(builder, tmp_path):
    (tmp_path / "some-package").mkdir()
    with pytest.raises(builder.BuildFailed, match="some-package"):
        builder.licences(tmp_path, ["some-package"])


def test_the_same_sources_give_the_same_bytes(builder, package, tmp_path):
    first = Path(package.filename).read_bytes()
    assert builder.write_vsix(tmp_path / "again").read_bytes() == first
