"""A scenario whose stays are Erlang, as one with a mode for each stage: then the chain is a Markov chain again.

Exact theory of the first is that of the second, with the modes of a stay put together (docs/mathematics, "Other laws of a visit").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker import chain as hidden_chain

if TYPE_CHECKING:
    from tracker.scenario.model import Scenario

LONGEST_NAME = 52  # of a mode, so that the number of a stage fits behind it


def stages_of(scenario: Scenario) -> int:
    """Return how many stages a stay has; 1 without a chain."""
    return 1 if scenario.chain is None else scenario.chain.law.shape


def by_stages(scenario: Scenario) -> Scenario:
    """Return the scenario with a mode for each stage, stage by stage within each mode; the same where a stay has only one.

    Raises
    ------
    ScenarioError
        Where there are more stages than a scenario may have modes.
    """
    chain, shape = scenario.chain, stages_of(scenario)
    if chain is None or shape == 1:
        return scenario
    modes = [
        mode.model_copy(update={"name": _name(mode.name, stage, shape)})
        for mode in scenario.modes
        for stage in range(shape)
    ]
    initial: str | list[float]
    if chain.initial == "stationary":
        initial = "stationary"  # of the stages, too: all of a stay last equally long
    elif isinstance(chain.initial, str):
        initial = _name(chain.initial, 0, shape)
    else:
        initial = np.kron(chain.initial, np.eye(shape)[0]).tolist()
    Q = hidden_chain.staged_generator(chain.Q, shape)
    return scenario.replace(modes=modes, chain={"alpha": chain.alpha, "Q": Q.tolist(), "initial": initial})


def _name(mode: str, stage: int, shape: int) -> str:
    return f"{mode[:LONGEST_NAME]}-{stage + 1}of{shape}"
