"""What the fuzzer's grammar got after its first seeds were on record: later costs, samplers, laws and tables.

``enriched(data, rng)`` changes the tables of a scenario; the files that they name are those of ``data_files``.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import formulas

SHIPPED_DATA = sorted((Path(__file__).parents[1] / "scenarios").glob("*.csv"))
CELLS = ("mean_radius", "mean_texture", "mean_perimeter", "mean_area", "mean_smoothness", "mean_compactness", "mean_concavity", "mean_symmetry")  # fmt: skip
MATRICES = {1: "one.csv", 2: "two.csv", 3: "three.csv"}
ODD_FILES = ("one.csv", "ragged.csv", "words.csv", "odd.csv", "empty.csv", "none.csv", "../x.csv")
METRICS = ("tracking_error", "mean_square_error", "recovery", "excess_cost", "time_in_target", "accuracy", "prequential_loss")  # fmt: skip


def data_files() -> dict[str, bytes]:
    """Return the data files beside the fuzzer's scenarios, by name: sound ones and odd ones."""
    rows = [f"{n % 7},{n * n % 11},{n % 2}" for n in range(60)]
    return {
        **{file.name: file.read_bytes() for file in SHIPPED_DATA},
        "one.csv": b"1.5\n",
        "two.csv": b"2.0,0.3\n0.3,1.0\n",
        "three.csv": b"2,0,0\n0,1,0\n0,0,3\n",
        "ragged.csv": b"1,0\n0\n",
        "words.csv": b"a,b\n1,x\n",
        "odd.csv": b"\xff\xfe1,2\r1,\x00\n",
        "empty.csv": b"",
        "rows.csv": "\n".join(["x,z,y", *rows]).encode(),
        "regimes.csv": "\n".join(["x,z,y,when", *(f"{row},m{n // 5 % 3}" for n, row in enumerate(rows))]).encode(),
    }


def logistic_rows(N: int) -> dict[str, Any]:
    """Return the keys of a logistic cost in N dimensions, one of them a constant where there are several."""
    return {"data": "breast_cancer.csv", "features": list(CELLS[: max(1, N - 1)]), "intercept": N > 1, "label": "benign", "prior_variance": 1.0, "horizon": 5}  # fmt: skip


def one_of(rng: random.Random, good: tuple[Any, ...], odd: tuple[Any, ...]) -> Any:
    """Return something good, or now and then something odd."""
    return rng.choice(good if rng.random() < 0.93 else odd)


def enriched(data: dict[str, Any], rng: random.Random) -> None:
    """Put some of the later keys into the tables of a scenario."""
    modes, start = data["modes"], data["start"]
    N, X = len(start["mean"] if isinstance(start, dict) else start), len(modes)
    by_column = X == 3 and N < 3 and rng.random() < 0.5
    family = _stored if by_column else rng.choice((None, None, _formula, _gaussian, _stored))
    if family is not None:
        shared = family(rng, N)
        if by_column and shared["data"] == "rows.csv":
            shared["data"] = "regimes.csv"
        for mode in modes:
            name = mode["name"]
            mode.clear()
            mode |= {"name": name, **(shared if family is _stored else family(rng, N))}
    if by_column:
        data.pop("chain", None)
        data["schedule"] = {"from": one_of(rng, ("when",), ("y", "nothing", ""))}
    if rng.random() < 0.4:
        _spelt_otherwise(modes, rng, N)
    noisy = [mode for mode in modes if "gradient_noise" in mode]
    if len(noisy) == X and rng.random() < 0.4:
        memory = one_of(rng, (0.0, 0.5, 0.999), (1.0, -0.9, 1e-300))
        for mode in noisy:
            mode["noise_memory"] = memory
    if "chain" in data and rng.random() < 0.4:
        data["chain"] |= {"alpha": 0.01, "dwell": one_of(rng, ({"law": "erlang", "shape": rng.choice((1, 2, 5, 60))}, "fixed"), ({"law": "erlang", "shape": 10**9}, "uniform"))}  # fmt: skip
    if rng.random() < 0.3:
        data["drift"] = _drift(rng, N)
    for sampler in data["samplers"]:
        if "skew_bounds" in sampler:
            sampler |= {"skew_step": 0.01, "skew_bounds": [-5.0, 5.0]}
        if rng.random() < 0.4:
            _wrapped(sampler, rng, N)
    if rng.random() < 0.3:
        names = [sampler["name"] for sampler in data["samplers"]]
        data["claims"] = [_claim(rng, names) for _ in range(rng.choice((1, 1, 3)))]
    if rng.random() < 0.3:
        data["baselines"] = one_of(rng, ([], ["frozen"], ["frozen", "oracle"], ["filter"]), (["frozen", "frozen"], ["x"]))  # fmt: skip
    if rng.random() < 0.2:
        data["moments"] = one_of(rng, ("full", "diagonal", "none"), ("half",))


def _formula(rng: random.Random, N: int) -> dict[str, Any]:
    variables = [f"v{d}" for d in range(N)]
    first, last = variables[0], variables[-1]
    bowl = " + ".join(f"0.5*{name}^2" for name in variables)
    good = (
        bowl,
        f"{bowl} + p*cos(q[0]*{first})",
        f"log(1 + exp({first})) + {bowl}",
        f"logcosh({last}) + sqrt(1 + {first}^2) + {bowl}",
        f"max({first}, -{last}) + {bowl}",
        f"{formulas.spoken(rng, 3, variables).text} + 10*({bowl})",
    )
    text = one_of(rng, good, (f"1/({first}^2) + {bowl}", f"log({first})", formulas.hostile_formula(rng.randrange(10**6))))  # fmt: skip
    parameters = one_of(rng, ({"p": 0.3, "q": [1.0, 2.0]},), ({"p": 1e300, "q": [0.0]}, {"v0": 1.0}, {"sin": 2.0}, {}))
    noise = one_of(rng, (1.0, [1.0] * N, 0.0), (-1.0,))
    return {"cost": "formula", "variables": variables, "formula": text, "parameters": parameters, "gradient_noise": noise}  # fmt: skip


