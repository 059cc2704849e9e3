"""The checks behind "Can I trust it?": what was looked at, what was seen, and what is worth a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.formatting import DASH, counted, few, number, percent, sentence, times_or_percent, who, whole
from tracker.metrics.averages import FEWEST_TRIALS
from tracker.reports.exhibit import Answer
from tracker.reports.exhibits.diagnostics import recomputed_difference, samplers_that_record
from tracker.reports.exhibits.dwells import suspicions, visits_of
from tracker.reports.exhibits.skew_path import at_bounds, samplers_that_move_skew
from tracker.scenario.step_warnings import aliased_records, doubtful_targets
from tracker.scenario.switching_check import unstable_when_switched

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tracker.reports.exhibits.diagnostics import Health
    from tracker.reports.run_view import View

FEW_TRIALS = 20  # below it intervals cover less than they say
FEW_SWITCHES = 10
NOISE_WORTH_A_WORD = 0.5  # gradient noise over injected noise: the law is then half as hot again as beta says
STEP_WORTH_A_WORD = 0.5  # step over its stability limit
MOSTLY_CENSORED = 0.5
OFTEN_AT_BOUNDS = 0.2
WRONG_RECORDS = 1e-9
# An excess cost below this times 1 + |least cost| is no rounding: a hundred times what the search for minimisers calls equal.
BELOW_THE_LEAST = -1e-6
MOST_COORDINATES_SHOWN = 6
QUESTION = "Can I trust it?"


class Check(NamedTuple):
    """Something that was looked at: what was seen, and the warnings that follow from it."""

    name: str
    result: str
    warnings: tuple[str, ...] = ()
    made: bool = True  # False where nothing is known to look at

    @property
    def fine(self) -> bool:
        """Whether nothing is worth a warning."""
        return not self.warnings

    @property
    def sign(self) -> str:
        """What stands before it in a list."""
        return ("✓" if self.made else DASH) if self.fine else "!"


def checks(view: View, health: dict[str, Health]) -> tuple[Check, ...]:
    """Return all checks of a run, those of the numbers first."""
    return (
        _divergence(view),
        _trials(view),
        _records(view),
        _minimisers(view),
        *_chain(view),
        _gradient_noise(view, health),
        _steps(view, health),
        _state(view),
        _start(view),
    )


def trust(made: Sequence[Check], *, nothing: bool = False) -> Answer:
    """Count the checks that found nothing; ``nothing``: no trial is left that could be trusted."""
    made = [check for check in made if check.made]
    fine = [check for check in made if check.fine]
    if len(fine) == len(made):
        text = f"All {len(made)} checks passed: {made[0].result}; {made[1].result}; {made[2].result}."
        return Answer(QUESTION, "yes", text, "good", link="diagnostics")
    care = [check.name for check in made if not check.fine]
    text = f"{len(fine)} of {len(made)} checks passed; see the warnings on {few(care, 'other check')}."
    mark, tone = ("no", "bad") if nothing else ("with care", "warn")
    return Answer(QUESTION, mark, text, tone, link="diagnostics")


def _who(view: View, names: Sequence[str]) -> str:
    return who(names, "sampler", len(view.samplers))


def _divergence(view: View) -> Check:
    rows = {name: view.summary[name] for name in view.samplers if view.summary[name]["diverged"]}
    if not rows:
        return Check("divergence", "no trial diverged")
    warnings = [
        f"{name}: {whole(row['diverged'])} of {whole(view.trials)} trials diverged, the first at step {whole(row['first_divergence'])}; "
        "they are left out of all averages."
        for name, row in rows.items()
    ]
    if len(rows) > 4:
        total = sum(row["diverged"] for row in rows.values())
        first = min(row["first_divergence"] for row in rows.values())
        warnings = [
            f"{_who(view, list(rows))}: {whole(total)} trials diverged, the first at step {whole(first)}; they are left out of all averages."
        ]
    return Check("divergence", f"trials of {few(list(rows), 'sampler')} diverged", tuple(warnings))


def _trials(view: View) -> Check:
    warnings = []
    missing = int(view.scenario.trials) - view.trials
    if missing > 0:
        warnings.append(f"{whole(missing)} of {whole(view.scenario.trials)} trials are missing: some shards failed.")
    if view.trials < FEWEST_TRIALS:
        warnings.append(
            f"Only {counted(view.trials, 'trial')}: differences between samplers may be chance, and nothing tells."
        )
    elif view.trials < FEW_TRIALS:
        warnings.append(
            f"Only {counted(view.trials, 'trial')}: intervals are rough, and differences between samplers may be chance."
        )
    if view.measured.repeated:
        warnings.append(
            f"All {whole(view.trials)} trials are the same: nothing in this world is random, so they are one trial. Intervals and counts of trials say nothing."
        )
    return Check("trials", counted(view.trials, "trial"), tuple(warnings))


def _records(view: View) -> Check:
    difference = recomputed_difference(view)
    warnings = list(map(sentence, aliased_records(view.scenario)))
    if difference is not None and difference > WRONG_RECORDS:
        warnings.append(
            f"The recorded errors do not belong to the recorded points and modes (difference {number(difference, 2)}): this result is not to be used."
        )
    agree = "agree" if difference is None or difference <= WRONG_RECORDS else "differ"
    seen = (
        f"errors recomputed from the records {agree}" if difference is not None else "errors are measured by the cost"
    )
    return Check("records", seen, tuple(warnings))


def _minimisers(view: View) -> Check:
    """A recorded point with less than the least cost of its mode shows that the search for minimisers missed a deeper one."""
    small = list(map(sentence, doubtful_targets(view.scenario, view.modes)))
    warnings: list[str] = []
    excess, modes = view.arrays["excess"], view.arrays["mode"][:, np.newaxis]
    for x, (name, mode) in enumerate(zip(view.mode_names, view.modes, strict=True)):
        least = float(np.fmin.reduce(excess, axis=None, where=modes == x, initial=0.0))
        if least < BELOW_THE_LEAST * (1.0 + abs(mode.floor)):
            trial, n, record = np.argwhere((excess == least) & (modes == x))[0]
            theta = view.seen(n)[trial, record]
            point = ", ".join(number(float(one)) for one in theta[:MOST_COORDINATES_SHOWN])
            more = ", ..." if theta.size > MOST_COORDINATES_SHOWN else ""
            warnings.append(
                f"{name} has a deeper minimum than was found: {view.names[n]} was recorded at θ = ({point}{more}) with an excess "
                f"cost of {number(least)}, so errors and excess costs are about the wrong point."
            )
    seen = "a record lies below the least cost" if warnings else "no record lies below the least cost"
    return Check("minimisers", f"{seen}; distances or targets say little" if small else seen, (*small, *warnings))


def _chain(view: View) -> Iterator[Check]:
    if len(view.modes) == 1:
        return
    counts = visits_of(view)
    strange = list(suspicions(view, counts)) if counts is not None else []
    warnings = [f"{sentence(suspicion)}: the chain is not the one that was asked for." for suspicion in strange]
    lost: list[str] = []
    if view.switches < FEW_SWITCHES and view.scenario.schedule is None:
        switches = counted(view.switches, "switch", "switches")
        warnings.append(f"Only {switches} in the whole run: re-acquisition is hardly measured.")
    if view.has_targets and view.switches:
        shares = {name: view.summary[name]["recovery"]["censored"] for name in view.samplers}
        lost = [name for name, share in shares.items() if share is not None and share > MOSTLY_CENSORED]
        if lost:
            warnings.append(
                f"{_who(view, lost)}: more than half of the waits for the target were cut off by the next switch."
            )
    seen = counted(view.switches, "switch", "switches")
    if counts is not None:
        seen += ", not as its law says" if strange else ", as its law says"
    yield Check("chain", f"{seen}; most waits were cut off" if lost else seen, tuple(warnings))


def _gradient_noise(view: View, health: dict[str, Health]) -> Check:
    finite = {name: h.any_noise for name, h in health.items() if np.isfinite(h.any_noise)}
    hot = [name for name, ratio in finite.items() if ratio > NOISE_WORTH_A_WORD]
    most = max(finite.values(), default=0.0)
    moving = set(samplers_that_record(view, "sigma"))  # these left the temperature of the file behind
    warnings = []
    if warm := [name for name in hot if name not in moving]:
        runs, times = "runs" if len(warm) == 1 else "run", number(max(finite[name] for name in warm), 2)
        warnings.append(
            f"{_who(view, warm)} {runs} hotter than beta: gradient noise adds up to {times} times the injected noise."
        )
    if own := [name for name in hot if name in moving]:
        times, they = number(max(finite[name] for name in own), 2), "it injects" if len(own) == 1 else "they inject"
        warnings.append(
            f"{_who(view, own)}: at the end, gradient noise is up to {times} times the noise that {they}; sigma alone is not the temperature."
        )
    unknown = [name for name, h in health.items() if np.isnan(h.any_noise)]
    seen = f"gradient noise at most {times_or_percent(most)} the injected" if most > 0.0 else "no gradient noise"
    if not finite:
        seen = "no noise is injected"
    if unknown:
        seen = f"{f'{seen}; ' if finite else ''}not known for the kind of {few(unknown, 'sampler')}"
    return Check("gradient noise", seen, tuple(warnings), made=bool(finite) or not unknown)


def _steps(view: View, health: dict[str, Health]) -> Check:
    unstable = [name for name, h in health.items() if h.step >= 1.0]
    near = [name for name, h in health.items() if STEP_WORTH_A_WORD < h.step < 1.0]
    pumped = list(map(sentence, unstable_when_switched(view.scenario)))
    warnings = list(pumped)
    if unstable:
        warnings.append(f"{_who(view, unstable)}: the step is beyond its mean-square stability limit.")
    if near:
        warnings.append(f"{_who(view, near)}: the step is more than half of its stability limit.")
    known = [h.step for h in health.values() if np.isfinite(h.step)]
    seen = (
        f"steps at most {times_or_percent(max(known))} their stability limits"
        if known
        else "no stability limit is known"
    )
    unknown = [name for name, h in health.items() if np.isnan(h.step)]
    if known and unknown:
        seen += f"; not known for the kind of {few(unknown, 'sampler')}"
    if pumped:
        seen += "; unstable when switched"
    return Check("steps", seen, tuple(warnings), made=bool(known or warnings))


def _state(view: View) -> Check:
    """Resets of derivative processes, and S at its bounds."""
    resets = {one.name: view.summary[one.name]["resets"] for one in view.run.problem.contestants}
    warnings = [
        f"{name}: its derivative process outgrew its limit and was reset {counted(count, 'time')}."
        for name, count in resets.items()
        if count
    ]
    moving = samplers_that_move_skew(view) if view.scenario.dimension > 1 else ()
    shares = {name: at_bounds(view, name) for name in moving}
    often = {name: share for name, share in shares.items() if share > OFTEN_AT_BOUNDS}
    warnings += [
        f"{name}: S is at its bounds {percent(share)} of the time, so the bounds decide."
        for name, share in often.items()
    ]
    resets_seen = "resets" if any(resets.values()) else "no resets"
    bounds_seen = f", and S {'often' if often else 'seldom'} at its bounds" if moving else ""
    return Check("state", f"{resets_seen}{bounds_seen}", tuple(warnings))


def _start(view: View) -> Check:
    """Averages that hold the way from the start are not those of tracking."""
    far = {name: excess for name in view.samplers if (excess := _early_excess(view, name)) is not None}
    warnings: tuple[str, ...] = ()
    if far:
        most = f"{'up to ' if len(far) > 1 else ''}{number(max(far.values()), 2)}"
        warnings = (
            f"{_who(view, list(far))}: the first tenth of the run has {most} times the error of its second half: set a burn_in.",
        )
    return Check("start", "averages do not hold the way from the start" if not far else "the way in counts", warnings)


def _early_excess(view: View, name: str) -> float | None:
    """Return how many times larger the error is at first than later, where that tells in the average over all."""
    n, error = view.index(name), view.arrays["excess" if view.no_distance else "error"]
    if view.scenario.burn_in > 0 or error.shape[2] < 20 or not view.kept[:, n].any():
        return None
    mean = error[:, n].mean(axis=0, where=view.kept[:, n, np.newaxis])
    early, late, whole_run = (float(part.mean()) for part in (mean[: mean.size // 10], mean[mean.size // 2 :], mean))
    if early > 2.0 * late and abs(whole_run - late) > 0.05 * late:
        return early / late if late > 0.0 else float("inf")
    return None
