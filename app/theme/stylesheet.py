"""The one stylesheet, made from the tokens.  No widget sets a colour, a border or a font size of its own.

What holds for every widget (the font, the colour of words) is the application's font and palette: as a rule it would be
set, and handed down, once for each widget.

Widgets are told apart by a dynamic property: `role` for labels and buttons, `card` for surfaces, `tone` for what is
good, wrong or a caution, `state` for a field whose value cannot be taken.
"""

from __future__ import annotations

import functools
from dataclasses import asdict
from string import Template

from app.theme import sheet_controls, sheet_frame
from app.theme.fonts import BODY, CODE, FIGURE, INTERFACE, LABEL, TITLE
from app.theme.tokens import Tokens

_SHEET = Template(sheet_controls.SHEET + sheet_frame.SHEET)  # chips and rail refine what buttons are


@functools.cache
def stylesheet(tokens: Tokens) -> str:
    """The sheet in the colours of `tokens`."""
    sizes = {"body": BODY, "label": LABEL, "title": TITLE, "figure": FIGURE}
    return _SHEET.substitute(asdict(tokens), interface=INTERFACE, code=CODE, **sizes)
