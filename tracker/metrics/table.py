"""The table of metrics. Summaries, sweeps, comparisons, pages and help texts read it.

To add one: write a function that takes a ``MeasuredRun`` and returns its values, and a row in ``METRICS``. The summary, the
sweep's table and pictures, ``compare``, ``--fail-if``, the pages, the terminal and the help then know it.

The command line's help reads this file too, which must stay quick: numpy is imported where it is used, not here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.metrics.measured_run import MeasuredRun


Place = Literal["terminal", "page"]
PER_STEPS = 10_000  # false alarms are told per so many steps


class Metric(NamedTuple):
    """One row of the table.

    key : its name in ``summary.json``, on the command line and in ``[[claims]]``
    title, unit : as a person reads them; the unit "share" is written as per cent
    meaning : one sentence for the reference page
    per_trial : for a "mean" one number for each trial and sampler, (T, S), of which the mean over trials is told; for a "time"
        counts of waits, (T, S, X, bins, 2), of which the restricted mean and the median are (``tracker.metrics.recovery``).
        Trials that diverged are left out by whoever asks.
    needs : arrays and facts of a ``MeasuredRun`` without which there is nothing to tell
    optional : where something is missing, the summary leaves it out; it is null otherwise
    column : a shorter title for the head of a column
    leads : where it applies, pages are judged by it and show it first
    shown : which tables for people have a column for it; with none it is for scripts only
    further : more numbers of a sampler, given its index: they stand beside those of a time in ``summary.json``
    within : the object of a sampler's row in ``summary.json`` that it stands in; an empty text for the row itself
    told : ``summary.json`` has the mean with its standard error, or the bare mean
    """

    key: str
    title: str
    unit: str
    meaning: str
    per_trial: Callable[[MeasuredRun], Array]
    kind: Literal["mean", "time"] = "mean"
    smaller_is_better: bool = True
    needs: tuple[str, ...] = ()
    optional: bool = False
    column: str = ""
    shown: tuple[Place, ...] = ("terminal", "page")
    leads: bool = False
    further: tuple[tuple[str, Callable[[MeasuredRun, int], float | None]], ...] = ()
    within: str = ""
    told: Literal["mean and stderr", "mean"] = "mean and stderr"

    @property
    def label(self) -> str:
        """The title of its one number: of a time the mean, with the unit."""
        return f"mean {self.title} ({self.unit})" if self.kind == "time" else self.title

    @property
    def head(self) -> str:
        """The title of a column."""
        return self.column or self.title

    @property
    def place(self) -> tuple[str, ...]:
        """Where its numbers stand in a sampler's row of ``summary.json``."""
        return (self.within, self.key) if self.within else (self.key,)

    def applies(self, run: MeasuredRun) -> bool:
        """Tell whether the run has all that it needs."""
        return all(run.has(need) for need in self.needs)


def share_stayed(run: MeasuredRun, n: int) -> float | None:
    """Return which share of the re-acquisitions still held a relaxation time later."""
    looked, still = run.arrays["stays"][run.kept[:, n], n].sum(axis=(0, 1))
    return still / looked if looked else None


ROWS = (
    Metric(
        "tracking_error", "tracking error", "distance",
        "time average of the distance to the nearest global minimiser of the current mode",
        lambda run: run.mean("error"),
        needs=("distance",),
    ),
    Metric(
        "mean_square_error", "mean square error", "distance squared", "time average of the same distance, squared",
        lambda run: run.mean("square"),
        needs=("distance",), column="mean square", shown=("terminal",),
    ),
    Metric(
        "excess_cost", "excess cost", "cost",
        "time average of the expected cost of the current mode above its least value",
        lambda run: run.mean("excess", over="measured"),
        needs=("floor",),
    ),
    Metric(
        "regret", "regret", "cost", "sum of the excess cost over the averaged steps: the dynamic regret of online learning",
        lambda run: run.cost_every * run.total("excess"),
        needs=("floor",), shown=(),
    ),
    Metric(
        "accuracy", "accuracy", "share", "time average of the share of rows that are classified rightly in the current mode",
        lambda run: run.mean("correct", over="measured"),
        smaller_is_better=False, needs=("classes",), optional=True, leads=True,
    ),
    Metric(
        "prequential_loss", "prequential loss", "loss",
        "what a forecast of the next row loses on average, made before the row is learnt from",
        lambda run: run.forecast_loss(),
        needs=("forecasts",), optional=True,
    ),
    Metric(
        "inside_target", "share of time inside the target", "share",
        "share of the averaged steps inside the target set of the current mode",
        lambda run: run.mean("inside"),
        smaller_is_better=False, needs=("target_radius",), column="in target", shown=("page",),
    ),
    Metric(
        "recovery", "wait for the target", "steps",
        "steps from a switch that leads out of the target to the first one inside the new target",
        lambda run: run.arrays["waits"],
        kind="time", needs=("target_radius",), column="median wait", further=(("stayed", share_stayed),),
    ),
    Metric(
        "delay", "detection delay", "steps",
        "steps from a switch to the first alarm before the next switch; 0 for an alarm that the first gradient in the new mode raises",
        lambda run: run.detected("delay", over="caught"),
        needs=("detections",), optional=True, shown=(), within="detection",
    ),
    Metric(
        "false_alarms", "false alarms", "per 10000 steps", "alarms without a switch since the last alarm, in 10000 steps",
        lambda run: PER_STEPS / run.steps * run.detected("false"),
        needs=("detections",), optional=True, shown=(), within="detection", told="mean",
    ),
    Metric(
        "missed", "missed switches", "share", "share of the switches without an alarm before the next switch",
        lambda run: 1.0 - run.detected("caught", over="switches"),
        needs=("detections",), optional=True, shown=(), within="detection", told="mean",
    ),
    Metric(
        "path_length", "path length of the minimiser", "distance",
        "sum over all steps of the way from the minimiser of a step's mode to that of the next; the same for all samplers; not known with [drift], or where a "
        "switch is forced upon a [chain]",
        lambda run: run.path_lengths,
        needs=("path", "distance"), shown=(), told="mean",
    ),
)  # fmt: skip
METRICS = {row.key: row for row in ROWS}


def metrics_of(run: MeasuredRun) -> list[Metric]:
    """Return the metrics that the results of a run list: all but the optional ones that do not apply."""
    return [metric for metric in METRICS.values() if not metric.optional or metric.applies(run)]


def leading_metric(run: MeasuredRun) -> Metric:
    """Return what a page is judged by: a metric that leads where it applies, else the first of the table that does."""
    apply = [metric for metric in ROWS if metric.applies(run)]
    return next((metric for metric in apply if metric.leads), apply[0])


def in_order_of_reading(run: MeasuredRun) -> list[Metric]:
    """Return the metrics of a run's results, the one that it is judged by first; none of distances that say nothing."""
    first = leading_metric(run)
    told = (metric for metric in metrics_of(run) if run.distance or "distance" not in metric.needs)
    return [first, *(metric for metric in told if metric is not first)]
