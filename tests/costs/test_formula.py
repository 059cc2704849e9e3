"""Formulas against Python's own arithmetic, hostile text, and polynomials without a lower bound."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker.costs.polynomial.bounded_below import _form_sign, unbounded_below
from tracker.costs.polynomial.expanded import Polynomial
from tracker.costs.polynomial.parser import FormulaError, parse

IDENTITY = 1e-12  # relative to the sum of |terms|, which is what rounding is relative to
DIFFERENCE = 1e-7  # central differences with step 1e-5
SECONDS = 5.0  # a refusal takes milliseconds; the margin is for a busy machine
AB = ["a", "b"]
TEN = list("abcdefghij")
SUM10 = "(" + "+".join(TEN) + ")"
SQUARES10 = "+".join(f"{v}^2" for v in TEN)

BY_HAND = [
    ("(a^2 - 1)^2 - 0.35*a + 25*b^2", lambda a, b: (a**2 - 1) ** 2 - 0.35 * a + 25 * b**2),
    ("-a^2", lambda a, _: -(a**2)),
    ("a^2^3 - b", lambda a, b: a**8 - b),
    ("a - b - 2 - a*b", lambda a, b: a - b - 2 - a * b),
    ("a/2/4*b", lambda a, b: a * b / 8),
    ("--a + -+b", lambda a, b: a - b),
    ("2*-a", lambda a, _: -2 * a),
    (".5e1*a + 1.e-1*b - 1E+0", lambda a, b: 5 * a + 0.1 * b - 1),
    ("(a-b)*(a+b)/(3-1)^2", lambda a, b: (a - b) * (a + b) / 4),
    ("(a + 2*b - 1)^5", lambda a, b: (a + 2 * b - 1) ** 5),
    ("a^(6/3) * b^0", lambda a, _: a**2),
    ("7", lambda a, _: 7.0 + 0 * a),
    ("a - a", lambda a, _: 0 * a),
]


def size(p: Polynomial, points: np.ndarray) -> np.ndarray:
    """Sum of |terms| at the points: the scale of rounding errors."""
    return Polynomial(p.exponents, np.abs(p.coefficients)).value(np.abs(points)) + 1e-300


@pytest.mark.parametrize(("text", "by_hand"), BY_HAND, ids=[t for t, _ in BY_HAND])
def test_value_is_what_python_computes(text, by_hand):
    points = np.random.default_rng(1).normal(size=(50, 2))
    p = parse(text, AB)
    error = np.abs(p.value(points) - by_hand(*points.T))
    assert (error <= IDENTITY * size(p, points)).all()


def test_canonical_form():
    p = parse("b*a + 3 + b^2 + a^2 - 2*b + 0*a^5 + a - a", AB)
    assert p.exponents.tolist() == [[0, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    assert p.coefficients.tolist() == [3.0, -2.0, 1.0, 1.0, 1.0]
    assert p.exponents.dtype == np.int64
    assert p.coefficients.dtype == np.float64
    assert (p.degree, parse("a-a", AB).degree, parse("a-a", AB).exponents.shape) == (2, 0, (0, 2))


def test_what_cancels_up_to_rounding_is_no_term():
    assert 0.1 + 0.2 - 0.3 != 0.0  # the reason for the rule
    assert parse("a^2 + 0.1*a^3 + 0.2*a^3 - 0.3*a^3", ["a"]).degree == 2


# -- generated expressions: printed for the parser, computed exactly by Fraction ------

POINT = (Fraction(-7, 8), Fraction(5, 4))
OPERATIONS = {
    "+": lambda u, v: (u[0] + v[0], u[1] + v[1]),
    "-": lambda u, v: (u[0] - v[0], u[1] + v[1]),
    "*": lambda u, v: (u[0] * v[0], u[1] * v[1]),
}


@st.composite
def expressions(draw, depth=4):
    """(text, (value at POINT, the same with every sign +), degree)."""
    kind = draw(st.sampled_from(["leaf", "+", "-", "*", "/", "^", "neg"])) if depth else "leaf"
    if kind == "leaf":
        i = draw(st.integers(0, 2))
        x = POINT[i] if i < 2 else Fraction(draw(st.integers(0, 40)), 8)
        return (AB[i] if i < 2 else f"{float(x)!r}"), (x, abs(x)), int(i < 2)
    left, u, d = draw(expressions(depth=depth - 1))
    if kind == "neg":
        return f"-({left})", (-u[0], u[1]), d
    if kind == "/":
        c = draw(st.sampled_from([2, 3, 10, 16]))
        return f"({left})/{c}", (u[0] / c, u[1] / c), d
    if kind == "^":
        k = draw(st.integers(0, 3 if d <= 4 else 1))
        return f"({left})^{k}", (u[0] ** k, u[1] ** k), d * k
    right, v, e = draw(expressions(depth=depth - 1))
    if kind == "*" and d + e > 12:
        kind = "+"
    degree = d + e if kind == "*" else max(d, e)
    return f"({left}) {kind} ({right})", OPERATIONS[kind](u, v), degree


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(expressions())
def test_generated_expressions(expression):
    text, (value, magnitude), degree = expression
    p = parse(text, AB)
    assert p.degree <= degree
    got = Fraction(float(p.value(np.array([POINT], dtype=float))[0]))
    assert abs(got - value) <= Fraction(IDENTITY) * magnitude


@pytest.mark.parametrize("text", [t for t, _ in BY_HAND])
@pytest.mark.parametrize("i", [0, 1])
def test_derivative_is_the_central_difference(text, i):
    p = parse(text, AB)
    points = np.random.default_rng(2).normal(size=(20, 2))
    h = 1e-5 * np.eye(2)[i]
    difference = (p.value(points + h) - p.value(points - h)) / 2e-5
    error = np.abs(p.derivative(i).value(points) - difference)
    assert (error <= DIFFERENCE * (1 + size(p, points) + size(p.derivative(i), points))).all()


# -- what is refused -----------------------------------------------------------------

REFUSED = [
    (
        "a + sin(b)",
        r"'sin' at position 4 is not a variable; variables are a, b; a polynomial has no functions: cost = \"formula\" has",
    ),
    ("1/a", r"1/a: a divisor must be a constant, at position 2"),
    ("a/(b-b)", r"a/\(b-b\): a divisor must not be zero"),
    ("a/0.0", r"a divisor must not be zero"),
    ("a^13", r"a\^13: total degree 13 exceeds 12"),
    ("a^12*b", r"a\^12\*b: total degree 13 exceeds 12"),
    ("(a*b)^7", r"total degree 14 exceeds 12"),
    ("a^0.5", r"a\^0.5: an exponent must be a whole number from 0 to 12"),
    ("a^-1", r"an exponent must be a whole number from 0 to 12"),
    ("a^b", r"an exponent must be a whole number from 0 to 12"),
    ("2^1000", r"an exponent must be a whole number from 0 to 12"),
    ("a**2", r"'\*' at position 2: .*powers are written \^"),
    ("2a", r"'a' at position 1: an operator was expected"),
    ("a b", r"'b' at position 2: an operator was expected"),
    ("", r"the end at position 0: a number"),
    ("a +", r"the end at position 3: a number"),
    ("(a", r"the end at position 2: '\)' was expected for '\(' at position 0"),
    ("a)", r"'\)' at position 1: an operator was expected"),
    ("()", r"'\)' at position 1: a number"),
    ("a[0]", r"'\[' at position 1"),
    ("a.real", r"'\.' at position 1"),
    ("1..2", r"'\.2' at position 2"),
    ("1_000", r"'_000' at position 1"),
    ("a,b", r"',' at position 1"),
    ("a\0", r"at position 1"),
    ("__import__('os')", r"'__import__' at position 0 is not a variable"),
    ("lambda: 0", r"'lambda' at position 0 is not a variable"),
    ("nan", r"'nan' at position 0 is not a variable"),
    ("1e999", r"1e999: a coefficient is inf"),
    ("9" * 400, r"a coefficient is inf"),
    ("1e200*1e200*a", r"1e200\*1e200: a coefficient is inf"),
    ("1e308 + 1e308 + 1", r"a coefficient is inf"),
    ("1e308*a*10/10", r"a coefficient is inf"),
    ("1/1e-310", r"a coefficient is inf"),
    ("(1e100*a)^4", r"a coefficient is inf"),
    ("(" * 101 + "a" + ")" * 101, r"nested deeper than 100, at position 100"),
    ("(" * 5000 + ")" * 5000, r"nested deeper than 100"),
    ("a" + "^1" * 4000, r"nested deeper than 100"),
    ("-(" * 3000, r"nested deeper than 100"),
    ("a+" * 5000 + "a", r"10001 characters exceed 10000"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[t[:20] for t, _ in REFUSED])
def test_refused(text, message):
    with pytest.raises(FormulaError, match=message):
        parse(text, AB)


@pytest.mark.parametrize(
    "text",
    [
        f"{SUM10}^12",
        "*".join([SUM10] * 12),
        "((a+b+c+d+e)^12)" + "*1" * 4000,
        "+".join(["(a+b+c+d+e)^6*(a+b+c+d)^6"] * 300),
        "(a+b+c+d+e+f+g+h+i+j)^5*(a+b+c+d+e+f+g+h+i+j)^5",
    ],
    ids=["power", "product", "times one", "many products", "two powers"],
)
def test_expansion_is_refused_before_it_costs(text):
    start = time.process_time()
    with pytest.raises(FormulaError, match=r"multiplied out|multiplying it out"):
        parse(text, TEN)
    assert time.process_time() - start < SECONDS


def test_limits_leave_room():
    assert parse("-" * 9999 + "a", AB).coefficients.tolist() == [-1.0]
    assert parse("a" + "+a" * 4999, AB).coefficients.tolist() == [5000.0]
    assert parse("(" * 100 + "a" + ")" * 100, AB).degree == 1
    assert len(parse(f"{SUM10}^6", TEN).coefficients) == 5005
    many = [f"x{n}" for n in range(100)]
    assert len(parse("+".join(f"{v}^2" for v in many), many).coefficients) == 100


@pytest.mark.parametrize("variables", [["a", "a"], ["a b"], ["1"], [""]])
def test_variables_are_distinct_names(variables):
    with pytest.raises(FormulaError, match="variables"):
        parse("1", variables)


# -- bounded below? ------------------------------------------------------------------

CHAIN10 = "+".join(f"({u}-{v})^2" for u, v in pairwise(TEN))
BOUNDED = [
    ("(a^2-1)^2 - 0.35*a + 25*b^2", AB),
    ("(t1^2-1)^2/4 + t2^2/2 + t1*t2/4 - 0.3*t1 + 0.4*t2", ["t1", "t2"]),
    ("5", AB),
    ("a - a", AB),
    ("a^2", ["a"]),
    ("a^2", AB),
    (SQUARES10, TEN),
    (f"{SQUARES10} - 0.099*{SUM10}^2", TEN),
    (f"{SUM10}^2", TEN),
    (CHAIN10, TEN),
    ("a^2*b^2 + a^2 + b^2", AB),
    ("(a*b-1)^2 + a^2", AB),  # the infimum 0 is not reached
    ("a^4*b^2 + a^2*b^4 - 3*a^2*b^2 + 1", AB),  # Motzkin: no sum of squares
    ("(1-a)^2 + 100*(b-a^2)^2", AB),
    ("(a^2-b)^2 + a^2 - 1000*a", AB),  # minimum at (500, 250000)
    ("(a-b)^4 + 1e-4*(a+b)^2 - a", AB),
    ("(a-b)^12", AB),  # rounding goes as the 12th power of the radius
    ("a^12 + b^2 - 1000*a*b", AB),
    ("1e300*a^4 + 1e-300*b^2 - a", AB),
    ("1e-300*a^2*b^2 + 1e300*a^2 + 1e-300*b^2", AB),
]
UNBOUNDED = [
    ("a^3", ["a"]),
    ("-a^2 + 1000*a", ["a"]),
    ("-1e-6*a", ["a"]),
    ("a*b", AB),
    ("a^2*b + b^2", AB),
    ("a^4 + b", AB),
    ("a^2*b^2 - b", AB),
    ("(a-b)^2 - a", AB),
    ("(a-b)^6 - a", AB),
    ("(a-0.1*b)^2 - 0.001*a", AB),
    ("a^2 - 2.001*a*b + b^2", AB),
    ("a^4 + b^2 - 3*a^2*b", AB),  # negative along (t, 1.5 t^2), and along no line
    ("(a^2-b)^2 - b", AB),
    ("(a-1)^2*b^2 - b", AB),
    ("a^12 + b^2 - 1000*a*b^2", AB),
    (f"{SQUARES10} - 0.101*{SUM10}^2", TEN),
    (f"{CHAIN10} - j", TEN),
    (f"{SUM10}^4 - a*b + a^2 + b^2 - 0.1*(c+d)", TEN),
]


@pytest.mark.parametrize(("text", "variables"), BOUNDED, ids=[t[:30] for t, _ in BOUNDED])
def test_bounded_below(text, variables):
    assert unbounded_below(parse(text, variables)) is None


@pytest.mark.parametrize(("text", "variables"), UNBOUNDED, ids=[t[:30] for t, _ in UNBOUNDED])
def test_unbounded_below(text, variables):
    start = time.process_time()
    assert unbounded_below(parse(text, variables))
    assert time.process_time() - start < SECONDS


def test_the_reason_names_the_direction():
    assert unbounded_below(parse("a^4 + b", AB)) == "it falls like -1*t^1 along (0, -t)"
    assert "leading form is negative along" in (unbounded_below(parse("a*b", AB)) or "")


@pytest.mark.parametrize(("c", "sign"), [(2.000004, -1), (2.00000004, -1), (2.0, 0), (1.999996, 1)])
def test_a_form_is_bounded_or_not_by_a_millionth(c, sign):
    """a^4 + b^4 - c a^2 b^2 is least where a^2 = b^2: (2 - c) / 4 on the circle."""
    found, direction = _form_sign(parse(f"a^4 + b^4 - {c!r}*a^2*b^2", AB))
    assert found == sign
    if sign < 0:
        np.testing.assert_allclose(direction**2, 0.5, atol=1e-3)


ANSWERS = """
import json, sys
from tracker.costs.polynomial.bounded_below import unbounded_below
from tracker.costs.polynomial.parser import parse
print(json.dumps([unbounded_below(parse(*pair)) for pair in json.load(sys.stdin)]))
"""


@pytest.mark.parametrize("byte", ["1", "165"])
def test_the_answer_does_not_depend_on_what_the_memory_held_before(byte):
    """glibc fills fresh memory with the byte; a search that reads what nobody wrote gives another answer."""
    texts = [
        "a^2",
        "a^2*b^2 + a^2 + b^2",
        "(a-b)^4 + 1e-4*(a+b)^2 - a",
        "a*b",
        "a^4+b^4-3*a^2*b^2",
        "a^4 + b^2 - 3*a^2*b",
    ]
    asked = [(text, AB) for text in texts]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ANSWERS],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "MALLOC_PERTURB_": byte},
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert answers == [unbounded_below(parse(*pair)) for pair in asked]
    assert [answer is None for answer in answers] == [True, True, True, False, False, False]


def test_a_search_that_leaves_the_numbers_decides_nothing(monkeypatch):
    """Ends that are not numbers, or the origin, which is no direction, are left out; where all are, the start decides."""
    from scipy import optimize

    form = parse("a^4 + b^4 - 3*a^2*b^2", AB)
    sign, _ = _form_sign(form)
    assert sign == -1
    for value, end in ((np.nan, [1.0, 1.0]), (-1.0, [np.nan, 1.0]), (-np.inf, [1.0, 0.0]), (-1.0, [0.0, 0.0])):
        found = optimize.OptimizeResult(fun=value, x=np.array(end), nfev=1)
        monkeypatch.setattr(optimize, "minimize", lambda *_, found=found, **__: found)
        sign, direction = _form_sign(form)
        assert sign == -1  # the best start is the diagonal
        assert abs(direction) == pytest.approx([0.5**0.5, 0.5**0.5])


def test_the_search_is_never_sent_away_from_the_origin_with_a_nan(monkeypatch):
    from scipy import optimize

    seen = []

    def probe(f, x, **_):
        seen.extend(f(np.array(point)) for point in ([0.0, 0.0], [np.nan, 1.0], [np.inf, 0.0]))
        return optimize.OptimizeResult(fun=f(x)[0], x=x, nfev=1)

    monkeypatch.setattr(optimize, "minimize", probe)
    _form_sign(parse("a^4 + b^4 - 3*a^2*b^2", AB))
    assert seen
    assert all(value >= 1.0 and not gradient.any() for value, gradient in seen)
