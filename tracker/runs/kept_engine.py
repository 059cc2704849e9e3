"""Keep what computes the shards of one point of a sweep for the next: processes start, and load compiled code, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tracker.runs.executors import ShardExecutor, engine_of

if TYPE_CHECKING:
    from concurrent.futures import Future
    from types import TracebackType

    from tracker.engine.simulate import Problem
    from tracker.runs.stored_shards import Stored
    from tracker.runs.workers import Task


class KeptEngine:
    """One engine for many runs, one after the other; it goes where a run lends it for.

    What a run was stopped in the middle of, is ended, and the next run has a new one.
    """

    def __init__(self, workers: int | None) -> None:
        self._workers = workers
        self._engine: ShardExecutor | None = None

    def lend(self, problem: Problem, name: str, shards: int) -> Lent:
        """Return the engine, ready for ``problem``."""
        engine, self._engine = self._engine, None
        if engine is not None and not engine.serve(problem, shards):
            engine.close(at_once=False)
            engine = None
        return Lent(self, engine or engine_of(problem, self._workers, name, shards))

    def take_back(self, engine: ShardExecutor) -> None:
        """Keep it for the next run."""
        self._engine = engine

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._engine is not None:
            self._engine.close(at_once=error is not None)


class Lent(ShardExecutor):
    """An engine in the hands of one run."""

    def __init__(self, owner: KeptEngine, engine: ShardExecutor) -> None:
        self._owner, self._engine = owner, engine

    @property
    def width(self) -> int:  # type: ignore[override]
        """How many shards are submitted at a time."""
        return self._engine.width

    def submit(self, task: Task) -> Future[Stored]:
        """Begin a shard."""
        return self._engine.submit(task)

    def steps(self, shard: int) -> float:
        """Return how many steps of a shard are done."""
        return self._engine.steps(shard)

    def rebuild(self) -> Any:
        """Build anew what broke."""
        return self._engine.rebuild()

    def close(self, *, at_once: bool) -> None:
        """Give it back, or end it where the run did not come to its end."""
        if at_once:
            self._engine.close(at_once=True)
        else:
            self._owner.take_back(self._engine)
