"""``rebuild`` in compiled code, by numba's public names alone; imported as soon as numba is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

from tracker.compiled.packed_tuples import rebuild

if TYPE_CHECKING:
    from collections.abc import Callable

_WORD = ir.IntType(64)


@type_callable(rebuild)  # type: ignore[untyped-decorator]
def _kind_of_rebuilt(context: Any) -> Callable[..., Any]:
    return lambda template, store, places: template  # noqa: ARG005


@lower_builtin(rebuild, types.Any, types.Any, types.Any)  # type: ignore[untyped-decorator]
def _lower_rebuild(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    content, row = (
        context.make_array(kind)(context, builder, argument).data
        for kind, argument in zip(signature.args[1:], arguments[1:], strict=True)
    )
    column = 0

    def told() -> Any:
        nonlocal column
        column += 1
        return builder.load(builder.gep(row, [ir.Constant(_WORD, column - 1)]))

    def leaf(kind: Any, like: Any) -> Any:
        if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
            items = [leaf(item, builder.extract_value(like, i)) for i, item in enumerate(kind.types)]
            return context.make_tuple(builder, kind, items)
        if not isinstance(kind, (types.Array, types.Number, types.Boolean)):
            if context.enable_nrt:
                context.nrt.incref(builder, kind, like)
            return like
        place = builder.gep(content, [told()])
        if not isinstance(kind, types.Array):
            pointer = context.get_data_type(kind).as_pointer()
            return context.unpack_value(builder, kind, builder.bitcast(place, pointer))
        itemsize = ir.Constant(_WORD, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        shape, strides, size = [told() for _ in range(kind.ndim)], [itemsize], ir.Constant(_WORD, 1)
        for axis in reversed(shape):
            strides.insert(0, builder.mul(strides[0], axis))
            size = builder.mul(size, axis)
        array = context.make_array(kind)(context, builder)
        array.data = builder.bitcast(place, array.data.type)
        array.shape, array.strides = words_in_array(builder, shape), words_in_array(builder, strides[1:])
        array.itemsize, array.nitems = itemsize, size
        array.meminfo, array.parent = ir.Constant(array.meminfo.type, None), ir.Constant(array.parent.type, None)
        return array._getvalue()  # noqa: SLF001  (numba's own name)

    return leaf(signature.return_type, arguments[0])


def words_in_array(builder: Any, items: list[Any]) -> Any:
    """Return an LLVM array of words."""
    out = ir.Constant(ir.ArrayType(_WORD, len(items)), ir.Undefined)
    for place, item in enumerate(items):
        out = builder.insert_value(out, item, place)
    return out
