"""The large version of what the tests show small: kills, flipped bits, engines, killed workers, interruptions.

    python benchmarks/soak.py                        all of it: 300 kills, 10,000 flips
    python benchmarks/soak.py kills inside --kills 50

Prints one line per finding; exits with 1 if any run ended with other bits, or damage was accepted.
"""

# ruff: noqa: E402  (the tests' faults are found by path)
from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import psutil
from distributed import LocalCluster
from faults import Killings, flipped, kept_entries, wait_until, zygote

import tracker
from tracker.environment import Environment
from tracker.runs import CorruptRun, checkpoints, execution, open_run
from tracker.runs.storage import RunDirectory
from tracker.simulate import prepare, replay

TEXT = (ROOT / "scenarios" / "example_a.toml").read_text()
COMMON = ("burn_in=50", "chain.alpha=0.02", 'chain.initial="stationary"')
MANY = tracker.parse(TEXT, settings=("trials=40", "steps=200_000", "record_every=2000", *COMMON))
FEW = tracker.parse(TEXT, settings=("trials=2", "steps=10_000_000", "record_every=50_000", *COMMON))
SHORT = tracker.parse(TEXT, settings=("trials=6", "steps=400", "record_every=20", *COMMON))
wrong = 0


def say(name: str, **facts: object) -> None:
    print(f"{name}: " + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in facts.items()), flush=True)


def check(condition: bool, what: str) -> None:
    global wrong  # noqa: PLW0603  (a count of the whole script)
    if not condition:
        wrong += 1
        print(f"WRONG: {what}", flush=True)


def killed_again_and_again(scenario: tracker.Scenario, kills: int, folder: Path, every: float, name: str) -> None:
    """Kill at random moments; each run is resumed until it is complete, and then a new one begins."""
    file, path, rng = folder / f"{name}.toml", folder / name, random.Random(1)
    file.write_text(scenario.toml())
    expected = tracker.run(tracker.load(file), executor=2).summary["hash"]
    done = complete = lost = twice = in_snapshots = 0
    began = time.monotonic()
    with zygote(file, folder, every) as root:
        while done < kills:
            killings = Killings(root, file, path, rng)
            while done + killings.kills < kills:
                if not killings.kill_once(0.5, after_progress=rng.random() < 0.5):
                    break
                in_snapshots += any(path.glob("checkpoints/0*"))
            check(killings.finish()["hash"] == expected, f"{name}: another hash after {killings.kills} kills")
            check(open_run(path).summary["hash"] == expected, f"{name}: what was written is something else")
            done, complete = done + killings.kills, complete + 1
            lost, twice = lost + killings.lost, twice + killings.twice
            shutil.rmtree(path)
            say(f"  {name} so far", kills=done, runs=complete, lost=lost, twice=twice)
    check(lost == twice == 0, f"{name}: {lost} shards lost, {twice} computed twice")
    seconds = time.monotonic() - began
    say(
        name,
        kills=done,
        with_a_snapshot_on_disk=in_snapshots,
        runs_completed_with_the_equal_hash=complete,
        shards_lost=lost,
        kept_shards_computed_again=twice,
        seconds=round(seconds),
    )


def kills(options: argparse.Namespace, folder: Path) -> None:
    killed_again_and_again(MANY, options.kills, folder, 30.0, "kills")


