"""PX4 parameters of a vehicle's geometry, for its control allocation and simulated outputs."""

import math
from collections.abc import Mapping

import numpy as np

from pegasus.backends.mavlink.airframe import OutputMap, RotorEffects, rotor_effects
from pegasus.backends.px4.roles import Kind, Roles
from pegasus.backends.px4.surfaces import (
    TO_FRD,
    LevelFlight,
    flight_parameters,
    surface_parameters,
    tilt_of,
    tilt_parameters,
)
from pegasus.base.errors import ConfigError
from pegasus.core.aircraft import Aircraft
from pegasus.sensors import Rangefinder

OUTPUT_COUNT = 16
"""Number of PX4's simulated outputs."""

_MOTOR_LIMIT = 12
"""Maximum number of rotors of PX4's control allocation (CA_ROTOR0 to CA_ROTOR11)."""
_FIRST_MOTOR, _FIRST_SERVO, _WHEEL = 101, 201, 440
"""PWM_MAIN_FUNC of motor 1, of servo 1, and of the steered wheel."""
_CLIPPED, _AUTOMATIC = 0, 2
"""CA_METHOD: outputs that are clipped, which leaves those of reversed rotors alone, and PX4's choice."""
_MAV_TYPES, _OTHER_MAV_TYPE = {3: 15, 4: 2, 6: 13}, 14
"""MAV_TYPE by number of rotors; that of an octorotor for all others."""
_WINGED_MAV_TYPES = {Kind.PLANE: 1, Kind.STANDARD_VTOL: 22, Kind.TILTROTOR: 21, Kind.TAILSITTER: 20}
_TAILSITTER_OF_TWO = 19
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
    vehicle: Aircraft, outputs: OutputMap, given: Mapping[str, float], roles: Roles
) -> dict[str, float | int]:
    """Return the parameters of PX4's control allocation for a vehicle's rotors, surfaces and tilts.

    PX4's rotors are in FRD axes about the centre of mass; KM is above 0 for counter-clockwise rotation
    (PX4's ActuatorEffectivenessRotors). Its motors 1, 2, ... are the rotors in the order of their outputs,
    likewise its servos, of which those of tilts are the last.

    Args:
        vehicle: The vehicle, in a simulation.
        outputs: Map from PX4's outputs to commands.
        given: Parameters of the user; rate gains among them are not scaled.
        roles: Roles of the channels.

    Raises:
        ConfigError: If there are too many rotors or servos for PX4, they cannot control the vehicle, or a
            tilt does not turn from upright to forward.
    """
    rotors = sorted({*roles.lift, *roles.forward}, key=lambda k: outputs.outputs[k])
    if len(rotors) > _MOTOR_LIMIT:
        raise ConfigError(
            f"PX4 flies {_MOTOR_LIMIT} rotors at most, the vehicle has {len(rotors)}",
            file=vehicle.file,
            field="rotors",
            remedy="use fewer rotors, or another backend",
        )
    parameters: dict[str, float | int] = {
        "MAV_TYPE": _mav_type(roles),
        "CA_AIRFRAME": roles.kind.number,
        "CA_ROTOR_COUNT": len(rotors),
    }
    figures = {k: _pushing(vehicle, k) for k in roles.forward}
    if roles.lift:
        lift = outputs.part(roles.lift)
        effects = rotor_effects(vehicle, lift, roles.layout)
        figures |= _lifting(vehicle, roles, effects)
        hover = min(max(effects.hover_output, _MIN_HOVER), _MAX_HOVER)
        parameters["MPC_THR_HOVER"] = round(hover, 3)
        parameters |= _rate_gains(vehicle, effects, given)
    reversible = [outputs.channels[k].low < 0.0 for k in rotors]
    parameters["CA_R_REV"] = sum(1 << motor for motor, can in enumerate(reversible) if can)
    parameters["CA_METHOD"] = _CLIPPED if any(reversible) else _AUTOMATIC
    functions = {outputs.outputs[rotor]: _FIRST_MOTOR + motor for motor, rotor in enumerate(rotors)}
    for motor, rotor in enumerate(rotors):
        # Set all of them, because PX4 keeps those of an earlier run.
        parameters |= {
            f"CA_ROTOR{motor}_{name}": float(f"{x + 0.0:.6g}") for name, x in figures[rotor].items()
        }
    if roles.kind is not Kind.MULTIROTOR:
        joints = vehicle.machines[0].joints
        flight = LevelFlight.of(vehicle, given)
        if not any(isinstance(sensor, Rangefinder) for _, sensor in vehicle.sensors.items()):
            # PX4 would break a landing off without its readings.
            parameters["FW_LND_USETER"] = 0
        parameters |= flight_parameters(outputs, roles, flight) | tilt_parameters(vehicle, roles)
        parameters |= surface_parameters(vehicle, outputs, roles, flight)
        parameters |= {f"CA_ROTOR{k}_TILT": tilt_of(rotor, roles.tilts) for k, rotor in enumerate(rotors)}
        servos = [*roles.surfaces, *(tilt.joint for tilt in roles.tilts)]
        functions |= {outputs.outputs[joints[k].channel]: _FIRST_SERVO + n for n, k in enumerate(servos)}
        functions |= {outputs.outputs[joints[k].channel]: _WHEEL for k in roles.wheels}
        turned = [outputs.outputs[joints[tilt.joint].channel] for tilt in roles.tilts if tilt.is_reversed]
        parameters["PWM_MAIN_REV"] = sum(1 << output for output in turned)
        # The airframe has functions of its own.
        functions = {output: functions.get(output, 0) for output in range(OUTPUT_COUNT)}
    return parameters | {f"PWM_MAIN_FUNC{output + 1}": function for output, function in functions.items()}


