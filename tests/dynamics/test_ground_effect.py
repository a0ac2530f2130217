"""Tests of ground effect: Cheeseman and Bennett, the multirotor formula, and flights of a Crazyflie."""

from types import SimpleNamespace

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.components import build
from pegasus.base.step_math import Quat, Vec3
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import GroundEffect, IdealMotor, QuadraticThrust
from pegasus.dynamics.ground_effect import image_upwash
from pegasus.model.airframe import Airframe
from pegasus.model.multirotor import machine_of, rotor_channels
from pegasus.model.rotors import RotorLayout
from pegasus.scene.scene import Collider, ColliderShape, PhysicsMaterial, Scene
from pegasus.step.loads import NO_VECTOR, Flow, heights_over, surface_ratio
from pegasus.step.values import Planes
from tests.flyers import HIGH, PLAIN_IRIS, Constant

RHO = 1.225


def ratio(
    effect,
    height,
    places,
    *,
    radius,
    axis=(0.0, 0.0, 1.0),
    velocity=(0.0, 0.0, 0.0),
    thrust=1.0,
    ceiling=None,
):
    """Return the ratio of thrust with and without ground and ceiling, of level rotors above z = 0."""
    places, count = np.asarray(places, dtype=float), len(places)
    layout = RotorLayout(places, np.tile(axis, (count, 1)), np.ones(count))
    parameters = SimpleNamespace(
        mass=1.0,
        inertia=np.eye(3),
        center_of_mass=np.zeros(3),
        rotor_inertia=0.0,
        motor=IdealMotor(),
        thrust_curve=QuadraticThrust(thrust_constant=1.0, moment_ratio=0.0),
        drag=None,
        ground_effect=effect,
        airframe=Airframe(),
    )
    machine = machine_of(layout, parameters, 2 * radius, rotor_channels(parameters.motor, layout.count))
    # Rays end at twenty radii; the height above missing ground is the largest one.
    missing = places[:, 2] + height > 20 * radius
    planes = Planes(
        (Vec3(0.0, 0.0, 1.0),) * count,
        tuple(np.where(missing, -1e9, 0.0)),
        (Vec3(0.0, 0.0, -1.0),) * count,
        (-1e9 if ceiling is None else -ceiling,) * count,
    )
    level, x = Quat(0.0, 0.0, 0.0, 1.0), Vec3(0.0, 0.0, height)
    air = Flow(Vec3(*velocity), Vec3(*velocity), NO_VECTOR, (NO_VECTOR,) * count, RHO)
    heights = heights_over(machine, x, level, planes.ground_normal, planes.ground_offset)
    gaps = heights_over(machine, x, level, planes.ceiling_normal, planes.ceiling_offset)
    given = machine, planes, air, heights, gaps, level
    return np.array([surface_ratio(*given, j, thrust) for j in range(count)])


def square(side):
    half = side / 2
    return [(half, -half, 0), (-half, half, 0), (half, half, 0), (-half, -half, 0)]


@pytest.mark.parametrize(
    ("height", "expected"),
    [(0.5, 1.3333), (0.75, 1.125), (1.0, 1.0667), (1.5, 1.0286), (2.0, 1.0159), (4.0, 1.0039)],
)
def test_one_rotor_is_that_of_cheeseman_and_bennett(height, expected):
    """The gain would not be 1 / (1 - (R / 4 h)^2), for example with the diameter in place of R."""
    assert ratio(GroundEffect(), 0.2 * height, [(0, 0, 0)], radius=0.2)[0] == pytest.approx(
        expected, abs=5e-5
    )


@pytest.mark.parametrize("height", [0.1, 0.15, 0.3, 0.6, 1.2])
def test_four_rotors_are_those_of_the_multirotor_formula(height):
    """Images of the neighbours, of the one across or the lift of the body would be left out or weighed wrong.

    The formula of Sanchez-Cuevas, Heredia and Ollero (2017), written out for a square of rotors.
    """
    r, d, z = 0.12, 0.33, height
    b = d * np.sqrt(2)
    upwash = (
        (r / (4 * z)) ** 2
        + r**2 * z / np.sqrt((d**2 + 4 * z**2) ** 3)
        + r**2 / 2 * z / np.sqrt((2 * d**2 + 4 * z**2) ** 3)
        + 2 * r**2 * 2.0 * z / np.sqrt((b**2 + 4 * z**2) ** 3)
    )
    np.testing.assert_allclose(ratio(GroundEffect(), z, square(d), radius=r), 1 / (1 - upwash), rtol=1e-12)


