"""What `codecoil train` prints: its events for people, or one JSON object per line."""

from __future__ import annotations

import json
import sys

from app.values.words import duration, nbytes

BAR = 20  # characters


class JsonLines:
    """Events as JSON, one per line.  `finished` comes last and names the checkpoint that was saved."""

    def __init__(self) -> None:
        self._finished: dict | None = None
        self._kept: str | None = None

    def __call__(self, event) -> None:
        if event.event == "finished":
            self._finished = {**event.to_json(), "held_out_loss": event.to_json()["held_out_after"]}
            return
        if event.event == "checkpoint" and not event.timeline:
            self._kept = event.checkpoint
        print_line(event.to_json())

    def end(self) -> None:
        """After the result was saved."""
        if self._finished is not None:
            print_line({**self._finished, "checkpoint": self._kept})


def print_line(line: dict) -> None:
    print(json.dumps(line), flush=True)


class Report:
    """Events for people: steps rewrite one line, everything else stays."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._held_out = ""
        self._steps = 0

    def __call__(self, event) -> None:
        line = getattr(self, f"_{event.event}")(event)
        if event.event == "step":
            if self._live:
                print(f"\r{line}\x1b[K", end="", flush=True)
        elif line:
            print(f"\r\x1b[K{line}" if self._live else line, flush=True)

    def end(self) -> None:
        """Everything was printed at once."""

    def _plan(self, event) -> str:
        self._steps = event.steps
        memory = ", ".join(f"{kind} {nbytes(size)}" for kind, size in event.memory.items())
        length = f"{event.steps:,} steps" if event.steps else "Steps"
        limit = f" for at most {event.minutes:g} minutes" if event.minutes else ""
        parts = f" in {event.micro_batches} parts" if event.micro_batches > 1 else ""
        base = "" if event.mode == "full" else f"; the base is kept in {event.base_precision}"
        changed = f"{event.changed_files:,} changed files, mixed with older code.\n" if event.changed_files else ""
        return (
            f"Run {event.run} on {event.device}: base {event.base}, mode {event.mode}, "
            f"{event.trained_parameters:,} trained weights.\n"
            f"{length} of {event.tokens_per_step:,} tokens{parts}{limit}.\n{changed}Memory: {memory}{base}."
        )

    def _step(self, event) -> str:
        filled = int(BAR * event.progress)
        total = f"/{self._steps:,}" if self._steps else ""
        return (
            f"[{'#' * filled}{'-' * (BAR - filled)}] {event.step:,}{total}  loss {event.loss:.3f}  {self._held_out}"
            f"{event.tokens_per_second:,.0f} tokens/s  {nbytes(sum(event.memory.values()))}  "
            f"{duration(event.seconds_left)} left"
        )

    def _evaluation(self, event) -> str:
        self._held_out = f"held-out {event.held_out_loss:.3f}  "
        best = "  best so far" if event.best and event.step else ""
        changed = f"  changed files {event.changed_loss:.4f}" if event.changed_loss is not None else ""
        part = "  (estimated from a part)" if event.partial else ""
        return f"step {event.step:,}  held-out loss {event.held_out_loss:.4f}{part}{changed}{best}"

    def _layers(self, event) -> str:
        return ""  # for plots; --json has them

    def _note(self, event) -> str:
        return f"step {event.step:,}  {event.text}"

    def _checkpoint(self, event) -> str:
        what = "Snapshot" if event.timeline else "Saved as"
        return f"{what} {event.name} ({event.checkpoint[:8]}), held-out loss {event.held_out_loss:.4f}."

    def _finished(self, event) -> str:
        text = f"Finished at step {event.step:,} ({event.reason}) after {duration(event.seconds)}"
        if not event.step:
            return f"{text}."
        text += f": held-out loss {before_and_after(event.held_out_before, event.held_out_after)}"
        if event.changed_before is not None:
            text += f"; changed files {before_and_after(event.changed_before, event.changed_after)}"
        return f"{text}."


def before_and_after(before: float, after: float) -> str:
    """2.8000 before, 2.1000 after (-25.0%)."""
    return f"{before:.4f} before, {after:.4f} after ({after / before - 1:+.1%})"
