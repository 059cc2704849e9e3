"""The whole check: correct engines are confirmed, planted faults are rejected, what is not validated is said to be so.

Fixed seeds. Each test of a verdict has size 1 %, so that a seed at which a correct engine is rejected is one in a hundred; the
rates over many seeds are in benchmarks/verdict_power.txt.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interpreting import interpreting
from typer.testing import CliRunner
from worlds import ROOT, SCENARIOS

import tracker
from tracker import convergence
from tracker.cli import app
from tracker.convergence import Verdict, adaptive_findings, order_only
from tracker.reports import limit_page as limit_report
from tracker.scenario import with_settings

FILES = {letter: SCENARIOS / f"example_{letter}.toml" for letter in "abd"}
A, B, D = (tracker.load(FILES[letter]) for letter in "abd")
TRIALS, DELTA = 3000, 0.1

sys.path.append(str(ROOT / "benchmarks"))
import verdict_faults as faults  # noqa: E402
import verdict_power as power  # noqa: E402


def by_name(verdict: Verdict) -> dict[str, Any]:
    return {o.name: o for o in verdict.observables}


@pytest.fixture(scope="module")
def example_a() -> Verdict:
    return tracker.check_limit(A)


@pytest.fixture(scope="module")
def simulated_a() -> Verdict:
    """Seed 1 with so few trials is one of the right engines in a thousand whose steps are rejected (z = 3.9)."""
    return tracker.check_limit(A.replace(seed=2), trials=TRIALS, resolution=DELTA)


@pytest.fixture(scope="module")
def example_b() -> Verdict:
    return tracker.check_limit(B)


# --- correct engines


def test_example_a_is_confirmed_by_exact_values_and_a_simulation_of_the_largest_step(example_a: Verdict) -> None:
    assert (example_a.limit_verdict, example_a.implementation_verdict) == ("confirmed", "confirmed")
    assert example_a.reference == "moments"
    assert example_a.regime == "switched"
    assert example_a.simulated == (0.125,)
    assert all(o.stderr == (0.0,) * 5 for o in example_a.observables), "exact, no Monte Carlo"
    means = by_name(example_a)["E[theta_2]"].algorithm
    published = (-0.227466676885, -0.223085235053, -0.221229615983, -0.220363348736, -0.219943466414)
    np.testing.assert_allclose(means, published, atol=1e-11)
    far = example_a.distances
    np.testing.assert_allclose([far.switched, far.averaged, far.frozen], [0.00528, 0.475, 0.822], rtol=0.01)
    assert example_a.order.exact == pytest.approx(1.0, abs=0.1)
    assert example_a.order.exact != pytest.approx(1.0, abs=0.02), "over this ladder the slope is not 1"
    assert by_name(example_a)["E[theta_1(T/2) theta_1(T)]"].order is None, "its leading term is tiny: no slope"


def test_example_a_is_confirmed_by_simulation(simulated_a: Verdict) -> None:
    assert (simulated_a.limit_verdict, simulated_a.implementation_verdict) == ("confirmed", "confirmed")
    assert simulated_a.simulated == simulated_a.epsilons
    order = simulated_a.order
    assert order.low < order.exact < order.high  # type: ignore[operator]
    for o in simulated_a.observables:
        assert min(o.stderr) > 0.0
        assert abs(o.error[-1] - o.exact_error[-1]) < 4.9 * o.stderr[-1]


def test_the_result_does_not_depend_on_the_number_of_threads(simulated_a: Verdict) -> None:
    again = tracker.check_limit(A.replace(seed=2), trials=TRIALS, resolution=DELTA, workers=3)
    assert again.json() == simulated_a.json()


def test_example_b_is_confirmed_with_the_published_distances(example_b: Verdict) -> None:
    """docs/mathematics, "Example B": columns W1 (there on 3001 points, good to 2e-8) and KS, and E theta^4."""
    assert (example_b.limit_verdict, example_b.implementation_verdict) == ("confirmed", "confirmed")
    assert example_b.reference == "density"
    w1 = (0.019368092, 0.009412926, 0.004665910, 0.002324935, 0.001160677)
    ks = (0.012422841, 0.006219711, 0.003118227, 0.001561752, 0.000781595)
    np.testing.assert_allclose([law.w1 for law in example_b.laws], w1, atol=2e-8)
    np.testing.assert_allclose([law.ks for law in example_b.laws], ks, atol=5e-9)
    fourth = by_name(example_b)["E[theta_1^4]"]
    assert fourth.limit == pytest.approx(0.762136215017, abs=1e-10)
    assert fourth.algorithm[4] == pytest.approx(0.763980059508, abs=1e-9)
    assert example_b.order.estimate == pytest.approx(example_b.order.exact, abs=0.1)
    bound = next(b for b in example_b.bounds if b.distance == "ks")
    assert bound.exact < bound.bound < 0.05  # type: ignore[operator]


def test_example_d_is_confirmed() -> None:
    """docs/mathematics, "Example D": the limit, the sampler at n = 16, and a slope near 1."""
    verdict = tracker.check_limit(D, epsilons=[1 / 8, 1 / 16, 1 / 32], resolution=0.1)
    assert (verdict.limit_verdict, verdict.implementation_verdict) == ("confirmed", "confirmed")
    seen = by_name(verdict)
    assert seen["E[theta_1]"].limit == pytest.approx(0.458812039628, abs=1e-7)
    assert seen["E[theta_2^2]"].algorithm[1] == pytest.approx(0.393529832772, abs=1e-7)
    assert seen["E[cos(sum theta)]"].limit == pytest.approx(0.636066577789, abs=1e-7)
    assert verdict.order.exact == pytest.approx(1.0, abs=0.1)
    far = verdict.distances
    assert far.switched == min(far.switched, far.frozen / 10, far.averaged / 10)  # type: ignore[operator]


# --- planted faults


def case(name: str) -> int:
    return next(n for n, each in enumerate(power.CASES) if each.name.startswith(name))


@pytest.mark.parametrize(
    "name", ["noise sqrt", "chain rate x 2", "chain moved every 2nd", "S flipped", "S missing in row 2"]
)
def test_a_wrong_limit_is_rejected(name: str) -> None:
    found = power.outcome(case(name), 0, TRIALS, DELTA)
    assert found.limit == "rejected"
    assert found.implementation == "rejected"


@pytest.mark.parametrize("name", ["lag +1", "lag -1"])
def test_a_lag_leaves_the_limit_and_is_no_implementation(name: str) -> None:
    found = power.outcome(case(name), 0, TRIALS, DELTA)
    assert found.limit != "rejected"
    assert found.implementation == "rejected"


def test_without_asking_for_trials_a_fault_is_still_seen() -> None:
    with faults.world(faults.Ahead):
        verdict = tracker.check_limit(A, resolution=DELTA)
    assert (verdict.limit_verdict, verdict.implementation_verdict) == ("confirmed", "rejected")


def test_a_fault_in_one_dimension_is_seen_by_the_whole_law() -> None:
    with faults.chain_faster(2.0):
        verdict = tracker.check_limit(B, resolution=DELTA, epsilons=[1 / 8, 1 / 16, 1 / 32])
    assert verdict.implementation_verdict == "rejected"
    assert next(b for b in verdict.bounds if b.distance == "ks").verdict == "rejected"


# --- the three regimes


@pytest.mark.parametrize(("path", "name", "rate"), [(2.0, "frozen", 1.0), (0.5, "averaged", 0.45)])
def test_the_other_regimes_are_named_with_distance_and_rate(path: float, name: str, rate: float) -> None:
    verdict = tracker.check_limit(A, path=path)
    assert verdict.regime == name
    assert verdict.limit_verdict == "confirmed"
    assert verdict.distances[name] == min(verdict.distances[key] for key in ("frozen", "switched", "averaged"))
    assert verdict.rates[name] == pytest.approx(rate, abs=0.05)
    assert any(re.search(rf"regime: {name} .*{name} 0\.\d+ \(shrinking", line) for line in verdict.statements)


# --- what cannot be validated

THREE = """
name = "three"
trials = 10
steps = 16
start = [0.5, 0.0, -0.5]
[chain]
alpha = 0.0625
Q = [[-1.0, 1.0], [0.5, -0.5]]
[[modes]]
name = "one"
cost = "polynomial"
variables = ["a", "b", "c"]
formula = "(a^2 - 1)^2/4 + b^2/2 + a*b/4 - 0.3*a + c^2"
[[modes]]
name = "two"
cost = "polynomial"
variables = ["a", "b", "c"]
formula = "(a^2 - 1)^2/4 + b^2/2 + a*b/4 + 0.3*a + c^2"
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.0625
beta = 3.0
"""


@pytest.fixture
def few_couplings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_only, "TRIALS", 400)
    monkeypatch.setattr(order_only, "MOST_COORDINATES", 1)


@pytest.mark.usefixtures("few_couplings")
def test_three_dimensions_without_quadratic_costs_get_the_order_only() -> None:
    """And the engine is judged by its single steps; with a fault it is rejected."""
    verdict = tracker.check_limit(tracker.parse(THREE), epsilons=[1 / 4, 1 / 8, 1 / 16], resolution=0.1)
    assert (verdict.limit_verdict, verdict.implementation_verdict) == ("unavailable", "confirmed")
    assert verdict.implementation_z is None
    assert all(0.0 < verdict.sees[fault] < 0.2 for fault in ("noise", "drift", "rate"))
    with faults.noise_times(1.05):
        wrong = tracker.check_limit(tracker.parse(THREE), epsilons=[1 / 4, 1 / 8, 1 / 16], resolution=0.1)
    assert wrong.implementation_verdict == "rejected"
    assert "size of the noise" in next(line for line in wrong.statements if line.startswith("implementation"))
    assert verdict.reference == "diffusion"
    assert any("order only, limit not independently validated" in note for note in verdict.notes)
    assert any("order only, limit not independently validated" in line for line in verdict.statements)
    assert verdict.order.exact is None
    assert verdict.order.low < 1.1  # type: ignore[operator]
    assert not any(o.tested for o in verdict.observables)


@pytest.mark.usefixtures("few_couplings")
def test_level_differences_never_validate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paths of the coupling run with a wrong S: the levels settle as well as ever, and no verdict comes of it."""
    from tracker.limits import coupled_levels

    honest = coupled_levels.read_field

    def wrong(*arguments: Any, **options: Any) -> Any:
        field = honest(*arguments, **options)
        return coupled_levels.Field(**{**field.__dict__, "M": field.M.T.copy()})

    scenario = with_settings(D, ["start=[0.3, -0.2]"])  # a point: no density, so no independent limit
    monkeypatch.setattr(coupled_levels, "read_field", wrong)
    verdict = tracker.check_limit(scenario, epsilons=[1 / 8, 1 / 16, 1 / 32], resolution=0.1)
    assert verdict.limit_verdict == "unavailable"
    assert verdict.order.estimate == pytest.approx(1.0, abs=0.5)
    assert any("covariance" in note for note in verdict.notes), "the way out is named"
    assert verdict.implementation_verdict == "confirmed", "a point start does not keep the algorithm's own law away"


