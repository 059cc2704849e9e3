"""Small files that ask for much: each must be refused, or read, within two seconds of CPU and 500 MB.

``BOMBS`` maps a name to a function that returns the files of one bomb by name; the scenario is ``FILE``. The same files
come out every time, so that the tests and a soak run speak of the same things.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from bomb_parts import FILE, FIVE, SAMPLER, Files, generator, logistic, polynomial, quadratic, scenario
from later_bombs import LATER_BOMBS

SECONDS, BYTES = 2.0, 500e6  # of CPU, and of memory beyond what the program itself needs

# What takes longer to validate than to read: work that grows with what was asked for, told first and open to Ctrl-C.
ANNOUNCED_SECONDS = 30.0
ANNOUNCED = (
    "the_same_heavy_formula_in_modes",
    "formula_in_many_variables",
    "formula_of_many_variables",
    "data_of_the_largest_horizon",
    "ten_thousand_seeds",
    "ten_thousand_wide_starts",
    "a_hundred_samplers_of_a_hundred_modes",
    "csv_of_millions_of_cells",
    "csv_of_many_columns",
)

HEAVY = "(a+b+c+d+e)^12"  # 1820 terms


def _names(count: int, length: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["m" + "".join(rng.choices("abcdefgh", k=length)) for _ in range(count)]


def _modes(names: list[str]) -> str:
    return "\n".join(quadratic(name) for name in names)


def unknown_switches() -> Files:
    names = _names(100, 12, 1)
    strangers = [name[:-1] + "x" + str(n % 7) for n, name in enumerate(names * 50)]
    switches = ", ".join(f'[{n}, "{name}"]' for n, name in enumerate(strangers))
    return scenario(f"[schedule]\nswitches = [{switches}]\n", _modes(names))


def unknown_targets_of_interventions() -> Files:
    names = _names(100, 50, 2)
    events = "\n".join(
        f'[[interventions]]\nkind = "switch"\nat = {n}\nto = "{name}y"' for n, name in enumerate(names[:100])
    )
    return scenario(generator(100), _modes(names), events)


def unknown_keys() -> Files:
    strangers = "\n".join(f"trialz{n} = 1" for n in range(9000))
    return {FILE: f"{strangers}\n{scenario(quadratic('m'))[FILE]}"}


def unknown_axes() -> Files:
    axes = "\n".join(f'"modes.*.minimun{n}" = [1]' for n in range(6000))
    return scenario(quadratic("m"), f"[sweep]\n{axes}\n")


def unknown_axes_among_many_modes() -> Files:
    names = _names(100, 20, 3)
    axes = "\n".join(f'"modes.{name}.minimun" = [[1.0]]' for name in names)
    return scenario(generator(100), _modes(names), f"[sweep]\n{axes}\n")


def heavy_formulas_in_a_sweep() -> Files:
    values = ", ".join(f'"{HEAVY} + {n}*a^2"' for n in range(300))
    return scenario(polynomial("m", FIVE, "a^2+b^2+c^2+d^2+e^2"), f'[sweep]\n"modes.m.formula" = [{values}]\n', N=5)


def heavy_formulas_in_modes() -> Files:
    modes = "\n".join(polynomial(f"m{n}", FIVE, f"{HEAVY} + {n + 1}*a^2") for n in range(100))
    return scenario(generator(100), modes, N=5)


def the_same_heavy_formula_in_modes() -> Files:
    return scenario(generator(100), "\n".join(polynomial(f"m{n}", FIVE, HEAVY) for n in range(100)), N=5)


def heavy_formulas_crossed() -> Files:
    values = ", ".join(f'"{HEAVY} + {n}*a^2"' for n in range(90))
    modes = [polynomial(name, FIVE, "a^2+b^2+c^2+d^2+e^2") for name in ("m", "n")]
    axes = f'[sweep]\n"modes.m.formula" = [{values}]\n"modes.n.formula" = [{values}]\n'
    return scenario(generator(2), *modes, axes, N=5)


def formulas_that_vanish() -> Files:
    """Much is multiplied out, and nothing is left of it."""
    modes = "\n".join(polynomial(f"m{n}", FIVE, f"{HEAVY} - {HEAVY} + a^2 + {n}") for n in range(100))
    return scenario(generator(100), modes, N=5)


def formula_of_many_terms() -> Files:
    rng = random.Random(4)
    names = [f"x{i}" for i in range(12)]
    terms = "+".join(f"{rng.random():.3f}*{rng.choice(names)}*{rng.choice(names)}" for _ in range(600))
    squares = "+".join(f"99*{name}^4" for name in names)
    return scenario(polynomial("m", ", ".join(f'"{n}"' for n in names), f"{squares}+{terms}"), N=12)


def formula_of_many_brackets() -> Files:
    return scenario(polynomial("m", '"a"', "(" * 4000 + "a^2" + ")" * 4000))


def formula_of_many_signs() -> Files:
    return scenario(polynomial("m", '"a"', "-" * 9000 + "a^2"))


def formula_of_many_powers() -> Files:
    return scenario(polynomial("m", '"a"', "a" + "^1" * 4900))


def formula_of_a_long_number() -> Files:
    return scenario(polynomial("m", '"a"', "9" * 9000 + "*a^2"))


def formula_of_a_huge_exponent() -> Files:
    return scenario(polynomial("m", '"a"', "a^" + "9" * 300))


def formula_in_many_variables() -> Files:
    names = [f"x{i}" for i in range(500)]
    formula = "+".join(f"{name}^2" for name in names)
    return scenario(polynomial("m", ", ".join(f'"{n}"' for n in names), formula), N=500)


def formula_whose_square_is_wide() -> Files:
    names = [f"x{i}" for i in range(150)]
    formula = f"({'+'.join(names)})^2"
    return scenario(polynomial("m", ", ".join(f'"{n}"' for n in names), formula), N=150)


def forms_close_to_zero() -> Files:
    """Whether it is bounded below is decided only by comparing boxes, in many dimensions."""
    names = [f"x{i}" for i in range(30)]
    pairs = "+".join(f"({a}-{b})^4" for a, b in pairwise(names))
    modes = [
        polynomial(f"m{n}", ", ".join(f'"{x}"' for x in names), f"{pairs}+1e-4*({'+'.join(names)})^2-{n}*x0")
        for n in range(30)
    ]
    return scenario(generator(30), *modes, N=30)


def quotes_that_blind() -> Files:
    return {FILE: "x = {a = '''a'''', b" + ".b" * 90_000 + " = 1}\n"}


def double_quotes_that_blind() -> Files:
    return {FILE: 'x = {a = """a""""", b' + ".b" * 90_000 + " = 1}\n"}


def deep_brackets() -> Files:
    return {FILE: "x = " + "[" * 90_000 + "]" * 90_000 + "\n"}


def deep_tables() -> Files:
    return {FILE: "x = " + "{a=" * 60_000 + "1" + "}" * 60_000 + "\n"}


def deep_header() -> Files:
    return {FILE: "[" + ".".join(["a"] * 90_000) + "]\n"}


def many_headers() -> Files:
    return {FILE: "".join(f"[a{n}.b.c.d]\n" for n in range(14_000))}


def many_tables_of_one_array() -> Files:
    return {FILE: "[[modes]]\n" * 19_000}


def many_quotes() -> Files:
    return {FILE: "x = '" * 40_000}


def many_lines_of_one_string() -> Files:
    return {FILE: 'x = """' + "\\\n" * 95_000}


