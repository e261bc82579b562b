"""Ghost text as it arrives and as it is used up: typed along, or accepted by word, by line or whole.  No Qt."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

# Leading whitespace belongs to what follows: a word, a run of punctuation or, at the end of a line, nothing.
_WORD = re.compile(r"\s*(?:\w+|[^\w\s]+|$)")
_LINE = re.compile(r"\n?[^\n]*")


@dataclass(frozen=True)
class Ghost:
    """`text` is everything received so far, `taken` how much of it is in the document already."""

    text: str = ""
    taken: int = 0
    whole: bool = False  # no more text will arrive

    @property
    def rest(self) -> str:
        """The part that is not in the document yet."""
        return self.text[self.taken :]

    @property
    def is_spent(self) -> bool:
        """Whether all of it is in the document and no more will arrive."""
        return self.whole and not self.rest

    def grown(self, piece: str) -> Ghost:
        return replace(self, text=self.text + piece)

    def ended(self, text: str) -> Ghost:
        """With its complete text.  An answer shorter than what was taken adds nothing.

        Nor does whitespace alone: one could not see what Tab would accept.
        """
        adds = len(text) >= self.taken and bool(text[self.taken :].strip())
        return replace(self, text=text if adds else self.text[: self.taken], whole=True)

    def typed(self, inserted: str) -> Ghost | None:
        """After the user typed `inserted`; None if that is not what the ghost text says."""
        if not inserted or not self.rest.startswith(inserted):
            return None
        return replace(self, taken=self.taken + len(inserted))

    def next_word(self) -> str:
        """The next word or run of punctuation, with the whitespace before it."""
        return _WORD.match(self.rest).group()

    def next_line(self) -> str:
        """The rest of the line; at the end of a line, the whole next one."""
        return _LINE.match(self.rest).group()
