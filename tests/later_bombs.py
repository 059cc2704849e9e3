"""Bombs made of keys that came later: rows in order by a column, matrices from files, formulas, wrappers, claims."""

from __future__ import annotations

from collections.abc import Callable

from bomb_parts import FIVE, Files, generator, logistic, quadratic, scenario


def regression(name: str, data: str) -> str:
    """Return a mode on the rows of a file."""
    return (
        f'[[modes]]\nname = "{name}"\ncost = "regression"\ndata = "{data}"\nfeatures = ["x"]\nresponse = "y"\n'
        'intercept = false\nrows = "in-order"\n'
    )


def formula(name: str, text: str, variables: str = '"a"', more: str = "") -> str:
    """Return a mode."""
    return f'[[modes]]\nname = "{name}"\ncost = "formula"\nvariables = [{variables}]\nformula = "{text}"\n{more}\n'


def column_of_many_names() -> Files:
    rows = "".join(f"{n % 7},{n % 3},n{n}\n" for n in range(300_000))
    return {**scenario('[schedule]\nfrom = "when"\n', regression("n1", "d.csv")), "d.csv": f"x,y,when\n{rows}"}


def column_of_names_by_turns() -> Files:
    rows = "".join(f"{n % 7},{n % 3},m{n % 100}\n" for n in range(60_000))
    modes = [regression(f"m{n}", "d.csv") for n in range(100)]
    return {**scenario('[schedule]\nfrom = "when"\n', *modes), "d.csv": f"x,y,when\n{rows}"}


def column_of_long_names() -> Files:
    rows = "".join(f"{n % 7},{n % 3},{'m' * 9000}\n" for n in range(1000))
    return {**scenario('[schedule]\nfrom = "when"\n', regression("m", "d.csv")), "d.csv": f"x,y,when\n{rows}"}


def column_of_a_million_cells() -> Files:
    return {**scenario('[schedule]\nfrom = "when"\n', regression("m", "d.csv")), "d.csv": "x,y,when\n" + "1,0,m\n0,1,m\n" * 170_000}  # fmt: skip


def column_in_a_file_of_quotes() -> Files:
    return {**scenario('[schedule]\nfrom = "when"\n', regression("m", "d.csv")), "d.csv": 'x,y,when\n"' + "1\n" * 4_000_000}  # fmt: skip


def matrix_of_a_million() -> Files:
    file = "\n".join(",".join("1" if i == j else "0" for j in range(1000)) for i in range(1000))
    modes = [quadratic(f"m{n}").replace("curvature = [[1.0]]", 'curvature = { file = "H.csv" }') for n in range(100)]
    return {**scenario(generator(100), *modes), "H.csv": file}


def matrix_of_one_line() -> Files:
    mode = quadratic("m").replace("curvature = [[1.0]]", 'curvature = { file = "H.csv" }')
    return {**scenario(mode), "H.csv": "1," * 5_000_000 + "1\n"}


def matrix_of_words() -> Files:
    mode = quadratic("m").replace("curvature = [[1.0]]", 'curvature = { file = "H.csv" }')
    return {**scenario(mode), "H.csv": "x\n" * 5_000_000}


def regression_of_many_rows() -> Files:
    modes = [regression(f"m{n}", "d.csv") for n in range(100)]
    return {**scenario(generator(100), *modes), "d.csv": "x,y\n" + "1,0\n0,1\n" * 250_000}


def absolute_losses_of_many_rows() -> Files:
    rows = "".join(f"{n * 7919 % 1000},{n * 104729 % 1000}\n" for n in range(300_000))
    mode = regression("m", "d.csv") + 'loss = "absolute"\n'
    return {**scenario(mode), "d.csv": f"x,y\n{rows}"}


def huge_regressors() -> Files:
    mode = f'[[modes]]\nname = "m"\ncost = "regression"\ntruth = {[1.0] * 900}\nregressor_covariance = 1.0\nnoise_variance = 1.0\n'
    return scenario(mode, N=900)


def formula_modes(text: str) -> Callable[[], Files]:
    """Return a hundred modes with formulas that differ in a number."""
    return lambda: scenario(generator(100), *(formula(f"m{n}", f"{text} + {n}*a", FIVE) for n in range(100)), N=5)


def formulas_of_many_functions() -> Files:
    text = "+".join(f"exp(-(a-{i})^2)*cos({i}*b)*tanh(c*d*e)" for i in range(60))
    return formula_modes(f"a^2+b^2+c^2+d^2+e^2+{text}")()


