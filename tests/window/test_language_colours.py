"""The colours of languages: told apart, and to be seen on a card of both schemes."""

from __future__ import annotations

import pytest

from app.theme import DARK, LIGHT
from app.theme.language_colours import HUES, language_colour
from app.theme.tokens import contrast


@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=lambda tokens: tokens.name)
def test_every_language_has_a_colour_of_its_own_that_stands_out_from_a_card(tokens):
    colours = {name: language_colour(name, tokens) for name in HUES}
    assert len(set(colours.values())) == len(HUES)
    for name in (*HUES, "text", "fortran", "a language of tomorrow"):
        assert contrast(language_colour(name, tokens), tokens.panel) > 3
