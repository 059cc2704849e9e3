"""The world that switches, as a SimPy simulation of events.

An event is a switch, a forced switch or the edge of an outage, never a step: between
two events nothing has to be simulated here, and the compiled loop runs over whole
segments. One clock, counted in steps, carries

- one process for the hidden chains of all trials, which wakes where a forced switch or
  the end of a block looks at the modes, and lets compiled code draw what has passed;
- one process for the schedule, if there is one in place of the chain;
- one process per intervention.

Conventions. x_0 is in effect for step 0; an event at time k changes the mode in effect
for step k. At equal times the chain jumps first, then the schedule, then the
interventions in the order of the file: a forced switch wins. It interrupts the chain,
which goes on from the new mode with a fresh dwell. An outage hides the gradients and
leaves the chain alone.

Counting. The transition into a step with a forced switch to another mode was not the
chain's: the visit before it is censored, even if the chain jumped at that very step.
(Counting the jumps but not the stays of such steps would bias the estimate of Q.)

Stages (an Erlang law) are not events: a visit is entered once and left once. The age of
a visit that is going on at step 0 is not known, so under any law but the geometric it is
not counted; a forced switch begins a visit anew.

The path of a trial is a pure function of (plan, seed, trial): each visit takes one pair
(u, v) of the trial's own stream, u to choose the mode and -log(1 - v) its dwell.
"""

from __future__ import annotations

from tracker.chain import DwellLaw
from tracker.environment.landscape_drift import DriftLaw, recorded_shifts
from tracker.environment.plan import Plan, PlannedOutage, Switch
from tracker.environment.timeline import Environment, Timeline, dwell_ages

__all__ = [
    "DriftLaw",
    "DwellLaw",
    "Environment",
    "Plan",
    "PlannedOutage",
    "Switch",
    "Timeline",
    "dwell_ages",
    "recorded_shifts",
]
