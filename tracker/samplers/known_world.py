"""What a baseline may know of the world: everything but the hidden mode, which only the oracle is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tracker.array_types import Array


class KnownWorld(NamedTuple):
    """A scenario, built.

    costs : the parameters of each mode's cost
    minimisers : of each mode, (M, N); None while nobody has looked for them
    transition : (S, S), of the hidden chain; the mode of state s is s // (S / X); None without a chain
    initial : (S,), the law of its first state
    dimension : N
    forced : whether switches are forced that are none of the chain's
    """

    costs: tuple[Any, ...]
    minimisers: tuple[Array, ...] | None
    transition: Array | None
    initial: Array
    dimension: int
    forced: bool = False
