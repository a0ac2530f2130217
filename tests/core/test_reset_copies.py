"""Reset of single copies in the middle of a run."""

import math

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends import PX4
from pegasus.contracts.backend import Backend
from pegasus.control import GeometricController, GuidedController, trajectories
from pegasus.dynamics import Battery
from pegasus.recording import Observer
from pegasus.sensors import (
    GPS,
    IMU,
    Airspeed,
    Barometer,
    Gyroscope,
    ImuReading,
    Magnetometer,
    Odometry,
    OpticalFlow,
    Rangefinder,
    Vibration,
)
from tests.flyers import PLAIN_IRIS

PLACES = [[0.0, 0.0, 0.3], [10.0, 0.0, 0.3], [20.0, 0.0, 0.3]]
PATH = [{"takeoff": {"height": 2.0}}, {"hold": {"duration": 1.0}}, {"land": {}}]


def sensors():
    """Return sensors of all kinds: compiled ones, ones with latency, and ones in NumPy."""
    return {
        "imu": IMU(),
        "gps": GPS(latency=0.2),
        "barometer": Barometer(),
        "magnetometer": Magnetometer(),
        "airspeed": Airspeed(),
        "odometry": Odometry(reset_interval=0.2),
        "flow": OpticalFlow(),
        "range": Rangefinder(),
    }


class Hover(Backend):
    """Driver that holds rotor speeds and notes which copies start anew."""

    drives = True

    def __init__(self):
        self.renewed = []

    def bind(self, vehicle):
        self.speed = np.full((vehicle.count, 4), 650.0)

    def command(self, t):
        return self.speed

    def reset_copies(self, rows):
        self.renewed.append(rows.tolist())


def flown(resets, *, backend=None, duration=6.0, carried=None, **vehicle):
    """Return the vehicle after a flight, and all positions and readings of each step.

    Args:
        resets: Functions of the vehicle by step.
        backend: Driving backend; a geometric controller when None.
        duration: Length of the flight [s].
        carried: Sensors; those of all kinds when None.
        vehicle: Further arguments of the vehicle.
    """
    path, readings = [], []
    driver = GeometricController(PATH) if backend is None else backend
    with Simulation("flat", seed=3) as sim:
        carried = sensors() if carried is None else carried
        flying = sim.add(
            Multirotor(PLAIN_IRIS, count=3, position=PLACES, sensors=carried, backends=[driver], **vehicle)
        )
        for k in range(round(duration * 250)):
            if k in resets:
                resets[k](flying)
            sim.step()
            path.append(flying.state.position.copy())
            readings.append({name: vars(reading) for name, reading in flying.readings.items()})
    return flying, np.array(path), readings


def test_the_others_keep_every_bit():
    """A copy would fly otherwise because another one began a new episode."""
    _, calm, before = flown({}, duration=4.6)
    resets = {400: lambda v: v.reset(1), 900: lambda v: v.reset([1], position=(10.0, 3.0, 4.0))}
    _, disturbed, after = flown(resets, duration=4.6)
    np.testing.assert_array_equal(calm[:, [0, 2]], disturbed[:, [0, 2]])
    assert not (calm[:, 1] == disturbed[:, 1]).all()
    for then, now in zip(before, after, strict=True):
        for name in then:
            for field, values in then[name].items():
                if np.ndim(values) and len(values) == 3:
                    np.testing.assert_array_equal(
                        values[[0, 2]], now[name][field][[0, 2]], err_msg=f"{name}.{field}"
                    )


@pytest.mark.parametrize("copy", [0, 1])
def test_the_others_get_their_readings_at_the_same_times(copy):
    """Readings of the others would be missing, or given twice, because another copy began a new episode."""
    others = [k for k in range(3) if k != copy]

    def given(resets):
        found = []
        with Simulation("flat", seed=3) as sim:
            flying = sim.add(
                Multirotor(PLAIN_IRIS, count=3, position=PLACES, sensors=sensors(), backends=[Hover()])
            )
            for k in range(330):
                if k in resets:
                    flying.reset(copy)
                    # A look at the readings must not keep what they are now.
                    assert set(flying.readings) == set(sensors())
                sim.step()
                for name, reading in sorted(flying.new_readings.items()):
                    values = [v[others].tolist() for v in vars(reading).values() if np.ndim(v)]
                    times = [v for v in vars(reading).values() if not np.ndim(v)]
                    found.append((k, name, times, values))
            return found, flying.readings["gps"].altitude[copy]

    calm, _ = given({})
    disturbed, altitude = given({260, 263, 327})
    assert calm == disturbed
    # The first reading of the copy is there at once.
    assert altitude > 0.0


