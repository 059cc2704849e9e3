"""The SimPy world against a simulation that takes one step at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreting import interpreting

from tracker import chain
from tracker.environment import Environment, Plan, PlannedOutage, Switch, Timeline, hidden_chains

SIGMAS = 5.5  # statistical: two-sided false alarm below 1e-7
REJECT = 1e-6  # p-value below which a law is rejected; fixed seeds
TWO = np.array([[-1.0, 1.0], [0.6, -0.6]])
THREE = np.array([[-1.0, 0.7, 0.3], [0.2, -0.5, 0.3], [1.5, 0.5, -2.0]])
TRAP = np.array([[-1.0, 0.5, 0.5], [1.0, -1.0, 0.0], [0.0, 0.0, 0.0]])  # mode 2 absorbs
BLINK = np.array([[-1.0, 1.0], [1.0, -1.0]])  # with alpha = 1 it jumps at every step


def plan_of(Q: np.ndarray, alpha: float, *interventions: Switch | PlannedOutage, start: int | None = None) -> Plan:
    modes = len(Q)
    initial = np.full(modes, 1 / modes) if start is None else np.eye(modes)[start]
    return Plan(modes, initial, Q, alpha, interventions=interventions)


def read(timeline: Timeline, trial: int) -> list[tuple[int, int, bool]]:
    """(mode, since, live) at each step of a trial, and the contract of a timeline on the way."""
    rows, at = [], timeline.start
    for s in range(timeline.offsets[trial], timeline.offsets[trial + 1]):
        assert timeline.end[s] > at
        rows += [(int(timeline.mode[s]), int(timeline.since[s]), bool(timeline.live[s]))] * int(timeline.end[s] - at)
        at = int(timeline.end[s])
    assert at == timeline.stop
    return rows


class Naive:
    """One trial, one step at a time, from the same stream of pairs; counts what the chain did."""

    def __init__(self, plan: Plan, seed: int, trial: int, steps: int) -> None:
        assert plan.Q is not None
        assert plan.alpha is not None
        self.stream = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(0, trial))))
        self.a = plan.alpha * -np.diag(plan.Q)
        X = plan.modes
        self.edges = chain.age_edges(self.a)
        self.jumps, self.steps = np.zeros((X, X)), np.zeros(X)
        self.exits, self.at_risk = np.zeros((X, len(self.edges))), np.zeros((X, len(self.edges)))
        u, v = self.stream.random(2)
        mode, since, switches = self.pick(plan.initial, u), -1, 0
        left, age = self.dwell(v, mode), 0
        self.rows, self.switches = [], []
        for k in range(steps + 1):
            before, jumped_to = mode, -1
            if k > 0:
                left, age = left - 1, age + 1
            age_now = age
            if left == 0:
                u, v = self.stream.random(2)
                mode = jumped_to = self.pick(np.where(np.arange(X) == mode, 0.0, plan.Q[mode]), u)
                left, age = self.dwell(v, mode), 0
            forced = [e.to for e in plan.interventions if isinstance(e, Switch) and e.at == k]
            for to in forced:
                if to != mode:
                    mode, age = to, 0
                    left = self.dwell(self.stream.random(2)[1], mode)
            if k > 0 and all(to == before for to in forced):
                self.count(before, jumped_to, age_now)
            if k > 0 and mode != before:
                since, switches = k, switches + 1
            outages = [e for e in plan.interventions if isinstance(e, PlannedOutage)]
            live = not any(e.at <= k < e.at + e.steps for e in outages)
            self.rows.append((mode, since, live))
            self.switches.append(switches)

    def pick(self, weights: np.ndarray, u: float) -> int:
        total = 0.0
        for mode, p in enumerate(weights / weights.sum()):
            total += p
            if u < total:
                return mode
        raise AssertionError("rounding")

    def dwell(self, v: float, mode: int) -> float:
        if self.a[mode] == 0.0:
            return math.inf
        return max(1, math.ceil(math.log1p(-v) / math.log1p(-self.a[mode]))) if self.a[mode] < 1.0 else 1

    def count(self, mode: int, jumped_to: int, age: int) -> None:
        bin_ = max(b for b in range(len(self.edges)) if self.edges[b] <= age)
        self.steps[mode] += 1
        self.at_risk[mode, bin_] += 1
        if jumped_to >= 0:
            self.jumps[mode, jumped_to] += 1
            self.exits[mode, bin_] += 1


PLANS = {
    "two": plan_of(TWO, 0.1),
    "three": plan_of(THREE, 0.5),
    "trap": plan_of(TRAP, 0.05),
    "forced": plan_of(THREE, 0.3, *(Switch(at, at % 3) for at in range(5, 200, 5)), Switch(50, 2), Switch(50, 1)),
    "untrapped": plan_of(TRAP, 0.2, Switch(60, 0), Switch(0, 1), Switch(120, 1)),
    "blinking": plan_of(BLINK, 1.0, Switch(4, 0), Switch(7, 1), Switch(8, 1)),
    "outages": plan_of(
        TWO, 0.1, PlannedOutage(20, 15), PlannedOutage(30, 30), PlannedOutage(60, 1), Switch(33, 1), PlannedOutage(0, 3)
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_paths_and_counts_equal_those_of_a_simulation_by_steps(name: str) -> None:
    plan, steps, trials = PLANS[name], 200, [3, 0, 11, 7, 20, 21, 22, 23]
    environment = Environment(plan, 9, trials)
    timeline = environment.advance(steps)
    present, switches = environment.present, environment.switches
    environment.close()
    counts = environment.counts
    for t, trial in enumerate(trials):
        naive = Naive(plan, 9, trial, steps)
        assert read(timeline, t) == naive.rows[:-1]
        assert present[t] == naive.rows[-1][0]
        assert switches[t] == naive.switches[-1]
        np.testing.assert_array_equal(counts.jumps[t], naive.jumps)
        np.testing.assert_array_equal(counts.steps[t], naive.steps)
        np.testing.assert_array_equal(counts.exits[t], naive.exits)
        np.testing.assert_array_equal(counts.at_risk[t], naive.at_risk)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(PLANS)),
    st.lists(st.integers(1, 119), max_size=8, unique=True).map(sorted),
    st.integers(0, 50),
)
def test_cuts_into_blocks_change_nothing(name: str, cuts: list[int], trial: int) -> None:
    whole, blocks = Environment(PLANS[name], 2, [trial]), Environment(PLANS[name], 2, [99, trial])
    rows = read(whole.advance(120), 0)
    pieces, met = [], []
    for stop in [*cuts, 120]:
        pieces += read(blocks.advance(stop), 1)
        met.append(int(blocks.present[1]))
    assert pieces == rows
    assert met[:-1] == [rows[cut][0] for cut in cuts]
    assert blocks.switches[1] == whole.switches[0]
    for environment in (whole, blocks):
        environment.close()
    for field in ("jumps", "censored", "exits", "at_risk"):
        np.testing.assert_array_equal(getattr(blocks.counts, field)[1], getattr(whole.counts, field)[0])


def test_segments_are_as_long_as_they_can_be() -> None:
    timeline = Environment(PLANS["outages"], 1, [0]).advance(200)
    runs = list(zip(timeline.mode.tolist(), timeline.since.tolist(), timeline.live.tolist(), strict=True))
    assert all(one != other for one, other in pairwise(runs))


# --- order at equal times


def test_a_forced_switch_wins_over_a_jump_at_the_same_step() -> None:
    plan = plan_of(BLINK, 1.0, Switch(3, 0), start=0)  # 0 1 0 then the chain jumps to 1, and is forced back
    timeline = Environment(plan, 1, [0]).advance(6)
    assert [row[0] for row in read(timeline, 0)] == [0, 1, 0, 0, 1, 0]
    assert [row[1] for row in read(timeline, 0)] == [-1, 1, 2, 2, 4, 5]


def test_of_forced_switches_at_the_same_step_the_last_in_the_file_wins() -> None:
    for order in ([1, 2], [2, 1]):
        plan = plan_of(np.zeros((3, 3)), 1.0, *(Switch(5, to) for to in order), start=0)
        timeline = Environment(plan, 1, [0]).advance(10)
        assert [row[0] for row in read(timeline, 0)] == [0] * 5 + [order[-1]] * 5


def test_schedule_then_interventions_and_a_switch_at_step_0_is_the_start() -> None:
    plan = Plan(3, np.eye(3)[0], switches=((0, 2), (4, 1), (6, 0), (8, 0)), interventions=(Switch(4, 2), Switch(5, 1)))
    environment = Environment(plan, 1, [0, 1, 2])
    timeline = environment.advance(10)
    expected = [(2, -1)] * 5 + [(1, 5)] + [(0, 6)] * 4
    for trial in range(3):
        assert [row[:2] for row in read(timeline, trial)] == expected
    np.testing.assert_array_equal(environment.switches, [2, 2, 2])
    environment.close()
    assert environment.counts.steps.sum() == 0  # no chain, nothing to learn about one
    assert environment.counts.jumps.shape == (3, 3, 3)


def test_a_switch_at_the_stop_is_known_and_belongs_to_the_next_block() -> None:
    environment = Environment(Plan(2, np.eye(2)[0], switches=((5, 1),)), 1, [0])
    assert read(environment.advance(5), 0) == [(0, -1, True)] * 5
    assert (environment.present[0], environment.switches[0]) == (1, 1)
    assert read(environment.advance(6), 0) == [(1, 5, True)]
    assert environment.switches[0] == 1


# --- censoring


def test_a_forced_switch_censors_the_visit_before_it() -> None:
    still = np.array([[-1e-9, 1e-9], [1e-9, -1e-9]])
    environment = Environment(plan_of(still, 1.0, Switch(10, 1), Switch(30, 1), start=0), 1, [0])
    environment.advance(50)
    assert environment.counts.censored.tolist() == [[1, 0]]
    assert environment.counts.steps.tolist() == [[9, 0]]  # x_0 ... x_9: nine stays
    environment.close()
    environment.close()  # once is enough
    assert environment.counts.censored.tolist() == [[1, 1]]
    assert environment.counts.steps.tolist() == [[9, 40]]  # x_10 ... x_50: forty stays
    with pytest.raises(ValueError, match="closed"):
        environment.advance(60)


def test_estimate_is_unbiased_under_forced_switches() -> None:
    """A force every third step. Control: jumps at forced steps counted, stays not, is biased."""
    steps, alpha = 3000, 0.4
    plan = plan_of(TWO, alpha, *(Switch(at, (at // 3) % 2) for at in range(3, steps, 3)))
    environment = Environment(plan, 4, range(40))
    timeline = environment.advance(steps)
    environment.close()
    counts = environment.counts.pooled()
    estimate = chain.estimate(counts, alpha)
    assert np.all(np.abs(estimate.Q_hat - TWO) < SIGMAS * estimate.stderr)
    changes = sum(int(timeline.mode[s] != timeline.mode[s - 1]) for s in range(1, timeline.offsets[1]))
    assert changes == environment.switches[0]
    naive_jumps = np.zeros((2, 2))
    for trial in range(40):
        path = [row[0] for row in read(timeline, trial)]
        for one, other in pairwise(path):
            naive_jumps[one, other] += one != other
    biased = naive_jumps.sum(axis=1) / counts.steps / alpha
    assert np.all(np.abs(biased - -np.diag(TWO)) > SIGMAS * np.diag(estimate.stderr))


# --- laws


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).filter(any),
    st.floats(0.0, 1.0, exclude_max=True),
    st.floats(0.0, 1.0),
)
def test_a_visit_is_what_the_chain_says(weights: list[float], u: float, a: float) -> None:
    """Modes and dwells of the compiled chains, number by number; a sum that rounds to less than 1 included."""
    for short in (1.0, 1.0 - 2**-53, 0.9):
        sums = np.cumsum(np.array(weights) / sum(weights)) * short
        assert hidden_chains.choose_mode(u, sums) == chain.next_mode(u, sums)
    with np.errstate(divide="ignore", over="ignore"):
        rate, exponential = -np.log1p(-np.float64(a)), -np.log1p(-u)
        assert hidden_chains.stay_length(exponential, rate) == chain.dwell(exponential, a)


def test_a_full_log_is_emptied_and_the_walk_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS["forced"]
    whole = Environment(plan, 9, range(4)).advance(200)
    monkeypatch.setattr(hidden_chains, "ROWS", 3)
    for one, other in zip(whole, Environment(plan, 9, range(4)).advance(200), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture(params=[False, True], ids=["geometric", "off-by-one"])
def faulty(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """The fault is planted in the source, which is then interpreted."""
    if not request.param:
        yield False
        return
    true = hidden_chains.stay_length
    monkeypatch.setattr(hidden_chains, "stay_length", lambda exponential, rate: true(exponential, rate) + 1)
    with interpreting(None):
        yield True


def test_dwells_are_geometric_over_1e5_switches_and_the_planted_fault_is_found(faulty: bool) -> None:
    alpha = 0.05
    environment = Environment(plan_of(TWO, alpha), 5, range(10))
    environment.advance(280_000)
    environment.close()
    counts = environment.counts.pooled()
    assert counts.completed.sum() > 1e5
    for a in (None, chain.exit_probability(TWO, alpha)):
        p = chain.hazard_test(counts, a).p_value
        assert np.all(p < REJECT) if faulty else np.all(p > REJECT)


def test_modes_follow_the_powers_of_the_transition_matrix() -> None:
    """Law of x_k over trials within 5.5 standard errors; control: the law one step later."""
    trials, alpha = 8000, 0.5
    P = chain.transition_matrix(THREE, alpha)
    environment = Environment(plan_of(THREE, alpha, start=2), 6, range(trials))
    law, off = np.eye(3)[2], []
    for k in range(1, 7):
        environment.advance(k)
        law = law @ P
        share = np.bincount(environment.present, minlength=3) / trials
        stderr = np.sqrt(np.maximum(law * (1.0 - law), 1 / trials) / trials)
        assert np.all(np.abs(share - law) < SIGMAS * stderr)
        off.append(np.max(np.abs(share - law @ P) / stderr))
    assert max(off) > 2 * SIGMAS


def test_the_start_follows_initial() -> None:
    plan = Plan(3, np.array([0.5, 0.0, 0.5]), THREE, 0.1)
    start = np.bincount(Environment(plan, 8, range(2000)).present, minlength=3)
    assert start[1] == 0
    assert abs(start[0] - 1000) < SIGMAS * math.sqrt(500)


# --- no chain, no chance


@pytest.mark.parametrize(
    "plan",
    [
        Plan(1, np.ones(1)),
        Plan(1, np.ones(1), np.zeros((1, 1)), 1.0),
        Plan(2, np.eye(2)[1], switches=((3, 0),), interventions=(PlannedOutage(1, 2),)),
    ],
)
def test_without_a_chain_nothing_is_drawn(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_chains, "begin_chains", None)
    environment = Environment(plan, 1, range(5))
    timeline = environment.advance(10)
    assert [read(timeline, t) for t in range(5)] == [read(timeline, 0)] * 5
    environment.close()
    expected = 0 if plan.Q is None else 10
    np.testing.assert_array_equal(environment.counts.steps.sum(axis=1), [expected] * 5)
    with pytest.raises(TypeError):
        Environment(plan_of(TWO, 0.1), 1, range(5))  # control: here something is


def test_touching_and_overlapping_outages_are_one() -> None:
    for outages in (
        [PlannedOutage(2, 3), PlannedOutage(5, 2)],
        [PlannedOutage(5, 2), PlannedOutage(2, 3)],
        [PlannedOutage(2, 5), PlannedOutage(3, 1)],
    ):
        timeline = Environment(Plan(1, np.ones(1), interventions=tuple(outages)), 1, [0]).advance(10)
        assert timeline.end.tolist() == [2, 7, 10]
        assert timeline.live.tolist() == [True, False, True]


def test_an_outage_leaves_the_chain_alone() -> None:
    plain, dark = (Environment(plan_of(TWO, 0.2, *e), 3, [1]).advance(99) for e in ([], [PlannedOutage(10, 50)]))
    assert [row[:2] for row in read(plain, 0)] == [row[:2] for row in read(dark, 0)]
    assert sum(not row[2] for row in read(dark, 0)) == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"Q": TWO}, "both or neither"),
        ({"Q": TWO, "alpha": 3.0}, "alpha: 3.0 is too large"),
        ({"Q": THREE, "alpha": 0.1}, "Q has 3 rows for 2 modes"),
        ({"Q": TWO, "alpha": 0.1, "switches": ((0, 1),)}, "in place of the chain"),
        ({"initial": np.array([0.5, 0.5])}, "needs a chain"),
        ({"switches": ((5, 1), (3, 0))}, "must increase"),
        ({"switches": ((5, 2),)}, "switch to mode 2 at step 5"),
        ({"interventions": (Switch(-1, 0),)}, "at step -1"),
        ({"interventions": (PlannedOutage(4, 0),)}, "steps >= 1 needed"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Plan(**{"modes": 2, "initial": np.eye(2)[0], **arguments})
