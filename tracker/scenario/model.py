"""A valid scenario: how it is changed and named by a hash.

A ``Scenario`` is frozen and valid. What makes one (``replace``, ``set``, and those of ``reading.py``) tells all problems in one error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import PrivateAttr, ValidationInfo, model_validator

from tracker.compiled import implementation_hash
from tracker.costs.gaussian_noise import noise_factor
from tracker.costs.work_account import one_account
from tracker.scenario import toml_text
from tracker.scenario.builders import build_modes
from tracker.scenario.code_file import KEPT_COPY, CodeFile
from tracker.scenario.complaints import ScenarioError
from tracker.scenario.cross_checks import disagreements
from tracker.scenario.data_files import files_of, fingerprint
from tracker.scenario.handed_over import handed_over
from tracker.scenario.overrides import put, without_stale_claims
from tracker.scenario.own_kinds import OwnCost
from tracker.scenario.registry import Plugin, families_with
from tracker.scenario.sweep_check import sweep_problems
from tracker.scenario.tables import Gaussian, ScenarioKeys
from tracker.scenario.validation import valid_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array
    from tracker.regular_files import Content

AGREED = "agreed"  # in the context of a validation: its parts were compared with each other already


class Scenario(ScenarioKeys):
    """Everything that decides the outcome of a run. Change one with ``replace`` or ``set``."""

    _source: str | None = PrivateAttr(default=None)
    _plugins: tuple[Plugin, ...] = PrivateAttr(default=())
    _baselines_settled: bool = PrivateAttr(default=False)

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        parts = self.parts()
        if not (info.context or {}).get(AGREED) and (problems := disagreements(parts, parts)):
            raise ScenarioError(problems)
        return self

    @property
    def dimension(self) -> int:
        """N."""
        return len(self.start.mean if isinstance(self.start, Gaussian) else self.start)

    @property
    def quadratic(self) -> bool:
        """Whether theory knows all moments: every mode is quadratic, and its gradient noise additive."""
        return all(mode.quadratic for mode in self.modes)

    @property
    def start_mean(self) -> Array:
        """The start, or its mean, shape (N,)."""
        return np.array(self.start.mean if isinstance(self.start, Gaussian) else self.start, dtype=float)

    @property
    def start_factor(self) -> Array:
        """F, shape (N, rank), with F F' the covariance of the start; rank 0 for a point."""
        if isinstance(self.start, Gaussian):
            return noise_factor(np.array(self.start.covariance, dtype=float))
        return np.zeros((self.dimension, 0))

    @property
    def minimisers(self) -> tuple[Array, ...]:
        """The global minimisers of each mode's expected cost, an array (M, N) for each mode; searched for at every call."""
        return tuple(mode.minimisers for mode in build_modes(self))

    @property
    def no_distance(self) -> str:
        """Why distances to minimisers say nothing, as a cost declares it; empty where they tell how good theta is."""
        return next((mode.no_distance for mode in self.modes if mode.no_distance), "")

    @property
    def switches(self) -> tuple[tuple[int, str], ...]:
        """From which step on which mode holds, where a schedule or a column of the data says it."""
        if self.schedule is None or self.schedule.from_ is None:
            return () if self.schedule is None else self.schedule.switches
        regimes = getattr(self.modes[0], "data").regimes  # noqa: B009  (a check has seen to it)
        return tuple(one for one in regimes.switches() if one[0] < self.steps)

    @property
    def source(self) -> str | None:
        """The text of the file, verbatim; None for a scenario that was changed since."""
        return self._source

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """What installed packages were allowed to offer when it was loaded."""
        return self._plugins

    @property
    def code(self) -> CodeFile | None:
        """The file that ``--code`` named, where a cost or sampler of it is used that does not tell the hash of its own code."""
        used = {type(entry) for entry in (*self.modes, *self.samplers) if not getattr(entry, "code", "")}
        return next((plugin.code for plugin in self._plugins if plugin.code is not None and plugin.keys in used), None)

    @property
    def packages(self) -> tuple[str, ...]:
        """The installed packages whose costs or samplers it uses."""
        used = {type(entry) for entry in (*self.modes, *self.samplers)}
        return tuple(sorted({plugin.package for plugin in self._plugins if plugin.package and plugin.keys in used}))

    @property
    def sha256(self) -> str:
        """The hash of the file's text, or of the content of a scenario that was changed since, and of its data files."""
        text = self._source
        if text is None:
            text = json.dumps(self.content(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        code = {KEPT_COPY: self.code.sha256} if self.code is not None else {}
        return fingerprint(text, self.file_hashes | code | self._strange_code())

    def _strange_code(self) -> dict[str, str]:
        """Return a hash of the code of each class of keys that no table, package or file offers: a script brought it."""
        known = families_with(self._plugins)
        return {
            f"code of {entry.name}": hashlib.sha256(implementation_hash(type(entry.build())).encode()).hexdigest()
            for table in ("modes", "samplers")
            for entry in getattr(self, table)
            if type(entry) not in known[table].known.values()
        }

    @property
    def files(self) -> dict[str, Content]:
        """The data files that the modes name, by name: they go beside the scenario wherever it is written."""
        return {name: file.content for name, file in files_of(self.modes).items() if file.content is not None}

    @property
    def file_hashes(self) -> dict[str, str]:
        """The hash of the content of each data file, by name."""
        return {name: file.sha256 for name, file in files_of(self.modes).items()}

    def _repr_html_(self) -> str:
        import tracker  # reports look at scenarios, so scenarios know them only as a user does

        return tracker.reports.scenario_html(self)

    def __repr__(self) -> str:
        """One line."""
        modes, samplers = (", ".join(one.name for one in table) for table in (self.modes, self.samplers))
        return f"<Scenario {self.name}: {self.trials} trials x {self.steps} steps; modes {modes}; samplers {samplers}>"

    def __str__(self) -> str:
        """The file."""
        return self.toml()

    def parts(self) -> dict[str, Any]:
        """Return the fields that were given, as they are."""
        return {key: getattr(self, key) for key in type(self).model_fields if key in self.model_fields_set}

    def content(self) -> dict[str, Any]:
        """Return the fields that were given as tables, lists, numbers and text."""
        return dict(toml_text.as_tables(self))

    def toml(self) -> str:
        """Return the scenario as a file: verbatim if it came from one unchanged."""
        return toml_text.to_toml(self.content()) if self._source is None else self._source

    def written_as(self, text: str) -> Scenario:
        """Return the scenario with ``text`` as the file it came from."""
        copy = self.model_copy()
        copy._source = text  # noqa: SLF001  (its own)
        return copy

    def with_plugins(self, plugins: Sequence[Plugin]) -> Scenario:
        """Return the scenario with what was allowed when it was loaded, so that a change of it may use that too."""
        copy = self.model_copy()
        copy._plugins = tuple(plugins)  # noqa: SLF001  (its own)
        return copy

    @property
    def baselines_settled(self) -> bool:
        """Whether ``baselines`` are those of a run: the file did not list them, and costs were looked at."""
        return self._baselines_settled

    def with_baselines(self, names: Sequence[str]) -> Scenario:
        """Return the scenario, whose file lists no baselines, with those that a run of it has; the same otherwise."""
        copy = self.model_copy()
        copy.__dict__["baselines"] = tuple(names)  # not a key that was given: content and hash stay
        copy._baselines_settled = True  # noqa: SLF001  (its own)
        return copy

    def replace(self, **changes: Any) -> Scenario:
        """Return a changed scenario, checked again; None takes a key away.

        ``modes`` and ``samplers`` may hold costs and samplers of one's own (docs/own-code): tuples of parameters, keys, or the
        tables of a file, in a list, or in a dict that gives their names.

        >>> import tracker
        >>> scenario = tracker.load("scenarios/example_a.toml")
        >>> changed = scenario.replace(samplers={"calm": {"kind": "langevin", "epsilon": 0.01}})
        >>> [sampler.name for sampler in changed.samplers]
        ['calm']
        """
        data = {key: value for key, value in {**self.parts(), **changes}.items() if value is not None}
        data, plugins = handed_over(data, self._plugins)
        return make_scenario(without_stale_claims(self.parts(), data), plugins)

    def set(self, address: str, value: Any) -> Scenario:
        """Return the scenario with ``value`` at ``address``, as ``--set`` writes addresses; checked again.

        >>> import tracker
        >>> tracker.load("scenarios/example_a.toml").set("samplers.*.epsilon", 0.01).samplers[0].epsilon
        0.01
        """
        try:
            changed = put(self.parts(), address, value, self._plugins)
        except ScenarioError as error:
            raise ScenarioError([f"{address}: {problem}" for problem in error.problems]) from None
        return make_scenario(changed, self._plugins)


def as_scenario(given: Any) -> Scenario:
    """Return what was handed over as a scenario; ``TypeError`` says how to make one of something else."""
    if isinstance(given, Scenario):
        return given
    way = "tracker.parse(...) makes one of a dict" if isinstance(given, Mapping) else "tracker.load(path) reads one"
    raise TypeError(f"{type(given).__name__} given in place of a scenario: {way}")


def make_scenario(data: Mapping[str, Any], plugins: Sequence[Plugin] = ()) -> Scenario:
    """Return the scenario that ``data`` describes; its tables are dicts, or models that are valid already."""
    with one_account():
        parts, problems = valid_parts(data, plugins)
        parts = _with_dimension(parts)
        problems += disagreements(parts, data)
        given = parts if not problems else data
        problems += sweep_problems(parts.get("sweep", {}), given, plugins, valid=not problems)
    if problems:
        raise ScenarioError(problems)
    return Scenario.model_validate(parts, context={AGREED: True}).with_plugins(plugins)


def _with_dimension(parts: dict[str, Any]) -> dict[str, Any]:
    """Tell costs of one's own, whose parameters need not say it, the dimension of the start."""
    start = parts.get("start")
    if start is None or "modes" not in parts:
        return parts
    N = len(start.mean if isinstance(start, Gaussian) else start)
    modes = [
        mode.model_copy(update={"size": N}) if isinstance(mode, OwnCost) and mode.size != N else mode
        for mode in parts["modes"]
    ]
    return {**parts, "modes": tuple(modes)}
