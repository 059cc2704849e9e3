"""Blueprints and calls by address in compiled code; imported as soon as numba is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import typeof, types
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    models,
    overload,
    overload_attribute,
    register_model,
    type_callable,
    typeof_impl,
)

from tracker.compiled.numba_options import OPTIONS
from tracker.compiled.units import Blueprint, Pinned, callers, pin, template_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.compiled.units import Unit

ADDRESS, INDEX = ir.IntType(8).as_pointer(), ir.IntType(32)
FIRST = ir.Constant(INDEX, 0)


class BlueprintType(types.Type):  # type: ignore[misc]
    """The type of a blueprint: the kinds are all that it has."""

    def __init__(self, kinds: Any) -> None:
        self.kinds = kinds
        super().__init__(name=f"Blueprint({kinds})")

    @property
    def key(self) -> Any:
        """What tells it from others."""
        return self.kinds


@register_model(BlueprintType)
class _Nothing(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: BlueprintType) -> None:
        super().__init__(manager, kind, [])


@typeof_impl.register(Blueprint)  # type: ignore[untyped-decorator]
def _typeof_blueprint(value: Blueprint, context: Any) -> BlueprintType:
    return BlueprintType(typeof(value.template))


@type_callable(template_of)  # type: ignore[untyped-decorator]
def _kind_of_template(context: Any) -> Callable[..., Any]:
    return lambda blueprint: blueprint.kinds


@lower_builtin(template_of, BlueprintType)  # type: ignore[untyped-decorator]
def _lower_template(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return ir.Constant(context.get_value_type(signature.return_type), None)


class PinnedType(types.Type):  # type: ignore[misc]
    """The address of a tuple."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(name=f"Pinned({kind})")

    @property
    def key(self) -> Any:
        """What tells it from others."""
        return self.kind


register_model(PinnedType)(models.OpaqueModel)


@typeof_impl.register(Pinned)  # type: ignore[untyped-decorator]
def _typeof_pinned(value: Pinned, context: Any) -> PinnedType:
    return PinnedType(typeof(value.template))


@type_callable(pin)  # type: ignore[untyped-decorator]
def _kind_of_pinned(context: Any) -> Callable[..., Any]:
    return lambda value: PinnedType(value)  # noqa: PLW0108  (numba looks at its signature)


@lower_builtin(pin, types.Any)  # type: ignore[untyped-decorator]
def _lower_pin(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    with builder.goto_entry_block():
        place = builder.alloca(arguments[0].type)
    builder.store(arguments[0], place)
    return builder.bitcast(place, ADDRESS)


def _kind_of_part(pinned: PinnedType, name: str) -> Any:
    part = pinned.kind.types[pinned.kind.fields.index(name)]
    return PinnedType(part) if hasattr(part, "fields") else part


def _load_part(context: Any, builder: Any, pinned: PinnedType, value: Any, name: str) -> Any:
    """Load a part of a pinned tuple where it is asked for; a tuple in it is pinned, too."""
    kind, number = pinned.kind, pinned.kind.fields.index(name)
    whole = builder.bitcast(value, context.get_value_type(kind).as_pointer())
    place, part = builder.gep(whole, [FIRST, ir.Constant(INDEX, number)], inbounds=True), kind.types[number]
    if hasattr(part, "fields"):
        return builder.bitcast(place, ADDRESS)
    if not isinstance(part, types.Array):
        return builder.load(place)
    array = context.make_array(part)(context, builder, builder.load(place))
    for field in ("meminfo", "parent"):  # borrowed
        setattr(array, field, ir.Constant(getattr(array, field).type, None))
    return array._getvalue()  # noqa: SLF001  (numba's own name)


def _let_parts_be_asked_for() -> bool:
    """Tell numba once of all parts of pinned tuples; False where it has changed."""
    try:
        from numba.core.typing.templates import AttributeTemplate
    except ImportError:
        return False

    @infer_getattr  # type: ignore[untyped-decorator]
    class _Parts(AttributeTemplate):  # type: ignore[misc]
        key = PinnedType

        def generic_resolve(self, pinned: PinnedType, name: str) -> Any:
            return _kind_of_part(pinned, name) if name in pinned.kind.fields else None

    lower_getattr_generic(PinnedType)(_load_part)
    return True


def _let_part_be_asked_for(name: str) -> None:
    """Tell numba of the parts of one name, by what it promises to everybody: the same, and slower to compile."""

    @intrinsic  # type: ignore[untyped-decorator]
    def part(typingctx: Any, pinned: Any) -> Any:
        def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
            return _load_part(context, builder, pinned, values[0], name)

        return _kind_of_part(pinned, name)(pinned), lower

    def asked_for(pinned: Any) -> Any:
        return part(pinned)

    def choose(pinned: Any) -> Any:
        return asked_for if name in pinned.kind.fields else None

    overload_attribute(PinnedType, name)(choose)


_parts_are_known = _let_parts_be_asked_for()
_told: set[str] = set()


def _tell_parts(pinned: PinnedType) -> None:
    for name in pinned.kind.fields:
        if name not in _told:
            _told.add(name)
            _let_part_be_asked_for(name)
        part = _kind_of_part(pinned, name)
        if isinstance(part, PinnedType):
            _tell_parts(part)


def declare_call(one: Unit) -> None:
    """Let compiled code call ``one`` by address."""
    like = tuple(map(typeof, one.like))
    for kind in () if _parts_are_known else like:
        if isinstance(kind, PinnedType):
            _tell_parts(kind)

    @intrinsic  # type: ignore[untyped-decorator]
    def call(typingctx: Any, address: Any, arguments: Any) -> Any:
        given = types.Tuple(like)

        def lower(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
            function = context.call_conv.get_function_type(types.int64, like)
            callee = builder.inttoptr(values[0], function.as_pointer())
            items = [builder.extract_value(values[1], n) for n in range(len(like))]
            status, result = context.call_conv.call_function(builder, callee, types.int64, like, items)
            with builder.if_then(status.is_error, likely=False):
                context.call_conv.return_status_propagate(builder, status)
            return result

        return types.int64(types.int64, given), lower

    def choose(address: Any, *arguments: Any) -> Callable[..., Any]:
        return lambda address, *arguments: call(address, arguments)

    overload(one, jit_options={**OPTIONS, "forceinline": True}, strict=False)(choose)


callers.append(declare_call)
