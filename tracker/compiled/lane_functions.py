"""What else lanes can do: roots, least and largest, choices, tables, and arrays of numbers that are seen as arrays of lanes.

Functions of the C library are asked lane by lane, so that they give what they give for one number.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array

from tracker.compiled.lane_types import BIT, DOUBLE, FLOATS, WORD, WORDS, Lanes, in_all_lanes, vector_of

if TYPE_CHECKING:
    from collections.abc import Callable

INLINED = {"forceinline": True, "error_model": "numpy"}


def laned(*kinds: Any) -> bool:
    """Tell whether any of these numba types is lanes, or an array of lanes."""
    return any(isinstance(kind, Lanes) or isinstance(getattr(kind, "dtype", None), Lanes) for kind in kinds)


def _by_llvm(name: str) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def call(typingctx: Any, x: Any) -> Any:
        def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
            kind = values[0].type
            full = f"llvm.{name}.v{kind.count}f64"
            known = builder.module.globals.get(full) or ir.Function(builder.module, ir.FunctionType(kind, [kind]), full)
            return builder.call(known, values)

        return x(x), lower

    return call


root_of, size_of = _by_llvm("sqrt"), _by_llvm("fabs")


@intrinsic  # type: ignore[untyped-decorator]
def select(typingctx: Any, condition: Any, a: Any, b: Any) -> Any:
    """Return ``a`` in the lanes where ``condition`` holds, and ``b`` in the others."""
    kind = next((one for one in (a, b) if isinstance(one, Lanes)), None) or Lanes(condition.count)

    def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        one, other = (vector_of(context, builder, *each, kind) for each in zip(kinds.args[1:], values[1:], strict=True))
        return builder.select(values[0], one, other)

    return kind(condition, a, b), lower


@intrinsic  # type: ignore[untyped-decorator]
def bits_where(typingctx: Any, condition: Any) -> Any:
    """Return a word whose bit l tells whether ``condition`` holds in lane l."""

    def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        return builder.zext(builder.bitcast(values[0], ir.IntType(kinds.args[0].count)), WORD)

    return types.uint64(condition), lower


@intrinsic  # type: ignore[untyped-decorator]
def lane_of(typingctx: Any, x: Any, place: Any) -> Any:
    """Return the number in one lane."""

    def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        return builder.extract_element(values[0], values[1])

    return types.float64(x, types.intp), lower


@intrinsic  # type: ignore[untyped-decorator]
def with_lane(typingctx: Any, x: Any, place: Any, number: Any) -> Any:
    """Return the lanes with another number in one of them."""

    def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        return builder.insert_element(values[0], values[2], values[1])

    return x(x, types.intp, types.float64), lower


def _converted(kind: str, convert: Callable[[Any, Any, Any], Any]) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def change(typingctx: Any, x: Any) -> Any:
        to = Lanes(x.count, kind)
        element = DOUBLE if kind == FLOATS else WORD

        def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
            return convert(builder, values[0], ir.VectorType(element, x.count))

        return to(x), lower

    return change


words_in = _converted(WORDS, lambda builder, value, to: builder.bitcast(value, to))
floats_in = _converted(FLOATS, lambda builder, value, to: builder.bitcast(value, to))
rounded_down = _converted(WORDS, lambda builder, value, to: builder.fptosi(value, to))  # of what is not negative
as_floats = _converted(FLOATS, lambda builder, value, to: builder.sitofp(value, to))  # of words below 2^63


@intrinsic  # type: ignore[untyped-decorator]
def look_up(typingctx: Any, table: Any, index: Any) -> Any:
    """Return table[index] lane by lane, of a flat table without gaps: one of doubles or words, or one of each lane's own."""
    count, own = index.count, isinstance(table.dtype, Lanes)
    to = table.dtype if own else Lanes(count, FLOATS if table.dtype == types.float64 else WORDS)
    element = DOUBLE if to.kind == FLOATS else WORD
    apart_by = count * 8 if own else 8  # bytes from one entry to the next
    begin = ir.Constant(ir.VectorType(WORD, count), [8 * lane if own else 0 for lane in range(count)])

    def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        first = builder.ptrtoint(make_array(kinds.args[0])(context, builder, values[0]).data, WORD)
        apart = builder.add(builder.mul(values[1], in_all_lanes(builder, ir.Constant(WORD, apart_by), count)), begin)
        places = builder.inttoptr(
            builder.add(in_all_lanes(builder, first, count), apart), ir.VectorType(element.as_pointer(), count)
        )
        result = ir.VectorType(element, count)
        name = f"llvm.masked.gather.v{count}{'f64' if element is DOUBLE else 'i64'}.v{count}p0"
        needs = [places.type, ir.IntType(32), ir.VectorType(BIT, count), result]
        known = builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(result, needs), name)
        everywhere = ir.Constant(ir.VectorType(BIT, count), [1] * count)
        return builder.call(
            known, [places, ir.Constant(ir.IntType(32), 8), everywhere, ir.Constant(result, ir.Undefined)]
        )

    return to(table, index), lower


