"""From a folder to an adapted model: corpus, base, trainer and checkpoints put together.

    plan        what a session is about to do            bases      the checkpoint that it starts from
    session     one run, one thing at a time             origin     that checkpoint as a model, and back to a delta
    changes     which files changed since a checkpoint   changed_file_selection  those that the model does not know yet
    batches     windows of code, older code mixed in     held_out_loss           of weights that are no checkpoint
    saving      what is written during a run             results    what a run leaves in the store
    fim_teaching  fill-in-the-middle for a base without  fim_trial  whether completions are better with it
    lost_device what a run does when its device fails       resuming   an interrupted run by its name
    trained_parts single embedding rows, and the precision of what is not trained
    inspection  what a model on disk is, and the memory that training it takes
    recitation  what the weights recite of the code that they were trained on
    machine_speed   how fast this machine would write and learn with a model, by its shapes

A session yields the trainer's events, with one of its own for each checkpoint. It saves its progress at least every
minute, so that a kill costs no more than that; `resume_session` resumes exactly where the saved run was.
"""

from engine.session.bases import starter_is_there
from engine.session.changes import changed_since
from engine.session.plan import SessionPlan
from engine.session.resuming import resume_session
from engine.session.session import Session
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
