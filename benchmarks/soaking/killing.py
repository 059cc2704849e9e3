"""Processes, workers and runs that are killed or interrupted."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
from faults import Killings, kept_entries, wait_until, zygote

import tracker
from soaking.common import FEW, MANY, ROOT, TEXT, Sizes, check, say
from tracker.engine.simulate import prepare, replay
from tracker.environment import Environment
from tracker.runs import open_run, open_sweep

SWEPT = TEXT + '\n[sweep]\n"chain.alpha" = [0.01, 0.02, 0.04]\n'
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

KILLS_OF_ONE = 20  # run: then it is left alone until it is complete


def kill_storm(file: Path, path: Path, kills: int, command: str, engine: str, every: float = 30.0) -> None:
    """Kill at random moments; each run or sweep is resumed until it is complete, and then a new one begins."""
    rng, name = random.Random(1), f"kills of {command} on {engine}"
    scenario = tracker.load(file)
    if command == "run":
        expected = [tracker.run(scenario, executor=2).summary["hash"]]
    else:
        expected = [outcome.summary["hash"] for outcome in tracker.sweep(scenario, executor=2).outcomes]
    done = complete = lost = twice = in_snapshots = left = 0
    began = time.monotonic()
    with zygote(file, path.parent, every) as root:
        while done < kills:
            killings = Killings(root, file, path, rng, command, engine)
            while killings.kills < min(KILLS_OF_ONE, kills - done):
                if not killings.kill_once(0.5, after_progress=rng.random() < 0.5):
                    break
                in_snapshots += any(path.rglob("checkpoints/0*"))
            killings.finish()
            if command == "run":
                found = [open_run(path).summary["hash"]]
            else:
                found = [outcome.summary["hash"] for outcome in open_sweep(path).outcomes]
            check(found == expected, f"{name}: another hash after {killings.kills} kills")
            done, complete, left = done + killings.kills, complete + 1, left + killings.left
            lost, twice = lost + killings.lost, twice + killings.twice
            shutil.rmtree(path)
    check(lost == twice == left == 0, f"{name}: {lost} shards lost, {twice} computed twice, {left} processes left")
    say(
        name,
        kills=done,
        with_a_snapshot_on_disk=in_snapshots,
        completed_with_the_equal_hash=complete,
        shards_lost=lost,
        kept_shards_computed_again=twice,
        processes_left=left,
        seconds=round(time.monotonic() - began),
    )


def kills(sizes: Sizes, folder: Path) -> None:
    """Kill -9 over run, sweep and resume on three engines."""
    file, swept = folder / "many.toml", folder / "swept.toml"
    file.write_text(MANY.toml())
    settings = ("trials=8", "steps=100_000", "record_every=2000")
    swept.write_text(tracker.parse(SWEPT, settings=settings).toml())
    kill_storm(file, folder / "run", sizes.kills * 4 // 10, "run", "threads")
    kill_storm(file, folder / "run", sizes.kills * 2 // 10, "run", "processes")
    kill_storm(file, folder / "run", sizes.kills // 10, "run", "dask")
    kill_storm(swept, folder / "sweep", sizes.kills * 3 // 10, "sweep", "threads")


def inside(sizes: Sizes, folder: Path) -> None:
    """Kills of a run of two very long trials, with a snapshot every tenth of a second; and what replaying costs."""
    file = folder / "few.toml"
    file.write_text(FEW.toml())
    kill_storm(file, folder / "inside", max(1, sizes.kills // 6), "run", "threads", 0.1)
    problem = prepare(FEW)
    environment = Environment(problem.plan, FEW.seed, [0])
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


def workers(_: Sizes, folder: Path) -> None:
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
            if note.startswith("running") and done < total and len(killed) < 3 and len(now) >= 8 * (len(killed) + 1):
                children = psutil.Process().children(recursive=True)
                killed.append(max(children, key=lambda child: child.cpu_times().user).pid)
                os.kill(killed[-1], signal.SIGKILL)

        run = tracker.run(MANY, path, 2, engine=engine, shard_size=1, progress=progress, notice=notices.append)
        check(run.summary["hash"] == expected, f"{engine}: another hash after {len(killed)} workers were killed")
        check(lost == 0, f"{engine}: {lost} kept shards were lost")
        say(f"workers, {engine}", killed=len(killed), pools_rebuilt=len(notices), kept_shards_lost=lost)


def interruptions(_: Sizes, folder: Path) -> None:
    """INT to the whole process group, as a terminal does it, TERM and HUP to the process, once and five times."""
    file = folder / "long.toml"
    file.write_text(MANY.replace(steps=20_000_000, record_every=200_000).toml())
    for engine in ("threads", "processes", "dask"):
        for sent in SIGNALS:
            for times in (1, 5):
                interrupt(file, folder / f"{engine}-{sent.name}-{times}", engine, sent, times)


def interrupt(file: Path, path: Path, engine: str, sent: signal.Signals, times: int) -> None:
    """Begin a run, send it a signal, and look at its exit code, its last words and what is left of it."""
    name = f"{engine}, {sent.name} x {times}"
    arguments = ["run", str(file), "--out", str(path), "--engine", engine, "--workers", "2", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tracker", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until((path / "progress.json").exists, 120)
    began = time.monotonic()
    for _ in range(times):
        if process.poll() is None:
            os.killpg(process.pid, sent) if sent is signal.SIGINT else process.send_signal(sent)
        time.sleep(0.15)
    said = process.communicate(timeout=60)[1]
    seconds = time.monotonic() - began
    check(process.returncode == 130, f"{name}: exit code {process.returncode}: {said}")
    check(len(said.splitlines()) == 1 and "--resume" in said, f"{name}: not one line that resumes: {said}")
    time.sleep(0.5)
    left = [p for p in psutil.process_iter(["cmdline"]) if str(path) in " ".join(p.info["cmdline"] or ())]
    check(not left, f"{name}: {len(left)} processes left")
    say(f"interruption, {name}", seconds=round(seconds, 2), processes_left=len(left))
