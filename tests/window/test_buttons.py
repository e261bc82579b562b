"""No button of the program is without somebody who listens to it; what each does, the tests of its page press."""

from __future__ import annotations

from PySide6.QtCore import QMetaMethod
from PySide6.QtWidgets import QAbstractButton

from app.window.pages import PAGES, SETTINGS

SIGNALS = ("clicked", "toggled", "pressed", "released")


def test_every_button_is_listened_to(main_window, application):
    for entry in PAGES:
        main_window.show_page(entry.title)
    settings = main_window.page(SETTINGS)
    for part in settings.parts.buttons:
        settings.pane(part)
    main_window.on_help_wanted()
    main_window.on_base_model_wanted()
    try:
        buttons = main_window.findChildren(QAbstractButton)
        deaf = [button.text() or button.accessibleName() for button in buttons if not _is_heard(button)]
        assert len(buttons) > 150 and not deaf
    finally:
        main_window.help_window.close()
        main_window.base_model_dialog.close()


def _is_heard(button: QAbstractButton) -> bool:
    heard = any(button.isSignalConnected(QMetaMethod.fromSignal(getattr(button, name))) for name in SIGNALS)
    return heard or button.group() is not None  # a group listens for its buttons
