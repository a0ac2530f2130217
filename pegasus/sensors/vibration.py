"""Vibration of an accelerometer by the rotors: at their own frequency, and at that of their blades."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.step_math import Real, Vec3, cos, sin


@dataclass(frozen=True, kw_only=True)
class Vibration:
    """Vibration of the accelerometer by the rotors, at the frequency of each rotor and of its blades.

    Amplitudes are per squared rotor speed; those of unbalance are the eccentric mass times its radius over
    the vehicle's mass. With R rotors at a speed w, each axis of the disc's plane gets a variance of
    R (in_plane w^2)^2 / 2: in a hovering Iris (4 rotors, 656 rad/s) 5.05e-6 m gives the 9.46 m^2/s^4 that
    AirSim 2017 measured in flight. Frequencies above half the sensor's rate alias, as in a sensor without a
    filter.
    """

    in_plane: float = 0.0
    """Amplitude in the plane of the disc, rotating with the rotor [m]; 0 for none."""
    axial: float = 0.0
    """Amplitude along the axis of the rotor [m]; 0 for none."""
    blade_passage: float = 0.0
    """Amplitude along the axis at the number of blades times the rotor's frequency [m]; 0 for none."""

    def __post_init__(self) -> None:
        for name in ("in_plane", "axial", "blade_passage"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 m and finite")

    @property
    def present(self) -> bool:
        """Whether there is any vibration."""
        return self.in_plane > 0 or self.axial > 0 or self.blade_passage > 0

    def vectors(self, axis: Array, spin: Array) -> tuple[Array, Array, Array]:
        """Return the vectors c and s of `rotor_vibration` and b of `blade_vibration`, each of shape (R, 3).

        Args:
            axis: Axis of each rotor in the body frame, shape (R, 3).
            spin: +1 for counter-clockwise about the axis, -1 for clockwise, shape (R,).
        """
        axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
        # Any vector in the plane of the disc, since the phase is random.
        aside = np.where(np.abs(axis[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
        first = np.cross(aside, axis)
        first /= np.linalg.norm(first, axis=-1, keepdims=True)
        cosine = self.in_plane * first + self.axial * axis
        sine = self.in_plane * spin[:, None] * np.cross(axis, first)
        return cosine, sine, self.blade_passage * axis


def rotor_vibration(phase: Real, speed: Real, cosine: Vec3, sine: Vec3) -> Vec3:
    """Return the acceleration by an unbalanced rotor, omega^2 (c cos(phase) + s sin(phase)) [m/s^2].

    The force of an eccentric mass grows with the square of its speed and turns with it.

    Args:
        phase: Angle of the rotor [rad].
        speed: Its speed omega [rad/s].
        cosine: Vector c in the body frame [m].
        sine: Vector s in the body frame [m].
    """
    return (cosine * cos(phase) + sine * sin(phase)) * (speed * speed)


def blade_vibration(phase: Real, speed: Real, blades: Real, amplitude: Vec3) -> Vec3:
    """Return the acceleration by the passage of blades, omega^2 b cos(B phase) [m/s^2].

    Forces that are equal on the B blades and periodic in a turn add up in the hub at multiples of B times
    the rotor's frequency only; this is the first. Aerodynamic forces grow with the square of the speed.
    Source: Johnson 1980, "Helicopter Theory", sec. 8-4 (transmission through the hub).

    Args:
        phase: Angle of the rotor [rad].
        speed: Its speed omega [rad/s].
        blades: Number of blades B.
        amplitude: Vector b in the body frame [m].
    """
    return amplitude * (cos(blades * phase) * speed * speed)
