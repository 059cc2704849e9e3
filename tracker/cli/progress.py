"""Show progress on stderr: a bar on a terminal, otherwise a line for every tenth."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracker.cli.error_messages import say
from tracker.cli.printing import duration, rate
from tracker.cli.signals import raise_if_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Progress = Callable[[float, float, str], None]


@contextmanager
def reporter(*, quiet: bool) -> Iterator[Progress]:
    """Give the function that a run calls with (done, total, note)."""
    if quiet:
        yield lambda *_: raise_if_asked()
    elif sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[pace]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, pace="")
        speed = Speed()

        def show(done: float, total: float, note: str) -> None:
            raise_if_asked()
            speed.look(done, note)
            pace = ", ".join(speed.pace(done, total))
            # a stage that counts nothing moves to and fro, and says for how long
            bar.update(task, completed=done, total=total if done > 0 else None, description=note, pace=pace)

        yield show


class Speed:
    """Steps per second in the present phase, which its note names up to a comma: neither compiling nor what was kept is stepping.

    A resumed run first replays its chain. So the clock starts with the first steps, unless there are no more than those.
    """

    def __init__(self) -> None:
        self._phase = ""
        self._marks = [(time.monotonic(), 0.0)]  # when a phase began, and when its first steps were told; steps done

    def look(self, done: float, note: str) -> None:
        """Notice where a phase begins, and its first steps."""
        phase = note.partition(", ")[0]
        if phase != self._phase:
            self._phase, self._marks = phase, [(time.monotonic(), done)]
        elif len(self._marks) == 1 and done > self._marks[0][1]:
            self._marks.append((time.monotonic(), done))

    def of(self, done: float) -> float:
        """Return the speed."""
        began, base = self._marks[-1] if done > self._marks[-1][1] else self._marks[0]
        return (done - base) / max(time.monotonic() - began, 1e-9)

    def pace(self, done: float, total: float) -> Iterator[str]:
        """Give the speed and the time that is left, for people, as far as they are known."""
        speed = self.of(done)
        if speed > 0:
            yield f"{rate(speed)} steps/s"
            if done < total:
                yield f"{duration((total - done) / speed)} left"


def _lines() -> Progress:
    speed = Speed()
    told = 0
    last_note = ""

    def show(done: float, total: float, note: str) -> None:
        nonlocal told, last_note
        raise_if_asked()
        speed.look(done, note)
        tenths = int(10 * done / total) if total > 0 else 0
        if tenths > told:
            told = tenths
            parts = [f"{10 * tenths:3d} %  {rate(done)} of {rate(total)} steps", note.partition(", ")[2]]
            say(", ".join([*filter(None, parts), *speed.pace(done, total)]))
        elif note and note != last_note and done == 0:
            say(note)
        last_note = note

    return show
