"""Bad scenario files: exit code 3 or 4, one line for each problem, nothing written, no traceback, and quickly."""

from __future__ import annotations

import copy
import datetime as dt
import math
import os
import random
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from worlds import SCENARIOS

from tracker.cli import app
from tracker.runs.forecast import refusals
from tracker.scenario import ScenarioError, parse, warnings
from tracker.scenario.model import make_scenario

SECONDS = 5.0  # milliseconds to a second on an idle machine; the margin is for a busy one

GOOD = """\
name = "good"
trials = 2
steps = 100
start = [0.5, 0.0]

[chain]
alpha = 0.1
Q = [[-1.0, 1.0], [0.5, -0.5]]

[[modes]]
name = "one"
cost = "quadratic"
minimum = [1.0, -1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]

[[modes]]
name = "two"
cost = "polynomial"
variables = ["a", "b"]
formula = "(a^2 - 1)^2 + b^2"

[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.01

[[samplers]]
name = "skewed"
kind = "accelerated"
epsilon = 0.01
skew = 0.7
"""

# what is changed -> into what -> what the lines on stderr must say, one each, in this order
BAD: dict[str, tuple[str, str, list[str]]] = {
    "unknown key": (
        "alpha = 0.1",
        "alhpa = 0.1",
        ["chain.alpha: missing", "chain.alhpa: unknown key, with 0.1; did you mean alpha?"],
    ),
    "unknown key at the top": ("trials = 2", "trials = 2\nsede = 3", ["sede: unknown key, with 3; did you mean seed?"]),
    "unknown key of a sampler": (
        "skew = 0.7",
        "skew = 0.7\nskew_step = 1e-3",
        ['samplers[1] "skewed": skew_step: unknown key, with 0.001; did you mean skew?'],
    ),
    "unknown cost": (
        '"quadratic"',
        '"quadrtic"',
        ['modes[0] "one": cost: "quadrtic" is an unknown family; did you mean quadratic?'],
    ),
    "unknown kind": ('"langevin"', '"metropolis"', ['samplers[0] "classical": kind: "metropolis" is an unknown kind']),
    "missing cost": ('cost = "quadratic"\n', "", ['modes[0] "one": cost: missing']),
    "missing key": ("epsilon = 0.01\nskew", "skew", ['samplers[1] "skewed": epsilon: missing: the step size']),
    "wrong type": ("steps = 100", 'steps = "many"', ['steps: "many" must be a whole number']),
    "a float for a count": ("steps = 100", "steps = 1e2", ["steps: 100.0 must be a whole number"]),
    "a table for a number": ("trials = 2", "trials = { n = 2 }", ["trials: {n = 2} must be a whole number"]),
    "a date for a name": ('name = "good"', "name = 2026-01-01", ["name: 2026-01-01 must be text"]),
    "nan": ("alpha = 0.1", "alpha = nan", ["chain.alpha: nan must be a finite number"]),
    "inf": ("[0.5, 0.0]", "[inf, 0.0]", ["start[0]: inf must be a finite number"]),
    "inf for beta": (
        "epsilon = 0.01\n\n",
        "epsilon = 0.01\nbeta = inf\n\n",
        ['samplers[0] "classical": beta: inf must be'],
    ),
    "a word for beta": (
        "epsilon = 0.01\n\n",
        'epsilon = 0.01\nbeta = "hot"\n\n',
        ['samplers[0] "classical": beta: "hot" must be a finite number, or "inf" as text'],
    ),
    "too large a float": ("alpha = 0.1", "alpha = 1e400", ["chain.alpha: inf must be a finite number"]),
    "too large a float as text": ("alpha = 0.1", 'alpha = "1e400"', ['chain.alpha: "1e400" must be a number']),
    "too large an integer": (
        "alpha = 0.1",
        f"alpha = 1{'0' * 400}",
        ["chain.alpha: a whole number of about 401 digits must be"],
    ),
    "an absurd integer": ("alpha = 0.1", f"alpha = 1{'0' * 5000}", ["bad.toml: not valid TOML"]),
    "an absurd hexadecimal": (
        "alpha = 0.1",
        f"alpha = 0x{'f' * 100_000}",
        ["chain.alpha: a whole number of about 120412 digits"],
    ),
    "boolean for a number": (
        "epsilon = 0.01\n\n",
        "epsilon = true\n\n",
        ['samplers[0] "classical": epsilon: true must be a number'],
    ),
    "epsilon negative": (
        "epsilon = 0.01\n\n",
        "epsilon = -0.1\n\n",
        ['samplers[0] "classical": epsilon: -0.1 must be greater than 0'],
    ),
    "epsilon zero": (
        "epsilon = 0.01\n\n",
        "epsilon = 0\n\n",
        ['samplers[0] "classical": epsilon: 0 must be greater than 0'],
    ),
    "no generator": ("[-1.0, 1.0]", "[-1.0, 2.0]", ["chain.Q[0]: sums to 1, must be 0"]),
    "a negative rate": ("[0.5, -0.5]", "[-0.5, 0.5]", ["chain.Q[1][0]: -0.5 must be >= 0"]),
    "alpha too large": ("alpha = 0.1", "alpha = 2", ["chain.alpha: 2.0 is too large for Q: alpha * max|q_ii| = 2 > 1"]),
    "Q not square": ("[0.5, -0.5]]", "[0.5, -0.5], [0.0, 0.0]]", ["chain.Q: has shape (3, 2), must be square"]),
    "Q ragged": ("[0.5, -0.5]]", "[0.5]]", ["chain.Q: has rows of different lengths [1, 2]"]),
    "Q too small": ("Q = [[-1.0, 1.0], [0.5, -0.5]]", "Q = [[0.0]]", ["chain.Q: 1 x 1, but there are 2 modes"]),
    "two closed classes": (
        "[[-1.0, 1.0], [0.5, -0.5]]",
        "[[0.0, 0.0], [0.0, 0.0]]",
        ['chain.initial: "stationary": Q has 2 closed classes'],
    ),
    "initial unknown": (
        "alpha = 0.1",
        'alpha = 0.1\ninitial = "onee"',
        ['chain.initial: "onee" is an unknown mode; did you mean one?'],
    ),
    "initial too short": (
        "alpha = 0.1",
        "alpha = 0.1\ninitial = [1.0]",
        ["chain.initial: 1 probabilities, but 2 modes"],
    ),
    "initial no law": (
        "alpha = 0.1",
        "alpha = 0.1\ninitial = [0.5, 0.6]",
        ["chain.initial: the probabilities sum to 1.1, not 1"],
    ),
    "neither chain nor schedule": (
        "[chain]\nalpha = 0.1\nQ = [[-1.0, 1.0], [0.5, -0.5]]\n",
        "",
        ["chain: missing: 2 modes need a [chain] or a [schedule]"],
    ),
    "both": ("[chain]", '[schedule]\nswitches = [[0, "one"]]\n[chain]', ["schedule: stands in place of chain"]),
    "dimension of the start": (
        "[0.5, 0.0]",
        "[0.5]",
        [
            "start: has 1 coordinate, but theta has dimension 2 in all modes",
            'samplers[1] "skewed": skew: a number (0.7) is for dimension 2',
        ],
    ),
    "dimension of a mode": (
        "minimum = [1.0, -1.0]",
        "minimum = [1.0]",
        ['modes[0] "one": curvature: 2 x 2, but minimum has 1 coordinates'],
    ),
    "empty modes": (
        GOOD[GOOD.index("[chain]") : GOOD.index("[[samplers]]")],
        "modes = []\n",
        ["modes: [] must have at least 1 entry"],
    ),
    "no modes": (GOOD[GOOD.index("[chain]") : GOOD.index("[[samplers]]")], "", ["modes: missing"]),
    "modes is a number": (
        GOOD[GOOD.index("[chain]") : GOOD.index("[[samplers]]")],
        "modes = 3\n",
        ["modes: 3 must be a list of tables"],
    ),
    "asymmetric curvature": (
        "[0.3, 1.0]]",
        "[0.4, 1.0]]",
        ['modes[0] "one": curvature: not symmetric: [0][1] = 0.3 but [1][0] = 0.4'],
    ),
    "indefinite curvature": ("[0.3, 1.0]]", "[0.3, -1.0]]", ['modes[0] "one": curvature: not positive definite']),
    "noise of a wrong type": (
        "curvature =",
        'gradient_noise = "x"\ncurvature =',
        ['modes[0] "one": gradient_noise: "x" must be a matrix, a list (its diagonal)'],
    ),
    "noise with a wrong entry": (
        "curvature =",
        'gradient_noise = [[1, "x"], [0, 1]]\ncurvature =',
        ['modes[0] "one": gradient_noise[0][1]: "x" must be a number'],
    ),
    "radius": (
        "curvature =",
        "target = { radius = 0 }\ncurvature =",
        ['modes[0] "one": target.radius: 0 must be greater than 0'],
    ),
    "not skew": (
        "skew = 0.7",
        "skew = [[0, 1], [1, 0]]",
        ['samplers[1] "skewed": skew: not skew: [1][0] = 1 but [0][1] = 1'],
    ),
    "skew with a wrong entry": (
        "skew = 0.7",
        'skew = [[0, "x"], [1, 0]]',
        ['samplers[1] "skewed": skew[0][1]: "x" must be a number'],
    ),
    "skew of another size": (
        "skew = 0.7",
        "skew = [[0]]",
        ['samplers[1] "skewed": skew: a 1 x 1 matrix, but start has dimension 2'],
    ),
    "skew of another word": (
        "skew = 0.7",
        'skew = "best"',
        ['samplers[1] "skewed": skew: "best" must be a matrix (N lists of N numbers), a number'],
    ),
    "no optimal skew": (
        "skew = 0.7",
        'skew = "optimal"',
        ['samplers[1] "skewed": skew: "optimal" is known for one quadratic mode'],
    ),
    "a slash in the name": ('name = "good"', 'name = "../good"', ['name: "../good" must be 1 to 64 letters, digits']),
    "a newline in the name": ('name = "good"', 'name = "good\\n"', ['name: "good\\n" must be 1 to 64 letters, digits']),
    "a reserved name": ('"classical"', '"oracle"', ['samplers[0].name: "oracle" is reserved']),
    "a name twice": ('"skewed"', '"classical"', ['samplers[1].name: "classical" is also the name of samplers[0]']),
    "1e12 trials": ("trials = 2", "trials = 1_000_000_000_000", ["trials: 1000000000000 must be at most 1000000000"]),
    "no trials": ("trials = 2", "trials = 0", ["trials: 0 must be at least 1"]),
    "a negative seed": ("trials = 2", "trials = 2\nseed = -1", ["seed: -1 must be at least 0"]),
    "burn-in of all steps": (
        "steps = 100",
        "steps = 100\nburn_in = 100",
        ["burn_in: 100 must be less than steps = 100"],
    ),
    "not a polynomial": ("b^2", "sin(b)", ['modes[1] "two": formula']),
    "code for a formula": ("b^2", "__import__('os')", ['modes[1] "two": formula']),
    "unbounded below": ("b^2", "b^3", ['modes[1] "two": formula']),
    "an intervention too late": (
        "[chain]",
        '[[interventions]]\nkind = "outage"\nat = 100\nsteps = 3\n[chain]',
        ["interventions[0].at: 100 must be less than steps = 100"],
    ),
    "an intervention to nowhere": (
        "[chain]",
        '[[interventions]]\nkind = "switch"\nat = 10\nto = "three"\n[chain]',
        ['interventions[0].to: "three" is an unknown mode'],
    ),
    "a sweep of nothing": (
        "[chain]",
        '[sweep]\n"chain.alhpa" = [1]\n[chain]',
        ['sweep."chain.alhpa": unknown address; did you mean chain.alpha?'],
    ),
    "a sweep with a bad value": (
        "[chain]",
        '[sweep]\n"chain.alpha" = [0.1, 2.0]\n[chain]',
        ['sweep."chain.alpha"[1]: chain.alpha: 2.0 is too large'],
    ),
    "a sweep that is no list": (
        "[chain]",
        '[sweep]\n"chain.alpha" = 0.1\n[chain]',
        ['sweep."chain.alpha": 0.1 must be a list'],
    ),
    "escape codes in a key": ("trials = 2", 'trials = 2\n"\\u001b[31m" = 3', ['"\\u001b[31m": unknown key']),
    "not TOML": ("trials = 2", "trials = ", ["bad.toml: not valid TOML"]),
    "deep brackets": ("trials = 2", f"trials = {'[' * 20_000}", ["bad.toml: nested more than 16 levels deep"]),
    "deep tables": ("trials = 2", f"trials = {'{a=' * 20_000}", ["bad.toml: nested more than 16 levels deep"]),
    "a deep dotted key": (
        "trials = 2",
        "trials = 2\n" + "a." * 50_000 + "a = 1",
        ["bad.toml: nested more than 16 levels deep"],
    ),
    "an endless string": ("trials = 2", 'trials = """' + '\\"""' * 40_000, ["bad.toml: not valid TOML"]),
    "several at once": (
        GOOD,
        GOOD.replace("trials = 2", "trials = -2").replace("alpha = 0.1", "alpha = 3").replace("0.01", "-1"),
        [
            "trials: -2 must be at least 1",
            "chain.alpha: 3.0 is too large",
            'samplers[0] "classical": epsilon: -1 must be greater than 0',
            'samplers[1] "skewed": epsilon: -1 must be greater than 0',
        ],
    ),
    "names, whatever else is wrong": (
        GOOD,
        GOOD.replace('"classical"', '"frozen"').replace("0.01", "-1").replace('"skewed"', '"frozen"'),
        [
            'samplers[0] "frozen": epsilon: -1 must be greater than 0',
            'samplers[1] "frozen": epsilon: -1 must be greater than 0',
            'samplers[0].name: "frozen" is reserved: the name of a baseline',
            'samplers[1].name: "frozen" is also the name of samplers[0]',
            'samplers[1].name: "frozen" is reserved: the name of a baseline',
        ],
    ),
    "modes that are meant, whatever else is wrong": (
        GOOD,
        GOOD.replace("b^2", "sin(b)").replace("[chain]", '[chain]\ninitial = "three"'),
        ['modes[1] "two": formula', 'chain.initial: "three" is an unknown mode (known: stationary, one, two)'],
    ),
    "shared keys of an unknown family": (
        GOOD,
        GOOD.replace('"quadratic"', '"quadradic"').replace('"one"', '"o n e"').replace('"langevin"', '"x"\nbeta = -1'),
        [
            'modes[0].cost: "quadradic" is an unknown family; did you mean quadratic?',
            'modes[0].name: "o n e" must be 1 to 64 letters',
            'samplers[0] "classical": kind: "x" is an unknown kind',
            'samplers[0] "classical": beta: -1 must be greater than 0',
        ],
    ),
    "shared keys of no family": (
        'kind = "langevin"\nepsilon = 0.01',
        "",
        ['samplers[0] "classical": kind: missing', 'samplers[0] "classical": epsilon: missing'],
    ),
    "Q and alpha": (
        GOOD,
        GOOD.replace("alpha = 0.1", "alpha = -1\ninitial = 3").replace("[0.5, -0.5]", "[0.5, 0.5]"),
        ["chain.alpha: -1 must be greater than 0", "chain.Q[1]: sums to 1, must be 0", "chain.initial: 3 must be"],
    ),
    "several of one mode": (
        GOOD,
        GOOD.replace("[0.3, 1.0]]", "[0.2, 1.0]]\ngradient_noise = -1")
        .replace("b^2", "b^3")
        .replace("variables", "basis = [[1.0, 1.0], [1.0, 1.0]]\nvariables"),
        [
            'modes[0] "one": curvature: not symmetric',
            'modes[0] "one": gradient_noise: a variance of -1 is negative',
            'modes[1] "two": formula',
            'modes[1] "two": basis: not invertible',
        ],
    ),
    "an address of a sweep, whatever else is wrong": (
        GOOD,
        GOOD.replace("trials = 2", "trials = -2").replace("[chain]", '[sweep]\n"chain.alhpa" = [1]\n[chain]'),
        ["trials: -2 must be at least 1", 'sweep."chain.alhpa": unknown address; did you mean chain.alpha?'],
    ),
    "no claim on addresses of an unknown family": (
        GOOD,
        GOOD.replace('"quadratic"', '"x"').replace("[chain]", '[sweep]\n"modes.one.minimum" = [[1.0, 1.0]]\n[chain]'),
        ['modes[0] "one": cost: "x" is an unknown family'],
    ),
    "a schedule out of order": (
        "[chain]\nalpha = 0.1\nQ = [[-1.0, 1.0], [0.5, -0.5]]",
        '[schedule]\nswitches = [[1, "one"], [1, "two"], [5, "one"], [4, "two"]]',
        [
            "schedule.switches[0][0]: 1 must be 0",
            "schedule.switches[1][0]: 1 must be greater than 1",
            "schedule.switches[3][0]: 4 must be greater than 5",
        ],
    ),
}
JARGON = ("Traceback", "pydantic", "type=", "input_value", "function-before", "Input should")


