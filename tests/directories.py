"""Directories that are not what they seem: strangers' files under our names, and run directories that attack.

Everything is made from a seed, so that a failure can be made again. Used by tests and the soak.
"""

from __future__ import annotations

import json
import os
import random
import string
from pathlib import Path
from typing import TYPE_CHECKING

from tracker.runs.file_names import RUN_FILES, RUN_FOLDERS, SWEEP_FILES, SWEEP_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = sorted(RUN_FILES | RUN_FOLDERS | SWEEP_FILES | SWEEP_FOLDERS | {"rows.csv"})
THEIRS = [
    "notes.md",
    "index.html",
    "work.tmp",
    ".work.tmp",
    ".manifest.json.tmp",
    ".manifest.json.0123456789AB.tmp",
    ".thesis.tex.0123456789ab.tmp",
    "sub.tmp",
    "000000.npz",
]
OTHERS_JSON = [
    {"name": "my app", "start_url": "/"},
    [],
    {"host": "here", "pid": 1},
    {"name": "x", "seed": 1, "trials": 2, "steps": 3, "check": "0123456789abcdef"},
    {"points": [], "check": ""},
    {"hash": "0" * 64, "samplers": []},
]


def contents(folder: Path) -> dict[str, object]:
    """Return all that is in ``folder``: the bytes of files, where links lead, and that there are folders and pipes."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_dir():
            found[name] = "folder"
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = "pipe"
    return found


# --- strangers' directories


def foreign_directory(folder: Path, seed: int, outside: Path) -> None:
    """Make ``folder`` with some things that no run wrote, most of them under names of ours; links lead to ``outside``."""
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    chosen = rng.sample(OURS, rng.randint(1, 6)) + rng.sample(THEIRS, rng.randint(0, 2))
    for name in chosen:
        _something(folder / name, rng, outside)


def _something(path: Path, rng: random.Random, outside: Path, depth: int = 0) -> None:
    kind = rng.choice(("text", "json", "bytes", "empty", "link", "dangling", "folder", "pipe"))
    if kind == "text":
        path.write_text("".join(rng.choices(string.printable, k=rng.randint(1, 200))))
    elif kind == "json":
        path.write_text(json.dumps(rng.choice(OTHERS_JSON), indent=rng.choice((None, 2))))
    elif kind == "bytes":
        path.write_bytes(rng.randbytes(rng.randint(1, 200)))
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "link":
        path.symlink_to(rng.choice(sorted(outside.iterdir())))
    elif kind == "dangling":
        path.symlink_to(outside / f"nothing{rng.randint(0, 99)}")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
        for name in rng.sample(OURS + THEIRS, rng.randint(0, 3)):
            if depth < 2:
                _something(path / name, rng, outside, depth + 1)


def precious(folder: Path) -> Path:
    """Make a folder outside of everything, with a file and a folder that must survive."""
    (folder / "thesis").mkdir(parents=True)
    (folder / "thesis.tex").write_text("years of work")
    (folder / "thesis" / "000000.npz").write_text("data")
    (folder / "thesis" / ".half.0123456789ab.tmp").write_text("a file of somebody else")
    return folder


# --- the seven layouts of the review


def _web(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"name":"my app"}\n')
    (folder / "index.html").write_text("mine")


def _lock_and_scenario(folder: Path) -> None:
    (folder / "lock").write_text("mine\n")
    (folder / "scenario.toml").write_text("my only copy")


def _temporaries(folder: Path) -> None:
    (folder / "work.tmp").write_text("mine")
    (folder / "sub.tmp").mkdir()
    (folder / "sub.tmp" / "x").write_text("mine")


def _empty_shards(folder: Path) -> None:
    (folder / "shards").mkdir()
    (folder / "scenario.toml").write_text("my only copy")


def _lock_and_points(folder: Path) -> None:
    (folder / "lock").write_text("mine\n")
    (folder / "points").mkdir()
    (folder / "points" / "mine").write_text("mine")


def _sweep_of_a_stranger(folder: Path) -> None:
    (folder / "sweep.json").write_text('{"broom": true}')
    (folder / "dust").write_text("mine")


def _notes(folder: Path) -> None:
    (folder / "notes.md").write_text("what I found")


# by name; the last is laid into a finished run
LAYOUTS: dict[str, Callable[[Path], None]] = {
    "a web application": _web,
    "a lock and a scenario": _lock_and_scenario,
    "temporaries": _temporaries,
    "empty shards": _empty_shards,
    "a lock and points": _lock_and_points,
    "a stranger's sweep": _sweep_of_a_stranger,
    "notes in a run": _notes,
}
