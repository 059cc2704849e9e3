"""Arrays without reference counts in compiled code."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from tracker.compiled.numba_loading import with_numba
from tracker.compiled.numba_options import PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def borrow(value: T) -> T:
    """Return the same arrays, or nested tuples of arrays, without reference counts (in compiled code).

    Atomic counts at every look-up of an array field cost more than a Langevin step. Whoever borrows must keep the owner
    alive: a kernel's arguments live as long as its call; a local array must be used once more after the last borrowed use.
    """
    return value


def without_counts(context: Any, builder: Any, kind: Any, item: Any) -> Any:
    """Return LLVM's ``item`` of the numba type ``kind`` with no owner in its arrays."""
    from numba.core import cgutils, types
    from numba.np.arrayobj import make_array

    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, item)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()  # noqa: SLF001  (numba's own name)
    if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
        items = zip(kind.types, cgutils.unpack_tuple(builder, item, kind.count), strict=True)
        return context.make_tuple(builder, kind, [without_counts(context, builder, *each) for each in items])
    return item


def _register_without_counts() -> None:
    from numba.core import types
    from numba.core.imputils import impl_ret_borrowed
    from numba.extending import lower_builtin, type_callable

    @lower_builtin(borrow, types.Any)  # type: ignore[untyped-decorator]
    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        try:
            return without_counts(context, builder, signature.args[0], arguments[0])
        except Exception:  # whatever has moved in numba: with counts
            return impl_ret_borrowed(context, builder, signature.return_type, arguments[0])

    @type_callable(borrow)  # type: ignore[untyped-decorator]
    def kind_of(context: Any) -> Callable[..., Any]:
        return lambda value: value


def _register() -> None:
    if not PLAIN:
        with suppress(Exception):  # whatever has moved in numba
            _register_without_counts()
            return
    from numba.extending import register_jitable

    register_jitable(borrow)


with_numba(_register)
