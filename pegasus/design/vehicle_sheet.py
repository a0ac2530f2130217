"""Data sheet of a vehicle: parameters, hover, thrust to weight, power, and flight on wings."""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from pegasus.base.errors import ConfigError
from pegasus.config.scenario import Component
from pegasus.control.airloads import lift_share
from pegasus.control.allocation import Allocation
from pegasus.core.aircraft import Aircraft
from pegasus.core.supply import full_throttle, load_at
from pegasus.design.flight_sheet import flight_sheet
from pegasus.environment import Environment
from pegasus.model.rotors import RotorLayout


def vehicle_sheet(name: str | Path) -> list[tuple[str, str]]:
    """Return the data sheet of a vehicle at the default origin, as labels and values.

    Args:
        name: Name of a vehicle, or the path of its YAML file.

    Raises:
        ConfigError: If the vehicle's file is invalid.
    """
    vehicle = Aircraft(name)
    spec, layout = vehicle.spec, vehicle.layout
    tensor = "xx, yy, zz" if len(spec.inertia) == 3 else "xx, yy, zz, xy, xz, yz"
    rows = [
        ("name", spec.name),
        ("description", spec.description),
        ("file", str(vehicle.file)),
        ("mass", f"{spec.mass:g} kg"),
        ("inertia", f"{_numbers(spec.inertia)} kg m^2 ({tensor})"),
        ("centre of mass", f"({_numbers(spec.center_of_mass)}) m"),
        ("rotors", f"{layout.count}, propellers of {spec.propeller.diameter:g} m"),
        ("motor", _component(spec.motor)),
        ("thrust curve", _component(spec.thrust_curve)),
        ("drag", _component(spec.drag) if spec.drag is not None else "none"),
        ("ground effect", _component(spec.ground_effect) if spec.ground_effect is not None else "none"),
        ("downwash", _component(spec.downwash) if spec.downwash is not None else "none"),
        ("battery", _component(spec.battery) if spec.battery is not None else "none"),
        *(flight_sheet(vehicle) if vehicle.machines[0].surfaces else _hover(vehicle)),
    ]
    if spec.usd is not None:
        rows.append(("usd", str(spec.usd)))
    if find_spec("pxr") is not None:
        # Not at the top: it reads the meshes by OpenUSD, which is an optional package.
        from pegasus.design.silhouette import silhouette_areas

        x, y, z = silhouette_areas(vehicle)
        rows.append(("silhouette", f"{x:.4f}, {y:.4f}, {z:.4f} m^2 along x, y, z, without propellers"))
    for sensor_name, sensor in vehicle.sensors.items():
        rows.append((f"sensor {sensor_name}", f"{type(sensor).__name__} at {sensor.rate_hz:g} Hz"))
    return rows + _rotors(layout)


def _hover(vehicle: Aircraft) -> list[tuple[str, str]]:
    """Return the hover performance with equal thrust of all rotors."""
    environment, layout, curve = Environment(), vehicle.layout, vehicle.thrust_curve
    ground, still = np.zeros((1, 3)), np.zeros((1, 1))
    density = environment.air_density(ground)[:, None]
    weight = vehicle.mass * -float(environment.gravity_vector(ground)[0, 2])
    upward = lift_share(vehicle)
    if upward < 1e-6:
        return [("hover", "none: the rotors do not push upwards")]
    hover = curve.rotor_speed(np.full((1, 1), weight / upward), density)
    force, torque = (float(value[0, 0]) for value in curve.thrust(hover, still, density))
    speed = float(hover[0, 0])
    rows = [
        ("hover", f"{speed:.1f} rad/s, {force:.3f} N and {torque:.4f} N m per rotor"),
        ("shaft power in hover", f"{layout.count * torque * speed:.1f} W"),
    ]
    motor, inertia = vehicle.motor, vehicle.parameters[0].rotor_inertia
    if (lag := motor.time_constant(speed, torque, inertia)) is not None:
        rows.append(("motor lag in hover", f"{1e3 * lag:.0f} ms"))
    if vehicle.battery is not None:
        battery, p = vehicle.battery.battery, vehicle.parameters[0]
        power = load_at(layout, p, speed, float(density[0, 0])).motor_power
        rows.append(("power of the motors in hover", f"{power:.1f} W"))
        rows.append(("hover time", f"{battery.endurance(power) / 60:.1f} min"))
        if (load := full_throttle(layout, p, float(density[0, 0]))) is not None:
            figures = f"{load.voltage:.1f} V, {load.current:.1f} A, {load.power:.1f} W"
            rows.append(("battery at full throttle", figures))
    if np.isfinite(vehicle.motor.max_speed):
        fastest = np.full((1, 1), vehicle.motor.max_speed)
        most = float(curve.thrust(fastest, still, density)[0][0, 0]) * upward
        rows.append(("thrust to weight", f"{most / weight:.2f} at {vehicle.motor.max_speed:g} rad/s"))
    try:
        allocation = Allocation.of(vehicle, torque / force)
    except ConfigError as error:
        return [*rows, ("controllable", f"no: {error.problem}")]
    axes = "all forces and torques" if allocation.fully_actuated else "thrust, roll, pitch and yaw"
    return [*rows, ("controllable", f"yes: {axes} are independent")]


def _rotors(layout: RotorLayout) -> list[tuple[str, str]]:
    rows = []
    for i, (position, axis, spin) in enumerate(zip(layout.position, layout.axis, layout.spin, strict=True)):
        tilt = "" if axis[2] > 1 - 1e-9 else f", axis ({_numbers(axis)})"
        rows.append((f"rotor {i}", f"({_numbers(position)}) m, {'ccw' if spin > 0 else 'cw'}{tilt}"))
    return rows


def _component(spec: Component) -> str:
    parameters = [f"{key} {value}" for key, value in spec.items() if key != "model"]
    return f"{spec.get('model')}{': ' if parameters else ''}{', '.join(parameters)}"


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
