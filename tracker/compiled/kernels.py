"""Compiled entry points: ``kernel`` marks a plain function that is compiled, or loaded, for the types that it is called with."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from tracker.compiled.caching import cache_folder
from tracker.compiled.generics import from_outside, hash_of_kinds, kinds_in
from tracker.compiled.numba_loading import load_numba
from tracker.compiled.numba_options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
R = TypeVar("R")

READ_ONLY = "Cannot modify readonly array"  # numba's words

_compiling_lock = threading.Lock()


def literal_unroll(items: Any) -> Any:
    """Loop over a tuple of several types; in compiled code numba's own, which it knows by being that very function."""
    return items


def with_numbas_unroll(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function's ``literal_unroll`` be numba's."""
    names = function.__globals__
    if names is not globals() and names.get("literal_unroll") is literal_unroll:
        from numba import literal_unroll as of_numba

        names["literal_unroll"] = of_numba
    return function


class Kernel(Generic[P, R]):
    """A compiled function; ``interpreted`` is the same function as plain Python."""

    def __init__(self, function: Callable[P, R], options: dict[str, Any] = OPTIONS) -> None:
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.interpreted = function
        self._options = options
        self._fresh: dict[tuple[type, ...], Any] = {}
        self._cached: Any = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled function, compiling it for these types of arguments if need be."""
        with explained():
            return self.dispatcher(args)(*args, **kwargs)  # type: ignore[no-any-return]

    def compile_for(self, *args: P.args, **_: P.kwargs) -> None:
        """Compile the function for these types of arguments, or load it."""
        dispatcher = self.dispatcher(args)
        if hasattr(dispatcher, "compile"):  # else numba was told to compile nothing
            with explained():
                dispatcher.compile(self.signature_of(*args))

    def signature_of(self, *args: Any) -> tuple[Any, ...]:
        """Return the types of arguments for which code is compiled."""
        load_numba()
        from numba import typeof

        return tuple(typeof(one) for one in args)

    def is_kept(self, *args: Any) -> bool:
        """Tell whether there is compiled code for these types of arguments, in this process or on disk."""
        return self.has(self.signature_of(*args), self.dispatcher(args))

    def has(self, signature: tuple[Any, ...], dispatcher: Any) -> bool:
        """Tell whether a dispatcher has code for a signature, in this process or on disk."""
        holds = getattr(dispatcher._cache, "holds", lambda *_: False)  # noqa: SLF001
        return signature in dispatcher.overloads or holds(signature, dispatcher.targetctx)

    @property
    def signatures(self) -> list[Any]:
        """The argument types compiled or loaded so far."""
        dispatchers = {id(one): one for one in (*self._fresh.values(), self._cached) if one is not None}
        return [signature for one in dispatchers.values() for signature in one.signatures]

    def dispatcher(self, args: tuple[Any, ...]) -> Any:
        """Return numba's dispatcher for arguments of these kinds."""
        if from_outside(args):
            # numba takes two classes of one name and the same fields for one: each gets a dispatcher of its own
            return self._of_kinds(tuple(kinds_in(args)))
        if self._cached is None:
            self._cached = self._with_cache() or self._without_cache(())
        return self._cached

    def _of_kinds(self, kinds: tuple[type, ...]) -> Any:
        if kinds not in self._fresh:
            found = self._with_cache(hash_of_kinds(kinds))
            with _compiling_lock:
                if found is not None:
                    self._fresh.setdefault(kinds, found)
        return self._without_cache(kinds)

    def _without_cache(self, kinds: tuple[type, ...]) -> Any:
        with _compiling_lock:
            if kinds not in self._fresh:
                self._fresh[kinds] = self._made()
            return self._fresh[kinds]

    def _with_cache(self, outside: str = "") -> Any:
        from tracker.compiled.numba_cache import checked_cache

        folder = cache_folder()
        cache = None if folder is None else checked_cache(self.interpreted, folder, outside)
        if cache is None:
            return None
        dispatcher = self._made()
        dispatcher._cache = cache  # noqa: SLF001  (what numba's enable_caching sets)
        return dispatcher

    def _made(self) -> Any:
        load_numba()
        from numba import njit

        return njit(nogil=True, **self._options)(with_numbas_unroll(self.interpreted))


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile ``function`` when it is called; it releases the GIL."""
    return Kernel(function)


@contextmanager
def explained() -> Iterator[None]:
    """Say in words of our own what numba says of a cost that writes to its parameters."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "TypingError" or READ_ONLY not in str(error):
            raise
    else:
        return
    raise TypeError("a cost must not write to its own arrays: all threads share them")
