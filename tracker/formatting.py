"""Write numbers and lists as parts of a sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DASH = "–"
ROUNDING = 1e-12
SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with so many significant digits: 12300, 0.0123, 1.2·10⁻⁵; a dash for nan or None."""
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}·10{str(int(exponent)).translate(SUPERSCRIPT)}".replace("-", "−")
    if float(value).is_integer() and abs(value) < 10**digits:
        return f"{int(value)}".replace("-", "−")
    rounded = float(f"{value:.{digits}g}")
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded)))) if rounded != 0 else 0
    return f"{rounded:.{places}f}".replace("-", "−")


def average(entry: Mapping[str, float | None]) -> str:
    """Return a mean with its standard error, as a summary holds them."""
    mean, stderr = entry["mean"], entry["stderr"]
    if mean is not None and stderr is not None and stderr < ROUNDING * abs(mean):
        stderr = 0.0  # what is the same in all trials differs by rounding only
    return number(mean) if stderr is None else f"{number(mean)} ± {number(stderr, 2)}"


def percent(share: float | None) -> str:
    """Return a share as per cent."""
    if share is None or math.isnan(share):
        return DASH
    if 0 < share < 5e-4:
        return "under 0.1 %"
    digits = 0 if abs(share) >= 0.1 or share == 0 else 1
    return f"{100 * share:.{digits}f} %".replace("-", "−")


def plain(value: float) -> str:
    """Return a parameter as one would write it: 0.02, not 0.0200."""
    return f"{value:.3g}".replace("-", "−")


def interval(low: float, high: float, digits: int = 3) -> str:
    """Return [low, high]."""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def listed(names: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return "1 trial", "2 trials"."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
