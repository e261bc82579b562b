"""Exports the snapshot of the run to the files that are shipped: `resources/starter/`.

Can be run at any time: the model card says how many tokens the model has seen. Every file is replaced atomically.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.atomic_file import replace_file, replacing
from engine.errors import CheckpointError
from engine.model.files import read_config
from starter.fetching import Licence
from starter.package_lists import EVALUATION, NPM, TRAIN, TUNING, WATCH
from starter.training import CURVE, EARLIER_CURVE

SHIPPED = ("config.json", "model.safetensors", "tokenizer.json")
LARGEST_BYTES = 12 << 20
CURVE_POINTS = 200
HEADINGS = {
    TRAIN: "Trained on",
    WATCH: "Held out, to watch the loss during training",
    TUNING: "Used to choose the settings of adaptation; not trained on",
    EVALUATION: "Used for the reported figures; not trained on",
}
FIGURES = "worth.json"


@dataclass(frozen=True)
class CurvePoint:
    """The training loss (smoothed) or the held-out loss after this many tokens."""

    tokens: int
    loss: float


def export(work: Path, target: Path, licences: Iterable[Licence]) -> dict[str, Any]:
    """Fill `target` from `work`; returns the snapshot's own description."""
    snapshot = work / "snapshot"
    if not (snapshot / "about.json").is_file():
        raise CheckpointError(f"There is no snapshot in {work}.", "Train first, for twenty minutes at least.")
    about = json.loads((snapshot / "about.json").read_text("utf-8"))
    summary = json.loads((work / "corpus" / "summary.json").read_text("utf-8"))
    target.mkdir(parents=True, exist_ok=True)
    for name in SHIPPED:
        with replacing(target / name) as file, (snapshot / name).open("rb") as source:
            shutil.copyfileobj(source, file)
    size = (target / "model.safetensors").stat().st_size
    if size > LARGEST_BYTES:
        raise CheckpointError(f"model.safetensors has {size:,} bytes; the starter may have {LARGEST_BYTES:,}.")
    training, held_out = (
        _thinned(earlier | own)
        for earlier, own in zip(earlier_curves(work), read_curves(work / "history.jsonl", about["step"]), strict=True)
    )
    curve = {
        "tokens_seen": about["tokens"],
        "training": [[point.tokens, round(point.loss, 4)] for point in training],
        "held_out": [[point.tokens, round(point.loss, 4)] for point in held_out],
    }
    replace_file(target / CURVE, json.dumps(curve) + "\n")
    replace_file(target / "training_curve.svg", curve_picture(training, held_out))
    replace_file(target / "DATA.md", data_sheet(licences, summary))
    figures = json.loads((work / FIGURES).read_text("utf-8")) if (work / FIGURES).is_file() else {}
    replace_file(target / "README.md", model_card(snapshot, about, summary, held_out, figures))
    return about


def read_curves(history: Path, last_step: int) -> tuple[dict[int, float], dict[int, float]]:
    """Training and held-out losses by tokens.  A step done twice, after a kill or a decay, counts once."""
    training: dict[int, float] = {}
    held_out: dict[int, float] = {}
    for line in history.read_text("utf-8").splitlines():
        event = json.loads(line)
        if event.get("step", last_step + 1) > last_step:
            continue
        if event["event"] == "step":
            training[event["tokens"]] = event["smooth_loss"]
        elif event["event"] == "evaluation":
            held_out[event["tokens"]] = event["held_out_loss"]
    return training, held_out


def earlier_curves(work: Path) -> tuple[dict[int, float], dict[int, float]]:
    """The same of the model that the run began with, as far as they were kept."""
    path = work / EARLIER_CURVE
    curve = json.loads(path.read_text("utf-8")) if path.is_file() else {"training": [], "held_out": []}
    return dict(curve["training"]), dict(curve["held_out"])


def _thinned(losses: dict[int, float]) -> list[CurvePoint]:
    points = [CurvePoint(tokens, loss) for tokens, loss in sorted(losses.items())]
    apart = max(1, math.ceil(len(points) / CURVE_POINTS))
    return points[::-apart][::-1]  # the last one is always there


