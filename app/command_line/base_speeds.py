"""What this machine would do with a model, for `codecoil base`: remembered, or measured with `--measure`."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from app.data.data_folder import data_folder
from app.data.machine_speeds import MachineSpeeds, device_key
from app.values.words import rate

if TYPE_CHECKING:
    from engine.devices import Device
    from engine.model.architectures.architecture import Architecture
    from engine.session.machine_speed import MachineSpeed

HOW = "`--measure` measures how fast a model would be on this machine, without fetching it."


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--measure", action="store_true", help="measure how fast this machine would be; takes a minute")
    parser.add_argument(
        "--device", default="auto", metavar="NAME", help="where to measure, as listed by `codecoil devices`"
    )


class BaseSpeeds:
    """Speeds of one device; what is measured is remembered, for the window as well."""

    def __init__(self, device_name: str, device: Device | None) -> None:
        """`device`: where to measure; None to look up only."""
        from engine.devices import choose_device

        self._device, self._key = device, device_key(choose_device(device_name).info)
        self._kept = MachineSpeeds(data_folder())
        self._known = {} if device is not None else self._kept.known(self._key)

    @property
    def measures(self) -> bool:
        return self._device is not None

    def of(self, config: Architecture) -> MachineSpeed | None:
        """None where it is not known, or there is too little memory to measure it."""
        from engine.errors import MemoryCeilingError
        from engine.session.machine_speed import measure_speed, model_key

        model = model_key(config)
        if self.measures and model not in self._known:
            try:
                self._known[model] = measure_speed(config, self._device)
            except MemoryCeilingError:
                return None
            self._kept.keep(self._key, model, self._known[model])
        return self._known.get(model)


@contextlib.contextmanager
def base_speeds(arguments: argparse.Namespace) -> Iterator[BaseSpeeds]:
    """As the options say; a device is open meanwhile if something is to be measured."""
    if not arguments.measure:
        yield BaseSpeeds(arguments.device, None)
        return
    from app.command_line.chosen_device import open_chosen_device

    device = open_chosen_device(arguments.device)
    try:
        yield BaseSpeeds(arguments.device, device)
    finally:
        device.close()


def speed_facts(speed: MachineSpeed | None) -> dict[str, Any] | None:
    """For JSON: tokens per second."""
    return None if speed is None else vars(speed)


def speed_words(facts: dict[str, Any]) -> str:
    measured = f"measured on {facts['layers']} of {facts['of_layers']} layers"
    return f"completes {rate(facts['decode'])}, adapts {rate(facts['adapt'])} with LoRA; {measured}"
