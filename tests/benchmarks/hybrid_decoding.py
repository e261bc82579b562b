"""Hybrids of real shapes with random weights in Codecoil and llama.cpp, in turns: tokens/s read and written.

    python tests/benchmarks/hybrid_decoding.py --peers PYTHON [--shapes granite falcon mamba2]
        [--precisions float32 float16 int8] [--parts prefill decode context] [--rounds 8] [--files FOLDER]

PYTHON: an interpreter with llama-cpp-python. Both read the same GGUF file, with as many threads and the same context;
before anything is timed, both must name the same best token after the same prompt. FOLDER keeps the files (4 GB) for
another run, which is then shorter. See `real_model.py` for how the figures are taken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hybrid_model import CEILING, FALCON, GRANITE, TOKENIZER, load_gguf
from real_model import CONTEXT, PRECISIONS, PROMPT, Peer, decoding, prompt_ids

import engine
from engine.checkpoints.formats.gguf_export import write_gguf
from engine.devices.ledger import Ledger
from engine.generate.decoder import Decoder
from engine.model.architectures.reading import config_from
from engine.model.initialise import initial_parameters

HERE = Path(__file__).resolve().parent
MAMBA2 = {
    "d_model": 768, "n_layer": 24, "vocab_size": 50277, "ssm_cfg": {"layer": "Mamba2"}, "rms_norm": True,
    "pad_vocab_size_multiple": 16, "tie_embeddings": True,
}  # fmt: skip
SHAPES = {"granite": GRANITE, "falcon": FALCON, "mamba2": MAMBA2}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", required=True, metavar="PYTHON")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=list(PRECISIONS))
    parser.add_argument("--parts", nargs="*", default=["prefill", "decode"])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--files", type=Path, metavar="FOLDER")
    chosen = parser.parse_args()
    device = engine.open_device("cpu")
    device.ledger = Ledger(CEILING)
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.files or Path(temporary)
        for shape in chosen.shapes:
            files = written(folder, shape)
            model = load_gguf(files["float32"], device)
            for precision in chosen.precisions if chosen.parts else ():
                peer = Peer(chosen.peers, HERE / "llama_cpp_peer.py", files[precision], device.threads, CONTEXT)
                same_model(model, precision, peer)
                decoding(model, precision, peer, chosen.parts, chosen.rounds, f"{shape}_")
                peer.close()
            model.close()
    device.close()


def written(folder: Path, shape: str) -> dict[str, Path]:
    """The files of a shape by precision; those that are there already are not written again."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {precision: folder / f"{shape}-{packed}.gguf" for precision, packed in PRECISIONS.items()}
    if missing := [precision for precision, file in files.items() if not file.exists()]:
        config = config_from(SHAPES[shape])
        parameters = dict(initial_parameters(config, seed=1))
        for precision in missing:
            write_gguf(files[precision], config, parameters, TOKENIZER, PRECISIONS[precision])
    return files


def same_model(model: engine.Model, precision: str, peer: Peer) -> None:
    """End here if the two do not name the same token after the prompt: then they compute something else."""
    decoder = Decoder(model, precision=precision, context=CONTEXT)
    scores = decoder.read(prompt_ids(PROMPT))
    decoder.close()
    peer(f"start {PROMPT}")
    theirs = int(peer("best"))
    if int(scores.argmax()) != theirs:
        place = int((scores > scores[theirs]).sum()) + 1
        raise SystemExit(f"llama.cpp's best token, {theirs}, is number {place} here.")


if __name__ == "__main__":
    main()
