"""Vehicle whose channels are not its rotors: motors on one throttle, and an elevator without a rotor."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pegasus import Backend, Multirotor
from pegasus.dynamics import Motor
from pegasus.model.machine import Channel

THROTTLES = (Channel("throttle", "", 0.0, 1.0), Channel("elevator", "rad", -0.4, 0.5, idle=0.1))


def throttled(p, _speed, state, command, _voltage, _dt):
    """Return the speed of a throttle from 0 to 1."""
    return p.max_speed * command, state


@dataclass(frozen=True, kw_only=True)
class ThrottledMotor(Motor):
    """Motor that takes a throttle."""

    law: ClassVar = staticmethod(throttled)


class Seaplane(Multirotor):
    """Iris whose four rotors share a throttle, with an elevator that gives a torque by its own function."""

    def __init__(self, **options):
        super().__init__(
            "iris", motor=ThrottledMotor(max_speed=700.0), wrench=self.lift, sensors={}, **options
        )

    @property
    def channels(self):
        return THROTTLES

    @property
    def machines(self):
        return [
            replace(machine, elements=tuple(replace(e, channel=0) for e in machine.elements))
            for machine in super().machines
        ]

    def lift(self, vehicle, t):
        """Return the torque of the elevator."""
        torque = np.zeros((self.count, 3))
        torque[:, 1] = 0.01 * vehicle.columns["command"][:, 1]
        return np.zeros(3), torque


class Stick(Backend):
    """Commands what it is given."""

    drives = True

    def __init__(self, *commands):
        self.commands = np.array([commands], dtype=float)

    def command(self, t):
        return self.commands
