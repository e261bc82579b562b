"""The look: tokens, one stylesheet made from them, the fonts, and the switch between dark and light.

tokens       colours by what they are for           theme   the scheme in use; restyles everything visible
stylesheet   the one sheet
fonts        from resources/fonts                   icons   SVG in a colour of the theme
plots        pens and brushes from the same tokens  language_colours   one for each programming language
"""

from app.theme.theme import Theme
from app.theme.tokens import DARK, LIGHT, Tokens

__all__ = ["DARK", "LIGHT", "Theme", "Tokens"]