@pytest.mark.parametrize("radii", [4.0, 5.0, 7.0, 10.0])
def test_a_crazyflie_gains_what_was_measured_in_flight(radii):
    """The body's lift would differ from that of a real vehicle.

    gym-pybullet-drones (Panerati et al., IROS 2021) has 1 + 11.36859 (R / 4 h)^2 of a Crazyflie in flight,
    with R = 23.1348 mm and 39.7 mm from the middle to each rotor. Nearer than four radii the fit by a single
    square leads away from any image.
    """
    measured = 11.36859 / (4 * radii) ** 2
    places = square(0.0397 * np.sqrt(2))
    gain = ratio(GroundEffect(), radii * 0.0231348, places, radius=0.0231348) - 1
    np.testing.assert_allclose(gain, measured, rtol=0.11)


def test_images_are_mirrored_at_the_ground():
    """An image would have a wrong position or direction; here each one is tested alone."""
    rng = np.random.default_rng(3)
    places = rng.uniform([-0.4, -0.4, -0.1], [0.4, 0.4, 0.1], (5, 3))
    radius, ground = 0.09, -0.35
    expected = []
    for here in places:
        total = 0.0
        for there in places:
            image = there * [1, 1, -1] + [0, 0, 2 * ground]
            away = here - image
            # A source of strength q makes the velocity q r / |r|^3; q is R^2 / 4 for a velocity of 1.
            total += radius**2 / 4 * away[2] / np.linalg.norm(away) ** 3
        expected.append(total)
    between = places[:, None] - places
    height, squared = (places[:, 2] - ground).tolist(), (between**2).sum(-1)
    upwash = [
        sum(image_upwash(height[i], height[j], squared[i, j], radius) for j in range(5)) for i in range(5)
    ]
    np.testing.assert_allclose(upwash, expected, rtol=1e-12)


def test_flying_on_leaves_the_wake_behind():
    """Cheeseman and Bennett's upwash in forward flight falls as 1 / (1 + (V / v)^2): a half where V is v."""
    radius, height, thrust = 0.2, 0.2, 5.0
    induced = np.sqrt(thrust / (2 * 1.225 * np.pi * radius**2))
    for speed, share in ((0.0, 1.0), (induced, 0.5), (3 * induced, 0.1)):
        moving = {"radius": radius, "velocity": (0.6 * speed, 0.8 * speed, 0.0), "thrust": thrust}
        got = ratio(GroundEffect(), height, [(0, 0, 0)], **moving)[0]
        assert got == pytest.approx(1 / (1 - share / 16), rel=1e-9)
    # Up and down the wake comes along.
    rising = ratio(GroundEffect(), height, [(0, 0, 0)], radius=radius, velocity=(0, 0, 9.0), thrust=thrust)
    assert rising[0] == pytest.approx(16 / 15)


def test_a_coaxial_pair_drives_one_stream():
    """Two rotors on one axis would gain twice as much as one."""
    pair = ratio(GroundEffect(body_lift=0.0), 0.3, [(0, 0, 0), (0, 0, 1e-9)], radius=0.2)
    np.testing.assert_allclose(pair, ratio(GroundEffect(), 0.3, [(0, 0, 0)], radius=0.2)[0], rtol=1e-6)


@pytest.mark.parametrize(
    "places", [square(0.3), [(0, 0, 0)], [(0.3, 0, 0), (-0.3, 0, 0), (0.3, 0, -0.1), (-0.3, 0, -0.1)]]
)
def test_the_gain_is_bounded_falls_with_height_and_ends(places):
    """The gain would be unbounded at the ground, or not vanish far above it."""
    heights = [-0.2, 0.0, 0.01, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 2.9]
    ratios = np.array([ratio(GroundEffect(), z + 0.1, places, radius=0.15) for z in heights])
    assert (ratios > 1.0).all()
    assert ratios.max() < 1.7
    assert (np.diff(ratios, axis=0) <= 1e-12).all()
    np.testing.assert_array_equal(ratio(GroundEffect(), 5.0, places, radius=0.15), 1.0)


def test_a_rotor_that_pulls_or_has_its_back_to_the_ground_gains_nothing():
    """A rotor whose wake does not reach the ground would gain thrust."""
    here = {"height": 0.2, "places": [(0, 0, 0)], "radius": 0.2}
    assert ratio(GroundEffect(), axis=(0.0, 0.0, -1.0), **here)[0] == 1.0
    for thrust in (0.0, -1.0):
        assert ratio(GroundEffect(), thrust=thrust, **here)[0] == 1.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("least_gap", 0.05),
        ("body_lift", -0.1),
        ("body_lift", 9.0),
        ("least_height", 0.1),
        ("least_height", float("nan")),
    ],
)
def test_bad_parameters_are_refused(field, value):
    """An invalid parameter would give an unbounded gain, or a loss."""
    with pytest.raises(ConfigError, match=f"^{field} = "):
        GroundEffect(**{field: value})


