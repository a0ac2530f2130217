"""Copies that are placed in flight, one by one."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Backend, ConfigError, Multirotor, Simulation
from pegasus.sensors import IMU, Barometer
from tests.flyers import PLAIN_IRIS

HIGH = [(0.0, 4.0 * k, 60.0) for k in range(4)]


class Constant(Backend):
    drives = True

    def bind(self, vehicle):
        self.shape = vehicle.count, vehicle.rotor_count

    def command(self, t):
        return np.full(self.shape, 600.0) + 20.0 * np.sin(9.0 * t)


def flown(placing):
    """Fly four copies; return states and readings half a second after some were placed."""
    with Simulation("flat", seed=4) as sim:
        vehicle = sim.add(
            Multirotor(
                PLAIN_IRIS,
                count=4,
                position=HIGH,
                sensors={"imu": IMU(), "baro": Barometer()},
                backends=[Constant()],
            )
        )
        peak = np.zeros(4)
        for k in range(250):
            if k == 125:
                placing(vehicle)
            sim.step()
            peak = np.maximum(peak, np.linalg.norm(vehicle.readings["imu"].specific_force, axis=1))
        state, imu = vehicle.state, vehicle.readings["imu"]
        return {
            "position": state.position.copy(),
            "orientation": state.orientation.copy(),
            "rotor_speed": state.rotor_speed.copy(),
            "imu": imu.specific_force,
            "baro": vehicle.readings["baro"].pressure,
            "peak": peak,
        }


@pytest.mark.parametrize(
    "copies",
    [1, [1], slice(1, 2), np.array([False, True, False, False])],
    ids=["index", "list", "slice", "mask"],
)
def test_the_other_copies_are_not_disturbed(copies):
    """If this fails, the reset of one copy in a batch changes the flight of the others."""
    still, placed = (
        flown(placing)
        for placing in (
            lambda _: None,
            lambda vehicle: vehicle.place((50, 0, 80), velocity=(3, 0, 0), copies=copies),
        )
    )
    others = [0, 2, 3]
    for name, values in still.items():
        np.testing.assert_array_equal(placed[name][others], values[others], err_msg=name)
    # Half a second of flight at 3 m/s from where it was placed.
    np.testing.assert_allclose(placed["position"][1, :2], (51.5, 0.0), atol=0.2)
    # A jump of 50 m within a step would be felt as 3e6 m/s^2.
    assert placed["peak"][1] < 30.0


def test_all_copies_are_placed_by_default():
    """If this fails, `place` without `copies` leaves some behind."""
    ends = flown(lambda vehicle: vehicle.place([(9.0 * k, 0, 90) for k in range(4)]))
    np.testing.assert_allclose(ends["position"][:, 0], [0, 9, 18, 27], atol=0.2)


@pytest.mark.parametrize("copies", [4, -5, [0, 0], [0.5], [True, False], [[0]], "first"], ids=str)
def test_a_copy_that_is_not_there_is_refused(copies):
    """If this fails, a slip places the wrong vehicle, or ends in an error of NumPy."""
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("iris", count=4, position=HIGH, sensors={}))
        before = vehicle.state.position.copy()
        with pytest.raises(
            ConfigError, match=r"copies = .*: must be an index below 4, several different ones"
        ):
            vehicle.place((0, 0, 9), copies=copies)
        np.testing.assert_array_equal(vehicle.state.position, before)


def test_places_fit_the_chosen_copies():
    """If this fails, three places for two copies are cut off in silence."""
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("iris", count=4, position=HIGH, sensors={}))
        with pytest.raises(ConfigError, match=r"position = .* broadcast to shape \(2, 3\)"):
            vehicle.place([(0, 0, 9)] * 3, copies=[0, 3])


@pytest.mark.parametrize("model", ["standard_vtol", "plane", "flying_wing", "aerosonde"])
def test_wings_of_copies_are_apart(model):
    """Copies with wings wider than their rotors would start in each other, and fly off in contact."""
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor(model, count=5))
        (first, second, *_) = vehicle.state.position
        points = np.concatenate([c.vertices for c in vehicle.asset.colliders if c.vertices is not None])
        span = points[:, 1].max() - points[:, 1].min()
        assert np.linalg.norm(first - second) > span
