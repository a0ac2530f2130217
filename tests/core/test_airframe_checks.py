"""Airframe checks: airframes that cannot fly are refused, with the amount and the remedy."""

import dataclasses

import numpy as np
import pytest

from pegasus import ConfigError, Environment, Multirotor, Simulation
from pegasus.config.rotor_specs import RotorSpec
from pegasus.config.settings import names
from pegasus.dynamics import FirstOrderMotor, PropellerThrust, QuadraticThrust
from pegasus.environment import UniformGravity
from pegasus.environment.geodesy import Geodetic
from pegasus.model.rotors import RotorLayout, largest_lift, require_rotors_apart

QUAD = {
    "name": "quad",
    "mass": 1.0,
    "inertia": [0.01, 0.01, 0.018],
    "rotors": {"count": 4, "radius": 0.25},
    "propeller": {"diameter": 0.25},
    "motor": {"model": "ideal", "max_speed": 800.0},
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
    "sensors": {},
}
LIFT = 4 * 1e-5 * 800.0**2


def layout(*rotors):
    return RotorLayout.from_specs([RotorSpec(position=p, direction="ccw", axis=a) for p, a in rotors])


@pytest.mark.parametrize("name", names("vehicles"))
def test_shipped_vehicles_pass(name):
    """A shipped vehicle would be refused."""
    with Simulation("flat") as sim:
        sim.add(Multirotor(name))


@pytest.mark.parametrize(
    ("rotors", "overlap"),
    [
        ([((0, 0, 0), (0, 0, 1)), ((0.22, 0, 0), (0, 0, 1))], 0.03),
        ([((0, 0, 0), (0, 0, 1)), ((0.22, 0, 0.012), (0, 0, -1))], 0.03),
        ([((0, 0, 0), (0, 0, 1)), ((0, 0, 0), (0, 0, 1))], 0.25),
        ([((0.1, 0, 0), (1, 0, 0)), ((0.1, 0, 0.2), (1, 0, 0))], 0.05),
        # Discs in the planes z = 0 and x = 0.1: from x = 0.1 on the first one is 0.15 wide at its rim.
        ([((0, 0, 0), (0, 0, 1)), ((0.1, 0, 0), (1, 0, 0))], 0.15),
    ],
    ids=["side by side", "nearly level", "one place", "sideways", "across"],
)
def test_overlapping_rotors(rotors, overlap):
    """Blades would cut each other; the message would say another overlap than there is."""
    with pytest.raises(
        ConfigError, match=r"^rotors\.1\.position = \(.*\): its disc and that of rotor 0"
    ) as e:
        require_rotors_apart(layout(*rotors), [0.25, 0.25])
    assert f"overlap by {overlap:.3g} m" in str(e.value)
    assert "; move them apart" in str(e.value)


@pytest.mark.parametrize(
    "rotors",
    [
        [((0, 0, 0), (0, 0, 1)), ((0.25, 0, 0), (0, 0, 1))],
        [((0, 0, 0), (0, 0, 1)), ((0, 0, 0.0126), (0, 0, 1))],
        [((0, 0, 0), (0, 0, 1)), ((0.2, 0, 0.05), (0, 0, 1))],
        [((0, 0, 0), (0, 0, 1)), ((0.2, 0, 0.13), (1, 0, 0))],
        [((0, 0, 0), (0.5, 0, 1)), ((0.24, 0, 0), (-0.5, 0, 1))],
    ],
    ids=["touching", "coaxial", "intermeshing", "across, above", "tilted apart"],
)
def test_rotors_that_pass_each_other(rotors):
    """A coaxial, an intermeshing or a tilted airframe would be refused."""
    require_rotors_apart(layout(*rotors), [0.25, 0.25])


MIXED = {
    **QUAD,
    "rotors": [
        *({"position": p, "direction": d} for p, d in (([0.2, 0.2, 0.0], "cw"), ([-0.2, 0.2, 0.0], "ccw"))),
        *({"position": p, "direction": d} for p, d in (([-0.2, -0.2, 0.0], "cw"), ([0.2, -0.2, 0.0], "ccw"))),
        {"position": [-0.05, 0.0, 0.0], "axis": [1.0, 0.0, 0.0], "direction": "cw", "propulsion": "pusher"},
    ],
    "body": {"size": [0.1, 0.1, 0.05], "leg_height": 0.12},
}