def _lifting(vehicle: Aircraft, roles: Roles, effects: RotorEffects) -> dict[int, dict[str, float]]:
    """Return CA_ROTOR* of the rotors that carry the vehicle in hover, by rotor."""
    positions = (roles.layout.position - vehicle.center_of_mass) * TO_FRD
    axes = roles.layout.axis * TO_FRD
    moment_ratios = roles.layout.spin * effects.moment_ratio
    coefficients = _MEAN_THRUST_COEFFICIENT * effects.thrust / effects.thrust.mean()
    authority = np.abs(coefficients[:, None] * effects.torque).max(axis=0).min()
    largest = _LARGEST_THRUST_COEFFICIENT / float(coefficients.max())
    coefficients *= max(1.0, min(_LEAST_AUTHORITY / float(authority), largest))
    return {
        rotor: {
            **dict(zip(("PX", "PY", "PZ"), positions[k].tolist(), strict=True)),
            **dict(zip(("AX", "AY", "AZ"), axes[k].tolist(), strict=True)),
            "CT": float(coefficients[k]),
            "KM": float(moment_ratios[k]),
        }
        for k, rotor in enumerate(roles.lift)
    }


def _pushing(vehicle: Aircraft, rotor: int) -> dict[str, float]:
    """Return CA_ROTOR* of a rotor that pushes forward.

    It is straight behind or in front of the centre of mass: for torques of forward thrust PX4 would use
    surfaces or lift rotors, by coefficients that are not comparable with those of CA_ROTOR_CT.
    """
    x = float(vehicle.layout.position[rotor, 0] - vehicle.center_of_mass[0])
    return {
        "PX": x,
        "PY": 0.0,
        "PZ": 0.0,
        "AX": 1.0,
        "AY": 0.0,
        "AZ": 0.0,
        "CT": _MEAN_THRUST_COEFFICIENT,
    } | {"KM": 0.0}


def _mav_type(roles: Roles) -> int:
    if roles.kind is Kind.MULTIROTOR:
        return _MAV_TYPES.get(len(roles.lift), _OTHER_MAV_TYPE)
    if roles.kind is Kind.TAILSITTER and len(roles.lift) == 2:
        return _TAILSITTER_OF_TWO
    return _WINGED_MAV_TYPES[roles.kind]


def _rate_gains(
    vehicle: Aircraft, effects: RotorEffects, given: Mapping[str, float]
) -> dict[str, float | int]:
    """Return the factors of PX4's rate gains of roll and pitch.

    One factor scales PX4's outputs for both axes, so that their root mean square over half of the R rotors
    is 1 for the weaker axis (ControlAllocationPseudoInverse).
    """
    arm = math.sqrt(len(effects.thrust) / 2) * np.sqrt((effects.torque[:, :2] ** 2).sum(axis=0)).min()
    accelerations = effects.thrust_slope * arm / np.diag(vehicle.inertia)[:2]
    return {
        f"MC_{axis}RATE_K": round(min(1.0, _AGILE / float(acceleration)), 3)
        for axis, acceleration in zip(("ROLL", "PITCH"), accelerations, strict=True)
        if not any(name.startswith(f"MC_{axis}RATE_") for name in given)
    }
