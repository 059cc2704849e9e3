"""Do 95 % intervals cover? At 5, 10, 20 and 50 trials, of every kind of interval that a page, a table or a script shows.

Numbers of trials are log-normal (standard deviation of the logarithm 0.7), those of two samplers on the same trials with
correlation 0.5 of the logarithms; means also of exponential and of normal numbers. Shares: a trial has 2 or 10 visits of
exponential length, of each of which an exponential time is spent outside. Waits: exponential with a rate of each trial's own,
10 or 2 switches a trial, cut off at random so that a quarter is censored.

    python benchmarks/interval_coverage.py [replications] > benchmarks/interval_coverage.txt

``old`` is what was done before: Student's interval of the mean itself, percentiles as they are. A row passes where the coverage
is at least 0.90, 0.92, 0.93, 0.94 at 5, 10, 20, 50 trials, less two Monte Carlo standard errors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from tracker.metrics import recovery as waiting
from tracker.metrics.after_switch import compare_waits, mean_per_step
from tracker.metrics.averages import half_width, mean_interval, over_trials
from tracker.metrics.paired import difference, gap_closed, ratio_of_means
from tracker.metrics.recovery import recovery

TRIALS = (5, 10, 20, 50)
LEAST = {5: 0.90, 10: 0.92, 20: 0.93, 50: 0.94}
REPLICATIONS, OF_WAITS = 4000, 1000
SPREAD, CORRELATION = 0.7, 0.5
CUT = 1 / 3  # rate at which waits are cut off, over that at which they end: a quarter is censored
SCALE, BINS = 40.0, 400  # mean wait in steps; waits beyond the last bin share it, which no median reaches
Ends = tuple[float, float]
Case = Callable[[np.random.Generator, int], tuple[Ends, float]]


def log_normal(rng: np.random.Generator, trials: int) -> np.ndarray:
    """Two samplers, shape (trials, 2), of mean exp(SPREAD^2/2)."""
    shared, own = rng.standard_normal((trials, 1)), rng.standard_normal((trials, 2))
    return np.exp(SPREAD * (np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * own))


MEAN = float(np.exp(SPREAD**2 / 2))
NUMBERS = {
    "log-normal": (lambda rng, n: log_normal(rng, n)[:, 0], MEAN),
    "exponential": (lambda rng, n: rng.exponential(1.0, n), 1.0),
    "normal": (lambda rng, n: 3.0 + rng.standard_normal(n), 3.0),
}


def mean_of(kind: str, *, old: bool = False) -> Case:
    """The mean of positive numbers."""
    draw, true = NUMBERS[kind]

    def case(rng: np.random.Generator, trials: int) -> tuple[Ends, float]:
        mean, stderr = over_trials(draw(rng, trials))
        low, high = mean_interval(mean, stderr, trials, "any" if old else "positive")
        return (float(low), float(high)), true

    return case


def ratio_case(rng: np.random.Generator, trials: int) -> tuple[Ends, float]:
    """The ratio of two means over paired trials."""
    x = log_normal(rng, trials)
    found = ratio_of_means(x[:, 0], x[:, 1])
    return (found.low, found.high), 1.0


def difference_case(rng: np.random.Generator, trials: int) -> tuple[Ends, float]:
    """The mean difference over paired trials."""
    x = log_normal(rng, trials)
    found = difference(x[:, 0], x[:, 1])
    return (found.low, found.high), 0.0


def gap_of(*, old: bool = False) -> Case:
    """The gap closed between standing still, three times as bad, and no error at all: two thirds."""

    def case(rng: np.random.Generator, trials: int) -> tuple[Ends, float]:
        x = log_normal(rng, trials)
        own, still = x[:, 0], 3.0 * x[:, 1]
        if not old:
            found = gap_closed(own, still, np.zeros(trials))
            return (found.low, found.high), 2 / 3
        share = 1.0 - own.mean() / still.mean()
        stderr = over_trials(own - (1.0 - share) * still).stderr / still.mean()
        reach = float(half_width(stderr, trials))
        return (share - reach, share + reach), 2 / 3

    return case


def share_of(share: float, visits: int, *, old: bool = False) -> Case:
    """The share of steps inside the target, a ratio of sums."""
    outside = (1.0 - share) / share  # the mean time outside, for visits of mean length 1 that it may outlast

    def case(rng: np.random.Generator, trials: int) -> tuple[Ends, float]:
        length = rng.exponential(1.0, (trials, visits))
        inside = np.maximum(length - rng.exponential(outside, (trials, visits)), 0.0).sum(axis=1)
        curve = mean_per_step(inside[:, np.newaxis], length.sum(axis=1)[:, np.newaxis], "any" if old else "share")
        low, high = curve.interval
        return (float(low[0]), float(high[0])), share

    return case


def waits_of(rng: np.random.Generator, trials: int, switches: int, rate: np.ndarray) -> np.ndarray:
    """Counts (T, 1, bins, 2) of waits that end at a trial's ``rate`` (T, 1) and are cut off at a third of the mean rate."""
    wait = np.ceil(SCALE * rng.exponential(1.0 / rate, (trials, switches))).astype(int)
    limit = np.ceil(SCALE * rng.exponential(1.0 / CUT, (trials, switches))).astype(int)
    counts = np.zeros((trials, 1, BINS + 1, 2), dtype=np.int64)
    rows = np.repeat(np.arange(trials), switches)
    np.add.at(
        counts, (rows, 0, np.minimum(np.minimum(wait, limit), BINS).ravel(), (wait > limit).ravel().astype(int)), 1
    )
    return counts


