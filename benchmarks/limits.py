"""Each reference of the theory module: how accurate, in how much time.

Accuracy is against the tables of Examples A, B and D (12 digits), or against a finer computation where it says so.

    python benchmarks/limits.py
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import tracker
from tracker import limits

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
EXAMPLE_D = """
name = "example-d"
trials = 1
steps = 64
start = { mean = [0.3, -0.2], covariance = [[0.1225, 0.0], [0.0, 0.1225]] }
[chain]
alpha = 0.015625
Q = [[-1.0, 1.0], [0.5, -0.5]]
initial = [1.0, 0.0]
[[modes]]
name = "one"
cost = "polynomial"
variables = ["a", "b"]
formula = "(a^2 - 1)^2/4 + b^2/2 + a*b/4 - 0.3*a + 0.4*b"
[[modes]]
name = "two"
cost = "polynomial"
variables = ["a", "b"]
formula = "(a^2 - 1)^2/4 + b^2/2 + a*b/4 + 0.3*a - 0.2*b"
[[samplers]]
name = "skewed"
kind = "accelerated"
epsilon = 0.015625
beta = 3.0
skew = 0.8
"""
A_LIMIT, A_SAMPLER = 1.781475608834, 1.828908350289  # E|theta - m_x|^2 at T = 1: the limit, and n = 64
B_LIMIT, B_SAMPLER = 0.641694053500, 0.640546464094  # E theta^2 at T = 1: the limit, and n = 32
D_LIMIT, D_SAMPLER = 0.909914046335, 0.908835285172  # E theta_1^2 at T = 1: the limit, and n = 64


def large(X: int = 20, N: int = 20) -> tracker.Scenario:
    rng = np.random.default_rng(0)
    Q = rng.random((X, X))
    np.fill_diagonal(Q, 0.0)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    modes = []
    for x in range(X):
        A = rng.standard_normal((N, N))
        curvature = A @ A.T / N + np.eye(N)
        keys = {"name": f"mode-{x}", "cost": "quadratic", "minimum": rng.standard_normal(N).tolist()}
        modes.append({**keys, "curvature": ((curvature + curvature.T) / 2).tolist(), "gradient_noise": 0.5})
    base = tracker.load(SCENARIOS / "example_a.toml")
    sampler = {"name": "classical", "kind": "langevin", "epsilon": 1e-3}
    chain = {"alpha": 1e-3, "Q": Q.tolist()}
    return base.replace(start=[0.0] * N, modes=modes, chain=chain, samplers=[sampler])


def first(theta):
    return theta[..., 0]


def adaptive() -> float:
    H = np.array([[2.0, 0.4, -0.3], [0.4, 1.2, 0.2], [-0.3, 0.2, 0.8]])
    m = np.array([0.5, -0.4, 0.2])
    skew0 = np.array([[0.0, -0.5, 0.3], [0.5, 0.0, -0.2], [-0.3, 0.2, 0.0]])
    path = limits.adaptive_path(
        lambda x: H @ (x - m) + 0.15 * x**3, lambda x: H + np.diag(0.45 * x**2), [2.0, -1.5, 1.0], skew0, 2.0, [0.5]
    )
    return path.theta[0, 0]


def row(what: str, compute, accuracy) -> None:
    begun = time.perf_counter()
    result = compute()
    seconds = time.perf_counter() - begun
    print(f"{what:62} {seconds:8.3f} s   {accuracy(result)}")


def against(value: float):
    return lambda found: f"error {abs(float(np.ravel(found)[0]) - value):.1e}"


def main() -> None:
    a, b = tracker.load(SCENARIOS / "example_a.toml"), tracker.load(SCENARIOS / "example_b.toml")
    d, big = tracker.parse(EXAMPLE_D), large()
    skewed, classical = a.samplers[0].name, b.samplers[0].name
    square = np.square

    def first_square(x, y):
        return x**2 + 0.0 * y

    row("moments: Example A", lambda: limits.moments(a, skewed, [1.0]).mean_square_error, against(A_LIMIT))
    row("algorithm_moments: Example A, n = 64", lambda: limits.algorithm_moments(a, skewed, [64]).mean_square_error,
        against(A_SAMPLER))  # fmt: skip
    row("algorithm_moments: Example A, 1e7 steps", lambda: limits.algorithm_moments(a, skewed, [10**7]).mean_square_error,
        against(float(limits.stationary(a, skewed).mean_square_error)))  # fmt: skip
    row("stationary: Example A, the limit", lambda: limits.stationary(a, skewed, of="limit").mean_square_error,
        against(1.943234108824))  # fmt: skip
    row("two_time: Example A", lambda: limits.two_time(a, skewed, 0.5, 1.0), against(0.416944996553))
    row(
        "leading_error: Example A",
        lambda: limits.leading_error(a, skewed, 1.0).mean_square_error,
        against(2.983029783047),
    )
    row("skew_gain: Example A", lambda: limits.skew_gain(a, skewed).cost, against(1.1666873329))
    row("regimes: Example A", lambda: limits.regimes(a, skewed, 1.0), lambda r: f"rate {r.rate['switched']:.4f}")
    row("adaptive_path: N = 3, T = 0.5", adaptive, against(0.9472815115))
    row("coupled: Example A, 5 levels x 4000 trials", lambda: limits.coupled(a, skewed, first, [1.0], [8, 16, 32, 64, 128], 4000),
        lambda c: f"slope {float(np.ravel(c.slope)[0]):.3f}, statistical")  # fmt: skip
    row("best_step: Example A", lambda: limits.best_step(a, skewed), lambda s: f"epsilon {s.epsilon:.6f}")
    row("moments: X = 20, N = 20", lambda: limits.moments(big, "classical", [1.0]).mean_square_error,
        lambda _: "structured, no dense system")  # fmt: skip
    row("algorithm_moments: X = 20, N = 20, 1e4 steps", lambda: limits.algorithm_moments(big, "classical", [10**4]).mean,
        lambda _: "structured, no dense system")  # fmt: skip
    for cells in (120, 240, 480, 960):
        row(f"density: Example B, finite volumes, {cells} cells",
            lambda cells=cells: limits.density(b, classical, [1.0], cells=cells).expectation(square), against(B_LIMIT))  # fmt: skip
    row("density: Example B, spectral", lambda: limits.density(b, classical, [1.0], method="spectral").expectation(square),
        against(B_LIMIT))  # fmt: skip
    row("algorithm_density: Example B, n = 32", lambda: limits.algorithm_density(b, classical, [32]).expectation(square),
        against(B_SAMPLER))  # fmt: skip
    row("density: Example D (N = 2), finite volumes, 120 x 120",
        lambda: limits.density(d, "skewed", [1.0], cells=120).expectation(first_square), against(D_LIMIT))  # fmt: skip
    row("density: Example D (N = 2), spectral",
        lambda: limits.density(d, "skewed", [1.0], method="spectral").expectation(first_square), against(D_LIMIT))  # fmt: skip
    row("algorithm_density: Example D (N = 2), n = 64",
        lambda: limits.algorithm_density(d, "skewed", [64]).expectation(first_square), against(D_SAMPLER))  # fmt: skip


if __name__ == "__main__":
    main()
