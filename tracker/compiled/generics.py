"""Functions with one implementation per type of their first argument, in the interpreter and in compiled code alike."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from tracker.compiled.fingerprint import PACKAGE, code_hash, content_hash
from tracker.compiled.numba_loading import with_numba
from tracker.compiled.numba_options import helper_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
R = TypeVar("R")

_foreign: set[type] = set()
_generics: list[Any] = []


class GenericFunction(Generic[P, R]):
    """A function chosen by the type of its first argument; ``register`` adds an implementation.

    An implementation registered for ``object`` serves every type that has none of its own.
    """

    def __init__(self, declaration: Callable[P, R]) -> None:
        self.__name__ = declaration.__name__
        self.__doc__ = declaration.__doc__
        self.__module__ = declaration.__module__
        self.__qualname__ = declaration.__qualname__
        self.__signature__ = inspect.signature(declaration)
        self._implementations: dict[type, Callable[..., R]] = {}
        self._where_own: list[tuple[GenericFunction[Any, Any], Callable[..., R]]] = []
        self._compiled_for: set[type] = set()
        with_numba(self._compile)
        _generics.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the implementation for the first argument's type in the interpreter."""
        return self.implementation(type(args[0]))(*args, **kwargs)

    def register(self, kind: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
        """Return a decorator that makes a function the implementation for ``kind``."""

        def add(implementation: Callable[..., R]) -> Callable[..., R]:
            earlier = self._implementations.get(kind)
            if earlier is not None and not _is_run_again(earlier, implementation):
                message = f"{self.__name__} is already defined for {kind.__name__}: define it on a type of your own"
                raise TypeError(message)
            if any(kind in served.__mro__ for served in self._compiled_for):  # kernels would go on without it
                message = (
                    f"{self.__name__} for {kind.__name__} comes after its first run: run the code of the class again, too, "
                    "and hand it over anew"
                )
                raise TypeError(message)
            expected, given = list(self.__signature__.parameters), list(inspect.signature(implementation).parameters)
            if len(expected) != len(given):  # names are free: everybody calls by position
                takes = (
                    f"takes {len(expected)} arguments ({', '.join(expected)}), not {len(given)} ({', '.join(given)})"
                )
                raise TypeError(f"{self.__name__} for {kind.__name__} {takes}")
            self._implementations[kind] = implementation
            if not _is_ours(implementation):
                _foreign.add(kind)
            return implementation

        return add

    def where_own(self, other: GenericFunction[Any, Any]) -> Callable[[Callable[..., R]], Callable[..., R]]:
        """Return a decorator: the function serves, before the default, each type that has ``other`` of its own and not this."""

        def add(implementation: Callable[..., R]) -> Callable[..., R]:
            self._where_own.append((other, implementation))
            return implementation

        return add

    def implementation(self, kind: type) -> Callable[..., R]:
        """Return the function that serves ``kind``."""
        for base in kind.__mro__:
            if base is object:
                for other, implementation in self._where_own:
                    if other.has_own(kind):
                        return implementation
            if base in self._implementations:
                return self._implementations[base]
        message = f"{self.__name__} is not defined for {kind.__name__}: add it with @{self.__name__}.register"
        raise TypeError(message)

    def has_own(self, kind: type) -> bool:
        """Tell whether ``kind`` has an implementation that is not the default."""
        return any(base in self._implementations for base in kind.__mro__ if base is not object)

    def defined_for(self, kind: type) -> bool:
        """Tell whether ``kind`` has an implementation."""
        return any(base in self._implementations for base in kind.__mro__)

    def _compile(self) -> None:
        from numba.extending import overload

        def choose(*arguments: Any) -> Callable[..., R]:
            kind = getattr(arguments[0], "instance_class", object)
            self._compiled_for.add(kind)
            return self.implementation(kind)

        choose.__signature__ = self.__signature__  # type: ignore[attr-defined]
        # strict=False: numba would also compare annotations; `register` has compared the names
        overload(self, jit_options={**helper_options(), "forceinline": True}, strict=False)(choose)


def _is_run_again(earlier: Callable[..., Any], now: Callable[..., Any]) -> bool:
    """Tell whether a function stands in the place of an earlier one of the same name and module: a cell was run again."""
    return (earlier.__module__, earlier.__qualname__) == (now.__module__, now.__qualname__) and not _is_ours(earlier)


def _is_ours(function: Callable[..., Any]) -> bool:
    return Path(function.__code__.co_filename).is_relative_to(PACKAGE)


def generic(declaration: Callable[P, R]) -> GenericFunction[P, R]:
    """Declare a generic function; the body of ``declaration`` is only its documentation."""
    return GenericFunction(declaration)


def generic_with_default(declaration: Callable[P, R]) -> GenericFunction[P, R]:
    """Declare a generic function whose own body serves every type that has no implementation."""
    function = GenericFunction(declaration)
    function.register(object)(declaration)
    return function


def from_outside(value: Any) -> bool:
    """Tell whether an implementation from outside may serve ``value``, its own type's or an inherited one."""
    return bool(_foreign) and any(map(_is_foreign, kinds_in(value)))  # asked at each call of a kernel


def implementation_hash(kind: type) -> str:
    """Return a hash of all functions from outside that serve ``kind``: what its results depend on beside its parameters."""
    parts = []
    for one in _generics:
        served = one.defined_for(kind) and one.implementation(kind)
        if served and not _is_ours(served):
            parts.append((one.__name__, code_hash(served)))
    return content_hash(tuple(sorted(parts))).hex()


_compiled_code: dict[type, str] = {}  # what was compiled for a type from outside


def hash_of_kinds(kinds: tuple[type, ...]) -> str:
    """Return a hash of all code from outside that serves these types, and of their fields; it is remembered as compiled."""
    parts = []
    for kind in kinds:
        if _is_foreign(kind):
            if kind not in _compiled_code:
                _compiled_code[kind] = implementation_hash(kind)
            parts.append((kind.__qualname__, repr(getattr(kind, "_fields", ())), _compiled_code[kind]))
    return content_hash(tuple(parts)).hex()


def changed_since_compiled(kind: type) -> bool:
    """Tell whether a function that serves ``kind``, or something that it reads, is another than when it was compiled."""
    return kind in _compiled_code and _compiled_code[kind] != implementation_hash(kind)


def kinds_in(value: Any) -> Iterator[type]:
    """Give the types of a tuple and of the tuples in it."""
    if isinstance(value, tuple):
        yield type(value)
        for item in value:
            yield from kinds_in(item)


def _is_foreign(kind: type) -> bool:
    return any(base in _foreign for base in kind.__mro__)
