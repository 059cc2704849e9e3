"""``tracker status``: how far a run is, from another terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.cli.guard import EXISTS, Refused
from tracker.cli.show import duration, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tracker.runs.status import Status

MOST_NAMES = 10  # of damaged files in a line


def show_status(folder: Path, verify: bool | None, json: bool) -> None:
    """Print how far the run in ``folder`` is; a finished one that is damaged ends in exit code 7."""
    from tracker.runs import CorruptRun
    from tracker.runs.status import status_of

    try:
        status = status_of(folder, verify=verify)
    except CorruptRun as error:
        raise Refused(EXISTS, f"{folder}: {error.reason}") from None
    if json:
        print_json({**status._asdict(), "failed": [shard._asdict() for shard in status.failed]})
    else:
        for line in _lines(status):
            print(line)
    if status.state == "complete" and status.unusable:
        raise Refused(
            EXISTS, f"{folder}: damaged: {', '.join(status.unusable)}; tracker run FILE --replace computes it again"
        )


def _lines(status: Status) -> Iterator[str]:
    who = f" by {status.holder}" if status.holder is not None else ""
    yield f"{status.name}: {status.state}{who}"
    kept = f"{status.trials_done} of {status.trials} trials kept ({status.shards_done} of {status.shards} shards)"
    yield f"{100 * status.part:.3g} % done, {kept}"
    if status.seconds_since is not None and status.steps_per_second is not None:
        left = f", {duration(status.seconds_left)} left" if status.seconds_left is not None else ""
        yield f"{status.steps_per_second:.2g} steps/s{left} (as of {duration(status.seconds_since)} ago)"
    for shard in status.failed:
        yield f"left out: {shard}"
    if status.damaged:
        yield f"{status.damaged} damaged files were put aside and their shards computed again"
    if status.unusable and status.state != "complete":
        yield f"missing or damaged, computed again on resume: {_some(status.unusable)}"
    if not status.verified and status.state != "running":
        yield "the files are there; --verify reads them and checks what they hold"
    if status.state == "resumable":
        yield "tracker run FILE --resume continues it"


def _some(names: Sequence[str]) -> str:
    return ", ".join(
        [*names[:MOST_NAMES], *([f"and {len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else [])]
    )
