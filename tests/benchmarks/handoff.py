"""A hand-off, trained by its own train.py in two processes (gloo, CPU), beside the same run of this engine.

    python tests/benchmarks/handoff.py --peers FOLDER [--cases starter-lora …] [--steps 20] [--processes 2] [--fsdp]

FOLDER: the `bin` of an environment in which the hand-off's requirements.txt is installed. For every case the folder is
written, trained there, imported, and compared with a run of this engine from the same base with the same options:

    loss        the largest difference of a step's loss, and of a held-out loss
    weights     the largest difference of a number in the two checkpoints, over the largest change
    measured    the held-out losses of both checkpoints by this engine, in longer windows: their difference
    untouched   whether every number that the mode does not train is still the base's, bit for bit
    score       (starter-lora) the scorecards of both: the largest relative difference of a measure that is no speed
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import engine
from engine.checkpoints.store.store import CheckpointStore, Facts, Manifest
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.handoff import HandoffPlan, find_result, hand_off, import_result
from engine.model.architectures.reading import config_from
from engine.model.initialise import initial_parameters
from engine.model.model import Model
from engine.model.selection import selected_rows
from engine.model.starter import starter_folder
from engine.scorecard import ScoreOptions, Subject, held_out_material, score
from engine.session import Session, SessionPlan
from engine.session.held_out_loss import HeldOutLoss
from engine.train.options import TrainingOptions

SPEEDS = ("decode_", "first_token")  # measures of a scorecard that are no result of training
ROOT = Path(__file__).resolve().parents[2]
SIZES = {"hidden_size": 64, "num_hidden_layers": 4, "tie_word_embeddings": True, "vocab_size": 8192}
ATTENTION = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096}
BASES = {
    "llama": {"model_type": "llama", **SIZES, **ATTENTION, "intermediate_size": 160, "rms_norm_eps": 1e-5},
    "qwen3": {
        "model_type": "qwen3", **SIZES, **ATTENTION, "tie_word_embeddings": False, "intermediate_size": 160,
        "head_dim": 16, "rms_norm_eps": 1e-6,
    },
    "mamba2": {
        "model_type": "mamba2", **SIZES, "expand": 2, "num_heads": 8, "head_dim": 16, "state_size": 16, "n_groups": 1,
        "conv_kernel": 4, "chunk_size": 64,
    },
    "granite-h": {
        "model_type": "granitemoehybrid", **SIZES, **ATTENTION, "shared_intermediate_size": 160,
        "num_local_experts": 0, "num_experts_per_tok": 0, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16,
        "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_expand": 2, "position_embedding_type": "nope",
        "embedding_multiplier": 12, "attention_multiplier": 0.25, "residual_multiplier": 0.5, "logits_scaling": 2,
        "layer_types": ["mamba", "attention", "mamba", "attention"], "rms_norm_eps": 1e-5,
    },
}  # fmt: skip
CASES = (
    "starter-lora", "starter-wsla", "starter-full", "starter-vocabulary", "llama-qk", "llama-lora", "qwen3-full",
    "mamba2-wsla", "granite-h-lora", "granite-h-wsla",
)  # fmt: skip


# accelerate divides no model on CPUs: it is told that they are GPUs of a kind that is not there, and to use gloo.
FSDP_WITHOUT_GPU = """import os

if "LOCAL_RANK" in os.environ:
    import accelerate.state
    from accelerate.utils import DistributedType

    accelerate.state.PartialState._prepare_backend = lambda *a, **more: ("gloo", DistributedType.MULTI_XPU)
