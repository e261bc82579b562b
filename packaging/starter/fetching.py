"""Downloads packages with the registries' ordinary clients, unpacks them and records their stated licences.

    work/downloads/<registry>/<name>-<version>/   what pip or npm downloaded
    work/packages/<role>/<name>-<version>/        its source files
    work/licences/<registry>-<name>-<version>.json

What is there already is not downloaded again. To get the metadata of a source distribution pip runs the package's build
backend; that happens in a separate environment in the work folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from email.parser import HeaderParser
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from engine.corpus.reading.languages import VENDORED_FOLDERS
from engine.errors import CodecoilError
from starter.package_lists import NPM, PYTHON, TRAIN, Package, is_permissive

MOST_AT_ONCE = 4
PATIENCE = 180.0  # seconds for one package
LARGEST_FILE = 1 << 20
# Per training package and suffix, so that many small packages count as much as a few huge ones; files are sampled by
# path. The registries have much Python, JavaScript and C, and the rest mostly in a few large packages.
MOST_BYTES_A_SUFFIX = 500_000
MOST_BYTES_RARE = 4_000_000
RARE = frozenset({".rs", ".go", ".java", ".kt", ".swift", ".sh", ".bash", ".sql"})
MOST_BYTES_STANDARD_LIBRARY = 8_000_000
BACKENDS = (
    "setuptools>=77", "wheel", "flit_core", "hatchling", "hatch-vcs", "hatch-fancy-pypi-readme", "hatch-nodejs-version",
    "hatch-requirements-txt", "hatch-jupyter-builder", "poetry-core", "poetry-dynamic-versioning", "pdm-backend",
    "setuptools_scm", "cython", "maturin", "expandvars", "pbr", "uv-build", "versioneer", "setuptools-rust", "cffi",
    "pkgconfig", "scikit-build-core", "meson-python", "incremental",
)  # fmt: skip
# Of an npm package with sources only these are read: next to them is the same code, compiled.
SOURCE_FOLDERS = frozenset({
    "src", "test", "tests", "examples", "example", "scripts", "bin", "deps", "android", "ios", "apple", "cpp", "common",
    "shared", "native", "java", "go", "crates", "rust", "framework", "sql", "migrations", "templates", "Libraries",
    "ReactAndroid", "ReactCommon", "React",
})  # fmt: skip
COMPILED_FOLDERS = frozenset(
    {"dist", "cjs", "esm", "umd", "build", "_cjs", "_esm", "es6", "es5", "commonjs", "bundles"}
)
COMPILED_NAMES = (".d.ts", ".d.mts", ".d.cts", ".map", ".min.js")
STANDARD_LIBRARY_SKIPPED = frozenset(
    {"site-packages", "__pycache__", "lib-dynload", "config", "ensurepip", "pydoc_data"}
)


class FetchError(CodecoilError):
    """A package cannot be downloaded, or must not be used."""


@dataclass(frozen=True)
class Licence:
    """The licence that a package states."""

    registry: str
    name: str
    version: str
    role: str
    licence: str
    file: str


def fetch(work: Path, packages: Iterable[Package], say: Callable[[str], None]) -> list[Licence]:
    """Download every missing package; returns the licences of all, or raises an error that names all failures."""
    packages = list(packages)
    missing = [package for package in packages if not _licence_path(work, package).is_file()]
    if any(package.registry == PYTHON for package in missing):
        _make_environment(work)
    failures = []

    def bring(package: Package) -> None:
        try:
            licence = _bring(work, package)
            say(f"fetched {package.name} {package.version} ({licence.licence})")
        except FetchError as error:
            failures.append(str(error))
            say(f"failed: {error}")

    with ThreadPoolExecutor(MOST_AT_ONCE) as threads:
        list(threads.map(bring, missing))
    if failures:
        raise FetchError(f"{len(failures)} packages could not be fetched: {' '.join(failures)}", "Run it again.")
    licences = [Licence(**json.loads(_licence_path(work, package).read_text("utf-8"))) for package in packages]
    return [*licences, standard_library(work)] if any(package.role == TRAIN for package in packages) else licences


def package_folder(work: Path, package: Package) -> Path:
    return work / "packages" / package.role / package.folder


def standard_library(work: Path) -> Licence:
    """The running interpreter's standard library, as one more training package."""
    version = ".".join(map(str, sys.version_info[:3]))
    target = work / "packages" / TRAIN / f"python-{version}"
    if not target.is_dir():
        partial = target.with_name(target.name + ".part")
        shutil.rmtree(partial, ignore_errors=True)
        source = Path(sysconfig.get_path("stdlib"))
        sizes = {
            str(path.relative_to(source)): path.stat().st_size
            for path in sorted(source.rglob("*.py"))
            if not STANDARD_LIBRARY_SKIPPED & set(path.relative_to(source).parts)
        }
        for name in _sampled(sizes, MOST_BYTES_STANDARD_LIBRARY):
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, partial / name)
        os.replace(partial, target)
    return Licence(PYTHON, "python", version, TRAIN, "PSF-2.0", "the running interpreter's standard library")


