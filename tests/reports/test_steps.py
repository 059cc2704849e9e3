"""Steps beside errors: no page, table or sentence calls a sampler better without saying at which step."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from test_sweep_page import SKEWED, answer, swept
from worlds import SCENARIOS

import tracker
from tracker import limits, skew
from tracker.cli.summary_printing import print_summary
from tracker.reports import own_best_step, run_vs_run, tuning
from tracker.reports.exhibit import Exhibit, Omitted, Shown
from tracker.reports.exhibits import diagnostics
from tracker.reports.own_best_step import with_own_steps
from tracker.reports.run_page import overview, sections
from tracker.reports.run_view import View
from tracker.reports.step_notes import at_steps, evaluations, per_gradient
from tracker.reports.sweep_page import sweep_report, tuning_table
from tracker.reports.verdict_box import verdict
from tracker.runs import sweep as carried_out

H = [[4.0, 1.0], [1.0, 2.0]]
# words that rank: a sentence with one of them and a sampler's name must say at which step
RANKING = re.compile(
    r"smallest|least|best|better|ahead|sooner|fastest|times that of|times its error|stayed|spends|within a median|from .* to"
)
STEPS = re.compile(r"epsilon = [0-9.]+|ε = [0-9.]+")
NAMES = ("careful", "quick")


def two_copies(**changes: Any) -> tracker.Scenario:
    """One sampler twice, at two steps."""
    text = f"""
        name = "copies"
        seed = 3
        trials = 6
        steps = 150
        record_every = 3
        start = [0.0, 0.0]
        chain = {{ alpha = 0.03, Q = [[-1.0, 1.0], [1.0, -1.0]] }}
        modes = [
            {{ name = "up", cost = "quadratic", minimum = [1.0, 1.0], curvature = {H}, gradient_noise = [[1.0, 0.0], [0.0, 1.0]] }},
            {{ name = "down", cost = "quadratic", minimum = [-1.0, -1.0], curvature = {H}, gradient_noise = [[1.0, 0.0], [0.0, 1.0]] }},
        ]
        samplers = [
            {{ name = "careful", kind = "langevin", epsilon = 0.002, beta = 10.0 }},
            {{ name = "quick", kind = "langevin", epsilon = 0.05, beta = 10.0 }},
        ]
    """
    return tracker.parse(text).replace(**changes)


@pytest.fixture(scope="module")
def copies() -> tracker.Run:
    return interpreted(two_copies())


def unnamed(texts: list[str]) -> list[str]:
    """The texts that rank samplers without a step."""
    return [
        text
        for text in texts
        if any(name in text for name in NAMES) and RANKING.search(text) and not STEPS.search(text)
    ]


def texts_of(run: tracker.Run) -> list[str]:
    view = View(run)
    parts = sections(view, diagnostics.health(view))
    items = [item for part in parts for item in part.items]
    found = [f"{a.mark}: {a.in_full}" for a in verdict(view, {}).answers]
    return found + [item.caption if isinstance(item, (Exhibit, Shown)) else item.reason for item in items]  # type: ignore[union-attr]


def test_no_text_of_a_page_ranks_copies_without_their_steps(copies: tracker.Run) -> None:
    texts = texts_of(copies)
    assert len([text for text in texts if any(name in text for name in NAMES)]) > 6
    assert unnamed(texts) == []
    which = next(a for a in verdict(View(copies), {}).answers if a.question == "Which sampler?")
    assert which.answer.endswith("at these steps.")
    assert "At these steps: epsilon = 0.002 for careful, 0.05 for quick." in which.more


def test_the_reader_of_rankings_sees_one() -> None:
    """The control."""
    assert unnamed(["quick has the smallest tracking error."]) != []
    assert unnamed(["quick (epsilon = 0.05) has the smallest tracking error."]) == []


def test_the_table_says_step_limit_and_evaluations(copies: tracker.Run, capsys: pytest.CaptureFixture[str]) -> None:
    """A quadratic without S is stable below 2 / its largest curvature."""
    limit = 2.0 / float(np.linalg.eigvalsh(H).max())
    assert skew.stability_limit(np.array(H), np.zeros((2, 2))) == pytest.approx(limit)
    rows = {row["name"]: row for row in copies.summary["samplers"]}
    assert rows["quick"]["step_over_limit"] == pytest.approx(0.05 / limit, rel=1e-12)
    assert rows["frozen"]["step_over_limit"] is None
    shown = overview(View(copies)).table
    cells = {row[0]: dict(zip(shown.columns, row, strict=True)) for row in shown.rows}
    assert (cells["careful"]["ε"], cells["quick"]["ε"]) == ("0.002", "0.05")
    assert cells["quick"]["ε / its limit"] == f"{0.05 / limit:.2f}"
    assert cells["quick"]["a step evaluates"] == "1 gradient"
    print_summary(copies.summary, None)
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert lines["quick"][1:5] == ["0.05", f"{0.05 / limit:.2g}", "1", "grad"]
    assert lines["frozen"][1:4] == ["-", "-", "-"]


def test_what_a_step_evaluates_in_words() -> None:
    assert evaluations({"gradient": 2, "cost": 2, "hessian": 0}) == "2 gradients + 2 costs"
    assert evaluations({"gradient": 1, "cost": 0, "hessian": 1}) == "1 gradient + 1 Hessian"
    assert evaluations({"gradient": 0, "cost": 0, "hessian": 0}) == "–"


def test_steps_in_words() -> None:
    assert at_steps({"a": 0.001, "b": 0.001}) == "epsilon = 0.001 for all"
    assert at_steps({"a": 0.001}) == "epsilon = 0.001"
    assert at_steps({"a": 0.001, "b": 0.01, "c": 0.001}) == "epsilon = 0.001 for a and c, 0.01 for b"
    many = {f"s{n}": float(n + 1) for n in range(8)}
    assert at_steps(many) == "epsilon from 1 (s0) to 8 (s7)"
    moving = {"a": 0.001, "b": 0.001}  # the steps of classical samplers that move as fast
    assert at_steps({"a": 0.001, "b": 0.005}, moving) == "epsilon = 0.001 for a, 0.005 (effective 0.001) for b"
    assert at_steps({"b": 0.005}, moving) == "epsilon = 0.005 (effective 0.001)"
    assert at_steps(many, {"s3": 2.0}) == "epsilon from 1 (s0) to 8 (s7), 4 (effective 2) for s3"
    assert at_steps(many, {"s7": 2.0}) == "epsilon from 1 (s0) to 8 (effective 2) (s7)"


def test_an_error_per_gradient_is_that_of_another_alpha() -> None:
    assert "alike per step and per gradient" in per_gradient({"a": 1, "b": 1}, 0.01)
    told = per_gradient({"a": 1, "b": 2, "c": 41}, 0.01)
    assert "b at chain.alpha = 0.02 (2 gradients a step) and c at chain.alpha = 0.41 (41 gradients a step)" in told
    assert "not measured here" in told
    assert per_gradient({"a": 2}, 0.01) == ""


def test_the_verdict_says_what_own_best_steps_would_change(copies: tracker.Run) -> None:
    """quick, with its larger step, wins at the file's steps; at their own best steps the two copies are level."""
    view = View(copies)
    which = next(a for a in with_own_steps(verdict(view, {}), view).answers if a.question == "Which sampler?")
    assert which.more[0].startswith(
        "Exact mean square errors, without simulation: each at its own best step careful and quick are level ("
    )
    plain = next(a for a in verdict(view, {}).answers if a.question == "Which sampler?")
    assert which.more[1:] == plain.more
    wells = View(
        interpreted(tracker.load(SCENARIOS / "swapping_wells.toml", ["trials=2", "steps=60", "record_every=6"]))
    )
    assert with_own_steps(verdict(wells, {}), wells) == verdict(
        wells, {}
    )  # theory knows no best step there: nothing is said


