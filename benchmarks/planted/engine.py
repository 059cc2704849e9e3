"""Faults in the samplers and the loop."""

from __future__ import annotations

from planted.base import faults


def _path(*cases: str) -> str:
    """The path of the loop against its naive transcription, interpreted."""
    return f"test_kernels.py -k 'path_equals and ({' or '.join(f'interpreted-{case}' for case in cases)})'"


FIRST = _path("quadratic-langevin")
SKEWED = _path("quadratic-accelerated", "quadratic-spsa", "quadratic-two")
HESSIAN = _path("quadratic-hessian", "quadratic-ascent", "quadratic-resets")
SPSA = _path("quadratic-spsa")
TWO = _path("stored-two")
LOOP = (
    "test_kernels.py test_recording.py -k 'test_recording or (sums_equal and "
    "(interpreted-quadratic-langevin or interpreted-quadratic-spsa-hold or interpreted-quadratic-frozen))'"
)
TARGETS = "test_kernels.py test_recording.py -k 'test_recording or (sums_equal and interpreted-polynomial-langevin)'"
LAST = "test_kernels.py -k last_point"
SIDE_BY_SIDE = "test_lanes.py -k 'trials_alone and langevin'"
LOST = "test_lanes.py -k 'trials_alone and runs'"
STREAMS_OF_LANES = "test_lanes.py -k streams_side"