def _licence_path(work: Path, package: Package) -> Path:
    return work / "licences" / f"{package.registry}-{package.folder}.json"


def _make_environment(work: Path) -> None:
    environment = work / "build-environment"
    if (environment / "ready").is_file():
        return
    venv.create(environment, with_pip=True, clear=True)
    _run([*_pip(work), "install", "--quiet", *BACKENDS], work, "the build backends")
    (environment / "ready").touch()


def _pip(work: Path) -> list[str]:
    scripts = work / "build-environment" / ("Scripts" if os.name == "nt" else "bin")
    return [str(scripts / "python"), "-m", "pip"]


def _run(command: list[str], folder: Path, what: str, patience: float | None = None) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=patience)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        lines = str(said).strip().splitlines() or ["no reason given"]
        raise FetchError(f"{what}: {lines[-1].strip()}") from error


def _bring(work: Path, package: Package) -> Licence:
    archive = _download(work, package)
    target = package_folder(work, package)
    partial = target.with_name(target.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    _unpack(archive, partial, package)
    licence = Licence(
        package.registry, package.name, package.version, package.role, _stated_licence(archive, package), archive.name
    )
    if not is_permissive(licence.licence):
        shutil.rmtree(partial)
        raise FetchError(
            f"{package.name} {package.version}: its licence is {licence.licence!r}.", "Remove it from the list."
        )
    shutil.rmtree(target, ignore_errors=True)
    os.replace(partial, target)
    path = _licence_path(work, package)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(licence), indent=1), "utf-8")
    return licence


def _download(work: Path, package: Package) -> Path:
    """The archive: a source distribution if there is one, otherwise a wheel, or what `npm pack` creates."""
    folder = work / "downloads" / package.registry / package.folder
    folder.mkdir(parents=True, exist_ok=True)
    found = [path for path in folder.iterdir() if path.name.endswith((".tar.gz", ".tgz", ".zip", ".whl"))]
    if found:
        return found[0]
    pinned = f"{package.name}=={package.version}"
    if package.registry == NPM:
        _run(["npm", "pack", "--silent", f"{package.name}@{package.version}"], folder, pinned, PATIENCE)
    else:
        download = [*_pip(work), "download", "--quiet", "--no-deps", "--ignore-requires-python", "--dest", str(folder)]
        source = [*download, "--no-binary", ":all:", "--no-build-isolation", pinned]
        try:
            _run(source, folder, pinned, PATIENCE)
        except FetchError:  # no source distribution, or one whose metadata cannot be built
            _run([*download, "--only-binary", ":all:", pinned], folder, pinned, PATIENCE)
    found = [path for path in folder.iterdir() if path.is_file()]
    if len(found) != 1:
        raise FetchError(f"{pinned}: the client left {len(found)} files instead of one.")
    return found[0]


