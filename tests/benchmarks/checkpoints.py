"""What the checkpoint store costs, beside a plain copy of the same bytes.

    python tests/benchmarks/checkpoints.py [folder]

Both sides of the comparison end with the bytes on the disk (`fsync`), not in a cache, and are measured in turns.
`folder` is where the test data go (about 4 GB); by default the system's temporary folder.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import numpy as np  # noqa: E402
from measure import in_turns, report, seconds  # noqa: E402

from engine.checkpoints.combining.compare import compare_parameters  # noqa: E402
from engine.checkpoints.store.delta import make_delta  # noqa: E402
from engine.checkpoints.store.manifest import WEIGHTS_FILE, Facts  # noqa: E402
from engine.checkpoints.store.store import CheckpointStore  # noqa: E402
from engine.model.config import ModelConfig  # noqa: E402

MAMBA_130M = ModelConfig(hidden_size=768, num_hidden_layers=24, vocab_size=50280)
TINY = ModelConfig(hidden_size=16, num_hidden_layers=1, vocab_size=300)
LISTED, LISTED_MODEL = 1000, ModelConfig(hidden_size=16, num_hidden_layers=24, vocab_size=300)
METRICS = {"held_out_loss": 1.25, "train_loss": 1.5, "perplexity": 3.49, "bits_per_byte": 0.61}
OPTIONS = {"learning_rate": 1e-3, "batch": 4, "length": 256, "preset": "balanced", "seed": 0, "weight_decay": 0.1}


def random_parameters(config: ModelConfig) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {name: generator.standard_normal(shape, np.float32) for name, shape in config.parameter_shapes().items()}


def copy_and_flush(source: Path, target: Path) -> None:
    """A plain copy that lasts: what saving is measured against."""
    shutil.copyfile(source, target)
    for path in (target, target.parent):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    target.unlink()


def saving(folder: Path, parameters: dict[str, np.ndarray]) -> CheckpointStore:
    """Whole checkpoints and WSLA deltas of mamba-130m's size."""
    store = CheckpointStore(folder / "store")
    base = store.save(Facts("mamba-130m", "base"), config=MAMBA_130M, parameters=parameters)
    weights = store.folder / base.id / WEIGHTS_FILE

    def save_whole() -> None:
        saved = store.save(Facts("whole", "full"), config=MAMBA_130M, parameters=parameters)
        shutil.rmtree(store.folder / saved.id)

    best = in_turns({"copy": lambda: copy_and_flush(weights, folder / "copy"), "save": save_whole}, 8)
    report("checkpoint_copy_seconds", best["copy"], "s")
    report("checkpoint_save_seconds", best["save"], "s")
    report("checkpoint_save_over_copy", best["save"] / best["copy"])

    def save_delta() -> None:
        delta = make_delta("wsla", MAMBA_130M, parameters)
        history = [{"step": step, "loss": 2.0} for step in range(300)]
        store.save_delta(
            Facts("wsla", "wsla", metrics=METRICS, options=OPTIONS), base=base.id, delta=delta, history=history
        )

    report("wsla_delta_save_milliseconds", 1e3 * in_turns({"delta": save_delta}, 8)["delta"], "ms")
    latest = store.list()[0]
    size = sum(file.stat().st_size for file in (store.folder / latest.id).rglob("*"))
    report("wsla_delta_megabytes", size / 1e6, "MB")
    return store


def peak_while_loading(folder: Path, which: str, into_model: bool, answer) -> None:
    """Largest growth of this process's memory while a checkpoint is read, over the size of its weights."""
    store = CheckpointStore(folder)
    if into_model:
        import engine
        from engine.model.model import Model

        device = engine.open_device("cpu")
        engine.create_model(TINY, device=device).close()
    before = memory("VmRSS")
    with store.load_parameters(which) as parameters:
        if into_model:
            model = Model(parameters.config, device)
            for name, array in parameters.items():
                model.parameters[name] = array
        else:
            for _, array in parameters.items():
                float(array.sum())
        answer.put((memory("VmHWM") - before) / (4 * MAMBA_130M.parameter_count))


def memory(kind: str) -> int:
    """Bytes of this process as Linux tells them: VmRSS now, VmHWM at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(kind))


def loading(store: CheckpointStore) -> None:
    """In processes of their own, whose memory holds nothing else."""
    context = multiprocessing.get_context("spawn")
    for which in ("mamba-130m", store.list()[0].id):
        kind = store.get(which).kind
        best = in_turns({"open": functools.partial(store.load_parameters, which)}, 5)["open"]
        report(f"load_{kind}_map_milliseconds", 1e3 * best, "ms")
        for into_model in (False, True):
            answer = context.Queue()
            process = context.Process(target=peak_while_loading, args=(store.folder, which, into_model, answer))
            process.start()
            report(f"load_{kind}_{'into_model' if into_model else 'one_pass'}_peak_over_weights", answer.get())
            process.join()


def comparing(store: CheckpointStore) -> None:
    """Two whole checkpoints, and a whole one with a delta on it."""
    store.convert(store.list()[0].id, name="other")
    for what, other in (("whole", "other"), ("delta", next(m.id for m in store.list() if m.kind == "delta"))):

        def compare(other: str = other) -> None:
            compare_parameters(store.load_parameters("mamba-130m"), store.load_parameters(other))

        report(f"compare_with_{what}_seconds", in_turns({"compare": compare}, 3)["compare"], "s")


def listing(folder: Path) -> None:
    store = CheckpointStore(folder / "many")
    parameters = random_parameters(LISTED_MODEL)
    base = store.save(Facts("base", "base"), config=LISTED_MODEL, parameters=parameters)
    delta = make_delta("wsla", LISTED_MODEL, parameters)
    began = time.perf_counter()
    for number in range(LISTED - 1):
        facts = Facts(f"step {number}", "wsla", run="run", step=number, metrics=METRICS, options=OPTIONS)
        store.save_delta(facts, base=base.id, delta=delta)
    report("save_tiny_delta_milliseconds", 1e3 * (time.perf_counter() - began) / (LISTED - 1), "ms")
    assert len(store.list()) == LISTED
    report("list_1000_milliseconds", 1e3 * in_turns({"list": store.list}, 5)["list"], "ms")


def verifying(store: CheckpointStore) -> None:
    report("verify_seconds", seconds(lambda: store.verify("mamba-130m")), "s")


def main() -> None:
    folder = Path(tempfile.mkdtemp(dir=sys.argv[1] if len(sys.argv) > 1 else None))
    try:
        store = saving(folder, random_parameters(MAMBA_130M))
        loading(store)
        verifying(store)
        comparing(store)
        listing(folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
