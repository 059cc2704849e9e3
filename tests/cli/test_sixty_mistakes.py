"""Sixty mistakes that a new user made, each answered in words that name the key, the value and the way out; none misleads.

A row: what is changed in a file that is right, the command, its exit code, and what the answer must say (``never: `` before what it
must not say). The commands are run as a shell would run them, interpreted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from interpreting import interpreting
from typer.testing import CliRunner

from tracker.cli import app

BASE = """\
name = "base"
seed = 1
trials = 6
steps = 100
start = [0.0, 0.0]
baselines = ["frozen", "oracle"]
[chain]
alpha = 0.05
Q = [[-1.0, 1.0], [1.0, -1.0]]
[[modes]]
name = "left"
cost = "quadratic"
minimum = [-1.0, 0.0]
curvature = [[1.0, 0.0], [0.0, 2.0]]
gradient_noise = 0.1
[[modes]]
name = "right"
cost = "quadratic"
minimum = [1.0, 0.0]
curvature = [[1.0, 0.0], [0.0, 2.0]]
gradient_noise = 0.1
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.1
beta = 20.0
"""
SECOND = BASE[BASE.index('[[modes]]\nname = "right"') : BASE.index("[[samplers]]")]
CHAIN = BASE[BASE.index("[chain]") : BASE.index("[[modes]]")]
SAMPLER = BASE[BASE.index("[[samplers]]") :]
LEFT, RIGHT, KIND = 'name = "left"\n', 'name = "right"\n', 'kind = "langevin"\n'

OWN = """\
from typing import NamedTuple
from tracker.costs.base import expected, gradient, observation_size, observe, value
from tracker.streams import draw_normals

class Bowl(NamedTuple):
    centre: float

@value.register(Bowl)
def _value(cost, theta, z):
    return 0.5 * (theta[0] - cost.centre) ** 2

@gradient.register(Bowl)
def _gradient(cost, theta, z, out):
    out[0] = theta[0] - cost.centre

costs = {"bowl": Bowl}
"""
OWN_WORLD = """\
name = "own"
trials = 2
steps = 20
start = [0.4]
baselines = []
[[modes]]
name = "one"
cost = "bowl"
centre = 1.0
[[samplers]]
name = "s"
kind = "langevin"
epsilon = 0.1
"""
OBSERVED = """\
@observation_size.register(Bowl)
def _size(cost):
    return 1

@observe.register(Bowl)
def _observe(cost, k, count, stream, out):
    for i in range(count):
        draw_normals(stream, out[i])

