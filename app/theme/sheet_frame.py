"""The stylesheet's first part: the window's frame, words by role, cards, the rail, chips, menus and scroll bars."""

SHEET = """
QMainWindow, QDialog, #page, #page_view, #page_view > QWidget, #pages { background: $background; }
QLabel { background: transparent; }
QToolTip { background: $raised; color: $ink; border: 1px solid $line; padding: 6px 8px; }

#header { background: $panel; border-bottom: 1px solid $line; }
#rail { background: $panel; border-right: 1px solid $line; }
#footer { background: $panel; border-top: 1px solid $line; }

QLabel[role="brand"] { font-size: 15px; font-weight: 600; }
QLabel[role="title"] { font-size: ${title}px; font-weight: 600; }
QLabel[role="heading"] { font-weight: 600; }
QLabel[role="label"] { color: $mute; font-size: ${label}px; }
QLabel[role="text"] { color: $mute; }
QLabel[role="strong"] { font-size: ${label}px; font-weight: 500; }
QLabel[role="figure"] { font-size: ${figure}px; font-weight: 600; }
QLabel[role="unit"] { color: $mute; font-weight: 500; padding-bottom: 3px; }
QLabel[role="kernel"] { color: $mute; font-family: "$code"; font-size: ${label}px; padding-bottom: 4px; }
QLabel[role="code"] { font-family: "$code"; font-size: ${label}px; }
QLabel[role="keys"] {
    color: $mute; font-size: 11px; font-weight: 500; background: $raised; border: 1px solid $line;
    border-radius: 5px; padding: 1px 6px;
}
QLabel[role="badge"] {
    color: $mute; font-size: 11px; font-weight: 500; border: 1px solid $line; border-radius: 6px; padding: 1px 7px;
}
QLabel[role="count"] {
    background: $accent; color: $on_accent; font-size: 11px; font-weight: 600; border-radius: 9px;
    padding: 0 6px; min-width: 8px; min-height: 18px; max-height: 18px;
}
QLabel[tone="good"] { color: $accent_text; }
QLabel[tone="bad"] { color: $bad_text; }
QLabel[tone="warn"] { color: $warn_text; }
QLabel[tone="second"] { color: $second_text; }
QLabel[role="badge"][tone="good"] { border-color: $accent; }
QLabel[role="badge"][tone="bad"] { border-color: $bad; }
QLabel[role="badge"][tone="warn"] { border-color: $warn; }
QLabel[role="dot"] { background: $dim; border-radius: 4px; }
QLabel[role="dot"][tone="good"] { background: $accent; }
QLabel[role="dot"][tone="warn"] { background: $warn; }
QLabel[role="dot"][tone="bad"] { background: $bad; }

QFrame[card="plain"] { background: $panel; border: 1px solid $line; border-radius: 12px; }
QFrame[card="accent"] { background: $panel; border: 1px solid $accent; border-radius: 12px; }
QFrame[card="warn"] { background: $panel; border: 1px solid $warn; border-radius: 12px; }
QFrame[card="error"] { background: $panel; border: 1px solid $bad; border-radius: 12px; }
QFrame[card="drop"] { background: $raised; border: 2px dashed $accent; border-radius: 12px; }
QFrame[role="rule"] { background: $line; border: none; }
QFrame[role="bar"] { background: $panel; border: none; border-bottom: 1px solid $warn; }

QPushButton[role="chip"] { border-radius: 8px; padding: 0; text-align: left; }
QPushButton[role="chip"]:focus { padding: 0; }
QPushButton[role="chip"]::menu-indicator { image: none; width: 0; }
QPushButton[role="switch"] { color: $mute; }
QPushButton[role="switch"]:checked { color: $ink; border-color: $accent; }
QPushButton[role="switch"]:focus { border: 2px solid $second; }

QPushButton[role="rail"] {
    background: transparent; border: none; border-left: 3px solid transparent; border-radius: 8px;
    border-top-left-radius: 0; border-bottom-left-radius: 0; padding: 0;
}
QPushButton[role="rail"]:hover { background: $raised; }
QPushButton[role="rail"]:checked { background: $raised; border-left-color: $accent; }
QPushButton[role="rail"]:focus { border: 2px solid $second; border-left: 3px solid $accent; padding: 0; }
QLabel[role="rail_word"] { color: $mute; }
QLabel[role="rail_word"][chosen="yes"] { color: $ink; font-weight: 600; }

QPushButton[role="device"] { background: $panel; border: 1px solid $line; border-radius: 12px; padding: 0; }
QPushButton[role="device"]:hover { border-color: $dim; }
QPushButton[role="device"]:pressed { background: $raised; }
QPushButton[role="device"]:checked { border: 2px solid $accent; }
QPushButton[role="device"]:focus { border: 2px solid $second; padding: 0; }
QPushButton[role="device"]:checked:focus { border: 2px solid $second; background: $raised; }

QPushButton[role="legend"] { background: transparent; border: 2px solid transparent; border-radius: 6px; padding: 0; }
QPushButton[role="legend"]:hover { background: $raised; }
QPushButton[role="legend"]:focus { border-color: $second; padding: 0; }

QMenu { background: $panel; border: 1px solid $line; padding: 6px; }
QMenu::item { padding: 7px 28px 7px 16px; border-radius: 6px; }
QMenu::item:selected { background: $raised; }
QMenu::item:disabled { color: $dim; }
QMenu::item:checked { color: $accent_text; font-weight: 600; }
QMenu::separator { height: 1px; background: $line; margin: 6px 4px; }

QScrollArea { border: none; background: transparent; }
QScrollBar:vertical { background: transparent; width: 12px; margin: 2px; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 2px; }
QScrollBar::handle { background: $line; border-radius: 4px; min-height: 32px; min-width: 32px; }
QScrollBar::handle:hover { background: $dim; }
QScrollBar::handle:disabled { background: transparent; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: $line; }
"""
