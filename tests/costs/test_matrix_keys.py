"""Matrices in a scenario file: four spellings of one matrix, and the same path bit for bit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tracker
from tracker.costs.base import expected, gradient, hessian
from tracker.costs.csv_table import LARGEST, numbers_in, parse_table
from tracker.costs.facts import additive_noise, constant_curvature
from tracker.costs.quadratic import BY_COLUMNS, Quadratic

N = 10
DIAGONAL = [1.0 + 0.1 * i for i in range(N)]
SAMPLERS = [
    {"name": "a", "kind": "langevin", "epsilon": 0.02, "beta": 2.0},
    {"name": "b", "kind": "accelerated", "epsilon": 0.02, "beta": 2.0, "skew": "random"},
]


def text_of(curvature: str, noise: str, size: int = N, **more: str) -> str:
    keys = "".join(f"{key} = {value}\n" for key, value in more.items())
    samplers = "".join(
        "[[samplers]]\n" + "".join(f"{k} = {v!r}\n".replace("'", '"') for k, v in one.items()) for one in SAMPLERS
    )
    modes = "".join(
        f'[[modes]]\nname = "{name}"\ncost = "quadratic"\nminimum = {[place] * size}\n'
        f"curvature = {curvature}\ngradient_noise = {noise}\n"
        for name, place in (("x", 1.0), ("y", -1.0))
    )
    world = f'name = "m"\ntrials = 3\nsteps = 60\nburn_in = 7\nstart = {[0.5] * size}\n{keys}'
    return f"{world}[chain]\nalpha = 0.05\nQ = [[-1, 1], [1, -1]]\n{modes}{samplers}"


def loaded(folder: Path, text: str) -> tracker.Scenario:
    (folder / "s.toml").write_text(text)
    return tracker.load(folder / "s.toml")


def written(matrix: Any) -> str:
    return "\n".join(",".join(repr(float(x)) for x in row) for row in np.asarray(matrix)) + "\n"


def test_all_spellings_of_a_matrix_give_the_same_bits(tmp_path: Path) -> None:
    H, V = np.diag(DIAGONAL), 0.5 * np.eye(N)
    (tmp_path / "H.csv").write_text(written(H))
    (tmp_path / "V.csv").write_text(written(V))
    spellings = [
        (str(H.tolist()), str(V.tolist())),
        (str(DIAGONAL), "0.5"),
        ('{ file = "H.csv" }', str([0.5] * N)),
        (str(DIAGONAL), '{ file = "V.csv" }'),
    ]
    scenarios = [loaded(tmp_path, text_of(*one)) for one in spellings]
    assert len({tracker.run(one, executor=1).summary["hash"] for one in scenarios}) == 1
    assert len({one.sha256 for one in scenarios}) == 4  # the text is what is hashed, with the files
    other = loaded(tmp_path, text_of(str(DIAGONAL), "0.5000001"))
    assert tracker.run(other, executor=1).summary["hash"] != tracker.run(scenarios[0], executor=1).summary["hash"]


def test_a_file_belongs_to_the_scenario_and_goes_with_the_run(tmp_path: Path) -> None:
    H = np.diag(DIAGONAL) + 0.01
    (tmp_path / "H.csv").write_text(written(H))
    text = text_of('{ file = "H.csv" }', '{ file = "H.csv" }')
    scenario = loaded(tmp_path, text)
    assert list(scenario.files) == ["H.csv"]
    run = tracker.run(scenario, tmp_path / "run", 1)
    assert (tmp_path / "run" / "H.csv").read_text() == written(H)
    assert tracker.open_run(tmp_path / "run").summary["hash"] == run.summary["hash"]
    assert (
        tracker.parse(scenario.replace(seed=3).content()["modes"][0] and text, folder=tmp_path).sha256
        == scenario.sha256
    )
    (tmp_path / "H.csv").write_text(written(H + np.eye(N)))
    assert loaded(tmp_path, text).sha256 != scenario.sha256


@pytest.mark.parametrize(
    ("curvature", "noise", "says"),
    [
        ("true", "0.5", "curvature: true must be a matrix, a list (its diagonal), a number (times I)"),
        ('"H.csv"', "0.5", 'curvature: "H.csv" must be a matrix'),
        ("[1.0, 2.0]", "0.5", "curvature: 2 numbers, but minimum has 10 coordinates"),
        (str([1.0] * 9 + [0.0]), "0.5", "curvature: not positive definite: its smallest eigenvalue is 0"),
        ("0.0", "0.5", "curvature: not positive definite"),
        (str(DIAGONAL), str([1.0] * 9 + [-1.0]), "gradient_noise: a variance of -1 is negative"),
        (str(DIAGONAL), "-0.5", "gradient_noise: a variance of -0.5 is negative"),
        ('{ file = "../H.csv" }', "0.5", "must be the plain name of a file"),
        ('{ file = "none.csv" }', "0.5", "none.csv: no such file"),
        ('{ file = "H.csv", more = 1 }', "0.5", "must be a matrix"),
        ('{ file = "wide.csv" }', "0.5", "wide.csv: 1 lines of 2 numbers are no square matrix"),
        ('{ file = "words.csv" }', "0.5", 'words.csv: row 1, column "2": "x" is not a number'),
        ('{ file = "ragged.csv" }', "0.5", "ragged.csv: row 2: 1 numbers, but there are 2 columns"),
        ('{ file = "skew.csv" }', "0.5", "curvature: not symmetric"),
        ('{ file = "large.csv" }', "0.5", "must be at most 1e+30"),
        ("[]", "0.5", "curvature: [] must have at least 1 entry"),
        ("[[1.0, nan]]", "0.5", "must be a finite number"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(curvature: str, noise: str, says: str, tmp_path: Path) -> None:
    for name, content in {
        "wide": "1,2\n", "words": "1,x\n2,3\n", "ragged": "1,2\n3\n", "large": "1,0\n0,1e31\n",
    }.items():  # fmt: skip
        (tmp_path / f"{name}.csv").write_text(content)
    (tmp_path / "H.csv").write_text(written(np.eye(N)))
    (tmp_path / "skew.csv").write_text(written(np.eye(N) + np.eye(N, k=1)))
    with pytest.raises(tracker.ScenarioError, match=re.escape(says)):
        loaded(tmp_path, text_of(curvature, noise))


@pytest.mark.parametrize("size", [3, BY_COLUMNS - 1, BY_COLUMNS, BY_COLUMNS + 5])
def test_products_are_the_same_sums_in_every_form(size: int) -> None:
    """Bit for bit against plain Python: by rows, by columns, and with the diagonal stored as one row."""
    rng = np.random.default_rng(size)
    A = rng.standard_normal((size, size))
    dense, diagonal = A @ A.T + np.eye(size), np.diag(rng.uniform(1.0, 2.0, size))
    theta, m, z = rng.standard_normal((3, size))
    for H, stored in ((dense, dense), (diagonal, diagonal), (diagonal, np.diag(diagonal)[np.newaxis].copy())):
        cost = Quadratic((stored + stored.T) / 2 if len(stored) > 1 else stored, m, np.zeros((size, 0)))
        H = (H + H.T) / 2  # noqa: PLW2901
        slow, value = [], 0.0
        for d in range(size):
            g, slope = z[d], 0.0
            for e in range(size):
                g += H[d, e] * (theta[e] - m[e])
                slope += H[d, e] * (theta[e] - m[e])
            slow.append(g)
            value += 0.5 * (theta[d] - m[d]) * slope
        out, full = np.empty(size), np.empty((size, size))
        gradient(cost, theta, z, out)
        hessian(cost, theta, z, full)
        assert_array_equal(out, slow)
        assert expected(cost, theta) == value
        assert_array_equal(full, H)
        assert_array_equal(constant_curvature(cost), H)


def test_a_diagonal_is_stored_as_one_row_and_told_as_a_matrix() -> None:
    keys = tracker.parse(text_of(str(DIAGONAL), "0.25")).modes[0]
    built = keys.build()
    assert built.curvature.shape == built.noise.shape == (1, N)
    assert_array_equal(additive_noise(built, N), 0.5 * np.eye(N))
    few = tracker.parse(text_of("2.0", "0.25", size=2)).modes[0].build()
    assert few.curvature.shape == (2, 2)


@pytest.mark.parametrize("kept", ["full", "diagonal", "none"])
def test_moments_that_are_kept(kept: str) -> None:
    scenario = tracker.parse(text_of(str(DIAGONAL), "0.25", moments=f'"{kept}"', record_every="1"))
    run = tracker.run(scenario, executor=1)
    theta = run.arrays["theta"][:, :, 7:60]  # every averaged step is recorded
    for n, row in enumerate(run.summary["samplers"]):
        points = theta[:, n].reshape(-1, N)
        last = run.arrays["final"][:, n]
        np.testing.assert_allclose(row["mean"], points.mean(axis=0), atol=1e-12)
        if kept == "none":
            assert row["covariance"] is row["final"]["second"] is row["final"]["by_mode"][0]["second"] is None
            continue
        pick = np.diag if kept == "diagonal" else np.asarray
        np.testing.assert_allclose(row["covariance"], pick(np.cov(points.T, bias=True)), atol=1e-12)
        np.testing.assert_allclose(row["final"]["second"], pick(last.T @ last / 3), atol=1e-12)
        by_mode = np.sum([part["second"] for part in row["final"]["by_mode"]], axis=0)
        np.testing.assert_allclose(by_mode, row["final"]["second"], atol=1e-12)
    assert run.arrays["moments"].shape == (
        3,
        len(run.summary["samplers"]),
        {"full": N + 1, "diagonal": 2, "none": 1}[kept],
        N,
    )


def test_moments_change_nothing_else(tmp_path: Path) -> None:
    full, none = (
        tracker.run(tracker.parse(text_of(str(DIAGONAL), "0.25", moments=f'"{kept}"')), tmp_path / kept, 1)
        for kept in ("full", "none")
    )
    assert {
        name for name in full.arrays if not np.array_equal(full.arrays[name], none.arrays[name], equal_nan=True)
    } == {"moments"}
    again = tracker.open_run(tmp_path / "none")
    assert again.summary["samplers"] == none.summary["samplers"]
    assert again.dataset["moments"].sizes["moment"] == 1
    default = tracker.run(tracker.parse(text_of(str(DIAGONAL), "0.25")), executor=1)
    assert default.summary["hash"] == full.summary["hash"]


def test_plain_numbers_are_read_as_strictly_as_odd_ones() -> None:
    rng = np.random.default_rng(1)
    numbers = rng.standard_normal((50, 3)) * 10.0 ** rng.integers(-20, 20, (50, 3))
    body = "\n".join(",".join(repr(float(x)) for x in row) for row in numbers)
    plain = parse_table(f"a,b,c\n{body}\n".encode()).numbers
    quoted = parse_table(
        ("a,b,c\n" + body.replace(",", '","').replace("\n", '"\n"').join('""') + "\n").encode()
    ).numbers
    assert_array_equal(plain, numbers)
    assert_array_equal(quoted, numbers)
    assert_array_equal(parse_table(f"a,b,c\r\n{body}\r\n\r\n".replace("\n", "\n").encode()).numbers, numbers)
    assert_array_equal(numbers_in(body.encode()), numbers)
    for wrong, says in {
        "a\n1\n \n": "empty", "a\n1e999\n": f"at most {LARGEST:g}", "a,b\n1,2\n3\n": "row 2: 1 numbers", "a\n1 2\n": "not a number",
        "a\n1e\n": "not a number", "a\nnan\n": "not a number", "a\n": "no data", "a\n1,\n": "row 1: 2 numbers", "a\n--1\n": "not a number",
    }.items():  # fmt: skip
        with pytest.raises(ValueError, match=re.escape(says)):
            parse_table(wrong.encode()).column("a")  # text is passed over until somebody wants numbers of it


def test_a_million_rows_are_read_in_seconds() -> None:
    import time

    rows = 200_000
    content = b"x,y\n" + b"0.125,-3.5\n" * rows
    begun = time.process_time()
    table = parse_table(content)
    assert table.numbers.shape == (rows, 2)
    assert time.process_time() - begun < 2.0


@pytest.mark.parametrize("skew", ["random", "banded", "full"])
def test_a_band_of_s_moves_as_all_of_it_does(skew: str) -> None:
    """Against a transcription in numpy that takes every product, zeros too."""
    size, rng = 20, np.random.default_rng(4)
    S = rng.standard_normal((size, size))
    S = np.tril(S, -1) - np.tril(S, -1).T
    near = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= 2
    given: Any = "random" if skew == "random" else np.where(near | (skew == "full"), S, 0.0).tolist()
    sampler = {"name": "b", "kind": "accelerated", "epsilon": 0.01, "beta": "inf", "skew": given}
    bowl = {"name": "x", "cost": "quadratic", "minimum": [1.0] * size, "curvature": 2.0}
    data = {"name": "m", "trials": 1, "steps": 5, "start": [0.0] * size, "modes": [bowl], "samplers": [sampler]}
    scenario = tracker.parse(data)
    assert scenario.samplers[0].build().band == {"random": 1, "banded": 2, "full": size - 1}[skew]
    run = tracker.run(scenario, executor=1)
    used = np.zeros((size, size))
    used[np.tril_indices(size, -1)] = run.arrays["final_skew"][0, 0]
    used -= used.T
    theta = [np.zeros(size)]
    for _ in range(5):
        theta.append(theta[-1] - 0.01 * (np.eye(size) + used) @ (2.0 * (theta[-1] - 1.0)))
    np.testing.assert_allclose(run.arrays["theta"][0, 0], theta, rtol=1e-12)
    assert used.any()
