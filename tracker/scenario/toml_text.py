"""Read TOML text that may come from anybody, and write a changed scenario as TOML."""

from __future__ import annotations

import errno
import json
import math
import re
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.keys import Keys
from tracker.regular_files import NotRegular, read_regular
from tracker.scenario.complaints import ScenarioError, show

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_FILE = 200_000  # bytes
DEEPEST = 16  # the deepest key there is, a matrix in a sweep, has 5 levels

# Strings and comments, each to its end or to the end of the text, so that one pass is enough. A string in three quotes may
# end in five: the first two are its own.
_OPAQUE = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)|\'\'\'.*?(?:\'{3,5}|\Z)|"(?:\\.|[^"\\\n])*(?:"|$)|\'[^\'\n]*(?:\'|$)|#[^\n]*',
    re.DOTALL | re.MULTILINE,
)


def read_text(path: Path) -> str:
    """Return the text of a scenario file, without reading more than the largest allowed; a link to a file is followed."""
    try:
        content = read_regular(path, LARGEST_FILE, links=True)
    except NotRegular:
        raise ScenarioError([f"{path.name}: no scenario file: pipes and devices are not read"]) from None
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        most = f"a scenario file must be at most {LARGEST_FILE // 1000} kB"
        way = "rows of data stand in a file beside it, which the scenario names (key data)"
        raise ScenarioError([f"{path.name}: {most}; {way}"]) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"{path.name}: not UTF-8 text: byte {content[error.start]:#04x} at position {error.start}"
        raise ScenarioError([problem]) from None


def read_tables(text: str, name: str) -> dict[str, Any]:
    """Return the tables of a TOML text; ``name`` stands for it in messages."""
    if len(text.encode("utf-8", "replace")) > LARGEST_FILE:
        raise ScenarioError([f"{name}: a scenario must be at most {LARGEST_FILE // 1000} kB"])
    # The parser recurses into brackets, and its time grows with the square of the parts of a dotted key.
    if _depth(text) > DEEPEST:
        raise ScenarioError([f"{name}: nested more than {DEEPEST} levels deep"])
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of more than 4300 digits
        raise ScenarioError([f"{name}: not valid TOML: {error}{_hint(text)}"]) from None


def _hint(text: str) -> str:
    """Return what is probably meant where an array of tables is begun like a table."""
    single = re.search(r"^[ \t]*\[[ \t]*(modes|samplers|interventions|claims)[ \t]*\]", text, re.MULTILINE)
    if single is None:
        return ""
    number = text.count("\n", 0, single.start(1)) + 1
    return f"; line {number}: write [[{single[1]}]] for [{single[1]}], there may be several"


def _depth(text: str) -> int:
    depth = deepest = 0
    for part in re.split(r"([\[\]{}=,\n])", _OPAQUE.sub('""', text)):
        if part in ("[", "{"):
            depth += 1
        elif part in ("]", "}"):
            depth = max(0, depth - 1)
        deepest = max(deepest, depth, part.count("."))
    return deepest


def read_value(text: str) -> Any:
    """Return the value that ``text`` writes in TOML."""
    try:
        found = read_tables(f"value = {text}", "the value")
    except ScenarioError:
        found = {}
    if set(found) != {"value"}:
        raise ScenarioError([f"{show(text)} is not a TOML value{_quotes(text)}"])
    return found["value"]


def _quotes(text: str) -> str:
    """Return what a shell must be given for text without quotes."""
    plain = bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9_. -]{0,40}", text))
    return f"; text needs quotes that the shell leaves: '\"{text if plain else 'abc'}\"'"


def as_tables(value: Any) -> Any:
    """Return ``value`` as tables, lists, numbers and text; infinity is written "inf"."""
    if isinstance(value, Keys):
        own = getattr(value, "as_tables", None)
        given = {key: getattr(value, key) for key in type(value).model_fields if key in value.model_fields_set}
        return own() if own is not None else as_tables(given)
    if isinstance(value, dict):
        return {key: as_tables(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_tables(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return as_tables(value.tolist())
    if isinstance(value, np.generic):
        return as_tables(value.item())
    return "inf" if isinstance(value, float) and math.isinf(value) else value


def to_toml(content: dict[str, Any]) -> str:
    """Return ``content`` (tables, lists, numbers, text) as TOML.

    Not by a library: tomli-w writes each number of a matrix on a line of its own, and Python's tomllib only reads.
    """
    lines = [f"{_key(key)} = {_inline(entry)}" for key, entry in content.items() if not _is_table(entry)]
    for key, entry in content.items():
        if isinstance(entry, dict):
            lines += ["", f"[{key}]", *_pairs(entry)]
        elif _is_table(entry):
            for table in entry:
                lines += ["", f"[[{key}]]", *_pairs(table)]
    return "\n".join(lines) + "\n"


def _is_table(entry: Any) -> bool:
    return isinstance(entry, dict) or (isinstance(entry, list) and bool(entry) and isinstance(entry[0], dict))


def _pairs(table: dict[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_inline(entry)}" for key, entry in table.items()]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _quoted(key)


def _inline(entry: Any) -> str:
    if isinstance(entry, dict):
        return "{ " + ", ".join(_pairs(entry)) + " }"
    if isinstance(entry, list):
        return "[" + ", ".join(map(_inline, entry)) + "]"
    return _quoted(entry) if isinstance(entry, str) else json.dumps(entry)


def _quoted(text: str) -> str:
    # JSON's text is TOML's, but for the character DEL, and for the pairs of surrogates that ensure_ascii would write
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
