"""What is advised, against the functions of theory, scans of the exact error, and a finished run; and what is kept for the page."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import attacks
import forging
import numpy as np
import pytest
from interpreting import interpreted
from typer.testing import CliRunner
from worlds import bowls, shipped

import tracker
from tracker import limits
from tracker.advice import bounded_theory
from tracker.advice.ten_lines import ten_lines
from tracker.advice.theory_of_run import theory_of
from tracker.cli import app
from tracker.reports.exhibits import known_share
from tracker.reports.run_page import exhibits
from tracker.reports.run_view import View
from tracker.runs import ownership
from tracker.runs.theory_file import read_theory

KEYS = [
    "stable_below", "switched_stable", "relative", "best_epsilon", "best_error", "error", "floor", "beta_enough", "skew_helps",
    "skew", "trials_needed", "seconds",
]  # fmt: skip
BASES = {"exact", "asymptotic", "measured", "not known"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run of another test stands in reports/."""
    monkeypatch.chdir(tmp_path)


def of(advice: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in advice["samplers"] if row["name"] == name)


# --- the answers


def test_every_answer_has_a_value_and_a_basis() -> None:
    for world in (bowls(), shipped("example_b"), shipped("drift")):
        advice = tracker.advise(world)
        assert [row["name"] for row in advice["samplers"]] == [keys.name for keys in world.samplers]
        for row in advice["samplers"]:
            assert list(row) == ["name", *KEYS]
            for key in KEYS:
                assert set(row[key]) == {"value", "basis"}
                assert row[key]["basis"] in BASES
                assert (row[key]["value"] is None) == (row[key]["basis"] == "not known")
        assert advice["scenario"]["sha256"] == world.sha256
        assert len(ten_lines(advice)) == 10


def test_quadratic_answers_are_the_functions_of_theory() -> None:
    world = bowls()
    row = of(tracker.advise(world, "slow"), "slow")
    best = limits.best_step(world, "slow")
    assert row["best_epsilon"] == {"value": best.epsilon, "basis": "exact"}
    assert row["best_error"]["value"] == best.mean_square_error
    assert row["stable_below"]["value"] == limits.stability(world, "slow").largest_epsilon
    assert row["relative"]["value"] == pytest.approx(0.05 * 1.0 / (0.05 * 1.0))  # alpha q / (epsilon h)
    assert row["skew_helps"] == {"value": False, "basis": "exact"}  # N = 1
    assert row["floor"]["value"] == pytest.approx(0.1)  # 1 / (beta h)


def test_no_step_of_a_scan_is_better_than_the_best() -> None:
    world, advice = bowls(), tracker.advise(bowls(), "quick")
    least = of(advice, "quick")["best_error"]["value"]
    for epsilon in np.geomspace(1e-3, 1.5, 40):
        assert float(
            limits.stationary(world.set("samplers.quick.epsilon", epsilon), "quick").mean_square_error
        ) >= least * (1 - 1e-12)


def test_at_the_advised_beta_temperature_is_a_tenth_of_the_rest() -> None:
    beta = of(tracker.advise(shipped("example_a")), "skewed")["beta_enough"]["value"]
    parts = limits.error_split(shipped("example_a").set("samplers.*.beta", beta), "skewed")
    assert parts.temperature == pytest.approx(0.1 * (parts.total - parts.temperature), rel=1e-6)


def test_errors_are_known_also_where_their_parts_are_not() -> None:
    """Minima that walk at random: (epsilon^2 s^2 + q)/(1 - (1 - epsilon)^2), and steps are stable below 2. Averages: by the stationary law."""
    walk = shipped("equal_walk")
    row, e = of(tracker.advise(walk), "best-step"), walk.samplers[0].epsilon
    assert row["error"]["basis"] == "exact"
    assert row["error"]["value"] == pytest.approx((e**2 + walk.drift.covariance) / (1 - (1 - e) ** 2), rel=1e-12)
    assert row["stable_below"] == {"value": pytest.approx(2.0, rel=1e-12), "basis": "exact"}
    averaged = of(tracker.advise(shipped("ladder"), "averaged"), "averaged")["error"]
    assert averaged["basis"] == "exact"
    assert averaged["value"] == float(limits.stationary(shipped("ladder"), "averaged").mean_square_error)
    moved = of(tracker.advise(shipped("drift")), "skewed")  # a schedule: each mode has the curvatures 2 and 1, s = 1
    assert moved["stable_below"] == {"value": pytest.approx(0.75), "basis": "asymptotic"}
    assert moved["error"]["basis"] == "not known"


