"""Leaving while a run goes on: a bar that asks, and the tray where a run can go on without its window."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QMenu, QSizePolicy, QSystemTrayIcon

from app.state.application import Application
from app.theme import Theme, Tokens
from app.theme.icons import app_icon
from app.values.words import about, counted
from app.window.parts import PlainButton, PrimaryButton, label


def run_words(application: Application) -> str:
    """Where the run is, in a sentence."""
    training = application.training
    if training.phase == "preparing":
        return "A run is being prepared."
    left = f", about {about(training.seconds_left)} left" if training.seconds_left > 0 else ""
    return f"A run is at step {training.step:,} of {training.steps:,}{left}."


class ClosingBar(QFrame):
    """The question, in the window itself.  Hidden until somebody closes the window during a run."""

    stop_wanted = Signal()
    tray_wanted = Signal()

    def __init__(self, application: Application, has_tray: bool) -> None:
        super().__init__()
        self.setProperty("role", "bar")
        self._application = application
        row = QHBoxLayout(self)
        row.setContentsMargins(20, 10, 12, 10)
        row.setSpacing(10)
        self.heading = label("Leave now?", "heading")
        self.words = label("", "text", wrap=True)
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.stop_button = PrimaryButton("Stop, keep and quit", "Ends the run, keeps the best so far and quits")
        self.tray_button = PlainButton("Keep running in the tray", "Closes the window; the run goes on")
        self.stay_button = PlainButton("Stay", "Puts this question away", "Esc")
        self.stay_button.setShortcut("Esc")
        row.addWidget(self.heading)
        row.addWidget(self.words, 1)
        for button in (self.stay_button, self.tray_button, self.stop_button):
            row.addWidget(button)
        self.tray_button.setVisible(has_tray)
        self.stop_button.clicked.connect(self.on_stop_clicked)
        self.tray_button.clicked.connect(self.tray_wanted)
        self.stay_button.clicked.connect(self.put_away)
        application.training.progressed.connect(self.on_progressed)
        self.hide()

    def ask(self) -> None:
        """Bring the question up."""
        self._show_words()
        for button in (self.stop_button, self.tray_button, self.stay_button):
            button.setEnabled(True)
        self.show()
        self.stop_button.setFocus()

    @Slot()
    def put_away(self) -> None:
        """The question is answered."""
        self._give_focus_back()
        self.hide()

    def _give_focus_back(self) -> None:
        """To the page, not to whatever comes next."""
        if self.isAncestorOf(QApplication.focusWidget() or self.window()):
            self.window().setFocus()

    @property
    def is_saving(self) -> bool:
        """Whether the user has said to stop, and the run is being saved."""
        return self.isVisible() and not self.stop_button.isEnabled()

    @Slot()
    def on_stop_clicked(self) -> None:
        self.words.setText("Stopping and saving…")
        self._give_focus_back()
        for button in (self.stop_button, self.tray_button, self.stay_button):
            button.setEnabled(False)
        self.stop_wanted.emit()

    @Slot()
    def on_progressed(self) -> None:
        if self.isVisible() and not self.is_saving:
            self._show_words()

    def _show_words(self) -> None:
        self.words.setText(run_words(self._application))
        self.setAccessibleName(f"{self.heading.text()} {self.words.text()}")


class Tray(QObject):
    """The icon for a run without a window: tells how far it is, opens the window, stops and quits."""

    window_wanted = Signal()
    quit_wanted = Signal()

    def __init__(self, application: Application, parent: QObject) -> None:
        super().__init__(parent)
        self._application = application
        theme = Theme.current()
        self.icon = QSystemTrayIcon(app_icon(theme.tokens.accent), self)
        self.menu = QMenu()
        self.open_action = self.menu.addAction("Open Codecoil")
        self.open_action.triggered.connect(self.window_wanted)
        self.quit_action = self.menu.addAction("Stop, keep and quit")
        self.quit_action.triggered.connect(self.quit_wanted)
        self.icon.setContextMenu(self.menu)
        self.icon.activated.connect(self.on_activated)
        theme.restyled.connect(self.on_restyled)
        application.training.progressed.connect(self.on_progressed)
        application.training.finished_run.connect(self.on_finished)

    @staticmethod
    def is_available() -> bool:
        """Whether this desktop has a tray."""
        return QSystemTrayIcon.isSystemTrayAvailable()

    def show(self) -> None:
        """The window is about to go: stay."""
        QApplication.instance().setQuitOnLastWindowClosed(False)
        self.on_progressed()
        self.icon.show()

    def hide(self) -> None:
        """The window is back, or the program ends."""
        QApplication.instance().setQuitOnLastWindowClosed(True)
        self.icon.hide()

    @Slot(QSystemTrayIcon.ActivationReason)
    def on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason == QSystemTrayIcon.ActivationReason.Trigger:
            self.window_wanted.emit()

    @Slot()
    def on_progressed(self) -> None:
        self.icon.setToolTip(f"Codecoil. {run_words(self._application)}")

    @Slot()
    def on_finished(self) -> None:
        finished = self._application.training.finished
        if self.icon.isVisible() and finished is not None:
            words = (
                "Nothing was better than before; the weights are as they were."
                if finished.rolled_back
                else (
                    f"{finished.checkpoint_name or 'The checkpoint'} is saved after {counted(finished.step, 'step')}."
                )
            )
            self.icon.setToolTip(f"Codecoil. {words}")
            self.icon.showMessage("The run is over", words)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self.icon.setIcon(app_icon(tokens.accent))
