"""Exhibit: where the numbers come from, and the command that repeats them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.formatting import listed, whole
from tracker.reports.exhibit import Item, Listing, Section, Shown, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.reports.run_view import View
    from tracker.scenario import Scenario

HEADING = "How to repeat it"


def section(view: View) -> Section:
    """Return the scenario's text, its seed, the versions, the hash of the result and the command."""
    about, path = view.run.summary["scenario"], view.run.path
    rows = [
        ("scenario", about["name"]),
        ("seed", str(about["seed"])),
        ("trials × steps", f"{whole(about['trials'])} × {whole(about['steps'])}"),
        ("sha256 of the scenario", about["sha256"]),
        ("sha256 of the result", view.run.summary["hash"]),
    ]
    manifest = path / "manifest.json" if path is not None else None
    return repeated_by("tracker run", view.scenario, rows, manifest)


def repeated_by(command: str, scenario: Scenario, rows: Sequence[tuple[str, str]], manifest: Path | None) -> Section:
    """Return the facts in ``rows``, the data files, the versions that ``manifest`` names, the command and the scenario's text."""
    from tracker.runs.run_identity import data_files

    data = {name: sha256(content).hexdigest() for name, content in data_files(scenario).items()}
    rows = [*rows, *((f"sha256 of {name}", digest) for name, digest in data.items())]
    beside = f", save {listed(list(data))} beside it," if data else ""
    rows = [*rows, *((f"version of {package}", version) for package, version in versions_used(manifest).items())]
    items: tuple[Item, ...] = (
        Shown(
            "The same scenario and versions on the same machine give the same result, bit for bit.",
            Table(("what", "value"), tuple(rows)),
        ),
        Listing(*_way(scenario, beside, f"{command} {scenario.name}.toml")),
        Listing(f"{scenario.name}.toml", scenario.toml(), folded=True),
    )
    return Section(HEADING, (), items)


def _way(scenario: Scenario, beside: str, command: str) -> tuple[str, str]:
    """Return what to do to run it again, and the command; code of one's own is nowhere in the scenario."""
    again = f"Save the scenario below as a file{beside} and run it"
    if scenario.code is not None:
        return (
            f"{again} with the code whose sha256 is {scenario.code.sha256} (a copy is code.py in the run directory):",
            f"{command} --code {Path(scenario.code.name).name}",
        )
    own = sorted({str(kind) for kind in map(_own_kind, (*scenario.modes, *scenario.samplers)) if kind})
    if not own:
        return f"{again}:", command
    code, names = ("is code", "this name") if len(own) == 1 else ("are code", "these names")
    file = f"a file that says costs = {{...}}, samplers = {{...}} with {names}"
    script = f"{listed(own)} {code} of a script: run that again; or put it into {file}, save the scenario below{beside} and run:"
    return script, f"{command} --code FILE.py"


def _own_kind(keys: Any) -> str:
    """Return the family of what a script handed over; nothing for others."""
    return str(keys.family) if getattr(keys, "code", "") else ""


def versions_used(manifest: Path | None) -> dict[str, str]:
    """Return the versions with which a result was made, as its manifest says, or those of now for one in memory."""
    from tracker.runs.ownership import manifest_in
    from tracker.runs.run_identity import versions

    found = manifest_in(manifest.parent, manifest.name) if manifest is not None else None
    return dict(found.versions) if found is not None else dict(versions())
