"""A second start raises the first window and ends."""

from __future__ import annotations

from PySide6.QtNetwork import QLocalServer

from app.single_instance import SingleInstance, server_name


def test_the_second_start_asks_the_first(qapp, qtbot, data_folder):
    first = SingleInstance(data_folder)
    assert first.claim()
    try:
        with qtbot.waitSignal(first.raise_wanted):
            assert not SingleInstance(data_folder).claim()
    finally:
        first.release()
    again = SingleInstance(data_folder)
    assert again.claim()
    again.release()


def test_another_data_folder_is_another_program(qapp, data_folder, tmp_path):
    first, other = SingleInstance(data_folder), SingleInstance(tmp_path / "other")
    try:
        assert first.claim() and other.claim() and first.name != other.name
    finally:
        first.release()
        other.release()


def test_what_a_killed_program_left_is_removed(qapp, data_folder):
    """A socket file that nobody listens on."""
    left = QLocalServer()
    assert left.listen(server_name(data_folder))
    path = left.fullServerName()
    import os
    import socket

    left.close()
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()
    assert os.path.exists(path)
    one = SingleInstance(data_folder)
    try:
        assert one.claim()
    finally:
        one.release()


def test_the_folder_of_the_second_start_reaches_the_first(qapp, qtbot, data_folder, tmp_path):
    first, folder = SingleInstance(data_folder), tmp_path / "my próject"
    assert first.claim()
    try:
        with qtbot.waitSignal(first.raise_wanted), qtbot.waitSignal(first.folder_wanted) as heard:
            assert not SingleInstance(data_folder).claim(folder)
        assert heard.args == [str(folder)]
    finally:
        first.release()


def test_a_second_start_without_a_folder_opens_none(qapp, qtbot, data_folder):
    first, folders = SingleInstance(data_folder), []
    first.folder_wanted.connect(folders.append)
    assert first.claim()
    try:
        assert not SingleInstance(data_folder).claim()
        with qtbot.waitSignal(first.folder_wanted):  # of the next one: the messages come in order
            assert not SingleInstance(data_folder).claim(data_folder)
        assert folders == [str(data_folder)]
    finally:
        first.release()
