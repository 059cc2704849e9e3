"""Accept a user's own cost as a mode: any ``NamedTuple`` with ``value`` and ``gradient`` registered for its type."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel

from tracker.compiled import implementation_hash
from tracker.costs.base import CostKeys, gradient, hessian, period, value
from tracker.costs.facts import as_quadratic
from tracker.keys import Count
from tracker.scenario.complaints import ScenarioError
from tracker.scenario.toml_text import as_tables


class OwnCost(CostKeys):
    """A cost that no scenario file can describe; it looks like any other mode from outside."""

    cost: Literal["own"] = "own"
    parameters: Any
    size: Count

    @property
    def dimension(self) -> int:
        """N."""
        return self.size

    @property
    def quadratic(self) -> bool:
        """Whether its type says so."""
        return as_quadratic(self.parameters) is not None

    @property
    def has_hessian(self) -> bool:
        """Whether its type has one."""
        return hessian.defined_for(type(self.parameters))

    @property
    def period(self) -> int:
        """What its type says."""
        return period(self.parameters)

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        return _read_only(self.parameters)

    def as_tables(self) -> dict[str, Any]:
        """Return what a hash or a listing may say of it; a file with this cannot be loaded."""
        kind = type(self.parameters)
        target = {"target": as_tables(self.target)} if self.target is not None else {}
        parameters = {key: as_tables(entry) for key, entry in self.parameters._asdict().items()}
        code = implementation_hash(kind)
        return {
            "name": self.name, "cost": "own", "type": kind.__qualname__, "code": code, **target, "parameters": parameters
        }  # fmt: skip


def _read_only(value: Any) -> Any:
    """Return views that cannot be written to: all threads share them."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.flags.writeable = False
        return view
    if isinstance(value, tuple):
        items = map(_read_only, value)
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    return value


def wrap_costs(modes: Any, start: Any) -> Any:
    """Return ``modes`` with each bare cost made a mode, named by its class (and place, where that is not unique)."""
    if not isinstance(modes, (list, tuple)):
        return modes
    if _is_cost(modes):  # one cost without a list is a tuple too
        modes = [modes]
    kinds = [type(mode).__name__ if _is_cost(mode) else "" for mode in modes]
    names = [kind if kinds.count(kind) == 1 else f"{kind}-{n + 1}" for n, kind in enumerate(kinds)]
    return [_mode(mode, name, start) if _is_cost(mode) else mode for mode, name in zip(modes, names, strict=True)]


def _is_cost(mode: Any) -> bool:
    return isinstance(mode, tuple) and hasattr(mode, "_fields") and not isinstance(mode, BaseModel)


def _mode(cost: Any, name: str, start: Any) -> OwnCost:
    missing = [f.__name__ for f in (value, gradient) if not f.defined_for(type(cost))]
    if missing:
        raise ScenarioError([f"modes: {name}: {' and '.join(missing)} must be registered for its type"])
    point = start.mean if hasattr(start, "mean") and not isinstance(start, np.ndarray) else start
    point = point.get("mean", ()) if isinstance(point, dict) else point
    clean = re.sub(r"[^A-Za-z0-9_-]", "", name).lstrip("_-")[:64] or "own"
    return OwnCost(name=clean, parameters=cost, size=max(1, len(point)))
