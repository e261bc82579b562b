"""In which precision completions are decoded, with the held-out loss that was measured at each."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Slot

from app.state.application import Application
from app.values.completion import IN_TRAINING, in_a_sentence, losses_key
from app.values.events import Failure
from app.window.parts import Card, Choice, PlainButton, label, set_tone
from app.window.settings.setting_row import SettingRow
from engine.generate.decode_losses import DecodeLosses
from engine.generate.options import AUTO, PRECISION, PRECISIONS
from engine.generate.precision import LARGE_MODEL

WORDS = {AUTO: "Automatic", "float32": "32-bit", "float16": "16-bit", "int8": "8-bit"}
HELP = (
    f"{PRECISION.help} Automatic is 8-bit for models with at least {LARGE_MODEL // 10**6} million weights"
    " and 16-bit for smaller ones. The model in training is always read in 32-bit."
)


class DecodingCard(Card):
    """The setting, and below it what was measured of the model in use."""

    def __init__(self, application: Application) -> None:
        super().__init__("Decoding", spacing=10)
        self._completion, self._checkpoints = application.completion, application.checkpoints
        self._repository, self._training = application.repository, application.training
        self._losses = DecodeLosses(application.data_folder)
        self._measuring = False
        choice = Choice([(name, WORDS[name]) for name in PRECISION.choices], PRECISION.label)
        self.precision = SettingRow(application.settings, "precision", PRECISION.label, choice, HELP)
        self.column.addWidget(self.precision)
        self.words = label("", "text", wrap=True)
        self.column.addWidget(self.words)
        self.button = PlainButton("Measure", "Held-out loss of the model in use at every precision; takes some seconds")
        self.button.clicked.connect(self.on_clicked)
        self.heading.row.addWidget(self.button)
        for changed in (self._completion.changed, self._repository.changed, self._training.changed):
            changed.connect(self.refresh)
        self._checkpoints.decode_losses_ready.connect(self.on_measured)
        self._checkpoints.busy_changed.connect(self.on_busy_changed)
        self._checkpoints.failed.connect(self.on_failed)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show what is known of the model in use."""
        model = self._completion.model
        ready = self._repository.phase == "ready" and not self._training.active and model != IN_TRAINING
        self.button.setEnabled(ready and not self._measuring)
        choice = self._completion.choice(model)
        name = in_a_sentence(choice.name) if choice is not None else "the model in use"
        if self._measuring:
            self._say(f"Measuring the held-out loss of {name}…")
            return
        found = self._losses.of(losses_key(model))
        if not found:
            self._say(f"The held-out loss of {name} has not been measured yet.")
            return
        repository = Path(next(iter(found.values())).repository).name
        measured = (f"{WORDS[each]} {found[each].loss:.4f}" for each in PRECISIONS if each in found)
        missing = ", ".join(WORDS[each] for each in PRECISIONS if each not in found)
        note = f" Not measured: {missing}." if missing else ""
        self._say(f"Held-out loss of {name} on {repository}: {', '.join(measured)}.{note}")

    @Slot()
    def on_clicked(self) -> None:
        self._measuring = True
        self._checkpoints.measure_decoding(self._completion.model)
        self.refresh()

    @Slot(str)
    def on_measured(self, _model: str) -> None:
        self._measuring = False
        self.refresh()

    @Slot()
    def on_busy_changed(self) -> None:
        """Cancelled, too, is over."""
        if self._measuring and not self._checkpoints.busy:
            self._measuring = False
            self.refresh()

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        if failure.job == "decode_losses":
            self._measuring = False
            self.refresh()
            self._say(failure.cause, "bad")

    def _say(self, words: str, tone: str = "") -> None:
        self.words.setText(words)
        set_tone(self.words, tone)
