"""Kills runs at random moments and looks at what is left.  A program: `killed_runs.py FOLDER SEED KILLS`.

It prepares every kernel once and then forks, so that a run is there in a fifth of a second; for that Numba needs its
own thread pool (NUMBA_THREADING_LAYER=workqueue), since OpenMP does not survive a fork. The last line is JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.devices import open_device
from engine.session import Session, SessionPlan, bases, interrupted_runs, resume_session
from engine.session import session as session_module
from engine.train.saved_run import load_run
from tests.session.small_repository import OPTIONS, save_base, write_file

EARLY_SHARE = 0.3  # of the kills, at any moment before the first loss; the others after some losses
MOST_LOSSES = 12  # that a run is given before it is killed
PLAN_OPTIONS = OPTIONS.changed(steps=30, evaluations=10, mode="vocabulary", rank=2)


def train(folder: Path, log: Path, again: bool = True) -> None:
    """Resume the interrupted run, or start one; every loss is logged as soon as it is known."""
    data = folder / "data"
    waiting = interrupted_runs(data / "runs") if again else []
    device = open_device("cpu")
    if waiting:
        session = resume_session(waiting[0].run, data, lambda: device)
    else:
        session = Session(SessionPlan(folder / "shop", data, PLAN_OPTIONS, "tiny", timeline=5), device)
    with log.open("a") as file:
        for event in session.run():
            if event.event in ("step", "evaluation"):
                value = event.loss if event.event == "step" else event.held_out_loss
                print(json.dumps([event.event, event.step, value]), file=file, flush=True)
            if event.event == "finished":
                print(json.dumps(["finished", 0, 0.0]), file=file, flush=True)
    session.close()
    device.close()


def fork(folder: Path, log: Path) -> int:
    child = os.fork()
    if child == 0:
        try:
            train(folder, log)
        except BaseException as error:
            with log.open("a") as file:
                print(json.dumps(["failed", 0, f"{type(error).__name__}: {error}"]), file=file)
            os._exit(1)
        os._exit(0)
    return child


def killed(child: int, log: Path, draw: random.Random) -> bool:
    """Kill a child at a random point of its work, which does not depend on the machine; False if it ended before."""
    before = written(log)
    if draw.random() < EARLY_SHARE:
        time.sleep(draw.uniform(0.0, Preparing.seconds))
    else:
        wanted, began = before + draw.randrange(2, MOST_LOSSES), time.monotonic()
        while written(log) < wanted and not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if written(log) == before:
                Preparing.seconds = time.monotonic() - began
            time.sleep(0.0005)
        time.sleep(draw.uniform(0.0, 0.01))  # somewhere in what comes after that loss
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


class Preparing:
    """How long the last child took until its first loss."""

    seconds = 0.2


def look(data: Path, verified: set[str]) -> list[str]:
    """What is wrong with the state that a killed run left; a checkpoint that was whole once stays so."""
    store = CheckpointStore(data / "checkpoints")
    found = store.survey()
    wrong = [f"unreadable: {each.reason}" for each in found.unreadable]
    for id in found.checkpoints.keys() - verified:
        wrong += [f"{id}: {finding.words}" for finding in store.verify(id)]
        verified.add(id)
    for info in interrupted_runs(data / "runs"):
        if info.problem:
            wrong.append(info.problem)
        else:
            load_run(data / "runs", info.run)
    return wrong


def written(log: Path) -> int:
    """Whole lines of a log."""
    return log.read_bytes().count(b"\n") if log.exists() else 0


def lines_of(log: Path) -> list[list]:
    """The lines of a log; the last may be cut short by a kill."""
    text = log.read_text() if log.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def main(folder: Path, seed: int, kills: int) -> None:
    bases.starter_folder = lambda: None
    session_module.SAVE_SECONDS = 0.0
    shop, data, log = folder / "shop", folder / "data", folder / "log"
    shop.mkdir()
    data.mkdir()
    for name in ("price", "weight", "stock", "age", "rank"):
        write_file(shop, name)
    save_base(data, Tokenizer.train([path.read_text() for path in sorted(shop.glob("*.py"))], 300), "tiny")
    train(folder, folder / "whole", again=False)
    expected = {(kind, step): value for kind, step, value in lines_of(folder / "whole")}
    draw, done, resumed, wrong, verified = random.Random(seed), 0, 0, [], set()
    while done < kills and not wrong:
        resumed += bool(interrupted_runs(data / "runs"))
        done += killed(fork(folder, log), log, draw)
        wrong = look(data, verified)
    if not wrong:
        os.waitpid(fork(folder, log), 0)  # one that is left alone ends as if nothing had been
        wrong = look(data, verified)
        store = CheckpointStore(data / "checkpoints")
        store.gc()
        results = [m.metrics["held_out_loss"] for m in store.list() if m.mode == "vocabulary" and not m.tags]
        wrong += [f"result {loss}" for loss in results if loss != min(results)]
    found = lines_of(log)
    finished = sum(kind == "finished" for kind, _, _ in found)
    wrong += [str(value) for kind, _, value in found if kind == "failed"]
    wrong += [f"{kind} {step}: {value}" for kind, step, value in found if expected.get((kind, step), value) != value]
    steps = len({step for kind, step, _ in found if kind == "step"})
    print(json.dumps({"kills": done, "resumed": resumed, "finished": finished, "steps": steps, "wrong": wrong[:5]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
