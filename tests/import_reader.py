"""Read from a source what it imports, also by string, and which families and kinds it asks for by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple


def within(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


class Import(NamedTuple):
    """``name`` is imported in ``line``; ``early``: when the module is; ``real``: not only for type checkers.

    A string that names a module counts too: whoever has it can import by it.
    """

    name: str
    line: int
    early: bool
    real: bool


def imports(tree: ast.AST, *, early: bool = True, real: bool = True) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, early, real) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            yield from (Import(f"{node.module}.{alias.name}", node.lineno, early, real) for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for part in node.body:
                yield from imports(ast.Module([part], []), early=early, real=False)
            for part in node.orelse:
                yield from imports(ast.Module([part], []), early=early, real=real)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"tracker(\.\w+)+\.?", node.value):
                yield Import(node.value.removesuffix("."), node.lineno, early=False, real=True)
        else:
            inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from imports(node, early=early and not inside, real=real)


def as_a_user(tree: ast.AST) -> set[str]:
    """The rooms that are reached through an ``import tracker``: x of every ``tracker.x``."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tracker"
    }


def asked_for(
    tree: ast.AST, room: str, names: Collection[str], others: Collection[str], words: Collection[str]
) -> list[str]:
    """The lines that ask for a thing of ``room`` by name: by import, by module, or by a string.

    Parameters
    ----------
    names : of the families or kinds, and of their classes
    others : what of the room anybody may import
    words : names that are words with another meaning too, and count only where something is compared with them
    """
    found = [
        f"{line}: {name}"
        for name, line, _, _ in imports(tree)
        if within(name, f"tracker.{room}") and name.split(".")[2:3] and name.split(".")[2] not in others
    ]
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            found += [f"{node.lineno}: {node.value!r}" for name in names if f'"{name}"' in node.value]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
            if node.value.lower() not in words or _is_compared(tree, node):
                found.append(f"{node.lineno}: {node.value!r}")
        elif isinstance(node, ast.Attribute) and node.attr in names and _is_room(node.value, room):
            found.append(f"{node.lineno}: {room}.{node.attr}")
    return found


def _is_room(node: ast.AST, room: str) -> bool:
    return ast.unparse(node).removeprefix("tracker.") == room


def _is_compared(tree: ast.AST, node: ast.AST) -> bool:
    comparisons = (outer for outer in ast.walk(tree) if isinstance(outer, ast.Compare | ast.match_case))
    return any(node is part for outer in comparisons for part in ast.walk(outer))