@pytest.mark.parametrize(
    ("place", "diameter", "said"),
    [
        ([-0.3, 0.0, 0.0], 0.2, None),
        # The large disc reaches the ground, or a rotor beside it: with 0.25 m as the others it would not.
        ([-0.5, 0.0, 0.0], 0.35, "its disc reaches down to z = -0.175 m"),
        (
            [-0.3, 0.0, 0.0],
            0.35,
            "its disc and that of rotor 1 overlap by 0.05 m: propellers of 0.25 and 0.35 m",
        ),
        # A small disc fits where one of 0.25 m would not.
        ([0.0, 0.0, 0.0], 0.1, None),
    ],
)
def test_each_kind_of_propulsion_has_its_own_diameter(place, diameter, said):
    """Discs of a pusher would be checked with the diameter of the lifting rotors."""
    pusher = {**MIXED["rotors"][4], "position": place}
    kind = {
        "propeller": {"diameter": diameter},
        "motor": MIXED["motor"],
        "thrust_curve": MIXED["thrust_curve"],
    }
    vehicle = {**MIXED, "rotors": [*MIXED["rotors"][:4], pusher], "propulsion": {"pusher": kind}}
    if said is None:
        Multirotor(vehicle)
        return
    with pytest.raises(ConfigError, match=said):
        Multirotor(vehicle)


def test_rotors_of_several_sizes():
    """A small pusher would be checked with the size of the large lift rotors, or the other way round."""
    large = [{"position": [x, y, 0.1], "direction": "ccw"} for x in (0.3, -0.3) for y in (0.3, -0.3)]
    pusher = {"position": [0.0, 0.0, 0.1], "axis": [1, 0, 0], "direction": "cw", "propulsion": "pusher"}
    kind = {"motor": QUAD["motor"], "thrust_curve": QUAD["thrust_curve"], "propeller": {"diameter": 0.1}}
    described = QUAD | {"rotors": [*large, pusher], "propulsion": {"pusher": kind}}
    assert Multirotor(described).spec.propeller_diameters() == [0.25] * 4 + [0.1]
    kind["propeller"]["diameter"] = 0.6
    with pytest.raises(
        ConfigError, match=r"rotors\.4\.position.*strike the ground first|propellers of 0.25 and 0.6 m"
    ):
        Multirotor(described)
    pair = layout(((0, 0, 0), (0, 0, 1)), ((0.2, 0, 0), (0, 0, 1)))
    require_rotors_apart(pair, [0.3, 0.1])
    with pytest.raises(ConfigError, match=r"overlap by 0\.05 m: propellers of 0\.2 and 0\.3 m"):
        require_rotors_apart(pair, [0.3, 0.2])


def test_the_overlap_of_tilted_discs_is_that_of_their_points():
    """Separate rotor discs would be refused, or overlapping ones pass: 300 pairs against sampled points."""
    rng = np.random.default_rng(5)
    radius, angle = np.meshgrid(np.linspace(0, 0.125, 60), np.linspace(0, 2 * np.pi, 240))
    flat = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * radius], axis=-1).reshape(-1, 3)
    seen = set()
    for _ in range(300):
        pair = layout(*((rng.uniform(-0.1, 0.1, 3).tolist(), rng.normal(size=3).tolist()) for _ in range(2)))
        if abs(pair.axis[0] @ pair.axis[1]) > 0.98:
            continue
        # Points of one disc within a disc's breadth of the other's plane, and in its circle.
        side = np.cross(pair.axis[0], [1.0, 0.3, 0.2])
        side /= np.linalg.norm(side)
        frame = np.stack([side, np.cross(pair.axis[0], side), pair.axis[0]])
        away = flat @ frame + pair.position[0] - pair.position[1]
        height = away @ pair.axis[1]
        inside = np.sum(away**2, axis=1) - height**2 < 0.125**2
        meets = inside.any() and height[inside].min() < -1e-3 and height[inside].max() > 1e-3
        apart = not inside.any() or height[inside].min() > 5e-3 or height[inside].max() < -5e-3
        try:
            require_rotors_apart(pair, [0.25, 0.25])
            refused = False
        except ConfigError:
            refused = True
        if meets or apart:
            assert refused == bool(meets)
            seen.add(refused)
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (
            {"rotors": {"count": 4, "radius": 0.16}},
            ["rotors.1.position = (-0.1131, 0.1131, 0.03)", "rotor 0 overlap by 0.0237 m", "diameter"],
        ),
        (
            {
                "rotors": [
                    {"position": [x, y, 0.1], "direction": d}
                    for x, y, d in ((0.2, 0.2, "ccw"), (-0.2, 0.2, "cw"), (-0.2, -0.2, "ccw"))
                ]
                + [{"position": [0.2, -0.2, 0.0], "direction": "cw", "axis": [0.0, 1.0, 0.0]}],
                "body": {"leg_height": 0.0},
            },
            [
                "rotors.3.position = (0.2, -0.2, 0.0)",
                "down to z = -0.125 m",
                "strike the ground",
                "leg_height",
            ],
        ),
    ],
    ids=["overlap", "below the collider"],
)
def test_refused_on_construction(change, parts):
    """A vehicle whose rotors cannot turn would only be found out in flight."""
    with pytest.raises(ConfigError) as caught:
        Multirotor(QUAD | change)
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_hover_is_refused_by_how_much():
    """A vehicle would stay on the ground with its rotors at full speed, without a reason."""
    weight = 3.0 * float(Environment().gravity_vector(np.zeros((1, 3)))[0, 2]) * -1
    with Simulation("flat") as sim, pytest.raises(ConfigError) as caught:
        sim.add(Multirotor(QUAD | {"mass": 3.0}))
    assert str(caught.value) == (
        f"motor.max_speed = 800.0: the vehicle cannot hover: the rotors lift {LIFT:.4g} N at most, the "
        f"vehicle weighs {weight:.4g} N, {weight - LIFT:.3g} N more; raise it or the thrust, "
        "or lower the mass"
    )


