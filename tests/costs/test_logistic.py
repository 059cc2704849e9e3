"""Logistic regression on a data file: the file read strictly, its place in the hash, the minimiser, accuracy."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest
from interpreting import interpreted
from scipy.optimize import minimize
from worlds import SCENARIOS, shipped

import tracker
from tracker.costs import COSTS, base
from tracker.costs.csv_rows import LARGEST_DATA, DataFile, read_data
from tracker.costs.csv_table import parse_table
from tracker.engine.bins import WAIT_BITS, bin_edges
from tracker.engine.simulate import prepare
from tracker.metrics.accuracy import Classes, accuracy, accuracy_waits
from tracker.scenario import ScenarioError, build_modes, with_settings

DATA = SCENARIOS / "breast_cancer.csv"
TEXT = """
name = "test"
trials = 2
steps = 400
record_every = 10
start = [0.0, 0.0, 0.0]
[chain]
alpha = 0.02
Q = [[-1.0, 1.0], [1.0, -1.0]]
[[modes]]
name = "plain"
cost = "logistic"
data = "small.csv"
features = ["x", "y"]
label = "class"
prior_variance = 10.0
horizon = 20
[[modes]]
name = "flipped"
cost = "logistic"
data = "small.csv"
features = ["x", "y"]
label = "class"
relabel = "flip"
prior_variance = 10.0
horizon = 20
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.01
"""
SMALL = "class,x,y\n0,1,2\n1,-1,0.5\n1,0,-3\n0,2,2\n1,-2,1\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "small.csv").write_text(SMALL)
    (tmp_path / "test.toml").write_text(TEXT)
    return tmp_path / "test.toml"


# --- the real data


def test_the_breast_cancer_data_are_the_published_ones() -> None:
    """569 cases, 357 benign and 212 malignant; means of two features as UCI's description gives them to three digits."""
    table = read_data(DATA).table
    assert table.numbers.shape == (569, 11)
    assert table.column("benign").sum() == 357
    assert table.column("mean_radius").min() == 6.981
    assert table.column("mean_radius").max() == 28.11
    assert np.median(table.column("mean_texture")) == 18.84


def test_the_minimiser_is_that_of_another_method_and_its_accuracy_is_known() -> None:
    """Accuracy 0.9455 at the minimiser; scipy's own minimisation of the transcription agrees.

    docs/findings, "Logistic stream".
    """
    modes = build_modes(shipped("logistic_stream"))
    for sign, mode in zip((1, -1), modes, strict=True):
        slow = naive.Logistic(mode.cost.rows, mode.cost.labels, 10.0, 50, mode.minimisers, 1.0)

        def c(theta: Any, slow: Any = slow) -> float:
            return float(theta @ theta / 20 + 50 * np.logaddexp(0, -slow.labels * (slow.x @ theta)).mean())

        found = minimize(c, np.zeros(11), method="BFGS", options={"gtol": 1e-7})
        np.testing.assert_allclose(mode.minimisers[0], found.x, atol=1e-4)
        assert c(mode.minimisers[0]) <= found.fun
        slope = np.empty(11)
        base.expected_gradient(mode.cost, mode.minimisers[0], slope)
        assert np.abs(slope).max() < 1e-9
        right = accuracy([Classes(mode.cost.rows, mode.cost.labels)], mode.minimisers, np.zeros(1, dtype=int))
        assert right[0] == pytest.approx(0.9455, abs=5e-5)
        np.testing.assert_allclose(mode.minimisers[0], sign * modes[0].minimisers[0], atol=1e-9)
    assert modes[0].cost.rows is modes[1].cost.rows  # one copy of the data


# --- the file in the scenario


def test_the_hash_changes_with_the_data(path: Path) -> None:
    before = tracker.load(path)
    assert tracker.load(path).sha256 == before.sha256
    (path.parent / "small.csv").write_text(SMALL.replace("2,2\n", "2,2.5\n"))
    assert tracker.load(path).sha256 != before.sha256
    assert tracker.load(path).source == before.source
    changed = [tracker.load(path, ["seed=3"]).sha256]
    (path.parent / "small.csv").write_text(SMALL)
    changed.append(tracker.load(path, ["seed=3"]).sha256)
    assert len({*changed, before.sha256}) == 3


def test_a_scenario_needs_its_folder_only_once(path: Path) -> None:
    scenario = tracker.load(path)
    (path.parent / "small.csv").unlink()
    again = [
        copy.deepcopy(scenario),
        pickle.loads(pickle.dumps(scenario)),  # noqa: S301  (our own)
        scenario.replace(seed=0),
        with_settings(scenario, ["modes.*.horizon=20", "modes.flipped.prior_variance=10"]),
    ]
    for other in again:
        assert other.files == {"small.csv": SMALL.encode()}
        np.testing.assert_array_equal(build_modes(other)[1].cost.rows, build_modes(scenario)[1].cost.rows)
    with pytest.raises(ScenarioError, match=r'modes\[0\] "plain": data: small.csv: no such file'):
        tracker.load(path)
    with pytest.raises(ScenarioError, match="comes from no file"):
        tracker.parse(TEXT)


