"""What the files of bombs are put together from."""

from __future__ import annotations

Files = dict[str, str]  # the text of each file by its name

FILE = "bomb.toml"
HEAD = 'name = "bomb"\ntrials = 2\nsteps = 100\n'
SAMPLER = '[[samplers]]\nname = "s"\nkind = "langevin"\nepsilon = 0.01\n'
FIVE = '"a", "b", "c", "d", "e"'


def quadratic(name: str, N: int = 1) -> str:
    """Return a mode."""
    rows = ", ".join("[" + ", ".join("1.0" if i == j else "0.0" for j in range(N)) + "]" for i in range(N))
    return f'[[modes]]\nname = "{name}"\ncost = "quadratic"\nminimum = {[0.0] * N}\ncurvature = [{rows}]\n'


def polynomial(name: str, variables: str, formula: str) -> str:
    """Return a mode."""
    return f'[[modes]]\nname = "{name}"\ncost = "polynomial"\nvariables = [{variables}]\nformula = "{formula}"\n'


def scenario(*parts: str, N: int = 1) -> Files:
    """Return a file of one scenario with a start in ``N`` dimensions."""
    return {FILE: "\n".join([f"{HEAD}start = {[0.0] * N}", *parts, SAMPLER])}


def generator(X: int) -> str:
    """Return a chain through ``X`` modes."""
    rows = [", ".join("-1" if j == i else "1" if j == (i + 1) % X else "0" for j in range(X)) for i in range(X)]
    return f"[chain]\nalpha = 0.01\nQ = [{', '.join(f'[{row}]' for row in rows)}]\n"


def logistic(data: str, features: str = '"x"') -> str:
    """Return a mode."""
    return (
        f'[[modes]]\nname = "m"\ncost = "logistic"\ndata = "{data}"\nfeatures = [{features}]\nlabel = "y"\n'
        "prior_variance = 1.0\nhorizon = 100\n"
    )