"""


def base_of(store: CheckpointStore, name: str) -> str:
    """The checkpoint that a case starts from: the built-in model, or one of random weights with its tokenizer."""
    if name == "starter":
        return ""
    if known := [one for one in store.list() if one.name == name]:
        return known[0].id
    config = config_from(BASES[name])
    tokenizer = starter_folder() / "tokenizer.json"
    made = store.save(
        Facts(name, "base"), config=config, parameters=dict(initial_parameters(config, 1)), tokenizer=tokenizer
    )
    return made.id


def run_here(plan: SessionPlan, device) -> tuple[list[dict], Manifest]:
    """The events of a run of this engine, and its checkpoint."""
    session = Session(plan, device)
    try:
        events = [event.to_json() for event in session.run()]
    finally:
        session.close()
    made = next(event["checkpoint"] for event in events if event["event"] == "checkpoint")
    return events, CheckpointStore(plan.data_folder / "checkpoints").get(made)


def train_there(folder: Path, peers: Path, processes: int, fsdp: bool) -> None:
    """`accelerate launch`, with no GPU."""
    command = [str(peers / "accelerate"), "launch", "--num_processes", str(processes)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"OMP_NUM_THREADS": "1", "PATH": f"{peers}:{os.environ['PATH']}"}
    if fsdp:
        patch = folder.parent / "patch"
        patch.mkdir(exist_ok=True)
        (patch / "sitecustomize.py").write_text(FSDP_WITHOUT_GPU)
        command += ["--config_file", "fsdp.yaml"]
        environment |= {"ACCELERATE_TORCH_DEVICE": "cpu", "PYTHONPATH": str(patch)}
    else:
        command += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
        command += ["--multi_gpu"] if processes > 1 else ["--cpu"]
        environment["ACCELERATE_USE_CPU"] = "true"
    command.append("train.py")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed in {folder}:\n{done.stderr[-3000:]}")


def largest_difference(ours: list[dict], theirs: list[dict], event: str, key: str) -> float:
    first, second = ([line[key] for line in lines if line["event"] == event] for lines in (ours, theirs))
    assert len(first) == len(second), (event, len(first), len(second))
    return float(np.max(np.abs(np.subtract(first, second))))


def compare_weights(store: CheckpointStore, base: str, ours: Manifest, theirs: Manifest) -> tuple[float, bool]:
    """The largest difference over the largest change, and whether what is not trained is the base's."""
    mode, config = theirs.mode, store.config(base)
    rows = selected_rows(config, mode, {}) if mode in ("wsla", "qk") else {}
    difference = change = 0.0
    untouched = True
    with (
        store.load_parameters(base) as before,
        store.load_parameters(ours.id) as first,
        store.load_parameters(theirs.id) as second,
    ):
        for name in config.parameter_shapes():
            old, a, b = (np.array(each[name]) for each in (before, first, second))
            difference = max(difference, float(np.abs(a - b).max()))
            change = max(change, float(np.abs(a - old).max()))
            if mode in ("wsla", "qk"):
                kept = np.ones(len(old), bool)
                kept[slice(*rows.get(name, (0, 0)))] = False
                untouched &= old[kept].tobytes() == b[kept].tobytes()
            elif mode in ("lora", "vocabulary") and not config.specs[name].adapted and name != config.embedding_name:
                untouched &= old.tobytes() == b.tobytes()
    return difference / change, untouched


def compare_scores(store: CheckpointStore, root: Path, data: Path, device, ids: list[str]) -> float:
    """The largest difference of a measure between the scorecards of two checkpoints, relative."""
    tokenizer = Tokenizer.load(store.tokenizer_path(ids[0]))
    options = ScoreOptions(cursors=40)
    material = held_out_material(
        Repository(root, data, tokenizer).scan(), options.cursors, options.seed, options.characters
    )
    cards = []
    for id in ids:
        model = Model(store.config(id), device)
        try:
            with store.load_parameters(id) as parameters:
                model.parameters.fill(parameters)
            model.document_end = tokenizer.special.end_of_text
            cards.append(score(Subject(id, model, tokenizer), material, options))
        finally:
            model.close()
    names = [name for name in cards[0].measures if not name.startswith(SPEEDS)]
    pairs = [(cards[0].measures[name].value, cards[1].measures[name].value) for name in names]
    return max(abs(a - b) / max(abs(a), 1e-9) for a, b in pairs if np.isfinite(a))


def run_case(name: str, root: Path, work: Path, device, arguments) -> dict:
    """One case in full; the data folder is shared by all."""
    base_name, _, mode = name.rpartition("-")
    data = work / "data"
    store = CheckpointStore(data / "checkpoints")
    options = TrainingOptions(
        mode=mode,
        steps=arguments.steps,
        batch_size=4,
        sequence_length=128,
        warm_up=5,
        evaluations=4,
        insight_interval=0,
    )
    base = base_of(store, base_name)
    done = hand_off(HandoffPlan(root, data, options, base), work / name)
    train_there(done.path, arguments.peers, arguments.processes, arguments.fsdp)
    result = find_result(done.path)
    theirs = import_result(store, data, result)
    history = [json.loads(line) for line in (result / "history.jsonl").read_text().splitlines()]
    events, ours = run_here(SessionPlan(root, data, options, base), device)
    base_id = theirs.parents[0]
    weights, untouched = compare_weights(store, base_id, ours, theirs)
    with HeldOutLoss(store, theirs.id, root, data, device) as held_out:
        losses = []
        for made in (ours, theirs):
            with store.load_parameters(made.id) as parameters:
                losses.append(held_out(parameters))
    found = {
        "case": name,
        "processes": arguments.processes,
        "divided": history[0]["device"],
        "steps": arguments.steps,
        "loss": largest_difference(events, history, "step", "loss"),
        "held_out": largest_difference(events, history, "evaluation", "held_out_loss"),
        "weights": weights,
        "measured": abs(losses[0] - losses[1]),
        "untouched": untouched,
        "from_to": [theirs.metrics["held_out_before"], theirs.metrics["held_out_loss"]],
    }
    if name == "starter-lora":
        found["score"] = compare_scores(store, root, data, device, [ours.id, theirs.id])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--folder", type=Path, default=ROOT / "resources" / "sample_repository")
    parser.add_argument("--cases", nargs="+", default=CASES, choices=CASES)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--fsdp", action="store_true", help="divide the model by fsdp.yaml")
    arguments = parser.parse_args()
    device = engine.open_device("cpu")
    with tempfile.TemporaryDirectory(prefix="codecoil-handoff-") as place:
        work = Path(place)
        for name in arguments.cases:
            print(json.dumps(run_case(name, arguments.folder, work, device, arguments)), flush=True)
    device.close()


if __name__ == "__main__":
    main()
