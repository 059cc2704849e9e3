"""How far from the best S each of Algorithms 1-3 ends, and in which regime they learn at all.

    python -m studies.learned_skew           # run, and write reports/gallery/learned_skew.json and learned_skew.md
    python -m studies.learned_skew page      # write the page from the numbers

One world in which S is worth something when the chain keeps pace with the sampler: minima (0, 1) and (0, -1), curvatures 8 and 1.
The best S is exact, ``limits.best_skew``. Each algorithm has a twin whose ``skew_step`` has the other sign: an S that is learned ends
nearer to the best one than at the start, and nearer than the twin's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tracker
from studies import markdown
from tracker import limits
from tracker.array_types import Array
from tracker.formatting import number
from tracker.metrics.paired import difference
from tracker.reports.exhibit import Section, Shown, Table

GALLERY = Path(__file__).parents[1] / "reports" / "gallery"
NUMBERS = GALLERY / "learned_skew.json"
EPSILON, BETA, START = 0.02, 4.0, 0.5
REGIMES = {"slow": 0.01, "matched": 0.5, "fast": 10.0}  # alpha / epsilon
TRIALS, STEPS = 20, 25_000
TITLE = "Do Algorithms 1-3 find the best S?"
SUBTITLE = (
    f"minima (0, ±1), curvatures 8 and 1 in both modes, rate 1, beta = {BETA:g}, epsilon = {EPSILON:g}; S starts at {START:g} "
    "and is held within ±6"
)
ALGORITHMS: dict[str, dict[str, Any]] = {
    "Algorithm 1": {"kind": "hessian", "skew_step": 2e-3},
    "Algorithm 2, as printed": {"kind": "spsa", "skew_step": 2e-3},
    "Algorithm 2, Delta held 100 steps": {"kind": "spsa", "hold": 100, "skew_step": 2e-3},
    "Algorithm 3, 50 inner steps": {"kind": "two-timescale-spsa", "inner_steps": 50, "skew_step": 1e-4},
}
TWIN = "-twin"


def world(regime: str, *samplers: dict[str, Any]) -> tracker.Scenario:
    """Return the world; without ``samplers`` one with a constant S."""
    constant = {"name": "constant", "kind": "accelerated", "skew": START}
    common = {"epsilon": EPSILON, "beta": BETA}
    data = {
        "name": "learned-skew", "seed": 1, "trials": TRIALS, "steps": STEPS, "burn_in": STEPS // 2, "record_every": STEPS, "start": [0.0, 0.0], "baselines": [],
        "chain": {"alpha": REGIMES[regime] * EPSILON, "Q": [[-1.0, 1.0], [1.0, -1.0]]},
        "modes": [{"name": name, "cost": "quadratic", "minimum": [0.0, m], "curvature": [8.0, 1.0]} for name, m in (("up", 1.0), ("down", -1.0))],
        "samplers": [{**common, **keys} for keys in samplers or (constant,)],
    }  # fmt: skip
    return tracker.parse(data)


def learners() -> list[dict[str, Any]]:
    """Return the algorithms, each followed by its twin."""
    found = []
    for n, keys in enumerate(ALGORITHMS.values()):
        one = {"name": f"a{n}", "skew": START, "skew_bounds": [-6.0, 6.0], **keys}
        found += [one, {**one, "name": f"a{n}{TWIN}", "skew_step": -keys["skew_step"]}]
    return found


def measure(regime: str, **shorter: Any) -> dict[str, Any]:
    """Run the algorithms in a regime, and return S(2,1) at the end by trial and the errors, beside the exact numbers."""
    best = limits.best_skew(world(regime), "constant")
    run = tracker.run(world(regime, *learners()).replace(**shorter))
    rows = run.summary["samplers"]
    return {
        "best": abs(float(best.skew[1, 0])), "value": best.value, "without": best.without,
        "ends": {row["name"]: np.round(run.arrays["skew"][:, k, -1, 0], 5).tolist() for k, row in enumerate(rows)},
        "errors": {row["name"]: [row["mean_square_error"][key] for key in ("mean", "stderr")] for row in rows},
    }  # fmt: skip


def away(found: dict[str, Any], name: str) -> Array:
    """Return the distance of S from the nearer of the two best ones, +s and -s, by trial."""
    return np.abs(np.abs(np.array(found["ends"][name])) - found["best"])


def learned(found: dict[str, Any], n: int) -> str:
    """Judge algorithm ``n``: both 95 % intervals, against the start and against the twin, must exclude 0."""
    own, twin = away(found, f"a{n}"), away(found, f"a{n}{TWIN}")
    begun = np.full(own.size, abs(START - found["best"]))
    since, other = difference(own, begun), difference(own, twin)
    if since.low > 0.0:
        return "no: it leaves the best S"
    if since.high < 0.0 and other.high < 0.0:
        return "yes" if found["best"] > 0.0 else "it goes to 0"
    return "no"


def table(numbers: dict[str, Any]) -> Table:
    """Return a row for each regime and algorithm."""
    columns = ("α/ε", "best S(2,1), ±", "error with it", "error with S = 0", "algorithm", "S(2,1) at the end", "distance from the best S (at the start)",
               "distance − that of the twin [95 %]", "error", "learns?")  # fmt: skip
    rows = []
    for regime, found in numbers.items():
        for n, name in enumerate(ALGORITHMS):
            ends, far = np.array(found["ends"][f"a{n}"]), away(found, f"a{n}")
            twin = difference(far, away(found, f"a{n}{TWIN}"))
            error, stderr = found["errors"][f"a{n}"]
            rows.append((
                f"{REGIMES[regime]:g} ({regime})", number(found["best"]), number(found["value"], 4), number(found["without"], 4), name, _mean(ends),
                f"{_mean(far)} ({number(abs(START - found['best']))})", f"{number(twin.estimate)} [{number(twin.low)}, {number(twin.high)}]",
                f"{number(error, 4)} ± {number(stderr, 2)}", learned(found, n),
            ))  # fmt: skip
    return Table(columns, tuple(rows))


def _mean(values: Array) -> str:
    return f"{number(values.mean())} ± {number(values.std(ddof=1) / np.sqrt(values.size), 2)}"


def sections(numbers: dict[str, Any]) -> list[Section]:
    """Return the page."""
    slow, matched, fast = (numbers[regime] for regime in ("slow", "matched", "fast"))
    worth = [1.0 - found["value"] / found["without"] for found in (slow, matched, fast)]
    text = (
        (
            "Does any S help? No. At the sampler's own step the best S lowers the exact error by "
            f"{worth[0]:.1%} where the chain is slow, by {worth[1]:.0%} where it keeps pace, and by nothing where it is fast: there S = 0 is best, and "
            f"a constant S(2,1) = 2 would cost {limits.stationary(world('fast').set('samplers.constant.skew', 2.0), 'constant').mean_square_error / fast['without'] - 1:.0%}. "
            "Where curvatures differ S can even make the switched system unstable, though each mode is stable (scenarios/skew_instability.toml)."
        ),
        (
            "The algorithms descend the mean cost E C, which is not the tracking error, and know nothing of the stationary law beyond it. S that is learned must end nearer to the best "
            "one than it began, and nearer than that of the twin with the other sign, both with 95 % intervals over paired trials. Where the chain is fast the best S is 0, which is also where "
            "discretisation drives S in a world that stands still (without gradient noise, as here): to end there is no sign of learning about the switching. Algorithm 3 sees only what happens within its inner loop, in which the mode "
            "stands still, so it descends the transient towards one minimum also where the chain has long moved on."
        ),
        f"{TRIALS} trials of {STEPS:,} steps, errors over the second half. Made by python -m studies.learned_skew.",
    )
    shown = Shown(
        "Exact numbers (best S, errors with it and without) beside measured ones (mean ± standard error).",
        table(numbers),
    )
    return [Section("", text, (shown,))]


def write_page() -> None:
    """Write the Markdown page from the numbers."""
    text = markdown.render(TITLE, SUBTITLE, sections(json.loads(NUMBERS.read_text())), None, "")
    (GALLERY / "learned_skew.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["page"]:
        found = {regime: measure(regime) for regime in REGIMES}
        NUMBERS.write_text(json.dumps(found, separators=(",", ":")).replace('},"', '},\n"') + "\n", encoding="utf-8")
    write_page()
