"""Run a command in a child process, so that a waiting parent can end it while a library blocks the interpreter.

Python handles a signal only between two of its own instructions, and a solver may take minutes within one. So commands that
compute, and leave nothing behind that must be cleaned up, run in a child process that is started before anything else is
loaded. When the parent gets a signal, it passes it on, and kills the child if that does not end soon.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from tracker.cli.signals import INTERRUPTED, leave_the_word_to_the_parent, say_interrupted, signals_that_end

COMMANDS = ("limit", "validate", "report", "compare")
SECONDS_TO_END = 1.3


def watch_over_a_child() -> None:
    """Return in a child that carries out the command; its parent leaves from here with the child's exit code."""
    wanted = len(sys.argv) > 1 and sys.argv[1] in COMMANDS and "--help" not in sys.argv
    if not wanted or not hasattr(os, "fork") or threading.active_count() > 1:
        return
    ending = signals_that_end()
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, {*ending, signal.SIGCHLD, signal.SIGALRM}
    )  # none is lost in between
    theirs, ours = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        threading.Thread(target=_end_with_parent, args=(theirs,), daemon=True).start()
        leave_the_word_to_the_parent()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    os.close(theirs)
    os._exit(_waited(child, ending))


def _end_with_parent(pipe: int) -> None:
    """The pipe ends when the parent does, however that came about."""
    os.read(pipe, 1)
    os._exit(INTERRUPTED)


def _waited(child: int, ending: list[signal.Signals]) -> int:
    """Return the exit code of ``child``; the first signal of ``ending`` asks it to end, and gives it SECONDS_TO_END."""
    asked = False
    while True:
        number = signal.sigwait({*ending, signal.SIGCHLD, signal.SIGALRM})
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code == INTERRUPTED:
                say_interrupted()
            return code if code >= 0 else 128 - code
        if number == signal.SIGALRM:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            say_interrupted()
            return INTERRUPTED
        if number in ending and not asked:
            asked = True
            os.kill(child, signal.SIGTERM)
            signal.setitimer(signal.ITIMER_REAL, SECONDS_TO_END)
