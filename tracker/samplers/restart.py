"""A change detector around any sampler: it begins anew when the gradients no longer look like noise.

Notes
-----
Two one-sided cumulative sums (Page, 1954) for each coordinate r of g_k = grad c(theta_k, z_k), from 0:

    U+ <- max(0, U+ + shift ( r - shift/2) / noise_variance)
    U- <- max(0, U- + shift (-r - shift/2) / noise_variance),   alarm at U > threshold

``detector = "true-times"`` raises an alarm at each switch instead, and is told nothing else. At an alarm all U := 0;
velocities, tangents and moments of the inner sampler := 0; its S is kept. Then, by ``action``:

"mean": that coordinate of theta_{k+1} := the mean of theta_j - r_j/curvature over the n steps j <= k since that U was last 0
(true-times: n = 0 and theta is kept), and g_k is used in no other way. From then on the step is max(floor, 1/(n curvature)), n
growing by 1 a step and used after growing: the running mean since the change. Before the first alarm it is epsilon.
(Gustafsson, *Adaptive Filtering and Change Detection*, 2000. Several coordinates at once: each its mean, the least n.)

"hot": step k and those after it, hot_steps in all, are taken with beta = hot_beta.

g_k is the gradient that the inner sampler takes at theta_k with z_k anyway: a step evaluates what the inner one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from tracker.compiled import copy, helper, inlined
from tracker.costs.base import gradient
from tracker.keys import Count, InverseTemperature, Number, Positive, Several
from tracker.samplers.alarms import MOST_TIMES, WATCHED, note_switch, raise_alarm
from tracker.samplers.base import forget, idle, learns_its_step, sampler, step, switched, with_step
from tracker.samplers.state import Recorded, carried, nested, scratch
from tracker.samplers.wrapper_keys import WrapperKeys

if TYPE_CHECKING:
    from tracker.array_types import Array, Words
    from tracker.samplers.base import SamplerKeys

CUSUM, TRUE_TIMES = 0, 1  # values of Restart.detector
MEAN, HOT = 0, 1  # values of Restart.action
STATISTIC = Recorded("cusum", "theta", "U", "1", "larger of the two cumulative sums of each coordinate")


class Restart(NamedTuple):
    """Parameters: the inner sampler, the same at hot_beta, and the keys."""

    inner: Any
    hot: Any
    detector: int
    threshold: float
    shift: float
    noise_variance: float
    action: int
    curvature: float
    floor: float
    hot_steps: int


class State(NamedTuple):
    """The point; U, the steps since it was last 0 and the sum of theta - r/curvature over them, for both signs.

    ``since``: n of the step 1/(n curvature), 0 before the first alarm and just after one that was told; ``begun``: 1 after the
    first alarm; ``hot``: hot steps that are left; ``due``: 1 where a switch was told.
    """

    theta: Array = carried("N")
    largest: Array = carried("N", recorded=STATISTIC)
    U: Array = carried(2, "N")
    n: Array = carried(2, "N")
    total: Array = carried(2, "N")
    since: Array = carried(1)
    begun: Array = carried(1)
    hot: Array = carried(1)
    due: Array = carried(1)
    watch: Array = carried(WATCHED)
    times: Array = carried(MOST_TIMES)
    g: Array = scratch("N")
    inner: Any = nested()


@helper
def look(sampler: Restart, state: State) -> bool:
    """Take g_k into the cumulative sums; tell whether one of them is above the threshold."""
    theta, g, U, n, total = state.inner.theta, state.g, state.U, state.n, state.total
    shift, alarm = sampler.shift, False
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        for d in range(theta.size):
            U[side, d] = max(0.0, U[side, d] + shift * (sign * g[d] - shift / 2.0) / sampler.noise_variance)
            if U[side, d] > 0.0:
                n[side, d] += 1.0
                total[side, d] += theta[d] - g[d] / sampler.curvature
            else:
                n[side, d], total[side, d] = 0.0, 0.0
            alarm = alarm or U[side, d] > sampler.threshold
    for d in range(theta.size):
        state.largest[d] = max(U[0, d], U[1, d])
    return alarm


@helper
def jump(sampler: Restart, state: State) -> None:
    """Set each coordinate whose sum is above the threshold to its mean since the change, and n to their number of steps."""
    least = np.inf
    for d in range(state.theta.size):
        side = 0 if state.U[0, d] >= state.U[1, d] else 1
        if state.U[side, d] > sampler.threshold:
            state.inner.theta[d] = state.total[side, d] / state.n[side, d]
            least = min(least, state.n[side, d])
    state.since[0] = least if sampler.detector == CUSUM else 0.0
    state.begun[0] = 1.0


@inlined
def begin_anew(sampler: Restart, state: State) -> None:
    """Forget what was before the change, but not S."""
    state.U.fill(0.0)
    state.n.fill(0.0)
    state.total.fill(0.0)
    forget(sampler.inner, state.inner)
    state.hot[0] = sampler.hot_steps


@sampler(Restart, State)
def _step(sampler: Restart, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    if sampler.detector == CUSUM:
        gradient(cost, state.inner.theta, z, state.g)
        alarm = look(sampler, state)
    else:
        alarm = state.due[0] > 0.0
        state.due[0] = 0.0
    jumps = alarm and sampler.action == MEAN
    if jumps:
        jump(sampler, state)
    if alarm:
        raise_alarm(state.watch, state.times, k)
        begin_anew(sampler, state)
    if jumps:
        idle(sampler.inner, state.inner, cost, k, streams)  # its random numbers are consumed all the same
    else:
        now = sampler.inner
        if sampler.action == HOT and state.hot[0] > 0.0:
            state.hot[0] -= 1.0
            now = sampler.hot
        elif sampler.action == MEAN and state.begun[0] > 0.0:
            state.since[0] += 1.0
            now = with_step(sampler.inner, max(sampler.floor, 1.0 / (state.since[0] * sampler.curvature)))
        step(now, state.inner, cost, k, z, w, streams)
    copy(state.inner.theta, state.theta)


@idle.register(Restart)
def _idle(sampler: Restart, state: State, cost: Any, k: int, streams: Words) -> None:
    idle(sampler.inner, state.inner, cost, k, streams)


@switched.register(Restart)
def _switched(sampler: Restart, state: State, k: int) -> None:
    note_switch(state.watch, k)
    state.due[0] = 1.0 if sampler.detector == TRUE_TIMES else 0.0
    switched(sampler.inner, state.inner, k)


class RestartKeys(WrapperKeys):
    """A change detector around any sampler: at an alarm it jumps to the mean since the change, or is hot for a while.

    ``detector`` "cusum" needs ``threshold``, ``shift`` and ``noise_variance``; "true-times" is told the switches. ``action``
    "mean" needs ``curvature``, and ``floor`` keeps its step from falling to 0; "hot" needs ``hot_beta`` and ``hot_steps``.
    """

    kind: Literal["restart"]
    parameters = Restart
    detector: Literal["cusum", "true-times"] = Field(
        default="cusum", description='what raises alarms: "cusum", or "true-times", which is told each switch'
    )
    threshold: Positive | None = Field(default=None, description="a cumulative sum above it is an alarm")
    shift: Positive | None = Field(default=None, description="the change of a mean gradient that is watched for")
    noise_variance: Positive | None = Field(default=None, description="of each coordinate of the gradient noise")
    action: Literal["mean", "hot"] = Field(
        default="mean", description='what an alarm does: "mean" jumps to the mean since the change, "hot" heats'
    )
    curvature: Positive | None = Field(default=None, description="the curvature that turns gradients into places")
    floor: Annotated[Number, Field(ge=0)] = Field(
        default=0.0, description='the least step after an alarm with action = "mean"'
    )
    hot_beta: InverseTemperature | None = Field(default=None, description="the inverse temperature after an alarm")
    hot_steps: Count | None = Field(default=None, description="for how many steps it holds")

    def check_inside(self, inner: SamplerKeys) -> None:
        """Each detector and each action needs its keys, and "mean" a step that can be set."""
        needs = {
            "cusum": ("threshold", "shift", "noise_variance"),
            "mean": ("curvature",),
            "hot": ("hot_beta", "hot_steps"),
        }
        missing = [
            f'{key}: missing: {what} = "{chosen}" needs it'
            for what, chosen in (("detector", self.detector), ("action", self.action))
            for key in needs.get(chosen, ())
            if getattr(self, key) is None
        ]
        if missing:
            raise Several(missing)
        if self.action == "mean" and not self._step_can_be_set(inner):
            raise ValueError(
                f'sampler.kind: the step of "{inner.kind}" cannot be set while it runs, as action = "mean" does: use action = "hot"'
            )

    def _step_can_be_set(self, inner: SamplerKeys) -> bool:
        parameters = inner.build()
        if learns_its_step(parameters):
            return False
        longer = 4.0 * self.epsilon  # by rule and by its own keys
        return _same(with_step(parameters, longer), inner.model_copy(update={"epsilon": longer}).build())

    @property
    def adapts(self) -> str:  # type: ignore[override]
        """What an alarm changes."""
        return "its step" if self.action == "mean" else "its temperature"

    @property
    def told_switches(self) -> bool:  # type: ignore[override]
        """Whether its alarms are the switches themselves."""
        return self.detector == "true-times" or self.inner.told_switches

    def side_by_side(self, N: int) -> bool:  # noqa: ARG002
        """No: each trial has alarms of its own, and after one it does otherwise."""
        return False

    def build(self) -> Restart:
        """Return the parameters for the kernels."""
        inner = self.inner.build()
        return Restart(
            inner=inner,
            hot=inner if self.hot_beta is None else self.inside(beta=self.hot_beta).build(),
            detector=CUSUM if self.detector == "cusum" else TRUE_TIMES,
            threshold=self.threshold or 1.0,
            shift=self.shift or 1.0,
            noise_variance=self.noise_variance or 1.0,
            action=MEAN if self.action == "mean" else HOT,
            curvature=self.curvature or 1.0,
            floor=self.floor,
            hot_steps=self.hot_steps or 0,
        )


def _same(one: Any, other: Any) -> bool:
    """Tell whether two tuples of parameters, and those in them, are equal up to rounding."""
    if isinstance(one, tuple):
        return all(map(_same, one, other))
    return bool(np.allclose(one, other, rtol=1e-12, atol=0.0))
