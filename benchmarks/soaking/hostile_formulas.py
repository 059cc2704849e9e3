"""Formulas that want to run code, to hang or to fill the memory; and what becomes of those that are accepted."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from formulas import hostile_formula

from soaking.common import Sizes, check, say
from tracker.compiled import kernel
from tracker.costs.base import expected, expected_gradient, hessian
from tracker.costs.formula.formula_cost import derive
from tracker.costs.formula.generated_code import Code, class_of

CPU_SECONDS, MEGABYTES = 2.0, 500
VARIABLES, SHAPES = ("a", "b", "c"), (("p", None), ("q", 2))
WATCHED = ("compile", "exec", "import", "open", "os.system", "subprocess.Popen")


@kernel
def ask(cost: Any, theta: Any, g: Any) -> Any:
    """Ask for the cost and its gradient."""
    expected_gradient(cost, theta, g)
    return expected(cost, theta)


@kernel
def bend(cost: Any, theta: Any, z: Any, H: Any) -> None:
    """Ask for the Hessian."""
    hessian(cost, theta, z, H)


def formulas(sizes: Sizes, _: Path) -> None:
    """Read and differentiate them, watch what the interpreter is asked to do meanwhile; compile and run some."""
    began, kept, slowest = time.monotonic(), list[Code](), 0.0
    asked: list[str] = []
    watching = False

    def hook(event: str, _: Any) -> None:
        if watching and event in WATCHED:
            asked.append(event)

    sys.addaudithook(hook)
    accepted = 0
    for seed in range(sizes.formulas):
        text = hostile_formula(seed)
        start, watching = time.process_time(), True
        found = derive(text, VARIABLES, SHAPES)
        watching, seconds = False, time.process_time() - start
        slowest = max(slowest, seconds)
        check(seconds <= CPU_SECONDS, f"formulas: seed {seed}: {seconds:.2f} s of CPU")
        check(not asked, f"formulas: seed {seed}: the interpreter was asked to {asked[:1]}")
        asked.clear()
        accepted += found.code is not None
        if (
            isinstance(found.code, Code)
            and len(kept) < sizes.accepted
            and all(found.code.name != other.name for other in kept)
        ):
            kept.append(found.code)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    check(megabytes <= MEGABYTES, f"formulas: {megabytes} MB")
    say("formulas", read=sizes.formulas, accepted=accepted, refused=sizes.formulas - accepted, slowest=f"{slowest:.3f} s",
        memory=f"{megabytes} MB", seconds=round(time.monotonic() - began))  # fmt: skip
    for code in kept:
        run(code)
    say("formulas that were compiled and run", count=len(kept), seconds=round(time.monotonic() - began))


def run(code: Code) -> None:
    """Compile a formula, and compare what it gives with the interpreter."""
    cost = class_of(code)(np.array([0.5, 1.5, -0.5]), np.zeros((3, 0)))
    theta = np.array([0.3, -0.7, 1.1])
    fast, slow = np.zeros((4, 3)), np.zeros((4, 3))
    with np.errstate(all="ignore"):
        values = [ask(cost, theta, fast[0]), ask.interpreted(cost, theta, slow[0])]
        if "hessian" in code.functions:
            bend(cost, theta, np.zeros(3), fast[1:])
            bend.interpreted(cost, theta, np.zeros(3), slow[1:])
    check(np.allclose(values[0], values[1], rtol=1e-9, equal_nan=True), f"formulas: {code.name}: {values}")
    check(np.allclose(fast, slow, rtol=1e-9, atol=1e-12, equal_nan=True), f"formulas: {code.name}: derivatives differ")
