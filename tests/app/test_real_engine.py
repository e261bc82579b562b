"""The window and the command line on the real engine: what a user runs, not what a stand-in says."""

from __future__ import annotations

from app.window.settings.kernel_table import PASSED, VERDICT
from engine.graph.kernels import KERNELS


def test_the_window_checks_the_cpu_device(open_window, qtbot):
    desktop = open_window()
    desktop.window.show_page("Settings")
    pane = desktop.window.page("Settings").device_pane
    assert desktop.controller.found is not None, pane.error_card.cause.text()
    desktop.controller.choose("cpu")
    pane.check_card.check_button.click()
    qtbot.waitUntil(lambda: not desktop.controller.busy)
    assert desktop.controller.checks["cpu"].wrong == ()
    table = pane.kernels.table
    assert [table.index(row, VERDICT).data() for row in range(table.rowCount())] == [PASSED] * len(KERNELS)


def test_selftest_prints_a_line_for_every_kernel(run_program, capsys):
    assert run_program(["selftest", "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == list(KERNELS)
    assert all(line.endswith("ok") for line in lines[1:-1])
