"""What does a Dask cluster cost? One sweep on 1, 2 and 4 local workers of one thread each, and what a shard costs beside its steps.

All workers are processes of this machine, started once, and addressed as a cluster elsewhere is: ``dask:tcp://HOST:PORT``. The
sweep is that of swapping wells' classical sampler over alpha; every point is a run with its own shards. Wall seconds, least of
several rounds in turn; the ceiling is what so many processes that share nothing reach at the same moment. The cost of a shard
is that of many shards of next to no steps, less that of one, through the scheduler and back.

    python benchmarks/cluster.py [rounds]
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import tracker

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
WORKERS = (1, 2, 4)
POINTS, TRIALS, STEPS = 4, 16, 50_000
SHARDS = 64


def cluster(workers: int):
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0", worker_dashboard_address=None, silence_logs=50
    )  # fmt: skip


def swept() -> tracker.Scenario:
    whole = tracker.load(SCENARIOS / "swapping_wells.toml")
    alphas = [1e-4 * 2**n for n in range(POINTS)]
    return whole.replace(
        samplers=whole.samplers[:1], trials=TRIALS, steps=STEPS, record_every=STEPS, baselines=[], claims=[], sweep={"chain.alpha": alphas}
    )  # fmt: skip


def short() -> tracker.Scenario:
    return swept().replace(trials=SHARDS, steps=10, record_every=10, sweep={})


def timed(work) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def burn(_: int) -> float:
    begun = time.perf_counter()
    total = 0
    for n in range(4_000_000):
        total += n
    return time.perf_counter() - begun


def ceiling(client, workers: int) -> float:
    """How many times as fast so many processes are at work that shares nothing."""
    alone = timed(lambda: client.gather(client.map(burn, [time.time()], pure=False)))
    together = timed(lambda: client.gather(client.map(burn, [time.time() + n for n in range(workers)], pure=False)))
    return workers * alone / together


def main() -> None:
    from distributed import Client

    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    sweep, many = swept(), short()
    one = many.replace(trials=1)
    print(
        f"{POINTS} points x {TRIALS} trials x {STEPS:.0e} steps; least of {rounds} rounds; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    print(f"{'workers':>7} {'sweep s':>8} {'speed-up':>8} {'ceiling':>8} {'a shard costs, ms':>18}")
    found: dict[int, list[tuple[float, float, float]]] = {workers: [] for workers in WORKERS}
    clusters = {workers: cluster(workers) for workers in WORKERS}
    try:
        for own in clusters.values():  # compiles, and every worker loads
            tracker.run(many, engine=f"dask:{own.scheduler_address}", shard_size=1, checks=False)
        for _ in range(rounds):
            for workers, own in clusters.items():
                engine = f"dask:{own.scheduler_address}"
                with Client(own, set_as_default=False) as client:
                    best = ceiling(client, workers)
                whole = timed(lambda engine=engine: tracker.sweep(sweep, engine=engine, checks=False))
                shards = timed(lambda engine=engine: tracker.run(many, engine=engine, shard_size=1, checks=False))
                single = timed(lambda engine=engine: tracker.run(one, engine=engine, shard_size=1, checks=False))
                found[workers].append((whole, best, 1e3 * (shards - single) / (SHARDS - 1)))
    finally:
        for own in clusters.values():
            own.close()
    base = min(whole for whole, _, _ in found[WORKERS[0]])
    for workers, rows in found.items():
        whole, best, shard = min(row[0] for row in rows), max(row[1] for row in rows), min(row[2] for row in rows)
        print(f"{workers:7d} {whole:8.2f} {base / whole:8.2f} {best:8.2f} {shard:18.1f}")
    each = min(row[2] for rows in found.values() for row in rows)
    print(
        f"The scheduler and this process take {each:.1f} ms for a shard, one after the other. Shards of s seconds keep s/{each / 1e3:.4f} "
        f"workers busy: for 300 workers a shard should compute for {0.3 * each:.1f} s or more (--shard-size, fewer and longer trials), "
        "or the run be cut into parts (--part), each with a scheduler of its own, and merged."
    )


if __name__ == "__main__":
    main()
