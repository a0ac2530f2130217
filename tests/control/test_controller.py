"""Tests of the base class of controllers and its parameters."""

from dataclasses import dataclass

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.base.frames import cross
from pegasus.config.files import load_world
from pegasus.contracts.backend import BACKENDS, Backend
from pegasus.contracts.state import VehicleState
from pegasus.control import (
    CascadedPIDController,
    Controller,
    GeometricController,
    trajectories,
)
from tests.flyers import PLAIN_IRIS

CONTROLLERS = sorted(name for name, kind in BACKENDS.items() if issubclass(kind, Controller))
HOVER_SPEED = 1000.0
"""Of the rotors of `airframe` [rad/s]."""


@dataclass(eq=False)
class Own(Controller):
    """A user's own controller: near hover, in a dozen lines."""

    stiffness: float = 3.0

    def wrench(self, state, reference, dt):
        wanted = self.stiffness * (reference.position - state.position) - 3.0 * state.velocity - self.gravity
        up = state.rotation[:, :, 2]
        force = np.zeros((self.count, 3))
        force[:, 2] = self.mass * wanted[:, 2]
        lean = (np.swapaxes(state.rotation, 1, 2) @ cross(up, wanted)[..., None])[..., 0]
        return force, (12.0 * lean - 15.0 * state.angular_velocity) @ self.inertia


def started(vehicles, controller, **vehicle):
    stand_in = vehicles.StandIn(**vehicle)
    controller.bind(stand_in)
    controller.start()
    return stand_in, controller


def test_a_users_own_controller_flies(vehicles):
    """If this fails, the base does not carry an own control law to the rotors."""
    vehicle, own = started(vehicles, Own(trajectories.hold(position=(1.0, -1.0, 2.0))))
    plant = vehicles.Plant(vehicle, position=(0, 0, 0.0))
    plant.fly(own, 10.0)
    np.testing.assert_allclose(plant.state.position, [[1.0, -1.0, 2.0]], atol=0.01)


class Undecorated(Controller):
    gain: float = 1.0

    def wrench(self, state, reference, dt):
        return np.zeros(3)


class WithoutBase(Controller):
    def __init__(self):
        self.gain = 1.0


class OfWrongShape(Controller):
    def wrench(self, state, reference, dt):
        return np.zeros((self.count, 1)), np.zeros((self.count, 3))


def test_slips_in_an_own_controller_are_named(vehicles):
    """A controller without @dataclass, or with a wrench of a wrong shape, would end in a traceback."""
    path = trajectories.hold(height=1.0)
    with pytest.raises(ConfigError, match=r"^Undecorated.gain: is not a parameter: .*@dataclass\(eq=False\)"):
        Undecorated(path, gain=2.0)
    with pytest.raises(ConfigError, match=r"^WithoutBase: has an __init__ .*@dataclass\(eq=False\) above"):
        started(vehicles, WithoutBase())
    for kind, shapes in ((Undecorated, r"\[\(3,\)\]"), (OfWrongShape, r"\[\(2, 1\), \(2, 3\)\]")):
        vehicle, own = started(vehicles, kind(path), count=2)
        plant = vehicles.Plant(vehicle, position=(0, 0, 0.0))
        with pytest.raises(ConfigError, match=rf"{kind.__name__}.wrench = {shapes}: must return a force"):
            plant.fly(own, 2.0)


def test_an_own_controller_may_command_the_rotors_itself(vehicles):
    """If this fails, a learnt policy that puts out rotor speeds has to go through the allocation."""

    class Constant(Controller):
        def rotor_speed(self, state, reference, dt):
            return np.full((self.count, 4), 321.0)

    _, constant = started(vehicles, Constant(trajectories.hold(height=2.0), spin_up=0.0), count=2)
    state = VehicleState.at_rest(2, 4)
    constant.publish(0.0, state, {})
    np.testing.assert_array_equal(constant.command(0.0), np.full((2, 4), 321.0))


def test_idles_before_take_off_and_rests_after_landing(vehicles):
    """If this fails, rotors stand still or roar on the ground."""
    trajectory = trajectories.sequence(trajectories.takeoff(1.0), trajectories.land())
    vehicle, controller = started(vehicles, GeometricController(trajectory, idle_ratio=0.2))
    plant = vehicles.Plant(vehicle, position=(0, 0, 0.05))
    hover = np.sqrt(1.5 * 9.80665 / 4 / 8.54858e-6)
    controller.publish(0.0, plant.state, {})
    np.testing.assert_allclose(controller.command(0.0), 0.2 * hover)
    times, states, references = plant.fly(controller, controller.mission.duration + 2.0)
    assert controller.mission.finished
    np.testing.assert_array_equal(controller.command(times[-1]), 0.0)
    assert plant.state.position[0, 2] == pytest.approx(0.0, abs=0.02)
    assert {r.segment for r in references} == {"idle", "takeoff", "land"}
    flying = [(s, r) for s, r in zip(states, references, strict=True) if not r.idle[0]]
    assert max(np.linalg.norm(s.position - r.position) for s, r in flying) < 0.08
    assert max(-s.velocity[0, 2] for s, _ in flying) < 0.75


