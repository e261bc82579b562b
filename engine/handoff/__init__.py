"""A run for another machine: a folder that Hugging Face's libraries train from, and what comes back.

    plan ─▶ preparing ─▶ writing ─▶ FOLDER ··· accelerate launch train.py ··· result/ ─▶ importing ─▶ checkpoint

    preparing       what `Session` would train on, with which options, as far as it needs no device
    training_data   the windows of every step in their order, held-out windows and the schedule, as safetensors
    memory_numbers  what the memory makes of the model's probability of each held-out token
    trained_parts   which parameters are trained, for train.py
    words           README, dataset card and commands
    writing         the folder
    record          what is kept here about a hand-off, so that only its own result is taken back
    importing       the result as a checkpoint
    scoring         what that is scored on: what its run had not seen

`train.py` itself is text (`resources/handoff`): nothing here imports PyTorch.
"""

from engine.handoff.importing import find_result, import_any, import_result
from engine.handoff.preparing import HandoffPlan
from engine.handoff.scoring import is_scored, score_result
from engine.handoff.writing import HandedOff, hand_off

__all__ = [
    "HandedOff",
    "HandoffPlan",
    "find_result",
    "hand_off",
    "import_any",
    "import_result",
    "is_scored",
    "score_result",
]
