"""``tracker run``: a scenario file to results on disk, and a table of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tracker.cli.guard import EXISTS, INVALID, REFUSED, Refused, say
from tracker.cli.progress import reporter
from tracker.cli.show import console, number, print_json, table, with_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DEFAULT_FOLDER = Path("reports")


def run_file(
    file: Path,
    out: Path | None,
    workers: int | None,
    settings: Sequence[str],
    limits: Mapping[str, float],
    replace: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Run the scenario in ``file`` and print its summary."""
    from tracker.scenario import Limits, load, refusals, warnings

    scenario = load(file, settings)
    if scenario.sweep:
        address = next(iter(scenario.sweep))
        line = f"sweep: this file asks for many runs; for one of them: --set sweep={{}} --set {address}=..."
        raise Refused(INVALID, line)
    if refused := refusals(scenario, Limits(**limits)):
        raise Refused(REFUSED, *refused)
    for warning in warnings(scenario):
        say(f"warning: {warning}")

    from tracker.runs import RunExists, run

    folder = out if out is not None else DEFAULT_FOLDER / scenario.name
    try:
        with reporter(quiet=quiet) as progress:
            result = run(scenario, folder, workers, replace=replace, progress=progress)
    except RunExists as found:
        way_out = "--replace overwrites it, --out chooses another" if found.is_run else "no run: --out chooses another"
        raise Refused(EXISTS, f"{folder}: exists already; {way_out}") from None
    if json:
        print_json(result.summary)
    else:
        print_summary(result.summary, result.path)


def print_summary(summary: Mapping[str, Any], path: Path | None) -> None:
    """Print what came out, for people."""
    screen = console()
    about = summary["scenario"]
    screen.print(Text(f"{about['name']}: {about['trials']} trials x {about['steps']} steps, seed {about['seed']}"))
    head = ("sampler", "tracking error", "mean square", "excess cost", "recovery [95 %]", "diverged", "steps/s")
    screen.print(table(head, [_row(sampler) for sampler in summary["samplers"]]))
    for line in (*_chain_lines(summary.get("chain")), *_regime_lines(summary.get("regime"))):
        screen.print(Text(line))
    if path is not None:
        screen.print(Text(f"results: {path}"))


def _row(sampler: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        sampler["name"],
        with_error(sampler.get("tracking_error")),
        with_error(sampler.get("mean_square_error")),
        with_error(sampler.get("excess_cost")),
        _recovery(sampler.get("recovery")),
        str(sampler.get("diverged", 0)),
        number(sampler.get("steps_per_second"), 2),
    )


def _recovery(recovery: Mapping[str, Any] | None) -> str:
    if recovery is None or recovery.get("median") is None:
        return "-"
    return f"{number(recovery['median'])} [{number(recovery.get('low'))}, {number(recovery.get('high'))}]"


def _chain_lines(chain: Mapping[str, Any] | None) -> Iterator[str]:
    if not chain:
        return
    yield f"chain: {chain.get('switches', 0)} switches"
    for dwell in chain.get("dwell") or ():
        p = dwell.get("p_value")
        test = f" (p = {p:.2g})" if p is not None else ""
        counts = f"{dwell['completed']} completed, {dwell['censored']} censored"
        yield f"  {dwell['mode']}: mean dwell {number(dwell['mean'])}, expected {number(dwell['expected'])}{test}; {counts}"


def _regime_lines(regime: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    """One line for all samplers that share a ratio."""
    shared: dict[tuple[float, str], list[str]] = {}
    for entry in regime or ():
        if entry.get("ratio") is not None:
            shared.setdefault((entry["ratio"], entry["class"]), []).append(entry["sampler"])
    for (ratio, kind), samplers in shared.items():
        yield f"regime: {kind} (alpha/epsilon = {ratio:.3g}): {', '.join(samplers)}"
