"""Peak memory while a model with one very large tensor is imported, loaded and verified, over the size of its file.

    python tests/benchmarks/one_large_tensor.py [folder]

Each job runs in a process of its own, which first does the same with a tiny model, so that only what the job itself
adds is counted. `folder` is where the files go (about 1 GB); by default the system's temporary folder.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from measure import report  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

import engine  # noqa: E402
from engine.checkpoints.formats.importing import import_checkpoint  # noqa: E402
from engine.checkpoints.store.store import CheckpointStore  # noqa: E402
from engine.model.config import ModelConfig  # noqa: E402

ROWS, WIDTH = 1_000_000, 64  # 256 MB of float32
TYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def write_folder(folder: Path, rows: int, dtype: type) -> int:
    """A Hugging Face folder whose embedding has `rows` rows; gives the bytes of its weights."""
    import json

    config = ModelConfig(hidden_size=WIDTH, num_hidden_layers=1, vocab_size=rows, state_size=4)
    generator = np.random.default_rng(0)
    arrays = {
        name: (generator.standard_normal(shape, np.float32) / 16).astype(dtype)
        for name, shape in config.parameter_shapes().items()
    }
    folder.mkdir(parents=True)
    save_file(arrays, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config.to_hugging_face()))
    return (folder / "model.safetensors").stat().st_size


def peak(reset: bool = False) -> int:
    """The largest resident size since the last reset (Linux only)."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def run(job: str, tiny: Path, large: Path, store: Path, answer) -> None:
    """Report how far this process's memory grows during `job`, in bytes."""
    device = engine.open_device("cpu")

    def work(folder: Path, place: Path) -> None:
        checkpoints = CheckpointStore(place)
        if job == "import":
            import_checkpoint(checkpoints, folder)
        elif job == "load folder":
            engine.load_model(folder, device).close()
        elif job == "load checkpoint":
            from engine.model.model import Model

            with checkpoints.load_parameters(folder.name) as parameters:
                model = Model(parameters.config, device)
                model.parameters.fill(parameters)
                model.close()
        else:
            assert not checkpoints.verify(folder.name)

    work(tiny, store / "tiny")
    before = peak(reset=True)
    work(large, store / "large")
    answer.send(peak() - before)


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as place:
        for name, dtype in TYPES.items():
            folder = Path(place) / name
            write_folder(folder / "tiny", 256, dtype)
            size = write_folder(folder / "large", ROWS, dtype)
            for job in ("import", "load folder", "load checkpoint", "verify"):
                receive, send = multiprocessing.get_context("spawn").Pipe()
                arguments = (job, folder / "tiny", folder / "large", folder / "store", send)
                process = multiprocessing.get_context("spawn").Process(target=run, args=arguments)
                process.start()
                process.join()
                share = receive.recv() / size if receive.poll() else float("nan")
                report(f"{name}_{job.replace(' ', '_')}_peak_over_file", share)


if __name__ == "__main__":
    main()