def test_one_function_makes_every_verdict() -> None:
    made = [
        path.name
        for path in sorted((ROOT / "tracker").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Verdict"
    ]
    boxes = [name for name in made if name != "sentences.py"]  # of pages, which have a class of that name
    assert made.count("sentences.py") == 1
    assert not {path.name for path in (ROOT / "tracker" / "convergence").glob("*.py")} & set(boxes)


# --- Algorithm 1

TRIPLE = """
name = "triple"
trials = 1
steps = 16
start = [2.0, -1.5, 1.0]
[[modes]]
name = "one"
cost = "polynomial"
variables = ["a", "b", "c"]
formula = \"\"\"(2*(a-0.5)^2 + 0.8*(a-0.5)*(b+0.4) - 0.6*(a-0.5)*(c-0.2) + 1.2*(b+0.4)^2 + 0.4*(b+0.4)*(c-0.2)
+ 0.8*(c-0.2)^2)/2 + 0.0375*(a^4+b^4+c^4)\"\"\"
[[samplers]]
name = "algorithm-1"
kind = "hessian"
epsilon = 0.03125
beta = "inf"
skew = [[0.0, -0.5, 0.3], [0.5, 0.0, -0.2], [-0.3, 0.2, 0.0]]
skew_step = 0.0625
skew_bounds = [-5.0, 5.0]
"""


def test_the_triple_is_confirmed_against_its_ode() -> None:
    """docs/mathematics, "Adaptive path", at T = 0.5."""
    with interpreting():
        verdict = tracker.check_limit(tracker.parse(TRIPLE))
    assert (verdict.reference, verdict.deterministic) == ("diffusion", True)
    assert (verdict.limit_verdict, verdict.implementation_verdict) == ("confirmed", "confirmed")
    seen = {name: o.limit for name, o in by_name(verdict).items()}
    assert seen["theta_2"] == pytest.approx(-1.2361158979, abs=1e-9)
    assert seen["D(3,1)_3"] == pytest.approx(-0.4246565406, abs=1e-9)
    assert seen["S(3,2)"] == pytest.approx(0.1583430847, abs=1e-9)
    assert verdict.order.exact == pytest.approx(1.0, abs=0.1)


def test_ascent_of_s_is_rejected() -> None:
    with interpreting(), faults.sampler_changed(parameters=lambda p: p._replace(skew_step=-p.skew_step)):
        verdict = tracker.check_limit(tracker.parse(TRIPLE))
    assert (verdict.limit_verdict, verdict.implementation_verdict) == ("rejected", "rejected")


def test_what_has_an_ode_and_what_has_not() -> None:
    from tracker.convergence import step_ladder

    triple = tracker.parse(TRIPLE)
    assert adaptive_findings.has_path(step_ladder.build(triple))
    assert not adaptive_findings.has_path(step_ladder.build(with_settings(triple, ["samplers.algorithm-1.beta=2.0"])))
    spread = {"mean": [2.0, -1.5, 1.0], "covariance": np.eye(3).tolist()}
    assert not adaptive_findings.has_path(step_ladder.build(triple.replace(start=spread)))


@pytest.mark.usefixtures("few_couplings")
def test_the_triple_with_noise_is_said_to_be_not_validated() -> None:
    verdict = tracker.check_limit(
        with_settings(tracker.parse(TRIPLE), ["samplers.algorithm-1.beta=2.0"]), epsilons=[1 / 8, 1 / 16, 1 / 32]
    )
    assert (verdict.limit_verdict, verdict.implementation_verdict) == ("unavailable", "unavailable")
    assert any("not independently validated" in note for note in verdict.notes)
    assert any("the implementation is not judged: a hessian sampler moves its S" in note for note in verdict.notes)
    assert (verdict.residuals, verdict.sees.noise) == ((), None)
    assert {"E[theta_1]", "E[D(2,1)_1]", "E[S(2,1)]"} <= set(by_name(verdict))


# --- the command


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["limit", *arguments])


