"""Tests of estimates by distances to anchors (UWB), and by GPS with corrections (RTK)."""

import numpy as np
import pytest
from consistency_bounds import require_consistent

from pegasus.config.files import load_world
from pegasus.control import GeometricController, trajectories
from pegasus.estimation import Consistency
from pegasus.estimation.filter_rows import ANCHORS, FIX
from pegasus.sensors import GPS, IMU, UWB, Accelerometer, Barometer, Gyroscope, Magnetometer
from pegasus.sensors.gps_errors import Rtk

COPIES = 100
AROUND = (
    (-120.0, -120.0, 30.0),
    (120.0, -120.0, 45.0),
    (120.0, 120.0, 25.0),
    (-120.0, 120.0, 60.0),
    (0.0, 0.0, 80.0),
)
NEAR = ((-8.0, -8.0, 0.5), (8.0, -8.0, 4.0), (8.0, 8.0, 0.5), (-8.0, 8.0, 4.0))
# Each distance is measured, and none is too long, also where vehicles hide anchors.
CLEAR = {"nlos_bias": 0.0, "nlos_dropout": 0.0, "max_range": 500.0}
MAKERS = {
    "imu": lambda: IMU(
        gyroscope=Gyroscope(turn_on_bias=0.002), accelerometer=Accelerometer(turn_on_bias=0.03)
    ),
    "gps": GPS,
    "rtk": lambda: GPS(rtk=Rtk(float_time=3.0, fixed_time=10.0)),
    "barometer": Barometer,
    "magnetometer": Magnetometer,
    "uwb": lambda: UWB(anchors=AROUND, position=(0.1, -0.2, 0.05), **CLEAR),
    "near": lambda: UWB(anchors=NEAR),
}
FREEDOM = {"gps": 6, "rtk": 6, "barometer": 1, "magnetometer": 3, "uwb": len(AROUND)}
STILL = ("imu", "magnetometer", "barometer")


class Hidden(UWB):
    """Tag without line of sight to the first three anchors."""

    def _hidden(self, tag, away, true):
        return np.arange(true.shape[1]) < np.where(true > 0, 3, 0)


def made(*names):
    return {name: MAKERS[name]() for name in names}


@pytest.mark.parametrize(
    ("names", "start"),
    [((*STILL, "uwb"), 5.0), ((*STILL, "gps", "uwb"), 13.0), ((*STILL, "rtk"), 6.0)],
    ids=["uwb", "gps and uwb", "rtk"],
)
def test_errors_and_innovations_are_within_their_bounds(flight, names, start):
    """A gradient would have a wrong sign, or the errors of RTK be taken for those of a plain GPS.

    The receiver of RTK gets its ambiguities fixed on the way.
    """
    simulation, vehicle = flight(count=COPIES, seed=2, sensors=made(*names))
    consistency = Consistency(vehicle, start=start)
    simulation.add_observer(consistency)
    simulation.run(start + 8.0)
    require_consistent(consistency, {name: FREEDOM[name] for name in names if name != "imu"})
    sigma = vehicle.estimate.position_sigma
    if "rtk" in names:
        # As the receiver: 0.01, 0.01 and 0.02 m.
        np.testing.assert_allclose(sigma, [[0.01, 0.01, 0.02]] * COPIES, rtol=0.1)


def test_anchors_hold_a_place_without_gps(flight):
    """A vehicle in a hall with anchors would drift away in the wind."""
    wind = {"model": "constant", "mean_velocity": [3.0, -2.0, 0.0]}
    world = load_world("flat")[0].model_copy(update={"wind": wind})
    hold = [GeometricController(trajectories.hold(height=2.0))]
    simulation, vehicle = flight(world, sensors=made(*STILL, "near"), backends=hold, seed=5)
    simulation.run(30.0)
    error, sigma = vehicle.estimate.position_error[0], vehicle.estimate.position_sigma[0]
    assert np.all(np.abs(error) < 4.0 * sigma)
    assert np.all(sigma < 0.1)
    np.testing.assert_allclose(vehicle.state.position[0], [0.0, 0.0, 2.0], atol=0.25)
    assert vehicle.estimate.uwb_nis[0] < 25.0


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_hidden_anchors_do_not_lead_away(flight, seed):
    """Hidden anchors would lead the estimate away by metres, so that the others are shut out."""
    uwb = Hidden(anchors=(*NEAR, (0.0, 8.0, 3.0), (0.0, -8.0, 1.0)))
    hold = [GeometricController(trajectories.hold(height=2.0))]
    simulation, vehicle = flight(sensors={**made(*STILL), "uwb": uwb}, backends=hold, seed=seed)
    simulation.run(5.0)
    for _ in range(20):
        simulation.run(0.5)
        assert np.linalg.norm(vehicle.estimate.position_error[0]) < 2.0


def test_anchors_wait_for_the_first_fix(flight):
    """A first position that is off by kilometres would be corrected along wrong directions."""
    simulation, vehicle = flight(sensors=made(*STILL, "gps", "near"), seed=5)
    simulation.run(2.0)
    counts = vehicle.estimator.columns["used_count"][0]
    assert counts[FIX] == 0
    assert counts[ANCHORS] == 0
    simulation.run(6.0)
    assert counts[FIX] > 0
    assert counts[ANCHORS] > 0
    assert np.all(np.abs(vehicle.estimate.position_error[0]) < 4.0 * vehicle.estimate.position_sigma[0])
