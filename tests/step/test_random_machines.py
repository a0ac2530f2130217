"""Two hundred random machines: 1 to 12 rotors with any places, axes and senses, every motor, curve and drag.

Those with the same number of rotors are copies of one structure, for which code is made once.
"""

from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest

from pegasus.base.frames import rotate
from pegasus.step.integrator import advance
from pegasus.step.values import Effects, Inputs, Result, State, VariedAir
from tests.base.tracing.comparison import equal
from tests.core.plain_step import values_of, write
from tests.step.random_machines import COUNTS, MOVED, SMOOTH, Group, coasting, copied, electric

RESULTS = [field.name for field in fields(Result) if field.name != "alarm"]
ABREAST = (1, 2, 3, 4, 6, 8)
"""Numbers of rotors for which code of rows side by side is made, which takes the compiler longest."""


@pytest.fixture(scope="module", params=range(1, len(COUNTS) + 1))
def group(request):
    return Group(request.param)


def test_python_lanes_and_scalar_code_have_the_same_bits(group):
    """If this fails, a machine flies otherwise alone, among copies, or where it is debugged."""
    start = group.columns()
    plain, scalar = copied(start), copied(start)
    for _ in range(2):
        for k, machine in enumerate(group.machines):
            parts = (
                values_of(kind, plain, k, group.rotors, group.rotors)
                for kind in (State, Inputs, VariedAir, Effects)
            )
            write(advance(machine, *parts, None, None, 0.004), plain, k)
            for name in MOVED:
                plain[name][k] = plain[f"free_{name}"][k]
    group.step(scalar, 0.004, count=1)(2)
    made = {"scalar code": scalar}
    if group.rotors in ABREAST:
        lanes = made["lanes"] = copied(start)
        group.step(lanes, 0.004)(2)
    if group.rotors <= 2:
        # Its zeros and ones belong to the code.
        alone = made["code of one machine"] = copied(start, slice(3, 4))
        group.step(alone, 0.004, group.machines[3:4])(2)
    for name in RESULTS:
        assert np.isfinite(plain[name]).all(), name
        for form, columns in made.items():
            expected = plain[name][3:4] if form == "code of one machine" else plain[name]
            assert equal(columns[name], expected), f"{name}: {form}"


def test_momentum_and_energy_stay_in_vacuum(group):
    """If this fails, a machine turns or speeds up by itself, or gravity turns it."""
    start, machines, time = group.columns(), group.in_vacuum(), 0.2
    for name in ("thrust_share", "torque_share", "push", "twist"):
        start[name][...] = 0.0
    start["gravity"][::2] = 0.0
    fall, driven = start["gravity"], electric in group.kinds
    if not driven:
        start["command"][...], start["drive"][...] = start["rotor_speed"], 1.0
    before = group.motion(start)
    # Motors that hold the speeds do work on the shafts, not on the body.
    name = "whole_energy" if coasting in group.kinds else "energy"
    energy, errors = getattr(before, name), []
    for steps in (25, 50):
        end = copied(start)
        group.step(end, time / steps, machines, count=1)(steps)
        after = group.motion(end)
        way = before.velocity * time + 0.5 * fall * time**2
        np.testing.assert_allclose(after.center, before.center + way, atol=1e-11)
        np.testing.assert_allclose(after.velocity, before.velocity + fall * time, atol=1e-11)
        size = np.abs(before.momentum).max(axis=1)
        error = np.abs(after.momentum - before.momentum).max(axis=1) / size
        if not driven:
            gained = getattr(after, name) - energy - group.mass * (fall * way).sum(axis=1)
            error = np.maximum(error, np.abs(gained) / energy)
        errors.append(error)
    assert errors[1].max() < 1e-6
    assert driven or (errors[1] < errors[0] / 11.0 + 1e-12).all()


def test_wrenches_account_for_motion_and_energy_in_air(group):
    """If this fails, what is logged as force, torque or work is not what moved the machine."""
    errors = []
    for steps in (50, 100):
        columns, dt = group.settled(), 0.1 / steps
        run = group.step(columns, dt, count=1)
        energy, work, turned, twist = (
            np.zeros(shape) for shape in (group.count, group.count, (group.count, 3), (group.count, 3))
        )
        after = group.motion(columns)
        for _ in range(steps):
            before, w = after, columns["angular_velocity"].copy()
            run()
            after = group.motion(columns)
            load = columns["force"] + group.mass[:, None] * columns["gravity"]
            change = group.mass[:, None] * (after.velocity - before.velocity)
            np.testing.assert_allclose(change, load * dt, atol=1e-11)
            turn = 0.5 * dt * (w + columns["angular_velocity"])
            done = (load * (after.center - before.center)).sum(axis=1) + (columns["torque"] * turn).sum(
                axis=1
            )
            energy += after.energy - before.energy - done
            work += np.abs(done)
            middle = 0.5 * (before.rotation + after.rotation)
            torque = rotate(middle, columns["torque"]) * dt
            turned += after.body_momentum - before.body_momentum - torque
            twist += np.abs(torque)
        errors.append((np.abs(energy) / work, np.abs(turned).max(axis=1) / twist.max(axis=1)))
    # Work and torque of a step are those of its middle, which errs at order two.
    for coarse, fine in zip(*errors, strict=True):
        assert fine.max() < 1e-3
        assert 3.7 < np.median(coarse / fine) < 4.3


def test_smooth_laws_are_integrated_at_order_four(group):
    """If this fails, a larger step costs more accuracy than the method promises."""
    if not SMOOTH.issuperset(group.kinds):
        pytest.skip("laws with kinks")
    ends = []
    for steps in (10, 20, 40):
        columns = group.settled()
        group.step(columns, 0.08 / steps, count=1)(steps)
        parts = [*(columns[name] for name in MOVED), columns["rotor_speed"] / 900.0]
        ends.append(np.concatenate(parts, axis=1))
    coarse, fine = (np.abs(a - b).max(axis=1) for a, b in pairwise(ends))
    assert (coarse / fine > 11.0).all()
    assert np.median(fine) < 1e-5
