"""The state of a trial, declared once: sizes, views, start and recorded arrays follow from a kind's ``State``.

A ``State`` is a ``NamedTuple`` of arrays whose defaults say what they are:

    class State(NamedTuple):
        theta: Array = carried("N")
        S: Array = carried("N", "N", start="skew", recorded=SKEW)
        g: Array = scratch("N")

All arrays of a trial lie in one buffer of floats, in the order of their declaration, so that a trial is saved and
restored by copying one row of numbers. ``theta`` comes first: it is the output.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tracker.compiled import copy, inlined

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array


PAIRS = "pairs = N * (N - 1) // 2"


class Recorded(NamedTuple):
    """A part of the state that is recorded with theta: the array's name, its own axis ("" for a number), and how to speak of it."""

    name: str
    axis: str
    label: str
    unit: str
    long_name: str


SKEW = Recorded("skew", "pair", "S", "1", "entries S(i, j), i > j, of the skew matrix")
SIGMA = Recorded("sigma", "", "sigma", "1", "factor of the injected noise of the classical sampler")


class Part(NamedTuple):
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
    """Declare an array that is kept from step to step; each axis is a number, or text in N and ``pairs``.

    It begins as 0, or as ``start`` says: "theta" (the start of the trial), "skew" (S_0, kept within the bounds) or the
    name of a parameter.
    """
    return Part(shape, kept=True, start=start, recorded=recorded)


def scratch(*shape: str | int) -> Any:
    """Declare an array that a step may overwrite."""
    return Part(shape, kept=False, start="", recorded=None)


def parts_of(state: type) -> dict[str, Part]:
    """Return the declared arrays of a ``State`` by name."""
    parts: dict[str, Part] = state._field_defaults  # type: ignore[attr-defined]
    if list(parts) != list(state._fields) or next(iter(parts), "") != "theta":  # type: ignore[attr-defined]
        raise TypeError(f"{state.__qualname__} must declare every array, theta first: theta: Array = carried('N')")
    return parts


def recorded_of(state: type) -> tuple[Recorded, ...]:
    """Return what is recorded beside theta."""
    return tuple(part.recorded for part in parts_of(state).values() if part.recorded is not None)


# --- functions for one kind, written out from its declaration: numba compiles them like those that are written by hand


def size_function(state: type) -> Callable[..., int]:
    """Return state_size(sampler, dimension)."""
    total = " + ".join(part.size for part in parts_of(state).values())
    return _function(state, "state_size(sampler, dimension)", "N = dimension", PAIRS, f"return {total}")


def unpack_function(state: type) -> Callable[..., Any]:
    """Return unpack(sampler, dimension, buffer)."""
    lines, views = ["N = dimension", PAIRS, "end0 = 0"], []
    for place, part in enumerate(parts_of(state).values()):
        lines.append(f"end{place + 1} = end{place} + {part.size}")
        shape = ", ".join(map(str, part.shape))
        reshaped = f".reshape(({shape}))" if len(part.shape) > 1 else ""
        views.append(f"buffer[end{place} : end{place + 1}]{reshaped}")
    return _function(state, "unpack(sampler, dimension, buffer)", *lines, f"return State({', '.join(views)})")


def begin_function(state: type, parameters: type) -> Callable[..., None]:
    """Return begin(sampler, state, start, skew); the buffer is 0 before."""
    fields = parameters._fields  # type: ignore[attr-defined]
    bounds = "sampler.low, sampler.high" if {"low", "high"} <= set(fields) else "-inf, inf"
    lines = ["copy(start, state.theta)"]
    for name, part in parts_of(state).items():
        if part.start == "theta":
            lines.append(f"copy(start, state.{name})")
        elif part.start == "skew":
            lines.append(f"start_skew(state.{name}, skew, {bounds})")
        elif part.start:
            if part.start not in fields:
                raise TypeError(
                    f"{state.__qualname__}.{name} begins as {part.start!r}, which is no parameter of the kind"
                )
            lines.append(f"state.{name}.fill(sampler.{part.start})")
    return _function(state, "begin(sampler, state, start, skew)", *lines)


def record_function(state: type) -> Callable[..., None]:
    """Return record_state(sampler, state, out): what is recorded beside theta, one part after another."""
    lines = ["N = state.theta.size", PAIRS, "place = 0"]
    for name, part in parts_of(state).items():
        if part.recorded is None:
            continue
        if part.recorded.axis == "pair":
            lines += [f"write_pairs(state.{name}, out[place : place + pairs])", "place += pairs"]
        else:
            size = "N" if part.recorded.axis == "theta" else "1"
            lines += [f"copy(state.{name}, out[place : place + {size}])", f"place += {size}"]
    return _function(state, "record_state(sampler, state, out)", *lines)


def _function(state: type, head: str, *lines: str) -> Callable[..., Any]:
    """Compile the text of a function as if it stood in the file that declares ``state``."""
    text = "\n    ".join([f"def {head}:", *lines])
    known = {"State": state, "copy": copy, "start_skew": start_skew, "write_pairs": write_pairs, "inf": float("inf")}
    module = sys.modules[state.__module__]
    names: dict[str, Any] = {**known, "__name__": state.__module__}
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
