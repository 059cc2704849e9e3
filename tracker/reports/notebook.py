"""Show a run, a sweep or a scenario in a notebook: small tables in the notebook's own colours."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from tracker.reports.html_page import cell_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tracker.reports.exhibit import Cell, Shown, VerdictBox
    from tracker.runs import Run, Sweep
    from tracker.scenario import Scenario


def run_html(run: Run) -> str:
    """Return the verdict of a run and its table."""
    from tracker.reports.exhibits import diagnostics
    from tracker.reports.run_page import overview, subtitle
    from tracker.reports.run_view import View
    from tracker.reports.verdict_box import verdict

    view = View(run)
    return _brief(run.scenario.name, subtitle(view), verdict(view, diagnostics.health(view)), overview(view))


def sweep_html(sweep: Sweep) -> str:
    """Return the verdict of a sweep and the table of its points."""
    from tracker.reports.best_of_sweep import contests
    from tracker.reports.sweep_page import points_table, subtitle
    from tracker.reports.sweep_verdict import sweep_verdict

    found = sweep_verdict(sweep, contests(sweep))
    return _brief(sweep.scenario.name, subtitle(sweep), found, points_table(sweep))


def _brief(title: str, subtitle: str, found: VerdictBox, table: Shown) -> str:
    lines = [f"<p>⚠ {escape(warning)}</p>" for warning in found.warnings]
    lines += [f"<p><b>{escape(a.question)}</b> {escape(a.mark)}: {escape(a.answer)}</p>" for a in found.answers]
    head = f"<h4>{escape(title)}</h4><p>{escape(subtitle)}</p>"
    return f"<div>{head}{''.join(lines)}{_table(table.table.columns, table.table.rows)}<p>{escape(table.caption)}</p></div>"


def scenario_html(scenario: Scenario) -> str:
    """Return what a scenario asks for."""
    facts: list[tuple[Cell, ...]] = [
        ("trials × steps", f"{scenario.trials} × {scenario.steps}"),
        ("dimension", scenario.dimension),
        ("seed", scenario.seed),
        ("chain", _chain(scenario)),
    ]
    modes = [(mode.name, mode.cost) for mode in scenario.modes]
    samplers = [(s.name, s.kind, s.epsilon, float(s.beta)) for s in scenario.samplers]
    about = f"<p>{escape(scenario.description)}</p>" if scenario.description else ""
    return (
        f"<div><h4>{escape(scenario.name)}</h4>{about}{_table(('what', 'value'), facts)}"
        f"{_table(('mode', 'cost'), modes)}{_table(('sampler', 'kind', 'epsilon', 'beta'), samplers)}</div>"
    )


def _chain(scenario: Scenario) -> str:
    if scenario.chain is not None:
        return f"alpha = {scenario.chain.alpha:g}, {len(scenario.modes)} modes"
    return f"{len(scenario.switches)} scheduled modes" if scenario.schedule is not None else "one mode"


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell_text(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
