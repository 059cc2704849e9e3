"""Signals: INT, TERM and HUP end a command alike; what comes after the first is ignored; nothing is lost or left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from faults import kept_entries, wait_until
from worlds import ROOT, SCENARIOS

import tracker
from tracker.cli import signals

SETTINGS = ("trials=24", "steps=1_000_000", "record_every=100_000", "chain.alpha=0.02", 'chain.initial="stationary"')
ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# what is sent, how often 0.15 s apart, and whether to all processes of the group, as a terminal does
STORMS = {
    "threads": [(signal.SIGINT, 5, True), (signal.SIGTERM, 5, False), (signal.SIGHUP, 1, False)],
    "processes": [(signal.SIGTERM, 1, False), (signal.SIGHUP, 5, True)],
    "dask": [(signal.SIGINT, 5, True)],
}


def default_signals() -> None:
    """Whoever runs the tests in the background has them ignored, and children would inherit that."""
    for number in ALL:
        signal.signal(number, signal.SIG_DFL)


STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """However a test ends: a pipe that nobody closes is a warning in whichever test comes later."""
    yield
    while STARTED:
        with STARTED.pop() as process:
            if process.poll() is None:
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
                process.kill()


def start(*arguments: str, prepare: Callable[[], None] = default_signals) -> subprocess.Popen[str]:
    return begun("-m", "tracker", *arguments, prepare=prepare, start_new_session=True)


def begun(*arguments: str, prepare: Callable[[], None], start_new_session: bool = False) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=start_new_session,
        preexec_fn=prepare,  # noqa: PLW1509  (no threads here that could hold a lock)
    )
    STARTED.append(process)
    return process


def send(process: subprocess.Popen[str], number: int, times: int = 1, *, group: bool = False) -> None:
    for n in range(times):
        if n:
            time.sleep(0.15)
        if process.poll() is None:
            (os.killpg if group else os.kill)(process.pid, number)


@pytest.fixture(scope="module")
def expected() -> str:
    text = (SCENARIOS / "example_a.toml").read_text()
    return str(tracker.run(tracker.parse(text, settings=SETTINGS), executor=2).summary["hash"])


@pytest.mark.parametrize("engine", STORMS)
def test_storms_of_signals_end_a_run_with_130_and_one_line(engine: str, expected: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    command = ["run", "scenarios/example_a.toml", "--out", str(out), *settings, "--workers", "2", "--engine", engine]
    for number, times, group in STORMS[engine]:
        before = kept_entries(out)
        process = start(*command, "--quiet", "--no-report", "--resume")
        wait_until(lambda: process.poll() is not None or len(kept_entries(out)) > len(before))  # noqa: B023
        children = psutil.Process(process.pid).children(recursive=True)
        send(process, number, times, group=group)
        said = process.communicate(timeout=60)[1]
        assert process.returncode == signals.INTERRUPTED, said
        (line,) = said.splitlines()
        assert line.startswith("interrupted; what is finished is kept. Continue with: tracker run")
        after = kept_entries(out)
        assert {index: after.get(index) for index in before} == before
        _, left = psutil.wait_procs(children, timeout=10)
        assert not left
    result = tracker.run(tracker.parse(_text(), settings=SETTINGS), out, 2, resume=True)
    assert result.summary["hash"] == expected


def _text() -> str:
    return (SCENARIOS / "example_a.toml").read_text()


HANGS = """
import atexit, sys, time
import tracker.cli as cli
from tracker.cli import error_messages, program

program.app.registered_commands[:] = [c for c in program.app.registered_commands if c.callback.__name__ != "limit"]

@program.app.command("limit")
@error_messages.with_exit_codes
def hang(kind: str):
    print("begun", flush=True)
    atexit.register(time.sleep, 100 if "late" in sys.argv else 0)  # a busy machine, on which the interpreter is long in ending
    time.sleep(100) if "hard" not in sys.argv else sum(range(10**11))  # which never lets go of the interpreter

cli.main()
"""


def hanging(kind: str, prepare: Callable[[], None] = default_signals) -> subprocess.Popen[str]:
    process = begun("-c", HANGS, "limit", kind, prepare=prepare)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.3)
    return process


@pytest.mark.parametrize("kind", ["soft", "late", "hard"])
@pytest.mark.parametrize("number", ALL)
def test_work_that_hears_nothing_is_left_within_two_seconds(number: int, kind: str) -> None:
    process = hanging(kind)
    began = time.monotonic()
    send(process, number, 5)
    said = process.communicate(timeout=30)[1]
    assert time.monotonic() - began < 4.0  # two, on a machine that has nothing else to do
    assert (process.returncode, said) == (130, "interrupted\n")


def under_nohup() -> None:
    default_signals()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_a_waiting_parent_ignores_a_hang_up_under_nohup() -> None:
    process = hanging("soft", under_nohup)
    send(process, signal.SIGHUP, 3)
    time.sleep(2.0)
    assert process.poll() is None
    send(process, signal.SIGTERM)
    assert (process.communicate(timeout=30)[1], process.returncode) == ("interrupted\n", 130)


def test_a_hang_up_that_is_ignored_already_stays_ignored(tmp_path: Path) -> None:
    """As nohup asks for."""
    arguments = ("run", "scenarios/example_a.toml", "--out", str(tmp_path / "out"), "--no-report", "--quiet", "--json")
    process = start(*arguments, "--set", "trials=4", "--set", "steps=1_000_000", prepare=under_nohup)
    wait_until(lambda: (tmp_path / "out" / "manifest.json").exists() or process.poll() is not None)
    send(process, signal.SIGHUP, 3)
    said, trouble = process.communicate(timeout=120)
    assert (process.returncode, trouble) == (0, "")
    assert json.loads(said)["scenario"]["trials"] == 4


def test_signals_do_what_they_did_before_once_a_command_of_a_library_is_over() -> None:
    before = [signal.getsignal(number) for number in ALL]
    with signals.command_under_way():
        assert all(signal.getsignal(number) not in (*before, signal.SIG_IGN) for number in (signal.SIGTERM,))
    assert [signal.getsignal(number) for number in ALL] == before
    with pytest.raises(KeyboardInterrupt):
        _terminated()
    assert [signal.getsignal(number) for number in ALL] == before


def _terminated() -> None:
    with signals.command_under_way():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1.0)


CALLBACK = """
import ctypes, os, signal, sys, warnings
import tracker.cli as cli
from tracker.cli import error_messages, program
from tracker.compiled.caching import CacheWarning

program.app.registered_commands[:] = [c for c in program.app.registered_commands if c.callback.__name__ != "limit"]

@program.app.command("limit")
@error_messages.with_exit_codes
def compile_something(kind: str):
    ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGTERM))()  # as llvmlite calls us while it compiles
    warnings.warn("compiled code cannot be kept", CacheWarning)  # because of it
    print("went on")

cli.main()
"""


def test_a_signal_that_a_callback_of_a_library_swallows_is_one_line_too() -> None:
    said = begun("-c", CALLBACK, "limit", "x", prepare=default_signals).communicate(timeout=60)
    assert said == ("", "interrupted\n")


def test_two_signals_at_once_are_one_line() -> None:
    """As a terminal's Ctrl-C reaches a child, and its parent passes it on."""
    process = hanging("soft")
    children = psutil.Process(process.pid).children()
    for child in children:
        child.suspend()
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGTERM)
        child.resume()
    assert len(children) == 1
    assert (process.communicate(timeout=30)[1], process.returncode) == ("interrupted\n", 130)
