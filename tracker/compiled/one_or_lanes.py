"""What is said once for one trial and for several side by side: ``width``, a tuple of zeros, has one for each trial.

For one trial numbers are plain numbers, for several they are lanes; the type of ``width`` decides when code is compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.compiled.lane_tables import as_lanes, in_modes
from tracker.compiled.numba_loading import with_numba
from tracker.compiled.numba_options import helper_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tracker.compiled.lane_tables import LaneTable


def numbers_of(array: NDArray[Any], width: tuple[int, ...]) -> Any:
    """View an array (..., L) without gaps as an array (...) of numbers of L trials (in the interpreter, of one)."""
    assert len(width) == 1
    return array[..., 0]


def mode_of(mode: Any, room: NDArray[Any], table: LaneTable) -> Any:
    """Return the mode for one trial; for several with the numbers in ``room`` (P, L) in place of what modes have of their own."""
    assert len(table.width) == 1
    return mode


def _numbers_of(array: Any, width: Any) -> Callable[..., Any]:
    if len(width) > 1:
        return lambda array, width: as_lanes(array, width)  # noqa: PLW0108  (numba wants a function)
    return lambda array, width: without_last_axis(array)  # noqa: ARG005


def _mode_of(mode: Any, room: Any, table: Any) -> Callable[..., Any]:
    if len(table.types[table.fields.index("width")]) > 1:
        return lambda mode, room, table: in_modes(mode, room, table)  # noqa: PLW0108  (numba wants a function)
    return lambda mode, room, table: mode  # noqa: ARG005


def _declare() -> None:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    @intrinsic  # type: ignore[untyped-decorator]
    def view(typingctx: Any, array: Any) -> Any:
        to = types.Array(array.dtype, array.ndim - 1, "C", readonly=not array.mutable, aligned=array.aligned)

        def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
            source, seen = (
                context.make_array(array)(context, builder, values[0]),
                context.make_array(to)(context, builder),
            )
            for field in ("data", "nitems", "itemsize", "meminfo", "parent"):
                setattr(seen, field, getattr(source, field))
            for field in ("shape", "strides"):
                axes = ir.Constant(getattr(seen, field).type, ir.Undefined)
                for axis in range(to.ndim):
                    axes = builder.insert_value(axes, builder.extract_value(getattr(source, field), axis), axis)
                setattr(seen, field, axes)
            found = seen._getvalue()  # noqa: SLF001  (numba's own name)
            if context.enable_nrt:
                context.nrt.incref(builder, to, found)
            return found

        return to(array), lower

    global without_last_axis  # noqa: PLW0603  (once in a process)
    without_last_axis = view
    for function, choose in ((numbers_of, _numbers_of), (mode_of, _mode_of)):
        overload(function, jit_options=helper_options(inlined=True), strict=False)(choose)


without_last_axis: Any = None  # an array (..., 1) as an array (...), in compiled code
with_numba(_declare)
