"""Models that other programs keep on this computer: LM Studio, Ollama, llama.cpp and the Hugging Face cache.

Looked through only on request.  Headers, configurations and tokenizers are read, weights are not, and nothing is
written.  A link is followed only if it stays in the folder that is being looked through (the Hugging Face cache is made
of such links).  A file that cannot be read is listed with the reason.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MOST_DEPTH = 8
MOST_ENTRIES = 100_000  # files and folders in one place; more than that is no folder of models
MOST_MANIFEST_BYTES = 1 << 20
OLLAMA_MODEL = "application/vnd.ollama.image.model"


@dataclass(frozen=True)
class FoundModel:
    """`problem`: why it cannot be imported, "" if it can.  `nbytes`: of its files as they are."""

    program: str
    name: str
    path: Path
    nbytes: int
    architecture: str = ""
    parameters: int = 0
    stored: str = ""
    problem: str = ""

    @property
    def short_name(self) -> str:
        """What it would be called in the store: "coder-latest" for Ollama's "owner/coder:latest"."""
        return self.name.split("/")[-1].removesuffix(".gguf").replace(":", "-")


def model_folders() -> list[tuple[str, Path]]:
    """Where each program keeps its models here: as its environment variable says, or its usual place."""
    home, get = Path.home(), os.environ.get
    caches = Path(get("XDG_CACHE_HOME") or home / ".cache")
    if sys.platform == "darwin":
        llama = home / "Library" / "Caches" / "llama.cpp"
    elif sys.platform == "win32":
        llama = Path(get("LOCALAPPDATA") or home / "AppData" / "Local") / "llama.cpp"
    else:
        llama = caches / "llama.cpp"
    hub = get("HF_HUB_CACHE") or get("HUGGINGFACE_HUB_CACHE")
    hub = hub or Path(get("HF_HOME") or caches / "huggingface") / "hub"
    ollama = get("OLLAMA_MODELS")
    folders = [
        ("LM Studio", home / ".lmstudio" / "models"),
        ("LM Studio", home / ".cache" / "lm-studio" / "models"),  # before version 0.3.6
        ("Ollama", Path(ollama or home / ".ollama" / "models")),
        ("llama.cpp", Path(get("LLAMA_CACHE") or llama)),
        ("Hugging Face", Path(hub)),
    ]
    if sys.platform == "linux" and not ollama:
        folders.append(("Ollama", Path("/usr/share/ollama/.ollama/models")))  # as a system service
    return [(program, folder.expanduser()) for program, folder in folders]


def find_models(folders: Sequence[Path] | None = None) -> Iterator[FoundModel]:
    """Every model in these folders, or in those of other programs."""
    seen: set[Path] = set()
    places = model_folders() if folders is None else [("folder", folder.expanduser()) for folder in folders]
    for program, folder in places:
        root = Path(os.path.realpath(folder))
        if not root.is_dir():
            if folders is not None:
                from engine.errors import InputError

                raise InputError(f"{folder} is not a folder.", "Choose a folder.")
            continue
        models = _ollama_models(root) if (root / "manifests").is_dir() else _models_below(root)
        for name, path in models:
            real = Path(os.path.realpath(path))
            if real not in seen:
                seen.add(real)
                yield _inspected(program, name, path, root)


def _inspected(program: str, name: str, path: Path, root: Path) -> FoundModel:
    from engine.errors import CodecoilError
    from engine.session.inspection import inspect_model

    nbytes = 0
    try:
        files = [path] if not path.is_dir() else [Path(entry.path) for entry in os.scandir(path)]
        if outside := [file.name for file in files if not _is_inside(file, root)]:
            problem = f"{', '.join(sorted(outside)[:3])}: a link that leads out of {root} is not followed."
            return FoundModel(program, name, path, nbytes, problem=problem)
        weights = [file for file in files if file == path or file.suffix == ".safetensors"]
        nbytes = sum(file.stat().st_size for file in weights)
        facts = inspect_model(path)
    except CodecoilError as error:
        return FoundModel(program, name, path, nbytes, problem=error.message)
    except OSError as error:
        return FoundModel(program, name, path, nbytes, problem=f"It cannot be read: {error.strerror or error}.")
    config = facts.config
    return FoundModel(program, name, path, nbytes, config.model_type, config.parameter_count, facts.stored)


def _is_inside(path: Path, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(root)


def _models_below(root: Path) -> Iterator[tuple[str, Path]]:
    """GGUF files and folders in Hugging Face format, by their path in `root`; linked folders are not entered."""
    left, folders = MOST_ENTRIES, [(root, 0)]
    while folders:
        folder, depth = folders.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:  # not ours to read: what is in it cannot be imported either
            continue
        left -= len(entries)
        if left < 0:
            return
        names = {entry.name for entry in entries}
        if "config.json" in names and any(name.endswith(".safetensors") for name in names):
            yield _name(folder, root), folder
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if depth < MOST_DEPTH:
                    folders.append((Path(entry.path), depth + 1))
            elif entry.name.lower().endswith(".gguf"):
                yield _name(Path(entry.path), root), Path(entry.path)


def _name(path: Path, root: Path) -> str:
    """Its path, without what the Hugging Face cache adds: "Qwen/Qwen2.5-Coder-0.5B"."""
    parts = path.relative_to(root).parts or (root.name,)
    if parts[0].startswith("models--") and parts[1:2] == ("snapshots",):
        parts = (*parts[0].removeprefix("models--").split("--"), *parts[3:])
    return "/".join(parts)


def _ollama_models(root: Path) -> Iterator[tuple[str, Path]]:
    """Ollama keeps GGUF files by their hash; its manifests, in folders by registry, owner and name, say which."""
    from engine.errors import CodecoilError
    from engine.safe_reading import read_json

    manifests = root / "manifests"
    for folder, folders, files in os.walk(manifests):
        folders[:] = sorted(folders) if len(Path(folder).relative_to(manifests).parts) < MOST_DEPTH else []
        for file in sorted(files):
            path = Path(folder) / file
            _, *owner, model = path.parent.relative_to(manifests).parts or ("", "")
            name = "/".join([*(part for part in owner if part != "library"), f"{model}:{file}"])
            try:
                manifest = read_json(path, MOST_MANIFEST_BYTES)
                layers = manifest["layers"]
                digests = [str(layer["digest"]) for layer in layers if layer.get("mediaType") == OLLAMA_MODEL]
            except (CodecoilError, KeyError, TypeError, AttributeError):
                yield name, path  # shown as what cannot be imported
                continue
            for digest in digests:
                yield name, root / "blobs" / digest.replace(":", "-").replace("/", "-").replace("\\", "-")