def curve_picture(training: list[CurvePoint], held_out: list[CurvePoint]) -> str:
    """Both losses over the tokens seen, as a small picture that works on light and dark backgrounds."""
    width, height, left, top, right, bottom = 640, 320, 48, 24, 16, 40
    shown = [point for point in (*training, *held_out) if point.loss < 7.0] or [CurvePoint(1, 1.0)]
    most = max(point.tokens for point in shown)
    low = math.floor(min(point.loss for point in shown) * 2) / 2
    high = math.ceil(max(point.loss for point in shown) * 2) / 2 + (0.0 if len(shown) > 1 else 0.5)

    def place(point: CurvePoint) -> str:
        x = left + (width - left - right) * point.tokens / most
        y = top + (height - top - bottom) * (high - point.loss) / (high - low)
        return f"{x:.1f},{y:.1f}"

    def line(points: list[CurvePoint], colour: str) -> str:
        places = " ".join(place(point) for point in points if point.loss < 7.0)
        return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>'

    marks = []
    steps = round((high - low) * 2)
    for number in range(steps + 1):
        loss = low + number / 2
        y = place(CurvePoint(0, loss)).partition(",")[2]
        marks.append(f'<path d="M{left} {y}H{width - right}" stroke="#8888" stroke-width="0.5"/>')
        marks.append(f'<text x="{left - 8}" y="{y}" text-anchor="end" dominant-baseline="middle">{loss:g}</text>')
    for share in (0.25, 0.5, 0.75, 1.0):
        x = place(CurvePoint(int(most * share), low)).partition(",")[0]
        marks.append(f'<text x="{x}" y="{height - bottom + 18}" text-anchor="middle">{most * share / 1e6:.1f} M</text>')
    words = (
        f'<text x="{left}" y="14" fill="#3b82f6">training loss (smoothed)</text>'
        f'<text x="{left + 170}" y="14" fill="#ea580c">held-out loss</text>'
        f'<text x="{width - right}" y="{height - 6}" text-anchor="end">tokens seen</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="11" fill="#888">{"".join(marks)}'
        f"{line(training, '#3b82f6')}{line(held_out, '#ea580c')}{words}</svg>\n"
    )


def data_sheet(licences: Iterable[Licence], summary: dict[str, Any]) -> str:
    """Every package with its version, its stated licence and what it was used for."""
    lines = [
        "# Data of the starter model",
        "",
        f"{summary['learned_tokens']:,} tokens ({summary['learned_bytes'] / 1e6:.0f} MB) of source code in "
        f"{summary['learned_documents']:,} files, from packages of the Python and npm registries and Python's standard "
        "library. Only packages whose own metadata names a permissive licence were used; the licence column quotes "
        "it. Files were read by Codecoil's own corpus: generated, minified, vendored, near-duplicate and binary "
        "files were left out, lines with secrets blanked, and files whose header names a GNU or Mozilla licence "
        "dropped. At most 500 KB per kind of file came from one package (4 MB of the rarer languages, 8 MB from the "
        "standard library). A file was "
        "also dropped if more than half of its longer lines occur in a package that was held out, used for tuning or "
        "used for evaluation.",
        "",
        "By language: "
        + ", ".join(
            f"{language} {tokens / summary['learned_tokens']:.1%}"
            for language, tokens in list(summary["languages"].items())[:10]
        )
        + ".",
    ]
    licences = sorted(licences, key=lambda each: (each.registry, each.name.lower()))
    for role, heading in HEADINGS.items():
        lines += ["", f"## {heading}", "", "| package | version | registry | licence |", "|---|---|---|---|"]
        for each in licences:
            if each.role == role:
                registry = "npm" if each.registry == NPM else "Python"
                lines.append(f"| {each.name} | {each.version} | {registry} | {_cell(each.licence)} |")
    return "\n".join(lines) + "\n"


