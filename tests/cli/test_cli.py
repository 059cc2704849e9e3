"""The command line from outside: help, new, list, schema, validate, and how a run is shown."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import subprocess
import sys
import tomllib
import types
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner
from worlds import ROOT, SCENARIOS, shipped

from tracker.cli import app
from tracker.cli.printing import console, plus_minus, rate, with_error
from tracker.cli.progress import Speed, reporter
from tracker.cli.summary_printing import print_summary
from tracker.cli.sweep_checks import say_warnings, warnings_of
from tracker.jsonable import jsonable
from tracker.reports.summary_text import metrics_shown, summary_columns
from tracker.runs import points_of, run_errors
from tracker.scenario import json_schema, load

FILES = sorted(SCENARIOS.glob("*.toml"))
HEAVY = ("numba", "scipy", "matplotlib", "xarray", "numpy", "simpy", "tracker.scenario")


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["validate", "--help"], ["new", "x"]])
def test_light_commands_import_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    program = (
        "import sys\nfrom tracker.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print('heavy:', [m for m in {HEAVY!r} if m in sys.modules])"
    )
    command = [sys.executable, "-c", program, *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True, env=env)
    assert done.stdout.rstrip().endswith("heavy: []")


def test_help_does_not_import_pydantic_either() -> None:
    program = (
        "import sys\nfrom tracker.cli import app\napp(['--help'], standalone_mode=False)\n"
        "assert 'pydantic_core' not in sys.modules"  # typer itself needs it to parse the options of a command
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True, env=env)


def test_help_teaches_by_example() -> None:
    assert "tracker validate my-world.toml" in invoke("--help").stdout
    assert "--set trials=4" in invoke("run", "--help").stdout


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "x.toml", "--engine", "y"], ["nonsense"], ["run", "x", "--workers", "0"]]
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    assert invoke(*arguments).exit_code == 2


def test_new_writes_a_scenario_that_is_valid_and_is_never_overwritten(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke("new", "my-world").exit_code == 0
    written = Path("my-world.toml").read_text()
    assert load("my-world.toml").name == "my-world"
    assert invoke("validate", "my-world.toml").exit_code == 0
    again = invoke("new", "my-world")
    assert (again.exit_code, again.stderr) == (2, "my-world.toml: exists already\n")
    assert Path("my-world.toml").read_text() == written


@pytest.mark.parametrize("name", ["../x", "a/b", "", "a b", "-", "x" * 65, "a\n"])
def test_new_refuses_names_that_are_no_names(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("new", "--", name)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert list(tmp_path.iterdir()) == []


def test_list_names_every_scenario_cost_and_sampler() -> None:
    text = invoke("list", str(SCENARIOS)).stdout
    facts = json.loads(invoke("list", str(SCENARIOS), "--json").stdout)
    assert [s["file"] for s in facts["scenarios"]] == [path.name for path in FILES]
    for s in facts["scenarios"]:
        assert s["file"] in text
        assert s["name"] is not None
        assert len(s["claim"]) > 20
    assert {"quadratic", "polynomial", "mixture"} <= set(facts["costs"])
    assert {"langevin", "hessian", "wandering"} <= set(facts["samplers"])
    assert all(facts["samplers"].values())


def test_a_list_is_short_on_a_narrow_terminal_and_cuts_no_claim(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from tracker.cli import list as command
    from tracker.cli.printing import _Console

    monkeypatch.setattr(command, "console", lambda: _Console(width=80, highlight=False))
    command.list_(str(SCENARIOS))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 100
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    claims = [s["claim"] for s in json.loads(invoke("list", str(SCENARIOS), "--json").stdout)["scenarios"]]
    for claim in claims:
        assert claim.split()[-1] in text
    monkeypatch.undo()
    wide = " ".join(invoke("list", str(SCENARIOS)).stdout.split())
    assert all(" ".join(claim.split()) in wide for claim in claims)


def test_list_tells_what_samplers_and_costs_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From any folder."""
    monkeypatch.chdir(tmp_path)
    facts = json.loads(invoke("list", "--json").stdout)
    for kind, name in (("samplers", "wandering"), ("costs", "polynomial")):
        text = invoke("list", kind).stdout
        assert all(facts[kind][one] in text for one in facts[kind])
        assert json.loads(invoke("list", kind, "--json").stdout) == facts[kind]
        assert facts[kind][name] not in invoke("list").stdout  # there by its name alone
    assert invoke("list", "nowhere").exit_code == 2


