"""Consistency of filters: errors and innovations beside the covariances that the filters give them."""

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import (
    conjugate,
    matrix_from_quaternion,
    multiply,
    rotate,
    rotation_vector_from_quaternion,
)
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation
from pegasus.estimation.ekf import EKF
from pegasus.estimation.filter_rows import CORE, READY
from pegasus.sensors.imu import IMU


class Bounds(NamedTuple):
    """Interval that the mean of squares has with a probability of 95 %."""

    low: float
    high: float


def chi_square_bounds(freedom: int, count: int) -> Bounds:
    """Return the 95 % interval of the mean of independent squares, each of some degrees of freedom.

    Source: Wilson and Hilferty 1931, "The distribution of chi-square"; within 0.1 % for 100 degrees in all.

    Args:
        freedom: Degrees of freedom of each.
        count: Number of squares.
    """
    k = freedom * count
    spread = 1.959963984540054 * math.sqrt(2.0 / (9.0 * k))
    low, high = (k * (1.0 - 2.0 / (9.0 * k) + sign * spread) ** 3 / count for sign in (-1.0, 1.0))
    return Bounds(low, high)


class Consistency:
    """Observer that gathers the normalized errors and innovations of a vehicle's filters.

    The error of attitude, velocity, position and biases, 15 numbers, and of the scales of the IMU and the
    wind where they are states, 6 and 2 more, is squared and weighted by the inverse of its covariance (NEES);
    so is the innovation of each reading (NIS). If the filter's covariances are right, their means over many
    vehicles are those of a chi-square distribution. Source: Bar-Shalom, Li and Kirubarajan 2001, "Estimation
    with applications to tracking and navigation", sec. 5.4.

    Args:
        vehicle: The vehicle, with an `EKF`.
        start: Time from which it gathers [s].
        interval: Time between two errors [s].
    """

    def __init__(self, vehicle: Aircraft, *, start: float = 0.0, interval: float = 0.2) -> None:
        assert isinstance(vehicle.estimator, EKF)
        self._vehicle, self._filter = vehicle, vehicle.estimator
        self._start, self._interval = start, interval
        self.times: list[float] = []
        """Times of the errors [s]."""
        self._errors: list[Array] = []
        self._nis: dict[str, list[Array]] = {}

    @property
    def nees(self) -> Array:
        """Normalized squares of the errors by time and copy, shape (T, N)."""
        return np.array(self._errors)

    def nis(self, sensor: str) -> Array:
        """Return the normalized squares of the innovations of a sensor, by reading and copy, shape (T, N).

        Args:
            sensor: Name of the sensor.
        """
        return np.array(self._nis[sensor])

    def start(self, simulation: Simulation) -> None:
        """Begin anew."""
        self.times, self._errors = [], []
        self._nis = {source.name: [] for source in self._filter.sources}
        self._past: deque[tuple[float, tuple[Array, ...]]] = deque(maxlen=self._filter.parameters.lag + 1)
        self._next = self._start

    def record(self, simulation: Simulation) -> None:
        """Gather the errors and innovations of a step."""
        own, t = self._filter, simulation.time
        if own.received != t:
            return
        self._past.append((t, self._true()))
        if t < self._start or not (own.columns["phase"] == READY).all():
            return
        for source in own.sources:
            if own.columns["due"][source.number]:
                self._nis[source.name].append(own.columns["nis"][:, source.number].copy())
        time, true = self._past[0]
        if t >= self._next - 1e-9 and abs(time - own.filter_time) < 1e-9:
            self._next += self._interval
            self.times.append(time)
            self._errors.append(self._normalized(true))

    def stop(self) -> None:
        """Keep what was gathered."""

    def report(self) -> Sequence[tuple[str, float, Bounds]]:
        """Return name, mean and bounds of the errors at each time, and of the innovations of each sensor.

        The bounds of the errors are those of one time, since errors of times close to each other are alike;
        innovations of a filter that is right are independent of each other.
        """
        count = self._vehicle.count
        lines = [("errors", float(self.nees.mean()), chi_square_bounds(len(self._states), count))]
        for source in self._filter.sources:
            nis = self.nis(source.name)
            bounds = chi_square_bounds(source.freedom, nis.size)
            lines.append((source.name, float(nis.mean()), bounds))
        return lines

    @property
    def _states(self) -> list[int]:
        """Numbers of the states whose errors are gathered."""
        p = self._filter.parameters
        further = [range(first, first + count) for first, count in ((p.scale, 6), (p.wind, 2)) if first >= 0]
        return [*range(CORE), *(state for states in further for state in states)]

    def _true(self) -> tuple[Array, ...]:
        state, p = self._vehicle.state, self._filter.parameters
        imu = self._filter.imu
        assert isinstance(imu, IMU)
        mounting = np.array([[p.mounting[k] for k in range(4)]])
        biases = [imu.rows["rate_error"], imu.rows["force_error"]]
        mounted = [rotate(matrix_from_quaternion(mounting), bias) for bias in biases]
        further = []
        if p.scale >= 0:
            calibration = imu.rows["calibration"]
            further = [np.stack([calibration[:, k + m, m] for m in range(3)], axis=1) - 1.0 for k in (0, 3)]
        if p.wind >= 0:
            further.append(self._vehicle.columns["wind"][:, :2].copy())
        return state.orientation.copy(), state.velocity.copy(), state.position.copy(), *mounted, *further

    def _normalized(self, true: tuple[Array, ...]) -> Array:
        columns, size = self._filter.columns, self._filter.parameters.size
        orientation, *others = true
        turn = rotation_vector_from_quaternion(multiply(orientation, conjugate(columns["q"])))
        estimates = [columns[name] for name in ("v", "r", "rate_bias", "force_bias")]
        states = self._states
        estimates.append(columns["error"][:, states[CORE:]])
        error = np.concatenate([turn, np.concatenate(others, 1) - np.concatenate(estimates, 1)], axis=1)
        covariance = columns["covariance"].reshape(len(error), size, size)[:, states][:, :, states]
        weighted = np.linalg.solve(covariance, error[..., None])[..., 0]
        squares: Array = (error * weighted).sum(axis=1)
        return squares
