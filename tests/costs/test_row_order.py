"""Rows in order, shuffled and at random; the mode read from a column; forecasts: against loops of numpy."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracker
from tracker.costs.row_order import permute

N = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """A file of two regimes, in which the first feature means the opposite."""
    rng, place = np.random.default_rng(1), tmp_path_factory.mktemp("rows")
    x = rng.normal(size=(N, 2)).round(3)
    season = np.where((np.arange(N) // 30) % 2 == 0, "dry", "wet")
    y = (rng.random(N) < 1 / (1 + np.exp(-np.where(season == "dry", 2.0, -2.0) * x[:, 0]))).astype(int)
    lines = [f"{a},{b},{c},{d}" for (a, b), c, d in zip(x, y, season, strict=True)]
    (place / "d.csv").write_text("\n".join(["a,b,y,season", *lines]) + "\n")
    return place


def world(folder: Path, rows: str = "in-order", family: str = "logistic", **changes: Any) -> tracker.Scenario:
    own = (
        {"label": "y", "prior_variance": 10.0, "horizon": 2}
        if family == "logistic"
        else {"response": "y", "ridge": 0.1}
    )
    mode = {"cost": family, "data": "d.csv", "features": ["a", "b"], "rows": rows, **own}
    data = {"name": "rows", "trials": 2, "steps": N, "start": [0.0, 0.0, 0.0], "record_every": 1,
            "schedule": {"from": "season"}, "modes": [{**mode, "name": "dry"}, {**mode, "name": "wet"}],
            "samplers": [{"name": "sgd", "kind": "langevin", "epsilon": 0.05, "beta": "inf"}], **changes}  # fmt: skip
    return tracker.parse(data, folder=folder)


def table(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = [line.split(",") for line in (folder / "d.csv").read_text().splitlines()[1:]]
    x = np.array([[float(r[0]), float(r[1])] for r in rows])
    X = np.c_[(x - x.mean(axis=0)) / x.std(axis=0), np.ones(N)]
    return X, np.array([float(r[2]) for r in rows]), np.array([r[3] for r in rows])


def test_rows_in_order_are_foretold_and_then_learnt_as_a_loop_does(folder: Path) -> None:
    X, y, season = table(folder)
    scenario = world(folder)
    assert scenario.switches == ((0, "dry"), (30, "wet"), (60, "dry"), (90, "wet"))
    run = tracker.run(scenario)
    theta, label, lost = np.zeros(3), 2 * y - 1, [0.0]
    for k in range(N):
        np.testing.assert_allclose(run.arrays["theta"][1, 0, k], theta, rtol=1e-10, atol=1e-14)
        assert scenario.modes[run.arrays["mode"][1, k]].name == season[k]
        margin = label[k] * X[k] @ theta
        lost.append(lost[-1] + np.log1p(np.exp(-margin)))
        theta = theta - 0.05 * (theta / 10 - 2 * label[k] / (1 + np.exp(margin)) * X[k])
    np.testing.assert_allclose(run.arrays["prequential"][1, 0], lost, rtol=1e-10)
    row = {one["name"]: one["prequential_loss"]["mean"] for one in run.summary["samplers"]}
    assert row["sgd"] == pytest.approx(lost[-1] / N, rel=1e-10)
    assert row["frozen"] == pytest.approx(np.log(2), rel=1e-12)
    assert row["oracle"] < row["sgd"] < row["frozen"]


def test_a_mode_is_about_its_own_rows(folder: Path) -> None:
    X, y, season = table(folder)
    for mode, minimisers in zip(("dry", "wet"), world(folder).minimisers, strict=True):
        own, label, theta = X[season == mode], 2 * y[season == mode] - 1, minimisers[0]
        gradient = theta / 10 - 2 * (own * (label / (1 + np.exp(label * (own @ theta))))[:, None]).mean(axis=0)
        assert np.abs(gradient).max() < 1e-9
    assert world(folder).minimisers[0][0, 0] * world(folder).minimisers[1][0, 0] < 0


def test_burn_in_leaves_forecasts_out(folder: Path) -> None:
    run = tracker.run(world(folder, burn_in=50))
    total = run.arrays["prequential"][0, 0]
    assert run.summary["samplers"][0]["prequential_loss"]["mean"] == pytest.approx((total[-1] - total[50]) / (N - 50))


def test_regression_foretells_the_loss_of_the_residual(folder: Path) -> None:
    X, y, _ = table(folder)
    run = tracker.run(world(folder, family="regression"))
    theta, lost = np.zeros(3), 0.0
    for k in range(N):
        residual = y[k] - X[k] @ theta
        lost += residual**2 / 2
        theta = theta - 0.05 * (0.1 * theta - residual * X[k])
    np.testing.assert_allclose(run.arrays["final"][0, 0], theta, rtol=1e-10)
    assert run.summary["samplers"][0]["prequential_loss"]["mean"] == pytest.approx(lost / N, rel=1e-10)


@pytest.mark.parametrize("n", [1, 2, 7, 64, 120, 1000])
def test_a_shuffle_is_a_permutation_and_no_two_sweeps_are_alike(n: int) -> None:
    with np.errstate(over="ignore"):
        found = [[permute(i, n, np.uint64(key)) for i in range(n)] for key in (3, 4)]
    assert all(sorted(one) == list(range(n)) for one in found)
    if n > 7:
        assert found[0] != found[1]


def test_all_places_of_a_shuffle_are_equally_likely() -> None:
    n, keys = 10, 4000
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        count = Counter((i, permute(i, n, np.uint64(key))) for key in rng.integers(0, 2**63, keys) for i in range(n))
    cells = np.array([count[i, j] for i in range(n) for j in range(n)])
    chi2 = ((cells - keys / n) ** 2 / (keys / n)).sum()
    assert chi2 < 81 + 5.5 * np.sqrt(2 * 81)


def test_random_rows_foretell_nothing_and_shuffled_ones_do(folder: Path) -> None:
    names = {rows: set(tracker.run(world(folder, rows)).arrays) for rows in ("random", "shuffle")}
    assert names["shuffle"] - names["random"] == {"prequential", "forecasts"}
    first, second = (tracker.run(world(folder, "shuffle", trials=t)).arrays["theta"][0] for t in (1, 3))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"steps": N + 1}, f"steps: {N + 1} is more than the {N} rows of d.csv"),
        ({"schedule": {"from": "month"}}, 'schedule.from: no column "month" in the data (there are: a, b, y, season)'),
        ({"schedule": {}}, "schedule"),
        ({"schedule": {"form": "season"}}, 'schedule.form: unknown key, with "season"; did you mean from?'),
        ({"schedule": {"from": "season", "switches": [[0, "dry"]]}}, "either switches or from"),
        ({"interventions": [{"at": 3, "kind": "switch", "to": "wet"}]}, "a forced switch has no meaning"),
    ],
)
def test_what_a_column_cannot_say_is_refused(folder: Path, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(tracker.ScenarioError) as refused:
        world(folder, **changes)
    assert told in str(refused.value)


def test_a_column_of_text_that_nobody_uses_does_no_harm(folder: Path) -> None:
    """The same stream for somebody who is not told the season; who wants numbers of it is told that it has none."""
    alone = {**world(folder).modes[0].model_dump(exclude_unset=True), "data": "d.csv", "name": "all"}
    data = {"name": "rows", "trials": 1, "steps": N, "start": [0.0] * 3, "samplers": [{"name": "sgd", "kind": "langevin", "epsilon": 0.05}]}  # fmt: skip
    one = tracker.parse({**data, "modes": [alone]}, folder=folder)
    np.testing.assert_array_equal(one.modes[0].feature_rows(), world(folder).modes[0].feature_rows())
    for key, wanted in (("features", ["a", "season"]), ("label", "season")):
        with pytest.raises(tracker.ScenarioError) as refused:
            tracker.parse({**data, "modes": [{**alone, key: wanted}]}, folder=folder)
        assert 'data: d.csv: row 1, column "season": "dry" is not a number' in str(refused.value)


def test_the_column_can_be_set(folder: Path) -> None:
    scenario = world(folder)
    assert scenario.set("schedule.from", "season").switches == scenario.switches
    with pytest.raises(tracker.ScenarioError, match=r"did you mean schedule\.from\?"):
        scenario.set("schedule.form", "season")


def test_orders_that_differ_and_modes_without_rows_are_refused(folder: Path) -> None:
    scenario = world(folder)
    with pytest.raises(tracker.ScenarioError, match="rows"):
        scenario.set("modes.dry.rows", "random")
    modes = [scenario.modes[0], scenario.modes[1].model_copy(update={"name": "snowy"})]
    with pytest.raises(tracker.ScenarioError, match="wet"):
        scenario.replace(modes=modes)


def test_the_page_shows_forecasts_and_where_the_mode_turned(folder: Path, tmp_path: Path) -> None:
    run = tracker.run(world(folder))
    run.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "How well are the next rows foretold?" in page
    assert "3 scheduled switches" in page
    (ax,) = run.plot.forecasts().axes
    assert [(band.get_x(), band.get_x() + band.get_width()) for band in ax.patches] == [(0, 30), (30, 60), (60, 90), (90, 120)]  # fmt: skip


def test_where_the_mode_turns_often_the_last_turns_are_drawn_once_more(folder: Path, tmp_path: Path) -> None:
    """A row whose forecast was far off does not set the scale of all others."""
    head, *rows = (folder / "d.csv").read_text().splitlines()
    kept = [row.split(",")[:3] for row in rows]
    seasons = ["dry" if (k // 4) % 2 == 0 else "wet" for k in range(N)]
    kept[60], kept[61] = ["0", "400", "1"], ["0", "400", "0"]
    (tmp_path / "d.csv").write_text("\n".join([head, *(",".join([*row, s]) for row, s in zip(kept, seasons, strict=True))]))  # fmt: skip
    run = tracker.run(world(tmp_path).set("samplers.*.epsilon", 0.3))
    whole, close = run.plot.forecasts().axes
    assert [band.get_x() for band in close.patches] == list(range(N - 12 * 4, N, 4))
    assert not whole.patches
    highest = max(float(line.get_ydata().max()) for line in whole.lines)
    assert highest > 2.0 * whole.get_ylim()[1]
    total = run.arrays["prequential"][0, 0]
    np.testing.assert_allclose(whole.lines[0].get_ydata(), np.diff(total[::2]) / 2)
