"""A suggestion as it comes and as it is used up: typed along, taken by words or lines, or whole.  No Qt."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

# Blanks in front belong to what follows them; then a word, or a run of signs, or (at a line's end) nothing more.
_WORD = re.compile(r"\s*(?:\w+|[^\w\s]+|$)")
_LINE = re.compile(r"\n?[^\n]*")


@dataclass(frozen=True)
class Ghost:
    """`text` is all that came so far, `taken` how much of it stands in the document already."""

    text: str = ""
    taken: int = 0
    whole: bool = False  # nothing more will come

    @property
    def rest(self) -> str:
        """What is still only suggested."""
        return self.text[self.taken :]

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left of it and nothing will come."""
        return self.whole and not self.rest

    def grown(self, piece: str) -> Ghost:
        """With some more text."""
        return replace(self, text=self.text + piece)

    def ended(self, text: str) -> Ghost:
        """With all of its text.  Pieces said the same before; an answer that says less than was taken adds nothing.

        Nor do blanks alone: nobody could see what Tab would take.
        """
        adds = len(text) >= self.taken and bool(text[self.taken :].strip())
        return replace(self, text=text if adds else self.text[: self.taken], whole=True)

    def typed(self, inserted: str) -> Ghost | None:
        """After the user has typed the same; None where it was something else."""
        if not inserted or not self.rest.startswith(inserted):
            return None
        return replace(self, taken=self.taken + len(inserted))

    def next_word(self) -> str:
        """The blanks and the word, or the run of signs, that come next."""
        return _WORD.match(self.rest).group()

    def next_line(self) -> str:
        """Up to the end of the line; from a line's end, the next line whole."""
        return _LINE.match(self.rest).group()
