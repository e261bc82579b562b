"""What a person reads about a hand-off: the commands, both README files, and what leaves the machine."""

from __future__ import annotations

from importlib.resources import files as resource_files
from string import Template

from engine.checkpoints.store.card import escaped
from engine.handoff.preparing import Prepared

NODES, GPUS = 2, 8  # of the examples
MEMORY = (
    " `memory_factor` and `memory_share` (for each class of the model's confidence, whose bounds are in `run.json`): a "
    "and b of\n  p_mixed = a p + b, what the repository memory makes of the model's probability. They are measured "
    "with, not trained on."
)


def resource(name: str) -> str:
    """A text that is put into the folder, or made into one."""
    return (resource_files("resources") / "handoff" / name).read_text("utf-8")


def commands(nodes: int = NODES, gpus: int = GPUS) -> dict[str, list[str]]:
    """The commands for each kind of machine, to be run inside the folder: one for each machine."""
    several = (
        f"accelerate launch --multi_gpu --num_machines {nodes} --num_processes {nodes * gpus} "
        "--main_process_ip ADDRESS --main_process_port 29500 --machine_rank {} train.py"
    )
    return {
        "One GPU": ["accelerate launch --num_processes 1 train.py"],
        f"{gpus} GPUs": [f"accelerate launch --multi_gpu --num_processes {gpus} train.py"],
        f"{nodes} machines with {gpus} GPUs each": [several.format(rank) for rank in range(nodes)],
        "A model that is too large for one GPU": [
            f"accelerate launch --config_file fsdp.yaml --num_processes {gpus} train.py"
        ],
        "No GPU": ["accelerate launch --cpu --num_processes 1 train.py"],
    }


def leaves(prepared: Prepared) -> list[str]:
    """What the folder gives away about the repository, in whole sentences."""
    windows = prepared.options.steps * prepared.options.batch_size
    found = [
        f"data/ is your code: {windows:,} windows from {prepared.learned.files:,} files, with their paths. Anyone who "
        "has base/tokenizer.json can turn them back into text.",
        "Secrets that were found are masked, and files that are left out are not in it, as in every run.",
        "A model that was trained on it can recite parts of it.",
        "Nothing was sent anywhere. Treat the folder as you treat the repository.",
    ]
    if prepared.plan.with_memory:
        found.insert(
            1, "The memory is not in it, but two numbers for each held-out token say how likely it finds them."
        )
    return found


def readme(prepared: Prepared) -> str:
    """README.md of the folder."""
    o, config = prepared.options, prepared.config
    blocks = [
        f"{where}:\n\n```sh\n{chr(10).join(lines)}\n```"
        if len(lines) == 1
        else f"{where}, the first line on machine 0:\n\n```sh\n{chr(10).join(lines)}\n```"
        for where, lines in commands().items()
    ]
    return Template(resource("readme.md")).substitute(
        base=escaped(prepared.origin.base.name),
        repository=escaped(prepared.plan.root.name),
        mode=o.mode,
        steps=f"{o.steps:,}",
        batch=f"{o.batch_size:,}",
        length=f"{o.sequence_length:,}",
        label=config.label,
        weights=f"{config.parameter_count:,}",
        commands="\n\n".join(blocks),
        leaves="\n".join(f"- {sentence}" for sentence in leaves(prepared)),
    )


def data_card(prepared: Prepared, held_out_rows: int) -> str:
    """README.md beside the windows, as Hugging Face's libraries expect it of a data set."""
    o = prepared.options
    tallies = prepared.corpus.totals.by_language.items()
    share = f"{o.fim_share:.0%} of them are rearranged to fill in the middle."
    return Template(resource("data_card.md")).substitute(
        repository=escaped(prepared.plan.root.name),
        rows=f"{o.steps * o.batch_size:,}",
        width=f"{o.sequence_length + 1:,}",
        batch=f"{o.batch_size:,}",
        steps=f"{o.steps:,}",
        fim=share if prepared.windows.fim_share else "None of them is rearranged.",
        held_out=f"{held_out_rows:,}",
        memory=MEMORY if prepared.plan.with_memory else "",
        languages="\n".join(
            f"| {escaped(language)} | {tally.files:,} | {tally.tokens:,} |" for language, tally in tallies
        ),
    )
