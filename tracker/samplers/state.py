"""The state of a trial, declared once: sizes, views, start and recorded arrays follow from a kind's ``State``.

A ``State`` is a ``NamedTuple`` of arrays whose defaults say what they are:

    class State(NamedTuple):
        theta: Array = carried("N")
        S: Array = carried("N", "N", start="skew", recorded=SKEW)
        g: Array = scratch("N")

A sampler around another has the other's state as its last field, ``inner: Any = nested()``; the other's parameters are the
field ``inner`` of its own.

All arrays of a trial lie in one buffer of floats, in the order of their declaration, so that a trial is saved and
restored by copying one row of numbers. ``theta`` comes first: it is the output.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tracker.compiled import copy, inlined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tracker.array_types import Array

    Names = Mapping[str, Any]  # generic functions, by their names with _of: a state within a state calls them


PAIRS = "pairs = N * (N - 1) // 2"
COUNTERS = ("resets", "watch", "times")  # parts that count over a whole trial


class Recorded(NamedTuple):
    """A part of the state that is recorded with theta: the array's name, its own axis ("" for a number), and how to speak of it.

    An axis is "theta" (N), "pair" or "mode_name" (X). ``by_one``: only one contestant of a run can have it. ``told``: its mean over
    the averaged records stands in the summary and in the table of a sweep.
    """

    name: str
    axis: str
    label: str
    unit: str
    long_name: str
    by_one: bool = False
    told: bool = False


SKEW = Recorded("skew", "pair", "S", "1", "entries S(i, j), i > j, of the skew matrix")
SIGMA = Recorded("sigma", "", "sigma", "1", "factor of the injected noise of the classical sampler", told=True)


class StatePart(NamedTuple):
    """One array of the state: its shape, whether it is kept between steps, how it begins, how it is recorded."""

    shape: tuple[str | int, ...]
    kept: bool
    start: str
    recorded: Recorded | None

    @property
    def size(self) -> str:
        """The number of floats, as an expression in N."""
        return " * ".join(f"({axis})" for axis in self.shape)


def carried(*shape: str | int, start: str = "", recorded: Recorded | None = None) -> Any:
    """Declare an array that is kept from step to step; each axis is a number, or text in N, ``pairs`` and ``sampler``.

    It begins as 0, or as ``start`` says: "theta" (the start of the trial), "skew" (S_0, kept within the bounds) or the
    name of a parameter.
    """
    return StatePart(shape, kept=True, start=start, recorded=recorded)


def scratch(*shape: str | int) -> Any:
    """Declare an array that a step may overwrite."""
    return StatePart(shape, kept=False, start="", recorded=None)


NESTED = StatePart(("state_size_of(sampler.inner, N)",), kept=True, start="", recorded=None)


def nested() -> Any:
    """Declare the state of the sampler that this one wraps."""
    return NESTED


def parts_of(state: type) -> dict[str, StatePart]:
    """Return the declared arrays of a ``State`` by name."""
    parts: dict[str, StatePart] = state._field_defaults  # type: ignore[attr-defined]
    if list(parts) != list(state._fields) or next(iter(parts), "") != "theta":  # type: ignore[attr-defined]
        raise TypeError(f"{state.__qualname__} must declare every array, theta first: theta: Array = carried('N')")
    if NESTED in list(parts.values())[:-1]:
        raise TypeError(f"{state.__qualname__} must declare the state of the sampler that it wraps last")
    return parts


def wraps(state: type) -> bool:
    """Tell whether it holds the state of another sampler."""
    return NESTED in parts_of(state).values()


def recorded_of(state: type) -> tuple[Recorded, ...]:
    """Return what is recorded beside theta."""
    return tuple(part.recorded for part in parts_of(state).values() if part.recorded is not None)


# --- functions for one kind, written out from its declaration: numba compiles them like those that are written by hand


def size_function(state: type, generics: Names) -> Callable[..., int]:
    """Return state_size(sampler, dimension)."""
    total = " + ".join(part.size for part in parts_of(state).values())
    return _function(state, generics, "state_size(sampler, dimension)", "N = dimension", PAIRS, f"return {total}")


def unpack_function(state: type, generics: Names) -> Callable[..., Any]:
    """Return unpack(sampler, dimension, buffer)."""
    lines, views = ["N = dimension", PAIRS, "end0 = 0"], []
    for place, part in enumerate(parts_of(state).values()):
        if part is NESTED:
            views.append(f"unpack_of(sampler.inner, dimension, buffer[end{place} :])")
            continue
        lines.append(f"end{place + 1} = end{place} + {part.size}")
        shape = ", ".join(map(str, part.shape))
        reshaped = f".reshape(({shape}))" if len(part.shape) > 1 else ""
        views.append(f"buffer[end{place} : end{place + 1}]{reshaped}")
    return _function(state, generics, "unpack(sampler, dimension, buffer)", *lines, f"return State({', '.join(views)})")


def begin_function(state: type, parameters: type, generics: Names) -> Callable[..., None]:
    """Return begin(sampler, state, start, skew); the buffer is 0 before."""
    fields = parameters._fields  # type: ignore[attr-defined]
    bounds = "sampler.low, sampler.high" if {"low", "high"} <= set(fields) else "-inf, inf"
    lines = ["copy(start, state.theta)"]
    for name, part in parts_of(state).items():
        if part is NESTED:
            lines.append("begin_of(sampler.inner, state.inner, start, skew)")
        elif part.start == "theta":
            lines.append(f"copy(start, state.{name})")
        elif part.start == "skew":
            lines.append(f"start_skew(state.{name}, skew, {bounds})")
        elif part.start:
            if part.start not in fields:
                raise TypeError(
                    f"{state.__qualname__}.{name} begins as {part.start!r}, which is no parameter of the kind"
                )
            lines.append(f"state.{name}.fill(sampler.{part.start})")
    return _function(state, generics, "begin(sampler, state, start, skew)", *lines)


def record_function(state: type, generics: Names) -> Callable[..., None]:
    """Return record_state(sampler, state, out): what is recorded beside theta, one part after another."""
    lines = ["N = state.theta.size", PAIRS, "place = 0"]
    for name, part in parts_of(state).items():
        if part is NESTED:
            lines.append("record_state_of(sampler.inner, state.inner, out[place:])")
        elif part.recorded is None:
            continue
        elif part.recorded.axis == "pair":
            lines += [f"write_pairs(state.{name}, out[place : place + pairs])", "place += pairs"]
        else:
            size = {"theta": "N", "": "1"}.get(part.recorded.axis, part.size)
            lines += [f"copy(state.{name}, out[place : place + {size}])", f"place += {size}"]
    return _function(state, generics, "record_state(sampler, state, out)", *lines)


def forget_function(state: type, generics: Names) -> Callable[..., None]:
    """Return forget(sampler, state): what began as 0 is 0 again, what began as theta is theta; all else is kept."""
    lines = []
    for name, part in parts_of(state).items():
        if part is NESTED:
            lines.append("forget_of(sampler.inner, state.inner)")
        elif part.kept and part.start == "theta":
            lines.append(f"copy(state.theta, state.{name})")
        elif part.kept and not part.start and name not in ("theta", *COUNTERS):
            lines.append(f"state.{name}.fill(0.0)")
    return _function(state, generics, "forget(sampler, state)", *lines, "return")


def with_step_function(parameters: type, generics: Names) -> Callable[..., Any]:
    """Return with_step(sampler, epsilon): the same parameters with another ``epsilon`` and the ``noise`` that goes with it."""
    fields: tuple[str, ...] = parameters._fields  # type: ignore[attr-defined]
    new = {"epsilon": "epsilon", "noise": "sampler.noise * (epsilon / sampler.epsilon) ** 0.5"}
    new |= {name: f"with_step_of(sampler.{name}, epsilon)" for name in ("inner", "hot")}
    given = ", ".join(new.get(field, f"sampler.{field}") for field in fields)
    return _function(parameters, generics, "with_step(sampler, epsilon)", f"return State({given})")


def _function(state: type, generics: Names, head: str, *lines: str) -> Callable[..., Any]:
    """Compile the text of a function as if it stood in the file that declares ``state``."""
    text = "\n    ".join([f"def {head}:", *lines])
    known = {"State": state, "copy": copy, "start_skew": start_skew, "write_pairs": write_pairs, "inf": float("inf")}
    module = sys.modules[state.__module__]
    names: dict[str, Any] = {**generics, **known, "__name__": state.__module__}
    exec(compile(text, getattr(module, "__file__", None) or "<interactive>", "exec"), names)  # noqa: S102
    function: Callable[..., Any] = names[head.partition("(")[0]]
    return function


# --- S is stored whole, and every write goes to both triangles, so it is exactly skew


@inlined
def set_skew(S: Array, i: int, j: int, s: float, low: float, high: float) -> None:
    """Set S(i, j) = -S(j, i) = s, i > j, projected onto [low, high]."""
    s = min(max(s, low), high)
    S[i, j] = s
    S[j, i] = -s


@inlined
def start_skew(S: Array, skew: Array, low: float, high: float) -> None:
    """Set S to ``skew`` projected onto the bounds."""
    for i in range(S.shape[0]):
        S[i, i] = 0.0
        for j in range(i):
            set_skew(S, i, j, skew[i, j], low, high)


@inlined
def write_pairs(S: Array, out: Array) -> None:
    """Write the lower triangle of S to ``out`` (pairs,), row by row."""
    p = 0
    for i in range(S.shape[0]):
        for j in range(i):
            out[p] = S[i, j]
            p += 1
