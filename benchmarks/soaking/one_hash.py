"""One hash for all engines, workers and sizes of shards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from distributed import LocalCluster

import tracker
from soaking.common import MANY, Sizes, check, say


def hashes(_: Sizes, folder: Path) -> None:
    """Run in seventeen ways."""
    ways = [("serial", {"executor": 1, "shard_size": MANY.trials})]
    ways += [(f"{n} threads", {"executor": n}) for n in (1, 2, 3)]
    ways += [(f"shards of {n}", {"executor": 2, "shard_size": n}) for n in (1, 3, 7, 16, 40)]
    ways += [(f"{n} processes", {"executor": n, "engine": "processes"}) for n in (1, 2, 3)]
    ways += [(f"dask, {n} workers", {"executor": n, "engine": "dask"}) for n in (1, 2, 3)]
    found: dict[str, list[str]] = {}
    for n, (name, way) in enumerate(ways):
        found.setdefault(tracker.run(MANY, folder / f"way{n}", **way).summary["hash"], []).append(name)
    cluster = LocalCluster(n_workers=1, threads_per_worker=2, host="127.0.0.1", dashboard_address=None, silence_logs=50)
    with cluster:
        way = {"engine": f"dask:{cluster.scheduler_address}"}
        found.setdefault(tracker.run(MANY, folder / "address", **way).summary["hash"], []).append("dask:ADDRESS")
    with ThreadPoolExecutor(2) as pool:
        found.setdefault(tracker.run(MANY, executor=pool).summary["hash"], []).append("an executor of one's own")
    check(len(found) == 1, f"several hashes: {found}")
    say("hashes", ways=len(ways) + 2, different=len(found))
