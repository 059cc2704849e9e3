"""Where the numbers come from, and the command that repeats them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tracker.reports.exhibit import Item, Listing, Section, Shown, Table

if TYPE_CHECKING:
    from tracker.reports.view import View

HEADING = "How to repeat it"


def section(view: View) -> Section:
    """Return the scenario's text, its seed, the versions, the hash of the result and the command."""
    scenario, about = view.scenario, view.run.summary["scenario"]
    rows = [
        ("scenario", about["name"]),
        ("seed", str(about["seed"])),
        ("trials × steps", f"{about['trials']} × {about['steps']}"),
        ("sha256 of the scenario", about["sha256"]),
        ("sha256 of the result", view.run.summary["hash"]),
        *((f"version of {package}", version) for package, version in versions(view).items()),
    ]
    command = f"tracker run {about['name']}.toml"
    items: tuple[Item, ...] = (
        Shown(
            "The same scenario and versions on the same machine give the same result, bit for bit.",
            Table(("", ""), tuple(rows)),
        ),
        Listing("Save the scenario below as a file and run it:", command),
        Listing(f"{about['name']}.toml", scenario.toml(), folded=True),
    )
    return Section(HEADING, (), items)


def versions(view: View) -> dict[str, str]:
    """Return the versions with which the run was made, as its manifest says, or those of now for a run in memory."""
    from tracker.runs.identity import versions as versions_now

    manifest = view.run.path / "manifest.json" if view.run.path is not None else None
    if manifest is None or not manifest.is_file():
        return dict(versions_now())
    found = json.loads(manifest.read_bytes())
    return {str(package): str(version) for package, version in found.get("versions", {}).items()}
