"""Print what a page says first: the claim with its outcome, the answers of the verdict, the warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from tracker.cli.error_messages import say
from tracker.cli.printing import console

if TYPE_CHECKING:
    from rich.console import Console

    from tracker.reports.exhibit import Asked, VerdictBox
    from tracker.runs import Run

INDENT = 2
STYLES = {"good": "green", "warn": "yellow", "bad": "red", "plain": "bold"}


def print_verdict_of_run(run: Run) -> dict[str, Any]:
    """Print the verdict of a run, in the words of its page; what fails here is told, and hides no results.

    Return the summary with each step over its stability limit, which the verdict knows where it was left open for time.
    """
    from tracker.reports.exhibits.diagnostics import health
    from tracker.reports.run_view import View
    from tracker.reports.verdict_box import verdict
    from tracker.reports.what_was_asked import head_of_page

    try:
        question, view = head_of_page(run.scenario, run.summary.get("claims", ())), View(run)
        box = verdict(view, health(view))
    except Exception as problem:
        say(f"the verdict could not be told: {type(problem).__name__}: {problem}")
        return run.summary
    screen = console()
    print_asked(screen, question)
    print_box(screen, box)
    steps = view.steps_over_limits
    rows = [{**row, "step_over_limit": steps.get(row["name"])} for row in run.summary["samplers"]]
    return {**run.summary, "samplers": rows}


def print_asked(screen: Console, question: Asked) -> None:
    """Print the claim, and what became of it."""
    if question.claim:
        screen.print(Text.assemble(("claim: ", "bold"), question.claim))
    for one in question.outcomes:
        numbers = f" ({one.numbers})" if one.numbers else ""
        line = Text.assemble((one.word, STYLES[one.tone]), f": {one.text}{numbers}")
        screen.print(Padding(line, (0, 0, 0, INDENT)) if screen.is_terminal else Text(" " * INDENT) + line)


def print_box(screen: Console, box: VerdictBox) -> None:
    """Print each answer on a line, then the warnings."""
    for answer in box.answers:
        mark = Text(answer.mark, STYLES[answer.tone])
        screen.print(
            Text.assemble((f"{answer.question} ", "bold"), mark, f". {answer.answer}" if answer.mark else answer.answer)
        )
    for warning in box.warnings:
        screen.print(Text.assemble(("warning: ", "yellow"), warning))
