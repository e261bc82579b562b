"""Which model a command uses: the one given, or the best match for a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.data.data_folder import data_folder

if TYPE_CHECKING:
    from engine.checkpoints.store.store import Manifest
    from engine.corpus.tokens.tokenizer import Tokenizer
    from engine.devices import Device
    from engine.model.model import Model

STORE = "checkpoints"  # folder of the store in the data folder
STARTER = "starter (built-in)"  # its name in the store, and in the window


@dataclass(frozen=True)
class ChosenModel:
    """A loaded model, its tokenizer and its name.  The caller closes the model.

    `root`: the folder it was trained on, if the file is in it.  `key`: what its measured losses are stored under; ""
    for a folder that is not a checkpoint, whose weights may change.
    """

    model: Model
    tokenizer: Tokenizer
    name: str
    root: Path | None = None
    key: str = ""


def open_chosen(
    checkpoint: str | None, base: str | None, file: Path | None, device: Device, precision: str = "float32"
) -> ChosenModel:
    """The given checkpoint or folder; otherwise the newest checkpoint of the file's repository, else the newest of
    all, else the built-in model.  `precision`: in which it will be decoded, so that a large one is kept in that."""
    from engine.checkpoints.store.loading import load_checkpoint
    from engine.checkpoints.store.store import CheckpointStore
    from engine.generate.precision import kept_precision

    if base is not None:
        from engine.checkpoints.formats.hugging_face import load_folder
        from engine.model.files import read_config

        return ChosenModel(*load_folder(Path(base), device, kept_precision(precision, read_config(Path(base)))), base)
    store = CheckpointStore(data_folder() / STORE)
    manifest = store.get(checkpoint) if checkpoint is not None else newest_for(store.list(), file)
    if manifest is None:
        return open_starter(device)
    root = next((folder for folder in (file.parents if file else ()) if is_of(manifest, folder)), None)
    kept = kept_precision(precision, store.config(manifest.id))
    return ChosenModel(*load_checkpoint(store, manifest.id, device, kept), manifest.name, root, manifest.id)


def newest_for(manifests: list[Manifest], file: Path | None) -> Manifest | None:
    """The newest checkpoint of the folder that `file` is in, else the newest trained one."""
    trained = trained_among(manifests)
    own = newest_of(trained, file.parent) if file is not None else None
    return own or (trained[0] if trained else None)


def trained_among(manifests: list[Manifest]) -> list[Manifest]:
    """Results of runs: no bases, and no snapshots along a run."""
    return [manifest for manifest in manifests if not manifest.is_snapshot and manifest.mode != "base"]


def newest_of(trained: list[Manifest], folder: Path) -> Manifest | None:
    """The newest that was trained on `folder` or the nearest one above it, else on one that is related to it."""
    from engine.checkpoints.store.trained_folder import trained_on
    from engine.corpus.reading.known_folders import are_related

    for above in (folder, *folder.parents):
        own = [manifest for manifest in trained if is_of(manifest, above)]
        if own:
            return own[0]
    return next((each for each in trained if (root := trained_on(each)) and are_related(root, folder)), None)


def is_of(manifest: Any, folder: Path) -> bool:
    """Whether a checkpoint was trained on `folder`: it is recorded, whatever its name is now; one from another machine
    is recognised by the name that a run on `folder` gives."""
    from engine.checkpoints.store.trained_folder import trained_on

    if trained_on(manifest) == str(folder):
        return True
    name, mark, number = manifest.name.rpartition(" #")
    return bool(mark) and name == folder.name and number.isdigit()


def open_starter(device: Device) -> ChosenModel:
    from engine.generate.decode_losses import built_in_key
    from engine.model.starter import load_starter, starter_folder

    tokenizer = starter_tokenizer()
    return ChosenModel(load_starter(device), tokenizer, STARTER, key=built_in_key(starter_folder()))


def starter_tokenizer() -> Tokenizer:
    """Of the built-in model; raises if there is none."""
    from engine.corpus.tokens.tokenizer import Tokenizer
    from engine.errors import CheckpointError
    from engine.model.starter import starter_folder
    from engine.session import starter_is_there

    if not starter_is_there():
        raise CheckpointError(
            "There is no model yet.",
            "Train one with `codecoil train`, or download one with `codecoil base`.",
        )
    return Tokenizer.load(starter_folder())


def add_precision(parser) -> None:
    """`--precision`, for the commands that decode."""
    from engine.generate.options import PRECISION

    parser.add_argument(
        "--precision",
        choices=PRECISION.choices,
        default=PRECISION.default,
        help="how the weights are read while decoding; fewer bits are faster"
        " (default: auto, which is int8 for large models and float16 for others)",
    )
