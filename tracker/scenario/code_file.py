"""A user's own costs and samplers from a Python file: ``--code my_world.py``.

The file is a module with ``costs = {"ripple": Ripple}`` and ``samplers = {"sghmc": Sghmc}``: names as a scenario writes them in
``cost`` and ``kind``, values a NamedTuple whose fields are the keys, or a class of keys as an entry point offers it. To name a
file is to run its code, all of it. Its content belongs to the identity of what is run with it; the copy that a run directory
keeps is for reading and is refused here: a run directory may come from a stranger.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tracker.printable import printable
from tracker.regular_files import read_regular
from tracker.scenario.complaints import ScenarioError, show
from tracker.scenario.plugins import PluginError, keys_of
from tracker.scenario.registry import Plugin

LARGEST_CODE = 1_000_000  # bytes
LONGEST_REASON = 300  # characters of what the code says when it fails
KEPT_COPY, MANIFESTS = "code.py", ("manifest.json", "sweep.json")

_loaded: dict[str, tuple[Plugin, ...]] = {}  # by the hash of the content: what was run once is not run again


class CodeFile(NamedTuple):
    """A file of code: its name for messages, and what is in it."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        """The hash of the content."""
        return hashlib.sha256(self.content).hexdigest()


def read_code(path: str | Path) -> CodeFile:
    """Return the content of a code file; ``PluginError`` for what cannot be one, ``OSError`` where it cannot be read."""
    path = Path(path)
    real = path.resolve()
    if real.name == KEPT_COPY and any((real.parent / name).exists() for name in MANIFESTS):
        raise PluginError(
            [
                f"--code {path}: the copy in a run directory is for reading, whoever wrote it; name the file that it is a copy of"
            ]
        )
    return CodeFile(str(path), read_regular(path, LARGEST_CODE, links=True))


def load_code(code: CodeFile) -> tuple[Plugin, ...]:
    """Run the code, once in a process, and return the families that it offers; ``PluginError`` where that fails."""
    if code.sha256 not in _loaded:
        _loaded[code.sha256] = _offered(code, _run(code))
    return _loaded[code.sha256]


def _run(code: CodeFile) -> ModuleType:
    module = ModuleType(f"tracker_code_{code.sha256[:16]}", f"The code of {code.name}.")
    module.__file__ = code.name
    sys.modules[module.__name__] = module  # classes are found by their module: annotations, pickles, compiled code
    try:
        exec(compile(code.content, code.name, "exec", dont_inherit=True), vars(module))  # noqa: S102  (it was asked for)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        reason = printable(f"{type(error).__name__}: {error}", LONGEST_REASON)
        alone = (
            "; the file stands alone: only installed packages can be imported" if isinstance(error, ImportError) else ""
        )
        raise PluginError([f"--code {code.name}: {_line_of(error, code.name)}{reason}{alone}"]) from None
    return module


def _line_of(error: BaseException, name: str) -> str:
    if isinstance(error, SyntaxError) and error.filename == name:
        return f"line {error.lineno}: "
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
    return f"line {lines[-1]}: " if lines else ""


def _offered(code: CodeFile, module: ModuleType) -> tuple[Plugin, ...]:
    tables = {"costs": "modes", "samplers": "samplers"}
    given = {word: getattr(module, word) for word in tables if hasattr(module, word)}
    if not given:
        raise PluginError(
            [
                f'--code {code.name}: it offers nothing: it needs costs = {{"name": Class}} or samplers = {{"name": Class}}'
            ]
        )
    found, problems = [], []
    for word, offers in given.items():
        if not isinstance(offers, dict):
            problems.append(f"--code {code.name}: {word} must be a dict, name by name")
            continue
        for name, kind in offers.items():
            try:
                found.append(Plugin(tables[word], name, "", "", keys_of(tables[word], name, kind), code))
            except (ValueError, TypeError) as error:
                lines = error.problems if isinstance(error, ScenarioError) else [str(error)]
                problems += [f"--code {code.name}: {word}[{show(name)}]: {line}" for line in lines]
    if problems:
        raise PluginError(problems)
    return tuple(found)
