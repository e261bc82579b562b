"""The interrupted run of a name, on any device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.devices import Device
from engine.errors import CodecoilError
from engine.session.plan import SessionPlan
from engine.session.session import Progress, Session
from engine.train.saved_run import load_run


def resume_session(
    run: str,
    data_folder: Path,
    open_device: Callable[[], Device],
    progress: Progress | None = None,
    reopen: Callable[[], Device] | None = None,
) -> Session:
    """`reopen`: as for a `Session`."""
    saved = load_run(data_folder / "runs", run)
    root = Path(saved.root)
    if not root.is_dir():
        raise CodecoilError(f"The repository of run {run} is missing: {root}.", "Bring it back, or start a new run.")
    plan = SessionPlan(root, data_folder, saved.options, saved.base, timeline=saved.more["timeline"])
    return Session(plan, open_device(), progress, saved, reopen=reopen)