def formula_of_long_products() -> Files:
    return formula_modes("*".join(f"(a+{i}*b+c*d*e+3)" for i in range(60)))()


def formulas_in_a_sweep() -> Files:
    values = ", ".join(f'"a^2 + cos({n}*a)*exp(sin(a*{n}))"' for n in range(5000))
    return scenario(formula("m", "a^2"), f'[sweep]\n"modes.m.formula" = [{values}]\n')


def parameters_of_a_formula_in_a_sweep() -> Files:
    values = ", ".join(f"{n}.0" for n in range(1, 10_001))
    mode = formula("m", "+".join(f"p*cos({i}*a)" for i in range(60)) + "+a^2", more="parameters = { p = 1.0 }")
    return scenario(mode, f'[sweep]\n"modes.m.parameters.p" = [{values}]\n')


def parameters_of_many_numbers() -> Files:
    return scenario(formula("m", "a^2 + q[0]", more=f"parameters = {{ q = {[1.0] * 40_000} }}"))


def parameters_of_many_names() -> Files:
    names = ", ".join(f"q{n} = 1.0" for n in range(12_000))
    return scenario(formula("m", "a^2", more=f"parameters = {{ {names} }}"))


def formula_of_many_variables() -> Files:
    names = [f"x{n}" for n in range(900)]
    return scenario(formula("m", "+".join(f"{x}^2" for x in names), ", ".join(f'"{x}"' for x in names)), N=900)


def samplers_in_samplers() -> Files:
    inner = '{ kind = "langevin" }'
    for _ in range(13):
        inner = f'{{ kind = "averaged", rate = 0.1, sampler = {inner} }}'
    more = "".join(f'[[samplers]]\nname = "w{n}"\nkind = "averaged"\nepsilon = 0.01\nrate = 0.1\nsampler = {inner}\n' for n in range(99))  # fmt: skip
    return scenario(quadratic("m"), more)


def many_stages() -> Files:
    modes = "\n".join(quadratic(f"m{n}") for n in range(100))
    return scenario(generator(100).replace("alpha = 0.01", 'alpha = 1e-6\ndwell = { law = "erlang", shape = 900000 }'), modes)  # fmt: skip


def many_claims() -> Files:
    claims = '[[claims]]\ntext = "t"\nleft = "tracking_error.s"\nrelation = "<"\nright = 1.0\n' * 2000
    return scenario(quadratic("m"), claims)


def long_claims() -> Files:
    claims = (
        f'[[claims]]\ntext = "{"t" * 90_000}"\nleft = "tracking_error.{"s" * 30_000}"\nrelation = "<"\nright = 1.0\n'
    )
    return scenario(quadratic("m"), claims)


def many_waves() -> Files:
    drift = f'[drift]\nkind = "sinusoid"\namplitude = {[1e300] * 900}\nperiod = 1e-300\n'
    return scenario(drift, quadratic("m"))


def long_memory_of_noise() -> Files:
    mode = quadratic("m", 100) + "gradient_noise = 1.0\nnoise_memory = 0.9999999999999999\n"
    return scenario(mode, N=100)


def rows_in_order_for_many_modes() -> Files:
    modes = [logistic("d.csv").replace('"m"', f'"m{n}"') + 'rows = "shuffle"\n' for n in range(100)]
    return {**scenario(generator(100), *modes, N=2), "d.csv": "x,y\n" + "1,0\n0,1\n" * 100_000}


LATER_BOMBS: tuple[Callable[[], Files], ...] = (
    column_of_many_names,
    column_of_names_by_turns,
    column_of_long_names,
    column_of_a_million_cells,
    column_in_a_file_of_quotes,
    matrix_of_a_million,
    matrix_of_one_line,
    matrix_of_words,
    regression_of_many_rows,
    absolute_losses_of_many_rows,
    huge_regressors,
    formulas_of_many_functions,
    formula_of_long_products,
    formulas_in_a_sweep,
    parameters_of_a_formula_in_a_sweep,
    parameters_of_many_numbers,
    parameters_of_many_names,
    formula_of_many_variables,
    samplers_in_samplers,
    many_stages,
    many_claims,
    long_claims,
    many_waves,
    long_memory_of_noise,
    rows_in_order_for_many_modes,
)
