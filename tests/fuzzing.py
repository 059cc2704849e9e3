"""Scenario files as nobody would write them: by grammar, by mutation, the same for the same seed. Used by tests and the soak.

``hostile(seed)`` is a text. About half are spoilt in their values, a quarter in their bytes, and the rest are whole, so that
the reader, the rules behind it and the search for minimisers are all reached.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import later_keys

SCENARIOS = Path(__file__).parents[1] / "scenarios"
SHIPPED = [path.read_text() for path in sorted(SCENARIOS.glob("*.toml"))]


class Raw(str):
    """A piece of TOML that is written as it stands."""

    __slots__ = ()


ATOMS = [
    Raw(text)
    for text in (
        "nan", "-nan", "inf", "-inf", "1e400", "-1e308", "5e-324", "0", "-0.0", "-1", "1e-300", "1e300", "true", "false",
        "9223372036854775807", "-9223372036854775808", "1" + "0" * 400, "0x" + "f" * 40, "0x" + "f" * 5000, "1_0", "0b1",
        "1979-05-27T07:32:00Z", "07:32:00", '""', '"\\u0000"', '"\\u001b]0;x\\u0007"', '"inf"', '"nan"', '"1e400"', "'''a''''",
        '"random"', '"optimal"', '"stationary"', '"../../x.csv"', '"/dev/zero"', '"=cmd|x"', '"' + "a" * 5000 + '"',
        "[]", "[[]]", "[[], []]", "{}", "[1, 'a']", "[[1, 2], [3]]", "[[nan]]", "[" * 30 + "]" * 30, "{ a = { b = 1 } }",
        "[0.5, 0.5]", "[1e300, 1e300]", "[[1e300, 0], [0, 1e-300]]", "[[0, 1], [1, 0]]", "{ mean = [0], covariance = [[1]] }",
    )
]  # fmt: skip
KEYS = [
    "",
    "epsilon",
    "Q",
    "name",
    "modes",
    "samplers",
    "a.b",
    "__class__",
    "\u00e9",
    "x" * 300,
    "chain",
    "sweep",
    "skew",
]
PIECES = [
    "[", "]", "{", "}", "=", "\n", '"', "'''", '"""', "#", ".", ",", "[[modes]]", "[chain]", "\x00", "\ufeff", "\r",
    "\\", "1e9999", "a^12", "^^", "(((", "- -", "/0", "\u202e", "[[samplers]]\n", "x = 1\n", "a.b.c.d = 1\n",
]  # fmt: skip


def hostile(seed: int) -> str:
    """Return the ``seed``-th file; those of odd seeds know the later keys, too."""
    rng = random.Random(seed)
    text = rng.choice(SHIPPED) if rng.random() < 0.15 else written(spoilt(seed, rng))
    for _ in range(rng.choice((0, 0, 0, 0, 0, 1) if seed % 2 else (0, 0, 0, 1, 1, 3))):
        text = rng.choice(BYTEWISE)(text, rng)
    return text


def spoilt(seed: int, rng: random.Random) -> dict[str, Any]:
    """Return the tables of a scenario; values are spoilt with a probability of their own."""
    data = grammar(rng)
    if seed % 2:
        later_keys.enriched(data, random.Random(f"later keys of {seed}"))
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 5))):
        spoil(data, rng)
    return data


def grammar(rng: random.Random) -> dict[str, Any]:
    """Return the tables of a scenario."""
    N, X = rng.choice((1, 1, 2, 2, 2, 3, 6)), rng.choice((1, 2, 2, 2, 3, 8))
    modes = [{"name": f"m{x}", **cost(rng, N)} for x in range(X)]
    data: dict[str, Any] = {
        "name": "fuzz",
        "seed": rng.randrange(10**6),
        "trials": rng.choice((1, 2, 5, 10**9)) if rng.random() < 0.1 else 2,
        "steps": rng.choice((1, 7, 200, 200, 10**12 if rng.random() < 0.1 else 100)),
        "start": vector(rng, N),
        "modes": modes,
        "samplers": [{"name": f"s{s}", **sampler(rng, N)} for s in range(rng.choice((1, 1, 2, 4)))],
    }
    if rng.random() < 0.2:
        data["start"] = {"mean": vector(rng, N), "covariance": definite(rng, N)}
    for key, most in (("burn_in", 100), ("record_every", 300)):
        if rng.random() < 0.2:
            data[key] = rng.randrange(most)
    if X > 1 and rng.random() < 0.85:
        data["chain"] = {"alpha": rng.choice((1e-4, 0.01, 0.2, 1.0)), "Q": generator(rng, X)}
        if rng.random() < 0.3:
            data["chain"]["initial"] = rng.choice(("stationary", "m0", "m9", [1.0 / X] * X))
    elif X > 1:
        data["schedule"] = {"switches": [[10 * n, f"m{rng.randrange(X)}"] for n in range(rng.choice((1, 3, 40)))]}
    if rng.random() < 0.15:
        data["interventions"] = [intervention(rng, X) for _ in range(rng.choice((1, 3)))]
    if rng.random() < 0.1:
        data["sweep"] = {
            rng.choice(("chain.alpha", "samplers.*.epsilon", "modes.m0.minimum", "seed", "x.y")): [0.01, 0.02]
        }
    return data


