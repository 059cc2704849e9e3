"""The same scenario gives the same bits: for any workers, shards, blocks, cache; and samplers do not disturb each other."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from worlds import ROOT

import tracker
from tracker.engine import blocks, simulate
from tracker.runs.netcdf import array_hash

TRIALS = 7
SCENARIO = tracker.parse("""
name = "tiny"
seed = 11
trials = 7
steps = 1500
burn_in = 100
record_every = 7
baselines = ["frozen", "oracle"]
start = { mean = [0.5, 0.0], covariance = [[0.5, 0.1], [0.1, 0.2]] }

[chain]
alpha = 0.02
Q = [[-1.0, 1.0], [0.6, -0.6]]

[[interventions]]
kind = "outage"
at = 700
steps = 60

[[modes]]
name = "one"
cost = "quadratic"
minimum = [1.0, -1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]
gradient_noise = [[0.5, 0.1], [0.1, 0.4]]

[[modes]]
name = "two"
cost = "quadratic"
minimum = [-1.0, 0.5]
curvature = [[1.0, -0.2], [-0.2, 1.5]]
gradient_noise = [[0.3, 0.0], [0.0, 0.6]]

[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.02
beta = 2.0

[[samplers]]
name = "still"
kind = "accelerated"
epsilon = 0.02
beta = 2.0
skew = 0.0

[[samplers]]
name = "adaptive"
kind = "spsa"
epsilon = 0.02
beta = 2.0
skew = "random"
skew_step = 0.01
skew_bounds = [-2.0, 2.0]
""")
# What depends on the sampler, with axes (trial, sampler, ...); the rest belongs to the hidden chain.
BY_SAMPLER = ("error", "excess", "theta", "final", "moments", "by_mode", "by_age", "waits", "diverged", "resets")
OF_THE_CHAIN = ("mode", "final_mode", "switches", "jumps", "censored", "exits", "at_risk")


@pytest.fixture(scope="module")
def reference() -> tracker.Run:
    return tracker.run(SCENARIO, executor=1, shard_size=TRIALS)


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Bit for bit, so that nan equals nan and 0 differs from -0."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def test_the_hash_is_over_all_arrays(reference: tracker.Run) -> None:
    assert reference.summary["hash"] == array_hash(reference.arrays)
    for name, array in reference.arrays.items():
        if array.size:
            changed = array.copy()
            changed.reshape(-1)[-1] = 1 + np.nan_to_num(changed.reshape(-1)[-1])
            assert array_hash({**reference.arrays, name: changed}) != reference.summary["hash"], name


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("shard_size", [None, 1, 3, 50])
def test_workers_and_shards_do_not_matter(workers: int, shard_size: int | None, reference: tracker.Run) -> None:
    run = tracker.run(SCENARIO, executor=workers, shard_size=shard_size)
    assert run.summary["hash"] == reference.summary["hash"]


def test_an_executor_of_ones_own_stays_open(reference: tracker.Run) -> None:
    with ThreadPoolExecutor(2) as pool:
        assert tracker.run(SCENARIO, executor=pool).summary["hash"] == reference.summary["hash"]
        assert pool.submit(lambda: 1).result() == 1


def test_only_the_speed_differs_between_two_runs_of_a_process(reference: tracker.Run) -> None:
    again = tracker.run(SCENARIO, executor=1)
    untimed = [
        {**run.summary, "samplers": [{**row, "steps_per_second": None} for row in run.summary["samplers"]]}
        for run in (reference, again)
    ]
    assert untimed[0] == untimed[1]


@pytest.mark.parametrize(("first", "seconds"), [(1, 1e-9), (500, 1e-9), (2000, 10.0), (10**9, 10.0)])
def test_the_size_of_blocks_does_not_matter(
    first: int, seconds: float, reference: tracker.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[int] = []
    monkeypatch.setattr(blocks, "FIRST_BLOCK", first)
    monkeypatch.setattr(blocks, "BLOCK_SECONDS", seconds)
    whole = simulate._block
    monkeypatch.setattr(simulate, "_block", lambda t, e: stops.append(t.stop) or whole(t, e))
    run = tracker.run(SCENARIO, executor=1, shard_size=TRIALS)
    assert run.summary["hash"] == reference.summary["hash"]
    assert stops[-1] == SCENARIO.steps
    assert (len(stops) == 1) == (first == 10**9)


def test_the_loop_gives_the_same_bits_interpreted() -> None:
    short = SCENARIO.replace(trials=2, steps=300, interventions=[{"kind": "outage", "at": 100, "steps": 20}])
    compiled = tracker.run(short, executor=1)
    slow = interpreted(short)
    assert [name for name in compiled.arrays if not same(compiled.arrays[name], slow.arrays[name])] == []


def test_another_seed_gives_another_result(reference: tracker.Run) -> None:
    """Control: the hash does see a change of the world."""
    other = tracker.run(SCENARIO.replace(seed=12), executor=1)
    assert not same(other.arrays["mode"], reference.arrays["mode"])
    assert not np.isclose(other.arrays["final"], reference.arrays["final"])[:, :4].any()  # but the oracle's


def test_samplers_meet_the_same_chain_noise_and_start(reference: tracker.Run) -> None:
    """With S = 0 the accelerated sampler is the classical one: paired to the last bit only if all randomness is shared."""
    assert [c.name for c in reference.problem.contestants] == ["classical", "still", "adaptive", "frozen", "oracle"]
    for name in BY_SAMPLER:
        array = reference.arrays[name]
        assert same(array[:, 0], array[:, 1]), name
    theta = reference.arrays["theta"]
    for sampler in range(4):  # all but the oracle, which begins on a minimiser
        assert same(theta[:, sampler, 0], theta[:, 3, 0])
    assert len(np.unique(theta[:, 0, 0], axis=0)) == TRIALS
    assert not same(theta[:, 0], theta[:, 2])


def test_another_sampler_changes_nothing_for_the_others(reference: tracker.Run) -> None:
    alone = tracker.run(SCENARIO.replace(samplers=[SCENARIO.samplers[2], SCENARIO.samplers[0]]), executor=1)
    assert [c.name for c in alone.problem.contestants] == ["adaptive", "classical", "frozen", "oracle"]
    for name in BY_SAMPLER:
        assert same(alone.arrays[name], reference.arrays[name][:, [2, 0, 3, 4]]), name
    for name in OF_THE_CHAIN:
        assert same(alone.arrays[name], reference.arrays[name]), name
    assert same(alone.arrays["skew"], reference.arrays["skew"])


def test_more_trials_change_nothing_for_the_first(reference: tracker.Run) -> None:
    more = tracker.run(SCENARIO.replace(trials=TRIALS + 4), executor=2)
    for name, array in reference.arrays.items():
        assert same(more.arrays[name][:TRIALS], array), name


def test_recording_changes_only_what_is_recorded(reference: tracker.Run) -> None:
    sparse = tracker.run(SCENARIO.replace(record_every=500), executor=1)
    for name in ("final", "moments", "waits", "final_mode", "resets"):
        assert same(sparse.arrays[name], reference.arrays[name]), name
    # identity: the sums are cut into other stretches, so they may round differently
    np.testing.assert_allclose(sparse.arrays["by_mode"], reference.arrays["by_mode"], rtol=1e-12)


# --- processes of their own: the cache on disk

# A small kernel of the package stands for all.
PROGRAM = """
import hashlib, json, numpy as np
from tracker import compiled, streams
out = np.zeros((4, 5))
streams.normals_by_trial(streams.entropy_words(3), streams.START, np.arange(4), out)
print(json.dumps({"hash": hashlib.sha256(out.tobytes()).hexdigest(), "folder": str(compiled.cache_folder())}))
"""


def expected_hash() -> str:
    streams = [np.random.SFC64(np.random.SeedSequence(3, spawn_key=(5, t))) for t in range(4)]
    numbers = np.array([np.random.Generator(stream).standard_normal(5) for stream in streams])
    return hashlib.sha256(numbers.tobytes()).hexdigest()


def process(cache: str) -> Any:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TRACKER_CACHE_DIR": cache, "PYTHONWARNINGS": "default"}
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, env=env)


def test_an_unwritable_cache_folder_gives_one_warning_and_the_same_result(tmp_path: Path) -> None:
    """`test_cache.py` has the runs with a cold and a warm cache."""
    obstacle = tmp_path / "obstacle"
    obstacle.write_text("a file where a folder should be: not even root can write into it")
    done = process(str(obstacle / "cache"))
    assert json.loads(done.stdout) == {"hash": expected_hash(), "folder": "None"}
    assert done.stderr.count("Warning") == 1
    assert f"compiled code cannot be kept in {obstacle / 'cache'}" in done.stderr
    assert list(tmp_path.iterdir()) == [obstacle]


def test_the_cache_can_be_switched_off() -> None:
    done = process("off")
    assert json.loads(done.stdout) == {"hash": expected_hash(), "folder": "None"}
    assert done.stderr == ""