def test_the_command_prints_a_table_and_the_verdicts(example_a: Verdict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convergence, "check_limit", lambda *_, **__: example_a)
    done = invoke(str(FILES["a"]), "--quiet")
    assert done.exit_code == 0, done.stderr
    words = " ".join(done.stdout.split())
    for line in example_a.statements:
        assert line in words
    assert "would have been rejected (95 %)" in words
    assert re.search(r"size of the noise -?\d+\.\d\d agrees", words)
    assert "E[theta_1^2; two]" in done.stdout


def test_the_command_gives_json_with_the_arguments_it_was_given() -> None:
    done = invoke(
        str(FILES["a"]), "--json", "--quiet", "--path", "2", "--epsilons", "0.125,0.0625,0.03125", "--trials", "500"
    )
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    same = tracker.check_limit(A, path=2.0, epsilons=[0.125, 0.0625, 0.03125], trials=500)
    assert data == json.loads(json.dumps(same.json()))
    assert (data["regime"], data["path"], data["trials"], len(data["epsilons"])) == ("frozen", 2.0, 500, 3)
    assert all(set(each) == {"name", "z", "rejected"} for each in data["residuals"])
    assert set(data["sees"]) == {"noise", "drift", "rate"}
    assert {"size of the noise", "jumps"} & {each["name"] for each in data["residuals"]}


