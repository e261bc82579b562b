"""The parts that every page is made of.  Looks come from the stylesheet alone; colours from `Theme.current().tokens`.

    Page             a page of the rail: class attributes `title` and `icon`, made with the Application object
    PageColumn       the scrolling column of a page (`column`), 20 px margins, 14 px between cards
    PageTitle        title, the line under it (`say`), controls to the right (`row.addWidget`)
    Card             a surface: `Card("Loss")` has a heading row (`heading.say("raw · smoothed")`) and a `column`
    rule             a 1 px line between two parts of a card
    steady_scroll_bar
                     a scroll bar that always takes its room, with a handle only when it is needed
    SectionTitle     a heading inside a card with a quiet remark (`say`)
    label            any other words, by role: text, label, body, heading, strong, title, figure, unit, badge, kernel
    set_tone         good, warn or bad for a label, badge, dot or progress bar; a word or a sign goes with it
    ElidedLabel      one line that elides itself (`set_words`, `words`); `middle=True` for paths
    FigureLabel      label, large number with tabular numerals, remark: `say("642", "of 1,000")`
    dot              8 px, with a tone
    PrimaryButton    the one main action of a page; PlainButton for the others; LinkButton inside a sentence
    IconButton       an icon of resources/icons with an accessible name
    LayoutButton     a button whose face is a layout (mode cards, device cards): `role="device"` is a card to choose
    Chip             name, value, chevron; `say(value)`, `setMenu(menu)`
    Segmented        a row of words, one chosen: `chosen(key)`, `value`, `set_value(key)`
    WholeNumber, Number, Choice, Line, Switch
                     fields: `changed`/`chosen` only when the user did it, never from `set_value`
    SearchField      words to search for, reached with Ctrl+F; `settled`, `words`
    FieldRow         name, help, control, and `complain(words)` for why a value is refused
    ProgressLine     `show_progress(done, total, words)`, `put_away()`, signal `cancelled`
    InlineMessage    `say(words, heading, kind)`, `add_button(words)`, `put_away()`; hidden until it says something
    ErrorCard        `show_failure(failure, action="Try again")`, `action_wanted`, `dismissed`, `put_away()`
    EmptyState       icon, heading, words, `add_button`
    FileDialog       asks for a file or, with `ask_for_folder`, a folder; starts in one that is there
    HeadedTable      the model of a flat table under fixed headings
    SortHeader       the header of a list that can be sorted; SortMenu sorts by key or menu as it does by mouse
    KeySplitter      a splitter whose handle Tab reaches and the arrows move
    tip, tip_words   tool tips: wrapped, escaped, with the keys
    keyboard_focus   buttons below a widget take the focus from the keyboard only

Where they are: surfaces, labels, buttons, fields, progress, messages, error_card, empty_state, file_dialog,
headed_table, sorting, key_splitter, tool_tips.

What paints itself listens to `Theme.current().restyled` (Tokens).  Whoever makes a window, a dialog or a menu gives it
the look with `Theme.current().dress` once everything is in it.  No part knows a controller.
"""

from app.window.parts.buttons import (
    Chip,
    IconButton,
    LayoutButton,
    LinkButton,
    PlainButton,
    PrimaryButton,
    Segmented,
    keyboard_focus,
)
from app.window.parts.empty_state import EmptyState
from app.window.parts.error_card import ErrorCard
from app.window.parts.fields import Choice, FieldRow, Line, Number, SearchField, Switch, WholeNumber
from app.window.parts.file_dialog import FileDialog
from app.window.parts.headed_table import HeadedTable
from app.window.parts.key_splitter import KeySplitter
from app.window.parts.labels import (
    NOTHING,
    ElidedLabel,
    FigureLabel,
    PageTitle,
    SectionTitle,
    dot,
    label,
    set_style,
    set_tone,
)
from app.window.parts.messages import InlineMessage
from app.window.parts.progress import ProgressLine
from app.window.parts.sorting import SortHeader, SortMenu
from app.window.parts.surfaces import GAP, Card, Page, PageColumn, rule, steady_scroll_bar
from app.window.parts.tool_tips import tip, tip_words

__all__ = [
    "GAP",
    "NOTHING",
    "Card",
    "Chip",
    "Choice",
    "ElidedLabel",
    "EmptyState",
    "ErrorCard",
    "FieldRow",
    "FigureLabel",
    "FileDialog",
    "HeadedTable",
    "IconButton",
    "InlineMessage",
    "KeySplitter",
    "LayoutButton",
    "Line",
    "LinkButton",
    "Number",
    "Page",
    "PageColumn",
    "PageTitle",
    "PlainButton",
    "PrimaryButton",
    "ProgressLine",
    "SearchField",
    "SectionTitle",
    "Segmented",
    "SortHeader",
    "SortMenu",
    "Switch",
    "WholeNumber",
    "dot",
    "keyboard_focus",
    "label",
    "rule",
    "set_style",
    "set_tone",
    "steady_scroll_bar",
    "tip",
    "tip_words",
]
