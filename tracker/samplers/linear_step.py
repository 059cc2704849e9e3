"""A step that is linear in the state, the gradient and the noise: what theory needs to know of a kind.

On a quadratic cost such a sampler is a linear recursion, and moments, stationary law and stability follow exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from tracker.array_types import Array


class LinearStep(NamedTuple):
    """The matrices of u_{k+1} = u_k + epsilon (drift u_k - gain g_k) + sqrt(epsilon) (noise of covariance ``heat``).

    The state u (n,) begins with theta (N,), and g_k is the gradient, with its own noise, at theta = ``reads`` u_k. The
    matrices may depend on epsilon. At epsilon = 0 they are those of the limit, du = (drift u - gain g) dt + sqrt(heat) dW.

    gain : ndarray, shape (n, N)
    heat : ndarray, shape (n, n)
    drift : ndarray, shape (n, n)
    reads : ndarray, shape (N, n)
    begins : ndarray, shape (n, N); u_0 = begins theta_0
    smooth : whether the matrices have derivatives in epsilon at epsilon = 0, from which the leading error follows
    """

    gain: Array
    heat: Array
    drift: Array
    reads: Array
    begins: Array
    smooth: bool = True


def linear_step(
    gain: Array,
    heat: Array,
    drift: Array | None = None,
    reads: Array | None = None,
    begins: Array | None = None,
    *,
    smooth: bool = True,
) -> LinearStep:
    """Return the matrices; by default nothing drifts, the gradient is that at theta, and the rest of u begins as 0."""
    n, N = gain.shape
    first = np.eye(n, N)
    return LinearStep(
        gain,
        heat,
        np.zeros((n, n)) if drift is None else drift,
        first.T if reads is None else reads,
        first if begins is None else begins,
        smooth,
    )
