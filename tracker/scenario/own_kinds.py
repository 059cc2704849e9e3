"""Costs and samplers of a user's own: a ``NamedTuple`` of parameters whose fields are the keys of its table.

``keys_for`` makes the class of keys of such a kind, from its fields, their types and their defaults. What functions are
registered for the type (``value`` and ``gradient``, or a step) and what facts it states (``euler``, ``linear``, ``adapts``,
``evaluations``, ``effective_step``) is asked of the type. Its code belongs to the identity of a scenario.
"""

from __future__ import annotations

import types
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import field_validator, model_validator

from tracker.compiled import implementation_hash
from tracker.costs.base import CostKeys, gradient, hessian, observation_size, period, value
from tracker.costs.facts import as_quadratic
from tracker.costs.foretold import predicts
from tracker.costs.stored_draws import with_stored_draws
from tracker.keys import Count, Keys, Several, Step
from tracker.samplers.base import STATES, Evaluations, SamplerKeys
from tracker.scenario.complaints import ScenarioError, show
from tracker.scenario.own_fields import field_types, field_value
from tracker.scenario.toml_text import as_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tracker.array_types import Array
    from tracker.samplers.linear_step import LinearStep


class OwnKeys(Keys):
    """What the keys of own costs and of own samplers have in common.

    own : the NamedTuple of parameters
    family : what ``cost`` or ``kind`` says
    given : the fields of the tuple that are no keys of every table
    code : the hash of the functions that were registered, where no ``--code`` file stands for them
    """

    own: ClassVar[type]
    family: ClassVar[str]
    table: ClassVar[str]
    word: ClassVar[str]  # the key that chooses the family

    given: Any = None
    code: str = ""

    @classmethod
    def key_names(cls) -> list[str]:
        """Return the keys that its table may have."""
        shared = [key for key in cls.model_fields if key not in ("given", "code", "size", *cls._apart())]
        return list(dict.fromkeys([*shared, *cls.own._fields, "code"]))  # type: ignore[attr-defined]

    @classmethod
    def _apart(cls) -> tuple[str, ...]:
        """Return keys of every table that this one has not."""
        return ()

    @classmethod
    def _shared(cls) -> list[str]:
        """Return the fields of the tuple that are keys of every table, too."""
        return [key for key in cls.own._fields if key in cls.model_fields]  # type: ignore[attr-defined]

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, data: Any) -> Any:
        """Put the fields of the tuple together, and refuse what is neither a field nor a key."""
        if not isinstance(data, dict) or "given" in data:
            return data
        own, defaults = cls.own._fields, cls.own._field_defaults  # type: ignore[attr-defined]
        shared = cls._shared()
        fields = {key: data[key] for key in own if key in data and key not in shared}
        rest = {key: entry for key, entry in data.items() if key not in fields}
        rest |= {key: defaults[key] for key in shared if key in defaults and key not in rest}
        return {**rest, cls.word: data.get(cls.word, cls.family), "given": {**defaults, **fields}}

    @field_validator("given", mode="before")
    @classmethod
    def _fields(cls, given: Any) -> dict[str, Any]:
        """Check each field by the type that it is declared with."""
        types, found, problems = field_types(cls.own), {}, []
        for key in cls.own._fields:  # type: ignore[attr-defined]
            if key in cls._shared():
                continue
            if key not in given:
                problems.append(f"{key}: missing: a field of {cls.own.__name__}")
                continue
            try:
                found[key] = field_value(types.get(key), given[key])
            except ValueError as error:
                problems.append(f"{key}: {show(given[key])} {error}")
        if problems:
            raise Several(problems)
        return found

    @field_validator("code")
    @classmethod
    def _same_code(cls, code: str) -> str:
        now = implementation_hash(cls.own)
        if code not in ("", now):
            raise ValueError(
                f"code: {cls.own.__name__} was another when this was written: its code had the hash {code}, now {now}"
            )
        return code

    def parameters_given(self) -> Any:
        """Return the tuple."""
        return self.own(**self.given, **{key: getattr(self, key) for key in self._shared()})

    def flat(self) -> dict[str, Any]:
        """Return the table, its values as they are: arrays and tuples stay what they are."""
        chosen = {"name": getattr(self, "name", ""), self.word: self.family}
        others = {
            key: getattr(self, key)
            for key in type(self).model_fields
            if key in self.model_fields_set and key not in ("given", "code", "size", *chosen, *self._apart())
        }
        code = {"code": implementation_hash(self.own)} if self.code else {}
        # the file of code says what the defaults are; a script's are written down
        defaults = {} if self.code else self.own._field_defaults  # type: ignore[attr-defined]
        fields = {key: item for key, item in self.given.items() if key not in defaults or item is not defaults[key]}
        return {**chosen, **code, **others, **fields}

    def as_tables(self) -> dict[str, Any]:
        """Return the table as text and numbers."""
        return {key: as_tables(entry) for key, entry in self.flat().items()}

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle by the tuple's type: the class of keys is made again on the other side."""
        return _again, (self.own, self.table, self.family, self.flat(), getattr(self, "size", 0))


def _again(own: type, table: str, family: str, flat: dict[str, Any], size: int) -> Any:
    made = keys_for(own, table, family).model_validate(flat)
    return made.model_copy(update={"size": size}) if size else made