def cost(rng: random.Random, N: int) -> dict[str, Any]:
    """Return the keys of a mode."""
    family = rng.choice(("quadratic", "quadratic", "polynomial", "polynomial", "mixture", "logistic"))
    keys: dict[str, Any] = {"cost": family}
    if family == "quadratic":
        keys |= {"minimum": vector(rng, N), "curvature": definite(rng, N)}
    elif family == "polynomial":
        variables = [f"v{d}" for d in range(N)]
        keys |= {"variables": variables, "formula": polynomial(rng, variables)}
        if rng.random() < 0.1:
            keys["basis"] = definite(rng, N)
    elif family == "mixture":
        keys |= {
            "means": [vector(rng, N), vector(rng, N)],
            "variance": rng.choice((0.01, 2.0, 1e4)),
            "prior_mean": vector(rng, N),
            "prior_variance": [rng.choice((1.0, 10.0, 1e6)) for _ in range(N)],
            "horizon": rng.choice((1, 20, 100)),
            "data": rng.choice(("stream", "sweep", "shuffle", "full")),
            "truth": vector(rng, N),
        }
    else:
        keys |= later_keys.logistic_rows(N)
    if family in ("quadratic", "polynomial") and rng.random() < 0.6:
        keys["gradient_noise"] = rng.choice((definite(rng, N), [[0.0] * N] * N, 1.0))
    if rng.random() < 0.2:
        keys["target"] = {"radius": rng.choice((0.1, 1.0, 1e9))}
    return keys


def polynomial(rng: random.Random, variables: Sequence[str]) -> str:
    """Return a formula: wells, ridges, forms that are not bounded below, and what is no formula."""
    v = rng.choice(variables)
    w = rng.choice(variables)
    bowl = " + ".join(f"{rng.choice(('0.5', '1', '3.7', '25'))}*{u}^{rng.choice((2, 2, 4))}" for u in variables)
    return rng.choice(
        (
            bowl,
            f"({v}^2 - {rng.choice((1, 4, 9))})^2 + {bowl}",
            f"{bowl} - {v}",
            f"({v} - {w})^4 + 1e-4*({v} + {w})^2 - {v}",
            f"{v}^4 + {w}^4 - 3*{v}^2*{w}^2",
            f"{v}^{rng.choice((1, 3, 6, 12, 13))} + {bowl}",
            f"({'+'.join(variables)} + 1)^{rng.choice((2, 6, 12))}",
            f"{bowl} / {rng.choice(('0', '2', v))}",
            "(" * rng.choice((1, 40, 400)) + bowl,
            f"{v}" + f"*{v}" * rng.choice((3, 11, 20)),
            rng.choice(("", "1", "exp(1)", "__import__('os')", "a" * 3000, "-" * 500 + "1")),
        )
    )


def sampler(rng: random.Random, N: int) -> dict[str, Any]:
    """Return the keys of a sampler."""
    kind = rng.choice(
        ("langevin", "langevin", "accelerated", "hessian", "spsa", "two-timescale-spsa", "wandering", "tempered")
    )
    keys: dict[str, Any] = {"kind": kind, "epsilon": rng.choice((1e-4, 0.01, 0.3, 10.0))}
    if rng.random() < 0.5:
        keys["beta"] = rng.choice((0.05, 1.0, 20.0, "inf"))
    if kind in ("accelerated", "hessian", "spsa", "two-timescale-spsa", "wandering"):
        keys["skew"] = rng.choice(("random", "random", "optimal", 0.7, skew(rng, N)))
    if kind in ("hessian", "spsa", "two-timescale-spsa", "wandering"):
        keys |= {
            "skew_step": rng.choice((1e-4, 0.1, -0.1)),
            "skew_bounds": rng.choice(([-5.0, 5.0], [0.0, 0.0], [1, -1])),
        }
    if kind == "two-timescale-spsa":
        keys["inner_steps"] = rng.choice((1, 5, 10**9 if rng.random() < 0.1 else 2))
    if kind == "tempered":
        keys |= {"noise_step": 0.01, "noise_bounds": [0.1, 2.0]}
        # the rivals came later: these draws leave the scenarios of the other seeds as they were
        rival = rng.choice(("", "", "adaptive-step", "kinetic", "psgld"))
        if rival:
            keys = {key: keys[key] for key in ("epsilon", "beta") if key in keys} | {"kind": rival}
            keys |= {"adaptive-step": {"epsilon_step": rng.choice((1e-6, -0.1)), "epsilon_bounds": [1e-4, 0.3]},
                     "kinetic": {"friction": rng.choice((0.5, 5.0, 1e9))},
                     "psgld": {"second_decay": rng.choice((0.0, 0.99, 1.0)), "floor": rng.choice((1e-5, 0.0))}}[rival]  # fmt: skip
    return keys


