"""A plot as a picture and as numbers."""

from __future__ import annotations

import csv

from PySide6.QtGui import QImage

from app.state.run_history import RunHistory


def rows_of(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_numbers_of_the_loss_have_every_step_and_the_start(board, history, tmp_path):
    path = tmp_path / "loss.csv"
    board.timeline.zoom_to(10, 20)  # also what is out of sight is saved
    assert board.loss_card.save_numbers(path) == ""
    rows = rows_of(path)
    assert [row["step"] for row in rows] == [str(step) for step in range(51)]
    assert rows[0] == {"step": "0", "loss": "", "smoothed_loss": "", "held_out_loss": "4.5"}
    assert float(rows[7]["loss"]) == history.loss[6] and rows[7]["held_out_loss"] == ""
    assert float(rows[20]["held_out_loss"]) == history.evaluation_loss[2]


def test_every_plot_saves_its_own_columns(board, history, tmp_path):
    headings = {}
    for card in board.cards:
        path = tmp_path / f"{card.chart.name}.csv"
        assert card.save_numbers(path) == ""
        headings[card.chart.name] = tuple(rows_of(path)[0])
    assert headings["Memory"] == ("step", "weights_bytes", "optimiser_bytes", "activations_bytes")
    assert headings["Tokens per second"] == ("step", "tokens_per_second")
    assert headings["Learning rate and gradient norm"] == ("step", "learning_rate", "gradient_norm")
    assert rows_of(tmp_path / "Memory.csv")[0]["weights_bytes"] == str(8 * 2**20)


def test_a_picture_is_the_card_at_twice_its_size(board, theme, tmp_path):
    path = tmp_path / "loss.png"
    assert board.loss_card.save_picture(path) == ""
    image = QImage(str(path))
    assert image.width() == 2 * board.loss_card.width()
    colours = {image.pixelColor(x, y).name() for x in range(0, image.width(), 3) for y in range(0, image.height(), 3)}
    assert theme.tokens.panel in colours and theme.tokens.second in colours


def test_what_cannot_be_written_is_said(board, tmp_path):
    missing = tmp_path / "not there" / "loss.csv"
    assert "No such file or directory" in board.loss_card.save_numbers(missing)
    assert str(missing) in board.loss_card.save_picture(missing)
    board.show_run(RunHistory(), 10, 0)
    assert board.loss_card.save_numbers(tmp_path / "none.csv") and not (tmp_path / "none.csv").exists()


def test_the_menu_asks_for_a_place_and_tells_what_came_of_it(board, qtbot, tmp_path):
    card, told = board.speed_card, []
    board.save_reported.connect(told.append)
    card.numbers_action.trigger()
    dialog = card._dialog.dialog
    assert dialog.isVisible() and dialog.windowTitle() == "Save tokens per second as CSV"
    dialog.close()
    card._dialog.on_selected(str(tmp_path / "speed.csv"))
    assert told == [f"Saved {tmp_path / 'speed.csv'}"] and (tmp_path / "speed.csv").is_file()
    card.picture_action.trigger()
    assert card._dialog.dialog.isVisible()
    card._dialog.dialog.close()
    card._dialog.on_selected(str(tmp_path / "speed.png"))
    assert not QImage(str(tmp_path / "speed.png")).isNull()
