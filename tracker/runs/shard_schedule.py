"""Schedule shards on executors that may break: lost shards are computed again, shards that keep failing are left out.

When a pool breaks it does not say which of its shards was to blame. So all that were under way are suspects; those that
were twice under way when a pool broke are tried alone, where the blame is certain.
"""

from __future__ import annotations

from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from typing import TYPE_CHECKING

from tracker.runs.run_errors import FailedShard
from tracker.runs.workers import OtherProgram, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tracker.runs.executors import ShardExecutor
    from tracker.runs.stored_shards import Stored

ATTEMPTS = 3
FAILURES_BEFORE_TRIED_ALONE = 2
MOST_BREAKS_IN_A_ROW = 10  # in a row, with nothing done in between: the machine is to blame
POLL_SECONDS = 0.1


class ShardSchedule:
    """The work of a run: shards that wait, are under way, or could not be done."""

    def __init__(
        self,
        engine: ShardExecutor,
        tasks: Sequence[Task],
        commit: Callable[[Task, Stored], None],
        notice: Callable[[str], None],
    ) -> None:
        self._engine, self._commit, self._notice = engine, commit, notice
        self._waiting = deque(tasks)
        self._running: dict[Future[Stored], Task] = {}
        self._failures: Counter[int] = Counter()
        self._breaks = 0
        self.failed: list[FailedShard] = []

    def run(self, tell: Callable[[float], None]) -> None:
        """Do all the work; ``tell`` is called now and then with the steps that shards under way took, without those they held."""
        while self._waiting or self._running:
            try:
                self._submit()
                done, _ = wait(self._running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    self._take(future)
            except BrokenExecutor as error:
                self._break(error)
            tell(sum(max(0.0, self._engine.steps(task.shard) - task.held) for task in self._running.values()))

    def _submit(self) -> None:
        while self._waiting and len(self._running) < self._engine.width:
            alone = self._failures[self._waiting[0].shard] >= FAILURES_BEFORE_TRIED_ALONE
            if self._running and (alone or self._has_suspect()):
                return
            future = self._engine.submit(self._waiting[0])
            self._running[future] = self._waiting.popleft()

    def _has_suspect(self) -> bool:
        return any(self._failures[task.shard] >= FAILURES_BEFORE_TRIED_ALONE for task in self._running.values())

    def _take(self, future: Future[Stored]) -> None:
        task = self._running[future]
        try:
            shard = future.result()
        except (BrokenExecutor, OtherProgram):
            raise
        except CancelledError as error:  # not by us: a cluster that went away
            raise BrokenExecutor("the shards under way were cancelled") from error
        except Exception as error:
            del self._running[future]
            # Dask has tried such a shard on several workers, and all of them died
            self._fail(task, error, ATTEMPTS if type(error).__name__ == "KilledWorker" else 1)
        else:
            del self._running[future]
            self._breaks = 0
            self._commit(task, shard)

    def _break(self, error: BrokenExecutor) -> None:
        """All that was under way is lost; begin it again on a new pool."""
        lost, self._running = list(self._running.values()), {}
        self._breaks += 1
        if not self._engine.rebuild():
            raise error
        self._notice(f"the pool of workers broke ({error}); built anew, {len(lost)} shards begun again")
        for task in lost:
            self._fail(task, error, 1 if self._breaks < MOST_BREAKS_IN_A_ROW else ATTEMPTS)
        if self._breaks >= MOST_BREAKS_IN_A_ROW:
            while self._waiting:
                self._fail(self._waiting.popleft(), error, ATTEMPTS)

    def _fail(self, task: Task, error: BaseException, failures: int) -> None:
        self._failures[task.shard] += failures
        if self._failures[task.shard] < ATTEMPTS:
            self._waiting.append(task)
            return
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        self.failed.append(FailedShard(task.first, task.stop, reason))
        self._notice(f"left out after {ATTEMPTS} failures: {self.failed[-1]}")
