"""How a linear sampler follows a minimum that moves, frequency by frequency (docs/mathematics, "Transfer function").

Notes
-----
On one quadratic cost u_{k+1} = B u_k + epsilon M H m_k + noise, B = I - epsilon A (``SwitchedQuadratic``). At frequency w per step,

    theta = F m + noise,    F(w) = C (e^{iw} I - B)^{-1} epsilon M H,

C the first N rows. The noise has the covariance W = epsilon^2 M Sigma M' + epsilon heat a step, and the spectral density C (e^{iw} I - B)^{-1} W (.)^* C'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.limits.scope import OutOfScope
from tracker.limits.stationary_moments import check_radius
from tracker.limits.switched_quadratic import read_quadratic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tracker.scenario.model import Scenario


@dataclass(frozen=True)
class Transfer:
    """theta = F m + noise, at each frequency.

    signal : ndarray, complex, shape (frequencies, N, N), F
    noise : ndarray, complex, shape (frequencies, N, N), the spectral density of the noise of theta; its integral over a period of the
        frequency, divided by 2 pi, is the covariance of theta while m stands still

    A minimum of spectral density S_m is followed with the mean square error, the integral of the trace of
    (I - F) S_m (I - F)^* + noise over a period, divided by 2 pi; a scalar one with that of |1 - F|^2 S_m + noise.
    """

    signal: NDArray[Any]
    noise: NDArray[Any]


def transfer(scenario: Scenario, sampler: str, frequencies: ArrayLike) -> Transfer:
    """Return how ``sampler`` passes on the motion of its minimum and the noise, at ``frequencies`` in radians per step.

    Raises
    ------
    OutOfScope
        For several modes, a cost that is not quadratic, a kind that did not declare itself linear.
    Unstable
        Where the step is not stable.

    Examples
    --------
    >>> import tracker
    >>> bowl = {"name": "bowl", "cost": "quadratic", "minimum": [0.0], "curvature": [[2.0]], "gradient_noise": 1.0}
    >>> scenario = tracker.parse({"name": "one", "trials": 1, "steps": 10, "start": [0.0], "modes": [bowl],
    ...                           "samplers": [{"name": "s", "kind": "langevin", "epsilon": 0.1, "beta": "inf"}]})
    >>> round(float(abs(tracker.limits.transfer(scenario, "s", [0.0]).signal[0, 0, 0])), 6)
    1.0
    """
    w = np.asarray(frequencies, dtype=np.float64)
    if w.ndim != 1 or not np.isfinite(w).all():
        raise ValueError("frequencies: must be a list of finite numbers, in radians per step")
    if len(scenario.modes) != 1:
        raise OutOfScope("transfer: it is the response to one cost whose minimum moves, and here are several modes")
    problem = read_quadratic(scenario, sampler)
    if problem.growth is not None:
        raise OutOfScope(
            "transfer: noise that grows with theta is none of the response's, which is linear", "", sampler
        )
    check_radius(problem, "algorithm")
    epsilon, M, N = problem.epsilon, problem.M, problem.N
    B = np.eye(problem.n) - epsilon * problem.A[0]
    response = np.linalg.inv(np.exp(1j * w)[:, None, None] * np.eye(problem.n) - B)[:, :N]
    W = epsilon**2 * M @ problem.Sigma[0] @ M.T + epsilon * problem.heat
    return Transfer(
        signal=np.asarray(response @ (epsilon * M @ problem.H[0])),
        noise=np.asarray(response @ W @ np.conj(np.swapaxes(response, 1, 2))),
    )
