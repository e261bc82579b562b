"""The one stylesheet, made from the tokens.  No widget sets a colour, a border or a font size of its own.

Widgets are told apart by a dynamic property: `role` for labels and buttons, `card` for surfaces, `tone` for what is
good, wrong or a caution.
"""

from __future__ import annotations

from dataclasses import asdict
from string import Template

from app.theme.fonts import BODY, CODE, FIGURE, INTERFACE, LABEL, TITLE
from app.theme.tokens import Tokens

_SHEET = Template("""
* { font-family: "$interface"; font-size: ${body}px; }
QWidget { color: $ink; }
QMainWindow, QDialog, #page, #page_view, #page_view > QWidget { background: $background; }
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
QLabel[role="badge"] {
    color: $mute; font-size: 11px; font-weight: 500; border: 1px solid $line; border-radius: 6px; padding: 1px 7px;
}
QLabel[tone="good"] { color: $accent_text; }
QLabel[tone="bad"] { color: $bad_text; }
QLabel[tone="warn"] { color: $warn_text; }
QLabel[role="badge"][tone="good"] { border-color: $accent; }
QLabel[role="badge"][tone="bad"] { border-color: $bad; }
QLabel[role="dot"] { background: $dim; border-radius: 4px; }
QLabel[role="dot"][tone="good"] { background: $accent; }
QLabel[role="dot"][tone="warn"] { background: $warn; }
QLabel[role="dot"][tone="bad"] { background: $bad; }

QFrame[card="plain"] { background: $panel; border: 1px solid $line; border-radius: 12px; }
QFrame[card="error"] { background: $panel; border: 1px solid $bad; border-radius: 12px; }

QPushButton, QToolButton {
    background: $raised; border: 1px solid $line; border-radius: 8px; padding: 7px 14px; font-weight: 500;
}
QPushButton:hover, QToolButton:hover { border-color: $dim; }
QPushButton:pressed, QToolButton:pressed { background: $pressed; }
QPushButton:focus, QToolButton:focus { border: 2px solid $second; padding: 6px 13px; }
QPushButton:disabled, QToolButton:disabled { color: $dim; }
QPushButton[role="primary"] { background: $accent; border-color: $accent; color: $on_accent; font-weight: 600; }
QPushButton[role="primary"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[role="primary"]:pressed { background: $accent; }
QPushButton[role="primary"]:focus { border: 2px solid $ink; }
QPushButton[role="primary"]:disabled { background: $raised; border: 1px solid $line; color: $dim; padding: 7px 14px; }
QToolButton[role="plain"] { background: transparent; border-color: transparent; padding: 6px; }
QToolButton[role="plain"]:hover { background: $raised; }
QToolButton[role="plain"]:focus { border: 2px solid $second; padding: 5px; }
QToolButton[role="fold"] { background: transparent; border-color: transparent; color: $mute; }
QToolButton[role="fold"] { padding: 3px 6px; margin-left: -6px; }
QToolButton[role="fold"]:hover { color: $ink; }
QToolButton[role="fold"]:focus { border: 2px solid $second; padding: 2px 5px; }
QToolButton::menu-indicator { image: none; }

QPushButton[role="chip"] { border-radius: 8px; padding: 0; text-align: left; }
QPushButton[role="chip"]:focus { padding: 0; }
QPushButton[role="chip"]::menu-indicator { image: none; width: 0; }

QPushButton[role="rail"] {
    background: transparent; border: none; border-left: 3px solid transparent; border-radius: 8px;
    padding: 9px 8px; text-align: left; color: $mute; font-weight: 400;
}
QPushButton[role="rail"]:hover { color: $ink; }
QPushButton[role="rail"]:checked { background: $raised; border-left-color: $accent; color: $ink; font-weight: 600; }
QPushButton[role="rail"]:focus { border: 2px solid $second; border-left: 3px solid $accent; padding: 7px 8px; }

QPushButton[role="device"] { background: $panel; border: 1px solid $line; border-radius: 12px; padding: 0; }
QPushButton[role="device"]:hover { border-color: $dim; }
QPushButton[role="device"]:pressed { background: $raised; }
QPushButton[role="device"]:checked { border: 2px solid $accent; }
QPushButton[role="device"]:focus { border: 2px solid $second; padding: 0; }
QPushButton[role="device"]:checked:focus { border: 2px solid $second; background: $raised; }

QProgressBar { background: $raised; border: none; border-radius: 4px; min-height: 8px; max-height: 8px; }
QProgressBar::chunk { background: $accent; border-radius: 4px; }
QProgressBar[tone="bad"]::chunk { background: $bad; }

QTableView { background: transparent; border: 2px solid transparent; border-radius: 8px; outline: none; }
QTableView:focus { border-color: $second; }
QHeaderView { background: transparent; border: none; }
QHeaderView::section {
    background: transparent; color: $mute; font-size: ${label}px; font-weight: 400;
    border: none; border-bottom: 1px solid $line; padding: 9px 10px;
}
QTableCornerButton::section { background: transparent; border: none; }

QPlainTextEdit {
    background: $background; border: 1px solid $line; border-radius: 8px; padding: 6px; color: $ink;
    font-family: "$code"; font-size: ${label}px; selection-background-color: $second; selection-color: $panel;
}
QPlainTextEdit:focus { border: 2px solid $second; padding: 5px; }

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
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
""")


def stylesheet(tokens: Tokens) -> str:
    """The sheet in the colours of `tokens`."""
    sizes = {"body": BODY, "label": LABEL, "title": TITLE, "figure": FIGURE}
    return _SHEET.substitute(asdict(tokens), interface=INTERFACE, code=CODE, **sizes)
