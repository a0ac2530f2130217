"""Backends and vehicles shared by the tests of the simulation."""

from pathlib import Path

import numpy as np

from pegasus import Backend, Multirotor
from pegasus.config.settings import names
from pegasus.control import GeometricController, trajectories
from pegasus.sensors import IMU
from pegasus.sensors.imu import Accelerometer, Gyroscope

HIGH = (0.0, 0.0, 50.0)
PLAIN_IRIS = Path(__file__).with_name("plain_iris.yaml")
"""An Iris whose thrust is 8.54858e-6 w^2 N, with 0.06 m of torque, in any air, and that has no battery."""

AIRCRAFT = [
    "aerosonde",
    "flying_wing",
    "omnicopter",
    "plane",
    "rc_cessna",
    "standard_vtol",
    "tailsitter",
    "tilt_hexarotor",
    "tiltrotor",
    "variable_pitch_plane",
]
"""Shipped vehicles with wings, joints or reversible rotors; tests of multirotors fly the others."""
MULTIROTORS = [name for name in names("vehicles") if name not in AIRCRAFT]
"""The other shipped vehicles."""


class Constant(Backend):
    """Backend that commands a constant speed, of all or of each rotor, and records what is published."""

    drives = True

    def __init__(self, speed):
        self.speed, self.seen = speed, []

    def bind(self, vehicle):
        self.answer = np.full((vehicle.count, vehicle.rotor_count), self.speed, dtype=np.float64)

    def publish(self, t, state, readings):
        self.seen.append((t, state.copy(), dict(readings)))

    def command(self, t):
        return self.answer


class Listener(Backend):
    """Backend that records what is published, and its starts and stops."""

    def __init__(self):
        self.seen, self.calls = [], []

    def start(self):
        self.calls.append("start")

    def publish(self, t, state, readings):
        self.seen.append((t, state.copy(), dict(readings)))

    def stop(self):
        self.calls.append("stop")


def quiet_imu():
    """Return an IMU without any error."""
    silent = {"noise_density": 0.0, "bias_random_walk": 0.0, "turn_on_bias": 0.0}
    return IMU(gyroscope=Gyroscope(**silent), accelerometer=Accelerometer(**silent))


def hovering(**kwargs):
    kwargs.setdefault("position", HIGH)
    controller = GeometricController(trajectories.hold(height=kwargs["position"][2]), spin_up=0.0)
    return Multirotor("iris", backends=[controller], **kwargs)
