"""What can go wrong with the directory that a run or a sweep writes to, in one line and an exit code."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracker.cli.guard import EXISTS, FAILED, INTERRUPTED, USAGE, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def written_by(what: str, folder: Path, again: str) -> Iterator[None]:
    """Refuse in the user's words while ``what`` ("run" or "sweep") writes ``folder``; ``again`` is the command that continues it."""
    from tracker.runs import CorruptRun, NothingComputed, RunDiffers, RunExists, RunLocked

    kept = f"what is finished is kept. Continue with: {again}"
    try:
        yield
    except RunExists as found:
        ways = "--resume continues it, --replace overwrites it" if found.is_run else f"no {what}"
        raise Refused(EXISTS, f"{folder}: exists already; {ways}, --out chooses another") from None
    except RunLocked as found:
        raise Refused(EXISTS, f"{folder}: is being written by {found.holder}") from None
    except RunDiffers as found:
        head = f"{folder}: holds another {what}; --replace overwrites it, --out chooses another. It differs in"
        raise Refused(EXISTS, head, *(f"  {line}" for line in found.differences)) from None
    except CorruptRun as found:
        raise Refused(EXISTS, f"{folder}: {found.reason}") from None
    except NothingComputed as found:
        raise Refused(FAILED, str(found)) from None
    except ModuleNotFoundError as error:
        if error.name not in ("distributed", "dask"):
            raise
        raise Refused(USAGE, "--engine dask needs one more package: pip install 'tracker[dask]'") from None
    except KeyboardInterrupt:
        raise Refused(INTERRUPTED, f"interrupted; {kept}") from None
    except OSError as error:
        begun = any((folder / name).exists() for name in ("manifest.json", "points.json"))
        raise Refused(USAGE, _place(error), *([kept] if begun else [])) from None


def _place(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error.strerror or error)
