"""The page on the real engine: a tiny model learns a small repository, and the plots show it."""

from __future__ import annotations

from tests.app.state.program import *  # noqa: F403  (fixtures)


def test_a_run_is_watched_from_its_plan_to_its_use(program, repository, tiny, theme, qtbot):
    from app.window.adapt.page import AdaptPage

    one = program()
    training = one.state.training
    page = AdaptPage(one.state)
    qtbot.addWidget(page)
    page.resize(1096, 720)
    page.show()
    page.load_board()
    one.open(repository)
    one.small_options(tiny, mode="wsla", steps=40, insight_interval=5)
    one.until(lambda: training.plan is not None and training.plan.steps == 40)
    preflight = page.setup.preflight
    assert preflight.steps.number.text() == "40" and preflight.start_button.isEnabled(), preflight.words.text()
    shown = [card for card in page.setup.modes.cards.values() if card.isVisible()]
    assert len(shown) == 4 and all(" MiB" in card.takes.words or " KiB" in card.takes.words for card in shown)
    states = []

    def pause_at_once() -> None:  # the run is short: later it may be over before this thread looks again
        if training.phase == "running" and not states:
            states.append("")
            page.run_header.pause_button.click()
            states[0] = page.run_header.state.text()

    training.changed.connect(pause_at_once)
    preflight.start_button.click()
    one.until(lambda: training.phase in ("paused", "finished"))
    assert states == ["Paused"]
    page.run_header.pause_button.click()
    one.until(lambda: training.phase == "finished")
    assert page.result.isVisible() and page.result.columns["loss"].after.text() != "–"
    page.board.draw_now()
    assert page.board.loss._raw.getData()[0].tolist() == list(range(1, 41))
    assert page.board.memory.kinds(training.history)[0] == "weights"
    assert len(page.board.layers.layers) == 2
    one.until(lambda: training.after is not None or training.score_problem)
    made = training.finished.checkpoint
    assert made and one.state.completion.model == made and not page.result.use_button.isVisible()
    one.press(page.result.back_button)
    assert one.state.completion.model == tiny and page.result.use_button.isVisible()
    one.press(page.result.use_button)
    assert one.state.completion.model == made
    assert one.failures == []


def test_a_result_that_is_discarded_can_be_brought_back_with_its_timeline(program, repository, tiny, theme, qtbot):
    from app.window.adapt.page import AdaptPage

    one = program()
    checkpoints = one.state.checkpoints
    page = AdaptPage(one.state)
    qtbot.addWidget(page)
    page.show()
    one.open(repository)
    one.small_options(tiny, steps=40, evaluations=4)
    one.run_to_end()
    made = one.state.training.finished.checkpoint
    one.until(lambda: checkpoints.row(made) is not None)
    before = {row.id for row in checkpoints.rows}
    assert len(before) > 2  # the base, the result, and snapshots along the run
    assert one.state.completion.model == made
    page.result.discard_button.click()
    assert one.state.completion.model == tiny  # and not whatever comes first in the list
    one.until(lambda: page.message.isVisible())
    assert page.message.words.text() == "shelves #1 is in the trash." and page.undo_button.isVisible()
    one.until(lambda: {row.id for row in checkpoints.rows} == {tiny})
    page.undo_button.click()
    assert not page.message.isVisible()
    one.until(lambda: {row.id for row in checkpoints.rows} == before and not checkpoints.trash)
    checkpoints.delete(made)  # as another page would
    one.until(lambda: checkpoints.row(made) is None and not checkpoints.busy)
    assert not page.message.isVisible() and one.failures == []
