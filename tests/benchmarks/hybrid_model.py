"""Mamba-2 and hybrids of real shapes, with random weights: time and memory, beside Mamba-1 and PyTorch.

    python tests/benchmarks/hybrid_model.py [--parts mamba falcon mixture granite] [--peers PYTHON] [--rounds 5]

    mamba     a full training step of Mamba-2 and of our Mamba-1, of equal width, 64 states, in turns
    falcon    a full training step of Falcon-H1-Tiny's shape (91 M), and transformers' on the same weights, in turns
    mixture   the same of a mixture: five layers of Mamba-2, one of attention, 32 experts of which a token goes to 8
    granite   granite-4.0-h-350m's shape: import from Hugging Face and GGUF, a completion, a LoRA step, a WSLA step
              after which every other byte is compared; decoding beside llama.cpp: `hybrid_decoding.py`

PYTHON: an interpreter with torch and transformers; without one, nothing is compared. PyTorch's peer keeps the memory
that it has freed (glibc's thresholds raised), without which it spends its time on page faults.
Beside the seconds of a step there are those that its threads computed, which say more where the machine is not idle.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.pop("OPENBLAS_CORETYPE", None)  # before NumPy is imported
os.environ.pop("OPENBLAS_L2_SIZE", None)

import numpy as np
from measure import BATCH, LENGTH, in_turns, peak_bytes, report, seconds, token_ids
from real_model import Peer, _best_in_turns

import engine
from engine.checkpoints.formats.gguf_export import write_gguf
from engine.checkpoints.formats.gguf_import import read_gguf
from engine.checkpoints.formats.hugging_face import write_folder
from engine.devices.ledger import Ledger
from engine.generate.decoder import Decoder
from engine.model.architectures.mamba2 import Mamba2Config
from engine.model.architectures.reading import config_from
from engine.model.config import ModelConfig
from engine.model.initialise import initial_parameters
from engine.model.model import Model, create_model
from engine.model.step import AdamW
from engine.model.storage import Storage

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WIDTH = {"vocab_size": 1024, "hidden_size": 512, "num_hidden_layers": 4, "state_size": 64}
FALCON = {
    "model_type": "falcon_h1", "hidden_size": 512, "num_hidden_layers": 24, "intermediate_size": 768,
    "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 32768, "rope_theta": 1e11,
    "tie_word_embeddings": True, "mamba_d_ssm": 768, "mamba_n_heads": 24, "mamba_d_head": 32, "mamba_d_state": 64,
    "mamba_n_groups": 1, "mamba_rms_norm": False, "embedding_multiplier": 0.034423828125,
    "lm_head_multiplier": 0.078125, "rms_norm_eps": 1e-5, "max_position_embeddings": 8192,
}  # fmt: skip
GRANITE = {
    "model_type": "granitemoehybrid", "hidden_size": 768, "num_hidden_layers": 32, "num_attention_heads": 12,
    "num_key_value_heads": 4, "shared_intermediate_size": 2048, "vocab_size": 100352, "tie_word_embeddings": True,
    "num_local_experts": 0, "num_experts_per_tok": 0, "mamba_n_heads": 48, "mamba_d_head": 32, "mamba_d_state": 128,
    "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_expand": 2, "position_embedding_type": "nope",
    "embedding_multiplier": 12, "attention_multiplier": 0.015625, "residual_multiplier": 0.246, "logits_scaling": 3,
    "rms_norm_eps": 1e-5, "max_position_embeddings": 32768,
    "layer_types": ["attention" if layer in (10, 13, 17, 27) else "mamba" for layer in range(32)],
}  # fmt: skip
MIXTURE = GRANITE | {
    "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 2,
    "intermediate_size": 256, "shared_intermediate_size": 512, "num_local_experts": 32, "num_experts_per_tok": 8,
    "vocab_size": 32768, "mamba_n_heads": 32, "mamba_d_state": 64, "output_router_logits": True,
    "router_aux_loss_coef": 0.01, "layer_types": ["attention" if layer == 3 else "mamba" for layer in range(6)],
}  # fmt: skip
CEILING = 16 * 2**30
TOKENIZER = ROOT / "resources" / "starter" / "tokenizer.json"
PROMPT, WRITTEN, CONTEXT = 512, 16, 2048
MIB = 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=["mamba", "falcon", "mixture", "granite"])
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    device = engine.open_device("cpu")
    device.ledger = Ledger(CEILING)
    with tempfile.TemporaryDirectory() as folder:
        if "mamba" in chosen.parts:
            against_mamba1(device, chosen.rounds)
        if "falcon" in chosen.parts:
            against_pytorch(device, "falcon", FALCON, Path(folder), chosen.peers, chosen.rounds)
        if "mixture" in chosen.parts:
            against_pytorch(device, "mixture", MIXTURE, Path(folder), chosen.peers, chosen.rounds)
        if "granite" in chosen.parts:
            real_shape(device, Path(folder), chosen.rounds)
    device.close()


def against_mamba1(device, rounds: int) -> None:
    ids, runs, models = token_ids(BATCH, LENGTH, WIDTH["vocab_size"]), {}, []
    for name, config in (("mamba1", ModelConfig(**WIDTH)), ("mamba2", Mamba2Config(**WIDTH))):
        models.append(create_model(config, seed=1, device=device))
        step = models[-1].training_step("full", BATCH, LENGTH)
        runs[name] = lambda step=step: step.run(ids, AdamW(), 1)()
    best = in_turns(runs, rounds)
    for name, elapsed in best.items():
        report(f"{name}_step_seconds", elapsed)
    report("mamba2_speed_over_mamba1", best["mamba1"] / best["mamba2"])
    for model in models:
        model.close()


def against_pytorch(device, name: str, keys: dict, parent: Path, peers: str | None, rounds: int) -> None:
    config, folder = config_from(keys), parent / name
    report(f"{name}_parameters", config.parameter_count)
    write_folder(folder, config, dict(initial_parameters(config, seed=1)))
    model = engine.load_model(folder, device=device)
    step, ids = model.training_step("full", 2, LENGTH), token_ids(2, LENGTH, config.vocab_size)
    computed: dict[str, list[float]] = {"": [], "pytorch_": []}  # seconds of all threads

    def ours() -> float:
        began = time.process_time()
        elapsed = seconds(lambda: step.run(ids, AdamW(learning_rate=1e-5), 1)())
        computed[""].append(time.process_time() - began)
        return elapsed

    def theirs() -> float:
        elapsed, busy = peer.numbers("step")
        computed["pytorch_"].append(busy)
        return elapsed

    ours()
    if peers is None:
        best = (min(ours() for _ in range(rounds)), None)
    else:
        peer = Peer(peers, HERE.parent / "fixtures" / "torch_peer.py", folder, device.threads, 2, LENGTH, 0)
        theirs()
        best = _best_in_turns(ours, theirs, rounds)
        peer.close()
    for side, elapsed in zip(("", "pytorch_"), best, strict=True):
        if elapsed is not None:
            report(f"{name}_step_{side}seconds", elapsed)
            report(f"{name}_step_{side}computing_seconds", min(computed[side]))
    if peers is not None:
        report(f"{name}_step_over_pytorch", best[1] / best[0])
        report(f"{name}_step_over_pytorch_computing", min(computed["pytorch_"]) / min(computed[""]))
    step.close()
    model.close()


def real_shape(device, folder: Path, rounds: int) -> None:
    config = config_from(GRANITE)
    report("granite_parameters", config.parameter_count)
    parameters = dict(initial_parameters(config, seed=1))
    write_folder(folder / "hf", config, parameters, TOKENIZER, "bfloat16")
    file = folder / "granite.gguf"
    write_gguf(file, config, parameters, TOKENIZER, "f16")
    del parameters
    opened: list[Model] = []
    report(
        "granite_from_hugging_face_seconds", seconds(lambda: opened.append(engine.load_model(folder / "hf", device)))
    )
    opened.pop().close()
    report("granite_from_gguf_seconds", seconds(lambda: opened.append(load_gguf(file, device))))
    model = opened.pop()
    _completed(model, rounds)  # before there are adapters
    for mode in ("wsla", "lora"):
        _trained(model, mode, rounds)
    report("granite_peak_resident_mib", round(peak_bytes() / MIB))
    model.close()


def load_gguf(file: Path, device) -> Model:
    imported = read_gguf(file, TOKENIZER)  # llama.cpp cannot say how the starter's tokenizer splits
    model = Model(imported.config, device, Storage())
    model.parameters.fill(imported.parameters)
    return model


def _trained(model: Model, mode: str, rounds: int) -> None:
    before = {name: hash(array.tobytes()) for name, array in model.parameters.items()}
    if mode == "lora":
        model.attach_adapters()
    estimate = sum(model.estimate(mode, BATCH, LENGTH).values())
    step, ids = model.training_step(mode, BATCH, LENGTH), token_ids(BATCH, LENGTH, model.config.vocab_size)
    times = [seconds(lambda: step.run(ids, AdamW(learning_rate=1e-4), 1)()) for _ in range(rounds)]
    report(f"granite_{mode}_step_seconds", min(times))
    report(f"granite_{mode}_tokens_per_second", BATCH * LENGTH / min(times))
    report(f"granite_{mode}_ledger_peak_mib", round(model.device.ledger.snapshot().peak / MIB))
    report(f"granite_{mode}_estimate_mib", round(estimate / MIB))
    step.close()
    changed = {name for name, array in model.parameters.items() if hash(array.tobytes()) != before[name]}
    wanted = {name for name, spec in model.config.specs.items() if mode in spec.trained_by}
    report(f"granite_{mode}_changed_other_parameters", len(changed - wanted))
    report(f"granite_{mode}_changed_parameters", len(changed & wanted))


def _completed(model: Model, rounds: int) -> None:
    """Reading a prompt and writing after it, in 16 bits."""
    decoder = Decoder(model, precision="float16", context=CONTEXT)
    ids = np.arange(20, 20 + PROMPT)

    def prefill() -> float:
        decoder.reset()
        return seconds(lambda: decoder.read(ids))

    prefill()
    report("granite_snapshot_mib", decoder.snapshot().nbytes / MIB)
    report("granite_prefill_float16_tokens_per_second", PROMPT / min(prefill() for _ in range(rounds)))
    decoder.greedy(WRITTEN, 5)
    written = min(seconds(lambda: decoder.greedy(WRITTEN, 5)) for _ in range(rounds))
    report("granite_decode_float16_tokens_per_second", WRITTEN / written)
    decoder.close()


if __name__ == "__main__":
    main()
