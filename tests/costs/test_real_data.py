"""The real data that come with the program: what one regime's best forecast loses on another's rows, by numpy alone."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
from worlds import SCENARIOS, shipped


def test_four_activities_want_four_predictions() -> None:
    """Mean square errors, rows of an activity by the weights of another: the table that the raw recordings gave."""
    scenario = shipped("motions")
    names = [mode.name for mode in scenario.modes]
    data = [np.loadtxt(SCENARIOS / f"motions_{name}.csv", delimiter=",", skiprows=1) for name in names]
    assert {one.shape for one in data} == {(1960, 13)}
    design = [np.column_stack([one[:, :12], np.ones(1960)]) for one in data]
    best = [np.linalg.lstsq(X, one[:, 12], rcond=None)[0] for X, one in zip(design, data, strict=True)]
    errors = np.array([[np.mean((one[:, 12] - X @ w) ** 2) for w in best] for X, one in zip(design, data, strict=True)])
    wanted = [[0.13, 36, 0.50, 3.6], [84, 30, 69, 65], [1.8, 31, 1.25, 4.8], [43, 52, 37, 24]]
    np.testing.assert_allclose(errors, wanted, rtol=0.04)
    for weights, minimisers in zip(best, scenario.minimisers, strict=True):
        np.testing.assert_allclose(minimisers[0], weights, rtol=1e-7, atol=1e-9)


def rain() -> tuple[dict[str, Any], list[str]]:
    with (SCENARIOS / "rain.csv").open() as file:
        head, *rows = csv.reader(file)
    return {name: [row[n] for row in rows] for n, name in enumerate(head)}, [row[head.index("season")] for row in rows]


def forecast(x: Any, sign: Any) -> Any:
    """The weights that lose least, without any prior: Newton's method."""
    w = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(sign * (x @ w)))
        w = w + np.linalg.solve(x.T @ (x * (p * (1.0 - p))[:, None]), x.T @ (sign * p))
    return w


def test_four_seasons_want_four_forecasts() -> None:
    """Log losses, days of a season by the weights of another."""
    scenario = shipped("rain_seasons")
    columns, season = rain()
    assert len(season) == 12_000
    x = np.array([columns[name] for name in scenario.modes[0].features], dtype=float).T
    x = np.column_stack([(x - x.mean(axis=0)) / x.std(axis=0), np.ones(len(x))])
    sign = 2.0 * np.array(columns["rain"], dtype=float) - 1.0
    days = [np.array(season) == name for name in ("summer", "autumn", "winter", "spring")]
    best = [forecast(x[own], sign[own]) for own in days]
    loss = np.array([[np.log1p(np.exp(-sign[own] * (x[own] @ w))).mean() for w in best] for own in days])
    wanted = [[0.475, 0.546, 0.761, 0.595], [1.140, 0.399, 0.530, 0.506], [2.569, 0.325, 0.276, 0.331], [0.967, 0.510, 0.501, 0.453]]  # fmt: skip
    np.testing.assert_allclose(loss, wanted, rtol=0.05)


def test_the_order_of_the_forecasts_does_not_hang_on_two_impossible_pressures() -> None:
    """Predict, then learn, by loops; the losses that rain.md tells."""
    scenario = shipped("rain_in_order")
    columns, _ = rain()
    given = np.array([columns[name] for name in scenario.modes[0].features], dtype=float).T
    pressure = scenario.modes[0].features.index("sea_level_pressure")
    assert np.flatnonzero(np.abs(given[:, pressure]) > 1.0).tolist() == [3595, 3596]
    mended = given.copy()
    mended[3595:3597, pressure] = given[3594, pressure]
    sign = 2.0 * np.array(columns["rain"], dtype=float) - 1.0
    steps = [one.epsilon for one in scenario.samplers]
    assert steps == [0.03, 1e-3, 0.3]
    for data, told in ((given, [0.466, 0.544, 0.536]), (mended, [0.458, 0.534, 0.534])):
        x = np.column_stack([(data - data.mean(axis=0)) / data.std(axis=0), np.ones(len(data))])
        theta, lost, epsilon = np.zeros((3, 9)), np.zeros(3), np.array(steps)[:, None]
        for row, s in zip(x, sign, strict=True):
            margin = s * (theta @ row)
            lost += np.log1p(np.exp(-margin))
            theta -= epsilon * (theta / 100.0 - (s / (1.0 + np.exp(margin)))[:, None] * row)
        np.testing.assert_allclose(lost / len(x), told, atol=5.1e-4)
