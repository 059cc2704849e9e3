"""What all stages of the soak share: worlds, sizes, how findings are told and counted."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import tracker

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "scenarios" / "example_a.toml").read_text()
COMMON = ("burn_in=50", "chain.alpha=0.02", 'chain.initial="stationary"')
MANY = tracker.parse(TEXT, settings=("trials=40", "steps=200_000", "record_every=2000", *COMMON))
FEW = tracker.parse(TEXT, settings=("trials=2", "steps=10_000_000", "record_every=50_000", *COMMON))
SHORT = tracker.parse(TEXT, settings=("trials=6", "steps=400", "record_every=20", *COMMON))
found_wrong: list[str] = []


class Sizes(NamedTuple):
    """How often each stage attacks; ``--long`` does ten times as much."""

    kills: int = 300
    flips: int = 3000
    scenarios: int = 50_000
    accepted: int = 100
    foreign: int = 500
    attacks: int = 400
    races: int = 30
    formulas: int = 100_000
    step_equivalents: float = 1e9


def say(name: str, **facts: object) -> None:
    """Print one finding in a line."""
    print(f"{name}: " + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in facts.items()), flush=True)


def check(condition: bool, what: str) -> None:
    """Count and print what is not as it should be."""
    if not condition:
        found_wrong.append(what)
        print(f"WRONG: {what}", flush=True)
