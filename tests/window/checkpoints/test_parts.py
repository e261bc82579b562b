"""Single panels: merging, exporting, curves, the note, drops."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QUrl

from app.values.checkpoints import (
    CheckpointRow,
    HistoryCurve,
    MergeView,
    PrecisionLine,
    RecitationView,
)
from app.window.checkpoints.export_panel import ExportPanel, file_name
from app.window.checkpoints.facts_card import FactsCard
from app.window.checkpoints.importing import dropped_model
from app.window.checkpoints.marks import HUES, MOST_CURVES, marks_of
from app.window.checkpoints.merge_panel import MergePanel
from app.window.checkpoints.precision_table import PrecisionCard
from engine.session.recitation.audit import RecitedLine

ONE = CheckpointRow("a", "one", "2026-01-01T00:00:00Z", "whole", "full")
TWO = CheckpointRow("b", "two", "2026-01-02T00:00:00Z", "delta", "wsla", "a", "one")


@pytest.fixture
def shown(theme, qtbot):
    def show(widget):
        qtbot.addWidget(widget)
        widget.resize(420, 400)
        widget.show()
        return widget

    return show


def save_button_in(panel: MergePanel) -> int:
    """Where the button is in a panel as tall as its content, as on the page."""
    panel.column.activate()  # what was shown or hidden counts from here on
    panel.resize(420, panel.sizeHint().height())
    panel.column.activate()
    return panel.save_button.y()


def test_a_blend_is_measured_before_it_is_saved(shown, qtbot):
    panel = shown(MergePanel())
    panel.show_parents(ONE, TWO)
    panel.allow(True, "/code", "Measured on code.")
    before = save_button_in(panel)
    panel.slider.setValue(25)
    with qtbot.waitSignal(panel.try_wanted) as told:
        panel.try_button.click()
    assert told.args == ["a", "b", 0.25]
    panel.show_try(MergeView("a", "b", 0.25, first_loss=3.0, second_loss=3.2, child_loss=2.9))
    panel.show_try(MergeView("x", "b", 0.5, first_loss=1.0, second_loss=1.0, child_loss=1.0))  # of other parents
    assert [figure.number.text() for figure in panel.losses] == ["3.000", "2.900", "3.200"]
    assert panel.losses[1].remark.text() == "better than both" and panel.plot.isVisible()
    assert save_button_in(panel) == before, "a button stays where it is"
    with qtbot.waitSignal(panel.merge_wanted) as told:
        panel.save_button.click()
    assert told.args == ["a", "b", 0.25, "", 2.9]  # not measured again
    panel.resize(342, 400)  # in the narrowest window
    number = panel.losses[1].number
    assert number.width() >= number.sizeHint().width(), "nothing stands in the way of a number"
    panel.slider.setValue(60)
    assert panel.losses[1].number.text() == "–" and panel.names[1].text() == "40 % and 60 %"
    panel.name.setText("mine")
    with qtbot.waitSignal(panel.merge_wanted) as told:
        panel.save_button.click()
    assert told.args == ["a", "b", 0.6, "mine", None]
    panel.allow(True, "", "Open a repository.")
    assert len(panel.tried) == 3
    panel.allow(True, "/other", "Measured on other.")
    assert panel.tried == {}
    panel.show_parents(ONE, CheckpointRow("c", "three", kind="whole"))
    assert panel.tried == {} and panel.weight == 0.5 and panel.name.text() == ""


def test_what_cannot_be_measured_can_still_be_saved(shown, qtbot):
    panel = shown(MergePanel())
    panel.show_parents(ONE, TWO)
    panel.allow(True, "", "Open a repository.")
    assert not panel.try_button.isEnabled() and panel.words.text() == "Open a repository."
    with qtbot.waitSignal(panel.merge_wanted) as told:
        panel.save_button.click()
    assert told.args[-1] is None


def test_every_precision_is_read_in_the_narrowest_window(shown, qapp):
    card = shown(PrecisionCard())
    card.resize(358, 400)
    card.show_lines([PrecisionLine("fp8_e4m3", "8 bits", False, 1 << 26, 0.5, 2e-4, 12.345)])
    header = card.view.horizontalHeader()
    assert header.length() <= card.view.viewport().width()
    for column in range(header.count()):
        assert card.view.sizeHintForColumn(column) <= card.view.columnWidth(column), column


def test_formats_with_their_precisions(shown, qtbot, tmp_path):
    panel = shown(ExportPanel())
    panel.show_row(TWO)
    panel.show_formats({"hf": ("float32", "float16"), "gguf": ("f16", "q8_0"), "coil": (), "adapter": ()})
    assert panel.precision.value == "float32" and not panel.whole_row.isVisible()
    panel.format.buttons["gguf"].click()
    assert panel.precision.value == "f16"
    with qtbot.waitSignal(panel.export_wanted) as told:
        panel.on_place_chosen(str(tmp_path / "x.gguf"))
    assert told.args == ["b", "gguf", str(tmp_path / "x.gguf"), "f16", False]
    panel.format.buttons["coil"].click()
    assert panel.whole_row.isVisible() and not panel.precision_row.isVisible()
    panel.whole.click()
    with qtbot.waitSignal(panel.export_wanted) as told:
        panel.on_place_chosen(str(tmp_path / "x.coil"))
    assert told.args[-1] is True
    panel.format.buttons["adapter"].click()
    with qtbot.waitSignal(panel.export_wanted) as told:
        panel.on_place_chosen(str(tmp_path))
    assert told.args[2] == str(tmp_path / "two-adapter")
    panel.show_row(ONE)  # is whole
    assert panel.format.value == "hf" and not panel.format.buttons["adapter"].isEnabled()
    panel.export_button.click()
    assert panel.dialog.isVisible()
    panel.dialog.reject()


def test_names_of_files():
    assert file_name("orbit-api #7 / best") == "orbit-api-7-best" and file_name("…") == "checkpoint"


def test_a_note_is_told_when_it_is_finished_and_to_whom_it_belongs(shown, qtbot):
    card = shown(FactsCard())
    card.show_row(ONE, False)
    told = []
    card.note_wanted.connect(lambda *what: told.append(what))
    card.note.setPlainText("for one")
    card.show_row(TWO, False)  # another is selected before the focus left
    assert told == [("a", "for one")] and card.note.toPlainText() == ""
    card.note.finish()
    assert len(told) == 1
    with qtbot.waitSignal(card.tags_wanted) as tags:
        card.tags.setText(" a, b ,a,, ")
        card.tags.on_editing_finished()
    assert tags.args == ["b", ("a", "b")]


def test_colours_of_curves_go_round_and_end():
    line = np.arange(3.0)
    curves = [HistoryCurve(str(i), str(i), line, line, line[:0], line[:0]) for i in range(14)]
    empty = HistoryCurve("none", "none", line[:0], line[:0], line[:0], line[:0])
    marks = marks_of([empty, *curves])
    assert len(marks) == MOST_CURVES and marks["0"] == marks["5"] == HUES[0] and "none" not in marks
    assert marks_of(curves[:1]) == {}


def test_what_may_be_dropped(tmp_path):
    def data(*paths) -> QMimeData:
        found = QMimeData()
        found.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
        return found

    bundle, code, model = tmp_path / "x.coil", tmp_path / "code", tmp_path / "model"
    bundle.write_bytes(b"x")
    code.mkdir()
    (code / "config.json").write_text("{}")
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"x")
    gguf = tmp_path / "Model.GGUF"
    gguf.write_bytes(b"x")
    assert dropped_model(data(bundle)) == str(bundle)
    assert dropped_model(data(gguf)) == str(gguf)
    assert dropped_model(data(model)) == str(model)
    assert dropped_model(data(code)) == dropped_model(data(tmp_path / "gone.coil")) == ""


def test_an_export_says_what_is_recited_and_shows_the_lines(shown, qtbot):
    panel = shown(ExportPanel())
    part = panel.recitation
    trained = CheckpointRow("c", "three", kind="whole", repository="/code/shop")
    panel.show_row(ONE)
    assert "not trained on a folder" in part.words.text() and not part.measure_button.isVisible()
    panel.show_row(trained)
    panel.allow(True, True)
    assert "has not been measured" in part.words.text() and not part.lines_button.isVisible()
    with qtbot.waitSignal(panel.audit_wanted) as told:
        part.measure_button.click()
    assert told.args == ["c"]
    part.show_asked("c")
    panel.allow(False, False)
    assert part.words.text().startswith("Measuring how much")
    panel.allow(True, True)  # it was cancelled
    assert "has not been measured" in part.words.text()
    lines = tuple(RecitedLine("a.py", n, f"key_{n} =", "'kestrel'", n == 2) for n in range(1, 24))
    part.show_audit(RecitationView("c", ("Recites 23.", "Base none."), lines))
    assert part.words.text().startswith("Recites 23.\nBase none.\n") and part.measure_button.text() == "Measure again"
    assert not part.lines.isVisible()
    part.lines_button.click()
    assert part.lines.isVisible() and "a.py:1\nkey_1 = → 'kestrel'\n\na.py:2 (the base, too)\n" in part.lines.text()
    assert part.lines.text().endswith("and 3 more") and part.lines_button.text() == "Hide the lines"
    panel.show_row(ONE)
    assert not part.lines.isVisible() and part.lines.text() == ""
    panel.show_row(trained)
    assert part.lines_button.isVisible() and not part.lines.isVisible()
    panel.show_row(CheckpointRow("d", "four", kind="whole", repository="/code/shop", recited=("Kept.",)))
    assert part.words.text().startswith("Kept.") and not part.lines_button.isVisible()
    part.show_audit(RecitationView("d", problem="The folder is gone."))
    assert part.words.text().startswith("Kept."), "what was measured before still holds"
    panel.show_formats({"hf": ("float32", "bfloat16"), "coil": ()})
    assert "rounds" not in part.words.text()
    panel.precision.setCurrentIndex(1)
    assert "the export rounds them to bfloat16" in part.words.text()
    panel.format.set_value("coil")
    panel.on_format_chosen("coil")
    assert "rounds" not in part.words.text()
    panel.show_row(CheckpointRow("e", "five", kind="whole", repository="/code/shop"))
    part.show_audit(RecitationView("e", problem="The folder is gone."))
    assert "The folder is gone." in part.words.text()
    panel.allow(False, False)
    assert not panel.export_button.isEnabled() and not part.measure_button.isEnabled()
