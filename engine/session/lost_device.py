"""What a run says when its device fails: it continues on the device opened anew, or it ended and can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.devices import Device
from engine.errors import DeviceError, DeviceLostError


@dataclass
class Recovery:
    """Whether a run goes on after its device was lost: not twice at the same step, where the run itself may be why."""

    reopen: Callable[[], Device] | None
    lost_at: int = -1  # the step of the last loss

    def is_worthwhile(self, step: int) -> bool:
        return self.reopen is not None and step > self.lost_at

    def reopened(self, step: int) -> Device:
        self.lost_at = step
        return self.reopen()


def resumed_words(lost: str, opened: str, saved_step: int) -> str:
    """`lost` and `opened` are descriptions of devices; `saved_step` is -1 where nothing was saved."""
    device = "It was opened again" if opened == lost else f"{opened} is used instead"
    if saved_step < 0:
        return f"{lost} stopped working. {device}, and the run started over: nothing had been saved yet."
    return f"{lost} stopped working. {device}, and the run continues from step {saved_step}, where it was last saved."


def interruption(error: DeviceError, run: str, step: int, saved_step: int) -> DeviceError:
    """The error for people: what is on disk, and how to resume it."""
    kind = DeviceLostError if isinstance(error, DeviceLostError) else DeviceError
    if saved_step < 0:
        return kind(error.message, error.remedy)
    return kind(
        f"{error.message} The run stopped at step {step} and is saved as of step {saved_step}.",
        f"Resume run {run}, on another device if this one does not come back (train --resume, --device).",
    )
