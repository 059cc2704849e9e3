"""Exclude statistics of rare events from the tests: with few events a mean is not nearly normal. They are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tracker.convergence.extrapolation import RARE

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.convergence.exact_values import Exact
    from tracker.convergence.statistics import Statistic


def set_aside(exact: Exact, trials: int) -> tuple[Exact, list[str]]:
    """Return the values with rare statistics moved behind the tested ones, and a note for each rare mode."""
    panel = exact.panel
    laws = [exact.limit] if exact.algorithm is None else [exact.limit, *exact.algorithm]
    rare = np.array([any(_is_rare(exact, s, law, trials) for law in laws) for s in panel.tested], dtype=bool)
    if not rare.any() or rare.all():
        return exact, []
    old = np.arange(len(panel.all))
    tested = len(panel.tested)
    where = np.concatenate([old[:tested][~rare], old[:tested][rare], old[tested:]])
    kept = tuple(s for s, r in zip(panel.tested, rare, strict=True) if not r)
    aside = tuple(s for s, r in zip(panel.tested, rare, strict=True) if r)
    moved = replace(
        exact,
        panel=replace(panel, tested=kept, shown=aside + panel.shown),
        limit=exact.limit[where],
        algorithm=None if exact.algorithm is None else exact.algorithm[:, where],
        largest=None if exact.largest is None else exact.largest[where],
    )
    names = ", ".join(panel.names[j] for j in np.flatnonzero(rare)[:4]) + (", ..." if rare.sum() > 4 else "")
    note = (
        f"{int(rare.sum())} statistics of events with fewer than {RARE:g} expected in {trials} trials are not tested "
        f"({names}): more trials would test them"
    )
    return moved, [note]


def _is_rare(exact: Exact, s: Statistic, law: Array, trials: int) -> bool:
    if s.mode is None:
        return False
    probabilities = {each.mode: law[j] for j, each in enumerate(exact.panel.tested) if each.kind == "probability"}
    X = len(exact.panel.modes)
    if X == 1:
        return False
    p = probabilities.get(s.mode, 1.0 - sum(probabilities.values()))
    if s.kind == "stay":
        p = law[exact.panel.tested.index(s)]
    lots = min(p, 1.0 - p) if s.kind in ("probability", "stay") else p
    return bool(trials * lots < RARE)
