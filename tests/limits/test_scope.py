"""What theory does not cover is refused in one way: a reason for every reader, an advice for the caller."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import tracker
from tracker import limits
from tracker.limits import OutOfScope
from tracker.limits.drift_field import read_field
from tracker.limits.scope import refusal_of
from tracker.limits.switched_quadratic import read_quadratic

A = tracker.load(Path(__file__).parents[2] / "scenarios" / "example_a.toml")
MOVING = {"name": "s", "kind": "hessian", "epsilon": 0.1, "skew": 0.2, "skew_step": 0.1, "skew_bounds": [-1.0, 1.0]}
SPSA = {**MOVING, "kind": "spsa"}
DRAWN = {"name": "s", "kind": "accelerated", "epsilon": 0.1, "skew": "random"}
TEMPERED = {"name": "s", "kind": "tempered", "epsilon": 0.1, "noise_step": 0.1, "noise_bounds": [0.5, 2.0]}
# what is asked for: reason, the beginning of the advice, and whether it concerns one sampler alone
REFUSED = {
    "sweep": (
        A.replace(sweep={"chain.alpha": [1e-3, 1e-2]}),
        "sweep: this file stands for many scenarios, and theory is about one", "take one of them: --set sweep={}", False,
    ),
    "schedule": (
        A.replace(chain=None, schedule={"switches": [[0, "one"], [10, "two"]]}),
        "schedule: theory is about modes that a Markov chain picks", "give a [chain]", False,
    ),
    "interventions": (
        A.replace(interventions=[{"kind": "outage", "at": 3, "steps": 2}]),
        "interventions: theory knows none", "leave them out", False,
    ),
    "moving": (
        A.replace(samplers=[MOVING]),
        "theory needs an S that stands still, and hessian moves it", "use limits.coupled", True,
    ),
    "spsa": (
        A.replace(samplers=[SPSA]),
        "theory needs an S that stands still, and spsa moves it", "simulate it instead", True,
    ),
    "drawn": (
        A.replace(samplers=[DRAWN]),
        'skew = "random" is drawn for each trial, and theory needs one S', "give a matrix", True,
    ),
    "tempered": (
        A.replace(samplers=[TEMPERED]),
        "theory needs a sampler that stays as it is, and tempered moves its noise", "simulate it instead", True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("reader", [read_quadratic, read_field, limits.stability, limits.best_step])
def test_every_reader_refuses_with_the_same_reason(reader: object, what: str) -> None:
    scenario, reason, advice, of_sampler = REFUSED[what]
    name = scenario.samplers[0].name
    with pytest.raises(OutOfScope) as caught:
        reader(scenario, name)  # type: ignore[operator]
    refusal = caught.value
    assert refusal.reason == reason
    assert refusal.advice.startswith(advice)
    assert refusal.sampler == (name if of_sampler else None)
    place = f'sampler "{name}": ' if of_sampler else ""
    assert str(refusal) == f"{place}{reason}: {refusal.advice}"


def test_a_cost_that_is_not_quadratic_is_refused_by_its_place() -> None:
    wells = tracker.load(Path(__file__).parents[2] / "scenarios" / "example_b.toml")
    with pytest.raises(OutOfScope) as caught:
        limits.moments(wells, "classical", [1.0])
    assert caught.value.reason.startswith('modes[0] "')
    assert caught.value.reason.endswith("theory is exact for quadratic costs only, and polynomial is none")
    assert caught.value.advice == "use limits.density (N = 1, 2) or limits.coupled (any N)"
    momentum = wells.replace(samplers={"m": {"kind": "kinetic", "epsilon": 0.01, "friction": 1.0}})
    with pytest.raises(OutOfScope) as caught:
        limits.moments(momentum, "m", [1.0])
    assert caught.value.advice == "simulate it instead"  # neither of the two knows its kind: advice went in a circle


def test_an_unknown_sampler_is_a_wrong_argument_and_no_matter_of_theory() -> None:
    """Control: not every ValueError is a refusal."""
    for reader in (read_quadratic, read_field):
        with pytest.raises(ValueError, match="'nobody' is none of the scenario's") as caught:
            reader(A, "nobody")
        assert not isinstance(caught.value, OutOfScope)


def test_a_refusal_survives_another_process_and_is_made_of_other_errors() -> None:
    refusal = OutOfScope("it is too large", "take less", "a")
    again = pickle.loads(pickle.dumps(refusal))  # noqa: S301  (our own)
    assert (str(again), again.reason, again.advice, again.sampler) == (
        str(refusal),
        "it is too large",
        "take less",
        "a",
    )
    assert refusal_of(refusal) is refusal
    other = refusal_of(ArithmeticError("singular"), "b")
    assert (other.reason, other.sampler, str(other)) == ("singular", "b", 'sampler "b": singular')


def test_the_readers_agree_on_what_they_read() -> None:
    quadratic, field = read_quadratic(A, "skewed"), read_field(A, "skewed")
    assert (quadratic.M == field.M).all()
    assert (quadratic.ratio, quadratic.epsilon, quadratic.beta) == (
        field.alpha / field.epsilon,
        field.epsilon,
        field.beta,
    )
    assert (quadratic.p0 == field.initial).all()
    assert (quadratic.mean0 == field.mean).all()
