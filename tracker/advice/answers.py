"""All answers about a scenario: what ``tracker advise --json`` prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.advice.bounded_theory import Theory
from tracker.advice.sampler_answers import SamplerAnswers
from tracker.limits.scope import sampler_keys
from tracker.runs import CorruptRun, open_run
from tracker.scenario import as_scenario

if TYPE_CHECKING:
    from tracker.runs import Run
    from tracker.scenario import Scenario

DEFAULT_FOLDER = Path("reports")


def advise(scenario: Scenario, sampler: str | None = None) -> dict[str, Any]:
    """Return what theory, and a finished run in the scenario's default directory, advise; nothing is simulated.

    Parameters
    ----------
    sampler : str, optional
        The name of the one that is asked about; all of them if it is not given.

    Returns
    -------
    dict
        ``scenario``, ``samplers`` (for each, values with their basis: "exact", "asymptotic", "measured" or "not known"), ``ladder`` (the
        rungs of the first sampler that is asked about), ``notes`` (why something is not known).

    Examples
    --------
    >>> import tracker
    >>> advice = tracker.advise(tracker.load("scenarios/three_regimes.toml"), "classical")
    >>> advice["samplers"][0]["switched_stable"]
    {'value': True, 'basis': 'exact'}
    """
    if not as_scenario(scenario).sweep:
        return advice_of(Theory(scenario), sampler, finished_run(scenario))
    found = advice_of(Theory(scenario.replace(sweep=None)), sampler, None)
    found["notes"].insert(0, "sweep: this is about the values that the file gives beside its axes")
    return found


def advice_of(theory: Theory, sampler: str | None, run: Run | None) -> dict[str, Any]:
    """Return the advice, with what ``run`` measured, if there is one."""
    scenario = theory.scenario
    names = [keys.name for keys in scenario.samplers] if sampler is None else [sampler_keys(scenario, sampler).name]
    rungs, missing = theory.ladder(names[0])
    rows, notes = [], [f"{names[0]}: {rung}: {reason}" for rung, reason in missing.items()]
    for name in names:
        answers = SamplerAnswers(theory, name, run)
        rows.append(answers.all())
        notes += [f"{name}: {key}: {reason}" for key, reason in answers.reasons.items()]
    about = {key: getattr(scenario, key) for key in ("name", "sha256", "seed", "trials", "steps")}
    return {
        "scenario": about,
        "samplers": rows,
        "ladder": [{**row, "sampler": names[0]} for row in rungs],
        "notes": notes,
    }


def finished_run(scenario: Scenario) -> Run | None:
    """Return the finished run of this scenario in its default directory, ``reports/NAME``; None if there is none."""
    folder = DEFAULT_FOLDER / scenario.name
    if not folder.is_dir():
        return None
    try:
        found = open_run(folder)
    except (CorruptRun, OSError):
        return None
    return found if found.summary["scenario"]["sha256"] == scenario.sha256 else None
