"""Make the verdict of a check, and write it in sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tracker.convergence.three_limits import NAMES, approach
from tracker.convergence.verdict import Statement, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracker.convergence.implementation_verdict import Implementation
    from tracker.convergence.step_ladder import Ladder

REFERENCES = {
    "moments": "exact moments",
    "density": "the density of the limit, solved numerically",
    "diffusion": "none that is independent",
    "path": "the ODE of (theta, D, S), solved to 1e-12",
}


def verdict_of(
    rungs: Ladder, resolution: float, tested: int, engine: Implementation | None = None, **found: Any
) -> Verdict:
    """Return the verdict of a check of ``rungs``, with its sentences; ``tested`` : how many statistics were.

    ``found`` are fields of a ``Verdict``; ``engine`` gives those of the implementation.
    """
    facts = {
        "ratio": rungs.ratio,
        "alphas": tuple(rungs.alpha(rung) for rung in range(len(rungs.steps))),
        **({} if engine is None else engine.fields()),
        **found,
    }
    verdict = Verdict(
        scenario=rungs.scenario.name,
        sampler=rungs.sampler,
        horizon=rungs.horizon,
        epsilons=rungs.epsilons,
        resolution=resolution,
        **facts,
    )
    said = tuple(_sentences(verdict, tested))
    return replace(verdict, statements=tuple(map(str, said)), topics=said)


def _sentences(v: Verdict, tested: int) -> Iterator[Statement]:
    reference = REFERENCES["path" if v.deterministic else v.reference]
    if v.scaled:
        reference += (
            " of u = (theta - vartheta)/sqrt(epsilon)"
            if v.path is None
            else " of v = (theta - average)/sqrt(epsilon/alpha)"
        )
    yield _judged("limit", v.limit_verdict, _limit(v, tested))
    yield _judged("implementation", v.implementation_verdict, _implementation(v, tested))
    yield Statement("reference", f"{reference}; T = {v.horizon:g}, epsilon = {_list(v.epsilons)}")
    yield from _regime(v)
    yield Statement("order", order := _order(v), order)
    yield from _paths(v)
    for bound in v.bounds:
        exact = "" if bound.exact is None else f"; exactly {bound.exact:.3g}"
        what = "KS distance of (mode, theta)" if bound.distance == "ks" else "W1 distance of theta"
        yield Statement(
            "",
            f"{what} to the limit at epsilon = {bound.epsilon:g}: at most {bound.bound:.3g} with 95 % confidence "
            f"({bound.trials} trials{exact})",
        )


def _paths(v: Verdict) -> Iterator[Statement]:
    if (f := v.first_passage) is not None:
        slopes = [("", f.order, "1/2"), (" at the raised level", f.order_raised, "1")]
        orders = "; ".join(
            f"order {slope:.3f}{where} (it tends to {power})" for where, slope, power in slopes if slope is not None
        )
        yield Statement(
            "first passage",
            f"P(theta stays below {f.level:.6g} up to T) = {f.limit:.6g} in the limit, {f.algorithm[-1]:.6g} at epsilon = "
            f"{v.epsilons[-1]:g}, {f.raised[-1]:.6g} in the limit at the raised level"
            + (f"; {orders}" if orders else ""),
        )
    if (m := v.modulus) is not None:
        yield Statement(
            "modulus",
            f"E|theta(t + delta) - theta(t)|^4 / (delta + epsilon)^2 is at most {m.algorithm[0]:.4g} at epsilon = {v.epsilons[0]:g}, "
            f"{m.algorithm[-1]:.4g} at {v.epsilons[-1]:g} and {m.limit:.4g} in the limit, over {m.parts} equal times up to T",
        )


def _judged(topic: str, word: str, reason: str) -> Statement:
    """Return a verdict and its reason, as one sentence."""
    return Statement(topic, f"{word} {reason}" if reason.startswith("at resolution") else f"{word}: {reason}", reason)


def _list(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _regime(v: Verdict) -> Iterator[Statement]:
    known = [(name, v.distances[name], v.rates[name]) for name in NAMES if v.distances[name] is not None]
    if not known:
        return
    shown = ", ".join(
        f"{name} {distance:.3g}" + ("" if rate is None or name != v.regime else f" (shrinking as epsilon^{rate:.2f})")
        for name, distance, rate in known
    )
    along = (
        f"alpha = epsilon^{v.path:g}"
        if v.path is not None
        else f"alpha/epsilon = {v.ratio:g}"
        if v.ratio
        else "one mode"
    )
    yield Statement("regime", f"{v.regime} ({along}); distance at epsilon = {v.epsilons[-1]:g}: {shown}")


def _limit(v: Verdict, tested: int) -> str:
    if not _has_limit(v):
        return f"theory knows no limit of this kind here; means over {v.trials} trials at each epsilon are shown"
    if v.limit_verdict == "unavailable":
        return "order only, limit not independently validated"
    name = _limit_name(v)
    unit = "of their size" if v.deterministic else "standard deviations"
    exact = v.largest_z is None
    how = "exact values" if exact else f"{v.trials} trials at each epsilon"
    if v.limit_verdict == "confirmed":
        return (
            f"at resolution {v.resolution:g}: as epsilon -> 0 the algorithm tends to {name}; {tested} statistics are "
            f"within {v.resolution_reached:.2g} {unit} ({how})"
        )
    if v.limit_verdict == "rejected":
        z = "" if exact else f", largest |z| = {v.largest_z:.1f}"
        return f"what the trials tend to as epsilon -> 0 is not {name} ({tested} statistics, {how}{z})"
    if exact:
        return (
            f"at resolution {v.resolution:g}: extrapolation over this ladder is good to {v.resolution_reached:.2g} "
            "only; take smaller --epsilons"
        )
    return (
        f"at resolution {v.resolution:g}: {v.resolution_reached:.2g} {unit} are not excluded by {how}; "
        f"about --trials {v.trials_needed} would decide"
    )


def _limit_name(v: Verdict) -> str:
    if v.scaled:
        return "the diffusion of the scaled error" + ("" if v.path is None else " of a fast chain")
    if v.deterministic:
        return "the solution of the ODE"
    return "the diffusion" if v.path is None and not v.ratio else f"the {v.regime} diffusion"


def _implementation(v: Verdict, tested: int) -> str:
    where = f"the engine at epsilon = {v.epsilons[0]:g}"
    if v.residuals:
        return _by_steps(v, tested, where)
    z = "" if v.implementation_z is None else f", largest |z| = {v.implementation_z:.1f}"
    many = f"{v.trials} trials of " if v.trials > 1 else "a run of "
    agree, have, decide = (
        ("agree", "do not have", "neither reject nor confirm")
        if v.trials > 1
        else ("agrees", "does not have", "neither rejects nor confirms")
    )
    if v.implementation_verdict == "unavailable":
        return "no exact law of the algorithm to compare with"
    if v.implementation_verdict == "confirmed":
        return (
            f"at resolution {v.resolution:g}: {many}{where} {agree} with its exact law there ({tested} statistics{z})"
        )
    if v.implementation_verdict == "rejected":
        return f"{many}{where} {have} its exact law there ({tested} statistics{z})"
    return (
        f"{many}{where} {decide} its exact law at resolution {v.resolution:g}; about "
        f"--trials {v.trials_needed} would decide"
    )


def _by_steps(v: Verdict, tested: int, where: str) -> str:
    """The sentence where single steps were judged, beside the law at T or alone."""
    law = (
        ""
        if v.implementation_z is None
        else f"{tested} statistics of its law, largest |z| = {v.implementation_z:.1f}; "
    )
    z = max((abs(each.z) for each in v.residuals if each.z is not None), default=None)
    steps = f"{len(v.residuals)} of single steps" + ("" if z is None else f", largest |z| = {z:.1f}")
    what, how = f"{v.trials} trials of {where}", f"({law}{steps})"
    if v.implementation_verdict == "rejected":
        wrong = [
            each.name + ("" if each.z is None else f" (z = {each.z:.1f})") for each in v.residuals if each.rejected
        ]
        named = f": {', '.join(wrong)}" if wrong else ""
        return f"{what} do not have the law of the algorithm {how}{named}"
    if v.implementation_verdict == "confirmed":
        return f"at resolution {v.resolution:g}: {what} have the law of the algorithm {how}; {sight(v)}"
    return (
        f"{what} neither reject nor confirm the law of the algorithm at resolution {v.resolution:g} {how}; "
        f"{sight(v)}; about --trials {v.trials_needed} would decide"
    )


def sight(v: Verdict) -> str:
    """The smallest faults that would have been rejected, in words."""
    known = [
        f"the {name} by {100 * v.sees[name]:.2g} %" for name in ("noise", "drift", "rate") if v.sees[name] is not None
    ]
    if not known:
        return "no noise, drift or jump was there to be seen"
    listed = known[0] if len(known) == 1 else f"{', '.join(known[:-1])} or {known[-1]}"
    return f"an error of {listed} would have been rejected (95 %)"


def _has_limit(v: Verdict) -> bool:
    return not v.observables or any(o.limit is not None for o in v.observables)


def _order(v: Verdict) -> str:
    o = v.order
    if not _has_limit(v):
        return "none: there is no limit to set the means against"
    if o.estimate is None:
        return "none: the error is not resolved, or has no leading term, on this ladder"
    text = f"{o.estimate:.3f}"
    if o.low is not None and o.high is not None and o.low < o.high:
        text += f" [{o.low:.3f}, {o.high:.3f}]"
    if o.exact is not None:
        text += f"; the exact slope over this ladder is {o.exact:.3f}"
    power = approach(v.path)
    exact = v.largest_z is None and v.limit_verdict != "unavailable"
    without = sum(obs.order is None for obs in v.observables if obs.tested)
    text += f" (it tends to {power:g} as epsilon -> 0)" if v.limit_verdict != "unavailable" else ""
    have = "has" if without == 1 else "have"
    lacking = (
        f"{have} no leading term, so no slope"
        if exact
        else f"{have} no slope of {'its' if without == 1 else 'their'} own: no leading term, or lost in noise"
    )
    return text + (f"; {without} of the statistics {lacking}" if without else "")
