"""
One trial of two samplers
=========================

A hidden chain moves the deeper of two wells; the iterates of one trial against time.
"""

import matplotlib.pyplot as plt

import tracker

scenario = tracker.load("../../scenarios/swapping_wells.toml")
wanted = [sampler for sampler in scenario.samplers if sampler.name in ("classical", "fixed-3")]
run = tracker.run(scenario.replace(trials=1, steps=200_000, record_every=200, samplers=wanted, claims=[]))
trace = run.dataset["theta_trace"].sel(trial=0, theta=1)

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for name in ("classical", "fixed-3"):
    axes.plot(trace["time"], trace.sel(sampler=name), linewidth=0.8, label=name)
axes.set_xlabel("step")
axes.set_ylabel("theta_1")
axes.legend()
plt.show()
