"""Two runs on the same trials: what is told, what is refused, and when a script fails."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner
from worlds import SCENARIOS

import tracker
from tracker.cli import app
from tracker.formatting import interval, number
from tracker.metrics.paired import Paired, difference
from tracker.reports.fail_conditions import failures, parse_condition
from tracker.reports.run_view import View
from tracker.reports.run_vs_run import Change, NotPaired, _exhibit, compare
from tracker.reports.what_differs import _for_all, comparison_box, differences
from tracker.runs import Run

TEXT = (SCENARIOS / "example_a.toml").read_text()
SHORT = ("trials=8", "steps=300", "record_every=20", "chain.alpha=0.02", 'chain.initial="stationary"')


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same world with a small and a larger step, another world, and a step at which all trials diverge."""
    base = tmp_path_factory.mktemp("runs")
    changes = {
        "small": (),
        "large": ("samplers.skewed.epsilon=0.1",),
        "other": ("seed=2",),
        "lost": ("samplers.skewed.epsilon=50",),
    }
    for name, more in changes.items():
        tracker.run(tracker.parse(TEXT, settings=(*SHORT, *more)), base / name, executor=1)
    return {name: base / name for name in changes}


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def test_ratios_are_those_of_paired_trials(folders: dict[str, Path]) -> None:
    first, second = (tracker.open_run(folders[name]) for name in ("small", "large"))
    found = {(c.sampler, c.quantity): c for c in compare(first, second)}
    one, two = (r.arrays["by_mode"][:, 0].sum(axis=1) for r in (first, second))
    before, after = one[:, 1] / one[:, 0], two[:, 1] / two[:, 0]
    change = found["skewed", "tracking_error"]
    assert change.ratio.estimate == pytest.approx(after.mean() / before.mean(), rel=1e-12)
    assert change.ratio.estimate == pytest.approx(change.second / change.first, rel=1e-12)
    assert change.ratio.wins == int((after < before).sum())
    waits = found["skewed", "recovery"]  # of re-acquisition: what the summaries call its mean
    for mean, run in ((waits.first, first), (waits.second, second)):
        assert mean == pytest.approx(run.summary["samplers"][0]["recovery"]["mean"], rel=1e-12)
    assert waits.ratio.estimate == pytest.approx(waits.second / waits.first, rel=1e-12)
    assert waits.difference.estimate == pytest.approx(waits.second - waits.first, rel=1e-12)
    assert waits.ratio.low < waits.ratio.estimate < waits.ratio.high
    for baseline in ("frozen", "oracle"):  # the same in both runs, zeros included
        assert found[baseline, "tracking_error"].ratio[:3] == (1.0, 1.0, 1.0)


def test_a_run_against_itself_is_level(folders: dict[str, Path]) -> None:
    done = invoke(
        folders["small"], folders["small"], "--json", "--fail-if", "tracking_error.* > 1", "--fail-if", "recovery.* < 1"
    )
    assert done.exit_code == 0
    ratios = {row["ratio"]["estimate"] for row in json.loads(done.stdout)["changes"]}
    assert ratios - {None} == {1.0}  # None: a quantity that no sampler of these runs has


def test_conditions_decide_the_exit_code(folders: dict[str, Path], tmp_path: Path) -> None:
    """Ten times the step tracks better here: the condition that it is worse does not hold, its opposite does."""
    runs = folders["small"], folders["large"]
    assert invoke(*runs, "--fail-if", "tracking_error.skewed > 1.05").exit_code == 0
    failed = invoke(*runs, "--fail-if", "tracking_error.skewed.high < 1", "--out", tmp_path / "page.html")
    assert failed.exit_code == 6
    assert "failed: tracking_error.skewed.high < 1" in failed.stderr
    assert "tracking_error" in failed.stdout
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 1
    assert "large against small" in page
    levels = [int(level) for level in re.findall(r"<h(\d)", page)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels)), levels  # no level is left out


