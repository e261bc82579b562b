"""The byte-level alphabet of GPT-2: one printable character for each of the 256 bytes.

Vocabularies are written in it (a space is `Ġ`, a newline `Ċ`), so that a token may hold any bytes, also half a
character.
"""

from __future__ import annotations


def _alphabet() -> tuple[str, ...]:
    """Printable bytes stand for themselves; the others, in order, are the characters from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(others)) for byte in range(256))


CHARACTER_OF_BYTE = _alphabet()
BYTE_OF_CHARACTER = {character: byte for byte, character in enumerate(CHARACTER_OF_BYTE)}


def bytes_of_token(token: str) -> bytes:
    """What a vocabulary entry stands for.

    An entry outside the alphabet can only be an added token, and those are written as plain text.
    """
    try:
        return bytes(map(BYTE_OF_CHARACTER.__getitem__, token))
    except KeyError:
        return token.encode("utf-8", "surrogatepass")