def write(folder: Path, text: str | bytes) -> Path:
    file = folder / "bad.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def refused(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """Call ``tracker run`` in ``folder`` and check what holds for every refusal."""
    before = sorted(folder.rglob("*"))
    began = time.perf_counter()
    result = CliRunner().invoke(app, ["run", str(folder / "bad.toml"), "--out", str(folder / "out"), *arguments])
    assert time.perf_counter() - began < SECONDS
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.stdout == ""
    assert sorted(folder.rglob("*")) == before
    for word in JARGON:
        assert word not in result.stderr
    lines = result.stderr.splitlines()
    assert len(set(lines)) == len(lines)
    return result.exit_code, lines


@pytest.mark.parametrize("case", BAD)
def test_each_problem_is_one_line_with_key_value_and_rule(case: str, tmp_path: Path) -> None:
    before, after, expected = BAD[case]
    assert before in GOOD
    write(tmp_path, GOOD.replace(before, after, 1))
    code, lines = refused(tmp_path)
    assert code == 3
    assert len(lines) == len(expected), lines
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(start), line


def test_the_good_file_is_good(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["validate", str(write(tmp_path, GOOD))])
    assert result.exit_code == 0, result.stderr


def test_a_file_of_300_kb_is_not_parsed(tmp_path: Path) -> None:
    write(tmp_path, GOOD + "#" * 300_000)
    assert refused(tmp_path) == (
        3,
        [
            "bad.toml: a scenario file must be at most 200 kB; rows of data stand in a file beside it, which the scenario names (key data)"
        ],
    )


def test_many_problems_are_cut_short(tmp_path: Path) -> None:
    write(tmp_path, "\n".join(f"stepz{n} = 1" for n in range(10_000)) + "\n" + GOOD)
    code, lines = refused(tmp_path)
    assert code == 3
    assert len(lines) < 200


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    write(tmp_path, b'name = "\xff"')
    assert refused(tmp_path) == (3, ["bad.toml: not UTF-8 text: byte 0xff at position 8"])


@pytest.mark.parametrize(
    ("change", "flag"),
    [
        ("trials=1_000_000_000", "--max-steps"),
        ("steps=1_000_000_000_000", "--max-steps"),
        ("trials=10_000_000", "--max-disk"),
    ],
)
def test_what_costs_too_much_names_the_limit_and_its_flag(change: str, flag: str, tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    code, lines = refused(tmp_path, "--set", change)
    assert code == 4
    assert any(line.endswith(f"raise it with {flag}") for line in lines), lines


def test_a_wrong_setting_names_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    code, lines = refused(tmp_path, "--set", "chian.alpha=0.1", "--set", "name=abc")
    assert code == 3
    assert lines[0] == "--set chian.alpha: unknown address; did you mean chain.alpha?"
    assert lines[1].startswith('--set name: "abc" is not a TOML value')
    with pytest.raises(ScenarioError, match="--set steps: must be KEY=VALUE"):
        parse(GOOD, settings=["steps"])


@pytest.mark.parametrize("command", ["run", "validate", "sweep", "limit"])
@pytest.mark.parametrize("setting", ["trials", "trials=", "=4", ""])
def test_a_setting_without_key_or_value_is_wrong_usage(command: str, setting: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [command, str(write(tmp_path, GOOD)), "--set", setting])
    assert result.exit_code == 2
    assert "must be KEY=VALUE" in result.stderr


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def forbidden(path: Any, *others: Any, **options: Any) -> int:
        if Path(path).name == "bad.toml":  # root, who may run the tests, may read everything
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *others, **options)

    write(tmp_path, GOOD)
    monkeypatch.setattr(os, "open", forbidden)
    assert refused(tmp_path) == (2, [f"{tmp_path / 'bad.toml'}: Permission denied"])


@pytest.mark.parametrize("missing", ["nothing.toml", "."])
def test_a_path_that_is_no_file(missing: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(tmp_path / missing)])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


JUNK: list[Any] = [
    *(0, 1, -1, 2, True, 1e300, -1e300, 5e-324, 1e16, math.nan, math.inf, 10**400, -(10**18)),
    *(
        "",
        "x",
        "random",
        "optimal",
        "inf",
        "stationary",
        "one",
        "hessian",
        "mixture",
        "a^12*b",
        "1",
        "\x00\x1b[31m",
        "a" * 70,
    ),
    *([], [[]], [[[]]], [1], [1, 2], [[1, 2], [3, 4]], [[0, 1], [-1, 0]], [["a"]], [[0, "one"], [5, "two"]]),
    *({}, {"a": 1}, {"radius": 1e308}, {"mean": [0, 0], "covariance": [[1, 0], [0, 1]]}, {"chain.alpha": [1, -1]}),
    *(dt.date(2026, 1, 1), dt.time(1)),
]


def spoil(table: Any, rng: random.Random) -> None:
    """Put junk in place of something in ``table``, or beside it, or take it away."""
    places = list(table) if isinstance(table, dict) else range(len(table))
    key = rng.choice(places)
    if isinstance(table[key], (dict, list)) and table[key] and rng.random() < 0.8:
        spoil(table[key], rng)
    elif rng.random() < 0.8:
        table[key] = copy.deepcopy(rng.choice(JUNK))
    elif isinstance(table, dict):
        table[rng.choice(["steps", "target", "initial", "skew", "basis", "sweep", "schedule"])] = copy.deepcopy(
            rng.choice(JUNK)
        )
    else:
        del table[key]


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_spoilt_is_valid_or_a_scenario_error(seed: int) -> None:
    rng = random.Random(seed)
    valid, lines = 0, []
    for _ in range(300):
        data = tomllib.loads(GOOD)
        for _ in range(rng.choice([1, 1, 2, 3])):
            spoil(data, rng)
        try:
            scenario = make_scenario(data)
        except ScenarioError as error:
            lines += error.problems
        else:
            valid += 1
            assert parse(scenario.toml()).content() == scenario.content()
            warnings(scenario)
            refusals(scenario)
    assert all(line.isprintable() and not any(word in line for word in JARGON) for line in lines)
    assert 0 < valid < 150  # the spoiling spoils, but not everything


@pytest.mark.parametrize("case", ["unknown key", "deep brackets", "a deep dotted key", "not a polynomial"])
def test_from_outside(case: str, tmp_path: Path) -> None:
    before, after, expected = BAD[case]
    file = write(tmp_path, GOOD.replace(before, after, 1))
    command = [sys.executable, "-c", "from tracker.cli import main; main()", "run", str(file)]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False, env=_env())
    assert time.perf_counter() - began < 4 * SECONDS  # with the imports, on a busy machine
    assert done.returncode == 3
    assert done.stdout == ""
    assert [a.startswith(b) for a, b in zip(done.stderr.splitlines(), expected, strict=True)] == [True] * len(expected)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SCENARIOS.parent)}
