"""What theory, and a finished run, advise about a scenario: which step, which S, which beta, how far from what could be known."""

from __future__ import annotations

from tracker.advice.answers import advise

__all__ = ["advise"]
