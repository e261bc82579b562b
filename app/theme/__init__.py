"""The look: tokens, one stylesheet made from them, the fonts, and the switch between dark and light."""

from app.theme.theme import Theme
from app.theme.tokens import DARK, LIGHT, Tokens

__all__ = ["DARK", "LIGHT", "Theme", "Tokens"]