def ten_thousand_seeds() -> Files:
    return scenario(quadratic("m"), f'[sweep]\n"seed" = {list(range(10_000))}\n')


def ten_thousand_seeds_of_many_samplers() -> Files:
    more = "\n".join(f'[[samplers]]\nname = "s{n}"\nkind = "langevin"\nepsilon = 0.01' for n in range(99))
    names = _names(100, 6, 5)
    return scenario(generator(100), _modes(names), more, f'[sweep]\n"seed" = {list(range(10_000))}\n')


def ten_thousand_steps_of_all_samplers() -> Files:
    more = "\n".join(f'[[samplers]]\nname = "s{n}"\nkind = "langevin"\nepsilon = 0.01' for n in range(99))
    values = ", ".join(f"{n}e-6" for n in range(1, 10_001))
    return scenario(quadratic("m"), more, f'[sweep]\n"samplers.*.epsilon" = [{values}]\n')


def ten_thousand_chains() -> Files:
    values = ", ".join(f"{n}e-6" for n in range(1, 10_001))
    return scenario(generator(60), _modes(_names(60, 6, 6)), f'[sweep]\n"chain.alpha" = [{values}]\n')


def ten_thousand_wide_starts() -> Files:
    return scenario(quadratic("m", 60), f'[sweep]\n"seed" = {list(range(10_000))}\n', N=60)


