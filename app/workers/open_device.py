"""The open device with the models on it.  Belongs to the engine's thread; every worker there uses this one.

Models are loaded when they are first needed and stay until their memory is: the least recently used one goes first,
a model in training never.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path

from app.values.completion import IN_TRAINING, STARTER
from app.values.engine import MemoryState
from app.values.failures import Cancelled
from app.workers.loaded_model import LoadedModel, load_blend, load_one
from engine.errors import CodecoilError, MemoryCeilingError

ModelKey = tuple[tuple[str, ...], str]  # one id, or the two of a blend, and the precision they are kept in
MOST_MODELS = 5  # the two that are compared, their blend, and two points of a timeline


class OpenDevice:
    """The device, the models on it, and what they need of the open repository."""

    def __init__(self, data_folder: Path) -> None:
        self.data_folder = data_folder
        self.show_activity: Callable[[str, float], None] = lambda words, tokens_per_second: (
            None
        )  # activity, tokens per second
        self.leaving = threading.Event()  # set, from any thread, when the program is about to end
        self.session = None  # of the present run
        self.corpus = None  # of the open repository, as last read
        self.remembered = None  # the engine's MemorySnapshot of that repository
        self.run_corpus = None  # of the last run, until its scorecard is measured
        self._wanted, self._ceiling = "auto", 3 << 30
        self._device = None
        self._opened = ""  # the name that the device was opened under
        self._models: OrderedDict[ModelKey, LoadedModel] = OrderedDict()
        self._kept: dict[tuple[str, str], str] = {}  # the precision that a model is kept in, by id and wanted one
        self._store = None
        self._trusted: set[str] = set()  # descriptions of devices that were checked
        self._training_model: LoadedModel | None = None
        self._held: list[LoadedModel] = []

    # ---- the device

    @property
    def store(self):
        if self._store is None:
            from engine.checkpoints.store.store import CheckpointStore

            self._store = CheckpointStore(self.data_folder / "checkpoints")
        return self._store

    def choose(self, name: str, ceiling: int) -> None:
        """Use this device from now on; during a run, once it is over."""
        self._wanted, self._ceiling = name, ceiling
        if self._device is None:
            return
        self._device.ledger.ceiling = ceiling
        if self._opened != name and self.session is None:
            self.close()

    @property
    def device(self):
        """The device, opened when it is first needed, and anew after it was lost: by a run itself, if there is one."""
        return self.opened()

    def opened(self, progress: Callable[[int, int, str], None] | None = None):
        """The same.  `progress` hears of the measurements when a graphics card is used for the first time."""
        self._leave_former_device()
        if self._device is None:
            self._open(self._wanted, progress)
        return self._device

    def reopen(self):
        """For a run whose device was lost: the same one, opened anew.  What was loaded on it is loaded when needed."""
        if self._training_model is not None:
            self._training_model.completer_gone()
            self._training_model = None
        self.close()
        self._open(self._opened)
        return self._device

    def _leave_former_device(self) -> None:
        """Close a device that was lost or is no longer wanted, unless a run or a model in use still needs it."""
        device = self._device
        if device is None or self.session is not None or self._held:
            return
        if device.lost or self._opened != self._wanted:
            self.close()

    def _open(self, name: str, progress: Callable[[int, int, str], None] | None = None) -> None:
        from engine.devices import open_device

        progress = progress or self._show_measuring
        self._device, self._opened = open_device(name, ceiling=self._ceiling, progress=progress), name

    def _show_measuring(self, done: int, total: int, what: str) -> None:
        self.show_activity("Idle" if done == total else f"{what}, {done} of {total}", 0.0)
        if self.leaving.is_set():
            raise Cancelled

    @property
    def is_open(self) -> bool:
        return self._device is not None

    def memory(self) -> MemoryState:
        """The ledger's present state."""
        if self._device is None:
            return MemoryState(ceiling=self._ceiling)
        use = self._device.ledger.snapshot()
        return MemoryState({str(kind): count for kind, count in use.by_kind.items()}, use.total, use.peak, use.ceiling)

    def require_right_numbers(self, look: Callable[[], None]) -> None:
        """Check a device once before the first training on it; the CPU device is the reference itself.

        `look` is called after each kernel and may raise.
        """
        device = self.device
        if device.name == "cpu" or device.description in self._trusted:
            return
        from engine import selftest

        selftest.require(device, lambda check: look())
        self._trusted.add(device.description)

    # ---- models

    def model(self, id: str, second: str = "", blend: float = 0.0, precision: str = "float32") -> LoadedModel:
        """A model ready for use: STARTER, IN_TRAINING, a checkpoint's id, or the blend of two.

        `precision`: in which it will be decoded; a large model is kept in that alone.
        """
        if id == IN_TRAINING:
            return self._in_training()
        self._leave_former_device()
        blended = bool(second) and blend > 0 and second != id and second != IN_TRAINING
        key = ((id, second) if blended else (id,), self._kept_precision(id, precision))
        loaded = self._models.get(key)
        if loaded is None:
            self._make_room(MOST_MODELS - 1)
            loaded = self._models[key] = self._loaded(key)
        self._models.move_to_end(key)
        if blended:
            loaded.blend(blend)
        return loaded

    @contextlib.contextmanager
    def held(self, id: str, precision: str = "float32") -> Iterator[LoadedModel]:
        """A model that stays loaded while it is in use, whatever else is needed meanwhile."""
        loaded = self.model(id, precision=precision)
        self._held.append(loaded)
        try:
            yield loaded
        finally:
            self._held.remove(loaded)

    def remember(self, snapshot) -> None:
        """Take the open repository's present memory; None makes every model release it."""
        self.remembered = snapshot
        if snapshot is None:
            for loaded in (*self._models.values(), *self._held, self._training_model):
                if loaded is not None:
                    loaded.remember(None)

    def release_models(self) -> None:
        """Release all models but the one in training."""
        self._make_room(0)

    def forget(self, id: str) -> None:
        """Unload a checkpoint that was deleted or changed."""
        for key in [key for key in self._models if id in key[0]]:
            self._models.pop(key).close()

    def training_began(self, session) -> None:
        self.session = session

    def training_ended(self) -> None:
        """The run closes its model itself."""
        if self._training_model is not None:
            self._training_model.completer_gone()
            self._training_model = None
        self.session = None

    def weights_moved(self) -> None:
        """A training step was taken."""
        if self._training_model is not None:
            self._training_model.stale = True

    def close(self) -> None:
        """Release everything."""
        self.release_models()
        device, self._device = self._device, None
        if device is not None:
            device.close()

    # ---- inside

    def _in_training(self) -> LoadedModel:
        if self.session is None:
            raise CodecoilError("No model is being trained.", "Choose another model.")
        if self._training_model is None:
            self._training_model = LoadedModel(self.session.model, self.session.corpus.tokenizer, owned=False)
        return self._training_model

    def _kept_precision(self, id: str, wanted: str) -> str:
        if wanted == "float32":
            return wanted
        if (id, wanted) not in self._kept:
            from engine.generate.precision import kept_precision

            found = self._resolve(id)  # the built-in one is small
            self._kept[id, wanted] = "float32" if found == STARTER else kept_precision(wanted, self.store.config(found))
        return self._kept[id, wanted]

    def _loaded(self, key: ModelKey) -> LoadedModel:
        """Load, unloading others for as long as there is too little memory."""
        ids, precision = tuple(map(self._resolve, key[0])), key[1]
        load = load_blend if len(ids) == 2 else load_one
        while True:
            try:
                return load(self.store, self.device, *ids, precision)
            except MemoryCeilingError:
                before = len(self._models)
                self._make_room(before - 1)
                if len(self._models) == before:
                    raise

    def _resolve(self, id: str) -> str:
        """STARTER where this build has none: the newest checkpoint takes its place."""
        from engine.model.starter import starter_folder

        if id != STARTER or starter_folder() is not None:
            return id
        found = self.store.list()
        if not found:
            raise CodecoilError("There is no model yet.", "Adapt to a repository, or import a model.")
        return found[0].id

    def _make_room(self, most: int) -> None:
        for key in [key for key, loaded in self._models.items() if loaded not in self._held]:
            if len(self._models) <= most:
                break
            self._models.pop(key).close()
