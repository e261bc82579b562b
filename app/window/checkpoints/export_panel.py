"""Exporting a checkpoint: format, precision and destination.  The dialog does not block the window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout

from app.values.checkpoints import CheckpointRow
from app.window.checkpoints.recitation_part import RecitationPart
from app.window.parts import Card, Choice, FieldRow, FileDialog, IconButton, PlainButton, Segmented, Switch, label, tip

FORMATS = {
    "hf": ("Hugging Face", "A folder that transformers and most other tools can read."),
    "gguf": ("GGUF", "One file for llama.cpp, Ollama and similar programs."),
    "coil": ("Bundle", "One .coil file with its history and scores, for Codecoil on another machine."),
    "adapter": ("Adapter", "Only the trained weights, without the base; LoRA in PEFT format."),
}
ENDINGS = {"gguf": ".gguf", "coil": ".coil"}  # the others are folders


class ExportPanel(Card):
    """Asks for a destination, then emits `export_wanted`."""

    export_wanted = Signal(str, str, str, str, bool)  # id, format, path, precision, whole
    audit_wanted = Signal(str)  # id
    closed = Signal()

    def __init__(self) -> None:
        super().__init__("Export", margins=(16, 12, 16, 14), spacing=10)
        self.row: CheckpointRow | None = None
        self._precisions: dict[str, tuple[str, ...]] = {}  # by format, once they are known
        self.dialog: FileDialog | None = None
        self.close_button = IconButton("close", "Close", "Esc")
        self.close_button.clicked.connect(self.closed)
        self.heading.row.addWidget(self.close_button)
        self.format = Segmented([(key, *FORMATS[key]) for key in FORMATS], "Format")
        self.format.set_value("hf")
        self.format.chosen.connect(self.on_format_chosen)
        self.column.addWidget(self.format, 0, Qt.AlignmentFlag.AlignLeft)
        self.words = label("", "label", wrap=True)
        self.column.addWidget(self.words)
        self.precision = Choice(name="Precision", width=150)
        self.precision_row = FieldRow("Precision", self.precision, "Fewer bits make a smaller, less exact file.")
        self.whole = Switch("Include the base")
        self.whole_row = FieldRow("Include the base", self.whole, "Without it, the recipient needs the same base.")
        self.column.addWidget(self.precision_row)
        self.column.addWidget(self.whole_row)
        self.recitation = RecitationPart()
        self.recitation.audit_wanted.connect(self.on_audit_clicked)
        self.column.addWidget(self.recitation)
        self.precision.currentIndexChanged.connect(self.on_precision_changed)
        row = QHBoxLayout()
        self.export_button = PlainButton("Choose destination…", "An earlier export with the same name is replaced")
        self.export_button.clicked.connect(self.on_export_clicked)
        row.addStretch(1)
        row.addWidget(self.export_button)
        self.column.addLayout(row)
        self.on_format_chosen(self.format.value)

    def show_row(self, row: CheckpointRow) -> None:
        self.row = row
        self.heading.say(row.name)
        self.recitation.show_row(row)
        adapter = self.format.buttons.get("adapter")
        if adapter is not None:
            adapter.setEnabled(row.kind == "delta")
            words = (
                FORMATS["adapter"][1] if row.kind == "delta" else "This is a full model: it has no adapter to export"
            )
            tip(adapter, words)
            if row.kind != "delta" and self.format.value == "adapter":
                self.format.set_value("hf")
        self.on_format_chosen(self.format.value)

    def allow(self, export: bool, measure: bool) -> None:
        """`export`: nothing else is being done; `measure`: and no run has the device."""
        self.export_button.setEnabled(export)
        self.recitation.allow(measure)
        if export:
            self.recitation.show_asked("")

    @Slot()
    def on_audit_clicked(self) -> None:
        self.audit_wanted.emit(self.row.id)

    @property
    def is_ready(self) -> bool:
        """Whether the precisions of each format are known."""
        return bool(self._precisions)

    @Slot(object)
    def show_formats(self, precisions: Mapping[str, tuple[str, ...]]) -> None:
        """The precisions of each format, the default first."""
        self._precisions = dict(precisions)
        self.on_format_chosen(self.format.value)

    @Slot(str)
    def on_format_chosen(self, key: str) -> None:
        self.words.setText(FORMATS[key][1])
        precisions = self._precisions.get(key, ())
        self.precision.set_choices([(name, name) for name in precisions])
        if precisions:
            self.precision.setCurrentIndex(0)
        self.precision_row.setVisible(bool(precisions))
        self.on_precision_changed()
        self.whole_row.setVisible(key == "coil" and self.row is not None and self.row.kind == "delta")

    @Slot()
    def on_precision_changed(self) -> None:
        self.recitation.show_exported(self.precision.value)

    @Slot()
    def on_export_clicked(self) -> None:
        """Ask for a file name, or for the folder to create the new folder in."""
        key = self.format.value
        self.dialog = dialog = FileDialog(
            self, f"Export {self.row.name}", accept="" if key in ENDINGS else "Export here"
        )
        dialog.fileSelected.connect(self.on_place_chosen)
        if key not in ENDINGS:
            dialog.ask_for_folder()
            return
        dialog.setAcceptMode(FileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(ENDINGS[key])
        dialog.setNameFilter(f"{FORMATS[key][0]} (*{ENDINGS[key]})")
        dialog.selectFile(file_name(self.row.name) + ENDINGS[key])
        dialog.open()

    @Slot(str)
    def on_place_chosen(self, place: str) -> None:
        """A folder format gets a subfolder of the chosen folder."""
        key = self.format.value
        path = Path(place)
        if key not in ENDINGS:
            path /= file_name(self.row.name) + ("-adapter" if key == "adapter" else "")
        whole = key == "coil" and self.whole.isChecked()
        self.export_wanted.emit(self.row.id, key, str(path), self.precision.value, whole)


def file_name(name: str) -> str:
    """A name that is valid on every file system."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "checkpoint"
