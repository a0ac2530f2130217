"""Predictions of measurements along flown windows, with their derivatives."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.frames import (
    conjugate,
    matrix_from_quaternion,
    multiply,
    normalize,
    quaternion_from_rotation_vector,
    rotation_vector_from_quaternion,
)
from pegasus.contracts.flight_record import Measured

NOISE = {
    "position": 0.02,
    "orientation": 0.01,
    "velocity": 0.05,
    "angular_velocity": 0.05,
    "specific_force": 0.3,
    "rotor_speed": 5.0,
}
"""First guess of the noise of a measurement, in its unit."""
BIAS = {"angular_velocity": 0.05, "specific_force": 0.3}
"""Standard deviation of the bias of a sensor, as far as it is known beforehand."""


@dataclass(frozen=True, eq=False)
class Path:
    """Flown states of one window, and their derivatives by C unknowns."""

    states: dict[str, Array]
    """States after 0 to L steps by column, shape (L + 1, K)."""
    changes: dict[str, Array] | None
    """Their derivatives, those of an attitude as a rotation vector, shape (L + 1, K, C)."""
    gravity: Array
    """Acceleration of free fall [m/s^2], shape (3,)."""
    dt: float
    """Length of a step [s]."""


@dataclass(frozen=True, eq=False)
class Places:
    """Where the measurements of a source lie in one window."""

    rows: IntArray
    """Their indices, shape (T,)."""
    step: IntArray
    """Step before each, shape (T,)."""
    share: Array
    """Part of the way to the next step, shape (T,)."""
    span: IntArray
    """Steps over which each is a mean; 0 for a value of an instant, shape (T,)."""


def places_of(m: Measured, start: float, steps: int, rate: float) -> Places:
    """Return where measurements lie in a window.

    Args:
        m: The measurements.
        start: Time of the window's start [s].
        steps: Its number of steps L.
        rate: Steps per second [Hz].
    """
    at = (m.time - start) * rate
    if m.mean:
        step = np.rint(at).astype(np.int64)
        span = np.rint(np.diff(at, prepend=-np.inf if len(at) < 2 else 2 * at[0] - at[1])).astype(np.int64)
        span = np.maximum(span, 1)
        rows = np.flatnonzero((step - span >= 0) & (step <= steps))
        return Places(rows, step[rows], np.zeros(len(rows)), span[rows])
    rows = np.flatnonzero((at >= -1e-6) & (at < steps - 1e-6))
    step = np.floor(at[rows] + 1e-6).astype(np.int64)
    share = np.clip(at[rows] - step, 0.0, 1.0)
    return Places(rows, step, np.where(share < 1e-5, 0.0, share), np.zeros(len(rows), dtype=np.int64))


def residuals(m: Measured, places: Places, path: Path) -> tuple[Array, Array | None]:
    """Return measurements less predictions, shape (T, K), and derivatives of predictions, (T, K, C).

    Those of an attitude are rotation vectors in the body frame.

    Args:
        m: The measurements.
        places: Where they lie in the window.
        path: The window.
    """
    values = m.values[places.rows]
    if m.quantity == "orientation":
        return _turned(values, places, path)
    if places.span.any():
        each, changes = _steps(m.quantity, path)
        found = _means(each, places)
        return values - found, None if changes is None else _means(changes, places)
    if m.quantity == "specific_force":
        each, changes = _steps(m.quantity, path)
        last = len(each) - 1
        step = np.minimum(places.step, last)
        return values - each[step], None if changes is None else changes[step]
    states = path.states[m.quantity]
    between = None if path.changes is None else _between(path.changes[m.quantity], places)
    return values - _between(states, places), between


def _between(values: Array, places: Places) -> Array:
    """Return values at places, linear between the steps."""
    share = places.share.reshape(-1, *[1] * (values.ndim - 1))
    after = np.minimum(places.step + 1, len(values) - 1)
    found: Array = values[places.step] * (1.0 - share) + values[after] * share
    return found


def _turned(values: Array, places: Places, path: Path) -> tuple[Array, Array | None]:
    """Return the residuals of attitudes."""
    q = path.states["orientation"]
    first, second = q[places.step], q[np.minimum(places.step + 1, len(q) - 1)]
    way = rotation_vector_from_quaternion(multiply(conjugate(first), second))
    at = multiply(first, quaternion_from_rotation_vector(way * places.share[:, None]))
    found = rotation_vector_from_quaternion(multiply(conjugate(at), normalize(values)))
    return found, None if path.changes is None else _between(path.changes["orientation"], places)


def _steps(quantity: str, path: Path) -> tuple[Array, Array | None]:
    """Return the mean of a quantity over each step, shape (L, 3), and its derivatives."""
    changes = path.changes
    if quantity == "angular_velocity":
        w = path.states[quantity]
        half = None if changes is None else 0.5 * (changes[quantity][1:] + changes[quantity][:-1])
        return 0.5 * (w[1:] + w[:-1]), half
    q, v = path.states["orientation"], path.states["velocity"]
    turn = matrix_from_quaternion(normalize(q[1:] + q[:-1] * np.sign((q[1:] * q[:-1]).sum(axis=1))[:, None]))
    force = np.einsum("tji,tj->ti", turn, (v[1:] - v[:-1]) / path.dt - path.gravity)
    if changes is None:
        return force, None
    speeds = (changes["velocity"][1:] - changes["velocity"][:-1]) / path.dt
    turns = 0.5 * (changes["orientation"][1:] + changes["orientation"][:-1])
    x, y, z = force.T[:, :, None]
    a, b, c = turns[:, 0], turns[:, 1], turns[:, 2]
    # R^T a of an attitude that is turned by d in the body frame changes by f x d.
    bent = np.stack([y * c - z * b, z * a - x * c, x * b - y * a], axis=1)
    return force, np.einsum("tji,tjc->tic", turn, speeds) + bent


def _means(each: Array, places: Places) -> Array:
    """Return means over the steps before places."""
    sums = np.concatenate([np.zeros_like(each[:1]), np.cumsum(each, axis=0)])
    span = places.span.reshape(-1, *[1] * (each.ndim - 1))
    found: Array = (sums[places.step] - sums[places.step - places.span]) / span
    return found


def biases_of(measured: Sequence[Measured]) -> list[int]:
    """Return the first unknown of the bias of each source, counted from 0; -1 for those without."""
    found, first = [], 0
    for m in measured:
        has = m.biased and m.quantity in BIAS
        found.append(first if has else -1)
        first += 3 * has
    return found
