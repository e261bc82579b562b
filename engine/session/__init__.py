"""From a folder to an adapted model: corpus, base, trainer and checkpoints put together.

    plan        what a session is about to do            bases      the checkpoint that it starts from
    session     one run, one thing at a time             origin     that checkpoint as a model, and the way back
    changes     which files changed since a checkpoint   changed_file_selection  those that the model does not know yet
    batches     windows of code, older code mixed in
    saving      what is written while a run goes on      results    what a run leaves in the store

A session yields the trainer's events, with one of its own for each checkpoint. It saves its progress at least every
minute, so that a kill costs at most that; `resume_session` goes on exactly where the saved run was.
"""

from engine.session.bases import starter_is_there
from engine.session.changes import changed_since
from engine.session.plan import SessionPlan
from engine.session.session import Session, resume_session
from engine.train.saved_run import RunInfo, interrupted_runs

__all__ = [
    "RunInfo",
    "Session",
    "SessionPlan",
    "changed_since",
    "interrupted_runs",
    "resume_session",
    "starter_is_there",
]
