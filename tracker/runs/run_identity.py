"""The identity of a run: everything that its result depends on, and the difference between two runs."""

from __future__ import annotations

import hashlib
import shlex
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from tracker import __version__
from tracker.regular_files import open_regular
from tracker.runs.manifest import SCENARIO, Manifest
from tracker.runs.run_errors import CorruptRun

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from tracker.regular_files import Content
    from tracker.runs.manifest import Earlier, Part
    from tracker.scenario import Scenario

PACKAGES = ("numpy", "scipy", "numba", "simpy")
PLUGIN_PREFIX = "plugin "  # before the name of a package
LONGEST_VALUE_SHOWN = 60  # characters


def data_files(scenario: Scenario) -> Mapping[str, Content]:
    """Return the data files that the scenario names, which belong beside it."""
    files: Mapping[str, Content] = getattr(scenario, "files", {})
    return files


def source_fingerprint() -> str:
    """Return the hash of the sources that results depend on."""
    from tracker.engine import simulate  # here, because who asks how far a run is need not load the engine

    return simulate.source_fingerprint()


def versions(plugins: Iterable[str] = ()) -> dict[str, str]:
    """Return the versions of what computes: of the program, and of the packages that it takes costs and samplers from."""
    return dict(_own_versions()) | {f"{PLUGIN_PREFIX}{package}": _installed(package) for package in plugins}


@lru_cache(maxsize=1)
def _own_versions() -> tuple[tuple[str, str], ...]:
    return (("tracker", __version__), *((package, metadata.version(package)) for package in PACKAGES))


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def manifest_of(
    scenario: Scenario, shard_size: int, part: Part | None = None, earlier: Earlier | None = None
) -> Manifest:
    """Return the manifest of a run, or a part of one, that begins; ``earlier`` is the run that trials are added to."""
    return Manifest(
        name=scenario.name,
        seed=scenario.seed,
        trials=scenario.trials,
        steps=scenario.steps,
        scenario_sha256=scenario.sha256,
        versions=versions(scenario.packages),
        sources=source_fingerprint(),
        shard_size=shard_size,
        text_sha256=sha256(scenario.toml().encode()),
        data=dict(getattr(scenario, "file_hashes", {})),
        code=scenario.code.sha256 if scenario.code is not None else "",
        part=part,
        earlier=earlier,
    )


def manifest_in_memory(scenario: Scenario, shard_size: int, part: Part | None = None) -> Manifest:
    """Return how a run that leaves no files is cut; nobody will ask for its identity."""
    return Manifest(scenario.name, scenario.seed, scenario.trials, scenario.steps, "", {}, "", shard_size, part=part)


def resumed_manifest(scenario: Scenario, old: Manifest, part: Part | None = None) -> Manifest:
    """Return the manifest of ``scenario`` for a run that goes on where ``old`` was: cut in the same way."""
    return manifest_of(scenario, old.shard_size, part, old.earlier)


def resume_command(what: str, path: Path, manifest: Manifest) -> str:
    """Return the command that goes on with the "run" or "sweep" in ``path``, from the scenario that is kept there."""
    plugins = [name.removeprefix(PLUGIN_PREFIX) for name in manifest.versions if name.startswith(PLUGIN_PREFIX)]
    allowed = [word for name in plugins for word in ("--allow-plugins", name)]
    allowed += ["--code", "FILE.py"] if manifest.code else []
    part = ["--part", str(manifest.part)] if manifest.part is not None else []
    return shlex.join(["tracker", what, str(path / SCENARIO), "--out", str(path), *part, *allowed, "--resume"])


def sha256(data: Content) -> str:
    """Return the hash of ``data``."""
    return hashlib.sha256(data).hexdigest()


def resolve_links(path: Path) -> Path:
    """Return ``path`` without links on the way to it; ``CorruptRun`` where they lead in a circle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # RuntimeError: before Python 3.13
        raise CorruptRun(path, "its links lead in a circle") from None


def hash_of_file(path: Path) -> str:
    """Return the sha256 of a regular file of any size."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def differences(old: Manifest, now: Manifest, before: Mapping[str, Any], content: Mapping[str, Any]) -> list[str]:
    """Return in what two runs differ, one line each; ``before`` and ``content`` are their scenarios as tables."""
    lines = list(_differences("", before, content))
    names = sorted(old.data.keys() | now.data.keys())
    lines += [f"{name}: the data changed" for name in names if old.data.get(name) != now.data.get(name)]
    lines += [code_differs(old.code, now.code)] if old.code != now.code else []
    lines += _differences("version of ", old.versions, now.versions)
    lines += _differences("part", str(old.part or "") or None, str(now.part or "") or None)
    if not lines and old.sources != now.sources:
        lines.append(
            f"the program: its sources ({old.sources} in the run, {now.sources} now) or compiler settings changed"
        )
    return lines


def code_differs(old: str, now: str) -> str:
    """Say that a run was made with other code."""
    was = f"the run was made with code of sha256 {old}" if old else "the run was made without --code"
    return f"{was}, now it is {now}" if now else f"{was}: name that file with --code"


def _differences(place: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        dot = "" if not place or place.endswith(" ") else "."
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differences(f"{place}{dot}{key}", old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and _are_tables(old + new):
        for n, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{place}[{n}]", one, other)
    elif old != new:
        yield f"{place}: {_shown(old)} in the run, {_shown(new)} now"


def _are_tables(entries: list[Any]) -> bool:
    return all(isinstance(entry, dict) for entry in entries)


def _shown(value: Any) -> str:
    text = "not given" if value is None else repr(value)
    return text if len(text) <= LONGEST_VALUE_SHOWN else text[: LONGEST_VALUE_SHOWN - 3] + "..."
