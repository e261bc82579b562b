"""What goes into a frozen build, and where such a build keeps its kernels."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"


@pytest.fixture
def module(monkeypatch):
    """Loads a module of packaging/ or packaging/frozen/, as the recipe does."""
    for folder in (PACKAGING, PACKAGING / "frozen"):
        monkeypatch.syspath_prepend(str(folder))
    loaded = []

    def load(name):
        loaded.append(name)
        return importlib.import_module(name)

    yield load
    for name in loaded:
        sys.modules.pop(name, None)


# ---- contents


def test_all_data_goes_in_and_no_cache(module):
    files = module("contents").data_files()
    held = {f"{folder}/{Path(file).name}" for file, folder in files}
    assert {
        "resources/sample_repository/.gitignore",
        "resources/sample_repository/tests/__init__.py",  # code, but not ours to run
        "resources/fonts/Inter-Regular.otf",
        "shaders/lib/grid.wgsl",
    } <= held
    shaders = {f"{path.parent.relative_to(ROOT).as_posix()}/{path.name}" for path in (ROOT / "shaders").rglob("*.wgsl")}
    assert shaders <= held
    assert not any("__pycache__" in name for name in held)
    assert "resources/__init__.py" not in held


def test_what_is_loaded_by_name_goes_in(module):
    names = module("contents").all_modules(lambda package: [package, f"{package}.part"])
    assert {"shaders", "resources", "app", "app.part", "engine", "engine.part", "PySide6.QtOpenGL"} <= set(names)


WITHOUT = """
import importlib, pkgutil, sys
import contents

class Missing:
    def find_spec(self, name, path=None, target=None):
        if any(name == out or name.startswith(out + ".") for out in contents.EXCLUDED):
            raise ModuleNotFoundError(f"{name} was left out", name=name)

sys.meta_path.insert(0, Missing())
for package in contents.PACKAGES:
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
import gguf, huggingface_hub.file_download, pyqtgraph, pygments.lexers.python, wgpu.backends.wgpu_native
"""


def test_what_is_left_out_is_not_missed_by_any_module_of_ours():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, PACKAGING / "frozen")))}
    done = subprocess.run([sys.executable, "-c", WITHOUT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("file", "folder", "stays"),
    [
        ("/a/plugins/platforms/libqxcb.so", "PySide6/Qt/plugins/platforms", True),
        ("/a/plugins/platforms/libqeglfs.so", "PySide6/Qt/plugins/platforms", False),
        ("C:\\a\\plugins\\platforms\\qwindows.dll", "PySide6\\plugins\\platforms", True),
        ("/a/plugins/platforms/libqcocoa.dylib", "PySide6/Qt/plugins/platforms", True),
        ("/a/plugins/platformthemes/libqgtk3.so", "PySide6/Qt/plugins/platformthemes", False),
        ("/a/plugins/tls/libqopensslbackend.so", "PySide6/Qt/plugins/tls", False),
        ("/a/lib/libQt6Gui.so.6", "PySide6/Qt/lib", True),
    ],
)
def test_of_qt_s_plugins_only_those_that_are_used_stay(module, file, folder, stays):
    assert list(module("contents").wanted_plugins([(file, folder)])) == ([(file, folder)] if stays else [])


@pytest.mark.parametrize("name", ["libstdc++.so.6", "libgcc_s.so.1", "libX11.so.6", "libxcb-randr.so.0", "libz.so.1"])
def test_what_a_graphics_driver_brings_is_left_to_the_system(module, name):
    assert module("contents").of_the_system(name)


@pytest.mark.parametrize(
    "name",
    ["libgomp.so.1.0.0", "libxcb-cursor.so.0", "libffi.so.8", "libQt6Core.so.6", "libzip.so.4", "wgpu/libgcc_s.so.1"],
)
def test_what_a_system_may_lack_is_brought(module, name):
    assert not module("contents").of_the_system(name)


# ---- kernels

KERNEL = """
import sys
from numba import njit

@njit(cache=True)
def twice(x):
    return 2 * x

assert twice(3) == 6
print(sum(twice.stats.cache_hits.values()), twice._cache.cache_path)
"""


def test_kernels_are_kept_in_the_data_folder_whatever_the_folder_of_the_start(tmp_path, data_folder):
    script = tmp_path / "script.py"
    script.write_text(KERNEL)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, PACKAGING / "frozen"))),
        "NUMBA_CACHE_LOCATOR_CLASSES": "kernel_cache.FrozenKernels",
    }
    said = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        done = subprocess.run(
            [sys.executable, str(script)], cwd=tmp_path / folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.split())
        assert list((tmp_path / folder).iterdir()) == []
    assert said == [["0", str(data_folder / "kernels" / "__main__")], ["1", str(data_folder / "kernels" / "__main__")]]


def test_where_the_data_folder_cannot_be_written_to_kernels_last_as_long_as_the_process(module, data_folder):
    kernel_cache = module("kernel_cache")
    data_folder.mkdir()
    (data_folder / "kernels").touch()  # a file: no folder can be made
    folder = Path(kernel_cache.kernel_folder())
    assert folder.is_dir() and data_folder not in folder.parents
    assert kernel_cache.kernel_folder() == str(folder)
    kernel_cache._temporary().cleanup()


def test_the_entry_names_the_place_before_anything_is_compiled(module):
    start = (PACKAGING / "frozen" / "start.py").read_text(encoding="utf-8")
    kernel_cache = module("kernel_cache")
    assert f'"{kernel_cache.__name__}.{kernel_cache.FrozenKernels.__name__}"' in start
