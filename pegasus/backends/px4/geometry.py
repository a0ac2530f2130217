"""PX4 parameters of the rotor geometry, for its control allocation and simulated outputs."""

import math
from collections.abc import Mapping

import numpy as np

from pegasus.backends.mavlink.airframe import OutputMap, RotorEffects, rotor_effects
from pegasus.base.errors import ConfigError
from pegasus.contracts.vehicle import Rotorcraft
from pegasus.core.multirotor import Multirotor

GENERIC_AIRFRAME = "none_iris"
"""Airframe of a plain multirotor, whose four rotors these parameters replace."""

_MOTOR_LIMIT = 12
"""Maximum number of rotors of PX4's control allocation (CA_ROTOR0 to CA_ROTOR11)."""
_MULTIROTOR, _FIRST_MOTOR = 0, 101
"""CA_AIRFRAME of a multirotor, PWM_MAIN_FUNC of motor 1."""
_MAV_TYPES, _OTHER_MAV_TYPE = {3: 15, 4: 2, 6: 13}, 14
"""MAV_TYPE by number of rotors; that of an octorotor for all others."""
_MEAN_THRUST_COEFFICIENT = 6.5
"""PX4's default of CA_ROTOR_CT. Its normalized allocation depends only on ratios, but drops effects below
0.001."""
_LEAST_AUTHORITY = 0.1
"""Least effect of the strongest rotor about an axis, in units of CA_ROTOR_CT times metres. PX4 leaves an axis
alone where all rotors have less than 0.05 (ControlAllocator::update_effectiveness_matrix_if_needed), which is
the yaw of vehicles as small as a Crazyflie."""
_LARGEST_THRUST_COEFFICIENT = 100.0
"""Largest CA_ROTOR_CT that PX4 documents. Far above it the allocation drops the other axes too."""
_MIN_HOVER, _MAX_HOVER = 0.1, 0.9
"""Limits of PX4's estimate of the hover thrust."""
_AGILE = 500.0
"""Angular acceleration per unit of roll or pitch [rad/s^2] above which the rate gains are reduced in
proportion. PX4's file for the Crazyflie, with 1080 rad/s^2, has 0.47 of the default gains."""


def geometry_parameters(
    vehicle: Rotorcraft, outputs: OutputMap, given: Mapping[str, float]
) -> dict[str, float | int]:
    """Return the parameters of PX4's control allocation for a vehicle's rotors.

    PX4's rotors are in FRD axes about the centre of mass; KM is above 0 for counter-clockwise rotation
    (PX4's ActuatorEffectivenessRotors). Its motors 1, 2, ... are the rotors in the order of their outputs.

    Args:
        vehicle: The vehicle, in a simulation.
        outputs: Map from PX4's outputs to rotor speeds.
        given: Parameters of the user; rate gains among them are not scaled.

    Raises:
        ConfigError: If there are too many rotors for PX4, or they cannot control the vehicle.
    """
    count, layout = vehicle.rotor_count, vehicle.layout
    if count > _MOTOR_LIMIT:
        raise ConfigError(
            f"PX4 flies {_MOTOR_LIMIT} rotors at most, the vehicle has {count}",
            file=vehicle.file,
            field="rotors",
            remedy="use fewer rotors, or another backend",
        )
    effects = rotor_effects(vehicle, outputs)
    turned = np.array([1.0, -1.0, -1.0])
    positions = (layout.position - vehicle.center_of_mass) * turned
    axes = layout.axis * turned
    moment_ratios = layout.spin * effects.moment_ratio
    coefficients = _MEAN_THRUST_COEFFICIENT * effects.thrust / effects.thrust.mean()
    authority = np.abs(coefficients[:, None] * effects.torque).max(axis=0).min()
    largest = _LARGEST_THRUST_COEFFICIENT / float(coefficients.max())
    coefficients *= max(1.0, min(_LEAST_AUTHORITY / float(authority), largest))
    hover = min(max(effects.hover_output, _MIN_HOVER), _MAX_HOVER)
    parameters: dict[str, float | int] = {
        "MAV_TYPE": _MAV_TYPES.get(count, _OTHER_MAV_TYPE),
        "CA_AIRFRAME": _MULTIROTOR,
        "CA_ROTOR_COUNT": count,
        "MPC_THR_HOVER": round(hover, 3),
    }
    for motor, rotor in enumerate(np.argsort(outputs.outputs).tolist()):
        figures = {
            **dict(zip(("PX", "PY", "PZ"), positions[rotor].tolist(), strict=True)),
            **dict(zip(("AX", "AY", "AZ"), axes[rotor].tolist(), strict=True)),
            "CT": float(coefficients[rotor]),
            "KM": float(moment_ratios[rotor]),
        }
        # Set all of them, because PX4 keeps those of an earlier run.
        parameters |= {f"CA_ROTOR{motor}_{name}": float(f"{x + 0.0:.6g}") for name, x in figures.items()}
        parameters[f"PWM_MAIN_FUNC{outputs.outputs[rotor] + 1}"] = _FIRST_MOTOR + motor
    return parameters | _rate_gains(vehicle, effects, given)


def require_servos(airframe: str, vehicle: Multirotor) -> None:
    """Require an airframe with servos of a vehicle that has them.

    Args:
        airframe: PX4's airframe.
        vehicle: The vehicle.

    Raises:
        ConfigError: If the vehicle has servos, and the airframe is that of a plain multirotor.
    """
    if airframe == GENERIC_AIRFRAME and vehicle.spec.joints:
        raise ConfigError(
            f"is a multirotor, but the vehicle has the servos {', '.join(vehicle.spec.joints)}",
            file=vehicle.file,
            field="px4.airframe",
            value=airframe,
            remedy="name an airframe of PX4 that has them, such as gazebo-classic_plane",
        )


def _rate_gains(
    vehicle: Rotorcraft, effects: RotorEffects, given: Mapping[str, float]
) -> dict[str, float | int]:
    """Return the factors of PX4's rate gains of roll and pitch.

    One factor scales PX4's outputs for both axes, so that their root mean square over half of the R rotors
    is 1 for the weaker axis (ControlAllocationPseudoInverse).
    """
    arm = math.sqrt(vehicle.rotor_count / 2) * np.sqrt((effects.torque[:, :2] ** 2).sum(axis=0)).min()
    accelerations = effects.thrust_slope * arm / np.diag(vehicle.inertia)[:2]
    return {
        f"MC_{axis}RATE_K": round(min(1.0, _AGILE / float(acceleration)), 3)
        for axis, acceleration in zip(("ROLL", "PITCH"), accelerations, strict=True)
        if not any(name.startswith(f"MC_{axis}RATE_") for name in given)
    }
