"""``tracker limit``: does the algorithm converge weakly to its limit? Two verdicts, and the numbers behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tracker.cli.error_messages import CHECK, REFUSED, USAGE, Refused, say
from tracker.cli.own_thread import apart
from tracker.cli.printing import console, number, print_json, print_table
from tracker.cli.progress import reporter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tracker.convergence import Observable, Verdict
    from tracker.convergence.verdict import Residual


def check_file(
    file: Path,
    sampler: str | None,
    epsilons: str | None,
    horizon: float | None,
    trials: int | None,
    resolution: float | None,
    path: float | None,
    settings: Sequence[str],
    plugins: Sequence[str],
    limits: Mapping[str, float],
    max_work: float | None,
    out: Path | None,
    workers: int | None,
    json: bool,
    quiet: bool,
) -> None:
    """Check the limit of a sampler in ``file``; a rejection ends in exit code 6."""
    from tracker.scenario import Limits, load
    from tracker.scenario.forecast import search_refusals, what_is_searched

    ladder = None if epsilons is None else _numbers(epsilons)
    scenario = load(file, settings, plugins)

    from tracker.convergence import check_limit
    from tracker.convergence.check_request import TooManySteps

    if not quiet:
        say(
            f"{what_is_searched(scenario)}, then the limit of {sampler or scenario.samplers[0].name} at several step sizes"
        )
    if refused := search_refusals(scenario, Limits(**limits)):
        raise Refused(REFUSED, *refused)
    work = {} if max_work is None else {"max_work": max_work}
    with reporter(quiet=quiet) as progress:
        try:
            verdict = apart(
                lambda: check_limit(
                    scenario,
                    sampler,
                    ladder,
                    horizon,
                    trials,
                    resolution,
                    path,
                    progress,
                    workers=workers,
                    **limits,
                    **work,
                )
            )
        except TooManySteps as error:
            raise Refused(REFUSED, str(error)) from None
        except ValueError as error:
            if getattr(error, "problems", None) is not None:
                raise  # of the scenario: the guard lists them
            raise Refused(USAGE, str(error)) from None
    if out is not None:
        from tracker.reports.limit_page import write_page

        say(f"page: {apart(lambda: write_page(verdict, out))}")
    if json:
        print_json(verdict.json())
    else:
        print_verdict(verdict)
    if verdict.rejected:
        raise Refused(CHECK, "rejected: see above")


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise Refused(USAGE, f"--epsilons: {text!r} must be numbers with commas between, like 0.1,0.05,0.025") from None


def print_verdict(verdict: Verdict) -> None:
    """Print what was found, for people."""
    screen = console()
    screen.print(Text(f"{verdict.scenario}, {verdict.sampler}"))
    first, last = verdict.epsilons[0], verdict.epsilons[-1]
    head = ("", "limit", f"at {first:.4g}", f"at {last:.4g}", "its error", "slope", "exact slope")
    print_table(screen, head, [_row(observable) for observable in verdict.observables])
    if any(not observable.tested for observable in verdict.observables):
        screen.print(Text("* shown, not tested"))
    if verdict.laws:
        rows = [(f"{law.epsilon:g}", f"{law.w1:.9f}", f"{law.ks:.9f}") for law in verdict.laws]
        print_table(screen, ("law of theta to the limit's, epsilon", "W1", "KS"), rows)
    if verdict.residuals:
        columns = (f"single steps, epsilon = {first:.4g}", "z", "verdict")
        print_table(screen, columns, [_residual(each) for each in verdict.residuals])
    for line in verdict.statements:
        screen.print(Text(line))
    for note in verdict.notes:
        screen.print(Text(f"note: {note}"))


def _residual(each: Residual) -> tuple[str, ...]:
    return each.name, "exact" if each.z is None else f"{each.z:.2f}", "rejected" if each.rejected else "agrees"


def _row(o: Observable) -> tuple[str, ...]:
    noise = o.error_stderr[-1] if o.error_stderr else 0.0
    error = number(o.error[-1], 3) + (f" ± {number(noise, 2)}" if noise > 0.0 else "")
    return (
        o.name + ("" if o.tested else " *"),
        number(o.limit, 6),
        number(o.algorithm[0], 6),
        number(o.algorithm[-1], 6),
        error,
        "none" if o.order is None else number(o.order.estimate, 4),
        number(o.order.exact, 4) if o.order is not None else "-",
    )
