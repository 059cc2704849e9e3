"""Densities and coupled levels against docs/mathematics, "Densities", and docs/mathematics, "Coupling" (Examples A, B and D)."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from worlds import shipped

from tracker.limits import finite_volume
from tracker.limits.coupled_levels import coupled
from tracker.limits.density_solvers import algorithm_density, density
from tracker.limits.drift_field import read_field
from tracker.limits.grid_box import automatic_box
from tracker.limits.grid_law import Law, ks_of_laws, w1_of_laws
from tracker.scenario import Scenario, parse

POINTS = [-1.0, -0.5, 0.0, 0.5, 1.0]


def example_b(n: int = 32) -> Scenario:
    epsilon = [f"samplers.classical.epsilon={1 / n!r}", f"chain.alpha={1 / n!r}", f"steps={n}", "record_every=1"]
    return shipped("example_b", epsilon)


def example_d(n: int = 16, skew: float = 0.8) -> Scenario:
    wells = "(x^2 - 1)^2/4 + y^2/2 + x*y/4"
    return parse(f"""
name = "example-d"
trials = 2
steps = {n}
start = {{ mean = [0.3, -0.2], covariance = [[0.1225, 0.0], [0.0, 0.1225]] }}
[chain]
alpha = {1 / n!r}
Q = [[-1.0, 1.0], [0.5, -0.5]]
initial = [1.0, 0.0]
[[modes]]
name = "one"
cost = "polynomial"
variables = ["x", "y"]
formula = "{wells} - 0.3*x + 0.4*y"
[[modes]]
name = "two"
cost = "polynomial"
variables = ["x", "y"]
formula = "{wells} + 0.3*x - 0.2*y"
[[samplers]]
name = "skewed"
kind = "accelerated"
epsilon = {1 / n!r}
beta = 3.0
skew = {skew}
""")


def first(x, y):
    return x


def second(x, y):
    return y


def numbers_b(law: Law) -> np.ndarray:
    """The columns of the table in docs/mathematics, "Example B", shape (times, 11)."""
    columns = [
        law.probability[:, 0],
        law.expectation(lambda x: x),
        law.expectation(lambda x: x**2),
        law.expectation(lambda x: x**4),
        law.expectation(lambda x: x, mode=0),
        law.expectation(np.cos),
    ]
    return np.column_stack([*columns, law.cdf(POINTS)])


def numbers_d(law: Law) -> np.ndarray:
    """The columns of the table in docs/mathematics, "Example D", shape (times, 8)."""
    columns = [
        law.expectation(first),
        law.expectation(second),
        law.expectation(lambda x, y: x * x + 0 * y),
        law.expectation(lambda x, y: x * y),
        law.expectation(lambda x, y: y * y + 0 * x),
        law.expectation(first, mode="one"),
        law.expectation(second, mode="one"),
        law.expectation(lambda x, y: np.cos(x + y)),
    ]
    return np.column_stack(columns)


def table(text: str) -> np.ndarray:
    return np.array([line.split() for line in text.strip().splitlines()], dtype=float)


TIMES_B = [0.25, 0.5, 1.0, 2.0, 5.0]
LIMIT_B = table("""
.791526185861 .062726886106 .232661001800 .142519684792 .062653728848 .889429761306 .010715729112 .127341542558 .448036540959 .809550560778 .979033788307
.648244368494 .098918798422 .403758627674 .369370093082 .099178688358 .812882038480 .039565906175 .194213879175 .436764857255 .707097986496 .925896341062
.482086773432 .110251645174 .641694053500 .762136215017 .116344995419 .709360681231 .100238358752 .274528809275 .439764827984 .620174629873 .848102802801
.366524712245 .049541833136 .809728407763 1.062255614745 .085365926888 .637106679716 .169734933541 .351701174277 .467440551001 .596198022172 .815265615508
.333702056247 -.115132018926 .858680291255 1.153110712798 .020081260038 .616185579253 .229214777738 .440972693319 .549286544362 .658251957036 .844519703555
""")
STATIONARY_B = table("""
.333333333333 -.288547819457 .878012258730 1.191570702277 -.038343170483 .608019946779 .278583927945 .527033252155 .640277572962 .735278254550 .881620782320
""")
SAMPLER_B = {
    8: ".459951405879 .117216105027 .637440163098 .798730686775 .106510346642 .712792509344 .095666309997 .262193414874 .435211391559 .626555596433 .851355181119",
    32: ".476784569086 .112018654922 .640546464094 .769782967357 .113980067289 .710208716622 .099197468393 .271428964616 .438644335498 .621758456916 .848703314841",
    128: ".480774884595 .110693985070 .641402539998 .763980059508 .115758795465 .709572645686 .099983848994 .273751713432 .439485834451 .620572178626 .848242285465",
}
W1_B = {
    8: 0.019368092,
    16: 0.009412926,
    32: 0.004665910,
    64: 0.002324935,
    128: 0.001160677,
    256: 0.000579915,
    1024: 0.000144902,
}
KS_B = {
    8: 0.012422841,
    16: 0.006219711,
    32: 0.003118227,
    64: 0.001561752,
    128: 0.000781595,
    256: 0.000390984,
    1024: 0.000097782,
}
LIMIT_D = table("""
.495077732088 -.204837627181 .729697761813 -.111321212965 .281803096944 .378891403021 -.143823673158 .663015249453
.458812039628 -.252966548102 .909914046335 -.207893660247 .371119968950 .319075758148 -.154504924655 .636066577789
.254605535329 -.227321750750 .930608683705 -.278255896478 .446156687855 .197530354969 -.130670424011 .654582288082
""")
OTHER_SKEW_D = {
    -0.8: ".452805578553 -.302551326480 .846864655177 -.349833412352 .519985385088 .255567653583 -.238815202988 .713136541661",
    0.0: ".427650705083 -.256041132653 .807284162778 -.232816433582 .406823389755 .265999525829 -.177995286894 .681072864661",
}
SAMPLER_D = {
    16: ".464251224930 -.259312591503 .905206362512 -.211320383425 .393529832772 .309116538903 -.152047552361 .634360422715",
    64: ".460323954030 -.254416187212 .908835285172 -.208824253693 .376308282442 .316703698703 -.153867560646 .635764015871",
}


@cache
def spectral_b() -> Law:
    return density(example_b(), "classical", TIMES_B, method="spectral")


# --- Example B


def test_spectral_densities_of_example_b() -> None:
    law = spectral_b()
    np.testing.assert_allclose(numbers_b(law), LIMIT_B, rtol=1e-9, atol=1e-12)
    assert law.mass_error.max() < 1e-11
    assert law.error_estimate.max() < 2e-11
    assert not law.box_too_small


def test_many_modes_take_the_same_road_by_fft(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracker.limits.spectral.LARGEST_DENSE", 0)
    law = density(example_b(), "classical", [1.0], method="spectral", cells=128)
    np.testing.assert_allclose(numbers_b(law), LIMIT_B[2:3], rtol=1e-9)


def test_the_stationary_law_of_example_b() -> None:
    law = density(example_b(), "classical", [400.0], method="spectral", cells=128)
    np.testing.assert_allclose(numbers_b(law), STATIONARY_B, rtol=1e-9)


def test_finite_volumes_of_example_b() -> None:
    """Within 2e-5 at 960 cells, of order 2, and the error estimate is right to a tenth."""
    laws = [density(example_b(), "classical", TIMES_B[:3], cells=n) for n in (120, 240, 480, 960)]
    errors = [np.abs(numbers_b(law) - LIMIT_B[:3]).max() for law in laws]
    assert errors[-1] < 2e-5
    np.testing.assert_allclose(np.diff(np.log2(errors)), -2.0, atol=0.01)
    fine = laws[-1]
    assert fine.mass_error.max() < 1e-12
    assert fine.density.min() > 0
    fourth = np.abs(fine.expectation(lambda x: x**4) - LIMIT_B[:3, 3])
    np.testing.assert_allclose(fine.expectation_error(lambda x: x**4), fourth, rtol=0.1)
    # the error in L1, against the spectral density on the cells: differences of its CDF
    faces = np.linspace(*fine.box[0], len(fine.grid) + 1)
    exact = np.diff(sum(spectral_b().cdf(faces, mode)[2] for mode in (0, 1)))
    assert fine.error_estimate[2] >= 0.9 * np.abs(fine.density[2].sum(axis=0) * fine.volume - exact).sum()


@pytest.mark.parametrize("n", SAMPLER_B)
def test_the_samplers_own_law_in_example_b(n: int) -> None:
    law = algorithm_density(example_b(n), "classical", [n])
    np.testing.assert_allclose(numbers_b(law), table(SAMPLER_B[n]), rtol=1e-9)
    assert law.mass_error.max() < 1e-10
    assert law.error_estimate.max() < 1e-9


def test_distances_from_sampler_to_limit_in_example_b() -> None:
    limit = density(example_b(), "classical", [1.0], method="spectral")
    laws = {n: algorithm_density(example_b(n), "classical", n) for n in W1_B}
    np.testing.assert_allclose(
        [w1_of_laws(law, limit)[0] for law in laws.values()], list(W1_B.values()), rtol=0, atol=1e-7
    )
    np.testing.assert_allclose(
        [ks_of_laws(law, limit)[0] for law in laws.values()], list(KS_B.values()), rtol=0, atol=1e-8
    )
    assert w1_of_laws(limit, limit)[0] == ks_of_laws(limit, limit)[0] == 0.0


def test_two_methods_agree_on_a_distance() -> None:
    law = density(example_b(), "classical", [1.0])
    limit = density(example_b(), "classical", [1.0], method="spectral")
    assert w1_of_laws(law, limit)[0] < 1e-5
    assert ks_of_laws(law, limit)[0] < 1e-5


# --- Example D


@cache
def spectral_d(skew: float) -> Law:
    return density(
        example_d(skew=skew), "skewed", [0.5, 1.0, 2.0] if skew == 0.8 else [1.0], method="spectral", cells=80
    )


def test_spectral_densities_of_example_d() -> None:
    law = spectral_d(0.8)
    np.testing.assert_allclose(numbers_d(law), LIMIT_D, rtol=1e-9)
    assert law.mass_error.max() < 1e-11
    with pytest.raises(ValueError, match="for N = 1 only"):
        law.cdf([0.0])


@pytest.mark.parametrize("skew", OTHER_SKEW_D)
def test_another_skew_matrix_in_example_d(skew: float) -> None:
    """Control for the sign of S: the three rows differ by 0.05 and more."""
    np.testing.assert_allclose(numbers_d(spectral_d(skew)), table(OTHER_SKEW_D[skew]), rtol=1e-9)


def test_finite_volumes_of_example_d() -> None:
    with pytest.warns(RuntimeWarning, match="40 cells a side are too coarse"):
        laws = [density(example_d(), "skewed", [1.0], cells=40)]
    laws += [density(example_d(), "skewed", [1.0], cells=n) for n in (80, 160)]
    errors = np.array([np.abs(numbers_d(law) - LIMIT_D[1]).max() for law in laws])
    assert errors[-1] < 6e-4
    np.testing.assert_allclose(np.diff(np.log2(errors)), -2.0, atol=0.06)
    assert max(law.mass_error.max() for law in laws) < 1e-12
    assert min(law.density.min() for law in laws) >= 0
    # extrapolated to cells of no size
    np.testing.assert_allclose((4 * numbers_d(laws[2]) - numbers_d(laws[1]))[0] / 3, LIMIT_D[1], atol=2e-5)


@pytest.mark.parametrize("n", SAMPLER_D)
def test_the_samplers_own_law_in_example_d(n: int) -> None:
    law = algorithm_density(example_d(n), "skewed", [n])
    np.testing.assert_allclose(numbers_d(law), table(SAMPLER_D[n]), rtol=1e-9)
    assert law.mass_error.max() < 1e-10
    assert law.density.min() >= 0


# --- identities


def test_gradient_noise_and_a_point_start_against_moments() -> None:
    """Example A: quadratic costs, noise of a full covariance, skew; docs/mathematics, "Example A", the row n = 8."""
    fixed = ["samplers.skewed.epsilon=0.125", "chain.alpha=0.1875", "steps=8", "record_every=1"]
    law = algorithm_density(shipped("example_a", fixed), "skewed", [1, 8])
    found = [law.probability[1, 0], law.expectation(first)[1], law.expectation(second)[1]]
    found += [law.expectation(lambda x, y, a=a, b=b: x**a * y**b)[1] for a, b in ((2, 0), (1, 1), (0, 2))]
    expected = [0.411030006250, 0.185965965203, -0.227466676885, 0.897819745909, -0.212354650304, 0.619579566851]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    H, m, M = np.array([[2, 0.3], [0.3, 1]]), np.array([1.0, -1.0]), np.array([[1, -0.7], [0.7, 1]])
    after_one = np.array([0.5, 0]) - 0.125 * M @ H @ ([0.5, 0] - m)
    np.testing.assert_allclose([law.expectation(first)[0], law.expectation(second)[0]], after_one, rtol=1e-12)


def random_pair(rng: np.random.Generator, N: int) -> Scenario:
    """Two polynomials of degree 4, bounded below, and a random chain, start, temperature and (N = 2) skew."""
    variables, Q = ["x", "y"][:N], rng.uniform(0.1, 3.0, 2).tolist()
    formulas = []
    for _ in range(2):
        terms = [f"{rng.uniform(0.2, 0.5)!r}*{v}^4" for v in variables]
        terms += [f"({float(rng.normal(scale=1 / d))!r})*{v}^{d}" for v in variables for d in (1, 2, 3)]
        formulas.append(" + ".join([*terms, f"({float(rng.normal())!r})*x*y"][: len(terms) + N - 1]))
    modes = "".join(
        f'[[modes]]\nname = "m{i}"\ncost = "polynomial"\nvariables = {variables}\nformula = "{formula}"\n'
        for i, formula in enumerate(formulas)
    )
    kind = f'kind = "accelerated"\nskew = {float(rng.normal())!r}' if N == 2 else 'kind = "langevin"'
    return parse(f"""
