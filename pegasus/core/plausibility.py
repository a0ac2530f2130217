"""Warnings of figures of a vehicle that suggest wrong units: inertia, arms, tip speed, thrust to weight."""

import numpy as np

from pegasus.contracts.vehicle import Rotorcraft
from pegasus.environment import speed_of_sound
from pegasus.environment.atmosphere import SEA_LEVEL_DENSITY
from pegasus.environment.gravity import STANDARD_GRAVITY
from pegasus.model.dynamics_models import VehicleParameters
from pegasus.model.rotors import largest_lift

_LONGEST_ARM = 10.0  # [m]
_HIGHEST_MACH = 0.9
_LARGEST_THRUST_TO_WEIGHT = 15.0
_TEMPERATURE = 288.15
"""Air at sea level, US Standard Atmosphere 1976 [K]."""


def unlikely_figures(vehicle: Rotorcraft) -> list[str]:
    """Return a line for each figure of a vehicle that no multirotor has, the first copy's that has it.

    Args:
        vehicle: The vehicle.
    """
    found: dict[int, str] = {}
    for parameters in vehicle.parameters:
        for kind, line in enumerate(_lines(vehicle, parameters)):
            if line is not None:
                found.setdefault(kind, line)
    return [f"{vehicle.name}: {line}; check the units" for line in found.values()]


def _lines(vehicle: Rotorcraft, p: VehicleParameters) -> tuple[str | None, ...]:
    layout, radius = vehicle.layout, vehicle.spec.propeller.diameter / 2
    offset = layout.position - p.center_of_mass
    arm = float(np.sqrt((offset * offset).sum(axis=1)).max())
    moment = float(np.linalg.eigvalsh(p.inertia)[-1])
    gyration = float(np.sqrt(moment / p.mass))
    surfaces = [
        float(np.sqrt(np.square(np.subtract(surface.mount.position, p.center_of_mass)).sum()))
        + 0.5 * float(np.sqrt(surface.model.area * getattr(surface.model, "AR", 1.0)))
        for surface in p.airframe.surfaces.values()
    ]
    reach = max(arm, radius, *surfaces)
    tip, field, speed, radius = max(
        (motor.max_speed * radius, field, motor.max_speed, radius)
        for motor, field, radius in (
            (p.motor, "", radius),
            *((k.motor, f"propulsion.{name}.", k.diameter / 2) for name, k in p.airframe.kinds.items()),
        )
    )
    mach = tip / float(speed_of_sound(np.array(_TEMPERATURE)))
    lift = largest_lift(layout, p.motor, p.thrust_curve, SEA_LEVEL_DENSITY)
    ratio = lift / (p.mass * STANDARD_GRAVITY)
    return (
        f"inertia of {moment:.3g} kg m^2 and mass of {p.mass:.3g} kg mean a radius of gyration of "
        f"{gyration:.3g} m, but the rotors are {arm:.3g} m from the centre of mass at most"
        f"{f' and the surfaces reach {max(surfaces):.3g} m' if surfaces else ''}"
        if gyration > reach
        else None,
        f"a rotor is {arm:.3g} m from the centre of mass, more than {_LONGEST_ARM:g} m"
        if arm > _LONGEST_ARM
        else None,
        f"{field}motor.max_speed of {speed:.4g} rad/s with {field}propeller.diameter of {2 * radius:.3g} m "
        f"means a tip speed of Mach {mach:.2g}, above {_HIGHEST_MACH:g}"
        if np.isfinite(mach) and mach > _HIGHEST_MACH
        else None,
        f"the rotors lift {lift:.4g} N at most, {ratio:.3g} times the weight, above "
        f"{_LARGEST_THRUST_TO_WEIGHT:g}"
        if np.isfinite(ratio) and ratio > _LARGEST_THRUST_TO_WEIGHT
        else None,
    )