def model_card(
    snapshot: Path, about: dict[str, Any], summary: dict[str, Any], held_out: list[CurvePoint], figures: dict[str, Any]
) -> str:
    """What this model is, how it was made and how good it is."""
    config = read_config(snapshot)
    loss = f"{held_out[-1].loss:.3f}" if held_out else "not measured yet"
    lines = [
        "# The starter model",
        "",
        f"A language model for source code with {config.parameter_count / 1e6:.1f} million parameters: {config.label}, "
        f"{config.num_hidden_layers} layers, width {config.hidden_size}, vocabulary {config.vocab_size:,}, stored "
        "in float16. It ships with Codecoil so that completions work before the first adaptation.",
        "",
        "It is small. It is good at the shape of code (indentation, brackets, common calls, short idioms) and, once "
        "adapted to a repository, at its names and conventions. It does not know libraries the way a large model "
        "does, it does not reason, and its suggestions may be wrong.",
        "",
        "## How it was made",
        "",
        "`packaging/starter_model.py` downloaded the packages in `DATA.md`, trained the tokenizer (byte-level BPE with "
        "file and fill-in-the-middle tokens) and trained the model with Codecoil's own engine on a CPU: "
        f"{about['tokens']:,} tokens seen{_earlier(about)}, the last {about['own_tokens']:,} in "
        f"{about['passes']:.2f} passes over {summary['learned_tokens']:,} tokens of code (a pass also includes "
        f"separators, paths and fill-in-the-middle tokens): {about['step']:,} steps, AdamW, a warm-up, a constant rate "
        f"of {about['peak_rate']:g}, and over the last {about['decay_steps']:,} steps a linear decay; gradients "
        "clipped at 1, half of the documents with fill-in-the-middle (suffix first).",
        "",
        f"Held-out loss on whole packages that were not trained on: {loss} nats per token "
        "(`training_curve.json`, `training_curve.svg`).",
        "",
        "## How good it is",
        "",
        *_worth(figures),
        "",
        "## Licence",
        "",
        "The weights are under the licence of Codecoil. The packages they were trained on, each with its own "
        "permissive licence, are listed in `DATA.md`.",
    ]
    return "\n".join(lines) + "\n"


def _earlier(about: dict[str, Any]) -> str:
    earlier = about["tokens"] - about["own_tokens"]
    return f" ({earlier:,} of them in earlier runs)" if earlier else ""


def _worth(figures: dict[str, Any]) -> list[str]:
    """The table that `tests/benchmarks/starter.py` wrote to the work folder."""
    if not figures:
        return ["Not measured for this snapshot: run `tests/benchmarks/starter.py`."]
    columns: dict[str, str] = figures["columns"]
    lines = [
        f"On packages that it has not seen, measured after {figures['tokens_seen']:,} tokens seen "
        f"(`tests/benchmarks/starter.py`):",
        "",
        f"| package | {' | '.join(columns.values())} |",
        "|---|" + "---|" * len(columns),
    ]
    for package, row in figures["packages"].items():
        lines.append(f"| {package} | {' | '.join(f'{row[key]:.3f}' if key in row else '-' for key in columns)} |")
    return [*lines, *_beaten(figures["packages"]), *_load_time(figures)]


def _beaten(packages: dict[str, dict[str, float]]) -> list[str]:
    """Where a general compressor does better, which a reader should not have to find in the table."""
    worse = [
        f"{name} ({row['xz_bits_per_byte']:.3f} against {row['bits_per_byte']:.3f})"
        for name, row in packages.items()
        if row.get("xz_bits_per_byte", math.inf) < row.get("bits_per_byte", 0.0)
    ]
    if not worse:
        return []
    return ["", f"xz, which compresses all files of a package together, beats the model on {', '.join(worse)}."]


def _load_time(figures: dict[str, Any]) -> list[str]:
    if "load_ms" not in figures:
        return []
    return [
        "",
        f"Model and tokenizer load in {figures['load_ms']:.0f} ms, the first time in a process in "
        f"{figures['load_first_ms']:.0f} ms (two cores).",
    ]


def _cell(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")
