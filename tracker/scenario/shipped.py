"""The scenarios that come with the program, to be listed and copied.

In a clone, and for an editable install, they are the files of ``scenarios/``; a wheel carries the same files as
``tracker/scenarios/``.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import accumulate
from pathlib import Path

from tracker.scenario.reading import parse
from tracker.scenario.toml_text import read_text

PACKAGE = Path(__file__).resolve().parents[1]

_NAME = re.compile(r'^name *= *"([^"]*)"', re.MULTILINE)


def shipped_folder() -> Path:
    """Return the folder with the scenarios that come with the program."""
    inside = PACKAGE / "scenarios"
    return inside if inside.is_dir() else PACKAGE.parent / "scenarios"


def shipped_files() -> list[Path]:
    """Return the files of the scenarios that come with the program, by name."""
    return sorted(shipped_folder().glob("*.toml"))


def copy_of_shipped(scenario: str, name: str) -> tuple[str, dict[str, bytes]]:
    """Return the text of a shipped scenario under ``name``, and its data files with what is said of their source.

    ``scenario`` is a file's name or the name that the scenario gives itself; ``-`` and ``_`` are the same.
    """
    path = _find(scenario)
    text = "".join(line for line in read_text(path).splitlines(keepends=True) if not line.startswith("#:schema"))
    text = _NAME.sub(f'name = "{name}"', text, count=1)
    files = {file: content[:] for file, content in parse(text, path.name, folder=path.parent).files.items()}
    for data in list(files):
        if (note := note_on(path.parent / data)) is not None:
            files[note.name] = note.read_bytes()
    return text, files


def note_on(data: Path) -> Path | None:
    """Return the file that says where ``data`` come from, and under which licence: ``x_y.md`` or ``x.md`` for ``x_y.csv``."""
    notes = (data.with_name(f"{stem}.md") for stem in accumulate(data.stem.split("_"), "{}_{}".format))
    return next((note for note in reversed(list(notes)) if note.is_file()), None)


def _find(scenario: str) -> Path:
    files = shipped_files()
    by_name = {_plain(found[1]): path for path in files if (found := _NAME.search(read_text(path)))}
    by_name |= {_plain(path.stem): path for path in files}
    if _plain(scenario) not in by_name:
        known = [path.stem for path in files]
        near = get_close_matches(_plain(scenario), known, n=1)
        advice = (f'; did you mean "{near[0]}"?' if near else "") + f" (there are: {', '.join(known)})"
        raise LookupError(f"no scenario {scenario!r} comes with the program{advice}")
    return by_name[_plain(scenario)]


def _plain(name: str) -> str:
    return name.removesuffix(".toml").replace("-", "_")
