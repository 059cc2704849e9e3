"""A run in Python: printed, as a table, as figures, with a bar, with the warnings of the command."""

from __future__ import annotations

import builtins
import sys
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import matplotlib.figure
import numpy as np
import pytest
from interpreting import interpreting
from rich.console import Console
from typer.testing import CliRunner
from worlds import shipped

import tracker
from tracker.cli import app
from tracker.reports.checks import checks
from tracker.reports.exhibits.diagnostics import exhibit, health
from tracker.reports.run_view import View
from tracker.runs.progress_bars import progress_of
from tracker.scenario import stability_limits


@pytest.fixture(scope="module")
def run() -> tracker.Run:
    with interpreting(None):
        return tracker.run(shipped("example_a").replace(trials=6, steps=60, record_every=2), executor=1)


def test_print_is_the_table_of_the_terminal(run: tracker.Run, capsys: pytest.CaptureFixture[str]) -> None:
    from tracker.cli.summary_printing import print_summary

    print_summary(run.summary, run.path)
    shown = "\n".join(line.rstrip() for line in capsys.readouterr().out.rstrip().splitlines())
    assert str(run) == shown
    assert "tracking error" in shown
    assert "matched (limit: switched)" in shown or "slow (limit: frozen)" in shown or "fast (limit: averaged)" in shown


def test_the_table_has_a_row_for_each_sampler(run: tracker.Run) -> None:
    rows = run.summary["samplers"]
    assert list(run.table.index) == [row["name"] for row in rows]
    first = run.table.iloc[0]
    assert first["tracking_error"] == rows[0]["tracking_error"]["mean"]
    assert first["tracking_error_stderr"] == rows[0]["tracking_error"]["stderr"]
    assert first["recovery_already"] == pytest.approx(rows[0]["recovery"]["already"], nan_ok=True)
    assert run.table["tracking_error"]["oracle"] == 0.0


def test_each_exhibit_is_a_figure(run: tracker.Run) -> None:
    names = dir(run.plot)
    assert len(names) >= 5
    assert isinstance(getattr(run.plot, names[0])(), matplotlib.figure.Figure)
    with pytest.raises(AttributeError, match="no_such is no exhibit; this run has"):
        run.plot.no_such()


def test_progress_is_shown_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = shipped("example_a").replace(trials=2, steps=10, baselines=[])
    with interpreting(None):
        tracker.run(scenario, executor=1, progress=True)
        assert "100 %" in capsys.readouterr().err
        tracker.run(scenario, executor=1)
        assert capsys.readouterr().err == ""  # control
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress_of(True) as show:
        show(5.0, 10.0, "running")
    with progress_of(print) as own:
        assert own is print


class ZMQInteractiveShell:
    """What a notebook's kernel is called."""


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A notebook, as far as rich and we can tell; what its cell shows."""
    shown: list[str] = []
    ipython, cells = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = ZMQInteractiveShell  # type: ignore[attr-defined]
    cells.HTML = str  # type: ignore[attr-defined]
    cells.display = lambda *_, **__: SimpleNamespace(update=shown.append)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", cells)
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    return shown


def test_a_notebook_has_the_table_as_text_and_one_bar(run: tracker.Run, notebook: list[str]) -> None:
    """Rich would draw both itself there: nothing would be printed, and a bar would ask for ipywidgets at each look."""
    assert Console().is_jupyter  # control
    assert "tracking error" in str(run)
    with progress_of(True) as show:
        for _ in range(100):
            show(0.0, 10.0, "compiling <f>")
        show(10.0, 10.0, "running")
    assert [text.rpartition("> ")[2] for text in notebook] == ["0% compiling &lt;f&gt;", "100% running"]


def test_results_and_scenarios_are_one_line_and_print_as_text(run: tracker.Run) -> None:
    """``repr`` was 6,000 characters."""
    scenario = run.scenario
    with interpreting(None):
        sweep = tracker.sweep(scenario.replace(trials=2, steps=8, sweep={"chain.alpha": [0.01, 0.02]}), executor=1)
    for one in (run, sweep, scenario):
        assert len(repr(one)) < 200
        assert scenario.name in repr(one)
    assert tracker.parse(str(scenario)).sha256 == tracker.parse(scenario.toml()).sha256
    lines = str(sweep).splitlines()
    assert lines[0] == f"{scenario.name}: tracking error"
    assert sum("complete" in line for line in lines) == 2


@pytest.mark.parametrize("function", [tracker.run, tracker.sweep, tracker.check_limit, tracker.advise])
def test_what_is_no_scenario_is_refused_with_the_way_to_one(function: Any) -> None:
    with pytest.raises(TypeError, match=r"dict given in place of a scenario: tracker\.parse"):
        function({"name": "a"})
    with pytest.raises(TypeError, match=r"str given in place of a scenario: tracker\.load"):
        function("a.toml")


def test_an_address_that_is_wrong_is_named() -> None:
    with pytest.raises(tracker.ScenarioError, match=r"chain\.alhpa: unknown address; did you mean chain\.alpha"):
        shipped("example_a").set("chain.alhpa", 0.1)


def test_python_warns_of_what_the_command_warns_of() -> None:
    unstable = shipped("example_a").replace(trials=2, steps=8).set("samplers.*.epsilon", 9.0)
    with interpreting(None), pytest.warns(tracker.ScenarioWarning, match="is not mean-square stable"):
        tracker.run(unstable, executor=1)
    swept = unstable.replace(sweep={"chain.alpha": [0.01, 0.02]})
    with interpreting(None), pytest.warns(tracker.ScenarioWarning) as told:
        tracker.sweep(swept, executor=1)
    about = [str(one.message) for one in told if "is not mean-square stable" in str(one.message)]
    assert about
    assert all(line.startswith("point 0") and " and 1 more: " in line for line in about), about
    with interpreting(None), warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.run(shipped("example_a").replace(trials=2, steps=8), executor=1)  # control


def test_nothing_is_claimed_of_a_kind_that_says_nothing() -> None:
    """The classical stability limit is that of kinds whose step is the classical one."""
    scenario = shipped("example_a").replace(
        samplers={
            "classical": {"kind": "langevin", "epsilon": 0.01},
            "second-order": {"kind": "kinetic", "epsilon": 0.01, "friction": 1.0},
        }
    )
    assert {limit.sampler for limit in stability_limits(scenario)} == {"classical"}
    with interpreting(None):
        view = View(tracker.run(scenario.replace(trials=2, steps=8), executor=1))
    found = health(view)
    assert found["classical"].any_noise > 0.0  # control
    assert np.isnan(found["second-order"].any_noise)
    assert "noise ratios are not known for the kind of second-order" in exhibit(view, found).caption
    seen = {check.name: check for check in checks(view, found)}
    assert seen["gradient noise"].result.endswith("; not known for the kind of second-order")
    assert seen["steps"].result.endswith("; not known for the kind of second-order")
    assert seen["state"].result == "no resets"  # there are no bounds that anybody knows
    alone = {"second-order": found["second-order"]}
    unmade = {check.name: check for check in checks(view, alone) if not check.made}
    assert list(unmade) == ["gradient noise", "steps"]
    assert {check.sign for check in unmade.values()} == {"–"}


def test_small_things_of_the_command_line() -> None:
    short, long = (CliRunner().invoke(app, ["run", flag]) for flag in ("-h", "--help"))
    assert (short.exit_code, short.stdout) == (0, long.stdout)
    told = CliRunner().invoke(app, ["limit", "scenarios/example_a.toml", "--require", "perfect"])
    assert told.exit_code == 2
    assert "confirmed" in told.stderr
