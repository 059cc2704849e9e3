"""Export a run: CSV files, or a DataTree for ArviZ."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker import __version__, skew
from tracker.engine.arrays import rows_of
from tracker.printable import printable
from tracker.runs import atomic_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import xarray
    from numpy.typing import NDArray

    from tracker.array_types import Integers
    from tracker.runs.run_result import Run
    from tracker.samplers.state import Recorded

    Cell = str | int | float | None

FORMULA_STARTS = tuple("=+-@")  # how a cell begins that a spreadsheet would compute
SUMMARY_CSV, TRACES_CSV, CHAIN_CSV = "summary.csv", "traces.csv", "chain.csv"


class Written(NamedTuple):
    """A file that was written, and how many rows it has."""

    path: Path
    rows: int


# --- CSV


def to_csv(run: Run, folder: str | Path) -> list[Written]:
    """Write ``summary.csv``, ``traces.csv`` and ``chain.csv`` into ``folder``, which is made if need be.

    ``summary.csv`` has a row for each sampler and baseline; ``traces.csv`` a row for each sampler, trial and recorded
    step; ``chain.csv`` a row for each mode of the hidden chain. Numbers are written so that reading them gives the same
    bits; a cell is empty where there is no number.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [_flat(row) for row in run.summary["samplers"]]
    dwells = [_flat(row) for row in run.summary["chain"]["dwell"]]
    return [
        _write(folder / SUMMARY_CSV, _columns(rows), ([row.get(name) for name in _columns(rows)] for row in rows)),
        _write(folder / TRACES_CSV, _trace_columns(run), _trace_rows(run)),
        _write(folder / CHAIN_CSV, _columns(dwells), ([row.get(name) for name in _columns(dwells)] for row in dwells)),
    ]


