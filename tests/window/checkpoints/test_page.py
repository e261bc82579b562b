"""The page on a real store: what is shown for a selection, and that every button does what it says."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QLineEdit

from app.values.checkpoints import CheckpointRow, ImportedResult
from app.window.checkpoints import table_model as columns
from tests.app.played_jobs import answer, progress, waiting
from tests.window.checkpoints.shelf import HASHES, cards, choose, names

ROOT = Path(__file__).parents[3]


def test_the_list_and_one_of_it(desk, story):
    one, page = desk
    assert names(page) == ["from elsewhere", "shelves #3", "shelves #2", "shelves #1", "tiny"]  # no snapshot
    assert page.list.filters.what.itemText(1) == "With snapshots  6"
    assert "5 checkpoints and 1 snapshot of runs" in page.heading.subtitle.text()
    one.until(lambda: "free on this disk" in page.heading.subtitle.text())
    choose(one, page, story, "shelves #3")
    facts = page.detail.facts
    assert cards(page) == {"facts", "curves", "lineage", "precision", "model_card"}
    assert (facts.loss.number.text(), facts.loss.remark.words) == ("3.384", "−21 % from 4.310")
    assert (facts.facts["Type"].words, facts.facts["Made from"].words) == ("full model", "tiny")
    assert facts.tags.text() == "best, keep"
    assert len(page.detail.curves.chart._raw.getData()[0]) == 40
    assert [line.row.name for line in page.detail.lineage.tree.lines] == ["tiny", "shelves #3"]
    one.press(page.detail.model_card.fold)
    text = page.detail.model_card.text.toPlainText()
    assert "learning rate" in text and "model.safetensors" in text and story.ids["shelves #3"] in text
    assert HASHES not in text
    one.press(page.detail.model_card.copy_button)
    assert QGuiApplication.clipboard().text().startswith("# shelves \\#3")
    page.detail.lineage.tree.chosen.emit(story.ids["tiny"])
    one.until(lambda: not one.state.checkpoints.busy and not page._resting.isActive())
    assert page.detail.facts.facts["Needed by"].words == "shelves #1, shelves at step 8"
    page.table.clearSelection()
    assert cards(page) == {"overview", "lineage"} and len(page.detail.lineage.tree.lines) == 5
    assert not page.buttons["delete"].isEnabled() and one.failures == []


def test_two_are_compared_and_more_are_overlaid(desk, story, qtbot):
    one, page = desk
    choose(one, page, story, "shelves #3", "shelves #1")
    one.until(lambda: page.detail.drift.compared is not None)
    assert cards(page) == {"drift", "curves"}
    assert page.detail.drift.heading.remark.words == "shelves #1 → shelves #3"
    one.press(page.detail.drift.measure.buttons["changed_share"])
    assert page.detail.drift.map.heat.measure == "changed_share"
    page.detail.drift.map.point((0, 0))
    assert page.detail.drift.read_out.words.startswith("layer 0, norm: 100 %")
    marks = page.table.table.marks
    assert set(marks) == {story.ids["shelves #3"], story.ids["shelves #1"]} and len(set(marks.values())) == 2
    assert "held-out loss\n3.905\n3.384" in page.detail.differences.text.toPlainText()
    completion = one.state.completion
    for button in (page.detail.drift.complete_button, page.buttons["compare"]):
        completion.choose_second("")
        with qtbot.waitSignal(page.page_wanted) as asked:
            one.press(button)
        assert asked.args == ["Complete"]
        assert (completion.second, completion.model) == (story.ids["shelves #1"], story.ids["shelves #3"])
    choose(one, page, story, "shelves #3", "shelves #2", "from elsewhere")
    assert cards(page) == {"overview", "curves"}
    assert page.detail.overview.heading.title.text() == "3 selected"
    assert page.detail.curves.heading.remark.words.startswith("1 of 3")
    choose(one, page, story, "shelves #1")
    one.press(page.buttons["compare"])  # with its base
    assert {row.name for row in page.table.chosen} == {"shelves #1", "tiny"} and page.table.table.marks == {}
    one.until(lambda: page.detail.drift.compared is not None)
    assert page.detail.drift.compared.first.name == "tiny" and one.failures == []


def test_a_snapshot_becomes_a_checkpoint_before_it_is_compared(desk, story, qtbot):
    one, page = desk
    choose(one, page, story, "shelves #3", "shelves at step 8")
    with qtbot.waitSignal(page.page_wanted):
        one.press(page.buttons["compare"])
    completion, wanted = one.state.completion, (story.ids["shelves at step 8"], story.ids["shelves #3"])
    one.until(lambda: {completion.model, completion.second} == set(wanted) and not one.state.checkpoints.busy)
    assert all(completion.choice(id) is not None for id in wanted) and one.failures == []


def test_use_and_train_on(desk, story, qtbot):
    one, page = desk
    choose(one, page, story, "shelves #2")
    one.press(page.buttons["use"])
    assert one.state.completion.model == story.ids["shelves #2"]
    assert page.buttons["use"].text() == "In use" and not page.buttons["use"].isEnabled()
    assert page.table.table.in_use == story.ids["shelves #2"] and page.detail.facts.badges["in use"].isVisible()
    with qtbot.waitSignal(page.page_wanted) as asked:
        one.press(page.buttons["train"])
    assert asked.args == ["Adapt"] and one.state.training.base == story.ids["shelves #2"]
    choose(one, page, story, "shelves at step 8")  # a snapshot: the filter gives way
    snapshot = story.ids["shelves at step 8"]
    assert page.list.filters.what.value == "+all"
    one.press(page.buttons["use"])
    one.until(lambda: one.state.checkpoints.row(snapshot).tags == ())
    one.until(lambda: not one.state.checkpoints.busy)
    assert one.state.completion.model == snapshot and "shelves at step 8" in page.notices.message.words.text()


def test_the_table_is_sorted_without_a_mouse(desk, story):
    _one, page = desk
    menu = page.table.sort_menu
    assert menu in [action.menu() for action in page.more_menu.actions()]
    page.table.choose([])
    page.table.on_menu_requested(QPoint(5, 5))  # with nothing selected, that is all the menu there is
    assert menu.isVisible()
    entries = {action.text(): action for action in menu.actions() if action.text()}
    assert "Pinned" in entries and entries["When"].isChecked() and entries["Descending"].isChecked()
    entries["Name"].trigger()
    entries["Ascending"].trigger()
    menu.close()
    names = [row.name for row in page.table.table.shown]
    assert len(names) > 2 and names == sorted(names, key=str.casefold)


def test_rename_pin_tags_and_note(desk, story, qtbot):
    one, page = desk
    checkpoints = one.state.checkpoints
    choose(one, page, story, "shelves #1")
    id = story.ids["shelves #1"]
    page.table.setFocus()
    one.press(page.actions_.rename)
    editor = page.table.findChild(QLineEdit)
    assert editor.text() == "shelves #1"
    editor.setText("better")
    checkpoints.duplicate(story.ids["shelves #2"], "meanwhile")  # another row must not close the editor
    one.until(lambda: any(row.name == "meanwhile" for row in checkpoints.rows))
    assert editor.isVisible() and editor.text() == "better" and "meanwhile" not in names(page)
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    one.until(lambda: checkpoints.row(id).name == "better")
    one.until(lambda: [row.name for row in page.table.chosen] == ["better"])
    assert "meanwhile" in names(page) and page.detail.facts.name.words == "better"
    place = page.table.table.row_of(id)
    spot = page.table.visualRect(page.table.table.index(place, columns.PINNED)).center()
    qtbot.mouseClick(page.table.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    one.until(lambda: checkpoints.row(id).pinned)
    one.press(page.actions_.pin)
    one.until(lambda: not checkpoints.row(id).pinned)
    page.detail.facts.tags.setText("light, mine")
    page.detail.facts.tags.on_editing_finished()
    page.detail.facts.note.setPlainText("two\nlines")
    page.detail.facts.note.finish()
    one.until(lambda: checkpoints.row(id).note == "two\nlines")
    assert checkpoints.row(id).tags == ("light", "mine")
    page.table.table.setData(page.table.table.index(page.table.table.row_of(id), columns.NAME), "a/b")
    one.until(lambda: page.error_card.isVisible())
    assert "'/'" in page.error_card.cause.text() and "better" in names(page) and "a/b" not in names(page)
    one.press(page.error_card.dismiss_button)
    one.press(page.actions_.copy_id)
    assert QGuiApplication.clipboard().text() == id
    one.press(page.actions_.duplicate)
    one.until(lambda: "better copy" in names(page))


def test_delete_undo_and_the_trash(desk, story, qtbot):
    one, page = desk
    checkpoints = one.state.checkpoints
    choose(one, page, story, "shelves #1", "shelves #2")
    qtbot.keyClick(page.table, Qt.Key.Key_Delete)
    assert [row.name for row in page.table.chosen] == ["tiny"]  # what comes after them
    one.until(lambda: len(checkpoints.trash) == 2 and not checkpoints.busy)
    assert page.notices.message.words.text() == "2 checkpoints are in the trash."
    assert page.list.which.buttons["trash"].text() == "Trash  2"
    one.press(page.notices.button)
    one.until(lambda: len(names(page)) == 5 and not checkpoints.trash)
    assert not page.notices.message.isVisible()
    choose(one, page, story, "tiny")
    one.press(page.buttons["delete"])  # others are deltas on it
    one.until(lambda: page.error_card.isVisible())
    assert "needed by" in page.error_card.cause.text() and "tiny" in names(page)
    choose(one, page, story, "shelves #1")
    one.press(page.buttons["delete"])
    one.until(lambda: checkpoints.trash and not checkpoints.busy)
    one.press(page.list.which.buttons["trash"])
    trash = page.list.trash
    assert trash.isVisible() and cards(page) == {"overview", "lineage"} and not page.buttons["delete"].isEnabled()
    one.until(lambda: "KiB" in trash.words.text())
    assert not trash.restore_button.isEnabled()
    trash.view.selectRow(0)
    one.press(trash.restore_button)
    one.until(lambda: not checkpoints.trash)
    assert trash.nothing.isVisible() and not trash.empty_button.isVisible()
    one.press(page.list.which.buttons["all"])
    choose(one, page, story, "shelves #2")
    one.press(page.actions_.delete)
    one.until(lambda: checkpoints.trash and not checkpoints.busy)
    page.list.show_list("trash")
    one.press(trash.empty_button)
    assert "1 checkpoint" in trash.words.text() and trash.sure_button.isVisible()
    one.press(trash.keep_button)
    assert checkpoints.trash and trash.empty_button.isVisible()
    one.press(trash.empty_button)
    one.press(trash.sure_button)
    one.until(lambda: not checkpoints.trash and not checkpoints.busy)
    assert story.ids["shelves #2"] not in {row.id for row in checkpoints.rows}


def test_merge_with_its_loss_before_it_is_saved(desk, story, repository):
    one, page = desk
    checkpoints = one.state.checkpoints
    choose(one, page, story, "shelves #2", "shelves #3")
    one.press(page.buttons["merge"])
    panel = page.detail.merge
    assert "merge" in cards(page) and not panel.try_button.isEnabled() and "Open a repository" in panel.words.text()
    one.open(repository)
    assert panel.try_button.isEnabled() and "held-out code of shelves" in panel.words.text()
    before = len(checkpoints.rows)
    panel.slider.setValue(30)
    one.press(panel.try_button)
    assert not panel.save_button.isEnabled()  # until it is measured
    one.until(lambda: len(panel.tried) == 3)
    one.until(lambda: panel.save_button.isEnabled())
    assert len(checkpoints.rows) == before and all(figure.number.text() != "–" for figure in panel.losses)
    panel.name.setText("both")
    workers = []
    one.state.jobs.asked.connect(lambda job: workers.append(job.worker))
    one.press(panel.save_button)
    one.until(lambda: [row.name for row in page.table.chosen] == ["both"])
    row = page.table.chosen[0]
    assert row.held_out_loss is not None and abs(row.held_out_loss - panel.tried[0.3]) < 1e-6
    assert "FilesWorker" in workers and "MeasuringWorker" not in workers, "what was measured is not measured again"
    assert "both was saved." in page.notices.message.words.text() and "merge" not in cards(page)
    one.until(lambda: page.detail.lineage.tree.lines[-1].besides == "shelves #3")
    one.press(page.detail.precision.loss_button)
    one.until(lambda: len(page.detail.precision.model.lines) == 12 and not checkpoints.busy)
    assert all(line.held_out_loss or line.problem for line in page.detail.precision.model.lines)
    page.choose([story.ids["shelves #3"]])
    assert page.detail.precision.model.lines == []
    page.choose([row.id])
    assert len(page.detail.precision.model.lines) == 12 and one.failures == []  # measured once


def test_a_copy_in_fewer_bits_is_kept_with_its_measured_loss(desk, story, repository):
    one, page = desk
    checkpoints, card = one.state.checkpoints, page.detail.precision
    one.open(repository)
    page.choose([story.ids["tiny"]])
    assert not card.keep_button.isVisible()
    one.press(card.loss_button)
    one.until(lambda: len(card.model.lines) == 12 and not checkpoints.busy)
    assert not card.keep_button.isEnabled(), "nothing is selected"
    names = [line.precision for line in card.model.lines]
    card.view.selectRow(names.index("float32"))
    assert not card.keep_button.isEnabled(), "it is kept so already"
    card.view.selectRow(names.index("int4"))
    loss = card.selected.held_out_loss
    one.press(card.keep_button)
    one.until(lambda: [row.precision for row in page.table.chosen] == ["int4"])
    row = page.table.chosen[0]
    assert row.held_out_loss == loss and row.id != story.ids["tiny"] and one.failures == []
    page.choose([story.ids["tiny"]])
    card.view.selectRow(names.index("int4"))
    one.press(card.keep_button)
    one.until(lambda: [chosen.id for chosen in page.table.chosen] == [row.id])  # no second copy


def test_verify_export_and_import(desk, story, tmp_path, qtbot):
    one, page = desk
    checkpoints = one.state.checkpoints
    choose(one, page, story, "shelves #1")
    one.press(page.buttons["verify"])
    one.until(lambda: "is intact" in page.notices.message.words.text())
    one.press(page.buttons["export"])
    panel = page.detail.export
    one.until(lambda: panel.precision.count() > 0)
    assert panel.precision.value == "float32"
    for key, path in (("coil", "one.coil"), ("gguf", "one.gguf"), ("adapter", "."), ("hf", ".")):
        one.press(page.buttons["export"])
        one.press(panel.format.buttons[key])
        page.notices.message.hide()
        panel.on_place_chosen(str(tmp_path / path))
        one.until(lambda: page.notices.message.isVisible() and not checkpoints.busy)
        assert page.notices.message.words.text().startswith("Wrote "), page.notices.message.words.text()
    assert (tmp_path / "one.coil").is_file() and (tmp_path / "one.gguf").is_file()
    assert (tmp_path / "shelves-1" / "config.json").is_file() and (tmp_path / "shelves-1-adapter").is_dir()
    one.press(page.actions_.delete)
    one.until(lambda: checkpoints.trash and not checkpoints.busy)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "one.coil"))])
    where = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    enter = QDragEnterEvent(QPoint(10, 10), *where)
    QGuiApplication.sendEvent(page, enter)
    sign = page.drops.sign
    assert enter.isAccepted() and sign.isVisible() and "import one.coil" in sign._words.text()
    QGuiApplication.sendEvent(page, QDropEvent(QPointF(10, 10), *where))
    one.until(lambda: [row.name for row in page.table.chosen] == ["shelves #1"])
    assert "shelves #1" in page.notices.message.words.text() and not sign.isVisible()
    one.until(lambda: not checkpoints.busy)
    code = QMimeData()
    code.setUrls([QUrl.fromLocalFile(str(story.root))])
    enter = QDragEnterEvent(QPoint(10, 10), where[0], code, *where[2:])
    QGuiApplication.sendEvent(page, enter)
    assert not enter.isAccepted() and not sign.isVisible()  # source code is the window's
    one.press(page.actions_.import_folder)
    dialog = page.import_dialog.dialog
    assert dialog.isVisible()
    dialog.reject()
    page.import_dialog.chosen.emit(str(tmp_path / "shelves-1"))
    one.until(lambda: [row.mode for row in page.table.chosen] == ["import"])
    one.until(lambda: not checkpoints.busy)
    page.commands.import_path(str(tmp_path / "nothing"))
    one.until(lambda: page.error_card.isVisible())
    assert "does not exist" in page.error_card.cause.text()
    weights = story.store.folder_of(story.ids["shelves #3"]) / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    choose(one, page, story, "shelves #3")
    one.press(page.buttons["verify"])
    one.until(lambda: "is damaged" in page.notices.message.words.text())
    one.until(lambda: page.table.chosen[0].problem and not page.buttons["use"].isEnabled())
    assert "It is damaged" in page.buttons["use"].toolTip() and page.detail.facts.problem.isVisible()
    assert not page.buttons["export"].isEnabled() and page.buttons["delete"].isEnabled()
    content[-1] ^= 1
    weights.write_bytes(content)
    one.press(page.buttons["verify"])
    assert not page.notices.message.isVisible(), "what was said of the time before is gone"
    one.until(lambda: "is intact" in page.notices.message.words.text())
    one.until(lambda: not page.table.chosen[0].problem and page.buttons["use"].isEnabled())


def test_progress_and_cancel(desk, story, monkeypatch, tmp_path):
    one, page = desk
    checkpoints, jobs = one.state.checkpoints, one.state.jobs
    one.until(lambda: not checkpoints.busy)
    page.commands.began.emit()
    monkeypatch.setattr(jobs, "send", lambda job: None)
    checkpoints.export(story.ids["shelves #3"], "hf", tmp_path / "out")
    progress(jobs, "export", 3, 8, "Exporting")
    assert not page.buttons["verify"].isEnabled() and not page.notices.progress.isVisible()  # patience
    one.until(lambda: page.notices.progress.isVisible())
    assert page.notices.progress.count.text() == "3 of 8"
    one.press(page.notices.progress.cancel_button)
    assert waiting(jobs, "export").is_cancelled()
    monkeypatch.undo()
    answer(jobs, "export", cancelled=True)
    assert not page.notices.progress.isVisible() and "Cancelled" in page.notices.message.words.text()
    one.until(lambda: page.buttons["verify"].isEnabled())


def test_an_export_first_measures_what_the_weights_recite(desk, story):
    one, page = desk
    checkpoints, part = one.state.checkpoints, page.detail.export.recitation
    choose(one, page, story, "tiny")
    one.press(page.buttons["export"])
    assert not page._working and "not trained on a folder" in part.words.text()
    choose(one, page, story, "shelves #1")
    asked = []
    one.state.jobs.asked.connect(lambda job: asked.append(job.name))
    one.press(page.buttons["export"])
    assert asked.count("recitation") == 1 and not page.detail.export.export_button.isEnabled()
    assert part.words.text().startswith("Measuring how much")
    one.until(lambda: checkpoints.row(story.ids["shelves #1"]).recited and not checkpoints.busy)
    one.until(lambda: page.detail.export.export_button.isEnabled())
    assert part.words.text().startswith(checkpoints.row(story.ids["shelves #1"]).recited[0])
    assert "recite none" in part.words.text() or "rare enough" in part.words.text()
    page.commands._audited.clear()  # as in a program that was started again
    one.press(page.buttons["export"])
    assert asked.count("recitation") == 1, "it is known"
    one.press(part.measure_button)
    one.until(lambda: not checkpoints.busy)
    assert asked.count("recitation") == 2 and one.failures == []


def test_a_measurement_that_is_cancelled_does_not_begin_again_by_itself(desk, story, monkeypatch):
    one, page = desk
    jobs = one.state.jobs
    choose(one, page, story, "shelves #2")
    asked, send = [], jobs.send
    monkeypatch.setattr(jobs, "send", lambda job: asked.append(job.name) if job.name == "recitation" else send(job))
    one.press(page.buttons["export"])
    one.until(lambda: page.notices.progress.isVisible())
    one.press(page.notices.progress.cancel_button)
    one.until(lambda: page.detail.export.export_button.isEnabled())
    one.press(page.buttons["export"])
    assert asked == ["recitation"] and page.detail.export.export_button.isEnabled()
    assert "has not been measured" in page.detail.export.recitation.words.text()


def test_no_folder_any_more_is_said_in_the_panel(desk, story):
    one, page = desk
    story.whole("gone", 5, data={"root": str(Path(story.root) / "nowhere")})
    one.state.checkpoints.refresh()
    one.until(lambda: one.state.checkpoints.row(story.ids["gone"]) is not None)
    choose(one, page, story, "gone")
    one.press(page.buttons["export"])
    one.until(lambda: "not there any more" in page.detail.export.recitation.words.text())
    one.until(lambda: page.detail.export.export_button.isEnabled())
    assert one.failures == [] and not page.error_card.isVisible()


def test_what_a_result_of_a_hand_off_scores_is_said(desk):
    one, page = desk
    row, said = CheckpointRow("0" * 32, "shop #1"), one.state.checkpoints.result_imported
    said.emit(ImportedResult(row, 2.0, 1.5))
    assert (
        "shop #1 was imported. Bits per byte of held-out code: 2.000 before, 1.500" in page.notices.message.words.text()
    )
    said.emit(ImportedResult(row, problem="The folder is not there any more."))
    assert page.notices.message.words.text().endswith("It has no scorecard: The folder is not there any more.")
