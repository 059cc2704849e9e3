"""Small faults, by the room in which they are planted."""

from planted.base import Fault
from planted.engine import ENGINE
from planted.theory import THEORY
from planted.told import TOLD
from planted.verdicts import VERDICTS
from planted.worlds import WORLDS

ROOMS: dict[str, list[Fault]] = {**WORLDS, **ENGINE, **THEORY, **VERDICTS, **TOLD}

__all__ = ["ROOMS", "Fault"]