def test_starts_anew(vehicles):
    """If this fails, a second run after a reset differs from the first."""
    vehicle, controller = started(vehicles, GeometricController(trajectories.circle(2.0, height=1.0)))
    first, second = vehicles.Plant(vehicle), vehicles.Plant(vehicle)
    first.fly(controller, 4.0)
    controller.start()
    second.fly(controller, 4.0)
    np.testing.assert_array_equal(first.state.position, second.state.position)
    np.testing.assert_array_equal(first.state.rotor_speed, second.state.rotor_speed)


@pytest.mark.parametrize("model", CONTROLLERS)
def test_a_fleet_flies_as_its_vehicles_do_alone(vehicles, model):
    """If this fails, vehicles of a fleet influence each other."""
    starts = np.array([[0, 0, 0.0], [-7, 3, 0.0]])

    def flight(rows):
        controller = BACKENDS[model](trajectories.circle(2.0, height=1.0, speed=3.0))
        vehicle, _ = started(vehicles, controller, count=len(rows))
        plant = vehicles.Plant(vehicle, position=starts[rows], wind_force=(0.3, 0.0, 0.0))
        plant.fly(controller, 4.0)
        return plant.state

    together = flight([0, 1])
    for row in range(2):
        alone = flight([row])
        np.testing.assert_allclose(together.position[row], alone.position[0], atol=1e-9)
        np.testing.assert_allclose(together.rotor_speed[row], alone.rotor_speed[0], atol=1e-6)


@pytest.mark.parametrize("model", CONTROLLERS)
def test_built_from_a_scenario_file(model):
    """If this fails, the controllers of a scenario file do not load."""
    spec = {
        "model": model,
        "trajectory": [{"takeoff": {"height": 3.0}}, {"land": {}}],
        "velocity_gain": [4, 4, 5],
        "relative": False,
    }
    controller = build(Backend, BACKENDS, spec, field="vehicles.0.backends.0")
    assert controller.drives
    assert isinstance(controller, BACKENDS[model])
    assert controller.velocity_gain == (4.0, 4.0, 5.0)
    assert controller.mission.duration > 5.0


FIELD = "vehicles.0.backends.0"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, f"{FIELD}.trajectory: required field is missing"),
        (
            {"trajectory": [{"circle": {"radius": -1}}]},
            f"{FIELD}.trajectory.0.circle.radius = -1.0: must be above 0 m",
        ),
        ({"trajectory": ["land"], "spin_up": -1}, f"{FIELD}.spin_up = -1.0: must not be negative"),
        (
            {"trajectory": ["land"], "idle_ratio": 1.5},
            f"{FIELD}.idle_ratio = 1.5: must be above 0 and below 1",
        ),
        (
            {"trajectory": ["land"], "position_gain": [1, 0, 1]},
            f"{FIELD}.position_gain = (1.0, 0.0, 1.0): all three must be above 0",
        ),
        (
            {"trajectory": ["land"], "integral_limit": -1},
            f"{FIELD}.integral_limit = -1.0: must not be negative",
        ),
    ],
)
@pytest.mark.parametrize("model", CONTROLLERS)
def test_bad_parameters_are_named(model, spec, message):
    """If this fails, a mistake in a scenario file shows up in the air."""
    with pytest.raises(ConfigError) as caught:
        build(Backend, BACKENDS, {"model": model, **spec}, field=FIELD)
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", [GeometricController, CascadedPIDController])
@pytest.mark.parametrize("gains", [6.0, (6.0, 6.0), (6.0, np.nan, 6.0), "666"])
def test_gains_are_three_numbers(kind, gains):
    """If this fails, invalid gains in a script only fail during a flight, or with an unrelated error."""
    with pytest.raises(ConfigError, match=r"^position_gain.*: must hold 3 finite numbers"):
        kind(trajectories.hold(height=1.0), position_gain=gains)


def test_gains_may_be_an_array():
    """If this fails, gains in a NumPy array are rejected."""
    GeometricController(trajectories.hold(height=1.0), position_gain=np.array([6.0, 6.0, 8.0]))


def test_refuses_a_vehicle_that_is_too_heavy(vehicles):
    """If this fails, a vehicle that cannot lift itself stays on the ground without an error."""
    with pytest.raises(
        ConfigError, match=r"^motor.max_speed = 1100.0: the rotors lift 41.38 N, the vehicle weighs"
    ):
        GeometricController(trajectories.hold(height=1.0)).bind(vehicles.StandIn(mass=4.3))