def test_paired_differences_are_printed_and_drawn(folders: dict[str, Path], tmp_path: Path) -> None:
    """In the table, in the caption, and a panel beside that of the ratios."""
    first, second = (tracker.open_run(folders[name]) for name in ("small", "large"))
    one, two = (View(run).tracking_error[:, 0] for run in (first, second))
    found = difference(two, one)
    assert compare(first, second)[0].difference == found
    done = invoke(folders["small"], folders["large"], "--out", tmp_path / "page.html")
    assert "difference [95 %]" in done.stdout
    assert f"{number(found.estimate)} {interval(found.low, found.high)}" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert f"difference {number(found.estimate)} {interval(found.low, found.high)}" in page
    shown = _exhibit(compare(first, second), View(first), View(second))
    labels = [ax.get_xlabel() for ax in shown.figure.axes]
    assert any(label.startswith("difference") for label in labels)
    right = shown.figure.axes[1]  # of the tracking error: the first sampler's line is its interval
    (line,) = [line for line in right.lines if list(line.get_ydata()) == [0, 0]]
    assert list(line.get_xdata()) == [found.low, found.high]


def test_a_page_of_a_run_that_diverged_speaks_of_no_interval(folders: dict[str, Path], tmp_path: Path) -> None:
    done = invoke(folders["small"], folders["lost"], "--out", tmp_path / "page.html")
    assert done.exit_code == 0
    page = (tmp_path / "page.html").read_text()
    assert "no interval for 1 of 1 sampler, fewer than 5 trials left" in page
    assert "not told apart" not in page


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tracking_error > 1",
        "speed.skewed > 1",
        "tracking_error.skewed = 1",
        "tracking_error.skewed > x",
        "a.b.c.d > 1",
    ],
)
def test_conditions_that_mean_nothing_are_refused(text: str, folders: dict[str, Path]) -> None:
    done = invoke(folders["small"], folders["large"], "--fail-if", text)
    assert done.exit_code == 2
    assert "QUANTITY.SAMPLER" in done.stderr


def test_an_unknown_sampler_is_refused_with_the_known_ones(folders: dict[str, Path]) -> None:
    done = invoke(folders["small"], folders["large"], "--fail-if", "tracking_error.fast > 1")
    assert done.exit_code == 2
    assert "skewed" in done.stderr


def test_what_is_not_paired_is_refused(folders: dict[str, Path]) -> None:
    done = invoke(folders["small"], folders["other"])
    assert done.exit_code == 2
    assert "not paired" in done.stderr
    assert "seed: 1 and 2" in done.stderr


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (("trials=7",), "trials"),
        (("steps=299",), "steps"),
        (("burn_in=20",), "burn_in: 0 and 20"),
        (("chain.alpha=0.03",), "chain"),
        (('samplers.skewed.name="x"',), "samplers"),
    ],
)
def test_reasons_not_to_pair(settings: tuple[str, ...], reason: str, folders: dict[str, Path]) -> None:
    first = tracker.open_run(folders["small"])
    other = tracker.parse(TEXT, settings=(*SHORT, *settings))
    trial = np.arange(other.trials)
    second = Run(other, first.summary, {**first.arrays, "trial": trial}, first.problem)
    with pytest.raises(NotPaired, match=reason):
        compare(first, second)


def test_the_same_words_but_other_paths_are_not_paired(folders: dict[str, Path]) -> None:
    first = tracker.open_run(folders["small"])
    second = Run(
        first.scenario, first.summary, {**first.arrays, "switches": first.arrays["switches"] + 1}, first.problem
    )
    with pytest.raises(NotPaired, match="different paths"):
        compare(first, second)


