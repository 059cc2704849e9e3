"""Describe what is wrong with a scenario file, one line for each problem: key, value, rule.

pydantic finds the problems; here they are put into the words of the file. Values and keys are shown shortened and
escaped, because a file may come from anywhere and its text ends up on a terminal.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from tracker.keys import meaning_of
from tracker.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Path = tuple[str | int, ...]

MOST_PER_TABLE = 20  # a file can be wrong in 50 000 places; nobody reads them all
MOST_SHOWN = 100
LONGEST_WORD, MOST_WORDS = 80, 50  # that are compared, to guess what was meant
LONGEST_LINE = 400
_NAMED = re.compile(r"(?P<key>\w+)(?P<indices>(\[\d+\])*)(: | = | )(?P<rest>.+)", re.DOTALL)
_BARE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class ScenarioError(ValueError):
    """A scenario that breaks rules; ``problems`` lists them, one line each."""

    def __init__(self, problems: Iterable[str]) -> None:
        lines = list(dict.fromkeys(_one_line(problem) for problem in problems))
        if len(lines) > MOST_SHOWN:
            lines = [*lines[:MOST_SHOWN], f"... and {len(lines) - MOST_SHOWN} more problems"]
        self.problems: list[str] = lines
        super().__init__("\n".join(lines))


class ScenarioWarning(UserWarning):
    """Something that a scenario may say and probably does not mean."""


class Complaint(NamedTuple):
    """Where, from the table that was checked, and what."""

    path: Path
    text: str


def line(place: str, problem: Complaint) -> str:
    """Return the problem as one line; ``place`` is empty, ``chain``, ``modes[0]`` or ``modes[0] "left"``."""
    path = show_path(problem.path)
    if not path:
        return f"{place}: {problem.text}" if place else problem.text
    if place.endswith('"'):
        return f"{place}: {path}: {problem.text}"
    joint = "." if place and not path.startswith("[") else ""
    return f"{place}{joint}{path}: {problem.text}"


def name_of(item: Any) -> str | None:
    """Return the name of an entry of an array of tables, a model or a table that may be wrong in other keys."""
    name = item.get("name") if isinstance(item, dict) else getattr(item, "name", None)
    return name if isinstance(name, str) else None


def place_of(table: str, index: int, item: Any) -> str:
    """Name an entry of an array of tables by its index, and its name if that is known."""
    name = name_of(item)
    if name is not None and _NAME.fullmatch(name):
        return f'{table}[{index}] "{name}"'
    return f"{table}[{index}]"


def show(value: Any, room: int = 60, depth: int = 2) -> str:
    """Return ``value`` as TOML would write it, shortened."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value if len(value) <= room else value[:room] + "...")
    if isinstance(value, int) and value.bit_length() > 100:
        return f"a whole number of about {int(value.bit_length() * math.log10(2)) + 1} digits"
    if isinstance(value, (list, tuple)):
        return _shown_entries([show(v, 20, depth - 1) for v in value[:4]], len(value), "[]", depth)
    if isinstance(value, dict):
        entries = [f"{show_key(k)} = {show(v, 20, depth - 1)}" for k, v in list(value.items())[:4]] if depth else []
        return _shown_entries(entries, len(value), "{}", depth)
    return _one_line(str(value))[:room]


def _shown_entries(entries: list[str], count: int, brackets: str, depth: int) -> str:
    if count and depth <= 0:
        entries = ["..."]
    elif count > len(entries):
        entries = [*entries, "..."]
    return brackets[0] + ", ".join(entries) + brackets[1]


def show_key(key: str) -> str:
    """Return a key as TOML would write it, shortened."""
    return key if _BARE.fullmatch(key) else show(key, 40)


def show_path(path: Path) -> str:
    """Return ``Q[0][1]`` or ``target.radius``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else ("." if text else "") + show_key(part)
    return text


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most like ``word``, if any is."""
    return _nearest(word[:LONGEST_WORD].casefold(), tuple(known))


@lru_cache(maxsize=MOST_SHOWN)  # one wrong word may stand in thousands of places
def _nearest(word: str, known: tuple[str, ...]) -> str | None:
    folded = {k.casefold(): k for k in known}
    # comparing two words takes time, so only those that begin and end most alike are compared
    likeliest = sorted(folded, key=lambda other: -_shared_ends(word, other))[:MOST_WORDS]
    match = difflib.get_close_matches(word, likeliest, n=1, cutoff=0.6)
    return folded[match[0]] if match else None


def _shared_ends(one: str, other: str) -> int:
    return _shared(one, other) + _shared(one[::-1], other[::-1])


