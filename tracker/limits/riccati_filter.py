"""The best linear filter of the hidden mode: a Riccati equation (docs/mathematics, "Best linear filter").

Notes
-----
The indicator e_k of the mode obeys e_{k+1} = P'e_k + noise of covariance diag(nu) - P'diag(nu)P, and a gradient tells b'e_k + z. Both
are linear in e_k, so the best linear estimate of m'e_k from the gradients before step k is Kalman's. The sum of e_k is 1: the
equation is solved on the X - 1 directions that are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import null_space, orth, solve_discrete_are

from tracker.limits.mode_signals import Signals, read_signals
from tracker.limits.scope import OutOfScope, in_stages

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario.model import Scenario

RESIDUAL = 1e-8  # of the solution: a larger one is none


@dataclass(frozen=True)
class LinearFilter:
    """The linear filter with the least mean square error, in stationarity.

    mean_square_error : E|theta_k - m_x|^2, theta_k from the gradients before step k
    gain : ndarray, shape (N, N): the gradient of step k, less what was expected of it, moves the estimate of step k by minus gain
        times that, before the chain moves on
    """

    mean_square_error: float
    gain: Array


def best_linear(scenario: Scenario) -> LinearFilter:
    """Return the best linear filter of the mode, for costs that differ by their slopes only (quadratic: of equal curvature).

    Raises
    ------
    OutOfScope
        Where curvatures differ: what a gradient tells then depends on where it is taken, and no filter is linear.

    Examples
    --------
    >>> import tracker
    >>> modes = [{"name": n, "cost": "quadratic", "minimum": [m], "curvature": [[1.0]], "gradient_noise": 1.0}
    ...          for n, m in (("left", -1.0), ("right", 1.0))]
    >>> scenario = tracker.parse({"name": "two", "trials": 1, "steps": 10, "start": [0.0], "modes": modes,
    ...                           "chain": {"alpha": 0.01, "Q": [[-1.0, 1.0], [1.0, -1.0]]},
    ...                           "samplers": [{"name": "s", "kind": "langevin", "epsilon": 0.1}]})
    >>> round(tracker.limits.best_linear(scenario).mean_square_error, 6)
    0.198997
    """
    signals = read_signals(in_stages(scenario))
    if signals.slopes is None:
        raise OutOfScope(
            "best_linear: the costs of the modes differ by more than their slopes, so no filter of them is linear",
            "give all modes the same curvature, or ask limits.best_filter (X = 2)",
        )
    return _filter(signals, signals.slopes)


def _filter(signals: Signals, slopes: Array) -> LinearFilter:
    nu, F = signals.law, signals.P.T
    V = null_space(np.ones((1, len(nu))))  # (X, X - 1)
    W = V.T @ (np.diag(nu) - F @ np.diag(nu) @ F.T) @ V
    F = V.T @ F @ V
    R = np.einsum("i,iab->ab", nu, signals.Sigma)
    told, named = (slopes - slopes[0]).T @ V, (signals.minimisers - signals.minimisers[0]).T @ V
    seen = orth(R + told @ told.T)  # other directions of a gradient have neither noise nor signal
    C, R = seen.T @ told, seen.T @ R @ seen
    P = solve_discrete_are(F.T, C.T, W, R) if C.size else _unseen(F, W)
    for _ in range(3):  # the map contracts: what rounding left is removed
        K = np.linalg.lstsq((C @ P @ C.T + R).T, (P @ C.T).T, rcond=None)[0].T
        before, P = P, F @ (P - K @ C @ P) @ F.T + W
        P = (P + P.T) / 2.0
    if not np.abs(P - before).max() <= RESIDUAL * np.abs(P).max():
        raise OutOfScope("best_linear: rounding hides the solution of the Riccati equation")
    return LinearFilter(float(np.trace(named @ P @ named.T)), -np.asarray(named @ K @ seen.T))


def _unseen(F: Array, W: Array) -> Array:
    from scipy.linalg import solve_discrete_lyapunov

    return np.asarray(solve_discrete_lyapunov(F, W))
