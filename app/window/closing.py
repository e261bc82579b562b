"""Quitting during a run: a bar that asks what to do with it, and the tray, where a run continues without its window."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QMenu, QSizePolicy, QSystemTrayIcon

from app.state.application import Application
from app.theme import Theme, Tokens
from app.theme.icons import app_icon
from app.values.words import about, counted
from app.window.parts import PlainButton, PrimaryButton, label


def run_words(application: Application) -> str:
    """How far the run is, as a sentence."""
    training = application.training
    if training.phase == "preparing":
        return "A run is being prepared."
    left = f", about {about(training.seconds_left)} left" if training.seconds_left > 0 else ""
    state = "paused" if training.phase == "paused" else "in progress"
    return f"A run is {state}: step {training.step:,} of {training.steps:,}{left}."


class ClosingBar(QFrame):
    """The question, inside the window.  Hidden until the window is closed during a run."""

    suspend_wanted = Signal()
    stop_wanted = Signal()
    tray_wanted = Signal()

    def __init__(self, application: Application, has_tray: bool) -> None:
        super().__init__()
        self.setProperty("role", "bar")
        self._application = application
        row = QHBoxLayout(self)
        row.setContentsMargins(20, 10, 12, 10)
        row.setSpacing(10)
        self.heading = label("Quit now?", "heading")
        self.words = label("", "text", wrap=True)
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.suspend_button = PrimaryButton(
            "Quit, resume next time", "Saves the run's progress and quits; you can resume it at the next start"
        )
        self.stop_button = PlainButton("Stop, save and quit", "Ends the run, saves the best result so far and quits")
        self.tray_button = PlainButton("Keep running in the tray", "Closes the window; the run continues")
        self.stay_button = PlainButton("Don't quit", "Closes this question", "Esc")
        self.stay_button.setShortcut("Esc")
        self._buttons = (self.stay_button, self.tray_button, self.stop_button, self.suspend_button)
        row.addWidget(self.heading)
        row.addWidget(self.words, 1)
        for button in self._buttons:
            row.addWidget(button)
        self.tray_button.setVisible(has_tray)
        self.suspend_button.clicked.connect(self.on_suspend_clicked)
        self.stop_button.clicked.connect(self.on_stop_clicked)
        self.tray_button.clicked.connect(self.tray_wanted)
        self.stay_button.clicked.connect(self.put_away)
        application.training.progressed.connect(self.on_progressed)
        application.training.changed.connect(self.on_progressed)
        self.hide()

    def ask(self) -> None:
        """Show the question."""
        self._show_words()
        for button in self._buttons:
            button.setEnabled(True)
        self.show()
        (self.stop_button if self.suspend_button.isHidden() else self.suspend_button).setFocus()

    @Slot()
    def put_away(self) -> None:
        self._give_focus_back()
        self.hide()

    def _give_focus_back(self) -> None:
        """To the page, not to the next control."""
        if self.isAncestorOf(QApplication.focusWidget() or self.window()):
            self.window().setFocus()

    @property
    def is_saving(self) -> bool:
        """Whether the user chose to quit and the run is being saved."""
        return self.isVisible() and not self.stop_button.isEnabled()

    @Slot()
    def on_suspend_clicked(self) -> None:
        self._wait("Saving the run's progress…")
        self.suspend_wanted.emit()

    @Slot()
    def on_stop_clicked(self) -> None:
        self._wait("Stopping and saving…")
        self.stop_wanted.emit()

    def _wait(self, words: str) -> None:
        self.words.setText(words)
        self._give_focus_back()
        for button in self._buttons:
            button.setEnabled(False)

    @Slot()
    def on_progressed(self) -> None:
        if self.isVisible() and not self.is_saving:
            self._show_words()

    def _show_words(self) -> None:
        self.suspend_button.setVisible(self._application.training.can_suspend)
        self.words.setText(run_words(self._application))
        self.setAccessibleName(f"{self.heading.text()} {self.words.text()}")


class Tray(QObject):
    """The icon of a run without a window: says how far it is, opens the window, quits."""

    window_wanted = Signal()
    suspend_wanted = Signal()
    quit_wanted = Signal()

    def __init__(self, application: Application, parent: QObject) -> None:
        super().__init__(parent)
        self._application = application
        theme = Theme.current()
        self.icon = QSystemTrayIcon(app_icon(theme.tokens.accent), self)
        self.menu = QMenu()
        self.open_action = self.menu.addAction("Open Codecoil")
        self.open_action.triggered.connect(self.window_wanted)
        self.suspend_action = self.menu.addAction("Quit, resume next time")
        self.suspend_action.triggered.connect(self.suspend_wanted)
        self.quit_action = self.menu.addAction("Stop, save and quit")
        self.quit_action.triggered.connect(self.quit_wanted)
        self.icon.setContextMenu(self.menu)
        self.icon.activated.connect(self.on_activated)
        theme.restyled.connect(self.on_restyled)
        self.menu.aboutToShow.connect(self.on_menu_opened)
        application.training.progressed.connect(self.on_progressed)
        application.training.finished_run.connect(self.on_finished)

    @staticmethod
    def is_available() -> bool:
        """Whether this desktop has a tray."""
        return QSystemTrayIcon.isSystemTrayAvailable()

    def show(self) -> None:
        """Call before the window is hidden: without it the program would end."""
        QApplication.instance().setQuitOnLastWindowClosed(False)
        self.on_progressed()
        self.icon.show()

    def hide(self) -> None:
        """The window is back, or the program is ending."""
        QApplication.instance().setQuitOnLastWindowClosed(True)
        self.icon.hide()

    @Slot(QSystemTrayIcon.ActivationReason)
    def on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason == QSystemTrayIcon.ActivationReason.Trigger:
            self.window_wanted.emit()

    @Slot()
    def on_menu_opened(self) -> None:
        self.suspend_action.setEnabled(self._application.training.can_suspend)

    @Slot()
    def on_progressed(self) -> None:
        self.icon.setToolTip(f"Codecoil. {run_words(self._application)}")

    @Slot()
    def on_finished(self) -> None:
        finished = self._application.training.finished
        if self.icon.isVisible() and finished is not None:
            words = f"{finished.checkpoint_name or 'The checkpoint'} was saved after {counted(finished.step, 'step')}."
            if finished.rolled_back:
                words = "The run did not improve the model, which was left unchanged."
            self.icon.setToolTip(f"Codecoil. {words}")
            self.icon.showMessage("Run finished", words)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self.icon.setIcon(app_icon(tokens.accent))
