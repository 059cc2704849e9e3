"""Write docs/scenario-reference.md and docs/results-reference.md from the declarations.

    python docs/make_reference.py

A test fails where the pages are not what this script writes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic_core import PydanticUndefined

from tracker.costs import COSTS
from tracker.engine.arrays import ALARMS, ARRAYS, state_row
from tracker.keys import meaning_of
from tracker.metrics.table import METRICS
from tracker.runs.stored_world import NUMBERS_OF_A_MODE, POINTS_OF_A_MODE
from tracker.samplers import SAMPLERS
from tracker.samplers.alarms import raises_alarms
from tracker.samplers.base import SamplerKeys, recorded_by
from tracker.samplers.baselines import BASELINES
from tracker.samplers.wrapper_keys import WrapperKeys
from tracker.scenario.tables import INTERVENTIONS, Chain, Claim, Gaussian, ScenarioKeys, Schedule

HERE = Path(__file__).resolve().parent
MADE = "<!-- made by docs/make_reference.py; edit the declarations, not this page -->"
CLAIMS = (
    "QUANTITY is a key of the table of metrics (docs/results-reference); `recovery` is its restricted mean. Two samplers: the "
    "ratio left / right over paired trials, with its 95 % interval, is compared with 1. A number: the mean of the sampler is "
    "compared with it. The claim `holds` where the whole interval lies on the claimed side, `does not hold` where it lies on the "
    "other, and is `not told` otherwise: also with fewer than 5 trials, where a trial of a side diverged, and where there is "
    "nothing to measure. The page shows the outcome beside the text, `summary.json` has it as `claims`."
)
# keys of [[modes]] and [[samplers]] that every family has, explained once
SHARED = {"name", "cost", "kind"}


def scenario_reference() -> str:
    """Return the page on the keys of a scenario file."""
    parts = [
        "# Scenario reference",
        MADE,
        (
            "A scenario file is TOML and pure data: no code, no import strings, no templates. An unknown key, a wrong type, nan, inf or a "
            "boolean for a number is an error that names the key, the value and the nearest valid key. Integers are accepted for "
            "floats. `tracker schema` prints the JSON schema, with which editors complete and check keys."
        ),
        "## Top level",
        keys_table(ScenarioKeys),
        "## `start`",
        "A point `[...]`, or a Gaussian law with these keys:",
        keys_table(Gaussian),
        "## `[chain]`",
        keys_table(Chain),
        "## `[schedule]`",
        keys_table(Schedule),
    ]
    for name, table in INTERVENTIONS.items():
        parts += [f'## `[[interventions]]`, `kind = "{name}"`', first_lines(table), keys_table(table)]
    for name, table in COSTS.items():
        parts += [f'## `[[modes]]`, `cost = "{name}"`', first_lines(table), keys_table(table)]
    for name, kind in SAMPLERS.items():
        parts += [f'## `[[samplers]]`, `kind = "{name}"`', first_lines(kind), facts_of(kind), keys_table(kind)]
    parts += ["## `[[claims]]`", first_lines(Claim), keys_table(Claim), CLAIMS]
    return "\n\n".join(part for part in parts if part) + "\n"


def results_reference() -> str:
    """Return the page on what a run leaves."""
    parts = [
        "# Results reference",
        MADE,
        "## Metrics",
        "Each sampler of `summary.json` has these numbers; `compare`, `sweep`, `--fail-if` and the pages know them by their key.",
        table_of(
            ("key", "title", "unit", "is", "better", "meaning"),
            [
                (f"`{m.key}`", m.title, m.unit, m.kind, "smaller" if m.smaller_is_better else "larger", m.meaning)
                for m in METRICS.values()
            ],
        ),
        "## Arrays of `result.nc`",
        (
            "A netCDF-4 file with `units` and `long_name` on every variable and `format` among its attributes. What a kind of sampler "
            "declares as recorded in its state is an array of its own. Axes are those of the file; in `run.dataset` the sampler comes first."
        ),
        table_of(
            ("variable", "axes", "type", "unit", "meaning"),
            [(f"`{a.stored_name}`", ", ".join(a.axes), a.dtype, a.unit, a.long_name) for a in ARRAYS.values()],
        ),
        "Beside the filter and where something raises alarms:",
        table_of(
            ("variable", "axes", "type", "unit", "meaning"),
            [(f"`{a.stored_name}`", ", ".join(a.axes), a.dtype, a.unit, a.long_name) for a in beside_the_table()],
        ),
        "## The world that the numbers refer to",
        "Also in `result.nc`, and outside of the hash: reading a run never searches for minimisers again.",
        table_of(
            ("variable", "axes", "unit", "meaning"),
            [
                *(
                    (f"`{name}`", ", ".join(axes), unit, meaning)
                    for name, (axes, unit, meaning) in POINTS_OF_A_MODE.items()
                ),
                *((f"`{name}`", "mode_from", unit, meaning) for name, (unit, meaning) in NUMBERS_OF_A_MODE.items()),
                ("`cost`", "mode_from", "1", "family of the cost"),
                ("`origin`", "theta", "theta", "point about which moments are taken"),
            ],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def beside_the_table() -> list[Any]:
    """Return the arrays of runs that have a filter, or a sampler that raises alarms."""
    recorded = [one for offer in BASELINES.values() for one in recorded_by(offer.kind)]
    return [*map(state_row, recorded), *ALARMS]


def keys_table(model: Any) -> str:
    """Return the keys of a table with their meaning and default."""
    rows = []
    for key, field in model.model_fields.items():
        if key in SHARED and model not in (ScenarioKeys, Chain, Gaussian, Schedule):
            continue
        rows.append((f"`{field.alias or key}`", meaning_of(model, key), default_of(field)))
    return table_of(("key", "meaning", "default"), rows) if rows else ""


def default_of(field: Any) -> str:
    """Return the default of a key, or that it is required."""
    if field.is_required():
        return "required"
    if field.default_factory is dict:
        return "none"
    if field.default_factory is not None or field.default is PydanticUndefined:
        return "see its meaning"
    return "none" if field.default in (None, "", ()) else f"`{field.default!r}`".replace("'", '"')


def facts_of(kind: Any) -> str:
    """Return what a kind of sampler states about itself."""
    around = issubclass(kind, WrapperKeys)  # what it says of S and of what it adapts depends on the sampler within
    facts = ["S: that of the sampler within" if around else f"S: {kind.skew_is}"]
    if kind.adapts and not around:
        facts.append(f"moves {kind.adapts}")
    if kind.euler or kind.linear is not SamplerKeys.linear:
        facts.append("linear on quadratic costs: exact moments, stability and best step are known")
    recorded = recorded_by(kind.parameters) if kind.parameters is not None else ()
    if kind.parameters is not None and raises_alarms((kind.parameters,)):
        facts.append("raises alarms: `alarms`, `alarm_steps`, `detections`")
    facts += [f"records `{one.name}` ({one.long_name})" for one in recorded]
    return "; ".join(facts) + "."


def first_lines(model: Any) -> str:
    """Return a docstring as one paragraph in Markdown."""
    return re.sub(r"``", "`", " ".join((model.__doc__ or "").split()))


def table_of(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


PAGES = {"scenario-reference.md": scenario_reference, "results-reference.md": results_reference}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (HERE / name).write_text(make(), encoding="utf-8")
