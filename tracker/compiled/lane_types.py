"""A numba type of numbers side by side: one LLVM vector of doubles, words or truth values, one for each of several trials.

A function that is written for numbers is compiled for lanes from the same source: every operation is done in each lane as it
would be done alone, in the same order, and rounds alike. A lane can stand where a number stands; ``if`` cannot ask it, because
lanes may differ: numba then says that it cannot type the function. Imported as soon as numba is (``lane_choices``).
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, models, register_model

if TYPE_CHECKING:
    from collections.abc import Callable

FLOATS, WORDS, TRUTHS = "f", "u", "b"
DOUBLE, WORD, BIT = ir.DoubleType(), ir.IntType(64), ir.IntType(1)
ELEMENTS = {FLOATS: DOUBLE, WORDS: WORD, TRUTHS: BIT}
SCALARS = {FLOATS: types.float64, WORDS: types.uint64, TRUTHS: types.boolean}


class Lanes(types.Type):  # type: ignore[misc]
    """``count`` doubles, words of 64 bits or truth values."""

    def __init__(self, count: int, kind: str = FLOATS) -> None:
        self.count, self.kind = count, kind
        super().__init__(name=f"Lanes({count},{kind})")

    def unify(self, typingctx: Any, other: Any) -> Any:  # noqa: ARG002
        """A number that meets lanes becomes lanes: ``total = 0.0``, then ``total += lanes``."""
        return self if isinstance(other, (types.Number, types.Boolean)) else None

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:  # noqa: ARG002
        """Any number stands for as many equal ones."""
        return Conversion.safe if isinstance(other, (types.Number, types.Boolean)) else None


@register_model(Lanes)
class _Vector(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, ir.VectorType(ELEMENTS[kind.kind], kind.count))


def in_all_lanes(builder: Any, value: Any, count: int) -> Any:
    """Return a vector of ``count`` copies of LLVM's ``value``."""
    undefined = ir.Constant(ir.VectorType(value.type, count), ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
    return builder.shuffle_vector(first, undefined, places)


def vector_of(context: Any, builder: Any, kind: Any, value: Any, to: Lanes) -> Any:
    """Return LLVM's ``value`` of the numba type ``kind`` as a vector for lanes like ``to``."""
    if not isinstance(kind, Lanes):
        return in_all_lanes(builder, context.cast(builder, value, kind, SCALARS[to.kind]), to.count)
    if kind.kind == to.kind:
        return value
    if to.kind == FLOATS:
        return builder.uitofp(value, ir.VectorType(DOUBLE, to.count))
    raise TypeError(f"{kind} are no {to}")


ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"}
ON_WORDS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "xor": "xor",
    "or_": "or_",
    "and_": "and_",
    "rshift": "lshr",
    "lshift": "shl",
}
ON_TRUTHS = {"and_": "and_", "or_": "or_", "xor": "xor"}
COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
IN_PLACE = {"add": "iadd", "sub": "isub", "mul": "imul", "truediv": "itruediv", "xor": "ixor", "or_": "ior", "and_": "iand",
            "rshift": "irshift", "lshift": "ilshift"}  # fmt: skip


def _working_kind(name: str, kinds: tuple[Any, ...]) -> Lanes | None:
    """Return the lanes in which an operation on these is done; None where it is not defined."""
    lanes = [kind for kind in kinds if isinstance(kind, Lanes)]
    if not lanes or not all(isinstance(kind, (Lanes, types.Number, types.Boolean)) for kind in kinds):
        return None
    count, found = lanes[0].count, {kind.kind for kind in lanes}
    if any(kind.count != count for kind in lanes):
        return None
    whole = all(isinstance(kind, (Lanes, types.Integer, types.Boolean)) for kind in kinds)
    if found == {TRUTHS} and name in ON_TRUTHS:
        return Lanes(count, TRUTHS)
    if found == {WORDS} and whole and (name in ON_WORDS or name in COMPARISONS):
        return Lanes(count, WORDS)
    return Lanes(count) if name in ARITHMETIC or name in COMPARISONS else None


def _declare(name: str, written: str) -> None:
    function = getattr(operator, written)

    @infer_global(function)  # type: ignore[untyped-decorator]
    class _Binary(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: tuple[Any, ...], kws: Any) -> Any:  # noqa: ARG002
            kind = _working_kind(name, args) if len(args) == 2 else None
            if kind is None:
                return None
            return signature(Lanes(kind.count, TRUTHS) if name in COMPARISONS else kind, *args)

    def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        kind = _working_kind(name, kinds.args)
        assert kind is not None
        one, other = (vector_of(context, builder, *each, kind) for each in zip(kinds.args, values, strict=True))
        if name in COMPARISONS:
            if kind.kind == WORDS:
                return builder.icmp_unsigned(COMPARISONS[name], one, other)
            compare = builder.fcmp_unordered if name == "ne" else builder.fcmp_ordered
            return compare(COMPARISONS[name], one, other)
        table = {FLOATS: ARITHMETIC, WORDS: ON_WORDS, TRUTHS: ON_TRUTHS}[kind.kind]
        return getattr(builder, table[name])(one, other)

    for kinds in ((Lanes, Lanes), (Lanes, types.Any), (types.Any, Lanes)):
        lower_builtin(function, *kinds)(lower)


for _name in {*ARITHMETIC, *ON_WORDS, *ON_TRUTHS, *COMPARISONS}:
    _declare(_name, _name)
    if _name in IN_PLACE:
        _declare(_name, IN_PLACE[_name])


def _declare_unary(function: Callable[..., Any], kind: str, lower: Callable[[Any, Any], Any]) -> None:
    @infer_global(function)  # type: ignore[untyped-decorator]
    class _Unary(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: tuple[Any, ...], kws: Any) -> Any:  # noqa: ARG002
            fits = len(args) == 1 and isinstance(args[0], Lanes) and args[0].kind == kind
            return signature(args[0], *args) if fits else None

    lower_builtin(function, Lanes)(lambda context, builder, kinds, values: lower(builder, values[0]))  # noqa: ARG005


_declare_unary(operator.neg, FLOATS, lambda builder, value: builder.fneg(value))
_declare_unary(operator.invert, TRUTHS, lambda builder, value: builder.not_(value))


@lower_cast(types.Number, Lanes)  # type: ignore[untyped-decorator]
@lower_cast(types.Boolean, Lanes)  # type: ignore[untyped-decorator]
def _to_lanes(context: Any, builder: Any, kind: Any, to: Any, value: Any) -> Any:
    return vector_of(context, builder, kind, value, to)