def ground(*, tilt=0.0):
    """Return a plane through the origin, tilted about the y axis."""
    orientation = np.array([0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2)])
    return Collider(
        "/ground", ColliderShape.PLANE, (), np.zeros(3), orientation, PhysicsMaterial(0.5, 0.5, 0.0)
    )


def box(*, position, size):
    orientation = np.array([0.0, 0.0, 0.0, 1.0])
    return Collider(
        "/box", ColliderShape.BOX, size, np.array(position), orientation, PhysicsMaterial(0.5, 0.5, 0.0)
    )


def pushed(effect, position, *colliders, tilt=0.0, other=None, count=1):
    """Return force [N] and torque [N m] of an Iris' rotors at 650 rad/s above the ground.

    They are the means of a step, here of one so short that they are those of its start.
    """
    scene = Scene("test", colliders=list(colliders or [ground()]))
    with Simulation("flat", rate=1e5, alter_scene=lambda *_: scene) as sim:
        iris = Multirotor(
            PLAIN_IRIS,
            count=count,
            position=HIGH,
            backends=[Constant(650.0)],
            ground_effect=effect,
            sensors={},
        )
        sim.add(iris)
        if other is not None:
            sim.add(Multirotor(PLAIN_IRIS, position=other, sensors={}))
        sim.play()
        iris.place(position, orientation=[0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2)])
        iris.columns["rotor_speed"][...] = 650.0
        sim.advance()
        return iris.rotor_force.copy(), iris.rotor_torque.copy(), iris.layout


LIFT = 4 * 8.54858e-6 * 650.0**2


@pytest.mark.parametrize("height", [0.15, 0.25, 0.6])
def test_in_a_simulation_the_rotors_lift_more_near_the_ground(height):
    """Height, radius or rotor positions would be wrong, or the reaction torque of a rotor change too."""
    force, torque, layout = pushed(GroundEffect(), (0.0, 0.0, height))
    _, plain, _ = pushed(None, (0.0, 0.0, height))
    expected = ratio(GroundEffect(), height, layout.position, radius=0.127)
    np.testing.assert_allclose(force[0], [0.0, 0.0, LIFT / 4 * expected.sum()], atol=2e-6)
    assert torque[0, 2] == pytest.approx(plain[0, 2], abs=1e-9)
    thrusts = LIFT / 4 * expected
    np.testing.assert_allclose(torque[0, 0], layout.position[:, 1] @ thrusts, atol=1e-9)


def test_a_slope_is_ground_like_any_other():
    """The height would be measured vertically, not normal to the slope."""
    slope = 0.3
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    force, _, layout = pushed(GroundEffect(), 0.3 * normal, ground(tilt=slope), tilt=slope)
    level = ratio(GroundEffect(), 0.3, layout.position, radius=0.127)
    np.testing.assert_allclose(force[0], LIFT / 4 * level.sum() * normal, atol=2e-6)


def test_half_over_a_ledge_it_is_tipped_off():
    """Rotors beyond a ledge would gain as much as those above it, without a roll torque."""
    ledge = box(position=(0.0, 5.0, -0.5), size=(5.0, 5.0, 0.5))
    force, torque, layout = pushed(GroundEffect(), (0.0, 0.0, 0.1), ledge)
    left = layout.position[:, 1] > 0
    gains = ratio(GroundEffect(body_lift=0.0), 0.123, layout.position[left] * [1, 1, 0], radius=0.127) - 1
    assert force[0, 2] - LIFT > LIFT / 4 * gains.sum()
    assert torque[0, 0] > 0.9 * 0.2 * LIFT / 4 * gains.sum()


def test_another_vehicle_is_no_ground():
    """A vehicle below would count as ground and lift the one above."""
    force, _, _ = pushed(GroundEffect(), (0.0, 0.0, 3.5), other=(0.0, 0.0, 3.2))
    np.testing.assert_allclose(force, [[0.0, 0.0, LIFT]], atol=1e-6)