def inside(options: argparse.Namespace, folder: Path) -> None:
    """Kills of a run of two very long trials, with a snapshot every tenth of a second; and what replaying costs."""
    killed_again_and_again(FEW, max(1, options.kills // 6), folder, 0.1, "inside")
    problem = prepare(FEW)
    environment = Environment(problem.plan, FEW.seed, [0], FEW.steps)
    began = time.process_time()
    replay(problem, environment, 1, FEW.steps)
    spent = time.process_time() - began
    events = int(environment.switches[0])
    run = tracker.run(FEW, executor=1)
    whole = sum(FEW.trials * FEW.steps / row["steps_per_second"] for row in run.summary["samplers"]) / FEW.trials
    say(
        "replay",
        events=events,
        microseconds_an_event=round(1e6 * spent / events, 2),
        part_of_a_trial=round(spent / whole, 3),
    )


def flips(options: argparse.Namespace, folder: Path) -> None:
    """Flip one bit, in shards, journal, manifest, snapshot or any file of a finished run, and see what is made of it."""
    path, rng = folder / "under_way", random.Random(2)

    def stop(done: float, total: float, note: str) -> None:
        if note == "running" and len(kept_entries(path)) >= 3:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        tracker.run(SHORT, path, 1, shard_size=1, progress=stop)
    finished = folder / "finished"
    tracker.run(SHORT, finished, 1)
    found = {"refused": 0, "computed_again": 0, "accepted_in_silence": 0}
    began = time.monotonic()
    for n in range(options.flips):
        outcome = flip_when_finished(finished, rng) if n % 2 else flip_under_way(path, rng)
        found[outcome] += 1
        if n % 1000 == 999:
            say("  flips so far", of=n + 1, **found)
    check(found["accepted_in_silence"] == 0, "damage was accepted")
    say("flips", of=options.flips, **found, seconds=round(time.monotonic() - began))


def flip_under_way(path: Path, rng: random.Random) -> str:
    files = [file for file in path.rglob("*") if file.is_file() and file.name != "scenario.toml"]
    sound = {file: file.read_bytes() for file in files}
    arrays = {file: data for file, data in sound.items() if file.suffix == ".npz"}
    victim = rng.choice(files)
    victim.write_bytes(flipped(sound[victim], rng))
    notices: list[str] = []
    directory = RunDirectory(path, notices.append)
    try:
        manifest = directory.manifest()
        assert manifest is not None
        kept = directory.take_over(prepare(SHORT), manifest, execution.shards_of(manifest))
        outcome = "computed_again" if len(kept) < len(arrays) and notices else "accepted_in_silence"
    except CorruptRun:
        outcome = "refused"
    shutil.rmtree(path / "damaged", ignore_errors=True)
    for file, data in sound.items():
        file.write_bytes(data)
    return outcome


def flip_when_finished(path: Path, rng: random.Random) -> str:
    victim = rng.choice([file for file in path.iterdir() if file.is_file()])
    sound = victim.read_bytes()
    victim.write_bytes(flipped(sound, rng))
    try:
        open_run(path)
    except CorruptRun:
        return "refused"
    else:
        return "accepted_in_silence"
    finally:
        victim.write_bytes(sound)


def hashes(_: argparse.Namespace, folder: Path) -> None:
    """One hash for all engines, workers and sizes of shards."""
    ways = [("serial", {"executor": 1, "shard_size": MANY.trials})]
    ways += [(f"{n} threads", {"executor": n}) for n in (1, 2, 3)]
    ways += [(f"shards of {n}", {"executor": 2, "shard_size": n}) for n in (1, 3, 7, 16, 40)]
    ways += [(f"{n} processes", {"executor": n, "engine": "processes"}) for n in (1, 2, 3)]
    ways += [(f"dask, {n} workers", {"executor": n, "engine": "dask"}) for n in (1, 2, 3)]
    found: dict[str, list[str]] = {}
    for n, (name, way) in enumerate(ways):
        found.setdefault(tracker.run(MANY, folder / f"way{n}", **way).summary["hash"], []).append(name)
        say("  hashes so far", way=name, different=len(found))
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None, silence_logs=50) as cluster:
        way = {"engine": f"dask:{cluster.scheduler_address}"}
        found.setdefault(tracker.run(MANY, folder / "address", **way).summary["hash"], []).append("dask:ADDRESS")
    with ThreadPoolExecutor(2) as pool:
        found.setdefault(tracker.run(MANY, executor=pool).summary["hash"], []).append("an executor of one's own")
    check(len(found) == 1, f"several hashes: {found}")
    say("hashes", ways=len(ways) + 2, different=len(found))


def workers(_: argparse.Namespace, folder: Path) -> None:
    """Kill a worker of a pool, or of a Dask cluster, in mid-run, three times each."""
    expected = tracker.run(MANY, executor=2).summary["hash"]
    for engine in ("processes", "dask"):
        path, killed, notices = folder / engine, list[int](), list[str]()
        lost = 0
        entries: dict[int, object] = {}

        def progress(
            done: float, total: float, note: str, path: Path = path, killed: list[int] = killed
        ) -> None:  # the loop's own
            nonlocal lost, entries
            now = kept_entries(path)
            lost += sum(now.get(index) != entry for index, entry in entries.items()) if now else 0
            entries = dict(now)
            if note == "running" and done < total and len(killed) < 3 and len(now) >= 8 * (len(killed) + 1):
                children = psutil.Process().children(recursive=True)
                killed.append(max(children, key=lambda child: child.cpu_times().user).pid)
                os.kill(killed[-1], signal.SIGKILL)

        run = tracker.run(MANY, path, 2, engine=engine, shard_size=1, progress=progress, notice=notices.append)
        check(run.summary["hash"] == expected, f"{engine}: another hash after {len(killed)} workers were killed")
        check(lost == 0, f"{engine}: {lost} kept shards were lost")
        say(f"workers, {engine}", killed=len(killed), pools_rebuilt=len(notices), kept_shards_lost=lost)


def interruptions(_: argparse.Namespace, folder: Path) -> None:
    """Ctrl-C to the whole process group, as a terminal does it, and SIGTERM to the process: how long until it ended."""
    file = folder / "long.toml"
    file.write_text(MANY.replace(steps=20_000_000, record_every=200_000).toml())
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for engine in ("threads", "processes", "dask"):
        for sent in (signal.SIGINT, signal.SIGTERM):
            path = folder / f"{engine}-{sent.name}"
            arguments = ["run", str(file), "--out", str(path), "--engine", engine, "--workers", "2"]
            process = subprocess.Popen(
                [sys.executable, "-m", "tracker", *arguments],
                env=env,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            wait_until(lambda path=path: (path / "progress.json").exists(), 120)
            began = time.monotonic()
            os.killpg(process.pid, sent) if sent is signal.SIGINT else process.send_signal(sent)
            said = process.communicate(timeout=60)[1]
            seconds = time.monotonic() - began
            check(process.returncode == 130, f"{engine}: exit code {process.returncode} after {sent.name}: {said}")
            check("--resume" in said.splitlines()[-1], f"{engine}: no command that resumes: {said}")
            time.sleep(0.5)
            left = [p for p in psutil.process_iter(["cmdline"]) if str(path) in " ".join(p.info["cmdline"] or ())]
            say(f"interruption, {engine}", signal=sent.name, seconds=round(seconds, 2), processes_left=len(left))


PARTS = {part.__name__: part for part in (kills, inside, flips, hashes, workers, interruptions)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--flips", type=int, default=10_000)
    options = parser.parse_args()
    say("soak", load=os.getloadavg(), snapshots_every=checkpoints.EVERY_SECONDS, parts=json.dumps(options.parts))
    for name in options.parts:
        with tempfile.TemporaryDirectory() as folder:
            PARTS[name](options, Path(folder))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
