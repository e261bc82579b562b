"""Vulkan drivers for GPUs that are not there: Mesa on a kernel side that accepts everything and runs nothing.

The packages come by name and version through the machine's own apt, with sources and lists of their own, into a folder;
they are unpacked there and never installed.  The driver compiles as it does for real hardware, so its machine code can
be read; no result of a kernel means anything.  Not a way to measure speed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import platformdirs

SUITE = "bookworm"
PACKAGES = {
    "mesa-vulkan-drivers": "25.0.7-2~bpo12+1",
    "mesa-drm-shim": "25.0.7-2~bpo12+1",
    "libdrm2": "2.4.123-1~bpo12+1",
    "libdrm-amdgpu1": "2.4.123-1~bpo12+1",
    "libdrm-intel1": "2.4.123-1~bpo12+1",
    "libdrm-dev": "2.4.123-1~bpo12+1",  # headers
}
AMD_SHIM = "libamdgpu_noop_drm_shim.so"
INTEL_SHIM, INTEL_SOURCE = "libintel_no_op.so", Path(__file__).with_name("intel_no_op.c")  # in no package: ours
# GPU -> (shim, driver, the variable that chooses the GPU)
GPUS = {
    "gfx1150": (AMD_SHIM, "radeon", "AMDGPU_GPU_ID"),
    "navi21": (AMD_SHIM, "radeon", "AMDGPU_GPU_ID"),
    "navi31": (AMD_SHIM, "radeon", "AMDGPU_GPU_ID"),
    "tgl": (INTEL_SHIM, "intel", None),
}


class Unavailable(Exception):
    """Why there is no such driver on this machine."""


def driver_folder() -> Path:
    """Where the unpacked libraries are; fetched on the first call."""
    cache = Path(platformdirs.user_cache_dir("codecoil", appauthor=False)) / "no_op_driver"
    root = cache / hashlib.sha256(json.dumps(PACKAGES).encode()).hexdigest()[:16]
    if not root.exists():
        _fetch(cache, root)
    found = sorted(root.glob(f"usr/lib/*/{AMD_SHIM}"))
    if not found:
        raise Unavailable(f"{root} has no driver for this processor; delete it to fetch it again.")
    return found[0].parent


def _fetch(cache: Path, root: Path) -> None:
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is not there: the packages are Debian's.")
    apt = cache / "apt"
    for folder in ("lists/partial", "archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    sources = apt / "sources.list"
    sources.write_text(f"deb {_archive()} {SUITE}-backports main\n", encoding="utf-8")
    options = {"Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "-", "Dir::State::lists": apt / "lists"}
    options |= {"Dir::Cache": apt, "APT::Sandbox::User": "root"}
    arguments = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    _run([*arguments, "update"], apt)
    _run([*arguments, "download", *(f"{name}={version}" for name, version in PACKAGES.items())], apt)
    unpacked = cache / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    for package in apt.glob("*.deb"):
        _run(["dpkg", "-x", str(package), str(unpacked)], apt)
        package.unlink()
    unpacked.rename(root)


def _archive() -> str:
    """The archive that this machine already takes the suite from."""
    targets = _run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)"], Path.cwd())
    for line in targets.splitlines():
        address, _, release = line.partition(" ")
        if release == SUITE:
            return address
    raise Unavailable(f"This machine's package sources have no {SUITE}, for which the packages are made.")


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"{command[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def _build(shim: Path) -> None:
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        raise Unavailable("there is no C compiler to build Intel's kernel side with.")
    headers = shim.parents[2] / "include"
    folders = [f"-I{headers}", f"-I{headers / 'libdrm'}"]
    _run([compiler, "-shared", "-fPIC", "-O1", *folders, "-o", str(shim), str(INTEL_SOURCE)], shim.parent)


def environment(gpu: str, dump: bool) -> dict[str, str]:
    """Variables under which a new process finds only this GPU; `dump`: with its machine code on file descriptor 2."""
    folder = driver_folder()
    shim, driver, variable = GPUS[gpu]
    if shim == INTEL_SHIM:
        _build(folder / shim)
    manifest = folder / f"{driver}.json"
    library = {"api_version": "1.4.305", "library_path": str(folder / f"libvulkan_{driver}.so")}
    manifest.write_text(json.dumps({"ICD": library, "file_format_version": "1.0.0"}), encoding="utf-8")
    variables = {
        "LD_PRELOAD": str(folder / shim),
        "LD_LIBRARY_PATH": str(folder),
        "VK_ICD_FILENAMES": str(manifest),
        "VK_DRIVER_FILES": str(manifest),
        "MESA_SHADER_CACHE_DISABLE": "1",
        "WGPU_BACKEND_TYPE": "Vulkan",
        "__EGL_VENDOR_LIBRARY_FILENAMES": str(folder / "none"),  # or wgpu tries this GPU through OpenGL, too
    }
    if variable:
        variables[variable] = gpu
    if dump:
        variables |= {"RADV_DEBUG": "shaderstats,asm,nocache", "INTEL_DEBUG": "cs"}
    return dict(os.environ) | variables