def test_nothing_is_said_for_kinds_that_did_not_declare_it() -> None:
    modes = bowls().modes
    one = {"epsilon": 0.05, "beta": 10.0}
    world = bowls().replace(modes=list(modes), samplers=[{"name": "p", "kind": "psgld", **one}])
    row = of(tracker.advise(world), "p")
    for key in (
        "stable_below",
        "switched_stable",
        "relative",
        "best_epsilon",
        "best_error",
        "error",
        "floor",
        "beta_enough",
        "skew",
    ):
        assert row[key]["basis"] == "not known", key


def test_an_unstable_switched_world_is_called_so() -> None:
    """Curvatures diag(10, 1) and diag(1, 10), s = 4 and alpha / epsilon = 10: docs/mathematics, "Stability of the switched system"."""
    turning = [
        {"name": n, "cost": "quadratic", "minimum": [0.0, 0.0], "curvature": np.diag(h).tolist()}
        for n, h in (("a", [10.0, 1.0]), ("b", [1.0, 10.0]))
    ]
    sampler = {"name": "s", "kind": "accelerated", "epsilon": 1e-3, "skew": 4.0}
    world = tracker.parse({"name": "t", "trials": 1, "steps": 9, "start": [1.0, 0.0], "modes": turning, "samplers": [sampler],
                           "chain": {"alpha": 1e-2, "Q": [[-1.0, 1.0], [1.0, -1.0]]}})  # fmt: skip
    advice = tracker.advise(world)
    assert of(advice, "s")["switched_stable"] == {"value": False, "basis": "exact"}
    assert of(advice, "s")["error"]["basis"] == "not known"
    assert dict(ten_lines(advice))["Is the switched system stable?"].startswith("NO")


def test_work_is_bounded_by_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_theory, "MOST_WORK", 0.0)
    theory = bounded_theory.Theory(shipped("swapping_wells"), 0.0)
    with pytest.raises(limits.OutOfScope, match="not computed"):
        theory.relative("classical")
    rows, missing = theory.ladder("classical")
    assert rows == []
    assert "not computed" in missing["best filter"]
    N = 30
    modes = [
        {"name": n, "cost": "quadratic", "minimum": [m] * N, "curvature": np.eye(N).tolist()}
        for n, m in (("a", 0.0), ("b", 1.0))
    ]
    large = tracker.parse({"name": "l", "trials": 1, "steps": 9, "start": [0.0] * N, "modes": modes, "samplers": [{"name": "s", "kind": "langevin", "epsilon": 0.1}],
                           "chain": {"alpha": 1e-2, "Q": [[-1.0, 1.0], [1.0, -1.0]]}})  # fmt: skip
    assert of(tracker.advise(large), "s")["best_epsilon"]["basis"] == "not known"


# --- with a finished run


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    tracker.run(bowls(), folder)
    return folder


def test_trials_are_measured_by_the_run_in_its_default_directory(finished: Path) -> None:
    assert of(tracker.advise(bowls()), "slow")["trials_needed"]["basis"] == "not known"
    shutil.copytree(finished, Path("reports") / "bowls")
    row = of(tracker.advise(bowls()), "slow")
    run = tracker.open_run(finished)
    errors = (
        run.dataset["error"].isel(time=slice(0, 80)).mean("time")
    )  # every step is recorded here, and the last not averaged
    apart = (errors.sel(sampler="slow") - errors.sel(sampler="quick")).values
    wanted = max(5, int(np.ceil((1.96 * apart.std(ddof=1) / abs(apart.mean())) ** 2)))
    assert row["trials_needed"] == {"value": wanted, "basis": "measured"}
    assert row["seconds"]["basis"] == "measured"
    other = of(tracker.advise(bowls(seed=7)), "slow")  # another scenario: its run tells nothing
    assert other["trials_needed"]["basis"] == "not known"


