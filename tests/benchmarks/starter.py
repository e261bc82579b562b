"""What the starter model is worth on packages that it never saw, beside xz and a 5-gram model of the same data.

    python tests/benchmarks/starter.py --work FOLDER [--model FOLDER] [--package NAME ...]

FOLDER is the work folder of `packaging/starter_model.py`; the evaluation packages are fetched into it where they are
missing. For each package: bits per byte of the files in its main language by the model, by `xz -9` over all of them at
once and by the 5-gram model; how often the next line is exactly right and how many keystrokes are saved, by our own
scorecard. Also how long loading takes, in a process where the engine has already computed something, as in the program.
Prints name=value lines and leaves the table for the model card in the work folder.
"""

from __future__ import annotations

import argparse
import json
import lzma
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "packaging")]  # before this folder, which has an engine.py and a starter.py

from five_gram import FiveGram  # noqa: E402
from measure import report, seconds  # noqa: E402
from package_material import SEED, read_material  # noqa: E402
from starter.prepared_corpus import PreparedCorpus  # noqa: E402

from engine.corpus.batches.framing import Framing  # noqa: E402
from engine.corpus.tokens.tokenizer import Tokenizer  # noqa: E402
from engine.devices import open_device  # noqa: E402
from engine.model.model import create_model, load_model  # noqa: E402
from engine.model.starter import starter_place  # noqa: E402
from engine.scorecard import Material, ScoreOptions, Subject, score  # noqa: E402

FIVE_GRAM_TOKENS = 20_500_000  # of the training data: as many as the model is planned to see
COLUMNS = {
    "bits_per_byte": "bits per byte",
    "five_gram_bits_per_byte": "5-gram",
    "xz_bits_per_byte": "xz -9",
    "next_line_exact": "next line exactly right",
    "keystrokes_saved_by_line": "keystrokes saved, by line",
    "keystrokes_saved_by_word": "keystrokes saved, by word",
}


@dataclass(frozen=True)
class Package:
    """An evaluation package: what is asked about it."""

    name: str
    material: Material

    @property
    def bytes(self) -> int:
        return sum(len(text.text.encode("utf-8", "surrogatepass")) for text in self.material.texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=starter_place())
    parser.add_argument("--package", action="append", help="only this one; may be given more than once")
    parser.add_argument("--characters", type=int, default=200_000, help="of each package, at most")
    parser.add_argument("--cursors", type=int, default=100)
    arguments = parser.parse_args()
    fetch = [sys.executable, str(ROOT / "packaging" / "starter_model.py"), "fetch", "--list", "evaluation"]
    subprocess.run([*fetch, "--work", str(arguments.work)], check=True, stdout=subprocess.DEVNULL)
    load_times = measured_load_times(arguments.model)
    tokenizer = Tokenizer.load(arguments.model)
    folders = sorted(path for path in (arguments.work / "packages" / "evaluation").iterdir() if path.is_dir())
    packages = [
        Package(folder.name, read_material(folder, arguments.work, tokenizer, arguments.characters, arguments.cursors))
        for folder in folders
        if not arguments.package or folder.name.rpartition("-")[0] in arguments.package
    ]
    rows: dict[str, dict[str, float]] = {package.name: {} for package in packages}
    for package in packages:
        rows[package.name]["xz_bits_per_byte"] = xz_bits(package)
    measure_model(packages, arguments.model, tokenizer, arguments.cursors, rows)
    measure_five_gram(packages, arguments.work, tokenizer, rows)
    rows["mean of packages"] = {key: float(np.mean([row[key] for row in rows.values()])) for key in COLUMNS}
    for name, row in rows.items():
        for key in COLUMNS:
            report(f"starter_{key}[{name}]", row[key])
    keep(arguments.work, arguments.model, rows, load_times)


def measured_load_times(folder: Path) -> dict[str, float]:
    """Model and tokenizer, the first time and the quickest of five more."""
    device = open_device("cpu")
    other = create_model({"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 1}, device=device)
    other.logits(np.zeros((1, 4), np.int32))
    other.close()

    def load() -> None:
        load_model(folder, device).close()
        Tokenizer.load(folder)

    times = {"load_first_ms": 1000 * seconds(load), "load_ms": 1000 * min(seconds(load) for _ in range(5))}
    report("starter_load_first", times["load_first_ms"], "ms")
    report("starter_load", times["load_ms"], "ms")
    device.close()
    return times


def xz_bits(package: Package) -> float:
    data = "".join(text.text for text in package.material.texts).encode("utf-8", "surrogatepass")
    return 8 * len(lzma.compress(data, preset=9)) / len(data)


def measure_model(
    packages: list[Package], folder: Path, tokenizer: Tokenizer, cursors: int, rows: dict[str, dict[str, float]]
) -> None:
    model = load_model(folder, "cpu")
    try:
        for package in packages:
            card = score(Subject("starter", model, tokenizer), package.material, ScoreOptions(cursors=cursors))
            rows[package.name] |= {key: card.measures[key].value for key in COLUMNS if key in card.measures}
            report(f"starter_bytes[{package.name}]", package.bytes)
    finally:
        model.close()


def measure_five_gram(
    packages: list[Package], work: Path, tokenizer: Tokenizer, rows: dict[str, dict[str, float]]
) -> None:
    """Trained on whole documents of the model's own training data; asked as the model is, with the path given."""
    five_gram = FiveGram(training_stream(work), tokenizer.vocab_size)
    framing = Framing(tokenizer)
    for package in packages:
        bits = 0.0
        for text in package.material.texts:
            header = framing.header(text.path)
            stream = np.concatenate([header, tokenizer.encode(text.text)])
            bits += float(five_gram.bits(stream)[len(header) :].sum())
        rows[package.name]["five_gram_bits_per_byte"] = bits / package.bytes


def training_stream(work: Path) -> np.ndarray:
    """Documents of the prepared corpus with their frames, evenly spread, until there are enough tokens."""
    corpus = PreparedCorpus(work / "corpus")
    framing = Framing(corpus.tokenizer)
    documents = corpus.learned_documents
    parts, size = [], 0
    for index in np.random.default_rng(SEED).permutation(len(documents)):
        part = framing.document(documents[index].path, corpus.document_tokens(documents[index]))
        parts.append(part)
        size += len(part)
        if size >= FIVE_GRAM_TOKENS:
            break
    return np.concatenate(parts)


def keep(work: Path, model: Path, rows: dict[str, dict[str, float]], load_times: dict[str, float]) -> None:
    """For `packaging/starter_model.py export`, which writes the card."""
    curve = model / "training_curve.json"
    about = model / "about.json"
    seen = json.loads(curve.read_text("utf-8"))["tokens_seen"] if curve.is_file() else None
    seen = json.loads(about.read_text("utf-8"))["tokens"] if seen is None and about.is_file() else seen
    table = {"tokens_seen": seen or 0, "columns": COLUMNS, "packages": rows, **load_times}
    (work / "worth.json").write_text(json.dumps(table, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
