"""A folder dropped on the window is opened, wherever it falls."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent

from app.window.dropping import dropped_folder
from tests.app.played_jobs import record


def test_a_folder_dropped_on_the_editor_is_opened_and_not_pasted(main_window, qapp, tmp_path):
    main_window.show_page("Complete")
    editor = main_window.page("Complete").editor
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    assert not editor.canInsertFromMimeData(data)
    how = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    enter = QDragEnterEvent(QPoint(50, 50), *how)
    qapp.sendEvent(editor.viewport(), enter)
    assert enter.isAccepted() and main_window.drops.sign.isVisible()
    qapp.sendEvent(editor.viewport(), QDropEvent(QPointF(50, 50), *how))
    assert editor.toPlainText() == "" and main_window.application.repository.root == str(tmp_path)
    link = QMimeData()
    link.setUrls([QUrl("https://example.org/")])
    link.setText("https://example.org/")
    assert editor.canInsertFromMimeData(link)  # an address is a text like others


def test_a_model_dropped_anywhere_is_imported(main_window, qapp, tmp_path):
    path = tmp_path / "coder.gguf"
    path.touch()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    how = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    asked = record(main_window.application.jobs, "import_")
    main_window.show_page("Repository")
    qapp.sendEvent(main_window, QDragEnterEvent(QPoint(50, 50), *how))
    assert main_window.drops.sign.isVisible()
    qapp.sendEvent(main_window, QDropEvent(QPointF(50, 50), *how))
    assert asked == [("import_", str(path))] and not main_window.drops.sign.isVisible()
    assert main_window.pages.currentWidget() is main_window.page("Checkpoints")
    assert not main_window.application.repository.root


def test_the_dialog_for_files_shows_gguf(main_window):
    main_window.show_page("Checkpoints")
    dialog = main_window.page("Checkpoints").import_dialog
    dialog.ask_for_file()
    assert "*.gguf" in dialog.dialog.nameFilters()[0]
    dialog.dialog.reject()


def test_a_folder_can_be_dropped(main_window, tmp_path):
    data = QMimeData()
    data.setUrls([QUrl("https://example.org/x"), QUrl.fromLocalFile(str(tmp_path))])
    assert dropped_folder(data) == str(tmp_path)
    file = tmp_path / "a.py"
    file.touch()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    assert dropped_folder(data) == str(tmp_path)
    data.setUrls([QUrl("https://example.org/x")])
    assert dropped_folder(data) == ""
    main_window.drops.sign.rise(str(tmp_path), "read")
    assert main_window.drops.sign.isVisible()
