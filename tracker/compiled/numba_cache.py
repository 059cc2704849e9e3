"""A numba cache that checks its files: a damaged entry is compiled again, and nothing else happens.

Numba asks a dispatcher's cache for the code of a signature, and gives it the code that was compiled. The files, their
names and their checks are in ``cache_files``; this module talks to numba. Where numba has changed, nothing is kept.
"""

from __future__ import annotations

import copy
import hashlib
import sys
from typing import TYPE_CHECKING, Any

import numba

from tracker.compiled.cache_files import CacheEntries, WriterBusy
from tracker.compiled.caching import warn_once
from tracker.compiled.fingerprint import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def checked_cache(function: Callable[..., Any], folder: Path, outside: str = "") -> CheckedCache | None:
    """Return a cache for ``function``; None where its code cannot be told by the name of the folder.

    ``outside`` is a hash of the code from elsewhere that is compiled with it.
    """
    room, _, module = function.__module__.partition(".")
    if room != PACKAGE.name or function.__closure__ is not None:
        return None
    name = f"{module}.{function.__qualname__}-{function.__code__.co_firstlineno}"
    name = f"{name.replace('<', '').replace('>', '')}.py{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}"
    return CheckedCache(function, folder, f"{name}.own-{outside[:32]}" if outside else name, own=bool(outside))


class CheckedCache:
    """What numba's dispatchers expect of a cache."""

    def __init__(self, function: Callable[..., Any], folder: Path, name: str, *, own: bool = False) -> None:
        self.cache_path = str(folder)
        self._entries = CacheEntries(folder, name, _packed)
        self._code = hashlib.sha256(function.__code__.co_code).hexdigest()
        self._own = own

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code kept for a signature, or None."""
        try:
            target_context.refresh()
            kept = self._entries.load(self._key(sig, target_context))
            if kept is not None and self._own:
                kept = _with_live_names(kept, sig)
            return None if kept is None else numba.core.compiler.CompileResult._rebuild(target_context, *kept)  # noqa: SLF001
        except Exception:
            self._entries.forget_latest()
        warn_once(f"compiled code kept in {self.cache_path} was damaged; it is compiled again")
        return None

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Tell whether code is kept for a signature."""
        target_context.refresh()
        return self._entries.holds(self._key(sig, target_context))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code of a signature, where that is possible."""
        try:
            if data.library.has_dynamic_globals or any(not part.can_cache for part in data.lifted):
                return  # it holds addresses of this process
            parts = data._reduce()  # noqa: SLF001
            self._entries.save(self._key(sig, data.target_context), _without_names(parts) if self._own else parts)
        except WriterBusy:
            return  # the next process that compiles it will keep it
        except Exception as error:
            reason = getattr(error, "strerror", None) or f"{type(error).__name__} with numba {numba.__version__}"
            warn_once(f"compiled code cannot be kept in {self.cache_path} ({reason})")

    def enable(self) -> None:
        """Do nothing: there is no cache without being asked for."""

    def disable(self) -> None:
        """Do nothing, as above."""

    def flush(self) -> None:
        """Forget what is kept."""
        self._entries.flush()

    def _key(self, sig: Any, target_context: Any) -> tuple[Any, ...]:
        # a class of a script or a notebook is another one in each process: its types are told by their text
        return str(sig) if self._own else sig, target_context.codegen().magic_tuple(), self._code


# places in what numba reduces a result to
DESCRIPTION, ENVIRONMENT, SIGNATURE, ENVIRONMENTS = 1, 2, 3, 8


def _without_names(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the parts of a result without what a later process names otherwise: the types of arguments, and modules.

    A class of a script or of ``--code`` is defined anew in each process, and the module that it stood in may be gone.
    """
    described = copy.copy(parts[DESCRIPTION])
    described.argtypes = ()
    left = list(parts)
    left[DESCRIPTION], left[SIGNATURE] = described, parts[SIGNATURE].return_type
    left[ENVIRONMENT] = _told(parts[ENVIRONMENT])
    left[ENVIRONMENTS] = tuple(map(_told, parts[ENVIRONMENTS]))
    return tuple(left)


def _with_live_names(parts: tuple[Any, ...], arguments: Any) -> tuple[Any, ...]:
    """Put the types and the modules of this process in their place."""
    from numba.core.typing import signature

    live = list(parts)
    live[DESCRIPTION].argtypes = tuple(arguments)
    live[SIGNATURE] = signature(parts[SIGNATURE], *arguments)
    live[ENVIRONMENT] = _environment(*parts[ENVIRONMENT])
    live[ENVIRONMENTS] = tuple(_environment(*one) for one in parts[ENVIRONMENTS])
    return tuple(live)


def _told(environment: Any) -> tuple[str, tuple[Any, ...], str]:
    """Return the module, the constants and the name of the environment of a function."""
    return environment.globals["__name__"], tuple(environment.consts), environment.env_name


def _environment(module: str, constants: tuple[Any, ...], name: str) -> Any:
    """Return the environment of a function: compiled code reads its constants, and never its module."""
    from numba.core.environment import Environment, lookup_environment

    found = lookup_environment(name)
    if found is None:
        found = Environment(vars(sys.modules[module]) if module in sys.modules else {"__name__": module})
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found  # noqa: SLF001
    return found


def _packed(content: Any) -> bytes:
    from numba.core.serialize import dumps

    return dumps(content)