def test_a_run_keeps_its_data_and_can_be_opened_without_the_original(path: Path) -> None:
    run = interpreted(tracker.load(path, ["record_every=1"]), path.parent / "run")
    path.unlink()
    (path.parent / "small.csv").unlink()
    again = tracker.open_run(path.parent / "run")
    assert again.scenario.sha256 == run.scenario.sha256
    assert again.summary == run.summary
    # the summary tells the accuracy, at the steps in the middle of every 17
    for n, row in enumerate(run.summary["samplers"]):
        layout = run.problem.layout
        looks = slice(layout.first_look, layout.steps, layout.cost_every)
        theta, mode = run.arrays["theta"][:, n, looks], run.arrays["mode"][:, looks]
        signs = np.array([m.cost.labels for m in run.problem.modes])[mode]
        right = (1 + np.sign(signs * (theta @ run.problem.modes[0].cost.rows.T))).mean(axis=(1, 2)) / 2
        assert row["accuracy"]["mean"] == pytest.approx(right.mean(), rel=1e-12)


def test_other_costs_have_no_accuracy() -> None:
    scenario = shipped("example_b", ["trials=1", "steps=3", "record_every=1"])
    run = interpreted(scenario)
    assert all("accuracy" not in row for row in run.summary["samplers"])


def test_all_steps_see_all_rows_equally_often() -> None:
    cost = COSTS["logistic"](
        name="m", cost="logistic", data=DataFile("s.csv", SMALL.encode()), features=["x"], label="class", prior_variance=1,
        horizon=1,
    ).build()  # fmt: skip
    stream, z = np.random.SFC64(3).state["state"]["state"].copy(), np.zeros((20_000, 1))
    with np.errstate(over="ignore"):
        base.observe(cost, 0, len(z), stream, z)
    counts = np.bincount(z[:, 0].astype(int), minlength=5)
    assert len(counts) == 5
    assert np.abs(counts - 4000).max() < 5.6 * np.sqrt(20_000 * 0.2 * 0.8)
    assert counts.max() > 4000  # control: it is a draw, not a sweep


# --- accuracy along a trace


def test_accuracy_and_its_waits_by_hand() -> None:
    rows, labels = np.array([[1.0], [2.0], [-1.0], [4.0]]), np.array([1.0, 1.0, 1.0, -1.0])
    theta = np.array([[[1.0], [-1.0], [-1.0], [1.0], [np.nan]]])
    mode = np.array([[0, 0, 1, 1, 0]])
    found = accuracy([Classes(rows, labels), Classes(rows, -labels)], theta, mode)
    np.testing.assert_array_equal(found, [[0.5, 0.5, 0.5, 0.5, np.nan]])
    right = np.array([[0.9, 0.2, 0.3, 0.9, 0.1, 0.1, 0.9, 0.9, 0.1, 0.2]])
    modes = np.array([[0, 1, 1, 1, 0, 0, 1, 1, 0, 0]])
    waits = accuracy_waits(right, modes, 10, 0.85, bin_edges(100, WAIT_BITS))
    ended = [(0, 1), (20, 1)]  # at once, and after two records of ten steps
    assert [(int(b), int(waits[0, b, 0])) for b in np.flatnonzero(waits[0, :, 0])] == ended
    assert [(int(b), int(waits[0, b, 1])) for b in np.flatnonzero(waits[0, :, 1])] == [(10, 2)]


# --- bad files and keys

BAD_FILES = [
    ("", "no data"),
    ("class,x,y\n", "no data"),
    ("class,x,y\n1,2\n", "row 1: 2 numbers, but there are 3 columns"),
    ("class,x,y\n1,2,3\n1,2,3,4\n", "row 2: 4 numbers"),
    ("class,x,y\n1,2,3\n0,abc,3\n", 'row 2, column "x": "abc" is not a number'),
    ("class,x,y\n1,2,nan\n", 'row 1, column "y": "nan" is not a number'),
    ("class,x,y\n1,inf,3\n", '"inf" is not a number'),
    ("class,x,y\n1,1_000,3\n", '"1_000" is not a number'),
    ("class,x,y\n1,\u0661,3\n", "is not a number"),
    ("class,x,y\n1,,3\n", 'row 1, column "x": empty'),
    ("class,x,y\n1,1e200,3\n", "must be at most 1e+30"),
    ("class,x,x\n1,2,3\n", 'column "x" is named twice'),
    ("class,,x\n1,2,3\n", "column 2 has no name"),
    ("1,2,3\n4,5,6\n", "must name the columns"),
    ('class,"x,y\n1,2,3\n', "not comma-separated"),
    ("a" + ",a" * 2000 + "\n1\n", "too many"),
]