def test_list_shows_a_broken_file_as_invalid(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("name = 3")
    facts = json.loads(invoke("list", str(tmp_path), "--json").stdout)
    assert facts["scenarios"][0]["size"] == "invalid"


def test_the_schema_file_is_in_step() -> None:
    printed = json.loads(invoke("schema").stdout)
    assert printed == json_schema()
    assert json.loads((SCENARIOS / "scenario.schema.json").read_text()) == printed, (
        "write it anew: tracker schema > scenarios/scenario.schema.json"
    )


def test_the_schema_knows_the_keys_of_each_family_and_what_they_mean() -> None:
    schema = json_schema()
    tables = schema["$defs"]
    quadratic = next(t for t in tables.values() if t["properties"].get("cost", {}).get("const") == "quadratic")
    assert {"name", "minimum", "curvature"} <= set(quadratic["required"])
    assert quadratic["properties"]["curvature"]["description"]
    assert quadratic["additionalProperties"] is False
    references = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(schema)))
    assert references == set(tables)
    assert not re.search(r'"(ge|gt|le|lt)":', json.dumps(schema))


KINDS: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Tell whether ``value`` satisfies ``schema``, as far as our schema uses the language."""
    if "$ref" in schema:
        return fits(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    properties = schema.get("properties", {})
    checks = [
        "type" not in schema or isinstance(value, KINDS[schema["type"]]),
        "const" not in schema or value == schema["const"],
        "enum" not in schema or value in schema["enum"],
        "anyOf" not in schema or any(fits(value, branch, root) for branch in schema["anyOf"]),
        "oneOf" not in schema or sum(fits(value, branch, root) for branch in schema["oneOf"]) == 1,
    ]
    if isinstance(value, dict):
        checks += [fits(entry, properties[key], root) for key, entry in value.items() if key in properties]
        checks += [key in value for key in schema.get("required", [])]
        checks += [schema.get("additionalProperties") is not False or set(value) <= set(properties)]
    if isinstance(value, list):
        checks += [fits(entry, schema.get("items", {}), root) for entry in value]
        checks += [fits(entry, s, root) for entry, s in zip(value, schema.get("prefixItems", []), strict=False)]
    if isinstance(value, (int, float)):
        checks += [value >= schema.get("minimum", value), value > schema.get("exclusiveMinimum", value - 1)]
    return all(checks)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shipped_scenarios_fit_the_schema_and_spoilt_ones_do_not(path: Path) -> None:
    schema = json_schema()
    data = tomllib.loads(path.read_text())
    assert path.read_text().startswith("#:schema ./scenario.schema.json\n# ")
    assert fits(data, schema, schema)
    assert not fits({**data, "stepz": 1}, schema, schema)
    assert not fits({**data, "trials": 0}, schema, schema)
    spoilt = {**data["samplers"][0], "kind": "metropolis"}
    assert not fits({**data, "samplers": [spoilt]}, schema, schema)


# The posterior of a logistic regression is wide beside the way between its modes: there accuracy is what counts. On the
# days of one season a few rows lie far out, so that a step for all of them is beyond the limit of the linearised sampler.
WIDE, FAR_OUT = "target.radius", 'is not mean-square stable in mode "autumn", linearised at the minimiser'
WARNED_OF = {
    "logistic_stream": [WIDE], "logistic_three": [WIDE], "logistic_rivals": [WIDE],
    "rain_in_order": [WIDE, FAR_OUT, FAR_OUT], "rain_seasons": [WIDE, FAR_OUT],
    "skew_instability": ["S pumps energy"],
}  # fmt: skip
BEYOND_A_LIMIT = ("rain_in_order", "rain_seasons")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_validate_says_what_a_shipped_scenario_means(path: Path) -> None:
    result = invoke("validate", str(path), "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert len(facts["warnings"]) == len(WARNED_OF.get(path.stem, ()))
    for text, part in zip(facts["warnings"], WARNED_OF.get(path.stem, ()), strict=True):
        assert part in text
    scenario = load(path)
    assert facts["scenario"]["sha256"] == scenario.sha256
    assert [m["name"] for m in facts["modes"]] == [m.name for m in scenario.modes]
    assert all(s["epsilon"] < s["limit"] for s in facts["stability"] if path.stem not in BEYOND_A_LIMIT)
    points = math.prod(len(values) for values in scenario.sweep.values())
    assert facts["predicted"]["steps"] == points * scenario.trials * scenario.steps * len(scenario.samplers)
    text = invoke("validate", str(path)).stdout
    assert "valid" in text
    assert all(sampler.name in text for sampler in scenario.samplers)


def test_validate_warns_of_an_unstable_step() -> None:
    result = invoke("validate", str(SCENARIOS / "example_a.toml"), "--set", "samplers.skewed.epsilon=1.1")
    assert result.exit_code == 0
    warning = result.stderr.splitlines()[1]  # after what is looked for
    assert warning.startswith('warning: samplers "skewed": epsilon: 1.1 is not mean-square stable in mode "one"')


def test_validate_warns_of_swept_steps_point_by_point() -> None:
    """Beyond epsilon = 2 / Re of an eigenvalue of (I + S) H, which is 1 or more here, |1 - epsilon eigenvalue| > 1."""
    path = str(SCENARIOS / "example_a.toml")
    table = 'sweep={"samplers.skewed.epsilon" = [0.01, 30.0], "trials" = [1, 2]}'
    result = invoke("validate", path, "--set", table)
    assert result.exit_code == 0, result.stderr
    modes = [mode.name for mode in load(Path(path)).modes]
    assert [line.partition(" is not")[0] for line in result.stderr.splitlines()[1:]] == [
        f'warning: point {n} (samplers.skewed.epsilon = 30.0, trials = {n - 1}): samplers "skewed": epsilon: 30'
        for n in (2, 3)
        for _ in modes
    ]
    facts = json.loads(invoke("validate", path, "--set", table, "--json").stdout)
    assert facts["warnings"] == []
    assert [(point["index"], len(point["warnings"])) for point in facts["point_warnings"]] == [
        (2, len(modes)),
        (3, len(modes)),
    ]


def test_warnings_of_points_are_few_lines_and_none_twice(capsys: Any, monkeypatch: Any) -> None:
    scenario = shipped("swapping_wells_sweep")
    points = points_of(scenario)
    own = [["of the file", "of all points", *(f"w{n}" for n in range(5) if point.index > 0)] for point in points]
    say_warnings(points, own, ["of the file"])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "warning: of all points"
    assert lines[1] == f"warning: {points[1].label}: w0"
    assert len(lines) == 11
    assert lines[-1] == f"... and {5 * (len(points) - 1) - 9} more warnings"
    # polynomials are linearised at their minimisers; where that would take too long, it is said
    steep = points_of(shipped("swapping_wells_sweep", ['sweep={"samplers.*.epsilon" = [0.5, 1.0]}']))
    assert all("not mean-square stable" in "".join(found) for found in warnings_of(steep))
    monkeypatch.setattr("tracker.cli.sweep_checks.MOST_SECONDS_OF_CHECKS", 0.0)
    assert not any("not mean-square stable" in "".join(found) for found in warnings_of(steep))
    assert capsys.readouterr().err == "from point 0 on, only the step sizes of quadratic modes are checked\n"


def test_validate_says_when_a_run_would_be_refused() -> None:
    path = str(SCENARIOS / "example_a.toml")
    assert invoke("validate", path, "--set", "trials=1_000_000_000").exit_code == 4
    assert invoke("validate", path, "--max-steps", "10").exit_code == 4
    assert invoke("validate", path).exit_code == 0


# --- run, with a stand-in for the engine: what is shown, and how things end


SUMMARY: dict[str, Any] = {
    "scenario": {"name": "example-b", "sha256": "0", "seed": 1, "trials": 2, "steps": 32},
    "chain": {
        "alpha": 0.1,
        "modes": ["right", "left"],
        "stationary": [0.3, 0.7],
        "switches": 5,
        "dwell": [
            {
                "mode": "right",
                "completed": 3,
                "censored": 1,
                "mean": 9.5,
                "expected": 10.0,
                "p_value": 0.4,
                "rate_p_value": 0.7,
            }
        ],
    },
    "regime": [{"sampler": "classical", "ratio": 1.0, "class": "matched"}],
    "samplers": [
        {
            "name": "classical",
            "tracking_error": {"mean": 0.25, "stderr": 0.01},
            "mean_square_error": {"mean": 0.125, "stderr": None},
            "excess_cost": {"mean": float("nan"), "stderr": None},
            "recovery": {"already": 0.25, "median": 12.0, "low": 10.0, "high": None, "censored": 0.5},
            "diverged": 0,
            "beta": float("inf"),
            "steps_per_second": 1.5e7,
        }
    ],
}


@pytest.fixture
def engine(monkeypatch: Any) -> dict[str, Any]:
    """Stand in for tracker.runs; ``raises`` is what its run raises, ``page`` what the page of a run raises."""
    calls: dict[str, Any] = {"raises": None, "page": None}
    monkeypatch.setattr("tracker.cli.run.print_verdict_of_run", lambda run: run.summary)  # there is no run to judge
    module: Any = types.ModuleType("tracker.runs")
    module.__path__ = [str(Path(run_errors.__file__).parent)]  # the files of the room stay what they are

    def run(scenario: Any, out: Any, executor: Any, *, progress: Any, **options: Any) -> Any:
        calls.update(scenario=scenario, out=out, executor=executor, **options)
        if calls["raises"] is not None:
            raise calls["raises"]
        if progress is not None:
            for done in range(101):
                progress(float(done), 100.0, "simulating")
        return types.SimpleNamespace(summary=SUMMARY, path=out, report=report)

    def report(page: Path) -> None:
        if calls["page"] is not None:
            raise calls["page"]

    module.run = run
    vars(module).update({name: kind for name, kind in vars(run_errors).items() if isinstance(kind, type)})
    monkeypatch.setitem(sys.modules, "tracker.runs", module)
    monkeypatch.setattr("tracker.cli.report.solve_theory", lambda *_, **__: None)  # it reads a run, and this is none
    return calls


EXAMPLE_B = str(SCENARIOS / "example_b.toml")


def test_run_prints_results_to_stdout_and_progress_to_stderr(engine: dict[str, Any]) -> None:
    result = invoke("run", EXAMPLE_B, "--set", "trials=2", "--workers", "2")
    assert result.exit_code == 0, result.stderr
    assert engine["scenario"].trials == 2
    assert (engine["out"], engine["executor"], engine["replace"]) == (Path("reports/example-b"), 2, False)
    assert "0.250 ± 0.010" in result.stdout
    assert "12 [10, ∞]" in result.stdout
    assert "mean dwell 9.500, expected 10 (p = 0.7); geometric: p = 0.4" in result.stdout
    assert "regime: matched (limit: switched), alpha/epsilon = 1: classical" in result.stdout
    assert len([line for line in result.stderr.splitlines() if "%" in line]) == 10


def test_run_json_is_one_valid_object(engine: dict[str, Any]) -> None:
    result = invoke("run", EXAMPLE_B, "--json", "--quiet")
    assert result.stderr == ""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    summary = json.loads(result.stdout, parse_constant=refuse)
    assert summary["samplers"][0]["excess_cost"]["mean"] is None
    assert summary["samplers"][0]["beta"] == "inf"


@pytest.mark.parametrize(
    ("raises", "code", "says"),
    [
        (
            run_errors.RunExists(Path("x"), is_run=True),
            7,
            "reports/example-b: exists already; --resume continues it, --replace overwrites it, --out chooses another\n",
        ),
        (
            run_errors.RunExists(Path("x"), is_run=False),
            7,
            "reports/example-b: exists already; no run, --out chooses another\n",
        ),
        (
            run_errors.RunLocked(Path("x"), "process 3 on host"),
            7,
            "reports/example-b: is being written by process 3 on host\n",
        ),
        (
            run_errors.CorruptRun(Path("x"), "manifest.json is damaged"),
            7,
            "reports/example-b: manifest.json is damaged\n",
        ),
        (
            run_errors.NothingComputed([run_errors.FailedShard(0, 2, "MemoryError: planted")]),
            5,
            "no trial could be computed; trials 0 to 1: MemoryError: planted\n",
        ),
        (
            KeyboardInterrupt(),
            130,
            f"interrupted; what is finished is kept. Continue with: tracker run {EXAMPLE_B} --quiet --resume\n",
        ),
        (PermissionError(13, "Permission denied", "reports"), 2, "reports: Permission denied\n"),
        (
            ModuleNotFoundError("no", name="distributed"),
            2,
            "--engine dask needs one more package: pip install 'tracker[dask]'\n",
        ),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, BaseException) else None,
)
def test_run_ends_in_one_line_and_an_exit_code(engine: dict[str, Any], raises: Any, code: int, says: str) -> None:
    engine["raises"] = raises
    result = invoke("run", EXAMPLE_B, "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", says)


def test_differences_are_shown_one_by_one(engine: dict[str, Any]) -> None:
    engine["raises"] = run_errors.RunDiffers(
        Path("x"), ["seed: 1 in the run, 2 now", "version of numpy: 1 in the run, 2 now"]
    )
    result = invoke("run", EXAMPLE_B, "--quiet", "--resume")
    assert result.exit_code == 7
    assert result.stderr.splitlines()[1:] == ["  seed: 1 in the run, 2 now", "  version of numpy: 1 in the run, 2 now"]


def test_the_command_that_continues_is_the_one_that_was_given(engine: dict[str, Any]) -> None:
    engine["raises"] = KeyboardInterrupt()
    given = ["--out", "my runs/a", "--workers", "3", "--engine", "processes", "--set", "chain.alpha=0.2", "--json"]
    result = invoke(
        "run", EXAMPLE_B, *given, "--max-memory", "2.5", "--max-steps", "1e12", "--replace", "--quiet", "--verbose"
    )
    words = shlex.split(result.stderr.partition("Continue with: ")[2])
    assert words == [
        *("tracker", "run", EXAMPLE_B, *given[:-1]),
        *("--max-steps", "1e+12", "--max-memory", "2.5", "--json", "--quiet", "--verbose", "--resume"),
    ]
    again = invoke(*words[1:])
    assert again.exit_code == 130  # it is understood, and interrupted again
    assert (engine["resume"], engine["replace"], engine["engine"]) == (True, False, "processes")


def test_failed_shards_are_exit_code_5(engine: dict[str, Any], monkeypatch: Any) -> None:
    monkeypatch.setitem(SUMMARY, "failed", [{"first": 2, "stop": 4, "error": "MemoryError"}])
    result = invoke("run", EXAMPLE_B, "--quiet")
    assert result.exit_code == 5
    assert "0.250 ± 0.010" in result.stdout  # of the others
    assert "failed and left out: 1 shard; again: " in result.stderr


@pytest.mark.parametrize(
    ("raises", "code", "says"),
    [
        (None, 0, ""),
        (KeyboardInterrupt(), 130, "interrupted while the page was written"),
        (KeyError("axes"), 1, "the page could not be written: KeyError: 'axes'"),
        (OSError(28, "No space left on device"), 2, "the page could not be written: No space left on device"),
        (MemoryError("5 GB"), 4, "the page could not be written: MemoryError: 5 GB"),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, BaseException) else None,
)
@pytest.mark.parametrize("json_", [False, True])
def test_a_page_that_is_not_written_hides_no_results(
    engine: dict[str, Any], monkeypatch: Any, raises: Any, code: int, says: str, json_: bool
) -> None:
    monkeypatch.delenv("TRACKER_NO_REPORT")
    engine["page"] = raises
    result = invoke("run", EXAMPLE_B, "--quiet", "--out", "my runs", *(["--json"] if json_ else []))
    assert result.exit_code == code
    if json_:
        assert json.loads(result.stdout)["samplers"][0]["tracking_error"] == {"mean": 0.25, "stderr": 0.01}
    else:
        assert "0.250 ± 0.010" in result.stdout
        assert ("report: my runs/report.html" in result.stdout) == (code == 0)
    after = "; the results are complete in my runs. To write it: tracker report 'my runs'\n"
    assert result.stderr == (says + after if says else "")


def test_failed_shards_are_told_before_a_page_that_fails(engine: dict[str, Any], monkeypatch: Any) -> None:
    monkeypatch.delenv("TRACKER_NO_REPORT")
    monkeypatch.setitem(SUMMARY, "failed", [{"first": 2, "stop": 4, "error": "MemoryError"}])
    engine["page"] = KeyError("axes")
    result = invoke("run", EXAMPLE_B, "--quiet")
    first, second = result.stderr.splitlines()
    assert (result.exit_code, "failed and left out" in first, "KeyError" in second) == (1, True, True)


@pytest.mark.parametrize(("diverged", "code"), [((2, 2), 5), ((2, 1), 0), ((0, 0), 0)])
def test_a_run_of_which_nothing_is_left_is_exit_code_5(
    engine: dict[str, Any], monkeypatch: Any, diverged: tuple[int, int], code: int
) -> None:
    """Of two trials; the baselines, which never diverge, stand in the same list."""
    names = (("one", diverged[0]), ("other", diverged[1]), ("frozen", 0), ("oracle", 0))
    rows = [{**SUMMARY["samplers"][0], "name": name, "diverged": count} for name, count in names]
    monkeypatch.setitem(SUMMARY, "samplers", rows)
    result = invoke("run", EXAMPLE_B, "--quiet")
    assert result.exit_code == code
    assert ("every trial of every sampler diverged" in result.stderr) == (code == 5)
    assert "oracle" in result.stdout


def test_one_is_not_many(capsys: Any) -> None:
    one = {**SUMMARY["scenario"], "trials": 1, "steps": 1}
    print_summary({**SUMMARY, "scenario": one, "chain": {"switches": 1}}, None)
    out = capsys.readouterr().out
    assert "example-b: 1 trial x 1 step, seed 1\n" in out
    assert "chain: 1 switch\n" in out
    path = str(SCENARIOS / "example_a.toml")
    said = invoke("validate", path, "--set", 'sweep={"chain.alpha" = [0.01]}', "--set", "trials=1").stdout
    assert "dimension 2, 1 trial x 64 steps" in said
    assert "a sweep of 1 point: " in said


def test_resume_excludes_replace(engine: dict[str, Any]) -> None:
    assert invoke("run", EXAMPLE_B, "--resume", "--replace").exit_code == 2
    assert "scenario" not in engine


def test_progress_of_a_resumed_run_counts_only_what_is_new(capsys: Any) -> None:
    with reporter(quiet=False) as show:
        assert show is not None
        show(0.0, 1.0, "compiling")
        show(50.0, 100.0, "running")
        show(100.0, 100.0, "running")
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["compiling", " 50 %  50 of 100 steps"]
    assert "steps/s" in lines[2]


def test_lines_of_progress_count_trials_and_keep_the_phase(capsys: Any) -> None:
    """The count of trials is no new phase: the speed is that since the first steps."""
    with reporter(quiet=False) as show:
        show(0.0, 60.0, "running, 0 of 6 trials")
        show(10.0, 60.0, "running, 1 of 6 trials")
        show(30.0, 60.0, "running, 3 of 6 trials")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "running, 0 of 6 trials"
    assert lines[2].startswith(" 50 %  30 of 60 steps, 3 of 6 trials, ")
    assert "steps/s" in lines[2]


def test_a_bar_takes_speed_and_time_from_what_is_new(monkeypatch: Any) -> None:
    """A sweep that goes on: its second point was kept up to 60 of its 100 steps, and takes ten more in two seconds."""
    now = iter([0.0, 1.0, 2.0, 4.0, 4.0, 10.0, 12.0])
    monkeypatch.setattr("tracker.cli.progress.time", types.SimpleNamespace(monotonic=lambda: next(now)))
    speed = Speed()
    speed.look(100.0, "point 2 of 3: compiling")
    speed.look(160.0, "point 2 of 3: running")
    assert list(speed.pace(170.0, 300.0)) == ["5 steps/s", "26 s left"]
    assert list(speed.pace(160.0, 300.0)) == []
    speed.look(170.0, "point 2 of 3: running")  # the first steps, after eight seconds of something else
    assert list(speed.pace(190.0, 300.0)) == ["10 steps/s", "11 s left"]


def test_a_defect_of_ours_is_not_disguised(engine: dict[str, Any]) -> None:
    engine["raises"] = ValueError("a bug")
    assert isinstance(invoke("run", EXAMPLE_B).exception, ValueError)


def test_run_refuses_a_sweep_and_says_how_to_run_one_case(engine: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(Path(EXAMPLE_B).read_text() + '\n[sweep]\n"chain.alpha" = [0.01, 0.02]\n')
    result = invoke("run", str(file))
    assert result.exit_code == 3
    assert "--set sweep={} --set chain.alpha=" in result.stderr
    assert invoke("run", str(file), "--set", "sweep={}", "--set", "chain.alpha=0.01").exit_code == 0


def test_a_summary_without_a_chain_can_be_shown(capsys: Any) -> None:
    print_summary({**SUMMARY, "chain": None, "regime": []}, None)
    assert "chain" not in capsys.readouterr().out


HEAD, SPARE = summary_columns(metrics_shown(SUMMARY["samplers"]))
LONG = {**SUMMARY["samplers"][0], "name": "a-sampler-with-a-name"}


@pytest.mark.parametrize(
    ("width", "dropped"),
    [
        (None, []),
        (168, []),
        (167, ["steps/s"]),
        (142, ["steps/s", "mean square"]),
        (98, list(SPARE)),
        (50, None),
        (20, None),
    ],
)
def test_a_table_fits_the_terminal(width: int | None, dropped: list[str] | None, capsys: Any, monkeypatch: Any) -> None:
    """The full table has 21 + 7 + 12 + 12 + 14 + 13 + 11 + 13 + 18 + 8 + 7 characters, 3 between columns, 2 at the ends: 168."""
    terminal = None if width is None else Console(width=width, file=sys.stdout, force_terminal=True, color_system=None)
    monkeypatch.setattr("tracker.cli.summary_printing.console", lambda: terminal or console())
    wide = {**LONG, "mean_square_error": {"mean": 0.12345, "stderr": 0.01}}
    print_summary({**SUMMARY, "samplers": [wide, wide], "chain": None, "regime": []}, None)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= (width or 168)
    text = " ".join(lines)
    if dropped is None:
        blocks = [n for n, line in enumerate(lines) if line.startswith("sampler: ")]
        assert len(blocks) == 2
        assert all(title in text for title in ("tracking error", "mean square", "steps/s"))
        return
    head = next(line for line in lines if "tracking error" in line)
    assert [title for title in HEAD if title not in head] == [title for title in HEAD if title in dropped]
    assert len([line for line in lines if re.match(r" a-sampler-with-a-name +(- +)+0.250 ± 0.010 ", line)]) == 2
    told = f"the terminal is too narrow for these columns: {', '.join(dropped)}"
    assert (told in " ".join(text.split())) == bool(dropped)  # it may take two lines


@pytest.mark.parametrize(
    ("per_second", "shown"),
    [(None, "-"), (2.5, "2.5"), (9.97, "10"), (123.0, "123"), (950.0, "950"), (38.2e6, "38 M"), (576e6, "576 M")],
)
def test_a_speed_has_no_power_of_ten(per_second: float | None, shown: str) -> None:
    assert rate(per_second) == shown


def test_progress_off_a_terminal_counts_steps_in_millions(capsys: Any) -> None:
    with reporter(quiet=False) as show:
        show(9.6e7, 4.8e8, "running")
    assert capsys.readouterr().err.startswith(" 20 %  96 M of 480 M steps")


def test_rounding_is_no_standard_error() -> None:
    assert with_error({"mean": 1.414, "stderr": 4.1e-16}) == "1.41"
    assert with_error({"mean": -1.414, "stderr": 4.1e-10}) == "−1.414 ± 4.1 × 10⁻¹⁰"
    assert with_error({"mean": 0.0, "stderr": 0.0}) == "0"
    assert with_error({"mean": 1e-20, "stderr": 1e-21}) == "10⁻²⁰ ± 10⁻²¹"
    assert with_error({"mean": 1.0, "stderr": None}) == "1"
    assert plus_minus(float("nan"), float("nan")) == "-"


def test_output_in_ascii_is_spelt_out(tmp_path: Path) -> None:
    """As after `export PYTHONIOENCODING=ascii`, or on a terminal that knows no more."""
    code = "from tracker.cli import main; from tracker.cli.printing import console; import sys\n"
    code += (
        "from tracker.cli.error_messages import spell_out; spell_out(); console().print('1 ± 2 × é'); print('1 ± 2')"
    )
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=env)
    assert done.stdout == b"1 +- 2 x ?\n1 +- 2\n"
    scenario = str(SCENARIOS / "example_a.toml")  # whose kernels other tests compile too
    arguments = ["run", scenario, "--set", "trials=2", "--set", "steps=40", "--out", str(tmp_path / "run"), "--quiet"]
    done = subprocess.run([sys.executable, "-m", "tracker", *arguments], check=False, capture_output=True, env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b" +- " in done.stdout


def test_quiet_gives_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with reporter(quiet=True) as progress:
        progress(0.5, 1.0, "running")
    assert capsys.readouterr() == ("", "")


def test_jsonable_has_no_constants_that_json_lacks() -> None:
    assert jsonable({"a": float("nan"), "b": [float("inf"), -float("inf")], 1: (2,)}) == {
        "a": None,
        "b": ["inf", "-inf"],
        "1": [2],
    }


def test_commands_that_only_look_load_nothing_heavy(tmp_path: Path) -> None:
    """Control: a run loads numba."""
    tell = "import sys; import tracker.cli\ntry: tracker.cli.app()\nexcept SystemExit: pass\n"
    tell += "print([name for name in ('numba', 'scipy', 'xarray', 'tracker.engine') if name in sys.modules], file=sys.stderr)"
    place = tmp_path / "run"
    file = str(ROOT / "scenarios" / "example_a.toml")
    loaded = {}
    for words in (
        ["run", file, "--set", "trials=2", "--set", "steps=8", "--no-report", "--quiet", "--out", str(place)],
        ["status", str(place)],
        ["list"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", tell, *words], capture_output=True, text=True, check=True, timeout=300, cwd=ROOT
        )
        loaded[words[0]] = done.stderr.splitlines()[-1]
    assert "numba" in loaded["run"]
    assert "xarray" not in loaded["run"]
    assert loaded["status"] == loaded["list"] == "[]"


def test_a_reader_who_leaves_loses_no_page(tmp_path: Path) -> None:
    """``tracker run FILE | head -1``: the table is cut, the page is written all the same."""
    small = tmp_path / "small.toml"
    small.write_text(
        'name = "small"\ntrials = 2\nsteps = 40\nstart = [0.5]\n'
        'modes = [{ name = "only", cost = "quadratic", minimum = [1.0], curvature = 1.0, gradient_noise = 0.25 }]\n'
        'samplers = [{ name = "classical", kind = "langevin", epsilon = 0.1 }]\n'
    )
    program = [sys.executable, "-c", "from tracker.cli import main; main()"]
    read, write = os.pipe()
    os.close(read)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("TRACKER_NO_REPORT", None)
    done = subprocess.run(
        [*program, "run", "small.toml", "--quiet"],
        cwd=tmp_path,
        stdout=write,
        stderr=subprocess.PIPE,
        env=environment,
        check=False,
    )
    os.close(write)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reports" / "small" / "report.html").is_file()
