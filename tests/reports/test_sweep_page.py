"""The page of a sweep: what it says of constructed outcomes, that it is the same twice, that no text becomes markup; the command."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_report import HOSTILE, Reader, assert_harmless
from typer.testing import CliRunner
from worlds import shipped

import tracker
from tracker import limits
from tracker.cli import app
from tracker.cli.sweep_checks import sweep_cost
from tracker.reports.best_of_sweep import contests
from tracker.reports.exhibit import Exhibit, Omitted, VerdictBox
from tracker.reports.sweep_page import points_table, sweep_exhibits, sweep_report
from tracker.reports.sweep_theory import exact_errors
from tracker.reports.sweep_verdict import sweep_verdict
from tracker.reports.who_wins import who_wins
from tracker.runs import Sweep, axes_of, points_of, sweep_running
from tracker.runs.forecast import predicted_cost
from tracker.runs.sweep_result import Outcome

TRIALS = 20
EXAMPLE = shipped("example_a")
PLAIN = {"name": "plain", "kind": "langevin", "epsilon": 0.01, "beta": 2.0}
SKEWED = {"name": "skewed", "kind": "accelerated", "epsilon": 0.01, "beta": 2.0, "skew": 0.5}
BASE = EXAMPLE.replace(trials=TRIALS, samplers=[SKEWED, PLAIN])
KEYS = ["tracking-error", "mean-square-error", "excess-cost", "inside-target", "recovery"]
LUCK = np.random.default_rng(5).uniform(0.5, 1.5, TRIALS)  # of a trial: what all samplers share


def row(name: str, errors: np.ndarray, diverged: int, *, target: bool = True) -> dict[str, Any]:
    average = {"mean": float(errors.mean()), "stderr": float(errors.std(ddof=1) / np.sqrt(TRIALS))}
    waits: dict[str, Any] = {
        "median": 9.0 * average["mean"],
        "mean": 10.0 * average["mean"],
        "low": None,
        "censored": 0.1,
    }
    return {
        "name": name,
        "epsilon": 0.01,
        "diverged": diverged,
        **dict.fromkeys(("tracking_error", "mean_square_error", "excess_cost"), average),
        "inside_target": average if target else None,
        "recovery": waits if target else dict.fromkeys(waits),
        "recovery_mean": {"mean": 10.0 * average["mean"] if target else None, "stderr": None},
    }


def swept(
    level: Any,
    axes: dict[str, list[Any]],
    broken: dict[int, int] | None = None,
    *,
    trials: bool = True,
    target: bool = True,
    samplers: list[dict[str, Any]] | None = None,
    gradients: dict[str, int] | None = None,
) -> Sweep:
    """A sweep in which the errors of a sampler at a point are ``level(name, settings)`` times the luck of the trial.

    broken : diverged trials by point, 0 for one that failed
    trials : whether the errors of each trial are known
    gradients : how many a sampler evaluates in a step, 1 where nothing is said
    """  # fmt: skip
    scenario = BASE.replace(sweep=axes, **({"samplers": samplers} if samplers is not None else {}))
    outcomes = []
    for point in points_of(scenario):
        lost = (broken or {}).get(point.index)
        if lost == 0:
            outcomes.append(Outcome(point, "failed", "MemoryError: planted"))
            continue
        names = ("skewed", "plain", "frozen", "oracle")
        errors = np.stack([LUCK * level(name, dict(point.settings)) for name in names], axis=1)
        rows = [row(name, errors[:, n], lost or 0 if n == 0 else 0, target=target) for n, name in enumerate(names)]
        for one in rows:
            one["evaluations"] = {"gradient": (gradients or {}).get(one["name"], 1), "cost": 0, "hessian": 0}
        state, message = ("diverged", "skewed diverged") if lost else ("complete", "")
        outcomes.append(Outcome(point, state, message, {"samplers": rows}, errors if trials else None))
    return Sweep(scenario, axes_of(scenario), tuple(outcomes))


def times(**levels: float) -> Any:
    return lambda name, _: {"frozen": 2.0, "oracle": 0.0}.get(name, levels.get(name, 1.0))


def box(sweep: Sweep) -> VerdictBox:
    return sweep_verdict(sweep, contests(sweep))


def answer(sweep: Sweep, question: str) -> Any:
    (found,) = [line for line in box(sweep).answers if line.question == question]
    return found


ALPHA = {"chain.alpha": [0.001, 0.002, 0.003]}


# --- the verdict


def test_paired_trials_decide_where_standard_errors_overlap() -> None:
    """5 % between the samplers in every trial, 10 % of standard error from the luck that they share."""
    level = lambda name, _: {"frozen": 2.0, "oracle": 0.0, "skewed": 0.95}.get(name, 1.0)  # noqa: E731
    found = answer(swept(level, ALPHA), "Which sampler?")
    assert (found.mark, found.tone) == ("skewed", "good")
    assert "for all 3 values of chain.alpha" in found.answer
    assert "0.950 times its error (interval [0.950, 0.950], smaller in 20 of 20 paired trials)" in found.in_full
    found = answer(swept(level, ALPHA, trials=False), "Which sampler?")
    assert (found.mark, found.tone) == ("undecided", "warn")
    assert "skewed and plain are not told apart for all 3 values of chain.alpha" in found.answer


def test_standard_errors_alone_decide_what_is_far_apart() -> None:
    found = answer(swept(times(skewed=3.0), ALPHA, trials=False), "Which sampler?")
    assert (found.mark, found.tone) == ("plain", "good")
    assert "from standard errors" in found.in_full


def test_noise_of_its_own_leaves_it_undecided() -> None:
    """Control: the same mean difference of 5 %, but unpaired luck."""
    noise = np.random.default_rng(1).uniform(0.5, 1.5, (2, TRIALS)) / LUCK
    level = lambda name, _: {"skewed": 0.95 * noise[0], "plain": noise[1], "frozen": 2.0, "oracle": 0.0}[name]  # noqa: E731
    assert answer(swept(level, ALPHA), "Which sampler?").mark == "undecided"


def test_one_trial_is_the_reason_only_where_there_is_one() -> None:
    """Neither has an error: no ratio, though there are 16 trials."""
    found = answer(swept(times(skewed=0.0, plain=0.0), ALPHA), "Which sampler?")
    assert "there is no interval of their ratio" in found.in_full
    assert "one trial" not in found.in_full


def test_each_world_has_its_best() -> None:
    level = lambda name, at: {"frozen": 2.0, "oracle": 0.0, "plain": 500.0 * at["chain.alpha"]}.get(name, 0.9)  # noqa: E731
    found = answer(swept(level, ALPHA), "Which sampler?")
    assert (found.mark, found.tone) == ("it depends", "good")
    assert "plain has the smallest error for chain.alpha = 0.001" in found.answer
    assert "skewed has the smallest error for chain.alpha = 0.002, 0.003" in found.answer


def test_settings_are_compared_within_a_world_and_an_end_of_the_range_is_told() -> None:
    """skewed is best at epsilon = 0.02, inside the range, in one world, and at its end in the other."""

    def level(name: str, at: dict[str, float]) -> float:
        best = 0.02 if at["chain.alpha"] == 0.001 else 0.04
        return {"frozen": 2.0, "oracle": 0.0, "plain": 3.0}.get(name, 1.0 + abs(at["samplers.skewed.epsilon"] - best))

    axes = {"chain.alpha": [0.001, 0.002], "samplers.skewed.epsilon": [0.01, 0.02, 0.04]}
    sweep = swept(level, axes)
    first, second = contests(sweep)
    assert (first.best.label, second.best.label) == ("skewed (epsilon = 0.02)", "skewed (epsilon = 0.04)")
    assert len(first.against) == 3, "plain counts once: the epsilon of skewed is none of its keys"
    found = answer(sweep, "Which setting?")
    assert found.mark == "decided"
    edge = "skewed: its best epsilon is at the edge of the grid for 1 of 2 values of chain.alpha; widen it"
    assert any(line.startswith(edge) for line in sweep_verdict(sweep, contests(sweep)).warnings)
    assert answer(sweep, "Which sampler?").mark == "skewed"
    alone = swept(level, axes, {0: 1, 1: 1, 2: 1})
    assert (
        "only plain came to an end without divergence for chain.alpha = 0.001" in answer(alone, "Which sampler?").answer
    )
    # what diverged is never the best
    assert contests(swept(level, axes, {1: 1}))[0].best.label == "skewed (epsilon = 0.01)"


def test_the_gap_that_is_closed_is_told() -> None:
    level = lambda name, at: {"frozen": 2.0, "oracle": 0.0}.get(name, 500.0 * at["chain.alpha"])  # noqa: E731
    found = answer(swept(level, ALPHA), "Did it track?")
    assert found.mark == "partly"
    assert "goes 25 % to 75 % of the way" in found.answer
    assert "surely more than half of it for 1 of 3 values of chain.alpha" in found.answer
    assert "for chain.alpha = 0.003: 25 %" in found.in_full
    assert answer(swept(times(plain=0.5), ALPHA), "Did it track?").mark == "mostly"
    assert answer(swept(times(plain=3.0, skewed=2.5), ALPHA), "Did it track?").mark == "no"


def test_points_that_went_wrong_come_first() -> None:
    sweep = swept(times(), ALPHA, {0: 3, 2: 0})
    few = Sweep(sweep.scenario.replace(trials=3), sweep.axes, tuple(points_with_trials(sweep, 3)))
    lines = box(few).warnings
    assert lines[0] == "point 2 (chain.alpha = 0.003) failed: MemoryError: planted."
    assert lines[1].startswith("point 0 (chain.alpha = 0.001) diverged: skewed diverged; left out")
    assert lines[2].startswith("Only 3 trials")
    assert answer(few, "Can I trust it?").mark == "with care"
    assert box(swept(times(), ALPHA)).warnings == ()
    assert answer(swept(times(), ALPHA), "Can I trust it?").mark == "yes"


def points_with_trials(sweep: Sweep, trials: int) -> Any:
    from dataclasses import replace

    for outcome in sweep.outcomes:
        scenario = outcome.point.scenario.replace(trials=trials)
        yield replace(outcome, point=replace(outcome.point, scenario=scenario))


def test_nothing_came_to_an_end() -> None:
    sweep = swept(times(), ALPHA, {0: 0, 1: 0, 2: 0})
    assert answer(sweep, "Which sampler?").mark == "none"
    assert [type(item) for item in sweep_exhibits(sweep)] == [Omitted] * 5
    assert_harmless(sweep_report(sweep))


# --- the page


def test_the_page_is_the_same_twice_and_stands_alone() -> None:
    sweep = swept(times(skewed=0.9), {"chain.alpha": [0.001, 0.002], "samplers.*.epsilon": [0.01, 0.02]}, {1: 2})
    page = sweep_report(sweep)
    assert sweep_report(sweep) == page
    reader = assert_harmless(page)
    assert "://" not in page
    names = [value for _, name, value in reader.attributes if name == "id"]
    assert len(names) == len(set(names))
    assert [key for key in names if key in KEYS] == KEYS
    assert all(value for tag, name, value in reader.attributes if tag == "svg" and name == "aria-label")
    assert sweep.scenario.toml().strip() in "".join(reader.words)
    assert f"tracker sweep {sweep.scenario.name}.toml" in " ".join(reader.words)
    assert_harmless(sweep._repr_html_())
    assert "Which sampler?" in sweep._repr_html_()


def test_hostile_strings_stay_text() -> None:
    """In the description, in a comment, in the message of a failure, and as values that are swept (plain letters: these are drawn)."""
    values = [text for text in HOSTILE if text.isascii() and "\0" not in text]
    assert len(values) > 35
    sweep = swept(times(), {"description": values[:6]}, {1: 0})
    failed = [Outcome(o.point, "failed", " ".join(values)) if o.state == "failed" else o for o in sweep.outcomes]
    source = sweep.scenario.toml() + "".join(f"# {text}\n" for text in values)
    scenario = sweep.scenario.replace(description=" | ".join(values)).written_as(source)
    words = "".join(assert_harmless(sweep_report(Sweep(scenario, sweep.axes, tuple(failed)))).words)
    for text in values:
        assert words.count(text) >= 3, text


def test_numbers_are_those_of_the_summaries() -> None:
    level = lambda name, at: {"frozen": 2.0, "oracle": 0.0, "plain": 777.7 * at["chain.alpha"]}.get(name, 0.9)  # noqa: E731
    sweep = swept(level, ALPHA, {2: 0})
    shown = points_table(sweep).table
    assert shown.columns == ("point", "chain.alpha", "outcome", "skewed", "plain", "frozen", "oracle")
    assert [cells[1:3] for cells in shown.rows] == [("0.001", "complete"), ("0.002", "complete"), ("0.003", "failed")]
    assert shown.rows[2][3:] == ("–",) * 4
    items = sweep_exhibits(sweep)
    assert [item.key for item in items] == KEYS
    paths = ("mean",) * 5
    for outcome in sweep.outcomes[:2]:
        assert outcome.summary is not None
        for n, entry in enumerate(outcome.summary["samplers"]):
            mean, _, stderr = str(shown.rows[outcome.point.index][3 + n]).partition(" ± ")
            assert float(mean) == pytest.approx(entry["tracking_error"]["mean"], rel=5e-3)
            assert float(stderr or 0.0) == pytest.approx(entry["tracking_error"]["stderr"], rel=5e-2)
            for item, path in zip(items, paths, strict=True):
                assert isinstance(item, Exhibit)
                column = item.table.columns.index(entry["name"])
                cell = item.table.rows[outcome.point.index][column]
                assert cell == entry[item.key.replace("-", "_")][path]


def test_a_metric_that_does_not_apply_is_left_out_with_the_reason() -> None:
    items = sweep_exhibits(swept(times(), ALPHA, target=False))
    assert [item.key for item in items] == KEYS
    assert [item.reason for item in items if isinstance(item, Omitted)] == ["not every mode has a target."] * 2
    page = sweep_report(swept(times(), ALPHA, target=False))
    assert "Left out: not every mode has a target." in " ".join(Reader(page).words)


def test_what_is_held_of_three_axes_is_said() -> None:
    axes = {**ALPHA, "seed": [7, 8], "samplers.*.beta": [1.0, 2.0]}
    items = sweep_exhibits(swept(times(), axes))
    items = [item for item in items if item.key != "who-wins"]
    assert all("only the first value is shown: samplers.*.beta = 1.0" in item.caption for item in items)  # type: ignore[union-attr]
    assert len(contests(swept(times(), axes))) == 6


def test_the_exact_error_stands_beside_the_measured_one() -> None:
    """The law for a fixed S; none where the step is unstable, and none for a cost that is not quadratic.

    docs/mathematics, "Stationary law".
    """
    axes = {"samplers.skewed.epsilon": [0.01, 0.02, 5.0]}
    sweep = swept(times(), axes)
    known = exact_errors(sweep)
    expected = [float(limits.stationary(o.point.scenario, "skewed").mean_square_error) for o in sweep.outcomes[:2]]
    np.testing.assert_array_equal(known["skewed"], [*expected, np.nan])
    with pytest.raises(limits.Unstable):
        limits.stationary(sweep.outcomes[2].point.scenario, "skewed")
    item = sweep_exhibits(sweep)[1]
    assert isinstance(item, Exhibit)
    assert item.table.columns[1:5] == ("skewed", "skewed, exact", "plain", "plain, exact")
    assert [cells[2] for cells in item.table.rows[:2]] == expected
    assert "exact stationary value" in item.caption
    assert "dots are measured" in item.caption
    (ax,) = item.figure.axes
    bars = {str(one.get_label()): one.lines[0] for one in ax.containers}
    curves = {line.get_color(): line for line in ax.lines if len(line.get_xdata()) > 3}
    for name in ("skewed", "plain"):
        assert bars[name].get_linestyle() == "None"  # dots are measured, the curve is not drawn through them
        x, y = (np.asarray(part, dtype=float) for part in curves[bars[name].get_color()].get_data())
        np.testing.assert_allclose(y[np.searchsorted(x, [0.01, 0.02])], known[name][:2], rtol=1e-12)
    between = sweep.scenario.replace(sweep=None, samplers=[{**SKEWED, "epsilon": float(x[20])}, PLAIN])
    exact = np.asarray(curves[bars["skewed"].get_color()].get_ydata(), dtype=float)[20]
    assert exact == pytest.approx(float(limits.stationary(between, "skewed").mean_square_error), rel=1e-12)
    wells = shipped("swapping_wells_sweep")
    empty = tuple(Outcome(point, "complete", "", {"samplers": []}) for point in points_of(wells))
    assert exact_errors(Sweep(wells, axes_of(wells), empty)) == {}


def test_a_page_of_very_many_points_is_cut() -> None:
    page = sweep_report(swept(times(), {"seed": list(range(250))}))
    assert "The first 200 of 250 rows; sweep.nc holds all." in page
    assert len(page.encode()) < 1_500_000


def test_who_wins_is_decided_by_paired_trials_and_hatched_where_it_is_not() -> None:
    """skewed wins where alpha is small, plain where it is large, by a tenth in every trial; between them it is luck of their own."""
    own = np.random.default_rng(2).uniform(0.5, 1.5, TRIALS) / LUCK

    def level(name: str, at: dict[str, float]) -> Any:
        if name in ("frozen", "oracle"):
            return {"frozen": 2.0, "oracle": 0.0}[name]
        if at["chain.alpha"] == 0.002:
            return own if name == "plain" else 1.0
        return 0.9 if (name == "skewed") == (at["chain.alpha"] == 0.001) else 1.0

    sweep = swept(level, {**ALPHA, "samplers.*.epsilon": [0.01, 0.02]})
    found = who_wins(sweep)
    assert found is not None
    assert found.caption == "Of 6 points: skewed at 2, plain at 2, not told apart at 2."
    patches = list(found.figure.axes[0].patches)
    assert [bool(patch.get_hatch()) for patch in patches] == [False, False, True, True, False, False]
    assert len({patch.get_facecolor() for patch in patches}) == 3  # two samplers, and nothing where it is not decided
    assert [row[2] for row in found.table.rows if row[0] != "0.002"] == ["skewed"] * 2 + ["plain"] * 2
    assert who_wins(swept(level, ALPHA)) is None  # one key: the lines tell it
    assert [item.key for item in sweep_exhibits(sweep)] == ["who-wins", *KEYS]


def test_pictures_that_say_the_same_are_folded() -> None:
    items = {item.key: item for item in sweep_exhibits(swept(times(), {**ALPHA, "seed": [1, 2]}))}
    assert [key for key, item in items.items() if getattr(item, "folded", False)] == [
        "excess-cost"
    ]  # squares are exact here
    page = sweep_report(swept(times(), {**ALPHA, "seed": [1, 2]}))
    assert page.count('<details class="more">') == 1


def test_a_claim_about_a_metric_is_the_caption_of_its_picture() -> None:
    claim = {
        "text": "Skewed is nearer.",
        "left": "tracking_error.skewed",
        "relation": "<",
        "right": "tracking_error.plain",
    }
    sweep = swept(times(skewed=0.9), ALPHA)
    scenario = sweep.scenario.replace(claims=[claim])
    judged = [
        {**o.summary, "claims": [{"outcome": w}]}
        for o, w in zip(sweep.outcomes, ("holds", "holds", "not told"), strict=False)
    ]  # type: ignore[dict-item]
    outcomes = [Outcome(o.point, o.state, "", s, o.errors) for o, s in zip(sweep.outcomes, judged, strict=True)]
    items = {item.key: item for item in sweep_exhibits(Sweep(scenario, sweep.axes, tuple(outcomes)))}
    assert items["tracking-error"].caption == "Skewed is nearer: holds at 2, not told at 1 of 3 points."  # type: ignore[union-attr]
    assert "nearer" not in items["excess-cost"].caption  # type: ignore[union-attr]  # control: the claim is not about it


def test_a_check_that_failed_does_not_say_that_it_passed() -> None:
    fine = {check.name: check.result for check in box(swept(times(), ALPHA)).checks}
    assert fine["points"] == "3 points came to an end"
    assert fine["chain"] == "chains as their laws say"
    assert fine["grid"] == "no best value at the edge of the grid"

    def level(name: str, at: dict[str, float]) -> float:
        return {"frozen": 2.0, "oracle": 0.0, "plain": 3.0}.get(name, 1.0 + at["samplers.skewed.epsilon"])

    sweep = swept(level, {"samplers.skewed.epsilon": [0.01, 0.02, 0.04]}, {2: 0})
    chain = {"switches": 1, "dwell": []}
    few = [
        Outcome(o.point, o.state, o.message, o.summary and {**o.summary, "chain": chain}, o.errors)
        for o in sweep.outcomes
    ]
    failed = {check.name: check for check in box(Sweep(sweep.scenario, sweep.axes, tuple(few))).checks}
    assert failed["points"].result == "2 of 3 points came to an end"
    assert failed["grid"].result == "best values at the edge of the grid"
    assert failed["chain"].result == "switches, waits or visits are in doubt"
    assert not any(failed[name].fine for name in ("points", "grid", "chain"))


# --- the command


SHORT = ("trials=2", "steps=60", "record_every=10", "chain.alpha=0.02", 'chain.initial="stationary"')
SMALL = tracker.parse(EXAMPLE.toml(), settings=SHORT).replace(
    sweep={"chain.alpha": [0.01, 0.02], "samplers.skewed.epsilon": [0.01, 0.02]}
)


def invoke(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_a_sweep_ends_with_a_page_and_report_writes_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.toml").write_text(SMALL.toml())
    out = tmp_path / "out"
    command = ("sweep", tmp_path / "a.toml", "--out", out)
    quiet = invoke(*command, "--no-report")
    assert quiet.exit_code == 0, quiet.stderr
    assert not (out / "report.html").exists()
    monkeypatch.delenv("TRACKER_NO_REPORT")
    done = invoke(*command, "--resume")
    assert done.exit_code == 0, done.stderr
    assert "writing the report" in done.stderr
    assert f"report: {out / 'report.html'}" in done.stdout.replace("\n", "")
    again = invoke("report", out, "--out", tmp_path / "p.html", "--figures", "svg")
    assert again.exit_code == 0, again.stderr
    assert (tmp_path / "p.html").read_bytes() == (out / "report.html").read_bytes()
    drawn = [key for key in KEYS if (tmp_path / "figures" / f"{key}.svg").is_file()]
    assert drawn[:3] == KEYS[:3]
    assert again.stdout.splitlines() == [
        str(tmp_path / "p.html"), *(str(tmp_path / "figures" / f"{key}.svg") for key in drawn),
    ]  # fmt: skip
    page = Reader((tmp_path / "p.html").read_text(encoding="utf-8"))
    assert tracker.open_sweep(out).scenario.sha256 in " ".join(page.words)
    in_memory = tracker.sweep(SMALL, executor=1)
    for one, other in zip(in_memory.outcomes, tracker.open_sweep(out).outcomes, strict=True):
        np.testing.assert_array_equal(one.errors, other.errors)
        assert one.errors is not None
        means = [entry["tracking_error"]["mean"] for entry in one.summary["samplers"]]  # type: ignore[index]
        np.testing.assert_allclose(one.errors.mean(axis=0), means, rtol=1e-12)  # identity


def test_an_unfinished_sweep_is_refused_with_the_command_that_finishes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun with --set, so that its own scenario.toml, which the command names, is no copy of the file."""
    (tmp_path / "a.toml").write_text(SMALL.toml())
    whole = sweep_running.run

    def interrupted(scenario: tracker.Scenario, *args: Any, **options: Any) -> tracker.Run:
        if scenario.chain is not None and scenario.chain.alpha == 0.02:
            raise KeyboardInterrupt
        return whole(scenario, *args, **options)

    out = tmp_path / "an out"
    with monkeypatch.context() as patch:
        patch.setattr(sweep_running, "run", interrupted)
        assert invoke("sweep", tmp_path / "a.toml", "--out", out, "--set", "trials=3", "--quiet").exit_code == 130
    refused = invoke("report", out)
    assert refused.exit_code == 7
    assert not (out / "report.html").exists()
    found = re.search(r"the sweep is not finished; (tracker sweep .* --resume) finishes it", refused.stderr)
    assert found is not None, refused.stderr
    again = invoke(*shlex.split(found[1])[1:], "--quiet")
    assert again.exit_code == 0, again.stderr
    assert {o.point.scenario.trials for o in tracker.open_sweep(out).outcomes} == {3}
    assert invoke("report", out).exit_code == 0
    assert (out / "report.html").is_file()


