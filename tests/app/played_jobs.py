"""Jobs as a test sees them: what was asked for, and answers that the test gives in place of a worker."""

from __future__ import annotations

from typing import Any

from app.values.events import Failure
from app.workers.jobs import Answer, Job, Jobs, Progress


class PlayedJobs(Jobs):
    """No worker does them: they wait until the test answers."""

    def send(self, job: Job) -> None:
        pass


def record(jobs: Jobs, *names: str) -> list[tuple]:
    """What is asked for from now on, as (name, *arguments); only these jobs, if any are named."""
    asked: list[tuple] = []
    jobs.asked.connect(lambda job: asked.append((job.name, *job.arguments)) if not names or job.name in names else None)
    return asked


def waiting(jobs: Jobs, name: str) -> Job:
    """The oldest job of that name that has no answer yet."""
    return next(job for job in jobs._waiting if job.name == name)


def begin(jobs: Jobs, name: str) -> Job:
    """As if the worker had begun with it."""
    job = waiting(jobs, name)
    job.begin()
    return job


def progress(jobs: Jobs, name: str, done: int, total: int, what: str) -> None:
    jobs.on_reported(begin(jobs, name), Progress(done, total, what))


def answer(
    jobs: Jobs, name: str, result: Any = None, *, failure: Failure | None = None, cancelled: bool = False
) -> None:
    """End the oldest job of that name."""
    jobs.on_answered(begin(jobs, name), Answer(result, failure, cancelled))