class OwnCost(OwnKeys, CostKeys):
    """A cost of a user's own; it looks like any other mode from outside."""

    table: ClassVar[str] = "modes"
    word: ClassVar[str] = "cost"

    cost: str = "own"
    size: Step = 0  # N, which the start says; 0 before that is known
    expected_draws: Count | None = None

    @property
    def dimension(self) -> int:
        """N; 0 where the start has not said it yet."""
        return self.size

    @property
    def quadratic(self) -> bool:
        """Whether its type says so."""
        return as_quadratic(self.build()) is not None

    @property
    def has_hessian(self) -> bool:
        """Whether its type has one."""
        return hessian.defined_for(self.own)

    @property
    def period(self) -> int:
        """What its type says."""
        return period(self.build())

    def flat(self) -> dict[str, Any]:
        """Return the table; stored draws, which decide what is measured, stand in it."""
        return {**super().flat(), **({"expected_draws": self.draws} if self.draws else {})}

    @property
    def no_distance(self) -> str:
        """What its type says."""
        return str(getattr(self.own, "no_distance", ""))

    @property
    def predicts(self) -> bool:
        """Whether its type declares what a forecast of an observation loses."""
        return predicts(self.build())

    @property
    def draws(self) -> int:
        """How many stored draws define its expected cost; 0 where ``expected`` does."""
        return self.expected_draws or int(getattr(self.own, "expected_draws", 0))

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        cost = self.parameters_given()
        return with_stored_draws(cost, self.draws) if self.draws else cost


class OwnSampler(OwnKeys, SamplerKeys):
    """A sampler of a user's own, with the facts that its type states; nothing is known of it that it does not say."""

    table: ClassVar[str] = "samplers"
    word: ClassVar[str] = "kind"

    kind: str = "own"

    @classmethod
    def _apart(cls) -> tuple[str, ...]:
        return () if "beta" in cls.own._fields else ("beta",)  # type: ignore[attr-defined]

    @model_validator(mode="before")
    @classmethod
    def _without_temperature(cls, data: Any) -> Any:
        """A tuple without the field beta injects no noise that theory could know of."""
        if not isinstance(data, dict) or "beta" in cls.own._fields:  # type: ignore[attr-defined]
            return data
        if "beta" in data:
            raise ValueError(f"beta: {cls.own.__name__} has no such field")
        return {**data, "beta": "inf"}

    @property
    def evaluations(self) -> Evaluations:
        """What a step evaluates: one gradient, unless its type says otherwise."""
        found = getattr(self.own, "evaluations", None)
        return found if isinstance(found, Evaluations) else super().evaluations

    @property
    def effective_step(self) -> float:
        """The step of the classical sampler that moves as fast, where its type says it."""
        if not hasattr(self.own, "effective_step"):
            return super().effective_step
        return float(self.build().effective_step)

    def linear(self, epsilon: float, S: Array) -> LinearStep | None:
        """Return the matrices of a step, where its type declares them."""
        if not hasattr(self.own, "linear"):
            return super().linear(epsilon, S)
        return self.build().linear(epsilon, S)  # type: ignore[no-any-return]

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        return self.parameters_given()


def with_expected_draws(scenario: Any, count: int | None) -> Any:
    """Return the scenario in which ``count`` stored draws define the cost of each own mode that has observations."""
    if count is None:
        return scenario
    meant = [isinstance(mode, OwnCost) and observation_size(mode.parameters_given()) > 0 for mode in scenario.modes]
    if not any(meant):
        raise ScenarioError(["expected_draws: no mode is a cost of one's own that has observations"])
    modes = [
        type(mode).model_validate({**mode.flat(), "expected_draws": count}) if own else mode
        for mode, own in zip(scenario.modes, meant, strict=True)
    ]
    return scenario.replace(modes=modes)


BASES: dict[str, type[OwnKeys]] = {"modes": OwnCost, "samplers": OwnSampler}
RESERVED = {"modes": ("name", "cost", "target", "code", "expected_draws"), "samplers": ("name", "kind", "code")}


@cache
def keys_for(own: type, table: str, family: str) -> type[OwnKeys]:
    """Return the class of keys of the NamedTuple ``own``; ``ScenarioError`` where it cannot serve as one."""
    if problem := _unfit(own, table):
        raise ScenarioError([f"{table}: {own.__name__}: {problem}"])
    facts: Mapping[str, Any] = {}
    if table == "samplers":
        facts = {
            "parameters": own,
            "euler": bool(getattr(own, "euler", False)),
            "adapts": str(getattr(own, "adapts", "")),
        }
    space = {"__module__": __name__, "__doc__": own.__doc__, "own": own, "family": family, **facts}
    made: type[OwnKeys] = types.new_class(
        f"{own.__name__}Keys", (BASES[table],), exec_body=lambda body: body.update(space)
    )
    return made


def is_own_tuple(entry: Any) -> bool:
    """Tell whether ``entry`` is the parameters of a cost or sampler: a NamedTuple."""
    return isinstance(entry, tuple) and hasattr(entry, "_fields")


def _unfit(own: type, table: str) -> str:
    if taken := [key for key in own._fields if key in RESERVED[table]]:  # type: ignore[attr-defined]
        return f"a field must not be called {' or '.join(taken)}: every table of {table} has a key of that name"
    if table == "modes":
        missing = [one.__name__ for one in (value, gradient) if not one.defined_for(own)]
        way = "as in @value.register(T)"
    else:
        missing = ["its step"] if own not in STATES else []
        way = f"as in @sampler({own.__name__}, State)"
        if "epsilon" not in own._fields:  # type: ignore[attr-defined]
            return "it must have a field epsilon, its step: time is steps times epsilon"
    return f"{' and '.join(missing)} must be registered for its type, {way}" if missing else ""
