"""The stylesheet's second part: buttons, fields, progress bars, tables, trees and text."""

SHEET = """
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
