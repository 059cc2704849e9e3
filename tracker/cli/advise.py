"""``tracker advise``: what theory, and a finished run, advise about a scenario; nothing is simulated."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from tracker.cli.error_messages import USAGE, Refused, say
from tracker.cli.options import Code, File, Json, Plugins, Settings
from tracker.cli.printing import console, print_json


def advise(
    file: File,
    sampler: Annotated[
        str | None, typer.Option(metavar="NAME", help="Ask about this sampler only.", show_default="all")
    ] = None,
    settings: Settings = None,
    plugins: Plugins = None,
    code: Code = None,
    json: Json = False,
) -> None:
    """Say which step, which S and which beta theory advises, whether it is stable, and how far it is from what could be known.

    Never from a pilot run: each answer is exact, asymptotic, measured (from a finished run of this scenario in reports/) or not known.

    For example:

        tracker advise scenarios/example_a.toml

        tracker advise scenarios/swapping_wells.toml --sampler fixed-3 --json
    """
    from tracker.advice import advise as asked
    from tracker.advice.ten_lines import ten_lines
    from tracker.scenario import load

    scenario = load(file, settings or (), plugins or (), code)
    names = [keys.name for keys in scenario.samplers]
    if sampler is not None and sampler not in names:
        raise Refused(USAGE, f"--sampler: {sampler!r} is none of the scenario's: {', '.join(names)}")
    say("solving what theory says of this scenario")
    found = asked(scenario, sampler)
    if json:
        print_json(found)
        return
    screen = console()
    lines = ten_lines(found)
    width = max(len(question) for question, _ in lines)
    for question, answer in lines:
        screen.print(Text(f"{question:{width}}  {answer}"))