def _write(path: Path, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Written:
    """Write row by row (a trace is several times larger as text than as arrays), and give the name at the end."""
    count = 0

    def write(temporary: Path) -> None:
        nonlocal count
        with temporary.open("x", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([_plain(name) for name in head])
            for row in rows:
                writer.writerow([_plain(cell) for cell in row])
                count += 1

    atomic_files.write_with(path, write)
    return Written(path, count)


def _plain(cell: Cell) -> Cell:
    """Return a cell that no spreadsheet takes for a formula: text that begins like one gets a quote before it."""
    if not isinstance(cell, str):
        return "" if cell is None else cell
    clean = printable(cell)
    return f"'{clean}" if clean.lstrip(" ")[:1] in FORMULA_STARTS else clean


def _flat(value: Mapping[str, Any] | Sequence[Any], prefix: str = "") -> dict[str, Cell]:
    """Return nested tables and lists as one row: ``tracking_error.mean``, ``covariance[1][2]``, as theta counts from 1."""
    pairs: Iterable[tuple[str, Any]]
    if isinstance(value, dict):
        pairs = [(f"{prefix}.{key}" if prefix else key, entry) for key, entry in value.items()]
    else:
        pairs = [(f"{prefix}[{number}]", entry) for number, entry in enumerate(value, start=1)]
    row: dict[str, Cell] = {}
    for name, entry in pairs:
        if isinstance(entry, (dict, list)):
            row |= _flat(entry, name)
        else:
            row[name] = entry
    return row


def _columns(rows: Sequence[Mapping[str, Cell]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _trace_columns(run: Run) -> list[str]:
    theta = [f"theta[{i}]" for i in range(1, run.problem.origin.size + 1)]
    states = [name for recorded in _recorded(run) for name in _state_columns(run, recorded)]
    return ["sampler", "trial", "time", "mode", *theta, *_numbers_of_steps(run), *states]


def _numbers_of_steps(run: Run) -> dict[str, str]:
    """Return the arrays with one number for each trial, sampler and recorded step, by the name of their column."""
    of_steps = [row.name for row in rows_of(run.problem) if row.axes == ("trial", "sampler", "time")]
    return {"excess_cost" if name == "excess" else name: name for name in of_steps}


def _recorded(run: Run) -> list[Recorded]:
    """Return what any of the samplers records beside theta, each once."""
    return list({one.name: one for contestant in run.problem.contestants for one in contestant.recorded}.values())


def _state_columns(run: Run, recorded: Recorded) -> list[str]:
    N = run.problem.origin.size
    if recorded.axis == "pair":
        return [f"{recorded.name}({i + 1},{j + 1})" for i, j in skew.pairs(N)]
    if recorded.axis == "mode_name":
        return [f"{recorded.name}[{mode.name}]" for mode in run.scenario.modes]
    return [f"{recorded.name}[{i}]" for i in range(1, N + 1)] if recorded.axis else [recorded.name]


def _by_sampler(run: Run, recorded: Recorded) -> dict[str, NDArray[Any]]:
    """Return what is recorded, (trial, time, ...), by the name of the sampler that records it."""
    array = run.arrays[recorded.name]
    names = [c.name for c in run.problem.contestants if c.records(recorded.name)]
    return {name: array if recorded.by_one else array[:, s] for s, name in enumerate(names)}


def _trace_rows(run: Run) -> Iterator[list[Cell]]:
    arrays, problem = run.arrays, run.problem
    times = (np.arange(problem.records) * problem.layout.record_every).tolist()
    modes = [mode.name for mode in run.scenario.modes]
    states = [(_by_sampler(run, one), len(_state_columns(run, one))) for one in _recorded(run)]
    numbers = _numbers_of_steps(run).values()
    for n, contestant in enumerate(problem.contestants):
        for t, trial in enumerate(arrays["trial"].tolist()):
            parts = [arrays["theta"][t, n], *(arrays[name][t, n][:, None] for name in numbers)]
            for found, width in states:
                nothing = np.full((len(times), width), np.nan)
                own = found.get(contestant.name)
                parts.append(nothing if own is None else own[t].reshape(nothing.shape))
            for k, index, cells in zip(times, arrays["mode"][t].tolist(), np.hstack(parts).tolist(), strict=True):
                mode = modes[index] if index >= 0 else None
                yield [contestant.name, trial, k, mode, *(_cell(number) for number in cells)]


def _cell(number: float) -> float | None:
    return number if number == number else None  # noqa: PLR0124  (nan: a trial that has diverged records no more)


# --- ArviZ


def to_arviz(run: Run, sampler: str | None = None) -> xarray.DataTree:
    """Return the recorded steps as a DataTree with the groups ``posterior`` and ``sample_stats``.

    Parameters
    ----------
    sampler : str, optional
        A sampler of the scenario; without it all of them, along an axis ``sampler`` of every variable.

    Notes
    -----
    A chain is a trial and a draw is a recorded step k with burn_in <= k < steps, so draws are thinned by
    ``record_every``; the coordinate ``step`` tells k. Baselines are left out. A trial in which one of the samplers
    diverged is left out, and listed in the attribute ``diverged_trials``. In a world that switches each trial has a hidden
    path of its own: R-hat and the effective sample size then speak of theta averaged over modes, path included.
    """
    import xarray

    chosen = _chosen(run, sampler)
    kept, steps, draws = _kept(run, chosen), *_draws(run)
    axes = ("chain", "draw", "sampler")
    names = [run.problem.contestants[n].name for n in chosen]

    def taken(name: str) -> NDArray[Any]:
        """From (trial, sampler, time, ...) to (chain, draw, sampler, ...)."""
        return np.moveaxis(run.arrays[name][np.ix_(kept, chosen, draws)], 1, 2)

    coordinates = {"chain": run.arrays["trial"][kept], "draw": np.arange(draws.size), "step": ("draw", steps)}
    posterior = xarray.Dataset(
        {"theta": ((*axes, "theta_dim"), taken("theta"))},
        coords={**coordinates, "sampler": names, "theta_dim": np.arange(1, run.problem.origin.size + 1)},
    )
    statistics = xarray.Dataset(
        {
            **{column: (axes, taken(name)) for column, name in _numbers_of_steps(run).items()},
            "mode": (("chain", "draw"), run.arrays["mode"][np.ix_(kept, draws)]),
        },
        coords={**coordinates, "sampler": names},
    )
    statistics["mode"].attrs["modes"] = [mode.name for mode in run.scenario.modes]
    groups = {"posterior": posterior, "sample_stats": statistics}
    if sampler is not None:
        groups = {name: group.isel(sampler=0) for name, group in groups.items()}
    about = {
        "inference_library": "tracker",
        "inference_library_version": __version__,
        "scenario": run.scenario.name,
        "scenario_sha256": run.scenario.sha256,
        "diverged_trials": np.setdiff1d(run.arrays["trial"], run.arrays["trial"][kept]),
    }
    for group in groups.values():
        group.attrs.update(about)
    return xarray.DataTree.from_dict(groups)


def _chosen(run: Run, sampler: str | None) -> Integers:
    names = [keys.name for keys in run.scenario.samplers]
    if sampler is None:
        return np.arange(len(names))
    if sampler not in names:
        raise ValueError(f"sampler: {sampler!r} is none of the samplers of {run.scenario.name}: {', '.join(names)}")
    return np.array([names.index(sampler)])


def _kept(run: Run, chosen: Integers) -> Integers:
    kept = np.flatnonzero((run.arrays["diverged"][:, chosen] < 0).all(axis=1))
    if not kept.size:
        raise ValueError("sampler: in every trial one of the samplers diverged; choose one that did not")
    return kept


def _draws(run: Run) -> tuple[Integers, Integers]:
    """Return the recorded steps that averages are taken over, and their places."""
    layout = run.problem.layout
    steps = np.arange(run.problem.records) * layout.record_every
    places = np.flatnonzero((steps >= layout.burn_in) & (steps < layout.steps))
    if not places.size:
        raise ValueError(f"no step was recorded after burn_in = {layout.burn_in}; a smaller record_every records more")
    return steps[places], places
