"""Visits in stages and of fixed length in the world: drawn again with numpy, and what is counted of them."""

from __future__ import annotations

import numpy as np
import pytest

from tracker import chain
from tracker.environment import Environment, Plan, Switch

Q, ALPHA = np.array([[-1.0, 1.0], [0.5, -0.5]]), 0.1
STATIONARY = np.array([1 / 3, 2 / 3])


def path_of(plan: Plan, seed: int, trial: int, steps: int) -> list[int]:
    """The modes of a trial, drawn as docs/architecture, "Random streams" says."""
    stream = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(0, trial))))
    law = plan.law

    def stay(mode: int, passed: int) -> int:
        if law.fixed:
            stream.random()
            return round(1 / (ALPHA * -Q[mode, mode])) - passed
        a = law.shape * ALPHA * -Q[mode, mode]
        stages = [-np.log1p(-stream.random()) / -np.log1p(-a) for _ in range(law.shape - passed)]
        return sum(max(1, int(np.ceil(one))) for one in stages)

    mode, modes = int(stream.random() >= plan.initial[0]), []
    passed = 0
    if plan.aged and not law.is_geometric:
        whole = round(1 / (ALPHA * -Q[mode, mode])) if law.fixed else law.shape
        passed = int(stream.random() * whole)
    modes += [mode] * stay(mode, passed)
    while len(modes) < steps:
        stream.random()
        mode = 1 - mode
        modes += [mode] * stay(mode, 0)
    return modes[:steps]


@pytest.mark.parametrize("aged", [False, True])
@pytest.mark.parametrize("law", [chain.DwellLaw(1), chain.DwellLaw(3), chain.DwellLaw(8), chain.DwellLaw(fixed=True)])
def test_a_path_can_be_drawn_again_with_numpy(law: chain.DwellLaw, aged: bool) -> None:
    plan = Plan(2, STATIONARY, Q, ALPHA, law, aged)
    timeline = Environment(plan, 5, [0, 1, 7]).advance(400)
    for n, trial in enumerate((0, 1, 7)):
        own = slice(timeline.offsets[n], timeline.offsets[n + 1])
        modes = np.repeat(timeline.mode[own], np.diff(np.append(0, timeline.end[own])))
        assert modes.tolist() == path_of(plan, 5, trial, 400)


def test_a_visit_in_stages_is_counted_whole_and_one_of_unknown_age_is_not() -> None:
    law, trials, steps = chain.DwellLaw(4), 400, 300
    for aged in (False, True):
        environment = Environment(Plan(2, STATIONARY, Q, ALPHA, law, aged), 2, range(trials))
        for stop in (7, 150, steps):  # blocks
            environment.advance(stop)
        environment.close()
        counts = environment.counts.pooled()
        p = np.append(chain.rate_test(counts, ALPHA * -np.diag(Q)), chain.hazard_test(counts).p_value)
        assert (p > 1e-4).all()
        begun = trials + int(
            environment.switches.sum()
        )  # a jump at the last step ends a visit, and the next is not seen
        assert counts.completed.sum() + counts.censored.sum() <= begun + trials
    # the control: counted as if it began at step 0, a visit whose age is drawn ends too soon
    wrong = Environment(Plan(2, STATIONARY, Q, ALPHA, law, aged=True), 2, range(20 * trials))
    wrong._whole[:] = True
    wrong.advance(8)
    wrong.close()
    assert chain.rate_test(wrong.counts.pooled(), ALPHA * -np.diag(Q)).min() < 1e-6


def test_a_first_visit_that_is_going_on_makes_the_modes_stationary() -> None:
    """Under fixed visits and a known age at the start the modes would swing for ever."""
    share = {}
    for aged in (False, True):
        plan = Plan(2, STATIONARY, Q, ALPHA, chain.DwellLaw(fixed=True), aged)
        timeline = Environment(plan, 1, range(3000)).advance(30)
        at = np.concatenate([np.repeat(timeline.mode[a:b], np.diff(np.append(0, timeline.end[a:b])))
                             for a, b in zip(timeline.offsets, timeline.offsets[1:], strict=False)]).reshape(3000, 30)  # fmt: skip
        share[aged] = at.mean(axis=0)
    error = np.sqrt(2 / 9 / 3000)
    assert np.abs(share[True] - 2 / 3).max() < 5 * error
    assert np.abs(share[False] - 2 / 3).max() > 50 * error / 5


def test_a_forced_switch_begins_a_visit_anew() -> None:
    plan = Plan(2, np.array([1.0, 0.0]), Q, ALPHA, chain.DwellLaw(fixed=True), interventions=(Switch(4, 1),))
    timeline = Environment(plan, 0, [0]).advance(40)
    assert list(zip(timeline.mode.tolist(), timeline.end.tolist(), strict=True)) == [(0, 4), (1, 24), (0, 34), (1, 40)]
