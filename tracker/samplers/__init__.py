"""The samplers. A new kind is one file with its step, and one line in ``SAMPLERS``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.samplers.accelerated import AcceleratedKeys
from tracker.samplers.adaptive_step import AdaptiveStepKeys
from tracker.samplers.averaged import AveragedKeys
from tracker.samplers.hessian import HessianKeys
from tracker.samplers.kinetic import KineticKeys
from tracker.samplers.langevin import LangevinKeys
from tracker.samplers.psgld import PsgldKeys
from tracker.samplers.restart import RestartKeys
from tracker.samplers.spsa import SpsaKeys
from tracker.samplers.tempered import TemperedKeys
from tracker.samplers.two_timescale import TwoTimescaleSpsaKeys
from tracker.samplers.wandering import WanderingKeys
from tracker.samplers.wrapper_keys import WrapperKeys

if TYPE_CHECKING:
    from tracker.samplers.base import SamplerKeys

SAMPLERS: dict[str, type[SamplerKeys]] = {
    "langevin": LangevinKeys,
    "accelerated": AcceleratedKeys,
    "hessian": HessianKeys,
    "spsa": SpsaKeys,
    "two-timescale-spsa": TwoTimescaleSpsaKeys,
    "wandering": WanderingKeys,
    "tempered": TemperedKeys,
    "adaptive-step": AdaptiveStepKeys,
    "kinetic": KineticKeys,
    "psgld": PsgldKeys,
    "restart": RestartKeys,
    "averaged": AveragedKeys,
}
WrapperKeys.kinds = SAMPLERS
