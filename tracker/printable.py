"""Make text from outside safe for a terminal: one line, no control characters."""

from __future__ import annotations

LONGEST_LINE = 4000


def printable(text: str, longest: int = LONGEST_LINE) -> str:
    """Return ``text`` as one line of at most ``longest`` characters, a space for each that is not printable."""
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return clean if len(clean) <= longest else clean[:longest] + "..."