def test_failed_points_stay_failed_and_damage_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, whole = tmp_path / "out", sweep_running.run

    def fails(scenario: tracker.Scenario, *args: Any, **options: Any) -> tracker.Run:
        if scenario.chain is not None and scenario.chain.alpha == 0.02:
            raise MemoryError("planted")
        return whole(scenario, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(sweep_running, "run", fails)
        tracker.sweep(SMALL, out, 1)
    found = tracker.open_sweep(out)
    assert [o.state for o in found.outcomes] == ["complete", "complete", "failed", "failed"]
    assert "MemoryError: planted" in sweep_verdict(found, contests(found)).warnings[0]
    result = next((out / "points").glob("0_*")) / "result.nc"
    content = bytearray(result.read_bytes())
    content[len(content) // 2] ^= 4
    result.write_bytes(content)
    refused = invoke("report", out)
    assert (refused.exit_code, "point 0 " in refused.stderr) == (7, True)
    (out / "points.json").write_text(json.dumps({"points": []}))
    assert "points.json is damaged; tracker sweep --resume writes it again" in invoke("report", out).stderr
    (out / "sweep.json").write_text("{}")
    assert "sweep.json is damaged" in invoke("report", out).stderr


def test_a_sweep_keeps_its_data_files_beside_its_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = shipped("logistic_stream").replace(sweep={"seed": [1, 2]})

    def fails(*_: Any, **__: Any) -> None:
        raise MemoryError("planted")

    monkeypatch.setattr(sweep_running, "run", fails)
    tracker.sweep(scenario, tmp_path / "out", 1)
    assert scenario.files
    for name, content in scenario.files.items():
        assert (tmp_path / "out" / name).read_bytes() == content
    assert tracker.open_sweep(tmp_path / "out").scenario.content() == scenario.content()


def test_the_forecast_of_a_sweep_holds_one_page() -> None:
    points = points_of(SMALL)
    alone = sum(predicted_cost(point.scenario, page=False).disk for point in points)
    with_pages = sum(predicted_cost(point.scenario).disk for point in points)
    assert alone < sweep_cost(points).disk < with_pages
