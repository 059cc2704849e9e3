"""The claims of the scenarios, one function each: from finished runs and exact references to lines of the table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tracker
from studies.claims import measure
from studies.claims.measure import Claim, Measured, carried_out
from tracker import limits
from tracker.metrics import paired


def below(found: Measured, one: str, other: str) -> Claim:
    """The re-acquisition of ``one`` is faster than that of ``other``."""
    r = found.reacquisition(one, other)
    return Claim(f"re-acquisition: {one} / {other} below 1", shown(r), r.high < 1.0)


def reported(found: Measured, one: str, other: str) -> Claim:
    """The same ratio, without a claim on it."""
    return Claim(f"re-acquisition: {one} / {other}", shown(found.reacquisition(one, other)), None)


def shown(p: paired.Paired, digits: int = 2) -> str:
    return f"{p.estimate:.{digits}f} [{p.low:.{digits}f}, {p.high:.{digits}f}]"


def swapping_wells() -> list[Claim]:
    """The gain of Algorithm 1 over a random constant S is small: the 20 trials of the file cannot tell it, 100 can."""
    few, found = carried_out("swapping_wells"), carried_out("swapping_wells", "trials=100")
    rows = [below(few, "accelerated", "classical"), reported(few, "algorithm-1", "accelerated")]
    many = [below(found, "accelerated", "classical"), below(found, "algorithm-1", "accelerated")]
    many += [reported(found, one, "algorithm-1") for one in ("algorithm-2", "wandering", "fixed-3")]
    rows += [row._replace(claim=f"100 trials: {row.claim}") for row in many]
    return [*rows, *found.right_place()]


def four_wells() -> list[Claim]:
    found = carried_out("four_wells")
    rows = [below(found, "accelerated", "classical"), below(found, "algorithm-1", "accelerated")]
    rows += [below(found, "algorithm-2", "accelerated"), reported(found, "wandering", "accelerated")]
    return [*rows, reported(found, "tempered", "classical"), sigma(found), *found.right_place()]


def sigma(found: Measured) -> Claim:
    late = found.sigma()
    low = found.bounds[0]
    return Claim("tempered: sigma in the second half of the run", f"{late:.2f}, lower bound {low:g}", None)


def jumping_mixture() -> list[Claim]:
    at = {ratio: carried_out("jumping_mixture", f"chain.alpha={ratio * 1e-4}") for ratio in (1, 10, 100)}
    excess = {ratio: found.mean("excess_cost", "classical") for ratio, found in at.items()}
    censored = {ratio: found.row("classical")["recovery"]["censored"] for ratio, found in at.items()}
    numbers = ", ".join(f"{excess[r]:.2f} (censored {censored[r]:.2f})" for r in at)
    rising = measure.rising([at[r].excess("classical") for r in at])
    rows = [Claim("classical: excess cost rises with alpha / epsilon = 1, 10, 100", numbers, rising)]
    rows += [reported(at[1], "accelerated", "classical"), reported(at[1], "algorithm-1", "classical")]
    rows += [reported(at[1], "algorithm-1", "accelerated"), reported(at[1], "tempered", "classical"), sigma(at[1])]
    gain = paired.difference(at[1].excess("tempered"), at[1].excess("classical"))
    return [*rows, Claim("excess cost: tempered - classical at alpha / epsilon = 1", shown(gain), None)]


def adapted_noise() -> list[Claim]:
    found = carried_out("adapted_noise")
    late, low = found.sigma(), found.bounds[0]
    slower = found.reacquisition("tempered", "classical")
    warmer = found.reacquisition("warm", "classical")
    flipped = found.sigma("tempered-flipped")
    return [
        Claim("sigma of tempered falls to its lower bound", f"{late:.3f}, bound {low:g}", late < 1.1 * low),
        Claim("re-acquisition: tempered / classical above 1", shown(slower), slower.low > 1.0),
        Claim("re-acquisition: warm (beta = 2) / classical below 1", shown(warmer), warmer.high < 1.0),
        Claim("sigma of tempered-flipped, up the gradient", f"{flipped:.3f}, bound {found.bounds[1]:g}", None),
        *(reported(found, one, "classical") for one in ("tempered-flipped", "cold", "hot", "wandering")),
        *found.right_place(),
        *(
            Claim(f"excess cost: {one}", f"{found.mean('excess_cost', one):.3f}", None)
            for one in ("classical", "tempered", "tempered-flipped", "warm", "hot")
        ),
    ]


def three_regimes() -> list[Claim]:
    rows = []
    for alpha, nearest in ((1e-4, "frozen"), (1e-2, "switched"), (1.0, "averaged")):
        found = carried_out("three_regimes", f"chain.alpha={alpha}")
        scenario = found.run.scenario
        ratio = alpha / 1e-2
        for name in ("classical", "skewed"):
            exact = float(limits.stationary(scenario, name, of="algorithm").mean_square_error)
            row = found.row(name)["mean_square_error"]
            z = (row["mean"] - exact) / row["stderr"]
            numbers = f"{row['mean']:.4f}, exact {exact:.4f} (z = {z:+.1f})"
            rows.append(
                Claim(f"{name}, alpha / epsilon = {ratio:g}: mean square error within 4 se", numbers, abs(z) < 4)
            )
        if nearest != "frozen":  # the frozen limit holds for times far below a dwell, not in stationarity
            distance = limits.regimes(scenario, "classical", 10.0).distance
            numbers = ", ".join(f"{key} {d:.3f}" for key, d in distance.items())
            rows.append(
                Claim(
                    f"alpha / epsilon = {ratio:g}: nearest limit is {nearest}",
                    numbers,
                    nearest == min(distance, key=distance.get),
                )  # type: ignore[arg-type]
            )
        error = {name: found.mean("tracking_error", name) for name in ("algorithm-1", "wandering", "tempered")}
        numbers = ", ".join(f"{name} {e:.3f}" for name, e in error.items())
        rows.append(Claim(f"alpha / epsilon = {ratio:g}: tracking error", numbers, None))
    short = limits.regimes(
        tracker.load(measure.path_of("three_regimes"), ["sweep={}", "chain.alpha=1e-4"]), "classical", 5.0
    )
    numbers = ", ".join(f"{key} {d:.3f}" for key, d in short.distance.items())
    holds = min(short.distance["frozen"], short.distance["switched"]) < short.distance["averaged"] / 5
    return [
        *rows,
        Claim("alpha / epsilon = 0.01, up to time 5: the frozen limit is near, the averaged far", numbers, holds),
    ]


def drift() -> list[Claim]:
    walk, jump = carried_out("drift"), carried_out("drift_jumps")
    rows, lags = [], []
    for found in (walk, jump):
        exact, floor = measure.scheduled_mean_square(found.run.scenario)
        row = found.row("classical")["mean_square_error"]
        z = (row["mean"] - exact) / row["stderr"]
        numbers = f"{row['mean']:.5f}, exact {exact:.5f} (z = {z:+.1f})"
        rows.append(
            Claim(f"{found.run.scenario.name}: mean square error of classical within 4 se", numbers, abs(z) < 4)
        )
        lags.append((row["mean"] - floor, exact - floor))
    measured, known = lags[1][0] / lags[0][0], lags[1][1] / lags[0][1]
    numbers = f"{measured:.2f}, exact {known:.2f}"
    rows.append(
        Claim("error above the noise floor: jumps / small steps is above 4", numbers, abs(measured / known - 1) < 0.05)
    )
    for found in (walk, jump):
        errors = ", ".join(
            f"{n} {found.mean('mean_square_error', n):.4f}" for n in ("skewed", "algorithm-1", "wandering", "tempered")
        )
        rows.append(Claim(f"{found.run.scenario.name}: mean square error", errors, None))
    return rows


def logistic_stream() -> list[Claim]:
    found = carried_out("logistic_stream")
    worse = paired.difference(found.accuracy("algorithm-1-flipped"), found.accuracy("classical"))
    rows = [
        found.more_accurate("algorithm-1", "classical"),
        Claim("accuracy: algorithm-1-flipped - classical far below 0", shown(worse, 4), worse.high < -0.01),
    ]
    rows += [found.accuracy_gain(one, "classical") for one in ("accelerated", "wandering", "tempered", "cold")]
    for one, other in (("algorithm-1", "accelerated"), ("accelerated", "classical"), ("algorithm-1", "classical")):
        r = found.accuracy_reacquisition(one, other)
        rows.append(
            Claim(
                f"re-acquisition of accuracy 0.85: {one} / {other}",
                shown(r),
                r.high < 1 if "algorithm" in one and other != "classical" else None,
            )
        )
    r = found.accuracy_reacquisition("tempered", "classical")
    rows.append(Claim("re-acquisition of accuracy 0.85: tempered / classical", shown(r), None))
    means = ", ".join(
        f"{name} {found.accuracy(name).mean():.4f}" for name in ("classical", "algorithm-1", "algorithm-1-flipped")
    )
    return [*rows, Claim("accuracy", means, None), sigma(found)]


def logistic_three() -> list[Claim]:
    found = carried_out("logistic_three")
    rows = [found.more_accurate("algorithm-1", "classical"), found.more_accurate("algorithm-1", "accelerated")]
    rows += [found.accuracy_gain(one, "classical") for one in ("algorithm-1-flipped", "wandering", "tempered", "cold")]
    r = found.accuracy_reacquisition("algorithm-1", "accelerated")
    return [*rows, Claim("re-acquisition of accuracy 0.85: algorithm-1 / accelerated", shown(r), None), sigma(found)]


def global_minimum() -> list[Claim]:
    found = carried_out("global_minimum")
    rows, last = [], 0.0
    for keys in found.run.scenario.samplers:
        share = found.share_right(keys.name)
        if keys.beta == np.inf:
            rows.append(Claim("gradient: never leaves the wrong well", f"share {share.mean():.3f}", share.max() == 0.0))
            continue
        law = limits.gibbs_marginal(found.run.problem.modes[0], keys.beta, 0)
        exact = 1.0 - float(np.interp(0.0, law.points, law.cdf))
        error = share.std(ddof=1) / np.sqrt(share.size)
        z = (share.mean() - exact) / error
        numbers = f"{share.mean():.4f} +- {error:.4f}, Gibbs {exact:.4f} (z = {z:+.1f})"
        rows.append(
            Claim(f"{keys.name}: share of time in the right well within 4 se of Gibbs' law", numbers, abs(z) < 4)
        )
        if keys.kind == "langevin":
            rows.append(
                Claim(
                    f"{keys.name}: more of it than at the beta before",
                    f"{last:.4f} to {share.mean():.4f}",
                    share.mean() > last,
                )
            )
            last = float(share.mean())
    return rows


def example_a() -> list[Claim]:
    scenario = tracker.load(measure.path_of("example_a"))
    r = limits.regimes(scenario, scenario.samplers[0].name, 1.0)
    numbers = f"distance {r.distance['switched']:.4f} = {r.distance['switched'] * 64:.2f} epsilon, order {r.rate['switched']:.2f}"
    return [Claim("moments differ by order 1 in epsilon (exact)", numbers, abs(r.rate["switched"] - 1.0) < 0.1)]


def example_b() -> list[Claim]:
    scenario = tracker.load(measure.path_of("example_b"))
    name, epsilon = scenario.samplers[0].name, scenario.samplers[0].epsilon
    law, own = limits.density(scenario, name, [1.0]), limits.algorithm_density(scenario, name, [round(1 / epsilon)])
    x = np.linspace(-4.0, 4.0, 8001)
    w1 = float(np.abs(law.cdf(x)[0] - own.cdf(x)[0]).sum() * (x[1] - x[0]))
    return [
        Claim("W1 between the laws below 0.15 epsilon (quadrature)", f"{w1 / epsilon:.3f} epsilon", w1 < 0.15 * epsilon)
    ]


CHECKS: dict[str, Callable[[], list[Claim]]] = {
    check.__name__: check
    for check in (
        swapping_wells, four_wells, jumping_mixture, adapted_noise, three_regimes, drift, logistic_stream, logistic_three,
        global_minimum, example_a, example_b,
    )
}  # fmt: skip
