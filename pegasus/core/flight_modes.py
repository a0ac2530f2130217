"""Linear model of a vehicle about steady flight, and its modes: phugoid, short period, Dutch roll, ..."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.core.steady_loads import Flight
from pegasus.core.step_vehicle import StepVehicle
from pegasus.core.trim import Trim, search_of
from pegasus.environment import Environment

STATES = ("v_x", "v_y", "v_z", "w_x", "w_y", "w_z", "roll", "pitch")
"""Velocity of the centre of mass [m/s] and angular velocity [rad/s] in the body frame, and the angles about
its x and y axes [rad], as in `pegasus.base.frames.quaternion_from_euler`: a positive pitch is nose down."""
_LONGITUDINAL = [0, 2, 4, 7]
_CHANGE = 1e-4
"""Change of a state over which differences are taken, by its size and 1."""


@dataclass(frozen=True)
class Mode:
    """Natural motion of a vehicle."""

    name: str
    """Name, such as `phugoid`; `longitudinal` or `lateral` if it is none of those of aircraft."""
    root: complex
    """Eigenvalue, that with the positive imaginary part of a pair [1/s]."""

    @property
    def oscillates(self) -> bool:
        """True for an oscillation: a pair of conjugate eigenvalues."""
        return self.root.imag != 0.0

    @property
    def period(self) -> float:
        """Period [s]; infinite without an oscillation."""
        return 2.0 * math.pi / self.root.imag if self.oscillates else math.inf

    @property
    def damping_ratio(self) -> float:
        """Damping by the critical damping."""
        return -self.root.real / abs(self.root) if self.root else 0.0

    @property
    def time_constant(self) -> float:
        """Time in which the amplitude falls to 1/e [s], below 0 where it grows."""
        return -1.0 / self.root.real if self.root.real else math.inf

    def __str__(self) -> str:
        """Return the mode in words."""
        if not self.oscillates:
            grows = "falls" if self.root.real < 0 else "grows"
            return f"{self.name} {grows} by e in {abs(self.time_constant):.3g} s"
        return f"{self.name} of {self.period:.3g} s, damping ratio {self.damping_ratio:.3f}"


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Small changes about steady flight: x' = A x + B u."""

    A: Array
    """Rates by the states `STATES`, shape (8, 8)."""
    B: Array
    """Rates by the commands of the channels, which shafts and joints have reached, shape (8, U)."""

    @property
    def modes(self) -> list[Mode]:
        """Modes from the fastest to the slowest."""
        roots, vectors = np.linalg.eig(self.A)
        scale = np.array([1.0, 1.0, 1.0, *[10.0] * 5])
        parts = np.abs(vectors * scale[:, None]) ** 2
        along = parts[_LONGITUDINAL].sum(axis=0) > 0.5 * parts.sum(axis=0)
        order = np.argsort(-np.abs(roots))
        every = [complex(root) for root in roots.tolist()]
        kinds = {
            kind: [every[k] for k in order if along[k] == longitudinal and every[k].imag >= 0.0]
            for kind, longitudinal in (("longitudinal", True), ("lateral", False))
        }
        found = [mode for kind, own in kinds.items() for mode in _named(kind, own)]
        return sorted(found, key=lambda mode: -abs(mode.root))


def linearized(vehicle: StepVehicle, trim: Trim, *, environment: Environment | None = None) -> LinearModel:
    """Return the linear model of a vehicle about steady flight, by central differences.

    The speeds of shafts and the angles of joints are held. The yaw angle and the position, on which nothing
    depends in still air, are left out.

    Args:
        vehicle: The vehicle, of which the first copy is taken.
        trim: Its steady flight.
        environment: Air and gravity; see `pegasus.core.trim.trim`.
    """
    loads = search_of(vehicle, environment).loads
    state = np.concatenate([trim.velocity, trim.angular_velocity, [trim.roll, -trim.pitch]])

    def rates(x: Array, command: Array) -> Array:
        roll, pitch = float(x[6]), float(x[7])
        p, q, r = x[3:6].tolist()
        upward = matrix_from_quaternion(quaternion_from_euler(roll, pitch, 0.0))[2]
        linear, angular = loads.rates(Flight(x[:3], x[3:6], upward), command)
        level = q * math.cos(roll) - r * math.sin(roll)
        turned = q * math.sin(roll) + r * math.cos(roll)
        return np.concatenate([linear, angular, [p + math.tan(pitch) * turned, level]])

    a = [
        (rates(state + d, trim.command) - rates(state - d, trim.command)) / (2.0 * d.sum())
        for d in np.diag(_CHANGE * (1.0 + np.abs(state)))
    ]
    b = [
        (rates(state, trim.command + d) - rates(state, trim.command - d)) / (2.0 * d.sum())
        for d in np.diag(_CHANGE * (1.0 + np.abs(trim.command)))
    ]
    return LinearModel(np.stack(a, axis=1), np.stack(b, axis=1))


def _named(kind: str, roots: list[complex]) -> list[Mode]:
    """Return the modes of a kind, from the fastest to the slowest, by their names in aircraft."""
    names = [kind] * len(roots)
    if kind == "longitudinal" and len(roots) in (2, 3) and roots[-1].imag:
        # A short period that is damped enough is two roots.
        names = ["short period"] * (len(roots) - 1) + ["phugoid"]
    if kind == "lateral" and len(roots) == 3:
        real = iter(("roll", "spiral"))
        names = ["Dutch roll" if root.imag else next(real) for root in roots]
    return [Mode(name, root) for name, root in zip(names, roots, strict=True)]
