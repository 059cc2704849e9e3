"""``tracker status``: how far a run is, from another terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.cli.guard import EXISTS, Refused
from tracker.cli.show import duration, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tracker.runs.status import Status


def show_status(folder: Path, json: bool) -> None:
    """Print how far the run in ``folder`` is."""
    from tracker.runs import CorruptRun
    from tracker.runs.status import status_of

    try:
        status = status_of(folder)
    except CorruptRun as error:
        raise Refused(EXISTS, f"{folder}: {error.reason}") from None
    if json:
        print_json({**status._asdict(), "failed": [shard._asdict() for shard in status.failed]})
    else:
        for line in _lines(status):
            print(line)


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
    if status.state == "resumable":
        yield "tracker run FILE --resume continues it"