def fifteen_thousand_axes() -> Files:
    axes = "\n".join(f'"a{n}"=[1]' for n in range(15_000))
    return scenario(quadratic("m"), f"[sweep]\n{axes}\n")


def axes_of_one_value_beside_many() -> Files:
    names = _names(100, 6, 7)
    axes = "\n".join(f'"modes.{name}.minimum" = [[1.0]]' for name in names)
    sweep = f'[sweep]\n"seed" = {list(range(10_000))}\n{axes}\n'
    return scenario(generator(100), _modes(names), sweep)


def bad_values_in_a_sweep() -> Files:
    return scenario(quadratic("m"), f'[sweep]\n"trials" = {[-n for n in range(1, 9000)]}\n')


def a_hundred_samplers_of_a_hundred_modes() -> Files:
    more = "\n".join(f'[[samplers]]\nname = "s{n}"\nkind = "langevin"\nepsilon = 0.01' for n in range(99))
    return scenario(generator(100), _modes(_names(100, 6, 8)), more)


def twice_the_same_names() -> Files:
    more = '[[samplers]]\nname = "s"\nkind = "langevin"\nepsilon = 0.01\n' * 99
    return scenario(generator(100), _modes(["m"] * 100), more)


def huge_generator() -> Files:
    return scenario(generator(220), _modes(_names(100, 6, 9)))


def generator_of_rates_far_apart() -> Files:
    X = 100
    rng = random.Random(10)
    rows = []
    for i in range(X):
        row = [0.0 if j == i else float(f"{rng.random():.2f}e{rng.randrange(-20, 0)}") for j in range(X)]
        row[i] = -sum(row)
        rows.append(row)
    return scenario(f"[chain]\nalpha = 0.01\nQ = {rows}\n", _modes(_names(X, 6, 11)))


def huge_curvature() -> Files:
    return scenario(quadratic("m", 180), N=180)


def huge_skew() -> Files:
    N = 180
    rows = ", ".join("[" + ", ".join("0" for _ in range(N)) + "]" for _ in range(N))
    more = f'[[samplers]]\nname = "w"\nkind = "accelerated"\nepsilon = 0.01\nskew = [{rows}]\n'
    names = ", ".join(f'"x{i}"' for i in range(N))
    return scenario(polynomial("m", names, "+".join(f"x{i}^2" for i in range(N))), more, N=N)


def ragged_matrix() -> Files:
    rows = ", ".join("[" + ", ".join(["1"] * n) + "]" for n in range(1, 350))
    return scenario(f'[[modes]]\nname = "m"\ncost = "quadratic"\nminimum = [0.0]\ncurvature = [{rows}]\n')


def mixture(keys: str) -> str:
    """Return a mode."""
    return (
        '[[modes]]\nname = "m"\ncost = "mixture"\nmeans = [[1.0, 0.0], [0.0, 1.0]]\nvariance = 1.0\n'
        f"prior_mean = [0.0, 0.0]\nprior_variance = [1.0]\ntruth = [0.0, 1.0]\n{keys}\n"
    )


