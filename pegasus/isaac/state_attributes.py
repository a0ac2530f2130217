"""The state of vehicles as attributes of their prims, for OmniGraphs; written when a setting asks for it."""

from collections.abc import Iterable

from pxr import Gf, Sdf, Usd, Vt

from pegasus.isaac import kit
from pegasus.isaac.bodies import body_path
from pegasus.multirotor import Multirotor
from pegasus.vehicle import Vehicle

STATE_SETTING = "/pegasus/stateAttributes"
"""Whether the attributes are written."""
_TYPES = {
    "pegasus:rotorSpeed": Sdf.ValueTypeNames.DoubleArray,
    "pegasus:rotorCommand": Sdf.ValueTypeNames.DoubleArray,
    "pegasus:force": Sdf.ValueTypeNames.Double3,
    "pegasus:torque": Sdf.ValueTypeNames.Double3,
    "pegasus:batteryVoltage": Sdf.ValueTypeNames.Double,
    "pegasus:batteryCurrent": Sdf.ValueTypeNames.Double,
    "pegasus:batteryCharge": Sdf.ValueTypeNames.Double,
}


def write_states(stage: Usd.Stage, vehicles: Iterable[Vehicle]) -> None:
    """Write the actuator state of vehicles to the prims of their bodies, if the setting asks for it.

    Rotor speeds and commands are in rad/s, the force in N in the world without gravity, the torque in N m
    about the centre of mass in the body frame, and the charge from 0 to 1. Poses and velocities are those of
    the rigid bodies, which physics writes.

    Args:
        stage: The stage.
        vehicles: The vehicles.
    """
    if not kit.setting(STATE_SETTING):
        return
    found = []
    for vehicle in vehicles:
        for copy in range(vehicle.count):
            prim = stage.GetPrimAtPath(body_path(f"{vehicle.name}/{copy}"))
            if prim:
                values = _values(vehicle, copy)
                for name in values:
                    if not prim.HasAttribute(name):
                        prim.CreateAttribute(name, _TYPES[name])
                found.append((prim, values))
    with Sdf.ChangeBlock():
        for prim, values in found:
            for name, value in values.items():
                prim.GetAttribute(name).Set(value)


def _values(vehicle: Vehicle, copy: int) -> dict[str, object]:
    values: dict[str, object] = {
        "pegasus:rotorSpeed": Vt.DoubleArray(vehicle.state.rotor_speed[copy].tolist()),
        "pegasus:rotorCommand": Vt.DoubleArray(vehicle.rotor_command[copy].tolist()),
        "pegasus:force": Gf.Vec3d(*vehicle.applied_force[copy].tolist()),
        "pegasus:torque": Gf.Vec3d(*vehicle.applied_torque[copy].tolist()),
    }
    battery = vehicle.battery if isinstance(vehicle, Multirotor) else None
    if battery is not None:
        values["pegasus:batteryVoltage"] = float(battery.voltage[copy])
        values["pegasus:batteryCurrent"] = float(battery.current[copy])
        values["pegasus:batteryCharge"] = float(battery.charge[copy])
    return values