def rates(rng: np.random.Generator, trials: int) -> np.ndarray:
    """A rate of each trial's own, 0.6 or 1.4 of the mean one: waits of one trial go together."""
    return rng.choice([0.6, 1.4], (trials, 1))


def alive(n: float) -> float:
    """P(wait > n)."""
    return float(np.exp(-0.6 * n / SCALE) + np.exp(-1.4 * n / SCALE)) / 2


MEDIAN = next(n for n in range(BINS) if alive(n) <= 0.5)
EDGES = np.arange(BINS + 2)


def median_case(switches: int, *, old: bool = False) -> Case:
    """The median wait, by resampling trials."""

    def case(rng: np.random.Generator, trials: int) -> tuple[Ends, float]:
        counts = waits_of(rng, trials, switches, rates(rng, trials))
        if not old:
            found, _ = recovery(counts, EDGES)
            return (found.low, found.high), float(MEDIAN)
        weights = rng.multinomial(trials, np.full(trials, 1 / trials), size=200)
        drawn = np.einsum("rt,tbo->rbo", weights, counts[:, 0])
        medians = np.sort(waiting.median_wait(drawn, EDGES))
        return (float(medians[5]), float(medians[194])), float(MEDIAN)

    return case


def waits_ratio(switches: int) -> Case:
    """The ratio of restricted means of two samplers of the same law whose trials share their rates."""

    def case(rng: np.random.Generator, trials: int) -> tuple[Ends, float]:
        shared = rates(rng, trials)
        found = compare_waits(*(waits_of(rng, trials, switches, shared) for _ in range(2)), EDGES, 2 * SCALE).ratio
        return (found.low, found.high), 1.0

    return case


CASES: dict[str, tuple[Case, int]] = {
    **{f"mean, {kind}": (mean_of(kind), REPLICATIONS) for kind in NUMBERS},
    "ratio of means": (ratio_case, REPLICATIONS),
    "difference": (difference_case, REPLICATIONS),
    "gap closed": (gap_of(), REPLICATIONS),
    **{
        f"share {share:g}, {visits} visits": (share_of(share, visits), REPLICATIONS)
        for share in (0.5, 0.98)
        for visits in (2, 10)
    },
    **{f"recovery median, {n} switches": (median_case(n), OF_WAITS) for n in (10, 2)},
    **{f"recovery ratio, {n} switches": (waits_ratio(n), OF_WAITS) for n in (10, 2)},
}
CONTROLS: dict[str, tuple[Case, int]] = {
    "mean, log-normal (old)": (mean_of("log-normal", old=True), REPLICATIONS),
    "gap closed (old)": (gap_of(old=True), REPLICATIONS),
    "share 0.5, 2 visits (old)": (share_of(0.5, 2, old=True), REPLICATIONS),
    "recovery median, 10 switches (old)": (median_case(10, old=True), OF_WAITS),
}


def coverage(case: Case, trials: int, replications: int, seed: int) -> float:
    """Return the share of intervals that hold the truth."""
    rng = np.random.default_rng((seed, trials))
    held = 0
    for _ in range(replications):
        (low, high), true = case(rng, trials)
        held += low <= true <= high
    return held / replications


def enough(trials: int, replications: int) -> float:
    """Return the coverage that a row must reach."""
    least = LEAST[trials]
    return least - 2.0 * float(np.sqrt(least * (1.0 - least) / replications))


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else REPLICATIONS
    print("coverage of 95 % intervals by the number of trials; * below what is asked for, less two standard errors")
    print(f"{'':36}" + "".join(f"{trials:>9}" for trials in TRIALS) + "   replications")
    for seed, (name, (case, replications)) in enumerate({**CASES, **CONTROLS}.items()):
        count = min(most, replications)
        cells = []
        for trials in TRIALS:
            found = coverage(case, trials, count, seed)
            cells.append(f"{found:8.3f}{' ' if found >= enough(trials, count) else '*'}")
        print(f"{name:36}" + "".join(cells) + f"   {count}", flush=True)


if __name__ == "__main__":
    main()
