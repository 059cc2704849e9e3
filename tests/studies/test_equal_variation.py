"""The page on jumps and a walk of equal quadratic variation, in short."""

from __future__ import annotations

import re

import pytest
from worlds import shipped

from studies import equal_variation


def test_the_page_tells_jumps_from_a_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal best steps and errors of linear kinds; the filter ten times below; a restart that gains on jumps, and loses on the walk."""
    monkeypatch.setattr(equal_variation, "GRID", equal_variation.GRID[[0, 15, -1]])
    worlds = {name: shipped(file, ["trials=6", "steps=40_000"]) for name, file in equal_variation.WORLDS.items()}
    page = equal_variation.exhibit(worlds)
    assert "same best step within 1.2 %, and the same least error within 0.5 %" in page.caption
    assert "error on the jumps is 0.00205 (exact), 9.82 times below the best constant step's" in page.caption
    (_, high), (low, _) = ((float(a), float(b)) for a, b in re.findall(r"\[([0-9.]+), ([0-9.]+)\]", page.caption))
    assert high < 1.0
    assert low > 1.0
    assert page.table is not None
    assert [row[0] for row in page.table.rows] == ["langevin", "kinetic", "averaged", "langevin, run", "restart, run", "Bayes filter, run"]  # fmt: skip
