"""Check weak convergence: compare simulation with theory, and give a verdict with error rates (docs/mathematics, "Verdicts")."""

from __future__ import annotations

from tracker.convergence.check import check_limit
from tracker.convergence.verdict import Distances, Observable, Order, Verdict

__all__ = ["Distances", "Observable", "Order", "Verdict", "check_limit"]