def test_thin_air_counts_and_sea_level_is_told():
    """A vehicle that flies at sea level would fail in the mountains, or its file be blamed."""
    thin = QUAD | {
        "mass": 2.0,
        "thrust_curve": {
            "model": "propeller",
            "diameter": 0.25,
            "thrust_coefficient": 0.1,
            "power_coefficient": 0.05,
        },
    }
    turns = 800.0 / (2 * np.pi)
    low = 4 * 0.1 * 1.225 * turns**2 * 0.25**4
    assert low > 2.0 * 9.81
    with Simulation("flat") as sim:
        sim.add(Multirotor(thin))
    with Simulation("flat") as sim:
        high = dataclasses.replace(sim.environment, origin=Geodetic(0.0, 0.0, 8000.0))
        vehicle = Multirotor(thin)
        with pytest.raises(ConfigError, match=r"in air of 0\.52\d kg/m\^3 \(31\.\d+ N at sea level\)"):
            vehicle.join(sim.vehicles, high)
        assert low == pytest.approx(31.0, abs=0.99)


def test_weaker_gravity_counts():
    """A vehicle for Mars would be refused, since it could not hover here."""
    with Simulation("flat") as sim:
        sim.environment = dataclasses.replace(sim.environment, gravity=UniformGravity(acceleration=3.72))
        sim.vehicles._environment = sim.environment
        sim.add(Multirotor(QUAD | {"mass": 5.0}))


def test_a_motor_without_limit_passes():
    """A vehicle for studies of control would be refused."""
    with Simulation("flat") as sim:
        sim.add(Multirotor(QUAD | {"mass": 1000.0, "motor": {"model": "ideal"}}))


def test_largest_lift_takes_tilt_and_reversal_into_account():
    """Rotors that point down or aside would be counted as if they lifted."""
    curve = QuadraticThrust(thrust_constant=1e-5, moment_ratio=0.02)
    rotors = layout(((0, 0, 0), (0, 0, 1)), ((1, 0, 0), (0, 3, 4)), ((2, 0, 0), (0, 0, -1)))
    ahead = FirstOrderMotor(time_constant_up=0.1, time_constant_down=0.1, max_speed=500.0)
    assert largest_lift(rotors, ahead, curve, 1.0) == pytest.approx(2.5 * (1 + 0.8))
    both = dataclasses.replace(ahead, min_speed=-400.0)
    assert largest_lift(rotors, both, curve, 1.0) == pytest.approx(2.5 * 1.8 + 1.6)
    stuck = dataclasses.replace(ahead, min_speed=100.0)
    assert largest_lift(rotors, stuck, curve, 1.0) == pytest.approx(2.5 * 1.8 - 0.1)
    air = PropellerThrust(diameter=0.3, thrust_coefficient=0.1, power_coefficient=0.05)
    assert largest_lift(rotors, ahead, air, 2.0) == pytest.approx(2 * largest_lift(rotors, ahead, air, 1.0))