name = "pair"
trials = 2
steps = 100
start = {{ mean = {rng.normal(size=N).tolist()}, covariance = {(rng.uniform(0.05, 1.0) * np.eye(N)).tolist()} }}
[chain]
alpha = 0.01
Q = [[{-Q[0]!r}, {Q[0]!r}], [{Q[1]!r}, {-Q[1]!r}]]
{modes}
[[samplers]]
name = "s"
epsilon = 0.01
beta = {rng.uniform(0.5, 5.0)!r}
{kind}
""")


@pytest.mark.parametrize(("N", "pairs", "cells"), [(1, 100, 120), (2, 8, 60)])
def test_positive_and_of_mass_one(N: int, pairs: int, cells: int) -> None:
    """100 random pairs of polynomials for N = 1, 8 for N = 2."""
    rng = np.random.Generator(np.random.SFC64(11))
    for _ in range(pairs):
        scenario = random_pair(rng, N)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # few cells: they are positive all the same
            law = density(scenario, "s", [0.05, 0.5], cells=cells)
        assert law.density.min() >= 0
        assert law.mass_error.max() < 1e-10
        field = read_field(scenario, "s")
        L = finite_volume.rate_matrix(field, automatic_box(field), 16)
        off = L.toarray() - np.diag(L.diagonal())
        assert off.min() >= 0
        assert np.abs(L.sum(axis=0)).max() < 1e-10 * np.abs(L.diagonal()).max()


def test_uniformisation_is_the_exponential() -> None:
    from scipy.linalg import expm

    field = read_field(example_b(), "classical")
    L = finite_volume.rate_matrix(field, np.array([[-2.5, 2.5]]), 20)
    v = finite_volume.initial_masses(field, np.array([[-2.5, 2.5]]), 20).ravel()
    for t in (0.0, 0.3, 40.0, 4000.0):
        np.testing.assert_allclose(finite_volume.propagate(L, v, t), expm(t * L.toarray()) @ v, rtol=1e-9, atol=1e-13)


def test_gibbs_law_is_kept_in_one_mode() -> None:
    """Scharfetter and Gummel's scheme has exp(-beta C) at the middles of the cells as its stationary law."""
    scenario = example_b()
    field = read_field(scenario.replace(modes=scenario.modes[:1], chain=None), "classical")
    box = np.array([[-2.5, 2.5]])
    (x,) = finite_volume.cell_axes(box, 50)
    gibbs = np.exp(-4 * ((x**2 - 1) ** 2 / 4 - 0.3 * x))
    L = finite_volume.rate_matrix(field, box, 50)
    assert np.abs(L @ gibbs).max() < 1e-12 * np.abs(L.diagonal()).max() * gibbs.max()