def _gaussian(rng: random.Random, N: int) -> dict[str, Any]:
    spread = [[float(d == e) + 0.2 for e in range(N)] for d in range(N)]
    keys = {
        "cost": "regression",
        "truth": [round(rng.uniform(-2, 2), 2) for _ in range(N)],
        "regressor_covariance": one_of(rng, (1.0, spread), (1e-6, 0.0)),
        "noise_variance": one_of(rng, (0.1, 0.0), (1e6, -1.0)),
    }
    if rng.random() < 0.1:
        keys["regressor_memory"] = one_of(rng, (0.5, 0.99), (1.0,))
    return keys | _loss(rng)


def _stored(rng: random.Random, N: int) -> dict[str, Any]:
    """Rows of a file: N = 1 or 2 fits the columns x and z of ``rows.csv``, or x and a constant."""
    file, columns, label = rng.choice((("rows.csv", ["x", "z"], "y"), ("breast_cancer.csv", list(CELLS), "benign")))  # fmt: skip
    intercept = N > 1 and rng.random() < 0.5
    keys = {
        "data": file,
        "features": one_of(rng, (columns[: N - intercept],), ([*columns, "when"], [])),
        "intercept": intercept,
        "standardize": rng.random() < 0.5,
        "rows": rng.choice(("random", "in-order", "shuffle")),
    }
    if rng.random() < 0.5:
        keys |= {"cost": "logistic", "label": label, "prior_variance": one_of(rng, (1.0, 10.0), (1e-9,)), "horizon": rng.choice((1, 50))}  # fmt: skip
        return keys | ({"relabel": one_of(rng, ("flip",), ({"column": "x", "threshold": 1e9},))} if rng.random() < 0.2 else {})  # fmt: skip
    return keys | {"cost": "regression", "response": label} | _loss(rng)


def _loss(rng: random.Random) -> dict[str, Any]:
    good = ({}, {"ridge": 0.1}, {"loss": "huber", "threshold": 1.0}, {"loss": "absolute", "ridge": 0.1})
    return dict(one_of(rng, good, ({"loss": "huber", "threshold": 1e-300}, {"loss": "huber"}, {"ridge": 1e300})))


def _spelt_otherwise(modes: list[dict[str, Any]], rng: random.Random, N: int) -> None:
    good = (1.0, [1.0] * N, {"file": MATRICES.get(N, "none.csv")})
    for mode in modes:
        for key in ("curvature", "gradient_noise"):
            if key in mode and rng.random() < 0.5:
                mode[key] = one_of(rng, good, ([0.5] * (N + 1), {"file": rng.choice(ODD_FILES)}))


def _drift(rng: random.Random, N: int) -> dict[str, Any]:
    diagonal = [[1e-3 * (d == e) for e in range(N)] for d in range(N)]
    good = (
        {"kind": "random-walk", "covariance": rng.choice((1e-4, 0.0, diagonal))},
        {"kind": "sinusoid", "amplitude": [1.0] * N, "period": rng.choice((50.0, 1e-3, 1e12)), "phase": rng.choice((0.0, 1e9))},
        {"kind": "ramp", "velocity": [rng.choice((1e-3, 1e6))] * N},
    )  # fmt: skip
    return dict(one_of(rng, good, ({"kind": "storm"}, {"kind": "ramp"}, {"kind": "random-walk", "covariance": 1e300})))


def _wrapped(sampler: dict[str, Any], rng: random.Random, N: int) -> None:
    """Put a sampler, but for its name, its step and its beta, into another."""
    for _ in range(one_of(rng, (1,), (2, 12))):
        inner = {key: value for key, value in sampler.items() if key not in ("name", "epsilon", "beta")}
        for key in inner:
            del sampler[key]
        sampler["sampler"] = inner
        if rng.random() < 0.5:
            sampler |= {"kind": "averaged", "rate": one_of(rng, (0.1, 1.0, 1e-9), (0.0,))}
            continue
        sampler |= {"kind": "restart", "detector": rng.choice(("cusum", "cusum", "true-times"))}
        if sampler["detector"] == "cusum":
            sampler |= {"threshold": rng.choice((4.0, 1e-3, 1e12)), "shift": 1.0, "noise_variance": one_of(rng, (1.0,), ([1.0] * N,))}  # fmt: skip
        if rng.random() < 0.5:
            sampler |= {"action": "mean", "curvature": one_of(rng, (1.0,), (1e-300, [1.0] * N)), "floor": rng.choice((0.0, 1e-3))}  # fmt: skip
        else:
            sampler |= {"action": "hot", "hot_beta": 0.1, "hot_steps": rng.choice((1, 50, 10**12))}


def _claim(rng: random.Random, names: list[str]) -> dict[str, Any]:
    metric = rng.choice(METRICS)
    others = (*names, "frozen")
    sides: list[Any] = [f"{metric}.{one_of(rng, others, ('nobody', ''))}", f"{metric}.{rng.choice(others)}"]
    if rng.random() < 0.3:
        sides[rng.randrange(2)] = rng.choice((1.0, 0.0, 1e300))
    return {"text": "it holds", "left": sides[0], "relation": rng.choice(("<", ">")), "right": sides[1]}