def test_own_best_steps_are_the_exact_ones(copies: tracker.Run) -> None:
    """Two copies have one best step and one least error: at it they are level, whatever the file says."""
    best = limits.best_step(copies.scenario, "quick")
    shown = own_best_step.own_steps(View(copies))
    assert isinstance(shown, Shown)
    rows = {row[0]: dict(zip(shown.table.columns, row, strict=True)) for row in shown.table.rows}
    for name in NAMES:
        exact = float(limits.stationary(copies.scenario, name).mean_square_error)
        assert rows[name]["error at ε"] == pytest.approx(exact, rel=1e-9)
        assert float(str(rows[name]["best step"])) == pytest.approx(best.epsilon, rel=5e-3)
        assert rows[name]["error at it"] == pytest.approx(best.mean_square_error, rel=1e-9)
    assert rows["quick"]["each at its best step"] == pytest.approx(1.0, rel=1e-9)
    assert rows["quick"]["error to careful's, at ε"] != pytest.approx(1.0, rel=0.1)
    assert "each at its own best step careful and quick are level (" in shown.caption


def test_own_best_steps_name_the_sampler_with_the_least_error() -> None:
    """The colder one; its error stands over that of the first, the hotter one."""
    samplers = [
        {"name": name, "kind": "langevin", "epsilon": 0.01, "beta": b} for name, b in (("hot", 5.0), ("cold", 50.0))
    ]
    run = interpreted(two_copies(samplers=samplers, trials=2, steps=30))
    hot, cold = (limits.best_step(run.scenario, name).mean_square_error for name in ("hot", "cold"))
    assert cold < 0.9 * hot
    shown = own_best_step.own_steps(View(run))
    assert isinstance(shown, Shown)
    ratios = [dict(zip(shown.table.columns, row, strict=True))["each at its best step"] for row in shown.table.rows]
    assert ratios == pytest.approx([1.0, cold / hot], rel=1e-9)
    assert "each at its own best step cold (" in shown.caption


