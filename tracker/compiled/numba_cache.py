"""A numba cache that checks its files: a damaged entry is compiled again, and nothing else happens.

Numba asks a dispatcher's cache for the code of a signature, and gives it the code that was compiled. The files, their
names and their checks are in ``cache_files``; this module talks to numba. Where numba has changed, nothing is kept.
"""

from __future__ import annotations

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


def checked_cache(function: Callable[..., Any], folder: Path) -> CheckedCache | None:
    """Return a cache for ``function``; None where its code cannot be told by the name of the folder."""
    room, _, module = function.__module__.partition(".")
    if room != PACKAGE.name or function.__closure__ is not None:
        return None
    name = f"{module}.{function.__qualname__}-{function.__code__.co_firstlineno}"
    name = f"{name.replace('<', '').replace('>', '')}.py{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}"
    return CheckedCache(function, folder, name)


class CheckedCache:
    """What numba's dispatchers expect of a cache."""

    def __init__(self, function: Callable[..., Any], folder: Path, name: str) -> None:
        self.cache_path = str(folder)
        self._entries = CacheEntries(folder, name, _packed)
        self._code = hashlib.sha256(function.__code__.co_code).hexdigest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code kept for a signature, or None."""
        try:
            target_context.refresh()
            kept = self._entries.load(self._key(sig, target_context))
            return None if kept is None else numba.core.compiler.CompileResult._rebuild(target_context, *kept)  # noqa: SLF001
        except Exception:
            self._entries.forget_latest()
        warn_once(f"compiled code kept in {self.cache_path} was damaged; it is compiled again")
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code of a signature, where that is possible."""
        try:
            if data.library.has_dynamic_globals or any(not part.can_cache for part in data.lifted):
                return  # it holds addresses of this process
            self._entries.save(self._key(sig, data.target_context), data._reduce())  # noqa: SLF001
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
        return sig, target_context.codegen().magic_tuple(), self._code


def _packed(content: Any) -> bytes:
    from numba.core.serialize import dumps

    return dumps(content)
