"""Flights on estimates for tests of estimators."""

from collections.abc import Callable

import pytest

from pegasus import Multirotor, Simulation
from pegasus.control import GeometricController, trajectories
from pegasus.estimation import EKF
from pegasus.sensors import GPS, Barometer

HEIGHT = 12.0
"""Height of the flights [m]: well above the error of the altitude by GPS and barometer."""


@pytest.fixture
def flight() -> Callable[..., tuple[Simulation, Multirotor]]:
    """Return a function that gives a simulation of vehicles that fly figures of eight on estimates."""
    open_flights = []

    def make(
        world="flat",
        *,
        seed=1,
        rate=250.0,
        wind=None,
        vehicle="iris",
        estimator=None,
        backends=None,
        **options,
    ):
        simulation = Simulation(world, seed=seed, rate=rate, wind=wind, engine="mujoco")
        open_flights.append(simulation)
        if backends is None:
            backends = [GeometricController(trajectories.lemniscate(radius=3.0, height=HEIGHT, laps=50))]
        options = {"spacing": 15.0, **options} if options.get("count", 1) > 1 else options
        estimator = EKF() if estimator is None else estimator
        flown = Multirotor(vehicle, backends=backends, estimator=estimator, **options)
        for sensor in flown.sensors.values():
            if isinstance(sensor, GPS | Barometer):
                # Copies count as independent samples of the errors.
                sensor.common_share = 0.0
        return simulation, simulation.add(flown)

    yield make
    for simulation in open_flights:
        simulation.close()
