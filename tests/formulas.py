"""Random formulas, and formulas as nobody would write them; used by tests and the soak.

``Spoken`` is a formula as text beside the same thing for mpmath, written down independently while the text is made.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import mpmath

FUNCTIONS = ["exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "atan", "cosh", "logcosh"]


class Spoken(NamedTuple):
    """A formula: its text, and a function of a list of numbers of mpmath."""

    text: str
    of: Any


def spoken(rng: random.Random, depth: int, variables: list[str]) -> Spoken:
    """Return a random smooth formula that is defined on all of [-1.5, 1.5]^N and of moderate size there."""
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.7:
            i = rng.randrange(len(variables))
            return Spoken(variables[i], lambda x: x[i])
        number = rng.choice([2.0, 0.5, 3.0, 1.25, 0.1, 7.0])
        return Spoken(repr(number), lambda _: mpmath.mpf(number))
    a = spoken(rng, depth - 1, variables)
    what = rng.randrange(8)
    if what < 4:
        b = spoken(rng, depth - 1, variables)
        if what == 0:
            return Spoken(f"({a.text} + {b.text})", lambda x: a.of(x) + b.of(x))
        if what == 1:
            return Spoken(f"({a.text} - {b.text})", lambda x: a.of(x) - b.of(x))
        if what == 2:
            return Spoken(f"{a.text}*{b.text}", lambda x: a.of(x) * b.of(x))
        return Spoken(f"{a.text}/(2 + cos({b.text}))", lambda x: a.of(x) / (2 + mpmath.cos(b.of(x))))
    if what == 4:
        n = rng.choice([2, 3, 4])
        return Spoken(f"tanh({a.text})^{n}", lambda x: mpmath.tanh(a.of(x)) ** n)
    if what == 5:
        return Spoken(
            f"(1.5 + sin({a.text}))^1.7", lambda x: (mpmath.mpf("1.5") + mpmath.sin(a.of(x))) ** mpmath.mpf("1.7")
        )
    return called(rng.choice(FUNCTIONS), a)


def called(name: str, a: Spoken) -> Spoken:
    """Return name(a), its argument brought to where it is defined and moderate."""
    if name in ("log", "sqrt"):
        inner = Spoken(f"(1 + ({a.text})^2)", lambda x: 1 + a.of(x) ** 2)
    elif name in ("exp", "cosh", "tan"):
        inner = Spoken(f"tanh({a.text})", lambda x: mpmath.tanh(a.of(x)))
    else:
        inner = a
    function = {"logcosh": lambda y: mpmath.log(mpmath.cosh(y))}.get(name) or getattr(mpmath, name)
    return Spoken(f"{name}({inner.text})", lambda x: function(inner.of(x)))


PIECES = [
    "a", "b", "c", "p", "q[0]", "q[1]", "q[9]", "q", "1", "0", "2.5", "1e308", "1e-320", "1e999", "pi", "e", "+", "-", "*", "/", "^", "(", ")",
    "[", "]", ",", "exp(", "log(", "sqrt(", "sin(", "tan(", "tanh(", "atan(", "cosh(", "logcosh(", "abs(", "min(", "max(", "^2", "^12", "^64",
    "^999999999", "^-1", "^0.5", "^a", "**", "//", "__import__", "eval(", "lambda", "os.system", "'", '"', "\\", ";", "\n", "\u0000", "=", "x9", "α",
]  # fmt: skip
TOWERS = [
    lambda n: "+".join(["a"] * n),
    lambda n: "*".join(f"(a+{i}*b)" for i in range(n)),
    lambda n: "exp(" * n + "a" + ")" * n,
    lambda n: "(" * n + "a" + "^2+b)" * n,
    lambda n: "^".join(["a"] * n),
    lambda n: "9^" * n + "9",
    lambda n: "a/" * n + "b",
    lambda n: "-" * n + "a",
    lambda n: "min(" + ",".join(["a*b"] * n) + ")",
    lambda n: "*".join(["sin(a*b)"] * n) + "+" + "*".join(["exp(b)"] * n),
    lambda n: "+".join(f"exp(-(a-{i})^2)*cos({i}*b)" for i in range(n)),
    lambda n: "(((" * n,
]


def hostile_formula(seed: int) -> str:
    """Return the ``seed``-th formula: pieces at random, towers of one operation, and random formulas that are spoilt."""
    rng = random.Random(seed)
    kind = rng.random()
    if kind < 0.4:
        return "".join(rng.choice(PIECES) for _ in range(rng.choice((1, 3, 10, 40, 300))))
    if kind < 0.6:
        return rng.choice(TOWERS)(rng.choice((1, 2, 5, 20, 60, 99, 101, 400, 3000)))
    text = spoken(rng, rng.choice((2, 4, 6, 8)), ["a", "b", "c"]).text
    for _ in range(rng.choice((0, 0, 1, 3))):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(PIECES) + text[at + rng.choice((0, 1, 5)) :]
    return text
