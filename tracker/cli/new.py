"""``tracker new``: write a small scenario that runs as it is and explains its keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from tracker.cli.error_messages import USAGE, Refused

STARTER = """\
# Claim: the sampler with a skew matrix follows the moving minimum more closely than the classical one.
# Check it with: tracker validate {name}.toml     Run it with: tracker run {name}.toml
name = "{name}"
seed = 1                  # the same seed gives the same results, on any number of workers
trials = 50               # independent repetitions; all samplers meet the same hidden path and the same noise
steps = 100_000
start = [0.0, 0.0]        # theta at step 0; its length is the dimension of everything below

[chain]                   # hidden from every sampler: at each step the mode is left with probability alpha |q_ii|
alpha = 1e-3
Q = [[-1.0, 1.0], [1.0, -1.0]]
initial = "stationary"    # or the name of a mode, or a list of probabilities

# --- the modes, in the order of Q's rows; C = (theta - minimum)' curvature (theta - minimum) / 2

[[modes]]
name = "east"
cost = "quadratic"
minimum = [1.0, 1.0]
curvature = [[5.0, 0.0], [0.0, 0.5]]   # steep along the first axis, flat along the second
gradient_noise = 0.1                   # one variance for all coordinates, or a covariance matrix

[[modes]]
name = "west"
cost = "quadratic"
minimum = [-1.0, -1.0]
curvature = [[5.0, 0.0], [0.0, 0.5]]
gradient_noise = 0.1
# target = {{ radius = 0.3 }}            # how near counts as re-acquired; default: a quarter of the smallest distance

# --- the samplers; `frozen` (never moves) and `oracle` (knows the mode) run beside them; baselines = [] for neither

[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.01
beta = 20.0               # inverse temperature; "inf" for plain stochastic gradient

[[samplers]]
name = "skewed"
kind = "accelerated"
epsilon = 0.01
beta = 20.0
skew = 2.0                # S = [[0, -2], [2, 0]]; also a matrix, "random", or "optimal" (one quadratic mode)
"""


def new(name: Annotated[str, typer.Argument(help="What the scenario is called; NAME.toml is written here.")]) -> None:
    """Write a small commented scenario to start from; it runs as it is.

    For example:

        tracker new my-world && tracker run my-world.toml
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        rule = "must be 1 to 64 letters, digits, _ or -, the first a letter or a digit"
        raise Refused(USAGE, f"NAME: {name!r} {rule}")
    path = Path(f"{name}.toml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(STARTER.format(name=name))
    except FileExistsError:
        raise Refused(USAGE, f"{path}: exists already") from None
    print(f"wrote {path}; try: tracker validate {path}")