# --- refusals


def test_a_box_that_is_too_small_is_said() -> None:
    with pytest.warns(RuntimeWarning, match="too small: mass .* near its edge"):
        law = density(example_b(), "classical", [1.0], cells=100, box=(-1.2, 1.2))
    assert law.box_too_small
    assert not density(example_b(), "classical", [1.0], cells=100, box=[(-2.6, 2.6)]).box_too_small


def test_what_is_out_of_scope_names_what_to_use_instead() -> None:
    b, d = example_b(), example_d()
    cubic = {"name": "c", "cost": "quadratic", "minimum": [0.0] * 3, "curvature": np.eye(3).tolist()}
    three = b.replace(modes=[cubic], chain=None, start=[0.0] * 3)
    adaptive = {
        "name": "a",
        "kind": "hessian",
        "epsilon": 0.1,
        "skew": 0.1,
        "skew_step": 0.1,
        "skew_bounds": [-1.0, 1.0],
    }
    moving = d.replace(samplers=[adaptive])
    random = d.replace(samplers=[{"name": "r", "kind": "accelerated", "epsilon": 0.1, "skew": "random"}])
    scheduled = b.replace(chain=None, schedule={"switches": [(0, "right"), (5, "left")]})
    shocked = b.replace(interventions=[{"kind": "switch", "at": 3, "to": "left"}])
    for tool in (density, algorithm_density):
        for scenario, sampler, words in (
            (three, "classical", "N = 3.*use coupled"),
            (moving, "a", "hessian moves it: use limits.coupled"),
            (random, "r", 'skew = "random" is drawn for each trial.*give a matrix'),
            (scheduled, "classical", "schedule.*simulate with tracker.run"),
            (shocked, "classical", "interventions.*simulate with tracker.run"),
            (b, "nobody", "'nobody' is none of the scenario's"),
        ):
            with pytest.raises(ValueError, match=words):
                tool(scenario, sampler, [1])
    point = b.replace(start=[0.0])
    with pytest.raises(ValueError, match=r"no density .*algorithm_density"):
        density(point, "classical", [1.0])
    with pytest.raises(ValueError, match="begin at step 1"):
        algorithm_density(point, "classical", [0])
    with pytest.raises(ValueError, match="finite-volume"):
        density(b, "classical", [1.0], method="magic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="increasing"):
        density(b, "classical", [1.0, 0.5])


# --- coupled levels


def quiet_a() -> Scenario:
    scenario = shipped("example_a")
    return scenario.replace(modes=[mode.model_copy(update={"gradient_noise": None}) for mode in scenario.modes])


def test_skeleton_coupling_has_variance_of_order_two() -> None:
    """Var n^2 = 0.92 (theta_1), 0.56 (theta_2^2), flat; indicators and gradient noise only O(1/n).

    docs/mathematics, "Coupling". That of theta_2^2 comes down to it from 0.73 at n = 8 (20 seeds: 0.73 +- 0.01).
    """
    levels = [8, 16, 32, 64, 128]
    for f, flat, slope in (
        (lambda theta: theta[:, 0], 0.92, 1.083),
        (lambda theta: theta[:, 1] ** 2, [0.73, 0.63, 0.59, 0.56, 0.56], 1.068),
    ):
        c = coupled(quiet_a(), "skewed", f, [1.0], levels, 4000)
        np.testing.assert_allclose(c.variance[0] * c.levels**2, flat, rtol=0.3)
        assert c.slope_interval[0, 0] - 0.1 < slope < c.slope_interval[0, 1] + 0.1
        assert c.gradient_noise == "none"
    indicator = coupled(quiet_a(), "skewed", lambda theta: theta[:, 0] > 0, [1.0], levels, 4000)
    assert (indicator.variance[0] * indicator.levels**2)[-1] > 4 * (indicator.variance[0] * indicator.levels**2)[0]


def test_coupled_levels_meet_the_exact_recursion() -> None:
    """E theta of Example A with gradient noise at n = 8, 16, 32; docs/mathematics, "Example A". Five standard errors."""
    c = coupled(shipped("example_a"), "skewed", first, [1.0], [8, 16, 32], 8000)
    exact = np.array([0.185965965203, 0.198392646646, 0.203811232865, 0.206357062389])
    assert np.all(np.abs(c.mean[0] - (exact[:-1] - exact[1:])) < 5 * c.stderr[0])
    assert np.all(np.abs(c.value[0] - exact[:-1]) < 5 * c.value_stderr[0])
    assert c.gradient_noise == "gaussian"


def test_coupling_to_the_limit_bounds_the_distance_of_paths() -> None:
    """E max_k |theta_k - theta(k epsilon)| = 0.241, 0.121, 0.0619 at n = 8, 16, 32; 5 % is 10 errors.

    docs/mathematics, "Coupling".
    """
    c = coupled(quiet_a(), "skewed", lambda theta: theta[:, 1], [0.5, 1.0], [8, 16, 32], 4000, against="limit")
    np.testing.assert_allclose(c.distance, [0.241, 0.121, 0.0619], rtol=0.05)
    assert c.mean.shape == (2, 3)
    assert c.interval.shape == (2, 3, 2)


def test_coupled_triple_of_algorithm_1() -> None:
    """(mean difference) n = 0.181 (theta_1), 0.158 (D_2), 0.295 (S) at n = 16, up to sign; five errors.

    docs/mathematics, "Adaptive path", with noise.
    """
    scenario = parse("""
name = "triple"
trials = 2
steps = 16
start = [2.0, 1.0]
[[modes]]
name = "only"
cost = "quadratic"
minimum = [0.3, -0.2]
curvature = [[3.0, 0.5], [0.5, 1.0]]
[[samplers]]
name = "adaptive"
kind = "hessian"
epsilon = 0.0625
beta = 2.0
skew = 0.4
skew_step = 0.0625
skew_bounds = [-100.0, 100.0]
""")

    def entry(n: int):
        return lambda theta, D, S: (theta[:, 0], D[:, 0, 1], S[:, 1, 0])[n]

    for f, size in zip(map(entry, range(3)), (0.181, 0.158, 0.295), strict=True):
        c = coupled(scenario, "adaptive", f, [1.0], [16], 8000)
        assert abs(abs(c.mean[0, 0] * 16) - size) < 5 * c.stderr[0, 0] * 16 + 0.004


def test_coupled_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="whole numbers of steps at level 8"):
        coupled(quiet_a(), "skewed", first, [0.3], [8], 10)
    with pytest.raises(ValueError, match=r"alpha \* max\|q_ii\| = 1.5 > 1: begin at 2"):
        coupled(quiet_a(), "skewed", first, [1.0], [1], 10)
