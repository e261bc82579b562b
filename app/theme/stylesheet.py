"""The one stylesheet, made from the tokens.  No widget sets a colour, a border or a font size of its own.

What holds for every widget (the font, the colour of text) is in the application's font and palette: a rule for it would
be applied and inherited once for each widget.

Rules match dynamic properties: `role` for labels and buttons, `card` for surfaces, `tone` for good, bad or a caution,
`state` for a field whose value is refused.
"""

from __future__ import annotations

import functools
from dataclasses import asdict
from string import Template

from app.theme.fonts import BODY, CODE, FIGURE, INTERFACE, LABEL, TITLE
from app.theme.tokens import Tokens

# Buttons, fields, progress bars, tables, trees and text.
CONTROLS = """
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
QPushButton[role="link"] {
    background: transparent; border: 2px solid transparent; border-radius: 6px; color: $second_text; padding: 1px 3px;
    text-decoration: underline; text-align: left;
}
QPushButton[role="link"]:hover { color: $ink; }
#footer QPushButton[role="link"] {
    color: $ink; font-size: ${label}px; font-weight: 500; text-decoration: none; padding: 1px 0;
}
#footer QPushButton[role="link"]:hover { text-decoration: underline; }
QPushButton[role="link"]:focus { border-color: $second; padding: 1px 3px; }
QPushButton[role="link"]::menu-indicator { image: none; width: 0; }
QPushButton[role="link"]:disabled { color: $dim; }
QToolButton[role="plain"] { background: transparent; border-color: transparent; padding: 6px; }
QToolButton[role="plain"]:hover { background: $raised; }
QToolButton[role="plain"]:focus { border: 2px solid $second; padding: 5px; }
QToolButton[role="fold"] { background: transparent; border-color: transparent; color: $mute; }
QToolButton[role="fold"] { padding: 3px 6px; margin-left: -6px; }
QToolButton[role="fold"]:hover { color: $ink; }
QToolButton[role="fold"]:focus { border: 2px solid $second; padding: 2px 5px; }
QToolButton::menu-indicator { image: none; }

QFrame[role="segmented"] { background: $raised; border: 1px solid $line; border-radius: 8px; }
QPushButton[role="segment"] {
    background: transparent; border: 1px solid transparent; border-radius: 6px; padding: 4px 11px; color: $mute;
}
QPushButton[role="segment"]:hover { color: $ink; }
QPushButton[role="segment"]:checked { background: $panel; border-color: $line; color: $ink; font-weight: 600; }
QPushButton[role="segment"]:focus { border: 2px solid $second; padding: 3px 10px; }
QPushButton[role="segment"]:disabled { color: $dim; }

QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox {
    background: $background; border: 1px solid $line; border-radius: 8px; padding: 6px 10px; color: $ink;
    min-height: 18px; selection-background-color: $second; selection-color: $panel;
}
QLineEdit:hover, QSpinBox:hover, QDoubleSpinBox:hover, QComboBox:hover { border-color: $dim; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus { border: 2px solid $second; padding: 5px 9px; }
QLineEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QComboBox:disabled { color: $dim; }
QLineEdit[state="wrong"], QSpinBox[state="wrong"], QDoubleSpinBox[state="wrong"], QComboBox[state="wrong"] {
    border: 2px solid $bad; padding: 5px 9px;
}
QLineEdit[role="search"] { padding-left: 3px; }
QLineEdit[role="search"]:focus { padding-left: 2px; }
QAbstractSpinBox QLineEdit, QAbstractSpinBox QLineEdit:focus {
    background: transparent; border: none; border-radius: 0; padding: 0; min-height: 0;
}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { width: 1px; border: none; }
QComboBox { background: $raised; padding-right: 26px; combobox-popup: 0; }
QComboBox:focus { padding-right: 25px; }
QComboBox::drop-down { border: none; width: 0; }
QComboBox QAbstractItemView {
    background: $panel; border: 1px solid $line; padding: 4px; outline: none;
    selection-background-color: $raised; selection-color: $ink;
}
QComboBox QAbstractItemView:focus { border-color: $line; }
QComboBox QAbstractItemView::item { min-height: 28px; padding: 0 8px; border-radius: 6px; }
QComboBox QAbstractItemView::item:selected { background: $raised; color: $ink; }

QSlider:horizontal { min-height: 22px; }
QSlider::groove:horizontal { background: $raised; border: 1px solid $line; height: 4px; border-radius: 3px; }
QSlider::sub-page:horizontal { background: $accent; border-radius: 3px; }
QSlider::handle:horizontal {
    background: $panel; border: 2px solid $accent; width: 12px; height: 12px; margin: -6px 0; border-radius: 8px;
}
QSlider::handle:horizontal:focus { border-color: $second; background: $second; }
QSlider:disabled { color: $dim; }
QSlider::sub-page:horizontal:disabled { background: $dim; }
QSlider::handle:horizontal:disabled { border-color: $dim; }

QProgressBar { background: $raised; border: none; border-radius: 4px; min-height: 8px; max-height: 8px; }
QProgressBar::chunk { background: $accent; border-radius: 4px; }
QProgressBar[tone="bad"]::chunk { background: $bad; }
QProgressBar[tone="warn"]::chunk { background: $warn; }

QTableView, QTreeView, QListView {
    background: transparent; border: 1px solid transparent; border-radius: 8px; outline: none;
    selection-background-color: $raised; selection-color: $ink;
}
QTableView:focus, QTreeView:focus, QListView:focus { border-color: $second; }
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
QPlainTextEdit[role="note"] { font-family: "$interface"; font-size: ${body}px; padding: 4px 6px; }
QPlainTextEdit[role="note"]:focus { padding: 3px 5px; }
QTextBrowser { background: transparent; border: none; selection-background-color: $second; selection-color: $panel; }
QPlainTextEdit[role="editor"] {
    background: $panel; border: none; border-radius: 0; padding: 6px 0; font-size: ${body}px;
}
QPlainTextEdit[role="editor"]:focus { border: none; padding: 6px 0; }
QPlainTextEdit[role="suggestion"] { padding: 3px; }
QPlainTextEdit[role="suggestion"]:focus { padding: 2px; }
"""

# The window's frame, labels by role, cards, the rail, chips, menus and scroll bars.
FRAME = """
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

_SHEET = Template(CONTROLS + FRAME)  # in this order: chips and rail refine what buttons are


@functools.cache
def stylesheet(tokens: Tokens) -> str:
    """The sheet in the colours of `tokens`."""
    sizes = {"body": BODY, "label": LABEL, "title": TITLE, "figure": FIGURE}
    return _SHEET.substitute(asdict(tokens), interface=INTERFACE, code=CODE, **sizes)
