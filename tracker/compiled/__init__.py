"""Plain Python functions that numba may compile: `generic`, `helper` and `kernel`.

This room is the only one that imports numba. Everything marked here stays an ordinary function that runs, and can be
debugged, in the interpreter.

- ``generic`` functions have one implementation per type of their first argument, a ``NamedTuple`` of parameters.
  The type chooses the implementation in the interpreter and in compiled code alike.
- ``helper`` functions are called from kernels (``inlined``: at no cost; ``disjoint``: with arrays that do not overlap).
- ``kernel`` functions are the compiled entry points.

The disk cache is never stale: numba looks only at a kernel's own file when it decides whether a cached binary is still
good, so the cache folder is named by a hash of all sources of this package (but for the rooms that hold no compiled
code), and kernels that meet a type whose implementation lives outside the package are compiled anew in each process.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import threading
import time
import warnings
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import llvmlite
import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import lower_builtin, overload, register_jitable, type_callable
from numba.np.arrayobj import make_array
from numba.np.random import _constants as _ziggurat
from platformdirs import user_cache_dir

from tracker.compiled.deferred import part_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

PACKAGE = Path(__file__).resolve().parents[1]
CACHE_VARIABLE = "TRACKER_CACHE_DIR"
STALE_AFTER_DAYS = 30
# rooms that cannot change machine code, as a test holds
WITHOUT_KERNELS = ("cli", "convergence", "metrics", "reports", "runs")

# error_model "numpy": a division that may raise keeps numba from pruning reference counts in the loop (3 times slower).
_OPTIONS: dict[str, Any] = {"error_model": "numpy"}
_PART: dict[str, Any] = {**_OPTIONS, "no_cfunc_wrapper": True, **part_options()}

# numpy's ziggurat for the normal law: 256 layers, |x| < width * 2**52 accepted at once below `quick`.
NORMAL_WIDTH: NDArray[np.float64] = _ziggurat.wi_double
NORMAL_QUICK: NDArray[np.uint64] = _ziggurat.ki_double
NORMAL_HEIGHT: NDArray[np.float64] = _ziggurat.fi_double
NORMAL_TAIL = float(_ziggurat.ziggurat_nor_r)
NORMAL_TAIL_INVERSE = float(_ziggurat.ziggurat_nor_inv_r)

literal_unroll = numba.literal_unroll

_foreign: set[type] = set()
_setting_lock = threading.Lock()  # numba's cache folder is a setting of the whole process


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
        self._compile()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the implementation for the first argument's type in the interpreter."""
        return self.implementation(type(args[0]))(*args, **kwargs)

    def register(self, kind: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
        """Return a decorator that makes a function the implementation for ``kind``."""

        def add(implementation: Callable[..., R]) -> Callable[..., R]:
            if kind in self._implementations:
                message = f"{self.__name__} is already defined for {kind.__name__}: define it on a type of your own"
                raise TypeError(message)
            expected, given = list(self.__signature__.parameters), list(inspect.signature(implementation).parameters)
            if expected != given:
                message = f"{self.__name__} for {kind.__name__} takes ({', '.join(expected)}), not ({', '.join(given)})"
                raise TypeError(message)
            self._implementations[kind] = implementation
            if not Path(implementation.__code__.co_filename).is_relative_to(PACKAGE):
                _foreign.add(kind)
            return implementation

        return add

    def implementation(self, kind: type) -> Callable[..., R]:
        """Return the function that serves ``kind``."""
        for base in kind.__mro__:
            if base in self._implementations:
                return self._implementations[base]
        message = f"{self.__name__} is not defined for {kind.__name__}: add it with @{self.__name__}.register"
        raise TypeError(message)

    def defined_for(self, kind: type) -> bool:
        """Tell whether ``kind`` has an implementation."""
        return any(base in self._implementations for base in kind.__mro__)

    def _compile(self) -> None:
        def choose(*arguments: Any) -> Callable[..., R]:
            kind = getattr(arguments[0], "instance_class", object)
            return self.implementation(kind)

        choose.__signature__ = self.__signature__  # type: ignore[attr-defined]
        # strict=False: numba would also compare annotations; `register` has compared the names
        overload(self, jit_options={**_PART, "forceinline": True}, strict=False)(choose)


def generic(declaration: Callable[P, R]) -> GenericFunction[P, R]:
    """Declare a generic function; the body of ``declaration`` is only its documentation."""
    return GenericFunction(declaration)


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Let kernels call a plain function."""
    return register_jitable(**_PART)(function)  # type: ignore[no-any-return]


def disjoint(function: Callable[P, R]) -> Callable[P, R]:
    """Let kernels call a plain function whose arrays, those in tuples too, share no memory that it writes.

    The compiler then keeps their elements in registers; where the promise is broken, the numbers are wrong.
    """
    return register_jitable(**{**_PART, **part_options(disjoint=True)})(function)  # type: ignore[no-any-return]


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Let kernels call a small function at no cost: its code goes where it is called."""
    return register_jitable(**_PART, forceinline=True)(function)  # type: ignore[no-any-return]


@inlined
def copy(source: NDArray[Any], out: NDArray[Any]) -> None:
    """Write ``source`` to ``out``, same shape (slice assignment would compile numba's messages about shapes with it)."""
    for index in np.ndindex(out.shape):
        out[index] = source[index]


def borrow(value: T) -> T:
    """Return the same arrays, or nested tuples of arrays, without reference counts (in compiled code).

    Atomic counts at every look-up of an array field cost more than a Langevin step. Whoever borrows must keep the owner
    alive: a kernel's arguments live as long as its call; a local array must be used once more after the last borrowed use.
    """
    return value


@type_callable(borrow)  # type: ignore[untyped-decorator]
def _type_of_borrowed(context: Any) -> Callable[..., Any]:
    return lambda value: value


@lower_builtin(borrow, types.Any)  # type: ignore[untyped-decorator]
def _without_counts(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    def forget(kind: Any, item: Any) -> Any:
        if isinstance(kind, types.Array):
            array = make_array(kind)(context, builder, item)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            array.parent = cgutils.get_null_value(array.parent.type)
            return array._getvalue()  # noqa: SLF001  (numba's own name)
        if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
            items = cgutils.unpack_tuple(builder, item, kind.count)
            return context.make_tuple(builder, kind, [forget(*pair) for pair in zip(kind.types, items, strict=True)])
        return item

    return forget(signature.args[0], arguments[0])


class Kernel(Generic[P, R]):
    """A compiled function; ``interpreted`` is the same function as plain Python."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.interpreted = function
        self._fresh = numba.njit(nogil=True, **_OPTIONS)(function)
        self._cached: Any = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled function, compiling it for these types of arguments if need be."""
        return self._dispatcher(args)(*args, **kwargs)  # type: ignore[no-any-return]

    @property
    def signatures(self) -> list[Any]:
        """The argument types compiled or loaded so far."""
        cached = self._cached if self._cached is not self._fresh else None
        return [*self._fresh.signatures, *(cached.signatures if cached is not None else ())]

    def _dispatcher(self, args: tuple[Any, ...]) -> Any:
        if from_outside(args):
            return self._fresh
        if self._cached is None:
            self._cached = _with_cache(self.interpreted) or self._fresh
        return self._cached


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile ``function`` when it is called; it releases the GIL."""
    return Kernel(function)


def from_outside(value: Any) -> bool:
    """Tell whether an implementation from outside may serve ``value``, its own type's or an inherited one."""
    return isinstance(value, tuple) and (
        any(base in _foreign for base in type(value).__mro__) or any(map(from_outside, value))
    )


def _with_cache(function: Callable[..., Any]) -> Any:
    folder = cache_folder()
    if folder is None:
        return None
    with _setting_lock:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder)
        try:
            return numba.njit(nogil=True, cache=True, **_OPTIONS)(function)
        finally:
            numba.config.CACHE_DIR = before


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Return the folder of compiled kernels for exactly these sources, or None where there can be none.

    ``TRACKER_CACHE_DIR`` names the parent folder, or is ``off``.
    """
    setting = os.environ.get(CACHE_VARIABLE, "")
    if setting == "off":
        return None
    parent = Path(setting or user_cache_dir("tracker", appauthor=False))
    folder = parent / f"kernels-{source_fingerprint()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "used").touch()
    except OSError as error:
        message = f"compiled code cannot be kept in {parent} ({error.strerror}); set {CACHE_VARIABLE} to another folder"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        return None
    _forget_old(parent)
    return folder


def source_fingerprint() -> str:
    """Hash everything that decides what machine code comes out: our sources, the compiler and its settings."""
    digest = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, np.__version__)).encode())
    digest.update(repr(sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))).encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        if name.parts[0] not in WITHOUT_KERNELS:
            digest.update(f"{name.as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _forget_old(parent: Path) -> None:
    oldest = time.time() - STALE_AFTER_DAYS * 86400
    for mark in parent.glob("kernels-*/used"):
        try:
            if mark.stat().st_mtime < oldest:
                shutil.rmtree(mark.parent, ignore_errors=True)
        except OSError:
            continue
