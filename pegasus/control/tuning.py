"""Gains of position and heading control derived from a vehicle: its motors' lag and its yaw torque."""

from dataclasses import dataclass
from typing import Any

from pegasus.base.components import annotations_of, require, require_vector

_INDICES = (2.5, 2.0, 2.0, 2.0)
"""Stability indices of Manabe's standard form, from the slowest to the fastest (Manabe 1998)."""

_LAG = 0.03
"""Lag of the motors that the gains are designed for [s]; feedback hurries slower ones."""

_INTEGRAL_SHARE = 0.2
"""Rate of the integrals times the equivalent time constant."""

_YAW_LAG = 0.05
"""Least lag of yaw control [s]; its torques are small."""

_YAW_SHARE, _MOST_YAW_ACCELERATION = 0.4, 8.0
"""Share of the yaw torque planned to stop at a heading, and the largest angular acceleration [rad/s^2]."""

_TILT_SHARE = 0.5
"""Share of the roll or pitch torque planned to stop at an attitude."""

_USUAL_LAG = 0.025
"""Lag assumed of a motor that does not tell its own [s]."""


@dataclass(frozen=True)
class Tuning:
    """Gains derived from a vehicle by `tuning_of`, per unit of mass and inertia."""

    position: float
    """Acceleration by position error [1/s^2]."""
    velocity: float
    """Acceleration by velocity error [1/s]."""
    integral: float
    """Rate at which a steady disturbance is compensated [1/s]."""
    attitude: float
    """Angular acceleration by roll or pitch error [1/s^2]."""
    rate: float
    """Angular acceleration by roll or pitch rate error [1/s]."""
    torque_lead: float
    """Share of missing roll and pitch torque that is added to the command."""
    heading: float
    """Yaw rate by heading error [1/s]."""
    yaw_rate: float
    """Angular acceleration by yaw rate error [1/s]."""
    tilt_acceleration: float
    """Angular acceleration planned to stop at a roll or pitch [rad/s^2]."""
    yaw_acceleration: float
    """Angular acceleration planned to stop at a heading [rad/s^2]."""


def tuning_of(lag: float | None, available: tuple[float, float, float]) -> Tuning:
    """Return gains by the coefficient diagram method, with the motors' lag in the loop.

    Horizontal position is a chain of motor lag, attitude and motion, whose characteristic polynomial is

        tau s^5 + s^4 + k_w s^3 + k_R s^2 + k_R k_v s + k_R k_p

    Its equivalent time constant T = k_v / k_p is the product of tau and the four stability indices
    a_i^2 / (a_i-1 a_i+1). Those of the standard form, 2.5, 2, 2, 2, give a step response without overshoot
    (Manabe 1998, Coefficient Diagram Method, 14th IFAC Symposium on Automatic Control in Aerospace). The
    gains are those of tau = 0.03 s: with smaller ones the torque of a vehicle that has lost a fifth of its
    weight saturates in a step of 1 m. The lag of slower motors is compensated to 0.03 s: the torque that
    is missing, by the angular acceleration of the vehicle, is added to the command (Smeur, Chu and de
    Croon 2016 feed the acceleration back to the same end).

    Args:
        lag: Time constant of the motors about hover [s]; 0.025 s is assumed if it is not known.
        available: Angular acceleration about each axis that the rotors have in hover [rad/s^2].
    """
    lag = _USUAL_LAG if lag is None else lag
    first, second, third, fourth = _INDICES
    rate = 1.0 / (fourth * _LAG)
    attitude = rate * rate / third
    velocity = attitude / (second * rate)
    position = velocity * velocity / first
    yaw_rate = 1.0 / (second * max(lag, _YAW_LAG))
    return Tuning(
        position=position,
        velocity=velocity,
        integral=_INTEGRAL_SHARE * position / velocity,
        attitude=attitude,
        rate=rate,
        torque_lead=max(lag / _LAG - 1.0, 0.0),
        heading=yaw_rate / first,
        yaw_rate=yaw_rate,
        tilt_acceleration=max(_TILT_SHARE * min(available[:2]), 0.5),
        yaw_acceleration=max(min(_YAW_SHARE * available[2], _MOST_YAW_ACCELERATION), 0.05),
    )


def check_gains(own: Any, *names: str, zero_allowed: bool = False) -> None:
    """Raise a ConfigError unless gains, numbers or triples, are above zero, or None to be derived."""
    for name in names:
        gain: Any = getattr(own, name)
        if gain is None:
            continue
        least, allowed = gain, "must not be negative" if zero_allowed else "must be above 0"
        if annotations_of(type(own))[name] is not float:
            require_vector(name, gain)
            least, allowed = (
                min(gain),
                "none may be negative" if zero_allowed else "all three must be above 0",
            )
        require(least >= 0 if zero_allowed else least > 0, name, gain, allowed)