def data_of_a_huge_horizon() -> Files:
    return scenario(mixture(f'data = "sweep"\ndata_seed = 1\nhorizon = {10**15}'), N=2)


def data_of_a_large_horizon() -> Files:
    return scenario(mixture(f'data = "full"\ndata_seed = 1\nhorizon = {10**6}'), N=2)


def data_of_the_largest_horizon() -> Files:
    return scenario(mixture(f'data = "full"\ndata_seed = 1\nhorizon = {10**5}'), N=2)


def data_of_a_huge_seed() -> Files:
    return scenario(mixture(f'data = "sweep"\ndata_seed = 0x{"f" * 100_000}\nhorizon = 10'), N=2)


def many_modes_of_large_data() -> Files:
    modes = [
        mixture(f'data = "sweep"\ndata_seed = {n}\nhorizon = {10**5}').replace('"m"', f'"m{n}"') for n in range(50)
    ]
    return scenario(generator(50), *modes, N=2)


def many_observations() -> Files:
    return scenario(mixture(f'data = "sweep"\nhorizon = 60000\nobservations = {[n % 7 for n in range(60_000)]}'), N=2)


def csv_of_many_cells() -> Files:
    return {**scenario(logistic("d.csv"), N=2), "d.csv": "x,y\n" + "1,0\n0,1\n" * 148_000}


def csv_of_millions_of_cells() -> Files:
    return {**scenario(logistic("d.csv"), N=2), "d.csv": "x,y\n" + "1,0\n0,1\n" * 1_200_000}


def csv_of_short_rows() -> Files:
    return {**scenario(logistic("d.csv"), N=2), "d.csv": "y\n" + "1\n0\n" * 295_000}


def csv_of_exponents() -> Files:
    return {**scenario(logistic("d.csv"), N=2), "d.csv": "x,y\n" + "1e0,0\n2e0,1\n" * 148_000}


def csv_of_many_columns() -> Files:
    names = [f"x{n}" for n in range(400)]
    rows = "\n".join(",".join(str((n * 7 + k * 3) % 11) for k in range(400)) + f",{n % 2}" for n in range(2000))
    features = ", ".join(f'"{name}"' for name in names)
    return {**scenario(logistic("d.csv", features), N=401), "d.csv": ",".join(names) + ",y\n" + rows}


def csv_of_too_many_columns() -> Files:
    return {**scenario(logistic("d.csv"), N=2), "d.csv": ",".join(f"c{n}" for n in range(900_000)) + "\n1,2\n"}


def csv_of_one_cell() -> Files:
    return {**scenario(logistic("d.csv"), N=2), "d.csv": "x,y\n" + "1" * 9_000_000 + ",0\n"}


def csv_of_one_quote() -> Files:
    return {**scenario(logistic("d.csv"), N=2), "d.csv": 'x,y\n"' + "1\n" * 4_000_000}


def csv_of_commas() -> Files:
    return {**scenario(logistic("d.csv"), N=2), "d.csv": "x,y\n" + "," * 9_000_000 + "\n"}


def csv_of_empty_lines() -> Files:
    return {**scenario(logistic("d.csv"), N=2), "d.csv": "x,y\n" + "\n" * 9_000_000}


def csv_for_many_modes() -> Files:
    modes = [logistic("d.csv").replace('"m"', f'"m{n}"') for n in range(100)]
    return {**scenario(generator(100), *modes, N=2), "d.csv": "x,y\n" + "1,0\n0,1\n" * 100_000}


def in_place_of(before: str, after: str) -> Callable[[], Files]:
    """Return the plain file with ``after`` in place of ``before``."""

    def made() -> Files:
        whole = scenario(quadratic("m"))[FILE]
        assert before in whole
        return {FILE: whole.replace(before, after, 1)}

    return made


LONG = "0x" + "f" * 5000

