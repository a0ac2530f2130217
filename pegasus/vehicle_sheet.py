"""A vehicle's figures, and what follows from them: hover, thrust to weight, power."""

from pathlib import Path

import numpy as np

from pegasus.control.allocation import Allocation
from pegasus.environment import Environment
from pegasus.errors import ConfigError
from pegasus.multirotor import Multirotor


def vehicle_sheet(name: str | Path) -> list[tuple[str, str]]:
    """Return labelled figures of a vehicle at the default place on Earth.

    Args:
        name: Name of a vehicle, or the path of its YAML file.

    Raises:
        ConfigError: If the vehicle's file is wrong.
    """
    vehicle = Multirotor(name)
    environment, spec, layout = Environment(), vehicle.spec, vehicle.layout
    ground, still = np.zeros((1, 3)), np.zeros((1, 1))
    density = environment.air_density(ground)[:, None]
    weight = vehicle.mass * -float(environment.gravity_vector(ground)[0, 2])
    upward = float(np.maximum(layout.axis[:, 2], 0).sum())
    hover = vehicle.thrust_curve.rotor_speed(np.full((1, 1), weight / upward), density)
    force, torque = vehicle.thrust_curve.thrust(hover, still, density)
    rows = [
        ("name", spec.name),
        ("description", spec.description),
        ("file", str(vehicle.file)),
        ("mass", f"{vehicle.mass:g} kg"),
        ("inertia", f"{', '.join(f'{m:g}' for m in np.diag(vehicle.inertia))} kg m^2 (xx, yy, zz)"),
        ("centre of mass", f"({', '.join(f'{c:g}' for c in vehicle.center_of_mass)}) m"),
        ("rotors", f"{layout.count}, propellers of {spec.propeller.diameter:g} m"),
        ("hover", f"{hover[0, 0]:.1f} rad/s, {force[0, 0]:.3f} N and {torque[0, 0]:.4f} N m per rotor"),
        ("shaft power in hover", f"{layout.count * torque[0, 0] * hover[0, 0]:.1f} W"),
    ]
    if np.isfinite(vehicle.motor.max_speed):
        fastest = np.full((1, 1), vehicle.motor.max_speed)
        most = float(vehicle.thrust_curve.thrust(fastest, still, density)[0][0, 0]) * upward
        rows.append(("thrust to weight", f"{most / weight:.2f} at {vehicle.motor.max_speed:g} rad/s"))
    try:
        Allocation(layout, vehicle.center_of_mass, float(torque[0, 0] / force[0, 0]))
        rows.append(("controllable", "thrust, roll, pitch and yaw are independent"))
    except ConfigError as error:
        rows.append(("controllable", f"no: {error}"))
    for sensor_name, sensor in vehicle.sensors.items():
        rows.append((f"sensor {sensor_name}", f"{type(sensor).__name__} at {sensor.rate_hz:g} Hz"))
    for i, (position, axis, spin) in enumerate(zip(layout.position, layout.axis, layout.spin, strict=True)):
        place = ", ".join(f"{c:g}" for c in position)
        tilt = "" if axis[2] > 1 - 1e-9 else f", axis ({', '.join(f'{c:.3g}' for c in axis)})"
        rows.append((f"rotor {i}", f"({place}) m, {'ccw' if spin > 0 else 'cw'}{tilt}"))
    return rows
