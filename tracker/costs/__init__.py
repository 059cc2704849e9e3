"""The families of costs.

To add a family, write one file (``quadratic.py`` is the pattern):

1. a ``NamedTuple`` of parameters: floats and C-contiguous float64 arrays;
2. ``value`` and ``gradient`` registered for it on the generic functions of ``base.py`` as plain loops that numba can
   compile; ``hessian`` for Algorithm 1; ``observation_size`` and ``observe`` if steps see random observations, and then
   ``expected`` and ``expected_gradient`` unless z = 0 gives them;
3. what it knows of itself, on those of ``facts.py``, where the default answer says less than it could;
4. its keys, each with a sentence that explains it: a subclass of ``CostKeys`` with ``cost: Literal["<name>"]``,
   ``dimension`` and ``build``, and whatever else of ``CostKeys`` has a better answer;

then one line in ``COSTS``, and one example in the table of ``tests/costs/test_costs.py``, which checks the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.costs.formula.formula_cost import FormulaKeys
from tracker.costs.logistic.logistic_cost import LogisticKeys
from tracker.costs.mixture.mixture_cost import MixtureKeys
from tracker.costs.polynomial.polynomial_cost import PolynomialKeys
from tracker.costs.quadratic import QuadraticKeys
from tracker.costs.regression.regression_cost import RegressionKeys

if TYPE_CHECKING:
    from tracker.costs.base import CostKeys

COSTS: dict[str, type[CostKeys]] = {
    "quadratic": QuadraticKeys,
    "polynomial": PolynomialKeys,
    "mixture": MixtureKeys,
    "logistic": LogisticKeys,
    "regression": RegressionKeys,
    "formula": FormulaKeys,
}
