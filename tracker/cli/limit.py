"""``tracker limit``: does the algorithm converge weakly to its limit? Two verdicts, and the numbers behind them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from tracker.cli.error_messages import CHECK, REFUSED, USAGE, Refused, say
from tracker.cli.options import Code, File, Json, MaxSteps, MaxWork, Plugins, Quiet, Settings, limits_of
from tracker.cli.printing import console, number, plus_minus, print_json, print_table
from tracker.cli.progress import reporter

if TYPE_CHECKING:
    from tracker.convergence import Observable, Verdict
    from tracker.convergence.verdict import Residual


def limit(
    file: File,
    sampler: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which sampler.", show_default="the first")
    ] = None,
    epsilons: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Step sizes, at least three.", show_default="five halvings"),
    ] = None,
    horizon: Annotated[
        float | None,
        typer.Option(
            metavar="T",
            help="Time at which laws are compared.",
            show_default="steps x epsilon, or less if that is long",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="R", help="Simulate every step size with R trials.", show_default="exact values where known"
        ),
    ] = None,
    resolution: Annotated[
        float | None,
        typer.Option(
            metavar="D", help="Standard deviations below which no difference is looked for.", show_default="0.05"
        ),
    ] = None,
    path: Annotated[
        float | None,
        typer.Option(
            metavar="POWER",
            help="alpha = epsilon^POWER: frozen above 1, averaged below.",
            show_default="alpha/epsilon kept",
        ),
    ] = None,
    scaled: Annotated[
        bool,
        typer.Option(
            "--scaled",
            help='Judge the error over sqrt(epsilon) at beta = "inf"; with --path below 1 that of a fast chain.',
        ),
    ] = False,
    require: Annotated[
        Literal["confirmed"] | None,
        typer.Option(help="Exit with 6 unless both verdicts are confirmed; otherwise only a rejected one does."),
    ] = None,
    settings: Settings = None,
    plugins: Plugins = None,
    code: Code = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a page and its figures.", show_default="none")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=4096, help="Threads; results do not depend on it.", show_default="all cores"),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    max_steps: MaxSteps = None,
    max_work: MaxWork = None,
) -> None:
    """Check whether a sampler converges weakly to its limit, and whether the engine is that sampler.

    Two verdicts: the limit (what the algorithm tends to as epsilon goes to 0) and the implementation (the engine at the
    largest epsilon against its exact law there). Exit code 6 if one is rejected.

    For example:

        tracker limit scenarios/example_a.toml

        tracker limit scenarios/example_a.toml --trials 12000 --resolution 0.05

        tracker limit scenarios/example_a.toml --path 0.5 --json
    """
    from tracker.runs.forecast import ResourceLimits, search_refusals, what_is_searched
    from tracker.scenario import load

    ladder = None if epsilons is None else _numbers(epsilons)
    scenario = load(file, settings or (), plugins or (), code)
    limits = limits_of(max_steps, None, None)

    from tracker.convergence import check_limit
    from tracker.convergence.check_request import TooManySteps

    if not quiet:
        say(
            f"{what_is_searched(scenario)}, then the limit of {sampler or scenario.samplers[0].name} at several step sizes"
        )
    if refused := search_refusals(scenario, ResourceLimits(**limits)):
        raise Refused(REFUSED, *refused)
    work = {} if max_work is None else {"max_work": max_work}
    with reporter(quiet=quiet) as progress:
        try:
            verdict = check_limit(
                scenario,
                sampler,
                ladder,
                horizon,
                trials,
                resolution,
                path,
                progress,
                scaled=scaled,
                workers=workers,
                **limits,
                **work,
            )
        except TooManySteps as error:
            raise Refused(REFUSED, str(error)) from None
        except ValueError as error:
            if getattr(error, "problems", None) is not None:
                raise  # of the scenario: the guard lists them
            raise Refused(USAGE, str(error)) from None
    if out is not None:
        from tracker.reports import write_limit_page

        say(f"page: {write_limit_page(verdict, out)}")
    if json:
        print_json(verdict.json())
    else:
        print_verdict(verdict)
    if verdict.rejected:
        raise Refused(CHECK, "rejected: see above")
    if require is not None and (short := _not_confirmed(verdict)):
        raise Refused(CHECK, f"--require confirmed: {', '.join(short)}")


def _not_confirmed(verdict: Verdict) -> list[str]:
    """Name the verdicts that are anything but confirmed."""
    both = {"the limit": verdict.limit_verdict, "the implementation": verdict.implementation_verdict}
    return [f"{what} is {outcome}" for what, outcome in both.items() if outcome != "confirmed"]


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise Refused(USAGE, f"--epsilons: {text!r} must be numbers with commas between, like 0.1,0.05,0.025") from None


def print_verdict(verdict: Verdict) -> None:
    """Print what was found, for people."""
    screen = console()
    screen.print(Text(f"{verdict.scenario}, {verdict.sampler}"))
    for line in verdict.statements:  # what was found comes first, the numbers that it rests on below
        screen.print(Text(line))
    first, last = verdict.epsilons[0], verdict.epsilons[-1]
    head = ("", "limit", f"at {first:.4g}", f"at {last:.4g}", "its error", "slope", "exact slope")
    print_table(screen, head, [_row(each) for each in verdict.observables], spare=(head[2], "exact slope", head[3]))
    if any(not observable.tested for observable in verdict.observables):
        screen.print(Text("* shown, not tested"))
    if verdict.laws:
        rows = [(f"{law.epsilon:g}", f"{law.w1:.9f}", f"{law.ks:.9f}") for law in verdict.laws]
        print_table(screen, ("law of theta to the limit's, epsilon", "W1", "KS"), rows)
    if verdict.residuals:
        columns = (f"single steps, epsilon = {first:.4g}", "z", "verdict")
        print_table(screen, columns, [_residual(each) for each in verdict.residuals])
    for note in verdict.notes:
        screen.print(Text(f"note: {note}"))


def _residual(each: Residual) -> tuple[str, ...]:
    return each.name, "exact" if each.z is None else f"{each.z:.2f}", "rejected" if each.rejected else "agrees"


def _row(o: Observable) -> tuple[str, ...]:
    noise = o.error_stderr[-1] if o.error_stderr else 0.0
    error = number(o.error[-1], 3) + (f" ± {number(noise, 2)}" if noise > 0.0 else "")
    means = (
        (plus_minus(o.algorithm[n], o.stderr[n]) if o.limit is None else number(o.algorithm[n], 6)) for n in (0, -1)
    )
    return (
        o.name + ("" if o.tested else " *"),
        number(o.limit, 6),
        *means,
        error,
        "none" if o.order is None else number(o.order.estimate, 4),
        number(o.order.exact, 4) if o.order is not None else "-",
    )