def test_the_command(finished: Path) -> None:
    file = Path("bowls.toml")
    file.write_text(bowls().toml(), encoding="utf-8")
    said = CliRunner().invoke(app, ["advise", str(file)])
    assert said.exit_code == 0
    assert len(said.stdout.strip().splitlines()) >= 10
    told = CliRunner().invoke(app, ["advise", str(file), "--sampler", "quick", "--json"])
    found = json.loads(told.stdout)
    assert [row["name"] for row in found["samplers"]] == ["quick"]
    assert {row["sampler"] for row in found["ladder"]} == {"quick"}
    assert CliRunner().invoke(app, ["advise", str(file), "--sampler", "nobody"]).exit_code == 2


def test_validate_tells_the_regime_relative_to_settling() -> None:
    file = Path("bowls.toml")
    file.write_text(bowls().toml(), encoding="utf-8")
    found = json.loads(CliRunner().invoke(app, ["validate", str(file), "--json"]).stdout)
    assert [row["relative"] for row in found["regime"]] == pytest.approx([1.0, 0.25])


# --- theory.json


def test_theory_is_solved_once_and_read_afterwards(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("kept")
    shutil.copytree(finished, folder)
    run, said = tracker.open_run(folder), list[str]()
    first = theory_of(run, said.append)
    assert said == ["solving what theory says of this scenario"]
    monkeypatch.setattr("tracker.advice.solved_theory.solve", lambda _: pytest.fail("solved again"))
    assert theory_of(run, said.append) == first == read_theory(folder, run.summary["hash"])
    assert set(first) >= {"ladder", "split", "stability", "relative", "escape", "advice", "notes"}
    run.report("one.html")
    run.report("two.html")
    assert Path("one.html").read_bytes() == Path("two.html").read_bytes()
    manifest = ownership.read_manifest(folder)
    assert all(one.state == ownership.OURS for one in ownership.files_found(folder, manifest))


def test_a_flipped_bit_is_put_aside_and_solved_again(finished: Path) -> None:
    folder = Path("flipped")
    shutil.copytree(finished, folder)
    run = tracker.open_run(folder)
    whole = theory_of(run)
    data = bytearray((folder / "theory.json").read_bytes())
    data[len(data) // 2] ^= 4
    (folder / "theory.json").write_bytes(bytes(data))
    assert read_theory(folder, run.summary["hash"]) is None
    said = list[str]()
    assert theory_of(run, said.append) == whole
    assert any("moved to damaged/" in line for line in said)
    assert next((folder / "damaged").iterdir()).read_bytes() == bytes(data)
    assert read_theory(folder, "another run") is None


@pytest.mark.parametrize("how", attacks.BAD_THEORY)
def test_sealed_theory_of_another_form_is_solved_again(
    finished: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check digits prove that nobody slipped, not who wrote it: a page would end in a traceback, or show anything."""
    folder = Path(f"forged {how}")
    shutil.copytree(finished, folder)
    run = tracker.open_run(folder)
    whole = theory_of(run)
    monkeypatch.setattr("tracker.advice.solved_theory.solve", lambda _: {"solved": "again"})
    assert theory_of(run) == whole  # control: what was written is read
    forging._theory(attacks.BAD_THEORY[how])(folder, random.Random(1), folder)
    assert theory_of(run).get("solved") == "again"


def test_the_page_has_the_figure_and_the_advice(finished: Path) -> None:
    folder = Path("drawn")
    shutil.copytree(finished, folder)
    run = tracker.open_run(folder)
    run.report("page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "How much of what could be known?" in page
    assert "Which constant step is best?" in page
    figure = next(one for one in exhibits(run) if one.key == "known")
    assert isinstance(figure, known_share.Exhibit)
    assert "best filter" in figure.caption


def test_temperature_is_spoken_of_where_the_best_sampler_has_none_of_its_own() -> None:
    """An average is not at its inner sampler's temperature; the others of the page are, and stand beside filters."""
    mean = {
        "name": "mean",
        "kind": "averaged",
        "sampler": {"kind": "langevin"},
        "rate": 0.1,
        "epsilon": 0.2,
        "beta": 2.0,
    }
    plain = {"name": "plain", "kind": "langevin", "epsilon": 0.2, "beta": 2.0}
    quiet = {"chain": {"alpha": 1e-3, "Q": [[-1.0, 1.0], [1.0, -1.0]]}, "steps": 1500, "trials": 2}
    found = known_share.exhibit(View(interpreted(bowls(samplers=[plain, mean], **quiet))))
    assert "The least mean square error is that of mean" in found.caption
    assert "samplers at a finite beta are to be compared with them from the red mark on" in found.method
    cold = [{**one, "beta": "inf"} for one in (plain, mean)]
    assert "finite beta" not in known_share.exhibit(View(interpreted(bowls(samplers=cold, **quiet)))).method  # control


def test_an_error_without_an_expansion_is_exact_all_the_same() -> None:
    """Of an average, and of one mode on a walk: (epsilon^2 s^2 + q)/(1 - (1 - epsilon)^2)."""
    mean = {
        "name": "mean",
        "kind": "averaged",
        "sampler": {"kind": "langevin"},
        "rate": 0.1,
        "epsilon": 0.2,
        "beta": 2.0,
    }
    world = bowls(samplers=[mean])
    (row,) = tracker.advise(world)["samplers"]
    exact = float(limits.stationary(world, "mean").mean_square_error)
    assert row["error"] == {"value": pytest.approx(exact, rel=1e-12), "basis": "exact"}
    plain = {"name": "plain", "kind": "langevin", "epsilon": 0.2, "beta": "inf"}
    bowl = {"name": "one", "cost": "quadratic", "minimum": [0.0], "curvature": 1.0, "gradient_noise": 0.1}
    walk = bowls(samplers=[plain], modes=[bowl], chain=None, drift={"kind": "random-walk", "covariance": 1e-3})
    (row,) = tracker.advise(walk)["samplers"]
    assert row["error"] == {"value": pytest.approx((0.04 * 0.1 + 1e-3) / (1.0 - 0.64), rel=1e-9), "basis": "exact"}


def test_a_missing_rung_is_told_as_it_was_refused() -> None:
    """The page is given the rung and the reason, and takes no sentence apart."""
    bowl = {"cost": "quadratic", "curvature": [[1.0]], "gradient_noise": 0.1}
    three = bowls(
        modes=[{**bowl, "name": f"mode{n}", "minimum": [n]} for n in range(3)],
        chain={"alpha": 0.05, "Q": [[-1.0, 0.5, 0.5], [0.5, -1.0, 0.5], [0.5, 0.5, -1.0]]},
        trials=1,
        steps=20,
    )
    with pytest.raises(limits.OutOfScope) as refusal:
        limits.best_filter(three)
    view = View(interpreted(three))
    view.theory["advice"]["notes"] = []
    assert known_share.reasons(view) == {str(refusal.value): ["best filter"]}


def test_parts_and_rungs_of_the_figure(finished: Path) -> None:
    folder = Path("parts")
    shutil.copytree(finished, folder)
    view = View(tracker.open_run(folder))
    exact = limits.error_split(bowls(), "slow")
    told = abs(exact.remainder) <= known_share.LARGEST_REMAINDER * exact.total
    parts = known_share.parts_of(view, "slow")
    assert sum(parts.values()) == pytest.approx(exact.total)
    assert ("lag" in parts) == told
    assert known_share.own_rungs(view, "quick")["best step"] == pytest.approx(
        limits.best_step(bowls(), "quick").mean_square_error
    )
    lines = {line.name: line for line in known_share.shared_rungs(view)}
    assert lines["best filter"].error == pytest.approx(limits.best_filter(bowls()).mean_square_error)
    assert lines["best filter"].bound
    assert not lines["frozen"].exact