def test_copies_are_like_single_vehicles():
    """A copy would use the ground height of another copy."""
    places = np.array([[0.0, 0.0, 0.2], [3.0, 0.0, 0.5], [6.0, 0.0, 9.0]])
    together = pushed(GroundEffect(), places, count=3)
    for k, place in enumerate(places):
        alone = pushed(GroundEffect(), place)
        np.testing.assert_allclose(together[0][k], alone[0][0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(together[1][k], alone[1][0], rtol=1e-12, atol=1e-12)


def test_it_holds_its_height_over_the_ground_and_is_off_unless_asked_for():
    """A hovering vehicle would oscillate near the ground, or the effect be on by default."""
    speeds = []
    for effect in (GroundEffect(), None):
        flight = trajectories.hold(height=0.3)
        controller = GeometricController(flight, spin_up=0.0, integral_gain=(1.0, 1.0, 6.0))
        with Simulation("flat") as sim:
            iris = Multirotor(
                PLAIN_IRIS, position=(0, 0, 0.3), backends=[controller], ground_effect=effect, sensors={}
            )
            sim.add(iris)
            iris.columns["rotor_speed"][...] = 650.0
            sim.run(6.0)
            np.testing.assert_allclose(iris.state.position[0], [0.0, 0.0, 0.3], atol=0.01)
            assert np.abs(iris.state.velocity).max() < 0.02
            speeds.append((iris.state.rotor_speed**2).mean())
    gain = ratio(GroundEffect(), 0.3, Multirotor("iris").layout.position, radius=0.127).mean()
    assert speeds[1] / speeds[0] == pytest.approx(gain, rel=0.01)
    assert Multirotor("iris").spec.ground_effect is None


@pytest.mark.parametrize(
    ("gap", "wake"), [(0.25, 1.366025), (0.5, 1.112372), (1.0, 1.030330), (4.0, 1.001949)]
)
def test_below_a_ceiling_the_power_is_that_of_momentum_theory(gap, wake):
    """The gain would not be that of Hsiao and Chirarattananon at the same power, T^(3/2) / g."""
    effect = GroundEffect(ceilings=True)
    gain = ratio(effect, 50.0, [(0, 0, 0)], radius=0.2, ceiling=50.0 + 0.2 * gap)[0]
    assert gain**1.5 == pytest.approx(wake, abs=1e-5)


def test_a_ceiling_counts_only_if_asked_for_and_from_below():
    """Vehicles with a ground effect would fly otherwise than before, or be pulled by what is below them."""
    place = [(0, 0, 0)]
    assert ratio(GroundEffect(), 50.0, place, radius=0.2, ceiling=50.1)[0] == 1.0
    under = GroundEffect(ceilings=True)
    assert ratio(under, 50.0, place, radius=0.2, ceiling=50.1, axis=(0, 0, -1.0))[0] == 1.0
    assert ratio(under, 50.0, place, radius=0.2, ceiling=None)[0] == 1.0
    hover = ratio(under, 50.0, place, radius=0.2, ceiling=50.1)[0]
    passing = ratio(under, 50.0, place, radius=0.2, ceiling=50.1, velocity=(5.0, 0, 0))[0]
    assert 1.0 < passing < 1.0 + 0.2 * (hover - 1.0)


def test_in_a_simulation_a_ceiling_pulls_a_vehicle_up():
    """Rays upward would miss, or distance and sign of the plane above be wrong."""
    roof = box(position=(0.0, 0.0, 6.0), size=(5.0, 5.0, 0.5))
    force, _, layout = pushed(GroundEffect(ceilings=True), (0.0, 0.0, 5.4), roof)
    # The roof's lower side is 0.1 m above the vehicle, and the rotors 0.023 m.
    gains = ratio(GroundEffect(ceilings=True), 5.4, layout.position, radius=0.127, ceiling=5.5)
    assert gains.min() > 1.05
    np.testing.assert_allclose(force[0], [0.0, 0.0, LIFT / 4 * gains.sum()], rtol=1e-6, atol=1e-6)


def test_a_file_gives_it():
    """The section of a vehicle file, or its parameters, would be ignored."""
    iris = Multirotor(PLAIN_IRIS).spec.model_dump(exclude_unset=True)
    named = Multirotor(iris | {"ground_effect": {"model": "image_sources", "body_lift": 1.0}})
    assert named.ground_effect == GroundEffect(body_lift=1.0)
    with pytest.raises(ConfigError, match=r"ground_effect\.body_lift = 7"):
        Multirotor(iris | {"ground_effect": {"model": "image_sources", "body_lift": 7}})
    with pytest.raises(ConfigError, match=r"ground_effect\.model = 'air'"):
        build(GroundEffect, {"image_sources": GroundEffect}, {"model": "air"}, field="ground_effect")