def _shared(one: str, other: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def first_few(problems: Iterator[str], place: str) -> Iterator[str]:
    """Give the first of many problems of one kind; the others are not even looked for."""
    yield from islice(problems, MOST_PER_TABLE)
    if next(problems, None) is not None:
        yield f"{place}: and so on: only the first {MOST_PER_TABLE} are told"


def say_unknown(word: str, known: Iterable[str], what: str, meant: str | None = None) -> str:
    """Say that ``word`` is not known, with what is ``meant`` or else the nearest that is known, and all that are."""
    known = list(known)
    guess = meant or nearest(word, known)
    hint = f"; did you mean {guess}?" if guess else ""
    return f"unknown {what}{hint} (known: {', '.join(known)})"


def say_unknown_key(key: str, value: Any, known: Iterable[str]) -> str:
    """Say that ``key``, which stands with ``value``, is not known, with the nearest that is, or all if none is near."""
    known = list(known)
    guess = nearest(key, known)
    hint = f"; did you mean {guess}?" if guess else f" (known: {', '.join(known)})"
    return f"unknown key, with {show(value, 40)}{hint}"


def problems_of(error: ValidationError, data: Any, model: type[BaseModel] | None) -> list[Complaint]:
    """Return pydantic's findings on ``data`` in the words of the file."""
    plain: list[Complaint] = []
    branches: dict[Path, list[Complaint]] = {}
    for item in error.errors(include_url=False)[:MOST_PER_TABLE]:
        path, union = _resolve(item["loc"], data, item["type"])
        for problem in _explain(item, path, model):
            (plain if union is None else branches.setdefault(union, [])).append(problem)
    for found in branches.values():
        plain.extend(_best_branch(found))
    return list(dict.fromkeys(plain))


def _resolve(location: Path, data: Any, kind: str) -> tuple[Path, Path | None]:
    """Split pydantic's location into a path in the file and, if it met a union of types, where that was."""
    path: Path = ()
    union: Path | None = None
    for n, part in enumerate(location):
        in_list = isinstance(data, (list, tuple)) and isinstance(part, int) and part < len(data)
        if in_list or (isinstance(data, dict) and part in data):
            path, data = (*path, part), data[part]
        elif n == len(location) - 1 and kind in ("missing", "extra_forbidden"):
            path = (*path, part)
        elif union is None:
            union = path
    return path, union


def _best_branch(found: list[Complaint]) -> Iterator[Complaint]:
    """Of the complaints of a union's branches keep those that went deepest: the branch that was meant."""
    depth = max(len(problem.path) for problem in found)
    texts: dict[Path, list[str]] = {}
    for problem in found:
        if len(problem.path) == depth:
            texts.setdefault(problem.path, []).append(problem.text)
    for path, several in texts.items():
        # what is no list "must be a list"; what is one, and a wrong one, breaks another rule
        first, *others = dict.fromkeys([text for text in several if " must be " not in text] or several)
        endings = [text.partition("must be ")[2] for text in others]
        yield Complaint(path, " or ".join([first, *filter(None, endings)]))


def _explain(item: Mapping[str, Any], path: Path, model: type[BaseModel] | None) -> Iterator[Complaint]:
    kind, context = item["type"], item.get("ctx", {})
    if kind == "default_factory_not_called":
        return
    if kind == "missing":
        meaning = meaning_of(_table(model, path[:-1]), str(path[-1]))
        yield Complaint(path, f"missing: {meaning}" if meaning else "missing")
    elif kind == "extra_forbidden":
        yield Complaint(path, say_unknown_key(str(path[-1]), item["input"], _keys(_table(model, path[:-1]))))
    elif kind == "value_error":
        yield from _from_validator(context["error"], item["input"], path, model)
    else:
        yield Complaint(path, f"{show(item['input'])} {_rule(kind, context, item)}")


def _from_validator(error: ValueError, value: Any, path: Path, model: type[BaseModel] | None) -> Iterator[Complaint]:
    if isinstance(error, ValidationError):
        for problem in problems_of(error, value, None):
            yield Complaint((*path, *problem.path), problem.text)
        return
    for text in getattr(error, "problems", [str(error)]):
        # a check says which key of the table, or beside it, it means: "curvature: not symmetric", "Q[0] sums to 1"
        named = _NAMED.fullmatch(text)
        homes = [home for home in (path, path[:-1]) if named and named["key"] in _keys(_table(model, home))]
        if named and homes:
            indices = map(int, re.findall(r"\d+", named["indices"]))
            yield Complaint((*homes[0], named["key"], *indices), named["rest"])
        else:
            yield Complaint(path, f"{show(value)} {text}" if text.startswith("must ") else text)


def _rule(kind: str, context: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    bounds = {
        "greater_than": ("gt", "greater than"),
        "greater_than_equal": ("ge", "at least"),
        "less_than": ("lt", "less than"),
        "less_than_equal": ("le", "at most"),
    }
    if kind in bounds:
        key, words = bounds[kind]
        bound = context[key]
        return f"must be {words} {bound if isinstance(bound, int) else format(bound, 'g')}"
    if kind in ("too_short", "too_long"):
        few = kind == "too_short"
        count = context["min_length" if few else "max_length"]
        return f"must have {'at least' if few else 'at most'} {count} {'entry' if count == 1 else 'entries'}"
    if kind == "literal_error":
        return "must be " + str(context["expected"]).replace("'", '"')
    marks = "_, - or ." if "." in str(context.get("pattern", "")) else "_ or -"
    texts = {
        "finite_number": "must be a finite number",
        "string_type": "must be text",
        "string_pattern_mismatch": f"must be 1 to 64 letters, digits, {marks}, the first a letter or a digit",
        "tuple_type": "must be a list",
        "list_type": "must be a list",
        "dict_type": "must be a table",
        "model_type": "must be a table",
        "bool_type": "must be true or false",
        "bool_parsing": "must be true or false",
    }
    return texts.get(kind, str(item["msg"]).replace("Input should be", "must be"))


def _keys(model: type[BaseModel] | None) -> list[str]:
    own = getattr(model, "key_names", None)  # a table of a scenario, or another model
    return own() if own is not None else list(model.model_fields) if model is not None else []


def _table(model: type[BaseModel] | None, path: Path) -> type[BaseModel] | None:
    """Follow ``path`` through nested models."""
    for part in path:
        if model is None or part not in model.model_fields:
            return None
        model = _model_in(model.model_fields[str(part)].annotation)
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def _one_line(text: str) -> str:
    return printable(text, LONGEST_LINE)