def test_the_others_keep_the_limits_of_their_batteries():
    """Rotors that an empty battery has stopped would turn again, because another copy was charged."""
    pack = Battery(cell_count=4, capacity=0.002, resistance=0.01)
    with Simulation("flat") as sim:
        places = [[0.0, 10.0 * k, 90.0] for k in range(3)]
        flying = sim.add(
            Multirotor("iris", count=3, position=places, sensors={}, backends=[Hover()], battery=pack)
        )
        sim.run(1.5)
        assert flying.battery.empty.all()
        flying.reset(1)
        assert flying.columns["highest_speed"].tolist() == pytest.approx([0.0, 718.0, 0.0], rel=1e-3)
        sim.step(8)
        assert (flying.state.rotor_speed[[0, 2]] < 1.0).all()
        assert (flying.state.rotor_speed[1] > 300.0).all()


@pytest.mark.parametrize("move", [Multirotor.reset, lambda v, k: v.place(PLACES[k], copies=k)])
def test_an_observer_moves_a_copy(move):
    """The step under way would put the copy back to where it was."""

    class Mover(Observer):
        def record(self, simulation):
            if simulation.step_count == 100:
                move(*simulation.vehicles, 1)

    with Simulation("flat", observers=[Mover()]) as sim:
        high = [[10.0 * k, 0.0, 0.3 + 20.0 * (k != 1)] for k in range(3)]
        flying = sim.add(Multirotor("iris", count=3, position=high, sensors={}, backends=[Hover()]))
        flying.place((10.0, 0.0, 50.0), copies=1)
        sim.step(101)
        np.testing.assert_array_equal(flying.state.position[1], PLACES[1])
        np.testing.assert_array_equal(flying.state.velocity[1], 0.0)
        assert flying.state.velocity[0, 2] != 0.0


def test_vibrations_do_not_depend_on_resets_of_others():
    """The vibration of a copy's next episode would change with the number of resets of another one."""

    def phases(resets):
        with Simulation("flat", seed=2) as sim:
            imu = IMU(vibration=Vibration(in_plane=5e-6))
            flying = sim.add(Multirotor("iris", count=3, sensors={"imu": imu}, backends=[Hover()]))
            sim.step(3)
            first = imu.rows["phase"][2].copy()
            for copy in resets:
                flying.reset(copy)
            return first, imu.rows["phase"][2].copy()

    (before, alone), (_, beside) = phases([2]), phases([1, 0, 2])
    np.testing.assert_array_equal(alone, beside)
    assert not (before == alone).any()


def test_a_copy_begins_as_in_the_first_run():
    """Its rotors would turn, its battery be worn, or its controller remember the last episode."""
    resets = {700: lambda v: v.reset(1)}
    vehicle, path, _ = flown(resets, duration=5.6, carried={})
    np.testing.assert_allclose(path[700:1400, 1], path[:700, 1], atol=1e-9)
    assert path[699, 1, 2] > 0.8
    assert not np.allclose(path[1399, 0], path[1399, 1], atol=0.1)
    assert vehicle.state.rotor_speed.shape == (3, 4)


def test_what_a_reset_copy_has_at_once():
    """A part of the last episode would be left."""
    kept = {}

    def reset(vehicle):
        vehicle.disturb(force=(0.0, 0.0, 1.0))
        before = vehicle.battery.charge.copy()
        vehicle.reset([False, True, False], velocity=(1.0, 0.0, 0.0))
        assert vehicle.state.position[1].tolist() == PLACES[1]
        assert vehicle.state.velocity[1].tolist() == [1.0, 0.0, 0.0]
        assert (vehicle.state.rotor_speed[1] == 0.0).all()
        assert (vehicle.state.rotor_speed[0] > 100.0).all()
        assert vehicle.columns["push"][:, 2].tolist() == [1.0, 0.0, 1.0]
        assert vehicle.battery.charge[1] > before[0]
        np.testing.assert_array_equal(vehicle.battery.charge[[0, 2]], before[[0, 2]])
        kept["done"] = vehicle.backends.driver.renewed

    flown(
        {300: reset},
        backend=Hover(),
        battery=Battery(cell_count=4, capacity=3.0, resistance=0.01),
        duration=1.6,
        carried={},
    )
    assert kept["done"] == [[1]]


