"""A model that a test plays: the real controllers, and answers that come when and as the test says."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Slot

from app.values.checkpoints import CheckpointRow
from app.values.completion import STARTER, CompletionQuery, CompletionView
from app.values.events import Failure
from app.window.complete import suggester as states

ADAPTED, OTHER, RUN = "c7", "c8", "r7"
TEXT = "def put(self, name):\n    return self.boxes[name]\n\n\ndef take(self, name):\n    "
PATH = "orbit/pass.py"


class Script(QObject):
    """Stands where the workers are; keeps every question."""

    def __init__(self, application) -> None:
        super().__init__(application)
        self.completion = application.completion
        self.asked: list[CompletionQuery] = []
        self.cancelled: list[int] = []
        self.texts: dict[str, str] = {}  # by model; what is not here is not answered by itself
        self.completion.query_wanted.connect(self.on_query)
        self.completion.cancel_wanted.connect(self.on_cancel)

    @Slot(object)
    def on_query(self, query: CompletionQuery) -> None:
        self.asked.append(query)
        text = self.texts.get("blend" if query.blend else query.model)
        if text is not None:
            QTimer.singleShot(0, self, lambda: self.answer(text, query))  # later, as a worker does

    @Slot(int)
    def on_cancel(self, ticket: int) -> None:
        self.cancelled.append(ticket)

    def last(self, channel: str = "ghost") -> CompletionQuery | None:
        return next((query for query in reversed(self.asked) if query.channel == channel), None)

    def piece(self, text: str, query: CompletionQuery | None = None) -> None:
        self.completion.on_piece((query or self.last()).ticket, text)

    def answer(self, text: str, query: CompletionQuery | None = None, **figures) -> None:
        """The whole text."""
        query = query or self.last()
        values = {"tokens": 9, "prompt_tokens": 2130, "reused_tokens": 2114, "first_token_ms": 38.4}
        values |= {"total_ms": 66.0, "decode_tokens_per_second": 1180.0} | figures
        self.completion.on_completed(CompletionView(query.ticket, query.channel, query.model, text, **values))

    def fail(self, query: CompletionQuery | None = None) -> None:
        self.completion.on_failed((query or self.last()).ticket, Failure("The device is gone.", "Choose another.", "x"))


def list_models(application, *, trained: bool = True) -> None:
    """As if the store had been read: the built-in model and, if `trained`, what was made of it."""
    from app.state.choices import model_choices, timelines

    rows = ()
    if trained:
        rows = (
            CheckpointRow(OTHER, "alien", mode="import"),
            CheckpointRow(
                ADAPTED,
                "orbit #7",
                base="stored-starter",
                mode="lora",
                run=RUN,
                step=300,
                held_out_loss=1.2,
                held_out_before=1.9,
            ),
            *(
                CheckpointRow(f"t{step}", f"at {step}", run=RUN, step=step, held_out_loss=loss, tags=("timeline",))
                for step, loss in ((100, 1.5), (200, 1.3))
            ),
        )
    application.checkpoints.rows, application.checkpoints.listed = rows, True
    application.completion.on_choices(model_choices(rows, has_starter=True))
    application.completion.on_timelines(timelines(rows))


def in_training(application, active: bool = True) -> None:
    application.training.phase = "running" if active else "idle"
    application.completion.on_training(active)


def type_and_answer(page, script, qtbot, text: str = "x") -> None:
    """One key, and the ghost complete where the script knows an answer."""
    count = len(script.asked)
    qtbot.keyClicks(page.editor, text)
    qtbot.waitUntil(lambda: len(script.asked) > count)
    if page.application.completion.model in script.texts:
        qtbot.waitUntil(lambda: page.suggester.state in (states.SHOWN, states.NOTHING))


def compare(page, application, script, **texts) -> None:
    """The built-in model against the adapted one, with these answers."""
    script.texts = {STARTER: "old one", ADAPTED: "new one", "t100": "first try", "t200": "second try"} | texts
    application.completion.choose_model(ADAPTED)
    application.completion.choose_second(STARTER)
