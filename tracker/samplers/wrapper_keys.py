"""The keys of a sampler around another one: what the file says of the inner sampler, and what is asked of it in the wrapper's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr, ValidationError, ValidationInfo, model_validator

from tracker.keys import Several
from tracker.samplers.base import Evaluations, SamplerKeys

MOST_AROUND = 4  # wrappers around one sampler: the code of each is compiled into that of the next
KINDS = "kinds"  # in the context of a validation: the kinds that a file may name, those of plugins too


class WrapperKeys(SamplerKeys):
    """Samplers around another one, ``sampler = { kind = ..., its own keys }``; ``epsilon`` and ``beta`` are the wrapper's.

    What is known of the inner sampler (its S, evaluations, what it adapts) is told in the wrapper's name.
    """

    kinds: ClassVar[Mapping[str, type[SamplerKeys]]] = {}  # the shipped ones; the table of samplers sets it
    shared: ClassVar[tuple[str, ...]] = ("name", "epsilon", "beta")  # keys that the inner sampler has from the wrapper

    sampler: dict[str, Any] = Field(
        description="the sampler within: { kind = ..., its own keys }; epsilon and beta stand beside it, not in it"
    )
    _keys: type[SamplerKeys] = PrivateAttr()

    @model_validator(mode="after")
    def _known_inside(self, info: ValidationInfo) -> WrapperKeys:
        if self._around() > MOST_AROUND:
            raise ValueError(f"sampler: at most {MOST_AROUND} samplers may stand around one another")
        known = (info.context or {}).get(KINDS, self.kinds)
        doubled = [key for key in self.shared if key in self.sampler]
        if doubled:
            raise Several(f"sampler.{key}: is the wrapper's: give it beside sampler, not in it" for key in doubled)
        kind = self.sampler.get("kind")
        if not isinstance(kind, str) or kind not in known:
            raise ValueError(f"sampler.kind: {kind!r} is no kind of sampler (known: {', '.join(known)})")
        object.__setattr__(self, "_keys", known[kind])
        try:
            self.check_inside(self.inner)
        except ValidationError as error:
            lines = [f"sampler.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False)]
            raise Several(lines) from None
        return self

    def _around(self) -> int:
        """Return how many samplers with one inside there are, this one and those within; one more than allowed is enough to know."""
        inside, found = self.sampler.get("sampler"), 1
        while isinstance(inside, dict) and found <= MOST_AROUND:
            inside, found = inside.get("sampler"), found + 1
        return found

    def check_inside(self, inner: SamplerKeys) -> None:
        """Raise ValueError where the inner sampler cannot be wrapped like this."""

    @classmethod
    def table_inside(cls, table: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the table of the inner sampler with the keys that it has from the wrapper's ``table``; None where it is none."""
        inside = table.get("sampler")
        if not isinstance(inside, dict):
            return None
        return {**inside, **{key: table[key] for key in cls.shared if key in table}}

    def inside(self, **changes: Any) -> SamplerKeys:
        """Return the keys of the inner sampler, some of them changed."""
        table = {"name": self.name, "epsilon": self.epsilon, "beta": self._beta(self.beta), **self.sampler}
        return self._keys.model_validate({**table, **{k: self._beta(v) for k, v in changes.items()}})

    @staticmethod
    def _beta(value: float) -> float | str:
        return "inf" if value == float("inf") else value

    @property
    def inner(self) -> SamplerKeys:
        """The keys of the inner sampler."""
        return self.inside()

    @property
    def skew_is(self) -> Any:  # type: ignore[override]
        """As the inner sampler says."""
        return self.inner.skew_is

    @property
    def skew(self) -> Any:
        """S of the inner sampler; None where it has none."""
        return getattr(self.inner, "skew", None)

    @property
    def skew_bounds(self) -> Any:
        """The bounds of its S; None where it has none."""
        return getattr(self.inner, "skew_bounds", None)

    @property
    def adapts(self) -> str:  # type: ignore[override]
        """What the inner sampler moves beside theta."""
        return self.inner.adapts

    @property
    def effective_step(self) -> float:
        """The step of the classical sampler that moves as fast."""
        return self.inner.effective_step

    @property
    def evaluations(self) -> Evaluations:
        """Evaluations per step."""
        return self.inner.evaluations

    @property
    def observations(self) -> int:  # type: ignore[override]
        """Fresh observations per step."""
        return self.inner.observations

    @property
    def told_switches(self) -> bool:  # type: ignore[override]
        """Whether it is told when the mode changes."""
        return self.inner.told_switches

    def side_by_side(self, N: int) -> bool:
        """As the inner sampler says."""
        return self.inner.side_by_side(N)

    def step_nanoseconds(self, N: int) -> float:
        """Return the rough time of a step on one core."""
        return 10.0 + 2.0 * N + self.inner.step_nanoseconds(N)