ENGINE = {
    "samplers": [
        *faults(
            "tracker/samplers/langevin.py",
            FIRST,
            ("theta[d] + sampler.noise * w[d]", "theta[d] + 1.0001 * sampler.noise * w[d]"),
        ),
        *faults(
            "tracker/samplers/base.py",
            SKEWED,
            ("            drift += S[d, e] * g[e]\n", "            drift -= S[d, e] * g[e]\n"),
        ),
        *faults(
            "tracker/samplers/perturbed_skew.py",
            SKEWED,
            (
                "quotient = sampler.skew_step * difference / (2.0 * sampler.perturbation)",
                "quotient = sampler.skew_step * difference / sampler.perturbation",
            ),
            ("            M[d, e] = S[d, e] - mu * Delta[d, e]\n", "            M[d, e] = S[d, e]\n"),
        ),
        *faults(
            "tracker/samplers/state.py",
            SKEWED,
            ("    S[j, i] = -s\n", "    S[j, i] = s\n"),
            ("    s = min(max(s, low), high)\n", "    s = min(max(s, low), high + 1e-3)\n"),
        ),
        *faults(
            "tracker/samplers/hessian.py",
            HESSIAN,
            ("            D[i, p] -= epsilon * g[j]\n", "            D[i, p] += epsilon * g[j]\n"),
            (
                "                D[d, p] -= epsilon * AD[d, p]\n",
                "                D[d, p] -= 2.0 * epsilon * AD[d, p]\n",
            ),
            ("abs(D[d, p]) <= sampler.tangent_limit", "abs(D[d, p]) <= 2.0 * sampler.tangent_limit"),
            ("                total += S[r, d] * h[d, c]\n", "                total += S[d, r] * h[d, c]\n"),
            ("S[i, j] - sampler.skew_step * AD[N, p]", "S[i, j] - sampler.skew_step * AD[0, p]"),
        ),
        *faults(
            "tracker/samplers/spsa.py",
            SPSA,
            ("    redraws = k % sampler.hold == 0\n", "    redraws = (k + 1) % sampler.hold == 0\n"),
            ("    if sampler.hold > 1 and redraws:\n", "    if redraws:\n"),
            ("        state.owed[REDRAW] = 1.0\n", "        state.owed[REDRAW] = 0.0\n"),
            ("due, kept = owed[UPDATE] == 1.0,", "due, kept = owed[UPDATE] == 2.0,"),
        ),
        *faults(
            "tracker/samplers/two_timescale.py",
            TWO,
            ("        then = Z[n + sampler.next]\n", "        then = Z[n]\n"),
            (
                "    observe(cost, k, steps + 1, streams[AHEAD], Z)\n",
                "    observe(cost, k + 1, steps + 1, streams[AHEAD], Z)\n",
            ),
            ("    copy(state.theta, state.minus)\n", "    copy(state.minus, state.minus)\n"),
        ),
        *faults(
            "tracker/samplers/tempered.py",
            _path("quadratic-tempered"),
            ("        zeta[d] = zeta[d] + q * w[d]", "        zeta[d] = zeta[d] + sigma[0] * q * w[d]"),
            ("sigma[0] - sampler.noise_step * slope", "sigma[0] + sampler.noise_step * slope"),
        ),
        *faults(
            "tracker/samplers/wandering.py",
            _path("quadratic-wandering"),
            ("    return low + min(x, 2.0 * width - x)\n", "    return low + min(x, width - x)\n"),
        ),
    ],
    "loop": [
        *faults(
            "tracker/engine/turns.py",
            LOOP,
            ("        hit = best <= radius2\n", "        hit = best <= 1.01 * radius2\n"),
            ("        met = (hit & waits) & (alive > 0.0)\n", "        met = hit & (alive > 0.0)\n"),
            ("stop = until = k + 1\n", "stop = until = k + 2\n"),
            ("where(ends, 0.0, error)", "error"),
            ("            idle(sampler, state, cost, k, streams)\n", "            pass\n"),
            (
                "max(1, int(np.ceil(mode.relaxation / layout.epsilon)))",
                "max(1, int(mode.relaxation / layout.epsilon))",
            ),
        ),
        *faults(
            "tracker/engine/loop.py",
            LOOP,
            (
                "                limit = min(limit, layout.burn_in)\n",
                "                limit = min(limit, layout.burn_in + 1)\n",
            ),
            ("ledger.stays[t, x, 0] += 1\n", "ledger.stays[t, 0, 0] += 1\n"),
        ),
        *faults(
            "tracker/engine/events.py",
            LOOP,
            (
                "waits[t, marks[AWAITED], bin_of(k - 1 - marks[WAITING], WAIT_BITS), 1] += 1\n        marks[WAITING], ",
                "waits[t, x, bin_of(k - 1 - marks[WAITING], WAIT_BITS), 1] += 1\n        marks[WAITING], ",
            ),
            (
                "waits[t, marks[AWAITED], bin_of(k - 1 - marks[WAITING], WAIT_BITS), 1] += 1\n        marks[WAITING], ",
                "waits[t, marks[AWAITED], bin_of(k - marks[WAITING], WAIT_BITS), 1] += 1\n        marks[WAITING], ",
            ),
            (
                "        ledger.waits[t, marks[AWAITED], bin_of(k - 1 - marks[WAITING], WAIT_BITS), 1] += 1",
                "        ledger.waits[t, 0, bin_of(k - 1 - marks[WAITING], WAIT_BITS), 1] += 1",
            ),
            ("row[SQUARE] += sums[SQ, l]\n", "row[SQUARE] += sums[E, l]\n"),
            ("layout.modes + lane.age[l]]", "layout.modes]"),
            ("bin_of(arrival - marks[WAITING], WAIT_BITS)", "bin_of(k - marks[WAITING], WAIT_BITS)"),
            ("if k > begun >= layout.burn_in:", "if k > begun:"),
        ),
        *faults(
            "tracker/engine/events.py",
            TARGETS,
            ("if arrival > marks[WAITING] and wait", "if arrival >= marks[WAITING] and wait"),
            ("max(0, before - layout.first_look + layout.cost_every - 1)", "max(0, before - layout.first_look)"),
            ("marks[WAITING], marks[AWAITED], marks[RETURN] = k, x, -1", "marks[WAITING], marks[AWAITED] = k, x"),
        ),
        *faults(
            "tracker/engine/turns.py",
            TARGETS,
            ("            look += span.look_every\n", "            look += 1\n"),
        ),
        *faults(
            "tracker/engine/loop.py",
            TARGETS,
            ("layout.first_look + looks(k, layout) * layout", "layout.first_look + (looks(k, layout) + 1) * layout"),
        ),
        *faults(
            "tracker/engine/measuring.py",
            LOOP,
            (
                "moments[d + 1, e] += c * (theta[e] - origin[e])",
                "moments[d + 1, e] += c * theta[e]",
            ),
        ),
        *faults(
            "tracker/engine/measuring.py",
            TARGETS,
            ("        best = min(best, distance)\n", "        best = distance\n"),
        ),
        *faults(
            "tracker/engine/turns.py",
            LAST,
            (
                "if not (best < layout.runaway and near(state.theta, group.origin, layout.runaway)):",
                "if not best < 100.0 * layout.runaway:",
            ),
        ),
    ],
    "lanes": [
        *faults("tracker/engine/turns.py", LOST, ("sums[GONE] = gone\n", "sums[GONE] = alive\n")),
        *faults("tracker/engine/loop.py", SIDE_BY_SIDE, ("min(edge, lane.edge[l])", "lane.edge[l]")),
        *faults(
            "tracker/engine/events.py",
            SIDE_BY_SIDE,
            ("rooms.numbers[p, l] = group.rows[x, p]", "rooms.numbers[p, l] = group.rows[0, p]"),
            ("later = min(later, lane.bound[l])", "later = lane.bound[l]"),
        ),
        *faults(
            "tracker/lane_streams.py",
            STREAMS_OF_LANES,
            ("bits_of(lane_of(begun, lane))", "bits_of(lane_of(begun, 0))"),
            (
                "            a, b, c, d = stream[0], stream[1], stream[2], stream[3]\n    stream",
                "    stream",
            ),
        ),
        *faults(
            "tracker/compiled/lane_types.py",
            STREAMS_OF_LANES,
            ('"rshift": "lshr"', '"rshift": "ashr"'),
        ),
        *faults(
            "tracker/compiled/lane_tables.py",
            "test_lanes.py -k table",
            ("leaf is column[0] for leaf in column)", "np.shape(leaf) == np.shape(column[0]) for leaf in column)"),
            ("if any(not np.array_equal(leaf, column[0]) for leaf in column):", "if False:"),
        ),
        *faults(
            "tracker/compiled/lane_rebuilding.py",
            SIDE_BY_SIDE,
            (
                "first = builder.gep(room, [builder.mul(told(), ir.Constant(WORD, count))])",
                "first = builder.gep(room, [told()])",
            ),
        ),
    ],
}
