"""Hash what results depend on: parameters by their content, functions by their code and what it reads."""

from __future__ import annotations

import sysconfig
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

PACKAGE = Path(__file__).resolve().parents[1]


def content_hash(value: Any) -> bytes:
    """Return a hash of parameters: numbers, arrays, and tuples of them."""
    if isinstance(value, tuple):
        return _hash(type(value).__qualname__, *map(content_hash, value))
    if isinstance(value, np.ndarray):
        return _hash("array", repr((value.shape, value.dtype.str)), value.tobytes())
    return _hash(type(value).__qualname__, repr(value))


def code_hash(function: Any) -> bytes:
    """Return a hash of a function's code, constants, closure, and the globals and functions that it reads, to any depth.

    What lives in this package is not looked into: its version is known otherwise.
    """
    return _of_function(function, set())


def _of_function(function: Any, seen: set[int]) -> bytes:
    function = getattr(function, "py_func", function)  # a function that numba has wrapped
    if not isinstance(function, FunctionType):
        return _hash(
            "other", f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function))}"
        )
    code = function.__code__
    if id(function) in seen or Path(code.co_filename).is_relative_to(PACKAGE):
        return _hash("known", function.__qualname__)
    seen.add(id(function))
    cells = [_of_value(cell.cell_contents, seen) for cell in function.__closure__ or ()]
    names = _names(code)
    read = [_of_value(function.__globals__[name], seen) for name in names if name in function.__globals__]
    # a constant or a helper of a module that the function reads by its name: compiled code holds what it was
    for name in names:
        module = function.__globals__.get(name)
        if isinstance(module, ModuleType) and not _is_installed(module):
            read += [_of_value(vars(module)[one], seen) for one in names if one in vars(module)]
    defaults = [_of_value(value, seen) for value in function.__defaults__ or ()]
    return _hash(_of_code(code, seen), *cells, *read, *defaults)


def _of_code(code: CodeType, seen: set[int]) -> bytes:
    constants = [_of_value(value, seen) for value in code.co_consts]
    return _hash(code.co_code, repr((code.co_names, code.co_varnames)), *constants)


def _of_value(value: Any, seen: set[int]) -> bytes:
    if isinstance(value, CodeType):
        return _of_code(value, seen)
    if isinstance(value, ModuleType):
        return _hash("module", value.__name__)
    if callable(value):
        fields = repr(getattr(value, "_fields", ()))
        return _hash("class", value.__qualname__, fields) if isinstance(value, type) else _of_function(value, seen)
    return content_hash(value)


def _is_installed(module: ModuleType) -> bool:
    """Tell whether a module is Python's own or an installed package's: versions tell what it is."""
    file = getattr(module, "__file__", None)
    return file is None or any(Path(file).is_relative_to(place) for place in _installed_places())


@cache
def _installed_places() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")})


def _names(code: CodeType) -> list[str]:
    """The names that a function and the functions in it read."""
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant)]
    return sorted({*code.co_names, *inner})


def _hash(*parts: str | bytes) -> bytes:
    digest = sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()
