"""Commands in a process that has loaded and compiled everything before: what is measured is what the file costs.

    python benchmarks/soaking/warmed.py FOLDER       reads jobs from stdin, one in a line, and prints outcomes

A process that dies or hangs is an outcome too; the jobs after it go to a new process.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from later_keys import data_files

ROOT = Path(__file__).resolve().parents[2]
PATIENCE, HUNG = 300, 5400  # seconds of CPU, and by the clock, after which a command counts as hung: machines are busy
FILE = "fuzz.toml"


class Job(NamedTuple):
    """Commands on a file: the fuzzer's of this seed, or one that is there (``seed`` is None).

    own_process : carry it out in a fork, so that the memory it takes is its own
    """

    name: str
    seed: int | None
    commands: list[list[str]]
    own_process: bool = False


class Outcome(NamedTuple):
    """How a command on a file ended."""

    name: str
    command: str
    code: int
    seconds: float  # of CPU
    megabytes: float  # the most that the process ever had
    error: str | None
    warnings: list[str]


def outcomes(jobs: Sequence[Job], folder: Path, perturb: str) -> Iterator[Outcome]:
    """Carry out the jobs in ``folder``, with fresh memory filled with the byte ``perturb``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in data_files().items():
        (folder / name).write_bytes(content)
    paths = os.pathsep.join(str(path) for path in (ROOT, ROOT / "tests"))
    env = {**os.environ, "PYTHONPATH": paths, "MALLOC_PERTURB_": perturb, "OPENBLAS_NUM_THREADS": "1"}
    waiting = list(jobs)
    while waiting:
        with subprocess.Popen(
            [sys.executable, __file__, str(folder)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for job in list(waiting):
                command = "none"
                try:
                    print(json.dumps(job), file=process.stdin, flush=True)
                    for _ in job.commands:
                        yield (outcome := Outcome(*json.loads(process.stdout.readline())))
                        command = outcome.command
                except (BrokenPipeError, json.JSONDecodeError):  # it is dead
                    waiting.remove(job)
                    code = process.wait()
                    yield Outcome(job.name, f"after {command}", code, 0.0, 0.0, f"the process ended with {code}", [])
                    break
                waiting.remove(job)
            else:
                process.stdin.close()


def _serve(folder: str) -> None:
    import fuzzing
    from click.testing import CliRunner
    from typer.main import get_command

    from tracker.cli import app

    logging.disable()
    os.chdir(folder)
    whole, runner = get_command(app), CliRunner()  # made once: making it takes longer than most files

    def invoke(name: str, arguments: list[str]) -> Outcome:
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        signal.alarm(HUNG)
        with warnings.catch_warnings(record=True) as leaked:
            warnings.simplefilter("always")
            result = runner.invoke(whole, arguments)
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = round(time.process_time() - began, 3)
        ended = result.exception is None or isinstance(result.exception, SystemExit)
        error = None if ended else repr(result.exception)[:300]
        if "Traceback (most recent call last)" in result.output:
            error = result.output[-300:]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        told = [str(warning.message)[:200] for warning in leaked]
        return Outcome(name, arguments[0], result.exit_code, seconds, peak, error, told)

    def carry_out(job: Job) -> None:
        if job.seed is not None:
            Path(FILE).write_bytes(fuzzing.hostile(job.seed).encode("utf-8", "surrogatepass"))
        for arguments in job.commands:
            print(json.dumps(invoke(job.name, arguments)), file=answers, flush=True)
        for left in ("run", "csv"):
            shutil.rmtree(left, ignore_errors=True)

    answers: Any = sys.stdout
    for scenario in sorted((ROOT / "scenarios").glob("*.toml")):  # every family is compiled or loaded
        invoke("warm", ["validate", str(scenario)])
    for line in sys.stdin:
        job = Job(*json.loads(line))
        if not job.own_process:
            carry_out(job)
            continue
        child = os.fork()
        if child == 0:
            carry_out(job)
            os._exit(0)
        if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            os._exit(abs(code))


if __name__ == "__main__":
    _serve(sys.argv[1])