@pytest.mark.parametrize(("text", "fragment"), BAD_FILES, ids=range(len(BAD_FILES)))
def test_bad_files_are_explained(path: Path, text: str, fragment: str) -> None:
    (path.parent / "small.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as raised:
        tracker.load(path)
    assert len(raised.value.problems) == 2  # both modes name the file
    assert fragment in raised.value.problems[0]
    assert raised.value.problems[0].startswith('modes[0] "plain": data: small.csv: ')


def test_bytes_that_are_no_text_and_files_that_are_too_large(path: Path) -> None:
    (path.parent / "small.csv").write_bytes(b"class,x,y\n1,\xff,2\n")
    with pytest.raises(ScenarioError, match="not UTF-8 text: byte 0xff"):
        tracker.load(path)
    with (path.parent / "small.csv").open("wb") as file:
        file.truncate(LARGEST_DATA + 1)
    with pytest.raises(ScenarioError, match="larger than 100 MB"):
        tracker.load(path)
    (path.parent / "small.csv").unlink()
    (path.parent / "small.csv").mkdir()
    with pytest.raises(ScenarioError, match="no such file"):
        tracker.load(path)


@pytest.mark.parametrize(
    "name",
    ["../small.csv", "/etc/passwd", "sub/small.csv", "small.txt", ".csv", "..csv", "a b.csv", "C:x.csv", "x\0.csv"],
)
def test_only_plain_names_are_followed(path: Path, name: str) -> None:
    (path.parent.parent / "small.csv").write_text(SMALL)
    with pytest.raises(ScenarioError, match="must be the plain name of a file beside the scenario"):
        tracker.parse(TEXT.replace('"small.csv"', f'"{name}"'.replace("\0", "\\u0000")), folder=path.parent)


def test_a_byte_order_mark_spaces_quotes_and_line_ends_are_no_matter() -> None:
    found = parse_table(
        b'\xef\xbb\xbfclass, "mean x" ,y\r\n1, 2e-1 ,+3.\r\n\r\n0,.5,-7\r\n'.replace(b' "mean x" ', b'"mean x"')
    )
    assert found.columns == ("class", "mean x", "y")
    np.testing.assert_array_equal(found.numbers, [[1, 0.2, 3], [0, 0.5, -7]])


BAD_KEYS = [
    ('features = ["x", "z"]', 'features[1]: no column "z" in the data (there are: class, x, y)'),
    ('features = ["x", "x"]', 'features[1]: "x" is there twice'),
    ('features = ["x", "class"]', 'features[1]: "class" is the label'),
    ('features = "x"', "must be a list"),
    ("features = []", "must have at least 1 entry"),
    ('label = "z"', 'label: no column "z"'),
    ('label = "y"', 'features[1]: "y" is the label'),
    ('relabel = "mix"', '"mix" must be "flip"'),
    ('relabel = { column = "z", threshold = 1 }', 'relabel: no column "z"'),
    ('relabel = { column = "x", threshold = 9 }', 'relabel: all of "x" is at or below the threshold 9'),
    ('relabel = { column = "x" }', "threshold: missing"),
    ("intercept = 1", "intercept"),
    ('standardize = "yes"', "standardize"),
    ("prior_variance = 0", "prior_variance"),
    ("horizon = 1.5", "horizon: 1.5 must be a whole number"),
    ("data = 3", "data: 3 must be text"),
    ("datum = 3", "datum: unknown key, with 3; did you mean data?"),
]


@pytest.mark.parametrize(("line", "fragment"), BAD_KEYS, ids=range(len(BAD_KEYS)))
def test_bad_keys_are_explained(path: Path, line: str, fragment: str) -> None:
    key = line.partition(" = ")[0]
    kept = [old for old in TEXT.split("[[modes]]")[1].splitlines() if old.partition(" = ")[0] != key]
    text = TEXT.replace(TEXT.split("[[modes]]")[1], "\n".join([*kept, line, ""]))
    with pytest.raises(ScenarioError) as raised:
        tracker.parse(text, folder=path.parent)
    assert fragment in "\n".join(raised.value.problems)


def test_a_label_has_two_values(path: Path) -> None:
    (path.parent / "small.csv").write_text(SMALL + "2,0,0\n")
    with pytest.raises(ScenarioError, match='label: "class" has 3 different values, but a label has 2'):
        tracker.load(path)


def test_a_constant_column_cannot_be_standardised(path: Path) -> None:
    (path.parent / "small.csv").write_text("class,x,y\n0,1,2\n1,1,3\n")
    with pytest.raises(ScenarioError, match=r'features\[0\]: "x" is constant: set standardize = false'):
        tracker.load(path)
    scenario = tracker.load(path, ["modes.*.standardize=false"])
    np.testing.assert_array_equal(build_modes(scenario)[0].cost.rows, [[1, 2, 1], [1, 3, 1]])
    assert prepare(scenario).layout.observation_size == 1
