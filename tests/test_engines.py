"""Other engines than threads: processes and Dask give the same bits, also when one of their workers is killed."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
from faults import kept_entries

import tracker
from tracker.runs import engines, workers

ROOT = Path(__file__).parents[1]
SETTINGS = ("trials=12", "steps=300_000", "record_every=10_000", "chain.alpha=0.02", 'chain.initial="stationary"')
SCENARIO = tracker.parse((ROOT / "scenarios" / "example_a.toml").read_text(), settings=SETTINGS)


@pytest.fixture(scope="module")
def expected() -> str:
    return str(tracker.run(SCENARIO, executor=1).summary["hash"])


@pytest.mark.parametrize("engine", ["processes", "dask"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # of Dask's own
def test_a_killed_worker_costs_at_most_its_shards(engine: str, expected: str, tmp_path: Path) -> None:
    path, killed, notices = tmp_path / "run", list[set[int]](), list[str]()

    def progress(done: float, total: float, note: str) -> None:
        if note == "running" and not killed and len(kept_entries(path)) >= 3:
            killed.append(set(kept_entries(path)))
            busiest = max(psutil.Process().children(recursive=True), key=lambda child: child.cpu_times().user)
            os.kill(busiest.pid, signal.SIGKILL)

    seen: list[set[int]] = []
    run = tracker.run(
        SCENARIO,
        path,
        1,
        engine=engine,
        shard_size=1,
        progress=lambda *told: (progress(*told), seen.append(set(kept_entries(path))))[0],
        notice=notices.append,
    )
    assert run.summary["hash"] == expected
    assert len(killed) == 1
    assert all(killed[0] <= kept for kept in seen[seen.index(killed[0]) : -1])
    # Dask begins again what it lost by itself; a pool is built anew here
    assert [("the pool of workers broke" in notice) for notice in notices] == [True] * (engine == "processes")


def test_an_executor_of_processes_of_ones_own(expected: str) -> None:
    """Any executor will do; here the work is sent through pickle, but done in this process."""

    class Sent(ProcessPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Any:
            import pickle
            from concurrent.futures import Future

            future: Future[Any] = Future()
            function, arguments = pickle.loads(pickle.dumps((function, arguments)))  # noqa: S301
            future.set_result(pickle.loads(pickle.dumps(function(*arguments))))  # noqa: S301
            return future

    with Sent(1) as pool:
        assert tracker.run(SCENARIO, executor=pool, shard_size=5).summary["hash"] == expected


def test_what_cannot_be_sent_is_said() -> None:
    class Local(NamedTuple):
        depth: float

    problem: Any = (Local(1.0),)
    with pytest.raises(ValueError, match=r"cannot be sent to other processes .* use threads"):
        workers.pack(problem)
    with pytest.raises(workers.OtherProgram, match="install the same version"):
        workers.work(workers.Payload(b"", "another"), workers.Task(0, 0, 1, None))
    with pytest.raises(ValueError, match="engine: 'gpu' is none of threads"):
        engines.engine_of(problem, None, "gpu", 1)
