"""Write numbers and lists as parts of a sentence. There is one way to write a power of ten: 1.2 × 10⁻⁵."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DASH = "–"
ROUNDING = 1e-12
SMALLEST, LARGEST = 1e-4, 1e7  # of numbers that are written without a power of ten
DIGITS_OF_AN_ERROR = 2
MOST_PLACES = 6  # after the point
_POWER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?e[+-]?\d+(?!\w)")
MOST_NAMES = 4  # in a sentence; more become a count
SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with so many significant digits: 12,300, 0.0123, 1.2 × 10⁻⁵; a dash for nan or None."""
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and not SMALLEST <= abs(value) < LARGEST:
        return power_of_ten(value, digits)
    if float(value).is_integer() and abs(value) < 10**digits:
        return _signed(f"{int(value):,}")
    rounded = float(f"{value:.{digits}g}")
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded)))) if rounded != 0 else 0
    return _signed(f"{rounded:,.{places}f}")


def step_size(epsilon: float, effective: float | None = None) -> str:
    """Return a step, and beside it that of the classical sampler which moves as fast, where it is another."""
    if effective is None or math.isclose(epsilon, effective, rel_tol=1e-9):
        return plain(epsilon)
    return f"{plain(epsilon)} (effective {plain(effective)})"


def power_of_ten(value: float, digits: int = 3) -> str:
    """Return 1.2 × 10⁻⁵, and 10⁻⁵ for 1 × 10⁻⁵."""
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    power = f"10{str(int(exponent)).translate(SUPERSCRIPT)}"
    return _signed(power if mantissa == "1" else f"-{power}" if mantissa == "-1" else f"{mantissa} × {power}")


def whole(value: float | None) -> str:
    """Return a count: 1,000,000; what lies between two counts is rounded."""
    if value is None or not math.isfinite(value) or abs(value) >= LARGEST:
        return number(value)
    return _signed(f"{round(value):,}")


def average(entry: Mapping[str, float | None]) -> str:
    """Return a mean with its standard error, as a summary holds them."""
    return plus_minus(entry["mean"], entry["stderr"])


def plus_minus(mean: float | None, error: float | None) -> str:
    """Return a mean ± its error: the error with two digits, the mean to the same place; a mean without an error alone.

    What is the same in all trials differs by rounding only, and has no error.
    """
    if mean is None or math.isnan(mean) or error is None or not math.isfinite(error):
        return number(mean)
    if error <= ROUNDING * abs(mean):
        return number(mean)
    places = DIGITS_OF_AN_ERROR - 1 - math.floor(math.log10(float(f"{error:.{DIGITS_OF_AN_ERROR - 1}e}")))
    if abs(mean) >= LARGEST or places > MOST_PLACES:
        return f"{number(mean, 4)} ± {number(error, DIGITS_OF_AN_ERROR)}"
    shown = [round(value, places) for value in (mean, error)]
    return " ± ".join(_signed(f"{value:,.{max(0, places)}f}") for value in shown)


def in_words(text: str) -> str:
    """Return a message of another room with its powers of ten written as everywhere: 6.15e-08 as 6.15 × 10⁻⁸."""
    return _POWER.sub(lambda found: number(float(found[0])), text)


def percent(share: float | None) -> str:
    """Return a share as per cent."""
    if share is None or math.isnan(share):
        return DASH
    if 0 < share < 5e-4:
        return "under 0.1 %"
    if 0.995 <= share < 1.0:  # not all of it
        return f"{100 * share:.1f} %" if share < 0.9995 else "over 99.9 %"
    digits = 0 if abs(share) >= 0.1 or share == 0 else 1
    return _signed(f"{100 * share:.{digits}f} %")


def times_or_percent(ratio: float) -> str:
    """Return what stands before the thing it is a ratio to: "5.2 % of" below 1, "18 times" above."""
    return f"{percent(ratio)} of" if ratio < 1.0 else f"{number(ratio, 2)} times"


def percent_with_interval(share: float, low: float, high: float) -> str:
    """Return "65 % (59 to 70 %)", with as many digits as the width of the interval is worth."""
    digits = digits_of_percent(low, high)
    middle, lower, upper = (_signed(f"{100 * value:.{digits}f}") for value in (share, low, high))
    return f"{middle} % ({lower} to {upper} %)"


def digits_of_percent(low: float, high: float) -> int:
    """Return how many digits behind the point the width of an interval of shares is worth, in per cent."""
    width = 100.0 * (high - low)
    digits = min(3, max(0, -math.floor(math.log10(width)))) if width > 0.0 else 0
    while digits < 3 and any(end != 0.0 and round(100.0 * end, digits) == 0.0 for end in (low, high)):
        digits += 1  # an end that is not 0 is not written as 0
    return digits


def plain(value: float) -> str:
    """Return a parameter as one would write it: 0.02, not 0.0200; 2 × 10⁻⁵."""
    if value != 0 and math.isfinite(value) and not SMALLEST <= abs(value) < LARGEST:
        return power_of_ten(value)
    return number(value) if not math.isfinite(value) else _signed(f"{float(f'{value:.3g}'):,}".removesuffix(".0"))


def interval(low: float, high: float, digits: int = 3) -> str:
    """Return [low, high]."""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def with_interval(estimate: float, low: float, high: float, pivot: float | None = None) -> str:
    """Return "1.037 [1.034, 1.040]": two digits of the interval's width, and more where an end would be rounded to ``pivot``."""
    values, width = (estimate, low, high), high - low
    if not all(map(math.isfinite, values)) or width <= ROUNDING * max(map(abs, values)):
        return f"{number(estimate)} {interval(low, high)}"
    places = max(0, DIGITS_OF_AN_ERROR - 1 - math.floor(math.log10(width)))
    while pivot is not None and places < MOST_PLACES and any(v != pivot and round(v, places) == pivot for v in values):
        places += 1
    if places > MOST_PLACES or max(map(abs, values)) >= LARGEST:
        return f"{number(estimate)} {interval(low, high)}"
    shown = [_signed(f"{value:,.{places}f}") for value in values]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]"


def listed(names: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def few(names: Sequence[str], noun: str, of: int | None = None) -> str:
    """Return the names of a few, and the count of many: "all 15 samplers" where these are all that there are."""
    if len(names) <= MOST_NAMES:
        return listed(names)
    return f"all {counted(len(names), noun)}" if len(names) == of else counted(len(names), noun)


def who(names: Sequence[str], noun: str, of: int | None = None) -> str:
    """Return ``few`` for the beginning of a sentence: names are not changed, a count begins with a capital letter."""
    return listed(names) if len(names) <= MOST_NAMES else sentence(few(names, noun, of))


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return "1 trial", "2 trials", "20,000 trials"."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def sentence(text: str) -> str:
    """Return the text with a capital letter in front."""
    return text[:1].upper() + text[1:]


def _signed(text: str) -> str:
    """Write a minus as one."""
    return text.replace("-", "−")
