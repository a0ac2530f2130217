"""Recorder of a vehicle's IMU between the frames of a dataset."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import matrix_from_quaternion
from pegasus.core.aircraft import Aircraft
from pegasus.labels.annotations import ImuTrack
from pegasus.sensors.imu import IMU, ImuReading


class ImuRecorder:
    """Recorder of the readings of one copy's first IMU, and of the true motion and biases at their instants.

    Args:
        vehicle: The vehicle.
        copy: Number of the copy.
    """

    def __init__(self, vehicle: Aircraft, copy: int) -> None:
        self._vehicle, self._copy = vehicle, copy
        self._name = next((name for name, item in vehicle.sensors.items() if isinstance(item, IMU)), None)
        self._mount, self._noise = np.eye(4), np.zeros(5)
        if self._name is not None:
            imu = self._imu
            self._mount[:3, :3] = matrix_from_quaternion(np.array(imu.orientation))
            self._mount[:3, 3] = imu.position
            parts = [
                (part.noise_density, part.bias_random_walk) for part in (imu.gyroscope, imu.accelerometer)
            ]
            self._noise = np.array([imu.rate_hz, *parts[0], *parts[1]])
        self._rows: list[tuple[float, Array, Array, Array, Array, Array, Array, Array]] = []
        self._truth: tuple[Array, Array, Array] | None = None

    def observe_before_step(self) -> None:
        """Keep the state that the sensors are about to measure."""
        if self._name is not None:
            state, copy = self._vehicle.state, self._copy
            self._truth = (
                state.position[copy].copy(),
                state.orientation[copy].copy(),
                state.velocity[copy].copy(),
            )

    def observe_readings(self) -> None:
        """Keep the reading of the step, if there is one."""
        if self._name is None or self._name not in self._vehicle.new_readings:
            return
        reading = self._vehicle.readings[self._name]
        assert isinstance(reading, ImuReading)
        assert self._truth is not None
        rate, force = reading.angular_velocity[self._copy], reading.specific_force[self._copy]
        biases = (bias[self._copy] for bias in self._imu.bias())
        self._rows.append((reading.stamp, rate.copy(), force.copy(), *self._truth, *biases))

    def taken(self) -> ImuTrack | None:
        """Return the readings since the last call, None without an IMU."""
        if self._name is None:
            return None
        widths = (1, 3, 3, 3, 4, 3, 3, 3)
        columns = [
            np.array([row[k] for row in self._rows], np.float64).reshape((-1, width) if k else -1)
            for k, width in enumerate(widths)
        ]
        self._rows.clear()
        time, rate, force, position, orientation, velocity, rate_bias, force_bias = columns
        return ImuTrack(
            *(time, rate, force, position, orientation, velocity, rate_bias, force_bias),
            *(self._mount, self._noise),
        )

    @property
    def _imu(self) -> IMU:
        imu = self._vehicle.sensors[self._name or ""]
        assert isinstance(imu, IMU)
        return imu
