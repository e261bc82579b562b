"""`codecoil devices`: every device, and which one `auto` selects and why."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import textwrap

from app.values.words import kind_words, limit_words

WIDTH = 100  # characters of a printed line


def run(arguments: argparse.Namespace) -> int:
    from engine.devices import choose_device, list_devices

    devices = list_devices()
    automatic = choose_device("auto")
    if arguments.json:
        listing = {
            "devices": [dataclasses.asdict(device) for device in devices],
            "auto": {"name": automatic.info.name, "reason": automatic.reason},
        }
        print(json.dumps(listing, indent=2))
        return 0
    for device in devices:
        print("\n".join(lines(device, device.name == automatic.info.name)), end="\n\n")
    print(f"auto selects {automatic.info.name}, {automatic.reason}.")
    return 0


def lines(device, is_automatic: bool) -> list[str]:
    """A device as a heading and a few indented facts."""
    facts = [
        ("kind", f"{device.kind} ({kind_words(device.kind)})"),
        ("backend", device.backend),
        ("driver", device.driver),
        ("limits", ", ".join(limit_words(name, value) for name, value in device.limits.items())),
        ("features", ", ".join(device.features)),
    ]
    heading = f"{'*' if is_automatic else ' '} {device.name}  {device.description}"
    wrapped = [
        textwrap.wrap(f"    {name:<9}{value}", WIDTH, subsequent_indent=" " * 13) for name, value in facts if value
    ]
    return [heading, *itertools.chain.from_iterable(wrapped)]
