"""``tracker validate``: tell what a scenario means and what it would cost, without running it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tracker.cli.error_messages import REFUSED, Refused, say
from tracker.cli.options import Code, File, Json, MaxDisk, MaxMemory, MaxSteps, Plugins, Settings, limits_of
from tracker.cli.printing import console, duration, number, print_json, print_table
from tracker.cli.sweep_checks import say_warnings, sweep_cost, sweep_refusals, warnings_of
from tracker.formatting import counted, few, step_size, whole
from tracker.reports.summary_text import regime_lines, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tracker.runs.forecast import ResourceLimits
    from tracker.scenario import Scenario

MOST_COORDINATES = 12  # of a minimiser
MOST_ROWS = 300  # of samplers in modes: a table of thousands takes longer to print than to compute


def validate(
    file: File,
    settings: Settings = None,
    plugins: Plugins = None,
    code: Code = None,
    json: Json = False,
    max_steps: MaxSteps = None,
    max_memory: MaxMemory = None,
    max_disk: MaxDisk = None,
) -> None:
    """Check a scenario without running it: its problems, or what it means.

    Prints the minimisers of each mode, the regime of each sampler, the stability limit of each step size, and what a
    run would cost.

    For example:

        tracker validate scenarios/swapping_wells.toml

        tracker validate scenarios/example_a.toml --set 'samplers.*.epsilon=2' --json
    """
    from tracker.runs.forecast import ResourceLimits, search_refusals, what_is_searched
    from tracker.scenario import load

    scenario = load(file, settings or (), plugins or (), code)
    say(f"{what_is_searched(scenario)}, then the stability of {counted(len(scenario.samplers), 'sampler')}")
    limits = ResourceLimits(**limits_of(max_steps, max_memory, max_disk))
    if beyond := search_refusals(scenario, limits):
        raise Refused(REFUSED, *beyond)
    _validate(scenario, limits, json)


def _validate(scenario: Scenario, limits: ResourceLimits, json: bool) -> None:
    from tracker.runs.absent_baselines import absent_baselines
    from tracker.runs.forecast import refusals, seconds_to_compile
    from tracker.scenario import stability_limits, warnings
    from tracker.scenario.builders import build_modes
    from tracker.scenario.data_files import notes_on_rows
    from tracker.scenario.own_checks import check_at_minimisers, check_at_start

    check_at_start(scenario)
    modes = build_modes(scenario)
    check_at_minimisers(scenario, modes)
    stable = stability_limits(scenario, modes)
    cautions = warnings(scenario, modes, stable)
    notes = (*absent_baselines(scenario, modes), *notes_on_rows(scenario))
    facts = {**findings(scenario, modes, stable), "notes": list(notes)}
    refused = refusals(scenario, limits)
    if scenario.sweep:
        from tracker.runs import points_of

        points = points_of(scenario)
        of_points = warnings_of(points)
        new = [[line for line in own if line not in cautions] for own in of_points]
        cost = sweep_cost(points)
        facts |= {"points": len(points), "predicted": {**cost._asdict(), "compiling": seconds_to_compile(scenario)}}
        facts["point_warnings"] = [
            {"index": point.index, "settings": dict(point.settings), "warnings": own}
            for point, own in zip(points, new, strict=True)
            if own
        ]
        refused = sweep_refusals(cost, points, limits)
    facts |= {"warnings": cautions, "refusals": refused}
    if json:
        print_json(facts)
    else:
        _print(facts)
        for note in notes:
            say(f"note: {note}")
        for caution in cautions:
            say(f"warning: {caution}")
        if scenario.sweep:
            say_warnings(points, of_points, cautions)
    if refused:
        raise Refused(REFUSED, *refused)


WORK_OF_RELATIVE = 1.0  # seconds or so: a check answers at once; tracker advise takes longer


def relatives(scenario: Scenario) -> Callable[[str], float | None]:
    """Return sampler -> how often a mode is left while theta settles in it; None where theory does not know, or not at once."""
    from tracker.advice.bounded_theory import Theory
    from tracker.limits import OutOfScope

    theory = Theory(scenario.replace(sweep=None) if scenario.sweep else scenario, WORK_OF_RELATIVE)

    def relative(sampler: str) -> float | None:
        try:
            return theory.relative(sampler)
        except OutOfScope:
            return None

    return relative


def findings(scenario: Any, modes: Sequence[Any], stable: Sequence[Any]) -> dict[str, Any]:
    """Return what can be said of a valid scenario before it runs."""
    from tracker.runs.forecast import predicted_cost, seconds_to_compile
    from tracker.scenario import regimes, switched_systems

    relative, switched = relatives(scenario), switched_systems(scenario)
    known = {row.sampler for row in switched if row.stable is not None}
    bounded = any(keys.classical_limit for keys in scenario.samplers)
    bounded_in = {limit.mode for limit in stable}
    about = {key: getattr(scenario, key) for key in ("name", "sha256", "seed", "trials", "steps", "dimension")}
    return {
        "scenario": about,
        "modes": [
            {
                "name": keys.name,
                "cost": keys.cost,
                "minimisers": mode.minimisers,
                "lowest_cost": mode.floor,
                "radius": math.sqrt(mode.radius2),
            }
            for keys, mode in zip(scenario.modes, modes, strict=True)
        ],
        "regime": [{**row, "relative": relative(row["sampler"])} for row in regimes(scenario)],
        "stability": [limit._asdict() for limit in stable],
        "stability_not_known": [
            keys.name for keys in scenario.samplers if not keys.classical_limit and keys.name not in known
        ],
        "stability_not_known_in": [keys.name for keys in scenario.modes if bounded and keys.name not in bounded_in],
        "effective_steps": {keys.name: keys.effective_step for keys in scenario.samplers},
        "switched": [row._asdict() for row in switched],
        "predicted": {**predicted_cost(scenario)._asdict(), "compiling": seconds_to_compile(scenario)},
    }


def _print(facts: Mapping[str, Any]) -> None:
    from tracker.runs.forecast import show_bytes

    screen, about, cost = console(), facts["scenario"], facts["predicted"]
    screen.print(Text(f"{about['name']}: valid; dimension {about['dimension']}, {size_of(about)}"))
    rows = [
        (mode["name"], mode["cost"], _points(mode["minimisers"]), number(mode["lowest_cost"]), number(mode["radius"]))
        for mode in facts["modes"]
    ]
    print_table(screen, ("mode", "cost", "global minimisers", "lowest cost", "target radius"), rows, left=3)
    stability, effective = facts["stability"], facts["effective_steps"]
    rows = [
        (
            s["sampler"],
            step_size(s["epsilon"], effective[s["sampler"]]),
            ("" if s["exact"] or math.isnan(s["limit"]) else "about ") + number(s["limit"]),
            s["mode"],
            _with(s),
        )
        for s in _tightest(stability)[:MOST_ROWS]
    ]
    unstable = any(s["stable"] is False for s in facts["switched"])
    limit = "limit of the mode alone" if unstable else "stable below"  # what is not stable as a whole is not called so
    if rows:
        print_table(screen, ("sampler", "epsilon", limit, "tightest in", "with"), rows, spare=("with", "tightest in"))
    if (more := len(_tightest(stability)) - MOST_ROWS) > 0:
        screen.print(Text(f"... and {counted(more, 'more row')}; --json tells all"))
    if unknown := facts["stability_not_known"]:
        screen.print(Text(f"stability of {', '.join(unknown)}: not known for this kind"))
    if unknown := facts["stability_not_known_in"]:
        screen.print(Text(f"stability in {few(unknown, 'mode')}: not known: the cost has no Hessian there"))
    switched = [
        (
            s["sampler"],
            _whole(s),
            step_size(s["epsilon"], effective[s["sampler"]]),
            number(s["radius"], 9),
            number(s["abscissa"]),
        )
        for s in facts["switched"]
    ]
    if switched:
        head = ("sampler", "switched by the chain", "epsilon", "second moments per step", "limit: rate")
        print_table(screen, head, switched, left=2, spare=("limit: rate", "second moments per step"))
    for line in regime_lines(facts["regime"]):
        screen.print(Text(line))
    screen.print(
        Text(
            f"{_what(facts)}: {whole(cost['steps'])} steps, {duration(cost['seconds'])} or so on one core (and at most "
            f"{duration(cost['compiling'])} the first time, to compile), "
            f"{show_bytes(cost['memory'])} of memory, {show_bytes(cost['disk'])} on disk ({show_bytes(cost['disk_running'])} while it runs)"
        )
    )


def _tightest(stability: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One row a sampler: the mode in which its step has the least room; one that is not known comes last."""
    found: dict[str, Mapping[str, Any]] = {}
    for one in stability:
        limit = math.inf if one["limit"] is None or math.isnan(one["limit"]) else one["limit"]
        best = found.get(one["sampler"])
        if best is None or limit < (math.inf if best["limit"] is None or math.isnan(best["limit"]) else best["limit"]):
            found[one["sampler"]] = one
    return list(found.values())


def _what(facts: Mapping[str, Any]) -> str:
    return f"a sweep of {counted(facts['points'], 'point')}" if "points" in facts else "a run"


def _points(points: Any) -> str:
    def shown_point(point: Any) -> str:
        some = [number(float(x)) for x in point[:MOST_COORDINATES]]
        return f"({', '.join([*some, *(['...'] if len(point) > MOST_COORDINATES else [])])})"

    shown = [shown_point(point) for point in points[:4]]
    return "  ".join([*shown, *(["..."] if len(points) > 4 else [])])


def _whole(switched: Mapping[str, Any]) -> str:
    return {True: "stable", False: "unstable", None: "not computed"}[switched["stable"]]


def _with(stability: Mapping[str, Any]) -> str:
    return {"none": "", "first": "its first S", "random": "S = 0 (each trial draws its own S)"}[stability["skew"]]