def _view(context: Any, builder: Any, kinds: Any, value: Any, to: Any, shape: Any, strides: Any, itemsize: int) -> Any:
    source, view = make_array(kinds)(context, builder, value), make_array(to)(context, builder)
    populate_array(
        view,
        data=builder.bitcast(source.data, view.data.type),
        shape=shape(cgutils.unpack_tuple(builder, source.shape, kinds.ndim)),
        strides=strides(cgutils.unpack_tuple(builder, source.strides, kinds.ndim)),
        itemsize=ir.Constant(WORD, itemsize),
        meminfo=source.meminfo,
    )
    found = view._getvalue()  # noqa: SLF001  (numba's own name)
    context.nrt.incref(builder, to, found)
    return found


@intrinsic  # type: ignore[untyped-decorator]
def as_lanes(typingctx: Any, array: Any, width: Any) -> Any:
    """View an array (..., L) without gaps as an array (...) of lanes; ``width`` is any tuple of L numbers."""
    count = len(width)
    kind = Lanes(count, FLOATS if array.dtype == types.float64 else WORDS)
    to = types.Array(kind, array.ndim - 1, "C", readonly=not array.mutable, aligned=False)

    def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        return _view(
            context, builder, kinds.args[0], values[0], to, lambda axes: axes[:-1], lambda axes: axes[:-1], 8 * count
        )

    return to(array, width), lower


@intrinsic  # type: ignore[untyped-decorator]
def as_numbers(typingctx: Any, array: Any) -> Any:
    """View an array (...) of lanes without gaps as an array (..., L) of numbers."""
    count = array.dtype.count
    number = types.float64 if array.dtype.kind == FLOATS else types.uint64
    to = types.Array(number, array.ndim + 1, "C", readonly=not array.mutable)

    def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        return _view(
            context, builder, kinds.args[0], values[0], to,
            lambda axes: [*axes, ir.Constant(WORD, count)], lambda axes: [*axes, ir.Constant(WORD, 8)], 8,
        )  # fmt: skip

    return to(array), lower


def _overload_for_lanes(function: Any, choose: Callable[..., Any]) -> None:
    overload(function, jit_options=INLINED, strict=False)(choose)


_overload_for_lanes(np.sqrt, lambda x: (lambda x: root_of(x)) if isinstance(x, Lanes) else None)  # noqa: PLW0108  (numba wants a function)
_overload_for_lanes(abs, lambda x: (lambda x: size_of(x)) if isinstance(x, Lanes) else None)  # noqa: PLW0108  (numba wants a function)
_overload_for_lanes(operator.mod, lambda x, y: _remainder(x) if isinstance(x, Lanes) and not laned(y) else None)
# Python's own, which nan comes through as it does there
_overload_for_lanes(min, lambda a, b: (lambda a, b: select(b < a, b, a)) if laned(a, b) else None)
_overload_for_lanes(max, lambda a, b: (lambda a, b: select(b > a, b, a)) if laned(a, b) else None)


def _remainder(kind: Lanes) -> Any:
    count = kind.count

    def each(x: Any, y: Any) -> Any:
        for place in range(count):
            x = with_lane(x, place, lane_of(x, place) % y)
        return x

    return each


def _lane_by_lane(function: Any) -> None:
    def choose(x: Any) -> Any:
        if not isinstance(x, Lanes) or x.kind != FLOATS:
            return None
        count = x.count

        def each(x: Any) -> Any:
            for place in range(count):
                x = with_lane(x, place, function(lane_of(x, place)))
            return x

        return each

    overload(function, strict=False, jit_options={"error_model": "numpy"})(choose)


for _function in (
    np.exp,
    np.log,
    np.log1p,
    np.expm1,
    np.sin,
    np.cos,
    np.tan,
    np.arctan,
    np.sinh,
    np.cosh,
    np.tanh,
    math.erf,
    math.erfc,
):
    _lane_by_lane(_function)


def _power(a: Any, b: Any) -> Any:
    """Of lanes and a number, or of lanes and lanes, lane by lane."""
    if not isinstance(a, Lanes) or not isinstance(b, (Lanes, types.Number)):
        return None
    count, one_exponent = a.count, not isinstance(b, Lanes)

    def by_one(a: Any, b: Any) -> Any:
        for place in range(count):
            a = with_lane(a, place, lane_of(a, place) ** b)
        return a

    def by_each(a: Any, b: Any) -> Any:
        for place in range(count):
            a = with_lane(a, place, lane_of(a, place) ** lane_of(b, place))
        return a

    return by_one if one_exponent else by_each


_overload_for_lanes(operator.pow, _power)


def whole(x: Any) -> Any:
    """Return lanes of whole numbers as words, whether they are given as words or as floats."""
    raise NotImplementedError


def empty_lanes(like: Any, size: int) -> Any:
    """Return an array (size,) of lanes, as many as in ``like``."""
    raise NotImplementedError


def _whole(x: Any) -> Any:
    return (lambda x: x) if x.kind == WORDS else (lambda x: rounded_down(x))  # noqa: PLW0108  (numba wants a function)


def _empty_lanes(like: Any, size: Any) -> Any:
    count = like.count if isinstance(like, Lanes) else like.dtype.count
    width = (0,) * count
    return lambda like, size: as_lanes(np.empty((size, count)), width)  # noqa: ARG005


_overload_for_lanes(whole, _whole)
_overload_for_lanes(empty_lanes, _empty_lanes)