BOMBS: dict[str, Callable[[], Files]] = {
    made.__name__.strip("_"): made
    for made in (
        unknown_switches,
        unknown_targets_of_interventions,
        unknown_keys,
        unknown_axes,
        unknown_axes_among_many_modes,
        heavy_formulas_in_a_sweep,
        heavy_formulas_in_modes,
        the_same_heavy_formula_in_modes,
        heavy_formulas_crossed,
        formulas_that_vanish,
        formula_of_many_terms,
        formula_of_many_brackets,
        formula_of_many_signs,
        formula_of_many_powers,
        formula_of_a_long_number,
        formula_of_a_huge_exponent,
        formula_in_many_variables,
        formula_whose_square_is_wide,
        forms_close_to_zero,
        quotes_that_blind,
        double_quotes_that_blind,
        deep_brackets,
        deep_tables,
        deep_header,
        many_headers,
        many_tables_of_one_array,
        many_quotes,
        many_lines_of_one_string,
        ten_thousand_seeds,
        ten_thousand_seeds_of_many_samplers,
        ten_thousand_steps_of_all_samplers,
        ten_thousand_chains,
        ten_thousand_wide_starts,
        fifteen_thousand_axes,
        axes_of_one_value_beside_many,
        bad_values_in_a_sweep,
        a_hundred_samplers_of_a_hundred_modes,
        twice_the_same_names,
        huge_generator,
        generator_of_rates_far_apart,
        huge_curvature,
        huge_skew,
        ragged_matrix,
        data_of_a_huge_horizon,
        data_of_a_large_horizon,
        data_of_the_largest_horizon,
        data_of_a_huge_seed,
        many_modes_of_large_data,
        many_observations,
        csv_of_many_cells,
        csv_of_millions_of_cells,
        csv_of_short_rows,
        csv_of_exponents,
        csv_of_many_columns,
        csv_of_too_many_columns,
        csv_of_one_cell,
        csv_of_one_quote,
        csv_of_commas,
        csv_of_empty_lines,
        csv_for_many_modes,
        *LATER_BOMBS,
    )
} | {
    f"many_digits_{key}": in_place_of(before, after)
    for key, before, after in (
        ("name", 'name = "bomb"', f"name = {LONG}"),
        ("trials", "trials = 2", f"trials = {LONG}"),
        ("steps", "steps = 100", f"steps = {LONG}"),
        ("seed", "steps = 100", f"steps = 100\nseed = {LONG}"),
        ("burn_in", "steps = 100", f"steps = 100\nburn_in = {LONG}"),
        ("start", "start = [0.0]", f"start = [{LONG}]"),
        ("cost", 'cost = "quadratic"', f"cost = {LONG}"),
        ("kind", 'kind = "langevin"', f"kind = {LONG}"),
        ("intervention", SAMPLER, f"[[interventions]]\nkind = {LONG}\n{SAMPLER}"),
        ("at", SAMPLER, f'[[interventions]]\nkind = "switch"\nat = {LONG}\nto = "m"\n{SAMPLER}'),
        ("epsilon", "epsilon = 0.01", f"epsilon = {LONG}"),
        ("unknown", "steps = 100", f"steps = 100\nstranger = {LONG}"),
        ("modes", SAMPLER, SAMPLER + f"[[modes]]\nname = {LONG}\n"),
        ("switches", SAMPLER, f'[schedule]\nswitches = [[{LONG}, "m"], [{LONG}, {LONG}]]\n{SAMPLER}'),
        ("sweep", SAMPLER, f'{SAMPLER}[sweep]\n"seed" = [{LONG}, 1]\n'),
        ("swept_cost", SAMPLER, f'{SAMPLER}[sweep]\n"modes.m.cost" = [{LONG}]\n'),
        ("swept_text", SAMPLER, f'{SAMPLER}[sweep]\n"description" = ["a", {LONG}]\n'),
        ("chain", SAMPLER, f"[chain]\nalpha = {LONG}\nQ = [[{LONG}]]\ninitial = [{LONG}]\n{SAMPLER}"),
    )
}


def write(name: str, folder: Path) -> Path:
    """Write the files of a bomb into ``folder``; return the scenario."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in BOMBS[name]().items():
        (folder / file).write_text(text)
    return folder / FILE
