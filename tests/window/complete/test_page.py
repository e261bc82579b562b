"""The page: its states, the models side by side, blend, timeline, sampling, files, and what it remembers."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from app.settings import Settings
from app.values.completion import IN_TRAINING, STARTER, SamplingSettings, StopSettings
from app.values.training import ScoreView
from app.window.complete import suggester as states
from tests.window.complete.script import ADAPTED, OTHER, PATH, TEXT, in_training, list_models
from tests.window.stage import ROOT, open_repository, press

CTRL = Qt.KeyboardModifier.ControlModifier


def type_and_answer(page, script, qtbot, text: str = "x") -> None:
    """One key, and the ghost complete where the script knows an answer."""
    count = len(script.asked)
    qtbot.keyClicks(page.editor, text)
    qtbot.waitUntil(lambda: len(script.asked) > count, timeout=5000)
    if page.application.completion.model in script.texts:
        qtbot.waitUntil(lambda: page.suggester.state in (states.SHOWN, states.NOTHING))


def compare(page, application, script, **texts) -> None:
    """The built-in model against the adapted one, with these answers."""
    script.texts = {STARTER: "old one", ADAPTED: "new one", "t100": "first try", "t200": "second try"} | texts
    application.completion.choose_model(ADAPTED)
    application.completion.choose_second(STARTER)


# ---- states


def test_without_a_model_it_says_what_to_do(application, script, theme, qtbot):
    from app.window.complete.page import CompletePage

    page = CompletePage(application)
    qtbot.addWidget(page)
    page.show()
    assert page.stack.currentIndex() == 1  # the store was not read yet: nothing is said too early
    application.checkpoints.listed = True
    application.completion.on_choices(())
    assert page.empty.isVisible()
    wanted = []
    page.page_wanted.connect(wanted.append)
    press(qtbot, page.adapt_button)
    press(qtbot, page.import_button)
    assert wanted == ["Adapt", "Checkpoints"]
    list_models(application)
    assert page.editor.isVisible()


def test_the_status_line_tells_what_is_going_on(page, script, qtbot):
    status = page.card.status
    assert status.place.text() == f"Line 6, column {len(TEXT.splitlines()[-1]) + 1}"
    type_and_answer(page, script, qtbot)
    assert status.words.text() == "Ready"
    qtbot.waitUntil(lambda: status.words.text() == "Thinking…", timeout=3000)
    script.piece("a")
    assert status.words.text() == "Writing"
    script.answer("ab")
    assert status.words.text() == "Suggestion"
    assert status.figures.words == "first token 38 ms · 1,180 tokens/s · 2,114 of 2,130 reused"
    qtbot.keyClick(page.editor, Qt.Key.Key_Escape)
    assert status.words.text() == "Dismissed"
    type_and_answer(page, script, qtbot, "y")
    script.answer("")
    assert status.words.text() == "Nothing to add here"


def test_a_failure_is_a_card_that_can_be_tried_again(page, script, qtbot):
    type_and_answer(page, script, qtbot)
    script.fail()
    assert page.error_card.isVisible() and page.error_card.cause.text() == "The device is gone."
    assert page.card.status.words.text() == "No answer" and page.editor.shown_ghost == ""
    count = len(script.asked)
    press(qtbot, page.error_card.action_button)
    assert len(script.asked) == count + 1 and not page.error_card.isVisible()
    script.fail()
    type_and_answer(page, script, qtbot, "y")
    script.answer("fine")
    assert not page.error_card.isVisible()  # an answer says that it works again


def test_suggestions_that_are_off_are_said_to_be(page, application):
    application.settings.completion_enabled = False
    assert "off" in page.card.status.words.text()


def test_keys_are_named_as_they_are_set(page, application):
    assert "Tab takes it, Ctrl+→ a word, Ctrl+↓ a line, Esc dismisses." in page.heading.subtitle.text()
    application.settings.key_accept = "F2"
    assert "F2 takes it" in page.heading.subtitle.text()


# ---- side by side


def test_both_models_continue_the_same_cursor_and_differences_are_marked(page, application, script, qtbot):
    compare(page, application, script, **{STARTER: "call(a)\n    return None", ADAPTED: "call(a, b)\n    return None"})
    type_and_answer(page, script, qtbot)
    sides = page.sides
    qtbot.waitUntil(lambda: sides.upper.view.text != "" and sides.lower.view.text != "")
    assert (sides.upper.title.text(), sides.upper.badge.text()) == ("Before", "base")
    assert (sides.lower.title.text(), sides.lower.badge.text()) == ("After", "adapted")
    assert sides.upper.choice.value == STARTER and sides.lower.choice.value == ADAPTED
    assert sides.upper.view.marks == () and [sides.lower.view.text[a:b] for a, b in sides.lower.view.marks] == [", b"]
    assert sides.lower.view.toPlainText() == "xcall(a, b)\nreturn None"  # after its line, both less indented
    assert sides.lower.words.text() == "Differs from line 1, underlined"
    channels = [query.channel for query in script.asked]
    assert channels == ["ghost", "right"]  # the ghost's own model is not asked twice
    assert script.last("right").prefix == script.last("ghost").prefix


def test_the_next_key_cancels_the_comparison_and_says_that_it_is_old(page, application, script, qtbot):
    compare(page, application, script)
    del script.texts[STARTER]
    type_and_answer(page, script, qtbot)
    waiting = script.last("right")
    script.piece("half", waiting)
    assert page.sides.upper.view.text == "half"
    script.texts.clear()
    qtbot.keyClicks(page.editor, "q")
    assert waiting.ticket in script.cancelled
    assert page.sides.upper.words.text() == page.sides.lower.words.text() == "For the cursor before"


def test_choosing_what_the_other_has_lets_them_change_places(page, application, script, qtbot):
    compare(page, application, script)
    page.sides.lower.chosen.emit(STARTER)
    assert (application.completion.model, application.completion.second) == (STARTER, ADAPTED)
    assert page.sides.upper.choice.value == STARTER  # the base is above whichever is in use
    page.sides.upper.chosen.emit(OTHER)
    assert application.completion.model == OTHER and page.sides.upper.title.text() == "First"
    page.sides.lower.chosen.emit("")
    assert application.completion.second == "" and not page.sides.lower.view.isVisible()
    page.on_shown()
    assert application.completion.second == ""  # who wants none is not offered one


def test_something_to_compare_with_is_offered(page, application):
    page.sides._declined = False
    page.on_shown()
    assert application.completion.second == ADAPTED
    application.completion.choose_model(ADAPTED)  # in the header
    assert application.completion.second == STARTER


def test_a_hidden_comparison_asks_nothing_until_it_is_shown(page, application, script, qtbot):
    compare(page, application, script)
    qtbot.keyClick(page.editor, Qt.Key.Key_E, CTRL | Qt.KeyboardModifier.ShiftModifier)
    assert not page.side.isVisible() and page.compare_button.text() == "Compare"
    type_and_answer(page, script, qtbot)
    assert script.last("right") is None
    press(qtbot, page.compare_button)
    qtbot.waitUntil(lambda: script.last("right") is not None)


def test_a_side_that_fails_says_so_in_its_place(page, application, script, qtbot):
    compare(page, application, script)
    del script.texts[STARTER]
    type_and_answer(page, script, qtbot)
    script.fail(script.last("right"))
    assert page.sides.upper.words.text().startswith("✕ The device is gone.")
    assert not page.error_card.isVisible() and page.editor.shown_ghost == "new one"


def test_the_model_in_training_is_a_choice_while_there_is_one(page, application, script, qtbot):
    in_training(application)
    page.sides.upper.chosen.emit(IN_TRAINING)
    script.texts = {IN_TRAINING: "half learned"}
    type_and_answer(page, script, qtbot)
    assert page.editor.shown_ghost == "half learned" and page.sides.upper.badge.text() == "in training"
    in_training(application, False)
    assert application.completion.model != IN_TRAINING


# ---- blend


def test_the_slider_goes_from_the_base_to_the_adapted_and_the_ghost_follows(page, application, script, qtbot):
    compare(page, application, script, blend="both a little")
    slider = page.blend.slider
    assert slider.value() == 100 and page.blend.heading.remark.words == "100 % adapted"
    type_and_answer(page, script, qtbot)
    count = len(script.asked)
    slider.setFocus()
    qtbot.keyClick(slider, Qt.Key.Key_PageDown)
    qtbot.keyClick(slider, Qt.Key.Key_Left)
    assert application.completion.blend == pytest.approx(0.11) and page.blend.heading.remark.words == "89 % adapted"
    qtbot.waitUntil(lambda: page.editor.shown_ghost == "both a little", timeout=3000)
    ghosts = [query for query in script.asked[count:] if query.channel == "ghost"]
    assert len(ghosts) == 1 and ghosts[0].blend == pytest.approx(0.11)  # once, when it rests
    assert page.blend.words.words == "Suggests: both a little"
    qtbot.waitUntil(lambda: page.sides.lower.view.text == "new one")  # the panes show the pure ones
    assert script.last("left").blend == 0.0


@pytest.mark.parametrize("second", ["", IN_TRAINING])
def test_what_cannot_be_blended_says_why(page, application, second):
    in_training(application)
    application.completion.choose_second(second)
    assert not page.blend.slider.isEnabled()
    assert page.blend.words.words == (
        "A model in training cannot be blended" if second else "Choose two models to blend"
    )


# ---- timeline


def test_the_timeline_goes_along_the_run(page, application, script, qtbot):
    compare(page, application, script)
    timeline = page.timeline
    assert [point.id for point in timeline.points] == [STARTER, "t100", "t200", ADAPTED]
    assert timeline.heading.remark.words == "result, step 300 · held-out loss 1.200"
    type_and_answer(page, script, qtbot)
    assert script.last("timeline") is None  # nothing is asked before somebody moves it
    timeline.slider.setFocus()
    qtbot.keyClick(timeline.slider, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: timeline.view.text == "second try")
    assert timeline.heading.remark.words == "step 200 · held-out loss 1.300"
    qtbot.keyClick(timeline.slider, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: timeline.view.text == "first try")
    assert [timeline.view.text[a:b] for a, b in timeline.view.marks] == ["first"]
    qtbot.keyClick(timeline.slider, Qt.Key.Key_Home)
    assert timeline.heading.remark.words == "before · held-out loss 1.900"
    qtbot.waitUntil(lambda: timeline.view.text == "old one")
    count = len(script.asked)
    timeline.slider.setValue(2)
    qtbot.waitUntil(lambda: timeline.view.text == "second try")
    assert len(script.asked) == count  # known at this cursor


def test_once_used_it_follows_the_cursor(page, application, script, qtbot):
    compare(page, application, script)
    type_and_answer(page, script, qtbot)
    page.timeline.slider.setValue(1)
    qtbot.waitUntil(lambda: page.timeline.view.text == "first try")
    script.texts["t100"] = "elsewhere"
    type_and_answer(page, script, qtbot, "q")
    qtbot.waitUntil(lambda: page.timeline.view.text == "elsewhere")
    assert script.last("timeline").prefix.endswith("xq")


def test_without_a_run_the_timeline_says_when_it_comes(page, application):
    list_models(application, trained=False)
    assert not page.timeline.slider.isVisible() and "once a run" in page.timeline.words.text()


# ---- sampling and scores


def test_sampling_changes_the_next_question_and_goes_back(page, application, script, qtbot):
    drawer = page.sampling
    assert not drawer.body.isVisible() and drawer.summary.text().startswith("The likeliest token")
    drawer.fold.click()
    assert drawer.body.isVisible()
    type_and_answer(page, script, qtbot)
    script.answer("ab")
    count = len(script.asked)
    drawer.rows["temperature"].control.setValue(0.8)
    drawer.rows["end_of_line"].control.click()
    qtbot.waitUntil(lambda: len(script.asked) > count, timeout=3000)
    assert script.last().sampling.temperature == 0.8 and script.last().stops.end_of_line
    assert drawer.summary.text() == "Temperature 0.8, seed 0, up to 48 tokens, to the end of the line"
    drawer.reset_button.click()
    assert application.completion.sampling == SamplingSettings() and application.completion.stops == StopSettings()
    assert drawer.rows["temperature"].control.value() == 0.0 and not drawer.reset_button.isEnabled()


def test_the_scores_of_the_last_run_are_beside_it(page, application):
    assert not page.scores.isVisible()
    training = application.training
    training.before, training.after = ScoreView("a", 1.9, None, 1.62, 0.061), ScoreView("b", 1.2, None, 1.31, 0.148)
    training.scored.emit()
    assert page.scores.isVisible()
    assert page.scores.cells["bits_per_byte", "after"].text() == "1.31"
    assert page.scores.cells["next_line_exact", "before"].text() == "6.1 %"
    assert page.scores.cells["keystrokes_saved", "after"].text() == "–"


# ---- files


@pytest.fixture
def files(application, tmp_path):
    """A folder with files in it, as the repository that is open."""
    from app.values.repository import FileRow
    from tests.window.stage import corpus

    root = tmp_path / "orbit"
    names = ("orbit/pass.py", "orbit/api/beam.py", "web/panel.ts", "notes.md")
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\nvalue = 1\n", encoding="utf-8")
    (root / "logo.bin").write_bytes(b"a\0b")
    rows = (*(FileRow(name, "Python", 20, 5, True) for name in names), FileRow("logo.bin", "", 3, None, True))
    open_repository(application, corpus(rows, str(root)))
    return root


def test_a_file_is_found_by_parts_of_its_path(page, files, qtbot):
    qtbot.keyClick(page.editor, Qt.Key.Key_P, CTRL)
    opener = page.opener
    qtbot.waitUntil(opener.field.hasFocus)
    assert opener.model.rowCount() == 5
    qtbot.keyClicks(opener.field, "orbit py")
    assert opener.model.stringList() == ["orbit/pass.py", "orbit/api/beam.py"]
    qtbot.keyClick(opener.field, Qt.Key.Key_Down)
    qtbot.keyClick(opener.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.card.path == "orbit/api/beam.py")
    assert not opener.isVisible() and page.editor.hasFocus()
    assert (
        page.editor.toPlainText() == "# orbit/api/beam.py\nvalue = 1\n" and page.suggester.path == "orbit/api/beam.py"
    )
    qtbot.keyClick(page.editor, Qt.Key.Key_P, CTRL)
    qtbot.keyClicks(opener.field, "zzz")
    assert "No file" in opener.words.text()
    qtbot.keyClick(opener.field, Qt.Key.Key_Escape)
    assert not opener.isVisible() and page.card.path == "orbit/api/beam.py"


def test_what_is_typed_never_reaches_the_file_and_is_there_when_one_comes_back(page, files, qtbot):
    page.open_file("orbit/pass.py")
    qtbot.waitUntil(lambda: page.editor.toPlainText().startswith("# orbit/pass.py"))
    qtbot.keyClicks(page.editor, "mine ")
    assert page.card.revert_button.isVisible()
    page.open_file("notes.md")
    qtbot.waitUntil(lambda: page.card.path == "notes.md")
    assert not page.card.revert_button.isVisible()
    page.open_file("orbit/pass.py")
    assert page.editor.toPlainText().startswith("mine # orbit") and page.card.revert_button.isVisible()
    assert (files / "orbit/pass.py").read_text().startswith("# orbit/pass.py")
    press(qtbot, page.card.revert_button)
    qtbot.waitUntil(lambda: page.editor.toPlainText().startswith("# orbit/pass.py"))


def test_a_new_text_has_no_file_and_is_kept(page, files, qtbot):
    qtbot.keyClick(page.editor, Qt.Key.Key_N, CTRL)
    assert page.card.path == "" and page.editor.toPlainText() == "" and page.card.name.words == "Scratch text"
    qtbot.keyClicks(page.editor, "y = 2")
    page.open_file("notes.md")
    qtbot.waitUntil(lambda: page.card.path == "notes.md")
    press(qtbot, page.new_button)
    assert page.editor.toPlainText() == "y = 2"


@pytest.mark.parametrize(("name", "words"), [("logo.bin", "is no text"), ("gone.py", "cannot be read")])
def test_what_cannot_be_shown_is_said_and_changes_nothing(page, files, name, words, qtbot):
    page.open_file(name)
    qtbot.waitUntil(page.message.isVisible)
    assert words in page.message.words.text() and page.card.path == PATH and page.editor.toPlainText() == TEXT


def test_a_file_too_large_is_refused(tmp_path):
    from app.window.complete.file_reading import MOST_BYTES, read_text

    (tmp_path / "big.py").write_bytes(b"x" * (MOST_BYTES + 1))
    assert "too large" in read_text(tmp_path / "big.py")[1]
    (tmp_path / "dos.py").write_bytes(b"\xef\xbb\xbfa\r\nb\xff\r\n")
    assert read_text(tmp_path / "dos.py") == ("a\nb\ufffd\n", "")


def test_no_folder_is_open(page, application, qtbot):
    application.repository.corpus = None
    page.on_open_wanted()
    assert "Choose a folder" in page.message.words.text() and not page.opener.isVisible()


# ---- the page as a whole


def test_f6_leaves_the_editor_and_comes_back(page, qtbot):
    qtbot.keyClick(page.editor, Qt.Key.Key_F6)
    assert page.sides.upper.choice.hasFocus()
    qtbot.keyClick(page.sides.upper.choice, Qt.Key.Key_F6)
    assert page.editor.hasFocus()


def test_the_place_is_remembered(page, files, application, qtbot):
    from app.window.complete.page import CompletePage

    page.open_file("notes.md")
    qtbot.waitUntil(lambda: page.card.path == "notes.md")
    page.editor.moveCursor(page.editor.textCursor().MoveOperation.End)
    page.splitter.setSizes([600, 400])
    page.compare_button.click()
    page.keep_place()
    application.settings.save()
    application.settings = Settings(application.data_folder, application)  # as the next start reads it
    other = CompletePage(application)
    qtbot.addWidget(other)
    qtbot.waitUntil(lambda: other.card.path == "notes.md")
    assert other.editor.textCursor().position() == page.editor.textCursor().position()
    assert not other.compare_button.isChecked() and other.side.isHidden()
    other.keep_place()


def test_it_fits_the_smallest_window_and_everything_has_a_name(page, qtbot):
    from PySide6.QtWidgets import QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit, QSlider

    page.resize(840, 590)
    assert page.minimumSizeHint().width() <= 840 and page.minimumSizeHint().height() <= 590
    for kind in (QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit, QSlider):
        for widget in page.findChildren(kind):
            if widget.objectName().startswith("qt_"):
                continue  # inside a spin box or a completer
            if isinstance(widget, QAbstractButton) and not widget.isVisible() and not widget.text():
                continue  # of a card that says nothing yet
            assert widget.accessibleName(), widget
    assert page.suggester.state == states.IDLE and ROOT
