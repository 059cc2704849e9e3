"""Kernels are compiled in several processes: each is compiled once, and a process that ends early leaves its share to us."""

from __future__ import annotations

import pickle
import time
from collections import deque
from pathlib import Path

import numpy as np
import pytest

import tracker
from tracker.compiled import Kernel
from tracker.engine import compiling
from tracker.engine.simulate import compile_kernels, prepare
from tracker.streams import normals_by_trial

# writes a file for each kernel instead of compiling it; the "problem" is the folder
WRITES = """
import pickle, sys
sys.path[:] = sys.argv[1:]
from tracker.engine.compiling import serve_parent
serve_parent(lambda content: lambda n: pickle.loads(content).joinpath(str(n)).touch())
"""
NAMES = {n: f"sampler-{n}" for n in (0, 2, 3, 5, 8, 9)}


def compiled_by_both(folder: Path, seconds: float) -> tuple[list[int], list[int], list[str]]:
    """What this process compiles, waiting for the first of another; what the other does; and what is told."""
    here, told = list[int](), list[str]()
    end = time.monotonic() + seconds

    def compile_here(n: int) -> None:
        while not any(folder.iterdir()) and time.monotonic() < end:
            time.sleep(0.02)
        here.append(n)

    compiling.compile_side_by_side(folder, NAMES, 2, compile_here, told.append)
    return here, sorted(int(path.name) for path in folder.iterdir()), told


def test_each_kernel_is_compiled_in_one_of_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "CHILD", WRITES)
    here, there, told = compiled_by_both(tmp_path, 60.0)
    assert here
    assert there
    assert sorted(here + there) == sorted(NAMES)
    assert told[0] == f"compiling {', '.join(NAMES.values())} in 2 processes: 0 of 6 parts ready"
    assert told[-1].endswith("6 of 6 parts ready, about 0 s to go")


@pytest.mark.parametrize("child", ["raise SystemExit", "print('no such word')"])
def test_a_process_that_fails_leaves_all_to_this_one(
    child: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "CHILD", child)
    assert compiled_by_both(tmp_path, 0.0)[:2] == (list(NAMES), [])


def test_a_kernel_that_was_lost_on_the_way_does_not_count_as_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "CHILD", WRITES.replace("pickle.loads(content).joinpath(str(n)).touch()", "1 / 0"))
    waiting, ready = deque([4, 6]), list[int]()
    other = compiling._Other(pickle.dumps(tmp_path), waiting, ready)
    other._thread.join(60.0)
    other.end()
    assert (ready, list(waiting)) == ([], [6])


def test_another_process_finds_the_code_of_a_problem() -> None:
    scenario = tracker.parse("""
name = "small"
trials = 2
steps = 10
start = [0.5, 0.0]
[[modes]]
name = "one"
cost = "quadratic"
minimum = [1.0, -1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]
gradient_noise = 0.25
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.02
""")
    problem = prepare(scenario)
    problem = problem._replace(contestants=problem.contestants[:1])
    compile_kernels(problem)
    ready = list[int]()
    other = compiling._Other(pickle.dumps(problem), deque([0]), ready)
    other._thread.join(120.0)
    other.end()
    assert ready == [0]


def test_how_many_processes() -> None:
    assert [compiling.processes_worth(missing, 2) for missing in (0, 1, 4, 5, 12)] == [1, 1, 1, 2, 2]
    assert compiling.processes_worth(13, 16) == 4
    assert compiling.processes_worth(13, 1) == 1
    assert compiling.cores() >= 1


def test_what_is_kept_is_known_without_loading_it() -> None:
    words, out = np.zeros(4, dtype=np.uint64), np.zeros((1, 2))
    arguments = (words, 0, np.zeros(1, dtype=np.int64), out)
    normals_by_trial(*arguments)
    again = Kernel(normals_by_trial.interpreted)  # as in another process
    assert again.is_kept(*arguments)
    assert not again.signatures
    assert not again.is_kept(words, 0, np.zeros(1, dtype=np.int32), out)
