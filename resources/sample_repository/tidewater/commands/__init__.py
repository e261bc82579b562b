"""What a person asks.  Importing this package makes every command known."""

from tidewater.commands import (
    berth_commands,
    board_commands,
    call_commands,
    gate_commands,
    helper_commands,
    tide_commands,
    vessel_commands,
)
from tidewater.commands.command import Command, all_commands, command

__all__ = [
    "Command",
    "all_commands",
    "berth_commands",
    "board_commands",
    "call_commands",
    "command",
    "gate_commands",
    "helper_commands",
    "tide_commands",
    "vessel_commands",
]
