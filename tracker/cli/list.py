"""``tracker list``: show the scenarios in a folder, and the costs and samplers that there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tracker.cli.error_messages import USAGE, Refused
from tracker.cli.options import Json
from tracker.cli.printing import console, print_json, table

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDE = 120  # characters of a terminal that has room for sizes


def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[samplers|costs|DIR]",
            help="What each is, or a folder of scenario files; else scenarios/ here, and those that came with the program.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List scenarios with their claims, and the families of costs and kinds of samplers.

    For example:

        tracker list

        tracker list samplers

        tracker list ../other/scenarios --json
    """
    from tracker.costs import COSTS
    from tracker.samplers import SAMPLERS

    kinds = {"costs": _families(COSTS), "samplers": _families(SAMPLERS)}
    if what in kinds:
        if json:
            print_json(kinds[what])
        else:
            console().print(table((what, ""), list(kinds[what].items()), left=2))
        return
    folder = Path(what) if what is not None else None
    if folder is not None and not folder.is_dir():
        raise Refused(USAGE, f"{folder}: no such folder; give one, as in: tracker list path/to/scenarios")
    found = {one: [_described(path) for path in sorted(one.glob("*.toml"))] for one in _folders(folder)}
    scenarios = [scenario for described in found.values() for scenario in described]
    facts = {"scenarios": scenarios, **kinds}
    if json:
        print_json(facts)
        return
    screen = console()
    wide = screen.width >= WIDE
    for one, described in found.items():
        rows: list[tuple[str, ...]] = [(s["file"], s["size"], s["claim"]) for s in described]
        if not wide:
            rows = [
                (s["file"], s["claim"] if s["name"] is not None else f"{s['size']}: {s['claim']}") for s in described
            ]
        screen.print(Text(f"scenarios in {one}"))
        screen.print(table(("file", *(["size"] if wide else []), "claim"), rows, left=3))
    for kind, families in kinds.items():
        screen.print(Text(f"{kind} (tracker list {kind}): {', '.join(families)}"))
    if not scenarios:
        screen.print(Text("no scenario here; tracker new NAME writes one"))


def _folders(given: Path | None) -> list[Path]:
    """Return the folders that are looked into: the given one, else ``scenarios`` here and the one of the program."""
    from tracker.scenario.shipped import shipped_folder

    if given is not None:
        return [given]
    here, shipped = Path("scenarios"), shipped_folder()
    if not here.is_dir():
        return [shipped]
    return [here] if here.resolve() == shipped.resolve() else [here, shipped]


def _described(path: Path) -> dict[str, Any]:
    from tracker.scenario import ScenarioError, parse
    from tracker.scenario.toml_text import read_text

    try:
        text = read_text(path)
        s = parse(text, path.name, folder=path.parent)
    except ScenarioError as error:
        return {"file": path.name, "name": None, "size": "invalid", "claim": error.problems[0]}
    except OSError as error:  # a link that leads nowhere, a file of somebody else's: the others are still listed
        return {"file": path.name, "name": None, "size": "unreadable", "claim": error.strerror or str(error)}
    size = f"{s.trials} x {s.steps:g}, N = {s.dimension}, {len(s.modes)} mode{'s'[: len(s.modes) > 1]}"
    return {"file": path.name, "name": s.name, "size": size, "claim": s.claim or first_comment(text)}


def first_comment(text: str) -> str:
    """Return the first comment of a file that is not an instruction to an editor."""
    for line in text.splitlines():
        if line.startswith("#") and not line.startswith("#:"):
            return line.lstrip("# ").removeprefix("Claim:").strip()
    return ""


def _families(table_: Mapping[str, type[Any]]) -> dict[str, str]:
    """Return the first line about each family or kind, in the words of its author."""
    return {name: (keys.__doc__ or "").strip().partition("\n")[0].replace("``", "") for name, keys in table_.items()}
