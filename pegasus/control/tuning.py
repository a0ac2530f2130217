"""Gains of position and heading control derived from a vehicle: its motors' lag and its yaw torque."""

from dataclasses import dataclass

from pegasus.dynamics import Motor

_INDICES = (2.5, 2.0, 2.0, 2.0)
"""Stability indices of Manabe's standard form, from the slowest to the fastest (Manabe 1998)."""

_LEAST_LAG, _MOST_LAG = 0.025, 0.03
"""Limits of the lag that the gains are designed for [s]; feedback hurries slower motors."""

_INTEGRAL_SHARE = 0.2
"""Rate of the integrals times the equivalent time constant."""

_YAW_LAG = 0.05
"""Least lag of yaw control [s]; its torques are small."""

_YAW_SHARE, _MOST_YAW_ACCELERATION = 0.4, 8.0
"""Share of the yaw torque planned to stop at a heading, and the largest angular acceleration [rad/s^2]."""

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
    yaw_acceleration: float
    """Angular acceleration planned to stop at a heading [rad/s^2]."""


def tuning_of(motor: Motor, hover_speed: float, yaw_acceleration: float) -> Tuning:
    """Return gains by the coefficient diagram method, with the motors' lag in the loop.

    Horizontal position is a chain of motor lag, attitude and motion, whose characteristic polynomial is

        tau s^5 + s^4 + k_w s^3 + k_R s^2 + k_R k_v s + k_R k_p

    Its equivalent time constant T = k_v / k_p is the product of tau and the four stability indices
    a_i^2 / (a_i-1 a_i+1). Those of the standard form, 2.5, 2, 2, 2, give a step response without overshoot
    (Manabe 1998, Coefficient Diagram Method, 14th IFAC Symposium on Automatic Control in Aerospace). For a
    tau below 0.025 s the gains are those of 0.025 s, so that a step of 1 m does not reach the limit of tilt.
    Motors slower than 0.03 s are hurried to 0.03 s: the torque that is missing, by the angular acceleration
    of the vehicle, is added to the command (Smeur, Chu and de Croon 2016 feed it back to the same end).

    Args:
        motor: The motors.
        hover_speed: Rotor speed in hover [rad/s].
        yaw_acceleration: Angular acceleration about z that the rotors have in hover [rad/s^2].
    """
    lag = motor_lag(motor, hover_speed)
    first, second, third, fourth = _INDICES
    designed = min(max(lag, _LEAST_LAG), _MOST_LAG)
    rate = 1.0 / (fourth * designed)
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
        torque_lead=max(lag / designed - 1.0, 0.0),
        heading=yaw_rate / first,
        yaw_rate=yaw_rate,
        yaw_acceleration=max(min(_YAW_SHARE * yaw_acceleration, _MOST_YAW_ACCELERATION), 0.05),
    )


def motor_lag(motor: Motor, speed: float) -> float:
    """Return the time constant of a motor about a rotor speed [s].

    It is the larger of `time_constant_up` and `time_constant_down`; 0.025 s is assumed of a motor without
    them.

    Args:
        motor: The motor.
        speed: Rotor speed [rad/s].
    """
    constants = [getattr(motor, name, None) for name in ("time_constant_up", "time_constant_down")]
    known = [float(value) for value in constants if value is not None]
    return max(known, default=_USUAL_LAG)