def intervention(rng: random.Random, X: int) -> dict[str, Any]:
    """Return a forced switch or an outage."""
    at = rng.choice((0, 10, 10, 10**6))
    return {"at": at, "kind": "outage", "steps": 5} if rng.random() < 0.5 else {"at": at, "kind": "switch", "to": f"m{rng.randrange(X)}"}  # fmt: skip


def vector(rng: random.Random, N: int) -> list[float]:
    """Return a point; now and then a far one."""
    far = rng.choice((1.0, 1.0, 1.0, 1e6))
    return [far * round(rng.uniform(-3, 3), 3) for _ in range(N)]


def definite(rng: random.Random, N: int) -> list[list[float]]:
    """Return a symmetric matrix, mostly positive definite."""
    scale = rng.choice((1.0, 1.0, 1.0, 1e-6, 1e6))
    off = rng.choice((0.0, 0.3, 0.3, 5.0))
    return [[scale * (1.0 + d if d == e else off) for e in range(N)] for d in range(N)]


def skew(rng: random.Random, N: int) -> list[list[float]]:
    """Return a skew matrix."""
    s = rng.choice((0.5, 6.0, 1e6))
    return [[s * (d > e) - s * (d < e) for e in range(N)] for d in range(N)]


def generator(rng: random.Random, X: int) -> list[list[float]]:
    """Return a generator: full, a cycle, or reducible."""
    kind = rng.choice(("full", "full", "cycle", "absorbing"))
    rates = [[float(x != y) for y in range(X)] for x in range(X)]
    if kind == "cycle":
        rates = [[float(y == (x + 1) % X) for y in range(X)] for x in range(X)]
    if kind == "absorbing":
        rates[0] = [0.0] * X
    return [[-sum(row) if x == y else rate for y, rate in enumerate(row)] for x, row in enumerate(rates)]


def spoil(table: Any, rng: random.Random) -> None:
    """Change one place of nested tables and lists for the worse."""
    keys = list(table) if isinstance(table, dict) else list(range(len(table)))
    if not keys:
        return
    key = rng.choice(keys)
    if isinstance(table[key], (dict, list)) and table[key] and rng.random() < 0.7:
        spoil(table[key], rng)
        return
    way = rng.random()
    if way < 0.6:
        table[key] = rng.choice(ATOMS)
    elif way < 0.75:
        del table[key]
    elif isinstance(table, dict):
        table[rng.choice(KEYS)] = rng.choice(ATOMS)
    else:
        table.extend([table[key]] * rng.choice((1, 3, 200)))


def _cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _inserted(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice(PIECES) * rng.choice((1, 1, 2, 100)) + text[place:]


def _dropped(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if rng.random() > 1.0 / max(1, len(lines)))


def _doubled(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True) or [""]
    line = rng.randrange(len(lines))
    return "".join(lines[: line + 1] + lines[line:])


def _swapped(text: str, rng: random.Random) -> str:
    if len(text) < 2:
        return text
    a, b = sorted(rng.sample(range(len(text)), 2))
    return text[:a] + text[b] + text[a + 1 : b] + text[a] + text[b + 1 :]


def _renumbered(text: str, rng: random.Random) -> str:
    places = [n for n, letter in enumerate(text) if letter.isdigit()]
    if not places:
        return text
    n = rng.choice(places)
    return text[:n] + rng.choice(("9" * 30, "-", "0", "e", "_", ".", "7")) + text[n + 1 :]


BYTEWISE: list[Callable[[str, random.Random], str]] = [_cut, _inserted, _dropped, _doubled, _swapped, _renumbered]


def written(data: dict[str, Any]) -> str:
    """Return tables as TOML; what is ``Raw`` stands as it is."""
    plain = {key: entry for key, entry in data.items() if not _is_tables(entry)}
    lines = [f"{_key(key)} = {_value(entry)}" for key, entry in plain.items()]
    for key, entry in data.items():
        if _is_tables(entry):
            for table in entry:
                lines += ["", f"[[{_key(key)}]]", *(f"{_key(k)} = {_value(v)}" for k, v in table.items())]
    return "\n".join(lines) + "\n"


def _is_tables(entry: Any) -> bool:
    return isinstance(entry, list) and bool(entry) and all(isinstance(table, dict) for table in entry)


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if bare else '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _value(entry: Any) -> str:
    if isinstance(entry, Raw):
        return str(entry)
    if isinstance(entry, str):
        return '"' + entry.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(entry, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in entry.items()) + " }"
    if isinstance(entry, list):
        return "[" + ", ".join(_value(item) for item in entry) + "]"
    return repr(entry).lower() if isinstance(entry, bool) else repr(entry)
