"""The starters of ``tracker new``: a commented scenario for each family of costs, kept beside the families.

Nothing heavy is imported: a starter is a text in which the name is put.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

STARTERS = Path(__file__).resolve().parents[1] / "costs" / "starters"
OWN_NAME = "my-world"  # what a starter calls itself, and its data file
LONGEST_DATA_NAME = 60  # characters before .csv; a scenario's name may have 64


def starter_families() -> list[str]:
    """Return the families of costs that have a starter; the first is the one for people who ask for none."""
    return (STARTERS / "order.txt").read_text(encoding="utf-8").split()


def starter(family: str | None, name: str) -> tuple[str, dict[str, bytes]]:
    """Return the text of the starter of a family under ``name``, and its data file where it needs one."""
    known = starter_families()
    family = family or known[0]
    if family not in known:
        near = get_close_matches(family, known, n=1)
        advice = (f'; did you mean "{near[0]}"?' if near else "") + f" (there are: {', '.join(known)})"
        raise LookupError(f"no starter for {family!r}{advice}")
    data, file = STARTERS / f"{family}.csv", f"{name[:LONGEST_DATA_NAME]}.csv"
    text = (STARTERS / f"{family}.toml").read_text(encoding="utf-8")
    text = text.replace(f"{OWN_NAME}.csv", file).replace(OWN_NAME, name)
    return text, {file: data.read_bytes()} if data.is_file() else {}
