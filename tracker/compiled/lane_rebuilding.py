"""``in_modes`` and ``as_lanes`` in compiled code; imported as soon as numba is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, overload, type_callable

from tracker.compiled import lane_functions
from tracker.compiled.lane_tables import as_lanes, in_modes
from tracker.compiled.lane_types import WORD, Lanes
from tracker.compiled.rebuilding import words_in_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _kind(kind: Any, pattern: Iterator[Any], count: int) -> Any:
    """Return the numba type of a tuple with lanes in place of what is a mode's own."""
    if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
        items = [_kind(item, pattern, count) for item in kind.types]
        return types.BaseTuple.from_types(items, pyclass=getattr(kind, "instance_class", None))  # type: ignore[attr-defined]
    if not isinstance(kind, (types.Array, types.Number, types.Boolean)) or isinstance(next(pattern), types.NoneType):
        return kind
    if isinstance(kind, types.Array):
        return types.Array(Lanes(count), kind.ndim, "C", readonly=not kind.mutable, aligned=False)
    return Lanes(count)


@type_callable(in_modes)  # type: ignore[untyped-decorator]
def _kind_in_modes(context: Any) -> Callable[..., Any]:
    def kind_of(mode: Any, room: Any, table: Any) -> Any:
        fields = dict(zip(table.fields, table.types, strict=True))
        return _kind(mode, iter(fields["pattern"].types), len(fields["width"]))

    return kind_of


@lower_builtin(in_modes, types.Any, types.Any, types.Any)  # type: ignore[untyped-decorator]
def _lower_in_modes(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    table = signature.args[2]
    fields = {name: n for n, name in enumerate(table.fields)}
    pattern, count = iter(table.types[fields["pattern"]].types), len(table.types[fields["width"]])
    room = context.make_array(signature.args[1])(context, builder, arguments[1]).data
    places_kind, places = table.types[fields["places"]], builder.extract_value(arguments[2], fields["places"])
    row = context.make_array(places_kind)(context, builder, places).data
    column = 0

    def told() -> Any:
        nonlocal column
        column += 1
        return builder.load(builder.gep(row, [ir.Constant(WORD, column - 1)]))

    def leaf(kind: Any, to: Any, value: Any) -> Any:
        if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
            items = [
                leaf(item, into, builder.extract_value(value, n))
                for n, (item, into) in enumerate(zip(kind.types, to.types, strict=True))
            ]
            return context.make_tuple(builder, to, items)
        is_leaf = isinstance(kind, (types.Array, types.Number, types.Boolean))
        if not is_leaf or isinstance(next(pattern), types.NoneType):
            if context.enable_nrt:
                context.nrt.incref(builder, kind, value)
            return value
        first = builder.gep(room, [builder.mul(told(), ir.Constant(WORD, count))])
        if not isinstance(kind, types.Array):
            vector = context.get_value_type(to)
            return builder.load(builder.bitcast(first, vector.as_pointer()), align=8)
        shape, strides, size = [told() for _ in range(kind.ndim)], [ir.Constant(WORD, 8 * count)], ir.Constant(WORD, 1)
        for axis in reversed(shape):
            strides.insert(0, builder.mul(strides[0], axis))
            size = builder.mul(size, axis)
        array = context.make_array(to)(context, builder)
        array.data = builder.bitcast(first, array.data.type)
        array.shape, array.strides = words_in_array(builder, shape), words_in_array(builder, strides[1:])
        array.itemsize, array.nitems = ir.Constant(WORD, 8 * count), size
        array.meminfo, array.parent = ir.Constant(array.meminfo.type, None), ir.Constant(array.parent.type, None)
        return array._getvalue()  # noqa: SLF001  (numba's own name)

    return leaf(signature.args[0], signature.return_type, arguments[0])


@overload(as_lanes, jit_options={"forceinline": True}, strict=False)  # type: ignore[untyped-decorator]
def _as_lanes(array: Any, width: Any) -> Callable[..., Any]:
    return lambda array, width: lane_functions.as_lanes(array, width)  # noqa: PLW0108  (numba wants a function)