def test_a_rejection_is_exit_code_6() -> None:
    with faults.sampler_changed(skew=lambda S: -S):
        done = invoke(str(FILES["a"]), "--resolution", "0.1", "--quiet")
    assert done.exit_code == 6
    assert "implementation: rejected" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--epsilons", "a,b"], 2, "--epsilons"),
        (["--epsilons", "0.3,0.2,0.1"], 2, "whole number"),
        (["--sampler", "nobody"], 2, "skewed"),
        (["--set", 'samplers.skewed.skew="random"'], 3, "random"),
        (["--trials", "1000000", "--max-steps", "1e6"], 4, "--max-steps"),
    ],
)
def test_what_goes_wrong_is_one_line_and_a_code(arguments: list[str], code: int, said: str) -> None:
    done = invoke(str(FILES["a"]), "--quiet", *arguments)
    assert done.exit_code == code
    assert said in done.stderr
    assert done.stdout == ""


# --- the page


def test_the_page_shows_the_figures_and_stands_alone(example_b: Verdict, tmp_path: Path) -> None:
    page = limit_report.write_limit_page(example_b, tmp_path / "new")
    assert sorted(path.name for path in page.parent.iterdir()) == [
        "limit-error.svg",
        "limit-law.svg",
        "limit-passage.svg",
        "limit-regimes.svg",
        "limit.html",
    ]
    text = page.read_text(encoding="utf-8")
    assert text.count('class="chart"') == 4
    assert "://" not in text
    assert "confirmed" in text


def test_what_does_not_apply_is_left_out_with_a_reason(example_a: Verdict) -> None:
    section = limit_report.section(example_a)
    omitted = [item for item in section.items if isinstance(item, limit_report.Omitted)]
    assert [item.key for item in omitted] == ["limit-law", "limit-passage"]
    assert any(line.startswith("Implementation: confirmed") for line in section.text)
    steps = section.items[-1]
    assert isinstance(steps, limit_report.Shown)
    assert "would have been rejected" in steps.caption
    assert [row[0] for row in steps.table.rows] == [each.name for each in example_a.residuals]