def test_noise_is_other_in_each_episode_and_the_same_in_each_run():
    """Episodes would repeat the noise of the first one, or a run could not be repeated."""

    def rates(seen):
        return np.array([r["imu"]["angular_velocity"][1] for r in seen])

    def reset(vehicle):
        vehicle.reset(1)

    def seen(resets):
        return flown(resets, backend=Hover(), duration=3.0, carried={"imu": IMU()})[2]

    resets = {250: reset, 500: reset}
    first, again = (seen(resets) for _ in range(2))
    a, b, c = rates(first)[:250], rates(first)[250:500], rates(first)[500:]
    np.testing.assert_array_equal(rates(first), rates(again))
    for one, other in ((a, b), (b, c), (a, c)):
        # The true rates are the same.
        difference = one[:200] - other[:200]
        sigma = math.sqrt(2.0 * 250.0) * Gyroscope().noise_density
        np.testing.assert_allclose(difference.std(axis=0), sigma, rtol=0.25)
        assert np.abs(difference.mean(axis=0)).max() > 2e-3, "turn-on biases"
    only = seen({500: reset})
    # The second episode of a copy is the same, whenever it begins.
    np.testing.assert_allclose(rates(only)[500:740], b[:240], atol=1e-6)


def test_a_simulation_begins_as_before():
    """A reset of the whole simulation would keep the noise of a later episode."""
    with Simulation("flat", seed=1) as sim:
        vehicle = sim.add(Multirotor("iris", count=2, sensors={"imu": IMU()}))
        sim.run(0.2)
        first = vehicle.reading(ImuReading).specific_force.copy()
        vehicle.reset(0)
        sim.stop()
        sim.run(0.2)
        np.testing.assert_array_equal(vehicle.reading(ImuReading).specific_force, first)


def test_a_delayed_sensor_forgets_the_last_episode():
    """GPS would report a place of the last episode for the length of its latency."""

    def reset(vehicle):
        vehicle.reset(1, position=(10.0, 500.0, 100.0), orientation=(0, 0, 0, 1))

    _, _, seen = flown({500: reset}, backend=Hover(), duration=2.4, carried={"gps": GPS(latency=0.2)})
    north = np.array([r["gps"]["latitude"][1] for r in seen])
    assert np.ptp(north[:499]) < 1e-4
    assert (north[502:] - north[0]).min() > 0.004


@pytest.mark.parametrize(
    ("copies", "changes", "message"),
    [
        (5, {}, "copies = 5: must be an index below 3"),
        (0, {"position": [0.0, 1.0]}, r"position = \[0.0, 1.0\]: must be"),
        (0, {"position": "nowhere"}, "spawn point = 'nowhere': no such spawn point"),
        ([0, 1], {"position": "spawn_1"}, "position = 'spawn_1': is a place for one copy"),
    ],
)
def test_wrong_resets(copies, changes, message):
    """A wrong reset would move a copy, or fail half-way."""

    def reset(vehicle):
        before = vehicle.state.position.copy()
        with pytest.raises(ConfigError, match=message):
            vehicle.reset(copies, **changes)
        np.testing.assert_array_equal(vehicle.state.position, before)

    flown({20: reset}, backend=Hover(), duration=0.1, carried={})


def test_an_autopilot_is_not_reset():
    """A copy would be moved while its autopilot flies on as if nothing had happened."""
    vehicle = Multirotor("iris", backends=[PX4(connection="tcpin:4999")])
    with pytest.raises(ConfigError, match="PX4: cannot start single copies anew; reset the simulation"):
        vehicle.backends.require_restarts()


def test_guided_copies_stand_after_a_reset():
    """A reset copy would fly at once to where the others are."""
    pilot = GuidedController(trajectories.hold(height=1.0))
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("iris", count=2, position=PLACES[:2], backends=[pilot], sensors={}))
        pilot.takeoff(height=2.0).wait(sim)
        vehicle.reset(1)
        sim.run(2.0)
        assert vehicle.state.position[:, 2] == pytest.approx([2.07, 0.09], abs=0.1)
        assert (vehicle.rotor_command[1] == 0.0).all()
        # The next episode of this copy begins while the other one flies on.
        pilot.takeoff(height=1.0, copies=1).wait(sim)
        sim.run(2.0)
        assert vehicle.state.position[:, 2] == pytest.approx([2.07, 1.07], abs=0.1)
