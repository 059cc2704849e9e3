"""The keys of a formula cost in a scenario file, and what is built from them.

Notes
-----
c(theta, z) = C(theta) + z'theta, z ~ N(0, Sigma), C any formula of the variables and of parameters. Parameters are numbers in an
array: modes with the same formula, and the points of a sweep over parameters, share the compiled code.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from tracker.costs.base import CostKeys, GradientNoise, noise_covariance, observation_size, observe, one_at_a_time
from tracker.costs.facts import ReducedLaw, reduced_law
from tracker.costs.formula.expression_graph import TooLong
from tracker.costs.formula.formula_reader import read_formula
from tracker.costs.formula.generated_code import Code, FormulaCost, class_of, write_code
from tracker.costs.formula.operation_table import FormulaTable, Operations, write_table
from tracker.costs.formula_grammar import FormulaError, tokens
from tracker.costs.gaussian_noise import noise_factor, noise_in_form, observe_noise
from tracker.costs.noise_memory import NoiseMemory, remembered_by
from tracker.costs.one_form import in_form_of
from tracker.costs.polynomial.polynomial_cost import Variables
from tracker.costs.work_account import charge, is_spent
from tracker.formatting import listed
from tracker.keys import Number, Vector, together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array, Words

    Shapes = tuple[tuple[str, int | None], ...]

MOST_OPERATIONS_OF_A_FILE = 40_000  # of all formulas of a file with the points of its sweep: a second of work
MOST_PARAMETERS = 1000  # numbers
MOST_COMPILED = 1000  # operations of a formula with its derivatives: longer ones are carried out by a loop


class Derived(NamedTuple):
    """What a formula came to: code or a table, or the rule that it breaks; the operations that it has; why its gradient jumps."""

    code: Code | Operations | None
    problem: str
    operations: int
    kinks: tuple[str, ...]


class FormulaKeys(CostKeys):
    """Any formula of the variables: ``variables``, ``parameters``, ``formula``, ``gradient_noise``.

    Numbers, + - * / ^, exp, log, sqrt, sin, cos, tan, tanh, atan, cosh, logcosh, abs, min, max, pi, e.
    """

    cost: Literal["formula"]
    also_called = ("function", "expression", "custom")
    variables: Variables = Field(description='the names of the coordinates of theta, e.g. ["a", "b"]')
    formula: str = Field(
        description="the cost in the variables and parameters: + - * / ^, exp, log, sqrt, sin, cos, tan, tanh, atan, cosh, "
        "logcosh, abs, min, max, pi, e; an entry of a list is b[0]"
    )
    parameters: Annotated[dict[str, Number | Vector], Field(max_length=MOST_PARAMETERS)] = Field(
        default={},
        description="numbers, or lists of numbers, that the formula uses by name: { a = 1.0, b = [0.5, 2.0] }",
    )
    gradient_noise: GradientNoise = None
    files = ("gradient_noise",)
    noise_memory: NoiseMemory = 0.0

    @model_validator(mode="after")
    def _consistent(self) -> FormulaKeys:
        together(self.derived, lambda: noise_covariance(self.gradient_noise, self.dimension))
        return self

    @property
    def dimension(self) -> int:
        """N."""
        return len(self.variables)

    def derived(self) -> Derived:
        """Return the code of the formula, made once."""
        lengths = {name: len(given) if isinstance(given, tuple) else None for name, given in self.parameters.items()}
        question = (self.formula, self.variables, tuple(sorted(lengths.items())))
        if is_spent(question, MOST_OPERATIONS_OF_A_FILE):
            raise FormulaError("formula: with all those before it, the formulas of this file have too many operations")
        found = derive(*question)
        charge(question, found.operations)
        if found.code is None:
            raise FormulaError(found.problem)
        return found

    @property
    def has_hessian(self) -> bool:
        """Whether the gradient is smooth."""
        return not self.derived().kinks

    @property
    def why_no_hessian(self) -> str:
        """What to tell a sampler that needs one."""
        return f"formula: has no Hessian where the gradient of {listed(self.derived().kinks)} jumps"

    @property
    def remembered(self) -> tuple[str, float, int]:
        """The noise, where it has a memory."""
        return remembered_by(self.noise_memory, self.gradient_noise, self.dimension)

    def search_size(self) -> int:
        """Return the number of operations."""
        return self.derived().operations

    def average(self, weights: Sequence[float], modes: Sequence[CostKeys]) -> FormulaKeys | None:
        """Return the sum of the formulas, each times its weight, with numbers for parameters; None for other variables."""
        formulas = []
        for weight, keys in zip(weights, modes, strict=True):
            if not isinstance(keys, FormulaKeys) or keys.variables != self.variables:
                return None
            formulas.append(f"{float(weight):.17f}*({keys.with_numbers()})")
        return self.model_copy(update={"formula": " + ".join(formulas), "parameters": {}})

    def with_numbers(self) -> str:
        """Return the formula with its parameters written out."""
        parts, given = tokens(self.formula)[:-1], []
        while parts:
            token = parts.pop(0)
            number = self.parameters.get(token.text) if token.kind == "name" else None
            if isinstance(number, tuple):
                number = number[int(parts[1].text)]
                del parts[:3]
            given.append(token.text if number is None else f"({number!r})")
        return " ".join(given)

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        code = self.derived().code
        assert code is not None
        numbers = [np.atleast_1d(np.array(self.parameters[name], dtype=float)) for name in sorted(self.parameters)]
        parameters = np.concatenate([np.zeros(0), *numbers])
        noise = noise_factor(noise_covariance(self.gradient_noise, self.dimension))
        if isinstance(code, Operations):
            return FormulaTable(parameters, noise, self.noise_memory, code)
        return class_of(code)(parameters, noise, self.noise_memory)


@lru_cache(maxsize=256)
def derive(formula: str, variables: tuple[str, ...], shapes: Shapes) -> Derived:
    """Return the code of a formula and of its derivatives, or a table of both; the points of a sweep share it."""
    try:
        graph, root = read_formula(formula, variables, dict(shapes))
        found = graph.all_derivatives(root, len(variables))
        code = (
            write_code(graph, found, len(variables)) if len(graph.nodes) <= MOST_COMPILED else write_table(graph, found)
        )
    except TooLong as error:
        return Derived(None, f"formula: {error}", MOST_OPERATIONS_OF_A_FILE // 4, ())
    except FormulaError as error:
        return Derived(None, str(error), 0, ())
    return Derived(code, "", len(graph.nodes), tuple(graph.kinks(root)))


in_form_of.register(FormulaCost)(noise_in_form)


@one_at_a_time.register(FormulaTable)
def _one_at_a_time(cost: FormulaTable) -> bool:
    return True


@observation_size.register(FormulaTable)
@observation_size.register(FormulaCost)
def _observation_size(cost: FormulaCost | FormulaTable) -> int:
    return cost.noise.shape[0]


@observe.register(FormulaTable)
@observe.register(FormulaCost)
def _observe(cost: FormulaCost | FormulaTable, k: int, count: int, stream: Words, out: Array) -> None:
    observe_noise(cost.noise, count, stream, out)


@reduced_law.register(FormulaTable)
@reduced_law.register(FormulaCost)
def _all_of_theta(cost: FormulaCost | FormulaTable, beta: float, depth: float) -> ReducedLaw:
    N = cost.noise.shape[0]
    return ReducedLaw(np.zeros(N), np.ones(N), np.eye(N), np.zeros((N, N)), None)
