"""Tests of downwash against the jet's momentum, speeds measured below quadrotors, and forces by hand."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.frames import matrix_from_quaternion
from pegasus.base.step_math import Real, Vec3, dot, sqrt
from pegasus.core.columns import own_columns
from pegasus.core.rotor_air import Wakes
from pegasus.dynamics import Downwash, IdealMotor, PropellerThrust, QuadraticDrag
from pegasus.dynamics.downwash import Blown, JetSource, blown, formed_jet, half_width
from pegasus.model.rotors import RotorLayout
from tests.core.plain_step import values_of
from tests.flyers import HIGH, PLAIN_IRIS, Constant

JET = Downwash()
DOWN = np.array([[0.0, 0.0, -1.0]])
IRIS_LIFT = 4 * 8.54858e-6 * 650.0**2


def speed_at(depth, distance, *, thrust=15.0, density=1.2, size=0.5):
    """Return the speed of one jet straight down at a depth and a distance from its axis [m/s]."""
    place = np.array([[[distance, 0.0, -depth]]])
    velocity = JET.velocity(place, axis=DOWN, momentum=np.array([thrust / density]), size=size)
    assert velocity[0, 0, 0] == velocity[0, 0, 1] == 0.0
    return -velocity[0, 0, 2]


@pytest.mark.parametrize("depth", [0.5, 2.0, 7.0])
def test_every_section_carries_the_thrust(depth):
    """The jet's momentum would change along its axis, or the density be omitted."""
    flux, _ = quad(lambda r: 2 * np.pi * r * 1.2 * speed_at(depth, r) ** 2, 0, np.inf, epsrel=1e-9)
    assert flux == pytest.approx(15.0, rel=1e-6)


@pytest.mark.parametrize("depth", [2.5, 4.0, 8.0, 16.0])
def test_on_the_axis_it_is_as_fast_as_measured(depth):
    """The jet's initial width or its growth would differ from that of real vehicles.

    Bauersfeld et al. 2025 have U_c = 10.11 U_H / (s / l + 5.817) below six quadrotors, with U_H the induced
    velocity in hover; here for five-inch propellers on 25 cm.
    """
    radius, size, thrust = 0.0635, 0.25, 7.0
    induced = np.sqrt(thrust / (2 * 1.2 * 4 * np.pi * radius**2))
    measured = 10.11 * induced / (depth + 5.817)
    got = speed_at(depth * size, 0.0, thrust=thrust, size=size)
    assert got == pytest.approx(measured, rel=0.05)


def test_half_of_the_speed_is_left_at_the_half_width():
    """The jet would be narrower or wider than its stated half width."""
    width = half_width(JET, 1.0, 0.5)
    assert width == pytest.approx(0.0767 * (1.0 + 5.817 * 0.5))
    assert speed_at(1.0, width) == pytest.approx(speed_at(1.0, 0.0) / 2, rel=1e-12)


def test_nothing_blows_above_or_far_below():
    """A vehicle would feel vehicles below it, or those too far above."""
    assert speed_at(-0.1, 0.0) == 0.0
    assert speed_at(40 * 0.5 + 0.1, 0.0) == 0.0
    assert speed_at(40 * 0.5 - 0.1, 0.0) > 0.0


def test_it_comes_in_without_a_jump():
    """The force would jump when a vehicle beside another one descends below it."""
    speeds = np.array([speed_at(depth, 0.6) for depth in np.linspace(-0.1, 0.6, 701)])
    assert np.abs(np.diff(speeds)).max() < 0.01
    assert speeds[100] == 0.0


RATE = 1e5
"""Steps so short [Hz] that their means are the values of an instant."""


def two(*, reverse=False, upper=None, lower=None, downwash=JET, speed=650.0, offset=0.0):
    """Return a simulation with an Iris at full height and another one a metre below it, after one step."""
    sim = Simulation("flat", rate=RATE)
    x, y, z = HIGH
    above = Multirotor(
        PLAIN_IRIS,
        name="upper",
        position=HIGH,
        motor=IdealMotor(),
        downwash=downwash,
        backends=[Constant(speed)],
        sensors={},
        **(upper or {}),
    )
    below = Multirotor(
        PLAIN_IRIS,
        name="lower",
        position=(x + offset, y, z - 1.0),
        motor=IdealMotor(),
        backends=[Constant(speed)],
        sensors={},
        **(lower or {}),
    )
    for vehicle in (below, above) if reverse else (above, below):
        sim.add(vehicle)
    sim.step()
    for vehicle in (above, below):
        vehicle.place(vehicle.start.position)
    sim.advance()
    return sim, above, below


