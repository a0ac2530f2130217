"""Trim of VTOL aircraft: which rotors drive, tilts and the transition from hover to flight on the wings."""

import math

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.design import stall_speed, trim
from pegasus.dynamics.wings import FullRangeWing

WING = {"area": 0.4, "span": 2.0, "zero_lift_angle": -0.04}
TAIL = {"area": 0.06, "span": 0.5, "flap_chord": 0.4}
SURFACES = {
    "wing": {"model": "full_range", "position": [-0.02, 0, 0], **WING},
    "tail": {"model": "full_range", "position": [-1.0, 0, 0], "controls": ["elevator"], **TAIL},
    "fin": {"model": "full_range", "position": [-1.0, 0, 0], "upward": [0, 1, 0], "area": 0.04, "span": 0.2},
}
BASE = {
    "mass": 2.0,
    "inertia": [0.2, 0.15, 0.3],
    "body": {"leg_height": 0.3},
    "propeller": {"diameter": 0.25},
    "motor": {"model": "ideal", "max_speed": 1200.0},
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.01},
    "joints": {"elevator": {"position": [-1.0, 0, 0], "axis": [0, -1, 0]}},
    "surfaces": SURFACES,
}


def rotors(joints=(None,) * 4):
    """Return four upright rotors, front left, rear left, rear right, front right."""
    places = [(0.4, 0.4), (-0.4, 0.4), (-0.4, -0.4), (0.4, -0.4)]
    return [
        {"position": [x, y, 0.05], "direction": "ccw" if x * y > 0 else "cw", "joint": joint}
        for (x, y), joint in zip(places, joints, strict=True)
    ]


def tilting():
    """Return an aircraft that tilts its front rotors forward."""
    hinge = {"axis": [0, 1, 0], "servo": {"low": -0.2, "high": 1.5708}}
    nacelles = {name: {"position": [0.4, y, 0.05], **hinge} for name, y in (("left", 0.4), ("right", -0.4))}
    joints = {"joints": {**BASE["joints"], **nacelles}}
    return {"name": "tilting", **BASE, **joints, "rotors": rotors(("left", None, None, "right"))}


def pushed():
    """Return an aircraft with four rotors that lift and one that pushes."""
    # It has no ailerons against a torque of its pusher.
    kind = {"pusher": {**{name: BASE[name] for name in ("motor", "propeller")}, "thrust_curve": {
        "model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.0}}}  # fmt: skip
    pusher = {"position": [-0.7, 0, 0], "axis": [1, 0, 0], "direction": "cw", "propulsion": "pusher"}
    return {"name": "pushed", **BASE, "propulsion": kind, "rotors": [*rotors(), pusher]}


def test_only_the_pusher_drives_on_the_wings():
    """Rotors that lift would turn in fast flight, or the pusher alone carry a slow one."""
    vehicle = Multirotor(pushed())
    fast = trim(vehicle, 12.0).command
    np.testing.assert_array_equal(fast[:4], 0.0)
    assert fast[4] > 100.0
    assert 5.0 < (stall_speed(vehicle) or 0.0) < 12.0
    slow = trim(vehicle, 3.0)
    assert (slow.command[:4] > 300.0).all()


def test_nacelles_tilt_forward():
    """A tiltrotor would fly on its wings with upright nacelles, or hover with them tilted."""
    vehicle = Multirotor(tilting())
    found = trim(vehicle, 12.0)
    left, right = found.command[5:7]
    assert (left, right) == pytest.approx((math.pi / 2, math.pi / 2), abs=1e-4)
    np.testing.assert_array_equal(found.command[1:3], 0.0)
    hover = trim(vehicle, 0.0)
    assert abs(hover.command[5:7]).max() < 0.1
    assert (hover.command[:4] > 300.0).all()


def test_glide():
    """A glide with resting rotors would be steeper or flatter than drag by lift, or turn the rotors."""
    found = trim(Multirotor(pushed()), 11.0, None)
    angles = np.array([found.angle_of_attack])
    parts = [(FullRangeWing(**WING), ()), (FullRangeWing(**TAIL), (float(found.command[5]),))]
    coefficients = [(w.area, *w.polar(angles, deflection)) for w, deflection in parts]
    lift = sum(area * float(cl[0]) for area, cl, _, _ in coefficients)
    drag = sum(area * float(cd[0]) for area, _, cd, _ in coefficients) + 0.04 * 0.02
    assert math.tan(-found.climb) == pytest.approx(drag / lift, rel=1e-6)
    np.testing.assert_array_equal(found.command[:5], 0.0)


def test_without_rudder_or_ailerons_it_turns_by_sideslip_or_not_at_all():
    """A turn that nothing holds would be a trim."""
    glider = {**pushed(), "rotors": pushed()["rotors"][4:]}
    with pytest.raises(
        ConfigError, match=r"cannot be trimmed at 12 m/s: .*moments of .*roll.* that are not held"
    ):
        trim(Multirotor(glider), 12.0, 0.0, 0.5)


def test_aircraft_that_hover_or_glide_join():
    """A VTOL would be refused for its wings, or a glider for its thrust."""
    glider = {**pushed(), "name": "glider", "rotors": pushed()["rotors"][4:]}
    glider["propulsion"] = {
        "pusher": {**glider["propulsion"]["pusher"], "motor": {"model": "ideal", "max_speed": 1.0}}
    }
    stub = {**pushed(), "name": "stub", "surfaces": {"tail": {**SURFACES["tail"], "area": 0.001}}}
    with Simulation("flat") as sim:
        for described in (pushed(), tilting(), glider, stub):
            sim.add(Multirotor(described, position=(0.0, 5.0 * len(sim.vehicles), 0.5)))
        with pytest.raises(ConfigError, match="surfaces: cannot be trimmed"):
            sim.add(Multirotor({**stub, "rotors": stub["rotors"][4:]}))
