"""Check what `tracker advise` says of every shipped scenario against a sweep of exact errors or a long run.

    python benchmarks/advice_check.py            # all scenarios, prints the table
    python benchmarks/advice_check.py --write    # and writes benchmarks/advice_check.txt
    python benchmarks/advice_check.py rain_seasons --write     # this scenario anew; the rows of the others stay

Each line is compared with something that advise does not use: a scan of steps, S or beta of `limits.stationary`, a simulation of the engine, or
a run. A line that is "not known" is counted, not checked. Trials needed: measured by a finished run, checked in tests/advice.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tracker
from tracker import limits

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "benchmarks" / "advice_check.txt"
LONGEST = 40_000  # steps of a trial
TRIALS = 40
FAR = 5.0  # standard errors
SETTLING, LONGEST_SETTLING = 2000, 200_000  # trials and steps of a mode that settles
CLOSE = 0.1  # of a rate that is read off a noise-free path: its steps are no flow, and it turns on its way


class Line(NamedTuple):
    """One answer, what it was compared with, and whether they agree."""

    scenario: str
    sampler: str
    key: str
    said: str
    found: str
    agrees: bool


def with_keys(scenario: tracker.Scenario, name: str, **changes: Any) -> tracker.Scenario:
    samplers = [
        keys.model_copy(update=changes) if keys.name == name else keys
        for keys in scenario.samplers
        if keys.name == name
    ]
    return scenario.replace(samplers=samplers, claims=None)


def error_at(scenario: tracker.Scenario, name: str, **changes: Any) -> float:
    """The exact stationary error with other keys; inf where it is not stable."""
    try:
        return float(limits.stationary(with_keys(scenario, name, **changes), name).mean_square_error)
    except limits.Unstable:
        return math.inf


def simulated(scenario: tracker.Scenario, name: str, **changes: Any) -> tuple[float, float]:
    """Mean square error of a long run, its start forgotten, and its standard error."""
    world = with_keys(scenario, name, **changes)
    steps = max(world.steps, LONGEST) if world.steps < LONGEST else LONGEST
    world = world.replace(trials=TRIALS, steps=steps, burn_in=steps // 2, record_every=steps)
    row = tracker.run(world).summary["samplers"][0]["mean_square_error"]
    return float(row["mean"]), float(row["stderr"])


def in_each_mode(scenario: tracker.Scenario, beta: float, epsilon: float) -> tuple[float, float]:
    """Mean square error of the classical sampler in modes that last, weighted as the chain does, and its standard error."""
    total, spread = 0.0, 0.0
    law = tracker.chain.stationary_law(np.array(scenario.chain.Q)) if scenario.chain is not None else np.ones(1)
    for n, mode in enumerate(scenario.modes):
        one = {"name": "x", "kind": "langevin", "epsilon": epsilon, "beta": beta if math.isfinite(beta) else "inf"}
        start = scenario.minimisers[n][0].tolist()
        alone = scenario.replace(chain=None, schedule=None, modes=[mode], samplers=[one], trials=TRIALS, steps=400_000, burn_in=100_000, record_every=400_000,
                                 start=start, baselines=[], claims=None, interventions=None)  # fmt: skip
        part = tracker.run(alone).summary["samplers"][0]["mean_square_error"]
        total, spread = total + law[n] * part["mean"], spread + (law[n] * part["stderr"]) ** 2
    return total, math.sqrt(spread)


def settling(scenario: tracker.Scenario, name: str, n: int, gap: float) -> tuple[float, float] | None:
    """The rate at which mode ``n``, were it to last, forgets its start, and how far off it may be; None where that takes too long a run.

    Quadratic costs: without noise theta - m falls like exp(-gap t), from (1, ..., 1). Others: from the minimum of another mode the mean of theta falls so.
    """
    epsilon = with_keys(scenario, name).samplers[0].epsilon
    quiet, own = scenario.quadratic, scenario.minimisers[n][0]
    start = own + 1.0 if quiet else scenario.minimisers[1 if n == 0 else 0][0]
    steps = round((8.0 if quiet else 2.3) / (gap * epsilon))
    if not 8 <= steps <= LONGEST_SETTLING:
        return None
    world = scenario.set("modes.*.gradient_noise", 0.0) if quiet else scenario
    alone = with_keys(world, name, **({"beta": math.inf} if quiet else {})).replace(
        chain=None, schedule=None, interventions=None, baselines=[], burn_in=0, modes=[world.modes[n]], start=start.tolist(),
        trials=1 if quiet else SETTLING, steps=steps, record_every=max(1, steps // 23))  # fmt: skip
    theta = tracker.run(alone).arrays["theta"][:, 0] - own
    apart = alone.record_every * epsilon
    if quiet:
        size = np.log(np.linalg.norm(theta[0], axis=1))[6:]
        return float(-np.polyfit(apart * np.arange(len(size)), size, 1)[0]), CLOSE * gap
    theta = theta[:, [3, 13, 23], np.argmax(np.abs(theta[0, 0]))]  # .3, 1.3 and 2.3 over the gap

    def rate(mean: np.ndarray) -> float:
        return float(-np.log(max((mean[1] - mean[2]) / (mean[0] - mean[1]), 1e-9)) / (10 * apart))

    rng = np.random.default_rng(0)
    drawn = [rate(theta[rng.integers(0, len(theta), len(theta))].mean(axis=0)) for _ in range(400)]
    return rate(theta.mean(axis=0)), FAR * float(np.std(drawn))


def check_relative(scenario: tracker.Scenario, name: str, said: float) -> tuple[str, bool] | None:
    """Compare alpha |q_ii|/(epsilon gap_i), the largest over modes, with rates that are seen in runs."""
    rates = np.abs(np.diag(np.array(scenario.chain.Q))) * scenario.chain.alpha
    epsilon = with_keys(scenario, name).samplers[0].epsilon
    gaps = [limits.spectrum(scenario, name, 2, mode.name).gap for mode in scenario.modes]
    n = int(np.argmax(rates / gaps))  # the mode that decides
    found = settling(scenario, name, n, gaps[n])
    if found is None:
        return None
    seen = f"runs forget their start at {found[0]:.4g} ± {found[1]:.1g} a unit of time, gap {gaps[n]:.4g}"
    own = said == max(rates / gaps) / epsilon
    return seen, own and abs(found[0] - gaps[n]) < found[1]


def check_ladder(scenario: tracker.Scenario, ladder: list[dict[str, Any]], short: str) -> list[Line]:
    """The best filter against the baseline ``filter`` of a run; the best linear one lies between it and the best constant step at beta = inf."""
    said = {row["rung"]: row["mean_square_error"]["mean"] for row in ladder}
    if "best filter" not in said:
        return []
    steps = max(200_000, round(40 / scenario.chain.alpha))
    world = scenario.replace(trials=TRIALS, steps=steps, burn_in=steps // 10, record_every=steps, baselines=["filter"], claims=None, interventions=None,
                             samplers=[{"name": "x", "kind": "langevin", "epsilon": with_keys(scenario, ladder[0]["sampler"]).samplers[0].epsilon}])  # fmt: skip
    found = next(row for row in tracker.run(world).summary["samplers"] if row["name"] == "filter")["mean_square_error"]
    seen, best = f"run {found['mean']:.4g} ± {found['stderr']:.1g}", said["best filter"]
    lines = [Line(short, "", "best filter", f"{best:.6g}", seen, abs(found["mean"] - best) < FAR * found["stderr"])]
    if (linear := said.get("best linear filter")) is not None:
        top = said.get("best step", math.inf)
        seen = (
            f"not below {best:.4g}, best filter"
            if math.isinf(top)
            else f"between {best:.4g}, best filter, and {top:.4g}, best step"
        )
        lines.append(Line(short, "", "best linear filter", f"{linear:.6g}", seen, best <= linear <= top))
    return lines


def check(scenario: tracker.Scenario, row: dict[str, Any], short: str) -> list[Line]:
    name = row["name"]
    quadratic = scenario.quadratic and scenario.chain is not None
    found: list[Line] = []

    def add(key: str, said: Any, seen: str, agrees: bool) -> None:
        found.append(
            Line(short, name, key, f"{said:.6g}" if isinstance(said, float) else str(said), seen, bool(agrees))
        )

    value = {key: answer["value"] for key, answer in row.items() if key != "name" and answer["value"] is not None}
    if quadratic and row["stable_below"]["basis"] == "exact" and value["stable_below"] > 0.0:
        edge = value["stable_below"]
        inside, outside = (error_at(scenario, name, epsilon=f * edge) for f in (0.99, 1.01))
        add("stable_below", edge, "stable at 0.99, not at 1.01 times it", math.isfinite(inside) and math.isinf(outside))
    elif "stable_below" in value:
        edge = value["stable_below"]
        world = with_keys(scenario, name, epsilon=1.3 * edge, beta=1e12)
        modes = [n for n, mode in enumerate(scenario.modes)]
        jumps = 0
        for n in modes[:3]:
            # far above the limit a point next to the minimum leaves it, even without temperature
            alone = world.replace(chain=None, schedule=None, modes=[scenario.modes[n]], trials=4, steps=4000, record_every=4000, burn_in=0, interventions=None,
                                  start=(scenario.minimisers[n][0] + 1e-6).tolist(), baselines=[])  # fmt: skip
            run = tracker.run(alone)
            jumps += bool(
                run.summary["samplers"][0]["diverged"] or run.summary["samplers"][0]["mean_square_error"]["mean"] > 1e-9
            )
        add("stable_below", edge, f"above it {jumps} of {len(modes[:3])} modes are left", jumps >= 1)
    if "switched_stable" in value:
        add("switched_stable", value["switched_stable"], "finite stationary error" if math.isfinite(error_at(scenario, name)) else "no stationary law",
            value["switched_stable"] == math.isfinite(error_at(scenario, name)))  # fmt: skip
    if "relative" in value and (seen := check_relative(scenario, name, value["relative"])) is not None:
        add("relative", value["relative"], *seen)
    if "best_epsilon" in value:
        scan = np.geomspace(
            value["best_epsilon"] / 30, min(value["best_epsilon"] * 30, 0.999 * value["stable_below"]), 60
        )
        least = min(error_at(scenario, name, epsilon=float(e)) for e in scan)
        add(
            "best_error",
            value["best_error"],
            f"{least:.6g} is the least of 60 steps",
            value["best_error"] <= least * (1 + 1e-9),
        )
        mean, stderr = simulated(scenario, name, epsilon=value["best_epsilon"])
        add(
            "best_error",
            value["best_error"],
            f"run {mean:.4g} ± {stderr:.1g}",
            abs(mean - value["best_error"]) < FAR * stderr,
        )
    if "error" in value and row["error"]["basis"] == "exact":
        mean, stderr = simulated(scenario, name)
        add("error", value["error"], f"run {mean:.4g} ± {stderr:.1g}", abs(mean - value["error"]) < FAR * stderr)
    if quadratic and "beta_enough" in value:
        beta = value["beta_enough"]
        hot, cold = error_at(scenario, name, beta=beta), error_at(scenario, name, beta=math.inf)
        floor = float(limits.gibbs_error(with_keys(scenario, name, beta=beta), name).mean_square_error)
        add(
            "beta_enough",
            beta,
            f"temperature {floor:.4g} of {hot:.4g}, {cold:.4g} at inf",
            abs(floor / (hot - floor) - 0.1) < 1e-6,
        )
    if quadratic and value.get("skew_helps") is not None and scenario.dimension == 2:
        base = {
            "name": "x",
            "kind": "accelerated",
            "epsilon": with_keys(scenario, name).samplers[0].epsilon,
            "beta": with_keys(scenario, name).samplers[0].beta,
        }
        errors = {}
        for s in np.linspace(-3, 3, 121):
            world = scenario.replace(samplers=[{**base, "skew": float(s)}], claims=None)
            try:
                errors[float(s)] = float(limits.stationary(world, "x").mean_square_error)
            except limits.Unstable:
                errors[float(s)] = math.inf
        s = min(errors, key=lambda at: errors[at])
        helps = errors[s] < (1 - 1e-3) * errors[min(errors, key=abs)]
        own = value["skew"][1][0]
        near = (
            abs(own - s) < 0.06 or abs(errors[s] - errors[min(errors, key=lambda at: abs(at - own))]) < 1e-3 * errors[s]
        )
        add(
            "skew_helps",
            value["skew_helps"],
            f"least of 121 S at s = {s:.2f}, advised {own:.3f}",
            helps == value["skew_helps"] and near,
        )
    elif value.get("skew_helps") and scenario.dimension == 2 and not quadratic:
        keys = with_keys(scenario, name).samplers[0]
        epsilon = keys.epsilon
        runs = {}
        for s in (0.0, 2.0):
            one = {
                "name": "x",
                "kind": "accelerated",
                "epsilon": epsilon,
                "beta": keys.beta if math.isfinite(keys.beta) else "inf",
                "skew": s,
            }
            world = scenario.replace(
                samplers=[one], claims=None, trials=TRIALS, steps=300_000, burn_in=0, record_every=300_000, baselines=[]
            )
            row_ = tracker.run(world).summary["samplers"][0]
            # what one world has to gain is time averages that vary less: their law is the same
            runs[s] = row_["recovery"]["mean"] if scenario.chain is not None else row_["mean_square_error"]["stderr"]
        if runs[0.0] is not None and runs[2.0] is not None:
            what = "mean wait" if scenario.chain is not None else "time averages spread by"
            add(
                "skew_helps",
                True,
                f"{what} {runs[0.0]:.4g} with s = 0, {runs[2.0]:.4g} with s = 2",
                runs[2.0] < runs[0.0],
            )
    if "floor" in value and not quadratic:
        # one mode that lasts, sampled with a small step: its mean square error is the floor
        keys = with_keys(scenario, name).samplers[0]
        small = min(keys.epsilon, 0.05 * value.get("stable_below", keys.epsilon * 20))
        total, stderr = in_each_mode(scenario, keys.beta, small)
        agrees, seen = (
            abs(total - value["floor"]) <= FAR * stderr + 0.05 * value["floor"],
            f"runs {total:.4g} ± {stderr:.1g}",
        )
        if (
            not agrees
        ):  # what the step and gradient noise add falls like the step: two more, and the limit of a parabola
            half, quarter = (in_each_mode(scenario, keys.beta, small / f) for f in (2, 4))
            limit = (8 * quarter[0] - 6 * half[0] + total) / 3
            stderr = math.hypot(8 * quarter[1], 6 * half[1], stderr) / 3
            agrees = abs(limit - value["floor"]) <= FAR * stderr
            seen = f"runs {total:.4g}, {half[0]:.4g}, {quarter[0]:.4g} at e, e/2, e/4: limit {limit:.4g} ± {stderr:.1g}"
        add("floor", value["floor"], seen, agrees)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    wishes = parser.parse_args()
    lines: list[Line] = []
    known: dict[str, int] = {}
    for path in sorted((ROOT / "scenarios").glob("*.toml")):
        if wishes.names and path.stem not in wishes.names:
            continue
        scenario = tracker.load(path)
        scenario = scenario.replace(sweep=None) if scenario.sweep else scenario
        advice, seen = tracker.advise(scenario), set()
        lines += check_ladder(scenario, advice["ladder"], path.stem)
        for row in advice["samplers"]:
            for answer in (v for k, v in row.items() if k != "name"):
                known[answer["basis"]] = known.get(answer["basis"], 0) + 1
            alike = repr({k: v for k, v in row.items() if k != "name"})
            if alike not in seen:  # samplers of equal answers are checked once
                seen.add(alike)
                lines += check(scenario, row, path.stem)
                print(
                    *(line for line in lines if line.sampler == row["name"] and line.scenario == path.stem),
                    sep="\n",
                    flush=True,
                )
    rows = [
        f"{'ok ' if line.agrees else 'NO '} {line.scenario:22} {line.sampler:20} {line.key:16} {line.said:24} {line.found}"
        for line in lines
    ]
    print(f"answers by basis: {known}", *rows, sep="\n")
    if wishes.write:
        kept = [row for row in TABLE.read_text(encoding="utf-8").splitlines() if row[:4] in {"ok  ", "NO  "} and wishes.names and row.split()[1] not in wishes.names]  # fmt: skip
        rows = sorted(kept + rows, key=lambda row: row.split()[1])  # stable: samplers keep their order
        head = ["answers of tracker advise on all shipped scenarios, samplers of equal answers once; python benchmarks/advice_check.py --write",
                f"checked: {len(rows)}, agree: {sum(row.startswith('ok') for row in rows)}", ""]  # fmt: skip
        TABLE.write_text("\n".join(head + rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