def test_a_best_step_that_is_refused_has_its_reason(copies: tracker.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise ValueError("the error still falls at epsilon = 1e-9, so that no step is the best")

    monkeypatch.setattr("tracker.limits.best_constant_step.best_step", refuse)
    monkeypatch.setattr("tracker.limits.best_step", refuse, raising=False)
    shown = own_best_step.own_steps(View(copies))
    assert isinstance(shown, Shown)
    assert all(
        row[-1] == "no best step: the error still falls at epsilon = 1e-9, so that no step is the best"
        for row in shown.table.rows
    )
    assert "no best step is known for careful and quick" in shown.caption


def test_costs_that_are_not_quadratic_are_sent_to_a_sweep() -> None:
    mode = {"cost": "polynomial", "variables": ["a"], "target": {"radius": 0.1}}
    modes = [{"name": "l", "formula": "(a - 1)^2", **mode}, {"name": "r", "formula": "(a + 1)^2", **mode}]
    found = own_best_step.own_steps(View(interpreted(two_copies(modes=modes, start=[0.0], trials=2, steps=30))))
    assert isinstance(found, Omitted)
    assert 'sweep "samplers.*.epsilon"' in found.reason


def test_two_runs_are_compared_at_named_steps(copies: tracker.Run) -> None:
    samplers = [{"name": name, "kind": "langevin", "epsilon": 0.01, "beta": 10.0} for name in NAMES]
    other = interpreted(two_copies(samplers=samplers))
    changes = run_vs_run.compare(copies, other)
    line = run_vs_run.steps_line(copies, other)
    assert (
        line
        == "At these steps: epsilon = 0.002 for careful, 0.05 for quick in the first run, epsilon = 0.01 for all in the second."
    )
    exhibit = run_vs_run._exhibit(changes, View(copies), View(other))
    assert line in exhibit.caption
    row = run_vs_run.steps(copies, other)[1]
    assert (row["first"]["epsilon"], row["second"]["epsilon"]) == (0.05, 0.01)
    assert row["second"]["step_over_limit"] == pytest.approx(row["first"]["step_over_limit"] / 5)
    assert run_vs_run.steps_line(copies, copies).endswith("0.05 for quick, in both runs.")


# --- sweeps


def test_a_sweep_names_the_steps_of_copies() -> None:
    """Of alpha, so that the steps are the file's; and of the steps."""
    two = [dict(SKEWED, name="skewed", epsilon=0.01), dict(SKEWED, name="plain", epsilon=0.02)]
    level = lambda name, _: {"frozen": 2.0, "oracle": 0.0, "plain": 0.5}.get(name, 1.0)  # noqa: E731
    sweep = swept(level, {"chain.alpha": [0.001, 0.002]}, samplers=two)
    found = answer(sweep, "Which sampler?")
    assert found.mark == "plain"
    assert found.in_full.endswith("At these steps: epsilon = 0.02 for plain, 0.01 for skewed.")
    assert "plain at epsilon = 0.02" in answer(sweep, "Did it track?").in_full
    assert "Steps: epsilon = 0.01 for skewed, 0.02 for plain." in sweep_report(sweep)
    own = lambda name, at: {"frozen": 2.0, "oracle": 0.0}.get(name, 1.0 + at["samplers.*.epsilon"])  # noqa: E731
    told = answer(swept(own, {"samplers.*.epsilon": [0.01, 0.02]}), "Which sampler?").in_full
    assert told.endswith(
        "Each stands at its own best step of those tried: skewed at epsilon = 0.01, plain at epsilon = 0.01."
    )


def curve(name: str, at: dict[str, Any]) -> float:
    """skewed is best at 0.01, plain at 0.04, where it is 10 % better; at any one step skewed is ahead but at 0.04."""
    fixed = {"frozen": 2.0, "oracle": 0.0}
    table = {
        "skewed": {0.01: 1.0, 0.02: 1.2, 0.04: 1.5},
        "plain": {0.01: 2.0, 0.02: 1.4, 0.04: 0.9},
    }
    return fixed.get(name) if name in fixed else table[name][at["samplers.*.epsilon"]]  # type: ignore[return-value]


def test_each_sampler_is_tuned_on_its_own_axis() -> None:
    sweep = swept(curve, {"samplers.*.epsilon": [0.01, 0.02, 0.04]})
    first, second = tuning.best_steps(sweep)
    assert (first.best.sampler, first.best.epsilon, first.own) == ("skewed", 0.01, None)
    assert (second.best.sampler, second.best.epsilon) == ("plain", 0.04)
    assert (first.reference, second.tried, second.at_an_end) == ("skewed", (0.01, 0.02, 0.04), True)
    assert first.at_an_end  # the smallest of those tried
    assert second.own is not None
    assert second.own.estimate == pytest.approx(0.9)
    assert [(step, pair.estimate) for step, pair in second.same] == [
        (0.01, pytest.approx(2.0)), (0.02, pytest.approx(1.4 / 1.2)), (0.04, pytest.approx(0.6)),
    ]  # fmt: skip
    assert second.per_gradient == second.own  # one gradient each
    shown = tuning_table([first, second]).table
    row = dict(zip(shown.columns, shown.rows[1], strict=True))
    assert row["to skewed, each at its best step"].startswith("0.900 [")  # type: ignore[union-attr]
    assert row["best step"] == "0.04 (of 3, at an end)"
    assert row["at the same step"] == "ε = 0.01: 2 [2, 2]; ε = 0.04: 0.600 [0.600, 0.600]"
    assert "Each sampler at its own best step" in sweep_report(sweep)
    assert tuning.best_steps(swept(lambda *_: 1.0, {"chain.alpha": [0.001, 0.002]})) == ()


def test_axes_of_one_sampler_each_are_tuned_apart() -> None:
    axes = {"samplers.skewed.epsilon": [0.01, 0.02], "samplers.plain.epsilon": [0.03, 0.04, 0.05]}

    def level(name: str, at: dict[str, Any]) -> float:
        if name in ("frozen", "oracle"):
            return {"frozen": 2.0, "oracle": 0.0}[name]
        best = {"skewed": 0.02, "plain": 0.04}[name]
        return 1.0 + abs(at[f"samplers.{name}.epsilon"] - best)

    first, second = tuning.best_steps(swept(level, axes))
    assert (first.best.epsilon, second.best.epsilon, second.at_an_end) == (0.02, 0.04, False)
    assert second.same == ()  # no step in common
    assert tuning.cells(second)[5] == "no step in common"


def test_intervals_allow_for_the_choice() -> None:
    """Student's quantiles with 19 degrees of freedom for 6 candidates and for 9 pairs, by hand."""
    from scipy.stats import t

    noise = np.random.default_rng(8).uniform(0.8, 1.2, (2, 3, 20))
    steps = [0.01, 0.02, 0.04]

    def level(name: str, at: dict[str, Any]) -> Any:
        if name in ("frozen", "oracle"):
            return {"frozen": 2.0, "oracle": 0.0}[name]
        n = steps.index(at["samplers.*.epsilon"])
        return curve(name, at) * noise[("skewed", "plain").index(name), n]

    sweep = swept(level, {"samplers.*.epsilon": steps})
    first, second = tuning.best_steps(sweep)
    errors = [row.best.errors for row in (first, second)]
    assert errors[0] is not None
    assert errors[1] is not None
    reach = t.ppf(1.0 - 0.05 / 6 / 2, 19) * errors[1].std(ddof=1) / np.sqrt(20)
    assert (second.low, second.high) == pytest.approx((errors[1].mean() - reach, errors[1].mean() + reach), rel=1e-12)
    influence = errors[1] / errors[1].mean() - errors[0] / errors[0].mean()
    middle = np.log(errors[1].mean() / errors[0].mean())
    reach = t.ppf(1.0 - 0.05 / 9 / 2, 19) * influence.std(ddof=1) / np.sqrt(20)
    assert second.own is not None
    assert (second.own.low, second.own.high) == pytest.approx(np.exp([middle - reach, middle + reach]), rel=1e-12)


def test_per_gradient_meets_the_chain_that_runs_on() -> None:
    """plain takes two gradients a step: in the world alpha it stands at 2 alpha, if that is swept."""

    def level(name: str, at: dict[str, Any]) -> float:
        return {
            "frozen": 9.0,
            "oracle": 0.0,
            "skewed": 1.0 + 100 * at["chain.alpha"],
            "plain": 0.9 + 200 * at["chain.alpha"],
        }[name]

    axes = {"chain.alpha": [0.001, 0.002, 0.003], "samplers.*.epsilon": [0.01, 0.02]}
    sweep = swept(level, axes, gradients={"plain": 2})
    rows = {tuning.where(row.world): row for row in tuning.best_steps(sweep) if row.best.sampler == "plain"}
    one = rows["chain.alpha = 0.001"]
    assert one.per_gradient is not None
    assert one.own is not None
    assert one.own.estimate == pytest.approx((0.9 + 0.2) / 1.1)
    assert one.per_gradient.estimate == pytest.approx((0.9 + 0.4) / 1.1)
    assert one.per_gradient.trials == 0  # other chains: not paired
    two = rows["chain.alpha = 0.002"]
    assert (two.per_gradient, two.needs) == (None, (0.004,))
    assert "needs chain.alpha = 0.004" in tuning.cells(two)
    line = next(row for row in tuning.rows_as_json([two]))
    assert line["per_gradient"] is None
    assert line["per_gradient_needs_alpha"] == [0.004]


def test_per_gradient_two_that_take_two_each_stand_where_the_chain_ran_on() -> None:
    """The same number of gradients is no reason to stay at alpha: only one gradient each is."""

    def level(name: str, at: dict[str, Any]) -> float:
        slopes = {"frozen": 0.0, "oracle": 0.0, "skewed": 100.0, "plain": 200.0}
        return (0.0 if name == "oracle" else 1.0) + slopes[name] * at["chain.alpha"]

    axes = {"chain.alpha": [0.001, 0.002], "samplers.*.epsilon": [0.01, 0.02]}
    for gradients, wanted in ((1, 1.2 / 1.1), (2, 1.4 / 1.2)):
        rows = tuning.best_steps(swept(level, axes, gradients={"plain": gradients, "skewed": gradients}))
        first = next(row for row in rows if row.best.sampler == "plain")
        assert first.per_gradient is not None
        assert first.per_gradient.estimate == pytest.approx(wanted)


def test_the_json_and_the_terminal_of_a_sweep_hold_the_tuning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tracker.cli.printing import console
    from tracker.cli.sweep import sweep_as_json
    from tracker.reports.sweep_as_text import show_tuning, tuning_of

    sweep = swept(curve, {"samplers.*.epsilon": [0.01, 0.02, 0.04]})
    rows = sweep_as_json(sweep, "tracking_error", None)["tuning"]
    assert [(row["sampler"], row["best_step"], row["reference"]) for row in rows] == [
        ("skewed", 0.01, None),
        ("plain", 0.04, "skewed"),
    ]
    assert rows[1]["own_best_steps"]["estimate"] == pytest.approx(0.9)
    assert [one["epsilon"] for one in rows[1]["same_step"]] == [0.01, 0.02, 0.04]
    json.dumps(rows)
    show_tuning(console(), tuning_of(sweep, "recovery"))
    out = capsys.readouterr().out
    assert "each sampler at its own best step, by tracking error" in out
    assert "0.04 (of 3, at an end)" in out


# --- numbers of a sweep, from the arrays by hand


def test_the_numbers_of_a_sweep_are_those_of_its_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every point is run again by itself; errors and their squares are averaged from the recorded points by hand."""
    monkeypatch.setattr("tracker.runs.sweep_running.run", lambda scenario, *_, **__: interpreted(scenario))
    scenario = two_copies(record_every=1, trials=4, steps=60, burn_in=7)
    sweep = carried_out(scenario.replace(sweep={"chain.alpha": [0.03, 0.1], "samplers.*.epsilon": [0.01, 0.05]}))
    minima = np.array([[1.0, 1.0], [-1.0, -1.0]])
    data = sweep.dataset
    for outcome in sweep.outcomes:
        arrays = interpreted(outcome.point.scenario).arrays
        alpha, epsilon = (value for _, value in outcome.point.settings)
        away = arrays["theta"][:, :, 7:60] - minima[arrays["mode"][:, None, 7:60]]
        distance = np.sqrt((away**2).sum(axis=-1))
        for metric, values in (("tracking_error", distance), ("mean_square_error", distance**2)):
            by_trial = values.mean(axis=2)  # (trials, samplers)
            here = data[metric].sel({"chain.alpha": alpha, "samplers.*.epsilon": epsilon})
            spread = data[f"{metric}_stderr"].sel({"chain.alpha": alpha, "samplers.*.epsilon": epsilon})
            np.testing.assert_allclose(here.values, by_trial.mean(axis=0), rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(spread.values, by_trial.std(axis=0, ddof=1) / 2.0, rtol=1e-9, atol=1e-14)
            known = outcome.errors if metric == "tracking_error" else outcome.squares
            np.testing.assert_allclose(known, by_trial, rtol=1e-12, atol=1e-14)
        mode = arrays["mode"][:, :60]
        assert outcome.summary is not None
        assert outcome.summary["chain"]["switches"] == (np.diff(mode, axis=1) != 0).sum()
        ratio = data["ratio"].sel({"chain.alpha": alpha, "samplers.*.epsilon": epsilon}).values
        np.testing.assert_allclose(ratio[:2], alpha / epsilon, rtol=1e-12)
    best = {(row.best.sampler, tuning.where(row.world)): row for row in tuning.best_steps(sweep, "mean_square_error")}
    values = data["mean_square_error"].sel({"sampler": "quick", "chain.alpha": 0.1})
    row = best["quick", "chain.alpha = 0.1"]
    assert row.best.epsilon == float(values["samplers.*.epsilon"][int(np.argmin(values.values))])
    assert row.best.error.mean == float(values.min())


def test_every_column_of_a_sweep_is_its_own_key_of_the_summaries() -> None:
    """Each key has a number of its own; a point that failed has none."""
    sweep = swept(lambda *_: 1.0, {"chain.alpha": [0.001, 0.002, 0.003]}, broken={1: 3, 2: 0})
    keys = {"median": 7.0, "already": 0.2, "low": 5.0, "high": 12.0, "censored": 0.1, "mean": 8.0}
    metrics = ("tracking_error", "mean_square_error", "excess_cost", "regret", "accuracy", "inside_target")
    averages = {name: {"mean": 20.0 + n, "stderr": 0.5 + n} for n, name in enumerate(metrics)}
    averages["recovery_mean"] = {"mean": 8.0, "stderr": 0.3}
    for outcome in sweep.outcomes:
        for row in outcome.summary["samplers"] if outcome.summary is not None else ():
            row.update(recovery=keys, path_length=3.5, **averages)
            row["detection"] = {"delay": {"mean": 4.0, "stderr": 0.4}, "false_alarms": 1.5, "missed": 0.25}
    wanted = {"delay": 4.0, "delay_stderr": 0.4, "false_alarms": 1.5, "missed": 0.25, "path_length": 3.5}
    wanted |= {f"recovery_{key}": value for key, value in keys.items() if key != "mean"}
    wanted |= {"recovery": 8.0, "recovery_stderr": 0.3, "epsilon": 0.01}
    wanted |= {name: 20.0 + n for n, name in enumerate(metrics)}
    wanted |= {f"{name}_stderr": 0.5 + n for n, name in enumerate(metrics)}
    data = sweep.dataset
    assert set(data) >= {*wanted, "diverged", "ratio", "outcome"}
    for name, value in wanted.items():
        np.testing.assert_array_equal(data[name], [[value] * 4, [value] * 4, [np.nan] * 4], err_msg=name)
    np.testing.assert_array_equal(data["diverged"][:, 0], [0.0, 3.0, np.nan])
    np.testing.assert_array_equal(data["outcome"], [0, 1, 2])
    np.testing.assert_allclose(data["ratio"][:2, 1], [0.1, 0.2], rtol=1e-12)


def test_a_limit_that_takes_seconds_is_left_to_the_page(copies: tracker.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every observation has a Hessian of its own, the summary does without; the page does not."""
    from tracker.costs.minimise.local import Hessians
    from tracker.runs import stability_of_steps as steps

    monkeypatch.setattr(steps, "linearise", lambda *_: [Hessians(np.array([H, H]), cyclic=False)])
    assert all(
        np.isnan(value) for value in steps.steps_over_limits(copies.problem, copies.arrays, at_once=True).values()
    )
    found = steps.steps_over_limits(copies.problem, copies.arrays)
    assert found["quick"] == pytest.approx(0.05 * float(np.linalg.eigvalsh(H).max()) / 2.0, rel=1e-6)
