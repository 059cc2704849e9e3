"""Measure the experiments, and keep what was found: reports/gallery/literature.json."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from studies.literature.constant_steps import EXPERIMENTS as CONSTANT_STEPS
from studies.literature.experiment import Curve, Effort, Experiment, Found, Point
from studies.literature.regression_laws import EXPERIMENTS as REGRESSIONS
from studies.literature.rivals import EXPERIMENTS as RIVALS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

EXPERIMENTS: dict[str, Experiment] = {one.key: one for one in (*CONSTANT_STEPS, *REGRESSIONS, *RIVALS)}


def measure(keys: list[str], effort: Effort, file: Path) -> None:
    """Run the experiments ``keys``, one after the other, and put what they find into ``file``."""
    for key in keys:
        begun = time.perf_counter()
        found = EXPERIMENTS[key].run(effort)
        have = read(file) if file.exists() else {}
        write({**have, key: found}, file)
        worst = max(abs(point.z) for point in found.points)
        spent = time.perf_counter() - begun
        print(f"{key:14} {len(found.points):2} points, at most {worst:.2f} standard errors from exact  {spent:6.1f} s", flush=True)  # fmt: skip


def write(found: Mapping[str, Found], file: Path) -> None:
    """Write what was found; ten digits."""
    data = {
        key: {
            "curves": [[one.line, _digits(one.x), _digits(one.y)] for one in found[key].curves],
            "points": [[point.line, *_digits(point[1:])] for point in found[key].points],
        }
        for key in EXPERIMENTS
        if key in found
    }
    lines = (f"{json.dumps(key)}: {json.dumps(entry, separators=(',', ':'), allow_nan=False)}" for key, entry in data.items())  # fmt: skip
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _digits(values: Any) -> list[float]:
    return [float(f"{float(value):.10g}") for value in np.asarray(values, dtype=float)]


def read(file: Path) -> dict[str, Found]:
    """Read the file."""
    data = json.loads(file.read_text(encoding="utf-8"))
    return {
        key: Found([Curve(*one) for one in entry["curves"]], [Point(*one) for one in entry["points"]])
        for key, entry in data.items()
    }