@pytest.mark.parametrize("kind", [GeometricController, CascadedPIDController])
def test_refuses_a_vehicle_that_could_only_just_lift_itself(kind):
    """If this fails, a vehicle stands on the ground for ever: a tenth of the thrust is kept back."""
    lift = 4 * 8.54858e-6 * 1100.0**2
    spec = Multirotor(PLAIN_IRIS).spec.model_dump(exclude_unset=True)
    for ratio, flies in ((1.08, False), (1.14, True)):
        vehicle = Multirotor(
            spec | {"mass": lift / 9.80665 / ratio},
            sensors={},
            backends=[kind(trajectories.takeoff(height=1.0, acceleration=0.1))],
        )
        with Simulation("flat") as simulation:
            if flies:
                simulation.add(vehicle)
                simulation.run(8.0)
                assert vehicle.state.position[0, 2] > 0.5
                continue
            with pytest.raises(
                ConfigError, match=r"lift 41.38 N, 90 % of which are available for acceleration, the vehicle"
            ):
                simulation.add(vehicle)


def test_refuses_a_world_without_gravity():
    """If this fails, a controller divides by a weight of zero, or pushes the vehicle away for ever."""
    world = load_world("flat")[0].model_copy(update={"gravity": {"model": "uniform", "acceleration": 0.0}})
    with (
        Simulation(world) as simulation,
        pytest.raises(ConfigError, match=r"^gravity = 0.0: must be above 0"),
    ):
        simulation.add(Multirotor("iris", backends=[GeometricController(trajectories.hold(height=2.0))]))


def airframe(name, mass, inertia, *, arm, rotor_count, lag):
    """Return a vehicle whose rotors lift twice its weight."""
    return {
        "name": name,
        "mass": mass,
        "inertia": inertia,
        "rotors": {"count": rotor_count, "radius": arm, "height": 0.0},
        "body": {"size": [arm, arm, 0.3 * arm], "arm_diameter": 0.1 * arm, "leg_height": 0.3 * arm},
        "propeller": {"diameter": 0.6 * arm},
        "motor": {
            "model": "first_order",
            "time_constant_up": lag,
            "time_constant_down": lag,
            "max_speed": HOVER_SPEED * 2**0.5,
        },
        "thrust_curve": {
            "model": "quadratic",
            "thrust_constant": mass * 9.80665 / rotor_count / HOVER_SPEED**2,
            "moment_ratio": 0.13 * arm,
        },
        "sensors": {},
    }


@pytest.mark.parametrize(("kind", "bound"), [(GeometricController, 0.03), (CascadedPIDController, 0.12)])
def test_default_gains_fly_every_size(kind, bound):
    """If this fails, gains depend on mass, inertia or the motors, and each new vehicle must be tuned."""
    frames = [
        airframe(f"{name}_{1e3 * lag:.0f}", *figures, lag=lag, **rotors)
        for name, figures, rotors in (
            # Bitcraze's Crazyflie 2.1, and a heavy lifter.
            ("crazyflie", (0.032, [1.66e-5, 1.66e-5, 2.93e-5]), {"arm": 0.046, "rotor_count": 4}),
            ("octorotor", (15.0, [0.9, 0.9, 1.6]), {"arm": 0.6, "rotor_count": 8}),
        )
        for lag in (0.01, 0.06)
    ]
    flight = trajectories.sequence(
        trajectories.lemniscate(1.5, height=3.0, speed=2.0, acceleration=2.0, laps=0.5),
        trajectories.hold(duration=1.5),
    )
    errors, spins = [], []
    with Simulation("flat") as simulation:
        added = [
            simulation.add(
                Multirotor(frame, backends=[kind(flight, spin_up=0.0)], position=(4.0 * i, 0.0, 3.0))
            )
            for i, frame in enumerate(frames)
        ]
        for _ in simulation.stepping(added[0].backends[0].mission.duration):
            if not errors:
                for vehicle in added:
                    vehicle.columns["rotor_speed"][...] = HOVER_SPEED
            away = [vehicle.state.position[0] - vehicle.reference.position[0] for vehicle in added]
            errors.append(np.sqrt((np.array(away) ** 2).sum(axis=1)))
            spins.append([np.abs(vehicle.state.angular_velocity).max() for vehicle in added])
    assert np.max(errors, axis=0) == pytest.approx(0.0, abs=bound)
    # At the end they stand in the air: no attitude swings on, as where motors are too slow for the gains.
    assert np.max(spins[-125:], axis=0) == pytest.approx(0.0, abs=0.02)


def test_a_controller_that_defines_publish_gets_the_readings():
    """If this fails, a custom controller that uses sensors flies blind, as shipped ones need no readings."""
    heard = []

    class Listening(GeometricController):
        def publish(self, t, state, readings):
            heard.append(sorted(readings))
            super().publish(t, state, readings)

    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", backends=[Listening(trajectories.hold(height=2.0))]))
        sim.step(3)
    assert all("imu" in names for names in heard)
    assert len(heard) == 3
    assert not GeometricController.reads_sensors
