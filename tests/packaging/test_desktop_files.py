"""What desktops are told about the program: names and versions that agree, icons that can be read, a menu entry."""

from __future__ import annotations

import configparser
import importlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from app import VERSION

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
LINUX = PACKAGING / "linux"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def packaging_on_the_path():
    """The scripts' own folder, as when one of them is run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PACKAGING))
        yield


@pytest.fixture(scope="module")
def facts(packaging_on_the_path):
    return importlib.import_module("program_facts")


@pytest.fixture(scope="module")
def icons(packaging_on_the_path):
    return importlib.import_module("icons")


# ---- Linux


def test_the_description_agrees_with_the_program(facts):
    component = xml.parse(LINUX / "codecoil.metainfo.xml").getroot()
    assert component.findtext("id") == facts.IDENTIFIER
    assert component.findtext("name") == facts.NAME
    assert component.findtext("project_license") == "MIT AND OFL-1.1"
    assert component.findtext("launchable") == "codecoil.desktop"
    assert component.find("releases")[0].get("version") == VERSION == facts.VERSION


def entry_of(file: Path) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, delimiters="=")
    parser.optionxform = str
    parser.read(file, encoding="utf-8")
    return parser["Desktop Entry"]


def test_the_menu_entry_is_found_by_the_name_that_the_window_gives(facts):
    entry = entry_of(LINUX / "codecoil.desktop")
    desktop = (PACKAGING.parent / "app" / "desktop.py").read_text(encoding="utf-8")
    assert f'setDesktopFileName("{facts.COMMAND}")' in desktop
    assert entry["Exec"] == entry["Icon"] == entry["StartupWMClass"] == facts.COMMAND
    project = tomllib.loads((PACKAGING.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert entry["Comment"] == project["description"]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script for Linux desktops")
@pytest.mark.parametrize("name", ["codecoil", 'a b $HOME `x` "q" back\\slash 100%'])
def test_the_program_is_put_into_the_menu_and_taken_out_again(tmp_path, icons, name):
    folder, home = tmp_path / name, tmp_path / "home"
    (folder / "share" / "applications").mkdir(parents=True)
    home.mkdir()
    shutil.copy(LINUX / "add-to-menu.sh", folder)
    shutil.copy(LINUX / "codecoil.desktop", folder / "share" / "applications")
    icon = folder / "share" / "icons" / "hicolor" / "scalable" / "apps" / "codecoil.svg"
    icon.parent.mkdir(parents=True)
    icon.write_bytes(icons.DRAWING.read_bytes())
    run = [str(folder / "add-to-menu.sh")]
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    for _twice in range(2):
        subprocess.run(run, env=environment, check=True, capture_output=True)

    data = home / ".local" / "share"
    command = entry_of(data / "applications" / "codecoil.desktop")["Exec"]
    value = command.replace("\\\\", "\\")  # as for every value of such a file
    quoted = re.fullmatch(r'"((?:[^"`$\\]|\\.)*)"', value)  # nothing that the quotes do not cover is left bare
    assert quoted and re.sub(r"\\(.)", r"\1", quoted[1]).replace("%%", "%") == str(folder / "codecoil")
    assert (data / "icons" / "hicolor" / "scalable" / "apps" / "codecoil.svg").is_file()

    other = data / "icons" / "hicolor" / "scalable" / "apps" / "other.svg"
    other.touch()
    subprocess.run([*run, "--remove"], env=environment, check=True, capture_output=True)
    left = [path for path in data.rglob("*") if path.is_file() and path.name != "mimeinfo.cache"]
    assert left == [other]


# ---- Windows and macOS


def test_windows_is_told_name_and_version(facts):
    def record(name):
        return lambda *given, **named: (name, given, named)

    names = re.findall(r"\b[A-Z]\w+(?=\()", facts.version_resource())
    kind, _, parts = eval(facts.version_resource(), {name: record(name) for name in names})
    assert kind == "VSVersionInfo"
    numbers = (*map(int, VERSION.split(".")), 0)
    assert parts["ffi"][2]["filevers"] == parts["ffi"][2]["prodvers"] == numbers
    (_, (tables,), _), _translation = parts["kids"]
    _, (_language, strings), _ = tables[0]
    told = {name: text for _, (name, text), _ in strings}
    assert told["ProductName"] == "Codecoil" and told["ProductVersion"] == VERSION


def test_macos_is_told_name_and_version(facts):
    told = facts.bundle_information()
    assert told["CFBundleDisplayName"] == "Codecoil"
    assert told["CFBundleShortVersionString"] == VERSION


@pytest.fixture(scope="module")
def drawn(icons, qapp, tmp_path_factory):
    folder = tmp_path_factory.mktemp("icons")
    icons.draw(folder)
    yield folder
    shutil.rmtree(folder)


def size_of(png: bytes) -> int:
    """Width of a square picture that Qt can read and that shows something."""
    image = QImage.fromData(png)
    assert png.startswith(PNG) and image.width() == image.height() > 0
    middle = image.pixelColor(image.width() // 2, image.height() // 2)
    assert middle.alpha() == 255
    assert image.pixelColor(0, 0).alpha() == 0
    return image.width()


def test_the_windows_icon_has_every_size(icons, drawn):
    data = (drawn / "codecoil.ico").read_bytes()
    reserved, kind, count = struct.unpack_from("<HHH", data)
    assert (reserved, kind, count) == (0, 1, len(icons.ICO_SIZES))
    for index, size in enumerate(icons.ICO_SIZES):
        width, height, *_, length, offset = struct.unpack_from("<BBBBHHII", data, 6 + 16 * index)
        assert width == height == size % 256
        assert size_of(data[offset : offset + length]) == size


def test_the_macos_icon_has_every_size(icons, drawn):
    data = (drawn / "codecoil.icns").read_bytes()
    kind, length = struct.unpack_from(">4sI", data)
    assert (kind, length) == (b"icns", len(data))
    found, position = {}, 8
    while position < len(data):
        kind, length = struct.unpack_from(">4sI", data, position)
        found[kind] = size_of(data[position + 8 : position + length])
        position += length
    assert found == icons.ICNS_SIZES


def test_linux_gets_pictures_and_the_drawing(icons, drawn):
    for size in icons.PNG_SIZES:
        assert size_of((drawn / f"{size}x{size}" / "codecoil.png").read_bytes()) == size
    assert (drawn / "scalable" / "codecoil.svg").read_bytes() == icons.DRAWING.read_bytes()
