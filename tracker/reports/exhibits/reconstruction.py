"""Exhibit: the cost, read back from where a sampler was: minus the logarithm of its density over beta, mode by mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.formatting import counted, few, number
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.figure_style import INK, MUTED, figure, legend

if TYPE_CHECKING:
    from tracker.array_types import Array, Booleans
    from tracker.limits.gibbs_law import Marginal
    from tracker.reports.run_view import View

KEY, QUESTION = "reconstruction", "Can the cost be read back from the samples?"
BINS = 48
TAIL = 1e-4  # of the mass of Gibbs' law that may lie beyond the bins, on each side
MOST_PANELS = 4
FEWEST = 200  # recorded points of a mode
YOUNG = 0.1  # of a mean stay: points that soon after a switch are drawn apart


class Read(NamedTuple):
    """What was read back of one sampler in one mode: shares of the bins, and how far they are from Gibbs' law."""

    shares: Array
    points: int
    w1: float
    l1: float
    kl: float

    @property
    def is_within(self) -> bool:
        """Whether it was ever where the law has its mass: the outer bins are not drawn."""
        return bool(self.shares[1:-1].any())


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw -log density / beta of one coordinate beside the cost's own, by mode and age since the switch."""
    samplers = {keys.name: keys for keys in view.scenario.samplers if keys.samples_gibbs and np.isfinite(keys.beta)}
    names = [name for name in view.alive if name in samplers]
    if not names:
        return Omitted(KEY, QUESTION, "no sampler here samples exp(−β C) at a finite β.")
    least = "excess_cost" if view.no_distance else "mean_square_error"
    best = min(names, key=lambda name: float(view.summary[name][least]["mean"]))
    modes = range(min(len(view.modes), MOST_PANELS))
    found: dict[tuple[str, int], Read] = {}
    try:
        laws = {(n, x): view.gibbs(x, float(samplers[n].beta)) for n in names for x in modes}
    except ValueError as problem:
        return Omitted(KEY, QUESTION, f"{problem}.")
    late, young = ages(view)
    for (name, x), law in laws.items():
        read = _read(view, name, x, late, law)
        if read is not None:
            found[name, x] = read
    if not any(name == best for name, _ in found):
        return Omitted(KEY, QUESTION, f"fewer than {FEWEST} recorded points of a mode.")
    beta = float(samplers[best].beta)
    shown = [x for x in modes if (best, x) in found and found[best, x].is_within]
    if not shown:
        return Omitted(KEY, QUESTION, f"{best} was never where Gibbs' law has its mass.")
    with figure(height=2.6 if len(shown) <= 2 else 4.6) as fig:
        axes = np.atleast_1d(fig.subplots(-(-len(shown) // 2), min(2, len(shown)), sharey=True)).ravel()
        for ax, x in zip(axes, shown, strict=False):
            edges, own = _bins(laws[best, x]), _shares(laws[best, x])
            middle = (edges[1:] + edges[:-1]) / 2
            ax.plot(middle, _energy(own, beta), color=INK, linewidth=1.2, label="the cost's own")
            ax.plot(
                middle,
                _energy(found[best, x].shares, beta),
                ".",
                color=view.looks[best].color,
                label="read back",
            )
            soon = _read(view, best, x, young, laws[best, x])
            if soon is not None and soon.is_within:
                ax.plot(middle, _energy(soon.shares, beta), ".", color=MUTED, markersize=3, label="after a switch")
            ax.set_title(view.mode_names[x])
            ax.set_xlabel(view.coordinate_name)
        axes[0].set_ylabel("−log density / β")
        for ax in axes[len(shown) :]:
            ax.set_visible(False)
        legend(fig, axes[0])
    rows = tuple((n, view.mode_names[x], r.points, r.w1, r.l1, r.kl) for (n, x), r in found.items())
    columns = ("sampler", "mode", "recorded points", "W₁", "L₁", "KL")
    alt = "Minus the logarithm of the density of a coordinate over beta, dots, beside that of Gibbs' law, a line, for each mode."
    return Exhibit(
        KEY,
        QUESTION,
        _caption(view, best, shown, found),
        alt,
        fig,
        Table(columns, rows),
        _method(view, best, shown, found),
    )


def ages(view: View) -> tuple[Booleans, Booleans]:
    """Return which records (trial, record) lie later than a tenth of a mean stay after the last recorded switch, and which sooner."""
    modes = view.arrays["mode"]
    changed = np.zeros(modes.shape, dtype=bool)
    changed[:, 1:] = modes[:, 1:] != modes[:, :-1]
    index = np.arange(modes.shape[1])
    last = np.maximum.accumulate(np.where(changed, index, 0), axis=1)
    seen = np.cumsum(changed, axis=1) > 0
    stay = view.scenario.steps * len(modes) / max(1, view.switches + len(modes))
    age = (index - last) * view.scenario.record_every
    averaged = view.averaged[None]
    return averaged & (~seen | (age >= YOUNG * stay)), averaged & seen & (age < YOUNG * stay)


def _bins(law: Marginal) -> Array:
    low, high = np.interp([TAIL, 1.0 - TAIL], law.cdf, law.points)
    return np.linspace(low, high, BINS + 1)


def _shares(law: Marginal) -> Array:
    """The mass of Gibbs' law in the bins, the two outer ones with all that lies beyond."""
    cdf = np.interp(_bins(law), law.points, law.cdf)
    cdf[0], cdf[-1] = 0.0, 1.0
    return np.diff(cdf)


def _read(view: View, name: str, x: int, chosen: Booleans, law: Marginal) -> Read | None:
    picked = chosen & (view.arrays["mode"] == x) & view.kept[:, view.index(name)][:, None]
    values = view.arrays["theta"][:, view.index(name), :, view.coordinate][picked]
    if len(values) < FEWEST:
        return None
    edges, q = _bins(law), _shares(law)
    inside = np.clip(values, edges[0], edges[-1])
    p = np.histogram(inside, edges)[0] / len(values)
    width = edges[1] - edges[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = float(np.nansum(np.where(p > 0.0, p * np.log(p / q), 0.0)))
    return Read(p, len(values), float(np.abs(np.cumsum(p - q)).sum() * width), float(np.abs(p - q).sum()), kl)


def _energy(shares: Array, beta: float) -> Array:
    with np.errstate(divide="ignore"):
        energy = -np.log(shares[1:-1]) / beta  # the outer bins hold more than their width
    energy = np.concatenate([[np.nan], energy, [np.nan]])
    energy[~np.isfinite(energy)] = np.nan
    return np.asarray(energy - np.nanmin(energy))


def _caption(view: View, best: str, shown: list[int], found: dict[tuple[str, int], Read]) -> str:
    said = [
        f"{view.mode_names[x]}: W₁ {number(found[best, x].w1)}, L₁ {number(found[best, x].l1)}, KL {number(found[best, x].kl)}"
        for x in shown
    ]
    lost = [view.mode_names[x] for x in range(len(view.modes)) if x not in shown]
    missing = f" Not drawn: {few(lost, 'mode')}." if lost else ""
    return f"{best}: distances of the law that is read back to Gibbs' law: {'; '.join(said)}.{missing}"


def _method(view: View, best: str, shown: list[int], found: dict[tuple[str, int], Read]) -> str:
    """What is drawn, and from what."""
    points = counted(found[best, shown[0]].points, "recorded point")
    late = "from records later than a tenth of a mean stay after a switch" if view.switches else "from all records"
    own = f" of {view.mode_names[shown[0]]}" if len(view.modes) > 1 else ""
    return (
        f"Minus the logarithm of the density of {view.coordinate_name} over β, beside that of Gibbs' law, whose minima are those of the cost, {late} "
        f"({points}{own}, dependent ones)."
    )
