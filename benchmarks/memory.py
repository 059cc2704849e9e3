"""What a run takes in memory and on disk, against what `tracker validate` predicts; and that steps take no memory.

Every run is a process of its own, `tracker run` as a user types it. Memory is its largest resident size (the system's own
count), disk the size of all files in the run directory: when it is finished, and the most while it ran. Kernels are
compiled before: compiling them takes up to some 100 MB more, once.

    python benchmarks/memory.py [predictions|steps]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
MB = 1e6
# file, settings: each is large in another way
PREDICTED = {
    "swapping wells, 6 samplers": ("swapping_wells.toml", ("steps=100_000", "record_every=100")),
    "example A, 20 000 trials": ("example_a.toml", ()),
    "example A, long traces": ("example_a.toml", ("trials=1500", "steps=3000", "record_every=1")),
    "example 1, N = 2": ("example_1.toml", ("trials=100", "steps=20_000", "record_every=20")),
    "example 2, N = 10": ("example_2.toml", ("trials=100", "steps=5000", "record_every=5")),
}
TOLERANCE = 0.25
SHORT, LONG = 1_000_000, 100_000_000
GROWTH = 0.10


class Taken(NamedTuple):
    """Bytes: of memory, on disk at the end, and the most on disk while it ran."""

    memory: float
    disk: float
    most_disk: float
    seconds: float


def tracker(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tracker", *arguments]


def flags(settings: tuple[str, ...]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def size(folder: Path) -> float:
    total = 0.0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # renamed or removed since
            continue
    return total


def run(file: Path, settings: tuple[str, ...]) -> Taken:
    """Run a scenario in a process of its own, and watch it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        begun = time.monotonic()
        command = tracker("run", str(file), "--out", str(out), "--quiet", "--json", "--workers", "2", *flags(settings))
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        most = 0.0
        while True:
            # this parent is small, so that the child's peak is not that of the fork
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            most = max(most, size(out)) if out.exists() else most
            if pid:
                break
            time.sleep(0.02)
        if status:
            raise SystemExit(f"{file.name}: exit status {status}")
        return Taken(1024.0 * usage.ru_maxrss, size(out), most, time.monotonic() - begun)


def predicted(file: Path, settings: tuple[str, ...]) -> dict[str, float]:
    command = tracker("validate", str(file), "--json", *flags(settings))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["predicted"]


def predictions() -> None:
    print("predicted / measured, in MB; 'running' is the most on disk while it ran")
    print(f"{'':28} {'memory':>22} {'disk':>22} {'disk, running':>22}")
    worst = 0.0
    for name, (file, settings) in PREDICTED.items():
        path = SCENARIOS / file
        run(path, (*settings, "trials=2", "steps=100", "record_every=10"))  # compiles
        foreseen, taken = predicted(path, settings), run(path, settings)
        cells = []
        for key, measured in (("memory", taken.memory), ("disk", taken.disk), ("disk_running", taken.most_disk)):
            off = foreseen[key] / measured - 1
            worst = max(worst, abs(off))
            cells.append(f"{foreseen[key] / MB:7.1f} / {measured / MB:6.1f} {off:+5.0%}")
        print(f"{name:28} {cells[0]:>22} {cells[1]:>22} {cells[2]:>22}", flush=True)
    print(f"worst: {worst:.0%}; at most {TOLERANCE:.0%} is asked for")


def steps() -> None:
    print("peak memory of 2 trials with 500 records, example A with one sampler and two baselines")
    found = []
    run(SCENARIOS / "example_a.toml", ("trials=2", "steps=100", "record_every=10"))  # compiles
    for count in (SHORT, LONG):
        settings = ("trials=2", f"steps={count}", f"record_every={count // 500}", "chain.alpha=1e-3")
        taken = run(SCENARIOS / "example_a.toml", settings)
        found.append(taken.memory)
        print(f"{count:12,d} steps: {taken.memory / MB:.1f} MB in {taken.seconds:.0f} s", flush=True)
    print(f"{LONG:,d} against {SHORT:,d} steps: {found[1] / found[0] - 1:+.1%}; at most {GROWTH:.0%} is asked for")


def main() -> None:
    chosen = sys.argv[1:] or ["predictions", "steps"]
    for part in chosen:
        {"predictions": predictions, "steps": steps}[part]()


if __name__ == "__main__":
    main()
