"""Functions that are compiled apart and called by their address: who calls them need not be compiled again for each.

A ``unit`` serves many kinds of tuples with one fixed signature: the kinds are told by its first argument, a ``Blueprint``, which
is a type alone and takes no place in a call; what the tuples hold comes as plain arrays (``packed_tuples``). What many calls
share is pinned, and each call takes its address alone. ``at`` compiles the
unit for a blueprint, or loads it, and returns its address; compiled code calls ``UNIT(address, ...)``. In the interpreter the
address is the function itself.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tracker.compiled.kernels import Kernel, explained
from tracker.compiled.numba_loading import with_numba
from tracker.compiled.numba_options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

UNIT_OPTIONS = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


callers: list[Callable[[Unit], None]] = []  # ``unit_calls`` lets compiled code call units


class Blueprint:
    """The kinds of tuples, numbers and arrays, without content; ``template`` has them in the interpreter."""

    def __init__(self, template: Any) -> None:
        self.template = template


def template_of(blueprint: Blueprint) -> Any:
    """Return the tuples of a blueprint; in compiled code there is nothing in them but their kinds."""
    return blueprint.template


class Pinned:
    """An example of a pinned tuple, for ``like``."""

    def __init__(self, template: Any) -> None:
        self.template = template


def pin(value: Any) -> Any:
    """Put a named tuple where functions that are called find it: they get its address, and load the parts that they ask for.

    It stays there until the function that pins it returns; its arrays are borrowed.
    """
    return value


class Unit:
    """A function of a blueprint and of arguments of the same kinds as ``like``; it returns a whole number."""

    def __init__(self, function: Callable[..., int], like: tuple[Any, ...]) -> None:
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.interpreted = function
        self.like = like
        self._kinds: tuple[Any, ...] = ()
        self.kernel: Kernel[..., int] = Kernel(function, UNIT_OPTIONS)
        with_numba(self._declare)

    def __call__(self, address: Callable[..., int], *arguments: Any) -> int:
        """Call the unit that ``at`` has returned."""
        return address(*arguments)

    def at(self, blueprint: Blueprint) -> Any:
        """Compile or load the unit for a blueprint; return its address."""
        dispatcher = self.kernel.dispatcher((blueprint.template,))
        if not hasattr(dispatcher, "compile"):  # numba was told to compile nothing
            return self.in_python(blueprint)
        signature = self.signature_of(blueprint)
        found = dispatcher.overloads.get(signature)
        if found is None:
            with explained():
                dispatcher.compile(signature)
            found = dispatcher.overloads[signature]
        return found.library.get_pointer_to_function(found.fndesc.llvm_func_name)

    def in_python(self, blueprint: Blueprint) -> Callable[..., int]:
        """Return the unit for a blueprint as a function of the interpreter."""
        return partial(self.interpreted, blueprint)

    def signature_of(self, blueprint: Blueprint) -> tuple[Any, ...]:
        """Return the types for which the unit is compiled."""
        self._kinds = self._kinds or self.kernel.signature_of(*self.like)
        return (*self.kernel.signature_of(blueprint), *self._kinds)

    def is_kept(self, blueprint: Blueprint) -> bool:
        """Tell whether the unit is compiled for a blueprint, in this process or on disk."""
        return self.kernel.has(self.signature_of(blueprint), self.kernel.dispatcher((blueprint.template,)))

    @property
    def signatures(self) -> list[Any]:
        """The types of arguments compiled or loaded so far."""
        return self.kernel.signatures

    def _declare(self) -> None:
        callers[0](self)


def unit(*like: Any) -> Callable[[Callable[..., int]], Unit]:
    """Return a decorator that makes a function of a blueprint, and of arguments like these, a unit."""
    return lambda function: Unit(function, like)
