"""Turn problems with the directory of a run or a sweep into one line and an exit code."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracker.cli.error_messages import DEFECT, EXISTS, FAILED, INTERRUPTED, REFUSED, USAGE, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def written_by(
    what: str,
    folder: Path,
    again: str,
    ways: str = "--resume continues it, --replace overwrites it",
    elsewhere: str = "--out chooses another",
) -> Iterator[None]:
    """Refuse in the user's words while ``what`` ("run" or "sweep") writes ``folder``; ``again`` is the command that continues it.

    ``ways``, ``elsewhere``: the options that the command has where one of ours stands there already.
    """
    from tracker.runs import FewerTrials, NothingComputed, RunDiffers, RunExists, RunLocked
    from tracker.runs.workers import OtherProgram

    kept = f"what is finished is kept. Continue with: {again}"
    try:
        with read_from(folder):
            yield
    except RunExists as found:
        foreign = f"no {what} wrote {found.names}, and nothing here is touched" if found.found else f"no {what}"
        raise Refused(EXISTS, f"{folder}: exists already; {ways if found.is_run else foreign}, {elsewhere}") from None
    except RunLocked as found:
        raise Refused(EXISTS, f"{folder}: is being written by {found.holder}") from None
    except RunDiffers as found:
        head = f"{folder}: holds another {what}; --replace overwrites it, {elsewhere}. It differs in"
        raise Refused(EXISTS, head, *(f"  {line}" for line in found.differences)) from None
    except FewerTrials as found:
        line = (
            f"{folder}: has {found.there} trials already, and trials can only be added: --trials {found.there} or more"
        )
        raise Refused(USAGE, f"{line}, or --replace") from None
    except NothingComputed as found:
        raise Refused(FAILED, str(found)) from None
    except ModuleNotFoundError as error:
        if error.name not in ("distributed", "dask"):
            raise
        raise Refused(USAGE, "--engine dask needs one more package: pip install 'tracker[dask]'") from None
    except OtherProgram as error:
        raise Refused(USAGE, str(error)) from None
    except KeyboardInterrupt:
        raise Refused(INTERRUPTED, f"interrupted; {kept}") from None
    except OSError as error:
        begun = any((folder / name).exists() for name in ("manifest.json", "points.json"))
        raise Refused(USAGE, _place(error), *([kept] if begun else [])) from None


@contextmanager
def read_from(folder: Path) -> Iterator[None]:
    """Refuse in the user's words while what is in ``folder`` is read."""
    from tracker.runs import CorruptRun

    try:
        yield
    except CorruptRun as found:
        raise Refused(EXISTS, f"{folder}: {found.reason}") from None


@contextmanager
def drawn_from(folder: Path, what: str, again: str) -> Iterator[None]:
    """Refuse in the user's words while ``what`` is drawn from the results in ``folder``; ``again`` is the command that draws it."""
    kept = f"the results are complete in {folder}. To write it: {again}"
    try:
        yield
    except KeyboardInterrupt:
        raise Refused(INTERRUPTED, f"interrupted while {what} was written; {kept}") from None
    except OSError as error:
        raise Refused(USAGE, f"{what} could not be written: {_place(error)}; {kept}") from None
    except Exception as error:  # whatever it is, it must not hide the results; ``again`` shows where it comes from
        code = REFUSED if isinstance(error, MemoryError) else DEFECT
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise Refused(code, f"{what} could not be written: {reason}; {kept}") from None


def _place(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error.strerror or error)
