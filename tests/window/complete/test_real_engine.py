"""The page on the real engine: before, during and after a run, with a tiny model and a small repository."""

from __future__ import annotations

from PySide6.QtCore import Qt

from app.values.completion import IN_TRAINING
from app.window.complete import suggester as states
from app.window.complete.channel import DONE
from tests.app.state.program import *  # noqa: F403  (fixtures)


def open_page(one, qtbot):
    from app.window.complete.page import CompletePage

    one.state.settings.unfolded = ["timeline"]
    one.state.settings.completion_delay_least = 0
    one.state.settings.completion_delay_most = 20
    one.state.completion.set_sampling("temperature", 0.01)  # as it comes: a tiny model never writes a whole line
    one.state.memory.switch(False)  # this is about models
    one.state.completion.set_stops("max_tokens", 8)
    one.state.completion.set_stops("end_of_block", False)
    page = CompletePage(one.state)
    qtbot.addWidget(page)
    page.resize(1096, 720)
    page.show()
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    page.on_shown()
    return page


def complete(one, page, qtbot, text: str) -> str:
    """Type, and wait for a ghost."""
    qtbot.keyClicks(page.editor, text)
    one.until(lambda: page.suggester.state in (states.SHOWN, states.NOTHING, states.FAILED))
    assert page.suggester.state != states.FAILED, page.error_card.cause.text()
    return page.editor.shown_ghost


def test_before_and_after_a_run(program, repository, tiny, theme, qtbot):
    one = program()
    state = one.state
    page = open_page(one, qtbot)
    one.open(repository)
    page.open_file("shelf_1.py")
    one.until(lambda: page.card.path == "shelf_1.py")
    page.editor.moveCursor(page.editor.textCursor().MoveOperation.End)
    ghost = complete(one, page, qtbot, "def step_1_")
    before = page.editor.toPlainText()
    assert ghost and "first token" in page.card.status.figures.words
    complete(one, page, qtbot, "q" if ghost[0] != "q" else "z")
    assert state.completion.last.reused_tokens > 0  # a key more costs only its own tokens
    qtbot.keyClick(page.editor, Qt.Key.Key_Tab)
    assert len(page.editor.toPlainText()) > len(before) + 1
    assert (repository / "shelf_1.py").read_text() != page.editor.toPlainText()

    one.small_options(tiny, steps=60, learning_rate=0.02)
    one.run_to_end()
    made = state.training.finished.checkpoint
    one.until(lambda: state.completion.choice(made) is not None and page.drawer.timeline.points)
    assert page.sides.isHidden()
    state.training.compare()
    sides = page.sides
    assert sides.isVisible()  # whoever asks for a comparison gets to see it
    assert (sides.before.choice.value, sides.after.choice.value) == (tiny, made)
    assert sides.arrangement.related and page.drawer.blend.heading.remark.words == "100 % adapted"
    qtbot.keyClick(page.editor, Qt.Key.Key_Return)
    complete(one, page, qtbot, "def step_1_")
    one.until(lambda: all(channel.state == DONE and not channel.is_stale for channel in sides.wanted_channels))
    adapted, base = sides.after.alone.view.text, sides.before.alone.view.text
    assert adapted == page.editor.shown_ghost and adapted != base
    page.drawer.blend.slider.setValue(0)  # all of the base
    one.until(lambda: page.suggester.state in (states.SHOWN, states.NOTHING) and page.editor.shown_ghost == base)
    page.drawer.timeline.slider.setValue(0)
    one.until(lambda: page.drawer.timeline.view.text == base)
    page.drawer.timeline.slider.setValue(len(page.drawer.timeline.points) - 1)
    one.until(lambda: page.drawer.timeline.view.text == adapted)
    assert one.failures == []
    page.keep_place()


def test_during_a_run_the_model_in_training_answers(program, repository, tiny, theme, qtbot):
    one = program()
    state = one.state
    page = open_page(one, qtbot)
    one.open(repository)
    one.small_options(tiny, steps=100_000)
    state.training.start()
    one.until(lambda: state.training.step > 1 and state.completion.choice(IN_TRAINING) is not None)
    page.sides.before.chosen.emit(IN_TRAINING)
    page.on_new_wanted()
    step = state.training.step
    complete(one, page, qtbot, "class Shelf")
    assert state.completion.last.model == IN_TRAINING
    one.until(lambda: state.training.step > step)
    state.training.stop()
    one.until(lambda: state.training.phase == "finished")
    one.until(lambda: state.completion.model != IN_TRAINING)
    complete(one, page, qtbot, "(")  # and afterwards by another
    page.keep_place()