def _unpack(archive: Path, target: Path, package: Package) -> None:
    """Unpack regular files of at most 1 MiB below the archive's top folder; nothing can land outside `target`."""
    with _opened(archive) as (sizes, read):
        inside = {name: _inner(name, archive) for name in sizes}
        has_source = package.registry == NPM and any(inner.parts[:1] == ("src",) for inner in inside.values())
        wanted = {
            name: sizes[name]
            for name, inner in inside.items()
            if sizes[name] <= LARGEST_FILE
            and inner.parts
            and not inner.is_absolute()
            and ".." not in inner.parts
            and not VENDORED_FOLDERS & set(inner.parts[:-1])
            and (package.registry != NPM or _is_source(inner, has_source))
        }
        if package.role == TRAIN:
            wanted = _sampled(wanted, MOST_BYTES_A_SUFFIX, MOST_BYTES_RARE)
        for name in wanted:  # in the archive's order: seeking back would decompress it from the start
            path = target / inside[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(read(name))


def _sampled(sizes: dict[str, int], most: int, most_rare: int = 0) -> dict[str, int]:
    """For each suffix as many files as fit in `most` bytes, in `most_rare` if it is in `RARE` and that is more.

    They are sampled by a hash of their path, and stay in the given order.
    """
    room: dict[str, int] = {}
    kept = set()
    for name in sorted(sizes, key=lambda name: blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()):
        suffix = PurePosixPath(name).suffix.lower()
        if room.setdefault(suffix, max(most, most_rare) if suffix in RARE else most) >= sizes[name]:
            room[suffix] -= sizes[name]
            kept.add(name)
    return {name: size for name, size in sizes.items() if name in kept}


def _is_source(inner: PurePosixPath, has_source: bool) -> bool:
    if inner.name.endswith(COMPILED_NAMES) or COMPILED_FOLDERS & set(inner.parts[:-1]):
        return False
    return not has_source or len(inner.parts) == 1 or inner.parts[0] in SOURCE_FOLDERS


def _inner(name: str, archive: Path) -> PurePosixPath:
    """The path without the top folder of a source archive; a wheel has none."""
    path = PurePosixPath(name)
    return path if archive.suffix == ".whl" else PurePosixPath(*path.parts[1:])


@contextmanager
def _opened(archive: Path) -> Iterator[tuple[dict[str, int], Callable[[str], bytes]]]:
    """The regular files of an archive with their sizes, and a function that reads one."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as file:
            yield {info.filename: info.file_size for info in file.infolist() if not info.is_dir()}, file.read
    else:
        with tarfile.open(archive) as tar:
            members = {member.name: member for member in tar.getmembers() if member.isfile()}
            yield (
                {name: member.size for name, member in members.items()},
                lambda name: tar.extractfile(members[name]).read(),
            )


def _stated_licence(archive: Path, package: Package) -> str:
    """The licence in the package's own metadata: the expression, the classifiers, or the free field."""
    with _opened(archive) as (sizes, read):
        if package.registry == NPM:
            manifest = next(name for name in sizes if _inner(name, archive) == PurePosixPath("package.json"))
            stated = json.loads(read(manifest))
            licence = stated.get("license") or stated.get("licenses") or ""
            return licence if isinstance(licence, str) else json.dumps(licence)
        candidates = [name for name in sizes if name.endswith(("PKG-INFO", ".dist-info/METADATA"))]
        if not candidates:
            raise FetchError(f"{package.name} {package.version} has no metadata.")
        metadata = HeaderParser().parsestr(read(min(candidates, key=len)).decode("utf-8", "replace"))
    if metadata.get("License-Expression"):
        return metadata["License-Expression"]
    classifiers = [
        line.rpartition("::")[2].strip() for line in metadata.get_all("Classifier", []) if line.startswith("License ::")
    ]
    named = [line for line in classifiers if line not in ("OSI Approved", "")]
    free = (metadata.get("License") or "").strip()
    return " AND ".join(named) or (free.splitlines() or ["not stated"])[0].strip()
