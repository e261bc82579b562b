"""Merging two checkpoints: a slider between them, the blend's held-out loss before anything is saved, a name, Save."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QSlider

from app.values.checkpoints import CheckpointRow, MergeView
from app.window.checkpoints.blend_plot import BlendPlot
from app.window.checkpoints.words import NOTHING, loss_words
from app.window.parts import Card, ElidedLabel, FigureLabel, IconButton, Line, PlainButton, label, tip

PARTS = 100  # of the slider


class MergePanel(Card):
    """Losses are kept until other parents or another repository are chosen; a blend is saved with the loss that was
    measured.  What may come and go (the plot) is below the buttons, so that those stay where they are."""

    try_wanted = Signal(str, str, float)
    merge_wanted = Signal(str, str, float, str, object)  # first, second, weight, name, its loss or None: not measured
    closed = Signal()

    def __init__(self) -> None:
        super().__init__("Merge", margins=(16, 12, 16, 14), spacing=8)
        self.first: CheckpointRow | None = None
        self.second: CheckpointRow | None = None
        self.tried: dict[float, float] = {}
        self._repository = ""  # on whose held-out code it is measured
        self.close_button = IconButton("close", "Close", "Esc")
        self.close_button.clicked.connect(self.closed)
        self.heading.row.addWidget(self.close_button)
        tip(self.heading.title, "Blends the weights of two checkpoints of the same model")
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, PARTS)
        self.slider.setPageStep(10)
        self.slider.setValue(PARTS // 2)
        self.slider.setAccessibleName("Share of the second checkpoint")
        tip(self.slider, "How much of each: all of the first on the left, all of the second on the right")
        self.slider.valueChanged.connect(self.on_moved)
        self.names = (ElidedLabel("", "label"), label("", "strong"), ElidedLabel("", "label"))
        self.names[2].setAlignment(Qt.AlignmentFlag.AlignRight)
        ends = QHBoxLayout()
        ends.setSpacing(10)
        ends.addWidget(self.names[0], 1)
        ends.addWidget(self.names[1])
        ends.addWidget(self.names[2], 1)
        self.column.addLayout(ends)
        self.column.addWidget(self.slider)
        figures = QHBoxLayout()
        self.losses = tuple(FigureLabel(words, 90, remark_below=True) for words in ("First", "Blend", "Second"))
        for figure in self.losses:
            figures.addWidget(figure, 1)
        self.column.addLayout(figures)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.name = Line("Name of the new checkpoint")
        self.name.setAccessibleName("Name of the new checkpoint")
        self.try_button = PlainButton("Measure", "Measure this blend and both parents on held-out code; saves nothing")
        self.save_button = PlainButton("Save", "Save this blend as a new checkpoint")
        self.try_button.clicked.connect(self.on_try_clicked)
        self.save_button.clicked.connect(self.on_save_clicked)
        row.addWidget(self.name, 1)
        row.addWidget(self.try_button)
        row.addWidget(self.save_button)
        self.column.addLayout(row)
        self.words = label("", "label", wrap=True)
        self.column.addWidget(self.words)
        self.plot = BlendPlot()
        self.column.addWidget(self.plot)

    @property
    def weight(self) -> float:
        """Share of the second checkpoint, 0 to 1."""
        return self.slider.value() / PARTS

    def show_parents(self, first: CheckpointRow, second: CheckpointRow) -> None:
        """Blend these; the losses of others are forgotten."""
        if self.first is None or (first.id, second.id) != (self.first.id, self.second.id):
            self.tried = {}
            self.slider.setValue(PARTS // 2)
            self.name.set_value("")
        self.first, self.second = first, second
        self.names[0].set_words(first.name)
        self.names[2].set_words(second.name)
        self.name.setPlaceholderText(f"{first.name} + {second.name}")
        self._update()

    def allow(self, save: bool, repository: str, words: str) -> None:
        """`save`: nothing else is being done.  `repository`: on whose held-out code a blend can be measured; "" for
        none.  `words`: the same as a sentence."""
        if repository and repository != self._repository:
            self.tried = {}
        self._repository = repository or self._repository
        self.try_button.setEnabled(save and bool(repository))
        self.save_button.setEnabled(save)
        self.words.setText(words)
        self._update()

    def show_try(self, view: MergeView) -> None:
        if self.first is None or (view.first, view.second) != (self.first.id, self.second.id):
            return
        for weight, loss in ((0.0, view.first_loss), (1.0, view.second_loss), (view.weight, view.child_loss)):
            if loss is not None:
                self.tried[weight] = loss
        self._update()

    def _update(self) -> None:
        share = self.slider.value()
        self.names[1].setText("half and half" if share == 50 else f"{PARTS - share} % and {share} %")
        known = (self.tried.get(0.0), self.tried.get(self.weight), self.tried.get(1.0))
        parents = [loss for loss in (known[0], known[2]) if loss is not None]
        for figure, loss in zip(self.losses, known, strict=True):
            figure.say(loss_words(loss))
        if known[1] is None:
            self.losses[1].say(NOTHING, "not measured")
        elif parents and 0 < share < PARTS:
            better = known[1] < min(parents)
            self.losses[1].say(loss_words(known[1]), "better than both" if better else "", "good" if better else "")
        self.plot.setVisible(len(self.tried) > 1)
        self.plot.show_losses(self.tried, self.weight)

    @Slot(int)
    def on_moved(self, _value: int) -> None:
        self._update()

    @Slot()
    def on_try_clicked(self) -> None:
        self.try_wanted.emit(self.first.id, self.second.id, self.weight)

    @Slot()
    def on_save_clicked(self) -> None:
        name = self.name.text().strip()
        loss = self.tried.get(self.weight)
        self.merge_wanted.emit(self.first.id, self.second.id, self.weight, name, loss)