def test_a_ratio_that_is_not_known_fails(folders: dict[str, Path]) -> None:
    run = tracker.open_run(folders["small"])
    change = compare(run, run)[0]
    unknown = change._replace(ratio=change.ratio._replace(estimate=math.nan, low=math.nan, high=math.nan))
    conditions = [parse_condition(f"tracking_error.skewed {sign} 1") for sign in ("<", ">", "<=", ">=")]
    assert len(failures([unknown], conditions)) == 4
    assert len(failures([change], conditions)) == 2  # 1 <= 1 and 1 >= 1


def test_a_star_looks_at_every_sampler() -> None:
    """Three samplers with ratios 1.0, 1.2 and 0.9, each end of the interval 0.05 further; no condition is about the cost."""

    def change(sampler: str, quantity: str, times: float) -> Change:
        pair = Paired(times, times - 0.05, times + 0.05, 0, 5)
        return Change(sampler, quantity, 1.0, times, pair, pair)

    ratios = {"a": 1.0, "b": 1.2, "c": 0.9}
    changes = [change(name, "tracking_error", times) for name, times in ratios.items()]
    changes += [change(name, "excess_cost", 7.0) for name in ratios]
    cases = {
        "* > 1.1": "b",
        "* < 0.95": "c",
        "* >= 1": "ab",
        "* < 2": "abc",
        "*.low > 1.0": "b",
        "*.high > 1.0": "ab",
        "* > 1.3": "",
        "c > 1.1": "",
    }
    for text, names in cases.items():
        told = failures(changes, [parse_condition(f"tracking_error.{text}")])
        assert [line.split(": ")[2].split(" has ")[0] for line in told] == list(names), text


def test_a_star_on_the_command_line_reaches_the_last_sampler(folders: dict[str, Path]) -> None:
    """The larger step tracks better, and the baselines are level: only they have a ratio of 1."""
    done = invoke(folders["small"], folders["large"], "--fail-if", "tracking_error.* >= 1")
    assert done.exit_code == 6
    told = " ".join(done.stderr.split())
    assert "frozen has 1 times" in told
    assert "oracle has 1 times" in told
    assert "skewed has" not in told


def test_a_run_that_diverged_completely_fails_every_condition_with_the_reason(folders: dict[str, Path]) -> None:
    done = invoke(folders["small"], folders["lost"], "--fail-if", "tracking_error.skewed > 1.05")
    assert done.exit_code == 6
    assert "8 trials of the second run diverged, and no trial is left in both" in " ".join(done.stderr.split())
    assert "skewed: 0 trials diverged in the first run, 8 in the second" in done.stdout
    row = json.loads(invoke(folders["small"], folders["lost"], "--json").stdout)["changes"][0]
    assert (row["first_diverged"], row["second_diverged"], row["second"]) == (0, 8, None)
    one = View(tracker.open_run(folders["small"])).tracking_error[:, 0]
    assert row["first"] == pytest.approx(one.mean(), rel=1e-12)  # of its own trials, all of which are fine


def test_means_are_over_the_trials_that_a_run_kept_itself(folders: dict[str, Path]) -> None:
    """Two trials diverge in the second run: its mean is over 6, that of the first over 8, the pairs are 6."""
    first, run = tracker.open_run(folders["small"]), tracker.open_run(folders["large"])
    diverged = run.arrays["diverged"].copy()
    diverged[:2, 0] = 5
    change = compare(first, Run(run.scenario, run.summary, {**run.arrays, "diverged": diverged}, run.problem))[0]
    one, two = (View(each).tracking_error[:, 0] for each in (first, run))
    assert change.first == pytest.approx(one.mean(), rel=1e-12)
    assert change.second == pytest.approx(two[2:].mean(), rel=1e-12)
    assert change.ratio.estimate == pytest.approx(two[2:].mean() / one[2:].mean(), rel=1e-12)
    assert (change.ratio.trials, change.first_diverged, change.second_diverged) == (6, 0, 2)


