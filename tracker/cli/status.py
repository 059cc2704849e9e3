"""``tracker status``: tell from another terminal how far a run or a sweep is."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from tracker.cli.directory_errors import read_from
from tracker.cli.error_messages import EXISTS, Refused
from tracker.cli.options import Json
from tracker.cli.printing import duration, number, print_json, rate
from tracker.formatting import counted
from tracker.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tracker.runs.run_status import Status
    from tracker.runs.sweep_status import SweepStatus

MOST_NAMES = 10  # of damaged files in a line, and of points that went wrong


def status(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a run or sweep.", show_default=False)],
    verify: Annotated[
        bool | None,
        typer.Option(
            "--verify/--no-verify",
            help="Read all that is kept and check its hashes, or only look whether it is there.",
            show_default="--verify up to 300 MB",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Say how far a run or a sweep is; it may be running in another terminal.

    What counts as done is what a resume would not compute again.

    For example:

        tracker status reports/swapping-wells

        tracker status reports/swapping-wells --verify
    """
    from tracker.runs.file_names import is_sweep

    found: Status | SweepStatus
    with read_from(folder):
        if is_sweep(folder):  # each loads no more than it needs: whoever waits for a run asks often
            from tracker.runs.sweep_status import sweep_status_of

            found = sweep_status_of(folder, verify=verify)
        else:
            from tracker.runs.run_status import status_of

            found = status_of(folder, verify=verify)
    if json:
        print_json(_plain(found))
    else:
        for line in (*_lines(found), *_best_so_far(folder, found)):
            print(printable(line))
    if found.state == "complete" and found.unusable:
        again = found.resume or "tracker run FILE --replace"
        raise Refused(EXISTS, f"{folder}: damaged: {_some(found.unusable)}; {again} computes it again")


def _best_so_far(folder: Path, status: Status | SweepStatus) -> Iterator[str]:
    """Give the best sampler over the finished trials of a run that is not complete; a sweep has many of them."""
    if status.state == "complete" or not getattr(status, "trials_done", 0):
        return
    from tracker.runs.run_errors import CorruptRun
    from tracker.runs.so_far import FinishedShards
    from tracker.samplers.baselines import BASELINES
    from tracker.scenario import ScenarioError

    seen = FinishedShards(folder)
    try:
        seen.look()
    except (OSError, CorruptRun, ScenarioError, ValueError):  # of somebody's own kinds, which status does not load
        return
    rows = [row for row in seen.rows() if row.sampler not in BASELINES and row.trials]
    if rows:
        best = min(rows, key=lambda row: row.mean)
        ends = f" ({number(best.low)} to {number(best.high)})" if best.low == best.low else ""
        over = counted(best.trials, "trial")
        yield f"smallest {seen.title} so far: {best.sampler}, {number(best.mean)}{ends} over {over}; tracker watch shows all"


def _plain(value: object) -> object:
    """Return a record as a dict, and so what it holds."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "_asdict"):
        return {key: _plain(entry) for key, entry in value._asdict().items()}
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


def _lines(status: Status | SweepStatus) -> Iterator[str]:
    who = f" by {status.holder}" if status.holder is not None else ""
    part = getattr(status, "part_of_run", None)
    yield f"{status.name}{f', part {part}' if part else ''}: {status.state}{who}"
    yield from _points(cast("SweepStatus", status)) if hasattr(status, "points") else _shards(status)
    if status.damaged:
        yield f"put aside, and computed again: {counted(status.damaged, 'damaged file')}"
    if status.unusable and status.state != "complete":
        yield f"missing or damaged, computed again on resume: {_some(status.unusable)}"
    if not status.verified and status.state != "running":
        yield "the files are there; --verify reads them and checks what they hold"
    if status.resume is not None and not (status.state == "complete" and status.unusable):
        yield f"to continue: {status.resume}"


def _shards(status: Status) -> Iterator[str]:
    trials, shards = counted(status.trials, "trial"), counted(status.shards, "shard")
    kept = f"{status.trials_done} of {trials} kept ({status.shards_done} of {shards})"
    yield f"{100 * status.part:.3g} % done, {kept}"
    yield from _pace(status)
    for shard in status.failed:
        yield f"left out: {shard}"


def _points(status: SweepStatus) -> Iterator[str]:
    now = status.under_way
    here = f"; {now.label} at {100 * now.part:.3g} %" if now is not None else ""
    yield f"{100 * status.part:.3g} % done, {status.points_done} of {counted(status.points, 'point')} complete{here}"
    yield from _pace(status)
    wrong = sorted((*status.failed, *status.diverged), key=lambda point: point.index)
    for point in wrong[:MOST_NAMES]:
        yield f"{point.label} {point.state}: {point.message}"
    if len(wrong) > MOST_NAMES:
        yield f"... and {counted(len(wrong) - MOST_NAMES, 'more point')} failed or diverged"


def _pace(status: Status | SweepStatus) -> Iterator[str]:
    if status.seconds_since is not None and status.steps_per_second is not None:
        left = f", {duration(status.seconds_left)} left" if status.seconds_left is not None else ""
        yield f"{rate(status.steps_per_second)} steps/s{left} (as of {duration(status.seconds_since)} ago)"


def _some(names: Sequence[str]) -> str:
    return ", ".join(
        [*names[:MOST_NAMES], *([f"and {len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else [])]
    )
