"""Tests of the errors that the sensors of a world have in common: weather, and the signals of satellites."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

from pegasus import Multirotor, Simulation
from pegasus.environment.common_errors import CommonError
from pegasus.sensors import GPS, Barometer, Rtk
from pegasus.sensors.gps_errors import error_covariance, error_process
from pegasus.sensors.noise import gauss_markov_process

ZERO = (0.0, 0.0, 0.0)
STRAIGHT = {"position_noise_density": ZERO, "velocity_noise_density": ZERO, "latency": 0.0}


def standing(name: str, **options) -> Multirotor:
    """Return vehicles on the ground with a barometer and a GPS without white noise."""
    sensors = {
        "barometer": Barometer(noise_density=0.0, rate_hz=options.pop("rate_hz", 50.0)),
        "gps": GPS(**STRAIGHT, rtk=options.pop("rtk", None)),
    }
    return Multirotor("iris", name=name, sensors=sensors, spacing=3.0, **options)


def errors(sim: Simulation, vehicle: Multirotor) -> tuple[np.ndarray, np.ndarray]:
    """Return the drift of the pressure by its sigma, shape (N,), and the position error by its, (N, 3)."""
    true, place = sim.environment.air(vehicle.state.position).pressure, vehicle.state.position
    barometer, gps = vehicle.sensors["barometer"], vehicle.sensors["gps"]
    drift = (vehicle.readings["barometer"].pressure / true - 1) / barometer.drift_sigma
    return drift, (gps.rows["solved_position"] - place) / gps.position_error_sigma


@pytest.mark.parametrize("lag", [0.0, 0.05, 1.0])
def test_paths_have_the_statistics_of_their_process(lag: float) -> None:
    """The weather would be weaker, slower or faster than stated, or begin at zero."""
    count = 400
    paths = [CommonError(gauss_markov_process(3.0), seed, "weather", 1) for seed in range(count)]
    first, last = (np.array([path.at(t).item() for path in paths]) for t in (0.37, 0.37 + lag))
    assert np.mean(first * last) == pytest.approx(math.exp(-lag / 3.0), abs=5 * math.sqrt(2 / count))
    times = 5.0, 2.0
    paths = [CommonError(error_process(*times), seed, "gps", 3) for seed in range(count)]
    # An instant of the process is 0.05 s.
    first, last = (np.array([path.at(t) for path in paths]) for t in (0.375, 0.375 + lag))
    system = np.array([[-1 / times[0], 1.0], [0.0, -1 / times[1]]])
    covariance = error_covariance(*times)
    expected = expm(system * lag) @ covariance
    found = np.einsum("nia,nja->ij", last, first) / (3 * count)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    np.testing.assert_allclose(found / scale, expected / scale, atol=5 * math.sqrt(2 / (3 * count)))


def test_neighbours_share_weather_and_satellites() -> None:
    """Barometers of 64 vehicles 3 m apart would differ by 79 m, as if each had a weather of its own."""
    with Simulation("flat", seed=3) as sim:
        swarm = sim.add(standing("swarm", count=64))
        other = sim.add(standing("other", position=(50.0, 0.0, 0.1), rate_hz=25.0))
        sim.step(501)
        drift, position = errors(sim, swarm)
        there, aside = errors(sim, other)
    own = math.sqrt(0.1)
    # Standard error of a deviation of 64: 9 %.
    assert drift.std() == pytest.approx(own, rel=0.35)
    np.testing.assert_allclose(position.std(axis=0), own, rtol=0.35)
    # The other vehicle has the mean of the swarm, but for its own part.
    assert abs(there[0] - drift.mean()) < 4 * own
    assert np.all(abs(aside[0] - position.mean(axis=0)) < 4 * own)


def test_worlds_of_other_seeds_have_other_weather() -> None:
    """Mean errors over a swarm would be those of one weather, or none, whatever the seed."""
    found = []
    for seed in range(12):
        with Simulation("flat", seed=seed) as sim:
            swarm = sim.add(standing("swarm", count=16))
            sim.step(1)
            drift, position = errors(sim, swarm)
            found.append([drift.mean(), *position.mean(axis=0)])
    # 48 numbers of variance 0.9: the standard error is a tenth.
    assert np.std(found) == pytest.approx(math.sqrt(0.9), rel=0.4)


def test_company_and_copies_change_no_bit() -> None:
    """The weather at a vehicle would depend on who else is there, or on the number of copies."""

    def flown(count: int, *, late: bool) -> list[list[float]]:
        with Simulation("flat", seed=5) as sim:
            if late:
                sim.add(standing("before", position=(30.0, 0.0, 0.1)))
            place = [(3.0 * k, 0.0, 0.1) for k in range(count)]
            swarm = sim.add(standing("swarm", count=count, position=np.array(place)))
            sim.step(300)
            if late:
                sim.add(standing("after", position=(-30.0, 0.0, 0.1)))
                sim.reset()
                sim.step(300)
            return [column[0].tolist() for column in errors(sim, swarm)]

    assert flown(1, late=False) == flown(9, late=True)


def test_corrections_by_a_base_station_remove_what_is_common() -> None:
    """With RTK, all receivers would be off by the same decimetres."""
    with Simulation("flat", seed=1) as sim:
        swarm = sim.add(standing("swarm", count=400, rtk=Rtk(float_time=0.0, fixed_time=0.5)))
        sim.step(501)
        position = swarm.sensors["gps"].rows["solved_position"] - swarm.state.position
    sigma = np.array(Rtk().fixed_sigma)
    np.testing.assert_allclose(position.std(axis=0) / sigma, 1.0, atol=5 / math.sqrt(800))
    assert np.all(abs(position.mean(axis=0)) < 5 * sigma / 20)
