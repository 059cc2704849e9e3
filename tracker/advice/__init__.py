"""What theory, and a finished run, advise about a scenario: which step, which S, which beta, how far from what could be known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.lazy_names import lazy_names

if TYPE_CHECKING:
    from tracker.advice.answers import advise

__all__ = ["advise"]

__getattr__, __dir__ = lazy_names(__name__, {"answers": ["advise"]})