"""
ALGORITHM_1 = 'kind = "hessian"\nskew = [[0.0]]\nskew_step = 0.1\nskew_bounds = [-1.0, 1.0]\n'

Changes = dict[str, str]


class Mistake(NamedTuple):
    """What was done, and what the program says to it."""

    changes: Changes | str  # of the file; or another text in its place
    command: str
    exit: int
    says: tuple[str, ...]
    own: Changes | None = None  # of the code; the file is then OWN_WORLD


def file_of(mistake: Mistake) -> str:
    if isinstance(mistake.changes, str):
        return mistake.changes
    return changed(BASE if mistake.own is None else OWN_WORLD, mistake.changes)


def changed(text: str, changes: Changes) -> str:
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new, 1)
    return text


V, RUN = "validate w.toml", "run w.toml --out out"
CODE = "run w.toml --out out --code mine.py"
MISTAKES = {
    "a key misspelt": Mistake({"trials": "trails"}, V, 3, ("trails: unknown key, with 6; did you mean trials?",)),
    "eps": Mistake({"epsilon": "eps"}, V, 3, ('samplers[0] "classical": eps: unknown key, with 0.1; did you mean epsilon?',)),
    "sampler.x": Mistake({}, f"{RUN} --set sampler.classical.epsilon=0.2", 3, ("did you mean samplers.classical.epsilon?",)),
    "clasical": Mistake({}, "limit w.toml --sampler clasical", 2, ("'clasical' is none of the scenario's: classical",)),
    "steps = 5e3": Mistake({"steps = 100": "steps = 5e3"}, V, 3, ("steps: 5000.0 must be a whole number, written 5000",)),
    "4e3 in a schedule": Mistake(
        {CHAIN: '[schedule]\nswitches = [[0, "left"], [4e1, "right"]]\n'}, V, 3,
        ("schedule.switches[1][0]: 40.0 must be a whole number, written 40",)),
    "a minimum of 3": Mistake({"[-1.0, 0.0]": "[-1.0, 0.0, 1.0]"}, V, 3, ('"left": curvature: 2 x 2, but minimum has 3',)),
    "Q is 3 x 3": Mistake(
        {"Q = [[-1.0, 1.0], [1.0, -1.0]]": "Q = [[-2.0, 1.0, 1.0], [1.0, -2.0, 1.0], [1.0, 1.0, -2.0]]"}, V, 3,
        ("chain.Q: 3 x 3, but there are 2 modes",)),
    "a start of 1": Mistake({"[0.0, 0.0]\nb": "[0.0]\nb"}, V, 3, ("start: has 1 coordinate, but theta has dimension 2", "never: modes[0]")),
    "one mode, Q is 2 x 2": Mistake({SECOND: ""}, V, 3, ("chain.Q: 2 x 2, but there is 1 mode",)),
    "curvature not symmetric": Mistake({"[0.0, 2.0]]": "[0.5, 2.0]]"}, V, 3, ("curvature: not symmetric: [0][1] = 0 but [1][0] = 0.5",)),
    "curvature is a number": Mistake({"[[1.0, 0.0], [0.0, 2.0]]": "1.0"}, V, 0, ("valid",)),
    "curvature is a vector": Mistake({"[[1.0, 0.0], [0.0, 2.0]]": "[1.0, 2.0]"}, V, 0, ("valid",)),
    "a row of Q off by 1e-9": Mistake({"[[-1.0, 1.0]": "[[-1.0, 1.000000001]"}, V, 3, ("chain.Q[0]: sums to 1.0000000", "e-09, must be 0")),
    "a row of Q off by 0.2": Mistake({"[[-1.0, 1.0]": "[[-1.0, 1.2]"}, V, 3, ("chain.Q[0]: sums to 0.2, must be 0",)),
    "Q = P": Mistake(
        {"[[-1.0, 1.0], [1.0, -1.0]]": "[[0.9, 0.1], [0.1, 0.9]]"}, V, 3, ("chain.Q: ", "rows that sum to 1", "minus I", "with alpha = 1")),
    "alpha = 2": Mistake({"alpha = 0.05": "alpha = 2"}, V, 3, ("chain.alpha: 2", "too large for Q: alpha * max|q_ii| = 2 > 1")),
    "an absorbing chain": Mistake(
        {"[1.0, -1.0]]": '[0.0, 0.0]]\ninitial = "left"'}, V, 0, ("warning: chain.Q: reducible: some modes are never reached",)),
    "initial misspelt": Mistake({"Q = ": 'initial = "rigth"\nQ = '}, V, 3, ('chain.initial: "rigth" is an unknown mode; did you mean right?',)),
    "the same name twice": Mistake({RIGHT: LEFT}, V, 3, ('modes[1].name: "left" is also the name of modes[0]',)),
    "a sampler called frozen": Mistake({'"classical"': '"frozen"'}, V, 3, ('samplers[0].name: "frozen" is reserved: the name of a baseline',)),
    "a name with a space": Mistake({'"classical"': '"my sampler"'}, V, 3, ('"my sampler" must be 1 to 64 letters, digits',)),
    "seed = -1": Mistake({"seed = 1": "seed = -1"}, V, 3, ("seed: -1 must be at least 0",)),
    "epsilon over its limit": Mistake(
        {"epsilon = 0.1": "epsilon = 1.5"}, RUN, 5,
        ("epsilon: 1.5 is not mean-square stable in mode", "the limit is 1", "smaller steps (epsilon) may help")),
    "beta = 0": Mistake({"beta = 20.0": "beta = 0"}, V, 3, ("beta: 0 must be greater than 0",)),
    "beta = inf": Mistake({"beta = 20.0": "beta = inf"}, V, 3, ('beta: inf must be a finite number, or "inf" as text',)),
    "skew is a vector": Mistake(
        {KIND: 'kind = "accelerated"\nskew = [0.0, 1.0]\n'}, V, 3, ("skew: ", "a matrix (N lists of N numbers)", "not a list of numbers")),
    "skew is symmetric": Mistake(
        {KIND: 'kind = "accelerated"\nskew = [[0.0, 1.0], [1.0, 0.0]]\n'}, V, 3, ("skew: not skew: [1][0] = 1 but [0][1] = 1",)),
    "burn_in beyond steps": Mistake({"seed = 1": "burn_in = 500"}, V, 3, ("burn_in: 500 must be less than steps = 100",)),
    "record_every beyond steps": Mistake({"seed = 1": "record_every = 500"}, V, 3, ("record_every: 500 must be at most steps = 100",)),
    "burn_in forgotten, the start far away": Mistake(
        {"start = [0.0": "start = [1000.0"}, RUN, 0, ("classical: the first tenth of the run has", "set a burn_in")),
    "a negative variance": Mistake({"gradient_noise = 0.1": "gradient_noise = -0.1"}, V, 3, ("gradient_noise: a variance of -0.1 is negative",)),
    "kind = sgld": Mistake({'"langevin"': '"sgld"'}, V, 3, ('kind: "sgld" is an unknown kind; did you mean langevin?',)),
    "hessian without its keys": Mistake(
        {'"langevin"': '"hessian"'}, V, 3, ("skew: missing: the matrix S", "skew_step: missing", "skew_bounds: missing")),
    "no chain": Mistake({CHAIN: ""}, V, 3, ("chain: missing: 2 modes need a [chain] or a [schedule]",)),
    "no samplers": Mistake({SAMPLER: ""}, V, 3, ("samplers: missing: the algorithms that are compared",)),
    "broken TOML": Mistake({"seed = 1": "seed = = 1"}, V, 3, ("w.toml: not valid TOML", "line 2, column 8")),
    "a letter as a scenario": Mistake("Dear diary,\nit rained.\n", V, 3, ("w.toml: not valid TOML", "line 1")),
    "a CSV as a scenario": Mistake("a,b,c\n" + "1.0,2.0,3.0\n" * 20_000, V, 3, ("at most 200 kB", "a file beside it", "key data")),
    "[modes] beside [[modes]]": Mistake({"[[modes]]": "[modes]"}, V, 3, ("not valid TOML", "line 10: write [[modes]] for [modes]")),
    "equal minima": Mistake(
        {"[-1.0, 0.0]": "[1.0, 0.0]"}, RUN, 0, ("Did it track? no move. Nothing to track: all modes have the same minimisers.", "never: % of the way")),
    "a target that covers both minima": Mistake(
        {RIGHT: f"{RIGHT}target = {{ radius = 5.0 }}\n", LEFT: f"{LEFT}target = {{ radius = 5.0 }}\n"}, RUN, 0,
        ('"left": target.radius = 5 reaches a minimiser of mode "right", 2 away', "100 %")),
    "trials = 1": Mistake({"trials = 6": "trials = 1"}, RUN, 0, ("unclear", "1 trial gives no interval, which takes 5")),
    "steps = 1": Mistake({"steps = 100": "steps = 1"}, RUN, 0, ("no switch. Nothing to track: the mode never changed",)),
    "run twice": Mistake({}, f"{RUN} && {RUN}", 7, ("exists already; --resume continues it, --replace overwrites it, --out",)),
    "resume what is complete": Mistake({}, f"{RUN} && {RUN} --resume", 0, ("out: complete already, nothing was left to compute",)),
    "resume what was changed": Mistake(
        {}, f"{RUN} && {RUN} --resume --set samplers.classical.epsilon=0.2", 7, ("samplers[0].epsilon: 0.1 in the run, 0.2 now",)),
    "no such file": Mistake({}, "run none.toml", 2, ("none.toml: No such file",)),
    "a folder for a file": Mistake({}, "run .", 2, (".: Is a directory",)),
    "--set epsilon": Mistake({}, f"{RUN} --set epsilon=0.1", 3, ("--set epsilon: unknown address; did you mean samplers.*.epsilon?",)),
    "--set name=hello": Mistake({}, f"{RUN} --set name=hello", 3, ('"hello" is not a TOML value', "'\"hello\"'")),
    "report on a TOML": Mistake({}, "report w.toml", 7, ("w.toml: a file, not the directory of a run",)),
    "sweep without [sweep]": Mistake({}, "sweep w.toml", 3, ("sweep: missing: what to sweep, as in [sweep] with",)),
    "new twice": Mistake({}, "new hello && new hello", 2, ("hello.toml: exists already",)),
    "compare with one run": Mistake({}, "compare out", 2, ("Missing argument 'RUN'",)),
    "[schedule] and [chain]": Mistake(
        {"[chain]": '[schedule]\nswitches = [[0, "left"]]\n[chain]'}, V, 3, ("schedule: stands in place of chain: give one of the two",)),
    "own cost without a Hessian": Mistake({KIND: ALGORITHM_1}, CODE, 3, ('"one": has no hessian, which sampler s needs',), own={}),
    "own cost, gradient twice too large": Mistake(
        {}, CODE, 3, ("Bowl: gradient: coordinate 0 at theta = (0.918)", "it gives -0.164, differences of value give -0.082"),
        own={"out[0] = theta": "out[0] = 2 * theta", "theta[0] - cost.centre\n\ncosts": "(theta[0] - cost.centre)\n\ncosts"}),
    "own cost with observations, no expected": Mistake(
        {}, CODE, 3, ("Bowl: expected: Bowl observes z", "@expected.register(Bowl)", "expected_draws = 4096"), own={"costs =": f"{OBSERVED}costs ="}),
    "own cost, a field misspelt": Mistake(
        {}, CODE, 3, ("Bowl has no field 'center', used in gradient, line 14; did you mean centre?",), own={"theta[0] - cost.centre\n\n": "theta[0] - cost.center\n\n"}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _interpreted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with interpreting(None):
        yield


def call(command: str) -> Any:
    """Run ``A && B`` as a shell would."""
    for one in command.split(" && "):
        done = CliRunner().invoke(app, one.split())
    return done


def test_there_are_sixty() -> None:
    assert len(MISTAKES) == 60


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_clearly(name: str) -> None:
    mistake = MISTAKES[name]
    Path("w.toml").write_text(file_of(mistake))
    Path("mine.py").write_text(changed(OWN, mistake.own or {}))
    done = call(mistake.command)
    told = done.stdout + done.stderr
    assert done.exit_code == mistake.exit, told
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    for words in mistake.says:
        wanted = words.removeprefix("never: ")
        assert (wanted in told) is (wanted == words), told
    if mistake.exit in (2, 3):  # one line for each problem, and few
        lines = [line for line in done.stderr.splitlines() if "looking for" not in line]
        assert len(lines) <= 6, told


def test_the_files_are_right_without_the_mistakes() -> None:
    Path("w.toml").write_text(BASE)
    assert call(V).exit_code == 0
    Path("w.toml").write_text(OWN_WORLD)
    Path("mine.py").write_text(OWN)
    assert call(f"{V} --code mine.py").exit_code == 0
