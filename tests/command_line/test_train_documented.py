"""What scripts rely on is written down: exit codes and the events of `codecoil train --json`."""

import json
import re
from pathlib import Path

import pytest

from app.command_line import main
from app.command_line.train_options import EXIT_CODES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "resources" / "help" / "command_line.md").read_text("utf-8")
TRAINED = ["--device", "cpu", "--batch-size", "2", "--sequence-length", "32", "--mode", "full", "--json"]


def rows_of(text: str, heading: str) -> list[list[str]]:
    """The cells of the table that begins with a heading."""
    table = text[text.index(f"| {heading} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table[2:]]


def documented_fields() -> dict[str, set[str]]:
    """The names in the table of events, by event; what stands in brackets is about a field."""
    rows = rows_of(PAGE, "event")
    return {event.strip("`"): set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", fields))) for event, _, fields in rows}


def names_in(line: dict) -> set[str]:
    """The fields of an event, those of its layers included; `memory` has a field for each kind, by whatever name."""
    return set(line) - {"event"} | {name for layer in line.get("layers", ()) for name in layer}


def test_the_help_names_every_exit_code(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert set(EXIT_CODES) == {0, 1, 2, 3, 130} and "--changed-since" in out
    assert all(f" {code} {words}" in out for code, words in EXIT_CODES.items())


def test_the_help_page_has_the_exit_codes_of_the_help():
    assert {int(code) for code, *_ in rows_of(PAGE, "code")} == set(EXIT_CODES)


def test_every_event_and_field_of_real_runs_is_documented(repository, tiny_base, capsys, monkeypatch):
    monkeypatch.setattr("engine.devices.single_kernel.warm_up", lambda device, report: None)
    good = ["--learning-rate", "0.01", "--steps", "10", "--insight-interval", "4", "--timeline", "2"]
    bad = ["--learning-rate", "1", "--steps", "3", "--warm-up", "0"]  # a note tells that nothing was better
    assert main(["train", str(repository), "--base", "tiny", *TRAINED, *good]) == 0
    assert main(["train", str(repository), "--base", "tiny", *TRAINED, *bad]) == 1
    printed: dict[str, set[str]] = {}
    for line in map(json.loads, capsys.readouterr().out.splitlines()):
        printed.setdefault(line["event"], set()).update(names_in(line))
    assert printed == documented_fields()
