"""A sweep starts its workers once: the engine of one point is kept for the next, unless it was stopped in the middle."""

from __future__ import annotations

from typing import Any

import pytest

from tracker.runs import kept_engine
from tracker.runs.kept_engine import KeptEngine


class Engine:
    """Stands in for a pool: tells what was asked of it."""

    def __init__(self, problem: Any, shards: int) -> None:
        self.served, self.places, self.ends, self.width = [problem], shards, [], 3

    def serve(self, problem: Any, shards: int) -> bool:
        self.served.append(problem)
        return shards <= self.places

    def close(self, *, at_once: bool) -> None:
        self.ends.append(at_once)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Engine]:
    engines: list[Engine] = []

    def make(problem: Any, workers: int | None, name: str, shards: int) -> Engine:
        assert (workers, name) == (2, "processes")
        engines.append(Engine(problem, shards))
        return engines[-1]

    monkeypatch.setattr(kept_engine, "engine_of", make)
    return engines


def lend(kept: KeptEngine, problem: str, shards: int = 4) -> Any:
    return kept.lend(problem, "processes", shards)  # type: ignore[arg-type]


def test_points_that_end_share_one_engine_which_ends_with_the_sweep(made: list[Engine]) -> None:
    with KeptEngine(2) as kept:
        for problem in ("first", "second", "third"):
            engine = lend(kept, problem)
            assert engine.width == 3
            engine.close(at_once=False)
            assert made[0].ends == []
    assert [(one.served, one.ends) for one in made] == [(["first", "second", "third"], [False])]


def test_a_point_that_was_stopped_takes_its_engine_along(made: list[Engine]) -> None:
    with KeptEngine(2) as kept:
        lend(kept, "first").close(at_once=True)
        lend(kept, "second").close(at_once=False)
    assert [(one.served, one.ends) for one in made] == [(["first"], [True]), (["second"], [False])]


def test_a_point_with_more_shards_than_there_is_room_for_gets_a_new_engine(made: list[Engine]) -> None:
    with KeptEngine(2) as kept:
        lend(kept, "first").close(at_once=False)
        lend(kept, "second", 5).close(at_once=False)
    assert [(one.places, one.ends) for one in made] == [(4, [False]), (5, [False])]


def test_an_interrupted_sweep_ends_the_engine_at_once(made: list[Engine]) -> None:
    kept = KeptEngine(2)
    lend(kept, "first").close(at_once=False)
    kept.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert made[0].ends == [True]
