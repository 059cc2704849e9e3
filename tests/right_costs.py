"""Costs as users write them, all of them right: the check before the first step must accept each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracker.costs.base import expected, gradient, hessian, observation_size, observe, value
from tracker.streams import draw_index, draw_normals


class Rastrigin(NamedTuple):
    centre: float = 0.3


@value.register(Rastrigin)
def _(c, th, z):
    return float(np.sum((th - c.centre) ** 2 + 3 * (1 - np.cos(2 * np.pi * (th - c.centre)))))


@gradient.register(Rastrigin)
def _(c, th, z, out):
    out[:] = 2 * (th - c.centre) + 6 * np.pi * np.sin(2 * np.pi * (th - c.centre))


class Wells(NamedTuple):
    """Gaussian wells with additive noise and an expected cost of its own."""

    depth: float = 2.0


@value.register(Wells)
def _(c, th, z):
    return float(0.05 * th @ th - c.depth * np.exp(-0.5 * ((th - 1.0) ** 2).sum()) + z[: th.size] @ th)


@expected.register(Wells)
def _(c, th):
    return float(0.05 * th @ th - c.depth * np.exp(-0.5 * ((th - 1.0) ** 2).sum()))


@gradient.register(Wells)
def _(c, th, z, out):
    out[:] = 0.1 * th + c.depth * (th - 1.0) * np.exp(-0.5 * ((th - 1.0) ** 2).sum()) + z[: th.size]


@hessian.register(Wells)
def _(c, th, z, out):
    e, x = c.depth * np.exp(-0.5 * ((th - 1.0) ** 2).sum()), th - 1.0
    out[:, :] = 0.1 * np.eye(th.size) + e * (np.eye(th.size) - np.outer(x, x))


@observation_size.register(Wells)
def _(c):
    return 2


@observe.register(Wells)
def _(c, k, count, stream, out):
    for i in range(count):
        draw_normals(stream, out[i])


X = np.linspace(-2.0, 2.0, 41)
Y = np.tanh(1.5 * X) - 0.3


class Network(NamedTuple):
    """Three hidden units, 41 points, one row a step; 9 weights (b, v, w of each unit), no bias at the end."""

    x: np.ndarray = X
    y: np.ndarray = Y


@value.register(Network)
def _(c, th, z):
    i, f = int(z[0]), 0.0
    for h in range(3):
        f += th[6 + h] * np.tanh(th[h] + th[3 + h] * c.x[i])
    return 0.5 * (f - c.y[i]) ** 2 + 0.005 * float((th * th).sum())


@gradient.register(Network)
def _(c, th, z, out):
    i, f = int(z[0]), 0.0
    for h in range(3):
        f += th[6 + h] * np.tanh(th[h] + th[3 + h] * c.x[i])
    for h in range(3):
        t = np.tanh(th[h] + th[3 + h] * c.x[i])
        out[6 + h] = (f - c.y[i]) * t + 0.01 * th[6 + h]
        out[h] = (f - c.y[i]) * th[6 + h] * (1 - t * t) + 0.01 * th[h]
        out[3 + h] = (f - c.y[i]) * th[6 + h] * (1 - t * t) * c.x[i] + 0.01 * th[3 + h]


@expected.register(Network)
def _(c, th):
    total = 0.0
    for i in range(c.x.size):
        total += value(c, th, np.array([float(i)]))
    return total / c.x.size


@observation_size.register(Network)
def _(c):
    return 1


@observe.register(Network)
def _(c, k, count, stream, out):
    for i in range(count):
        out[i, 0] = draw_index(stream, c.x.size)


class Huber(NamedTuple):
    bend: float = 0.5


@value.register(Huber)
def _(c, th, z):
    a = np.abs(th)
    return float(np.where(a < c.bend, 0.5 * a * a, c.bend * (a - 0.5 * c.bend)).sum())


@gradient.register(Huber)
def _(c, th, z, out):
    out[:] = np.clip(th, -c.bend, c.bend)


class Absolute(NamedTuple):
    """A kink at the minimiser, where any slope between -1 and 1 is a gradient."""

    at: float = 0.0


@value.register(Absolute)
def _(c, th, z):
    return float(np.abs(th - c.at).sum())


@gradient.register(Absolute)
def _(c, th, z, out):
    out[:] = np.where(th >= c.at, 1.0, -1.0)


class Steep(NamedTuple):
    """Curvatures from 1e-6 to 1e6."""

    low: float = 1e-6


@value.register(Steep)
def _(c, th, z):
    return float(0.5 * (np.logspace(-6, 6, th.size) * th * th).sum())


@gradient.register(Steep)
def _(c, th, z, out):
    out[:] = np.logspace(-6, 6, th.size) * th


@hessian.register(Steep)
def _(c, th, z, out):
    out[:, :] = np.diag(np.logspace(-6, 6, th.size))


class Rosenbrock(NamedTuple):
    a: float = 1.0


@value.register(Rosenbrock)
def _(c, th, z):
    return float((100 * (th[1:] - th[:-1] ** 2) ** 2 + (c.a - th[:-1]) ** 2).sum())


@gradient.register(Rosenbrock)
def _(c, th, z, out):
    out[:] = 0.0
    out[1:] += 200 * (th[1:] - th[:-1] ** 2)
    out[:-1] += -400 * th[:-1] * (th[1:] - th[:-1] ** 2) - 2 * (c.a - th[:-1])


class Lms(NamedTuple):
    """Least squares on fresh pairs (x, y): the noise multiplies."""

    truth: float = 1.5


@value.register(Lms)
def _(c, th, z):
    return float(0.5 * (z[1] - z[0] * th[0]) ** 2)


@gradient.register(Lms)
def _(c, th, z, out):
    out[0] = -z[0] * (z[1] - z[0] * th[0])


@expected.register(Lms)
def _(c, th):
    return float(0.5 * ((th[0] - c.truth) ** 2 + 0.25))


@observation_size.register(Lms)
def _(c):
    return 2


@observe.register(Lms)
def _(c, k, count, stream, out):
    for i in range(count):
        draw_normals(stream, out[i])
        out[i, 1] = c.truth * out[i, 0] + 0.5 * out[i, 1]


class Large(NamedTuple):
    """Values around 1e9: a difference loses many digits."""

    offset: float = 1e9


@value.register(Large)
def _(c, th, z):
    return c.offset + float(th @ th)


@gradient.register(Large)
def _(c, th, z, out):
    out[:] = 2 * th


class Logistic(NamedTuple):
    rate: float = 1.0


@value.register(Logistic)
def _(c, th, z):
    return float(np.log1p(np.exp(-c.rate * th)).sum() + 0.05 * th @ th)


@gradient.register(Logistic)
def _(c, th, z, out):
    out[:] = -c.rate / (1 + np.exp(c.rate * th)) + 0.1 * th


# name: cost and the dimension
RIGHT: dict[str, tuple[Any, int]] = {
    "rastrigin": (Rastrigin(), 2),
    "rastrigin, N = 1": (Rastrigin(), 1),
    "gaussian wells with noise": (Wells(), 2),
    "network of 9 weights": (Network(), 9),
    "huber": (Huber(), 2),
    "kink": (Absolute(), 2),
    "curvatures from 1e-6 to 1e6": (Steep(), 5),
    "rosenbrock": (Rosenbrock(), 4),
    "rosenbrock, N = 30": (Rosenbrock(), 30),
    "least squares": (Lms(), 1),
    "large values": (Large(), 3),
    "logistic": (Logistic(), 2),
    "steep, N = 30": (Steep(), 30),
}
