"""Check that battery, motors and propellers of a vehicle fit: voltage in hover and at full throttle."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.errors import ConfigError
from pegasus.dynamics import Battery, DrivenMotor
from pegasus.dynamics.battery_step import load_current
from pegasus.environment import Environment
from pegasus.model.dynamics_models import VehicleParameters
from pegasus.model.rotors import RotorLayout


@dataclass(frozen=True)
class SupplyLoad:
    """Load of a full battery with all rotors at one speed in still air."""

    speed: float
    """Rotor speed [rad/s]."""
    motor_power: float
    """Power of all motors [W]."""
    power: float
    """Power of motors and avionics [W]."""
    current: float
    """Current, that of the largest power of the battery if this is less [A]."""
    voltage: float
    """Voltage under load [V]."""

    def __str__(self) -> str:
        return (
            f"with all rotors at {self.speed:.0f} rad/s, which take {self.power:.1f} W with the avionics, it "
            f"gives {self.voltage:.1f} V at {self.current:.1f} A"
        )


def load_at(layout: RotorLayout, p: VehicleParameters, speed: float, air_density: float) -> SupplyLoad:
    """Return the load of a vehicle's battery with all rotors at one speed in still air.

    Args:
        layout: The rotors.
        p: Parameters of the vehicle, which has a battery.
        speed: Rotor speed [rad/s].
        air_density: Air density [kg/m^3].
    """
    battery = p.battery
    assert battery is not None
    turning = np.full((1, 1), speed)
    torque = float(p.thrust_curve.thrust(turning, np.zeros((1, 1)), np.full((1, 1), air_density))[1][0, 0])
    drawn = p.motor.electrical_power(speed, torque)
    motors = layout.count * (torque * speed / battery.efficiency if drawn is None else drawn)
    power = max(motors, 0.0) + battery.avionics_power
    current = float(load_current(power, battery.full_voltage, battery.steady_resistance))
    voltage = battery.full_voltage - battery.steady_resistance * current
    return SupplyLoad(speed, motors, power, current, voltage)


def full_throttle(layout: RotorLayout, p: VehicleParameters, air_density: float) -> SupplyLoad | None:
    """Return the load at the largest speed that the full battery allows; None without battery or limit.

    Args:
        layout: The rotors.
        p: Parameters of the vehicle.
        air_density: Air density [kg/m^3].
    """
    if p.battery is None or not math.isfinite(p.motor.max_speed):
        return None
    return load_at(layout, p, p.motor.max_speed * _share(p, p.battery.full_voltage), air_density)


def check_supply(layout: RotorLayout, p: VehicleParameters, environment: Environment) -> str | None:
    """Return a warning if full throttle is more than a vehicle's full battery can feed, else None.

    Args:
        layout: The rotors.
        p: Parameters of the vehicle.
        environment: Environment of the flight, of which gravity and density at the origin count.

    Raises:
        ConfigError: If the battery cannot feed a hover.
    """
    battery, upward = p.battery, float(layout.axis[:, 2].sum())
    if battery is None:
        return None
    ground = np.zeros((1, 3))
    density = float(environment.air_density(ground)[0])
    weight = -p.mass * float(environment.gravity_vector(ground)[0, 2])
    if upward > 0.0 and weight > 0.0:
        thrust = np.full((1, 1), weight / upward)
        hover = float(p.thrust_curve.rotor_speed(thrust, np.full((1, 1), density))[0, 0])
        load = load_at(layout, p, hover, density)
        problem = _problem(battery, load, p.motor.max_speed * _share(p, load.voltage))
        # A thrust that is not a number, and so no speed of hovering, is reported in the first step.
        if problem and hover <= p.motor.max_speed:
            raise ConfigError(
                f"the vehicle cannot hover: {problem}",
                field="battery.resistance",
                value=battery.resistance,
                remedy="lower it, or give the battery more cells",
            )
    load_full = full_throttle(layout, p, density)
    problem = None if load_full is None else _problem(battery, load_full, math.inf)
    if load_full is None or problem is None:
        return None
    most = battery.cutoff * (battery.full_voltage - battery.cutoff) / load_full.power
    return f"{problem}; the rotors stop until the load ends; battery.resistance up to {most:.3g} ohm would do"


def _share(p: VehicleParameters, voltage: float) -> float:
    """Return the part of a motor's largest speed that a voltage allows."""
    assert p.battery is not None
    rated = p.battery.rated_voltage or p.battery.full_voltage
    return 1.0 if isinstance(p.motor, DrivenMotor) else min(voltage / rated, 1.0)


def _problem(battery: Battery, load: SupplyLoad, highest_speed: float) -> str | None:
    """Return what is wrong with a load, None if nothing is."""
    pack = f"the full battery has {battery.cell_count} cells and {battery.resistance:.3g} ohm; {load}"
    if load.voltage < battery.cutoff:
        return f"{pack}, below its cut-off of {battery.cutoff:.3g} V"
    if load.speed > highest_speed:
        return f"{pack}, which allows {highest_speed:.0f} rad/s"
    return None
