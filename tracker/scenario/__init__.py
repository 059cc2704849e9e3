"""Scenarios: TOML -> validated, frozen ``Scenario`` -> built objects for the kernels."""

from __future__ import annotations

from tracker.scenario.builders import Mode, build_modes, classifies, initial_law, skew_matrix
from tracker.scenario.complaints import ScenarioError, ScenarioWarning
from tracker.scenario.json_schema import json_schema
from tracker.scenario.model import Scenario, as_scenario
from tracker.scenario.plugins import PluginError
from tracker.scenario.reading import load, parse, with_settings
from tracker.scenario.step_warnings import doubtful_targets, regime, regimes, stability_limits, warnings
from tracker.scenario.switching_check import switched_systems, unstable_when_switched

__all__ = [
    "Mode",
    "PluginError",
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "as_scenario",
    "build_modes",
    "classifies",
    "doubtful_targets",
    "initial_law",
    "json_schema",
    "load",
    "parse",
    "regime",
    "regimes",
    "skew_matrix",
    "stability_limits",
    "switched_systems",
    "unstable_when_switched",
    "warnings",
    "with_settings",
]
