"""Tests of the wind at each rotor and of the turbulence of each copy in flight."""

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion, rotate
from pegasus.config.files import load_world
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import Downwash, PropellerThrust
from pegasus.environment import ConstantWind, LogWind, Thermals, Wind
from pegasus.sensors import Airspeed

SHEAR = {"model": "log", "mean_velocity": [6.0, 2.0, 0.0], "turning": 0.05}
DRYDEN = {"model": "dryden", "mean_velocity": [6.0, 0.0, 0.0]}


def simulation(wind: dict, seed: int = 1) -> Simulation:
    """Return a flat world with a wind."""
    return Simulation(load_world("flat")[0].model_copy(update={"wind": wind}), seed=seed)


def holding(model: str = "iris", **options: object) -> Multirotor:
    """Return a vehicle that holds its height."""
    hold = GeometricController(trajectories.hold(height=4.0))
    return Multirotor(model, **{"position": (0, 0, 4.0), "backends": [hold], **options})  # type: ignore[arg-type]


def turned(quaternion: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return points of the body frame in the world's axes."""
    return rotate(np.repeat(matrix_from_quaternion(quaternion[None]), len(points), axis=0), points)


def flight(wind: dict, steps: int = 120, others: bool = False, **options: object) -> np.ndarray:
    """Return the states of the first copy of a vehicle over a flight."""
    with simulation(wind) as sim:
        if others:
            sim.add(holding("typhoon_h", name="other", position=(30, 0, 4.0)))
        vehicle = sim.add(holding(name="watched", **options))
        states = []
        for _ in range(steps):
            sim.step()
            state = vehicle.state
            states.append(
                np.concatenate([state.position[0], state.orientation[0], state.angular_velocity[0]])
            )
        return np.array(states)


def test_each_rotor_feels_the_wind_at_its_place() -> None:
    """A rotor would feel the wind at the vehicle, at another rotor, or in the body frame."""
    with simulation(SHEAR) as sim:
        vehicle = sim.add(holding("typhoon_h", count=3, position=[(0, 0, 2), (9, 0, 4), (0, 9, 40)]))
        sim.step(50)
        position, orientation = vehicle.state.position.copy(), vehicle.state.orientation.copy()
        t = sim.time
        sim.step()
        wind = sim.environment.wind
        for copy in range(3):
            arms = turned(orientation[copy], vehicle.layout.position)
            here = wind.velocity(position[copy : copy + 1], t)
            np.testing.assert_allclose(vehicle.columns["wind"][copy], here[0], rtol=1e-13)
            expected = wind.velocity(position[copy] + arms, t) - here
            np.testing.assert_allclose(vehicle.columns["wake"][copy], expected, atol=1e-12)
        assert np.abs(vehicle.columns["wake"]).max() > 1e-3


class Rising(Wind):
    """Air that rises to the left, given in NumPy."""

    varies: ClassVar[bool] = True

    def velocity(self, position: np.ndarray, t: float) -> np.ndarray:
        """Return a velocity that grows along y and with time."""
        return position[:, 1:2] * np.array([0.0, 0.0, 0.2]) + np.array([t, 0.0, 0.0])


def test_each_rotor_feels_a_wind_in_numpy() -> None:
    """Rotors would feel the wind at the vehicle, or none, where a wind has no law."""
    with simulation({"model": "none"}) as sim:
        vehicle = sim.add(holding("typhoon_h", position=(0.0, 3.0, 4.0)))
        sim.environment.wind = Rising()
        sim.step(30)
        position, rotation, t = vehicle.state.position.copy(), vehicle.state.rotation[0].copy(), sim.time
        sim.step()
        arms = vehicle.layout.position @ rotation.T
        np.testing.assert_allclose(vehicle.columns["wind"], [[t, 0.0, 0.2 * position[0, 1]]], rtol=1e-12)
        np.testing.assert_allclose(vehicle.wake[0, :, 2], 0.2 * arms[:, 1], atol=1e-12)
        assert np.abs(vehicle.wake[0, :, :2]).max() == 0.0


def test_updraft_at_one_side_rolls_the_vehicle() -> None:
    """The wind at a rotor would have no effect, or the wrong sign: more air from below is more thrust."""
    with simulation({"model": "none"}) as sim:
        curve = PropellerThrust(
            diameter=0.24,
            thrust_coefficient=(0.2, 0.1, 0.0),
            power_coefficient=(0.04, 0.04, 0.04),
            advance_ratio=(-1.0, 0.0, 1.0),
        )
        vehicle = sim.add(Multirotor("pegasus", position=(0, 0, 100.0), thrust_curve=curve))
        sim.environment.wind = Thermals(centers=[(0.0, 30.0)], convective_velocity=5.0, mixing_height=1000.0)
        vehicle.columns["rotor_speed"][...] = 500.0
        sim.step(2)
        # The left side (+y) is nearer to the core: it is lifted, a positive roll of FLU.
        assert vehicle.state.angular_velocity[0, 0] > 1e-4


def test_a_field_must_cover_the_world(tmp_path: Path) -> None:
    """A vehicle would fly out of a field without a word, or a world file not be able to name a field."""
    axis, none = np.array([-20.0, 20.0]), np.zeros((2, 2, 2))
    np.savez(tmp_path / "small.npz", x=axis, y=axis, z=axis, u=none + 3.0, v=none, w=none)
    wind = {"model": "field", "file": str(tmp_path / "small.npz")}
    courtyard = load_world("courtyard")[0]
    with pytest.raises(ConfigError, match=r"wind.file = .*does not cover the world: x of the field"):
        Simulation(courtyard.model_copy(update={"wind": wind}))
    with Simulation(courtyard.model_copy(update={"wind": wind | {"outside": "calm"}})) as sim:
        vehicle = sim.add(holding())
        sim.step(3)
        np.testing.assert_allclose(vehicle.columns["wind"], [[3.0, 0.0, 0.0]])


def test_uniform_winds_cost_nothing() -> None:
    """A wind that is the same everywhere would switch on what only winds that vary need, or change bits."""
    constant = flight({"model": "constant", "mean_velocity": [6.0, 1.0, 0.0]})
    parts = [{"mean_velocity": [6.0, 1.0, 0.0]}, {"mean_velocity": [0.0, 0.0, 0.0]}]
    np.testing.assert_array_equal(flight({"model": "sum", "parts": parts}), constant)
    with simulation({"model": "gusts", "mean_velocity": [3.0, 0.0, 0.0]}) as sim:
        vehicle = sim.add(holding())
        sim.step(5)
        np.testing.assert_array_equal(vehicle.columns["wake"], 0.0)


def test_change_of_wind_in_flight() -> None:
    """A wind that varied would leave its differences at the rotors when a uniform one is set."""
    with simulation(SHEAR) as sim:
        vehicle = sim.add(holding())
        sim.step(5)
        sim.environment.wind = ConstantWind((1.0, 0.0, 0.0))
        sim.step()
        sim.environment.wind = LogWind(mean_velocity=(1.0, 0.0, 0.0))
        sim.step()
        assert np.abs(vehicle.columns["wake"]).max() < 1e-2


def test_jets_and_wind_are_added() -> None:
    """The jet of a vehicle above would be lost where the wind varies, or be added up over the steps."""
    wakes = []
    for model in ("none", "log"):
        wind = {"model": model} if model == "none" else SHEAR | {"mean_velocity": [1e-9, 0.0, 0.0]}
        with simulation(wind) as sim:
            hold = GeometricController(trajectories.hold(height=6.0))
            sim.add(
                holding("pegasus", name="upper", position=(0, 0, 6.0), downwash=Downwash(), backends=[hold])
            )
            lower = sim.add(holding("pegasus", name="lower", position=(0, 0, 4.0)))
            sim.step(150)
            wakes.append(lower.columns["wake"].copy())
    assert wakes[0][..., 2].min() < -1.0
    np.testing.assert_allclose(wakes[1], wakes[0], atol=1e-6)


@pytest.mark.parametrize("model", ["dryden", "von_karman"])
def test_turbulence_depends_on_seed_and_vehicle_only(model: str) -> None:
    """Turbulence would change with other vehicles, with the number of copies, or not at all with the seed."""
    wind = DRYDEN | {"model": model}
    alone = flight(wind)
    np.testing.assert_array_equal(flight(wind, others=True), alone)
    many = [(0.0, 0.0, 4.0), *((9.0 * k, 9.0, 4.0) for k in range(1, 8))]
    np.testing.assert_array_equal(flight(wind, count=8, position=many), alone)
    calm = flight({"model": "constant", "mean_velocity": [6.0, 0.0, 0.0]})
    assert np.abs(alone - calm).max() > 1e-3


def test_copies_meet_turbulence_of_their_own_and_a_reset_repeats_it() -> None:
    """All copies would be shaken alike, or a run after a reset would differ from the first."""
    with simulation(DRYDEN) as sim:
        vehicle = sim.add(holding(count=4))
        runs = []
        for _ in range(2):
            sim.step(100)
            runs.append(vehicle.columns["gust_velocity"].copy())
            sim.reset()
        np.testing.assert_array_equal(runs[0], runs[1])
        assert np.ptp(runs[0], axis=0).min() > 0.1


def test_a_vehicle_that_is_added_does_not_disturb_the_turbulence_of_others() -> None:
    """The air of a vehicle would jump when another one is added."""
    finals = []
    for joined in (False, True):
        with simulation(DRYDEN) as sim:
            vehicle = sim.add(holding(name="watched"))
            sim.step(40)
            if joined:
                sim.add(holding("typhoon_h", name="other", position=(30, 0, 4.0)))
            sim.step(40)
            finals.append(vehicle.columns["gust_velocity"].copy())
    np.testing.assert_array_equal(finals[0], finals[1])


def test_turbulence_needs_no_wind_of_each_rotor() -> None:
    """The step would add the turning of the air to a wake of zeros, rotor by rotor."""
    with simulation(DRYDEN) as sim:
        vehicle = sim.add(holding(heading=0.7))
        sim.step(30)
        assert np.abs(vehicle.columns["gust_rate"][0]).min() > 1e-4
        sim.environment.wind = ConstantWind((1.0, 0.0, 0.0))
        sim.step()
        assert vehicle.columns["gust_step"][0] == 0


def test_airspeed_sensor_feels_turbulence() -> None:
    """A pitot tube would measure the mean wind only; its gust is that of the step before."""
    pitot = Airspeed(rate_hz=250.0, noise_density=0.0, drift_sigma=0.0)
    with simulation(DRYDEN) as sim:
        vehicle = sim.add(holding(extra_sensors={"pitot": pitot}))
        sim.step(20)
        gust, velocity = vehicle.columns["gust_velocity"][0].copy(), vehicle.state.velocity[0].copy()
        forward = vehicle.state.rotation[0, :, 0].copy()
        density = sim.environment.air_density(vehicle.state.position)[0]
        sim.step()
        speed = forward @ (velocity - np.array([6.0, 0.0, 0.0]) - gust)
        pressure = pitot.reading(sim.time).differential_pressure[0]
        assert pressure == pytest.approx(0.5 * density * speed * abs(speed), rel=1e-6)
        assert abs(forward @ gust) > 0.05