def test_the_lower_vehicle_feels_the_jet_of_the_upper_one():
    """The jet's position, thrust, width or density would not be those of the upper vehicle."""
    sim, above, below = two()
    with sim:
        middle = above.rotor_centers.mean(axis=1)
        density = sim.environment.air_density(np.array([HIGH]))[0]
        size = max(np.linalg.norm(a - b) for a in above.layout.position for b in above.layout.position)
        for k, place in enumerate(below.rotor_centers[0]):
            away = place - middle[0]
            expected = speed_at(-away[2], np.hypot(*away[:2]), thrust=IRIS_LIFT, density=density, size=size)
            np.testing.assert_allclose(below.wake[0, k], [0.0, 0.0, -expected], rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(above.wake, 0.0)
        assert 4.0 < -below.wake[0, 0, 2] < 9.0


def test_the_jet_pushes_by_drag_and_takes_thrust():
    """The jet would not count as inflow of each rotor and as wind on the airframe."""
    curve = PropellerThrust(
        diameter=0.254,
        advance_ratio=(-1.0, 0.0, 0.64),
        thrust_coefficient=(0.28, 0.11, 0.001),
        power_coefficient=(0.05, 0.045, 0.02),
    )
    drag = QuadraticDrag(areas=(0.02, 0.02, 0.05))
    sim, _, below = two(lower={"thrust_curve": curve, "drag": drag}, offset=0.2)
    with sim:
        density = sim.environment.air_density(below.state.position)[:, None]
        wind = below.wake[0, :, 2]
        # In a downward wind a rotor climbs through the air.
        thrust, _ = curve.thrust(np.full((1, 4), 650.0), -wind[None], density)
        assert below.rotor_force[0, 2] == pytest.approx(thrust.sum(), rel=2e-6)
        still, _ = curve.thrust(np.full((1, 4), 650.0), np.zeros((1, 4)), density)
        assert thrust.sum() < 0.8 * still.sum()
        push = -0.5 * density[0, 0] * 0.05 * wind.mean() ** 2
        np.testing.assert_allclose(below.drag_force[0], [0.0, 0.0, push], atol=2e-5)
        # Off to the east its rear rotors lose more: it is turned nose up, back towards the axis.
        expected = -below.layout.position[:, 0] @ thrust[0]
        assert below.rotor_torque[0, 1] == pytest.approx(expected, rel=1e-4)
        assert below.rotor_torque[0, 1] < -0.01


def test_the_order_of_the_vehicles_does_not_matter():
    """The order of vehicles would decide whether a jet is of this step or the previous one."""
    wakes = []
    for reverse in (False, True):
        sim, _, below = two(reverse=reverse)
        with sim:
            sim.step(5)
            wakes.append((below.wake.copy(), below.state.position.copy()))
    for one, other in zip(*wakes, strict=True):
        np.testing.assert_array_equal(one, other)


def test_copies_blow_on_each_other_but_not_on_themselves():
    """A copy would not feel the copies above it, or feel its own jet."""
    x, y, z = HIGH
    places = [(x, y, z), (x, y, z - 1.0), (x + 30.0, y, z)]
    with Simulation("flat", rate=RATE) as sim:
        stack = Multirotor(
            PLAIN_IRIS,
            count=3,
            position=places,
            motor=IdealMotor(),
            downwash=JET,
            backends=[Constant(650.0)],
            sensors={},
        )
        sim.add(stack)
        sim.step()
        stack.place(places)
        sim.advance()
        single, _, below = two()
        np.testing.assert_allclose(stack.wake[1], below.wake[0], rtol=1e-6)
        np.testing.assert_allclose(stack.wake[[0, 2]], 0.0, atol=1e-12)
        single.close()


def test_a_fast_vehicle_leaves_its_wake_behind():
    """A fast vehicle above would have the jet of a hovering one."""
    sim, above, below = two()
    with sim:
        hovering = below.wake.copy()
        density = sim.environment.air_density(np.array([HIGH]))[0]
        induced = np.sqrt(IRIS_LIFT / (2 * density * 4 * np.pi * 0.127**2))
        above.place(HIGH, velocity=(0.0, induced, 0.0))
        sim.advance()
        np.testing.assert_allclose(below.wake, hovering / 2, rtol=1e-6, atol=1e-12)


def test_it_is_off_unless_asked_for():
    """Downwash would act in flights that do not enable it."""
    sim, _, below = two(downwash=None)
    with sim:
        assert not below.wake.any()
        assert Multirotor("iris").downwash is None


def test_alone_it_costs_nothing():
    """Jets would be calculated at every step although no other vehicle is there."""
    with Simulation("flat") as sim:
        alone = sim.add(Multirotor(PLAIN_IRIS, position=HIGH, downwash=JET))
        sim.step()
        assert not alone.wake.any()


def test_a_single_rotor_blows_too():
    """The jet of a single rotor would have zero width and a speed of NaN."""
    one = {
        "name": "one",
        "mass": 0.3,
        "inertia": [0.001, 0.001, 0.001],
        "rotors": [{"position": [0, 0, 0.1], "direction": "ccw"}],
        "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
        "sensors": {},
    }
    with Simulation("flat") as sim:
        sim.add(Multirotor(one, position=HIGH, downwash=JET, backends=[Constant(600.0)]))
        below = sim.add(Multirotor(PLAIN_IRIS, position=(0.0, 0.0, HIGH[2] - 1.0), sensors={}))
        sim.step(2)
        assert 1.0 < -below.wake[0, :, 2].mean() < 10.0


def test_a_wake_ends_with_its_vehicle():
    """The jet of a removed vehicle would remain."""
    sim, above, below = two()
    with sim:
        sim.remove(above)
        sim.step()
        assert not below.wake.any()


def test_a_file_gives_it():
    """The section of a vehicle file, or its parameters, would be ignored."""
    iris = Multirotor(PLAIN_IRIS).spec.model_dump(exclude_unset=True)
    named = Multirotor(iris | {"downwash": {"model": "turbulent_jet", "spreading_rate": 0.1}})
    assert named.downwash == Downwash(spreading_rate=0.1)
    with pytest.raises(ConfigError, match=r"downwash\.reach = -1"):
        Multirotor(iris | {"downwash": {"model": "turbulent_jet", "reach": -1}})
    for field in ("spreading_rate", "virtual_origin", "reach"):
        with pytest.raises(ConfigError, match=f"^{field} = 0.0: must be above 0"):
            Downwash(**{field: 0.0})


ROTORS = [np.random.default_rng(5).normal(size=(r, 3)) * 0.3 for r in (4, 6)]


def close_together(count=9):
    """Return vehicles of two kinds with four and six rotors, and columns of their rows close together."""
    rng = np.random.default_rng(2)
    vehicles = [
        SimpleNamespace(
            count=1,
            rotor_count=len(ROTORS[k % 2]),
            layout=RotorLayout(ROTORS[k % 2], np.array([[0.0, 0.0, 1.0]] * len(ROTORS[k % 2])), np.ones(6)),
            spec=SimpleNamespace(propeller=SimpleNamespace(diameter=0.25)),
            downwash=JETS[k % 2],
            parameters=[SimpleNamespace(downwash=JETS[k % 2])],
        )
        for k in range(count)
    ]
    columns = own_columns(count, 6, 6)
    columns["position"][...] = rng.uniform(-3.0, 3.0, (count, 3))
    orientation = rng.normal(size=(count, 4)) * [0.2, 0.2, 0.5, 1.0]
    columns["orientation"][...] = orientation / np.sqrt((orientation**2).sum(axis=1, keepdims=True))
    columns["rotor_force"][...] = rng.normal(size=(count, 3)) + np.array([0.0, 0.0, 12.0])
    columns["rotor_force"][3::5] = 0.0
    columns["velocity"][...], columns["wind"][...] = rng.normal(size=(2, count, 3))
    columns["air_density"][...] = rng.uniform(0.9, 1.2, count)
    return vehicles, columns


JETS = JET, Downwash(spreading_rate=0.1, reach=20.0)


def jets_in_python(vehicles, columns):
    """Return the jets of all vehicles."""
    made = []
    for k, vehicle in enumerate(vehicles):
        place, radius = ROTORS[k % 2], np.sqrt(vehicle.rotor_count) * 0.125
        columns |= {"middle": np.tile(place.mean(axis=0), (9, 1)), "disc_radius": np.full(9, radius)}
        made.append(formed_jet(values_of(JetSource, columns, k)))
    return made


def test_python_and_compiled_code_give_the_same_bits():
    """Debugging in Python would show other wakes than compiled code."""
    vehicles, columns = close_together()
    wakes = Wakes(vehicles, columns)
    wakes.update()
    jets = jets_in_python(vehicles, {**columns})
    for k, vehicle in enumerate(vehicles):
        none = [(0.0, 0.0, 0.0)] * vehicle.rotor_count
        given = {
            **columns,
            "number": np.arange(9.0),
            "rotor_position": {k: ROTORS[k % 2]},
            "wake": {k: np.array(none)},
        }
        target = values_of(Blown, given, k, vehicle.rotor_count)
        for other, (jet, source) in enumerate(zip(jets, vehicles, strict=True)):
            law, size = type(source.downwash).law, source.layout.span
            target = replace(target, wake=blown(law, source.downwash, jet, float(other), size, target))
        expected = np.array([[w[n] for n in range(3)] for w in target.wake])
        np.testing.assert_array_equal(wakes.wake[k, : vehicle.rotor_count], expected)
    assert sum(jet.momentum > 0 for jet in jets) == 7


def test_wakes_are_sums_of_the_jets_of_the_others():
    """A jet would be omitted, counted twice, or act on its own vehicle."""
    vehicles, columns = close_together()
    wakes = Wakes(vehicles, columns)
    wakes.update()
    jets = jets_in_python(vehicles, {**columns})
    rotation = matrix_from_quaternion(columns["orientation"])
    for i, vehicle in enumerate(vehicles):
        places = columns["position"][i] + ROTORS[i % 2] @ rotation[i].T
        expected = np.zeros((vehicle.rotor_count, 3))
        for j, (jet, source) in enumerate(zip(jets, vehicles, strict=True)):
            center, axis = (np.array([v[n] for n in range(3)]) for v in (jet.center, jet.axis))
            if j != i:
                expected += source.downwash.velocity(
                    (places - center)[None],
                    axis=axis[None],
                    momentum=np.array([jet.momentum]),
                    size=source.layout.span,
                )[0]
        np.testing.assert_allclose(wakes.wake[i, : vehicle.rotor_count], expected, rtol=1e-12, atol=1e-15)
    assert np.abs(wakes.wake).max() > 1.0


def uniform_jet(p: "UniformJet", place: Vec3, axis: Vec3, momentum: Real, size: Real) -> Vec3:
    """Return the same velocity everywhere below the rotors."""
    if dot(place, axis) <= 0.0:
        return Vec3(0.0, 0.0, 0.0)
    return axis * (p.gain * sqrt(momentum) / size)


@dataclass(frozen=True, kw_only=True)
class UniformJet(Downwash):
    law = staticmethod(uniform_jet)
    gain: float = 0.5


@dataclass(frozen=True, kw_only=True)
class HalvedInNumPy(Downwash):
    def velocity(self, place, *, axis, momentum, size):
        return 0.5 * super().velocity(place, axis=axis, momentum=momentum, size=size)


def test_a_downwash_with_a_custom_law_is_used():
    """A custom jet would be ignored, or replaced by the shipped one."""
    sim, above, below = two(downwash=UniformJet())
    with sim:
        density = sim.environment.air_density(np.array([HIGH]))[0]
        size = max(np.linalg.norm(a - b) for a in above.layout.position for b in above.layout.position)
        expected = 0.5 * np.sqrt(IRIS_LIFT / density) / size
        np.testing.assert_allclose(below.wake[0], [[0.0, 0.0, -expected]] * 4, rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(above.wake, 0.0)


def test_a_downwash_in_numpy_is_used():
    """A custom jet in NumPy would be ignored, or replaced by the shipped one."""
    sim, above, below = two()
    shipped = below.wake.copy()
    sim.close()
    sim, above, below = two(downwash=HalvedInNumPy())
    with sim:
        np.testing.assert_allclose(below.wake, shipped / 2, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(above.wake, 0.0)