def test_each_reason_for_an_unknown_ratio_is_its_own(folders: dict[str, Path]) -> None:
    run = tracker.open_run(folders["small"])
    change = compare(run, run)[0]
    nan = math.nan
    cases = {
        "1 trial gives no interval, which takes 5": change._replace(ratio=Paired(1.1, nan, nan, 0, 1)),
        "4 trials give no interval, which takes 5": change._replace(ratio=Paired(1.1, nan, nan, 0, 4)),
        "no trial has it in both runs": change._replace(ratio=Paired(nan, nan, nan, 0, 0)),
        "it is 0 in a trial": change._replace(ratio=Paired(nan, nan, nan, 0, 5)),
        "3 trials of the first run diverged, and 1 trial is left": change._replace(
            ratio=Paired(1.1, nan, nan, 0, 1), first_diverged=3
        ),
    }
    for reason, case in cases.items():
        (line,) = failures([case], [parse_condition("tracking_error.skewed.high < 1")])
        assert reason in line


def test_a_folder_without_a_run_is_exit_code_7(folders: dict[str, Path], tmp_path: Path) -> None:
    assert invoke(folders["small"], tmp_path).exit_code == 7
    assert CliRunner().invoke(app, ["report", str(tmp_path)]).exit_code == 7


def test_what_all_samplers_share_is_one_line_and_the_box_judges(folders: dict[str, Path]) -> None:
    """A larger step tracks better here; the key is one for all samplers, or that of one."""
    first, second = (tracker.open_run(folders[name]) for name in ("small", "large"))
    assert differences(first, second) == [
        "samplers.skewed.epsilon: 0.015625 → 0.1"
    ]  # control: one sampler, by its name
    changes = {"samplers.a.beta": "1 → 2", "samplers.b.beta": "1 → 2", "samplers.a.skew": "0 → 1", "steps": "1 → 2"}
    keys = ["samplers.a.beta", "samplers.b.beta", "samplers.a.skew", "samplers.b.skew", "steps"]
    assert list(_for_all(changes, keys)) == ["samplers.*.beta", "samplers.a.skew", "steps"]
    asked, better = comparison_box(first, second, compare(first, second)).answers
    assert asked.answer == "samplers.skewed.epsilon: 0.015625 → 0.1"
    assert (better.mark, better.tone) == ("better", "good")
    assert (comparison_box(first, first, compare(first, first)).answers[1].mark) == "not told"
    worse = comparison_box(second, first, compare(second, first)).answers[1]
    assert (worse.mark, worse.tone) == ("worse", "bad")
    assert "second run worse for skewed" in worse.answer


def test_the_second_run_is_better_in_so_many_trials(folders: dict[str, Path]) -> None:
    """Of an error the smaller number counts, of a share the larger; alike is not better."""
    first, second = (tracker.open_run(folders[name]) for name in ("small", "large"))
    found = {(c.sampler, c.quantity): c for c in compare(first, second)}
    one, two = (r.arrays["by_mode"][:, 0].sum(axis=1) for r in (first, second))
    error, inside = ((two[:, n] / two[:, 0], one[:, n] / one[:, 0]) for n in (1, 3))
    assert found["skewed", "tracking_error"].difference.wins == int((error[0] < error[1]).sum())
    assert found["skewed", "inside_target"].difference.wins == int((inside[0] > inside[1]).sum())
    assert {change.difference.wins for change in compare(first, first)} == {0}


def test_a_comparison_is_a_table_at_80_columns(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """What differs and the summary first; columns are dropped, no row becomes a block of lines."""
    from tracker.cli import compare as command
    from tracker.cli.printing import _Console

    monkeypatch.setattr(command, "console", lambda: _Console(width=80, highlight=False))
    command.compare(folders["small"], folders["large"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "differs: samplers.skewed.epsilon: 0.015625 → 0.1"
    assert lines[1].startswith("tracking error: second run better for skewed")
    head = next(line for line in lines if "quantity" in line)
    assert "ratio [95 %]" in head
    assert all(len(line) <= 80 for line in lines)
    assert not any(line.startswith("  quantity:") for line in lines)
