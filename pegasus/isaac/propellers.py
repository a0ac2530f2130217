"""Propellers that turn in the window; physics and pictures of scripts do not ask for it."""

from collections.abc import Iterable

import numpy as np
from pxr import Sdf, Usd, UsdGeom

from pegasus.isaac.bodies import body_path
from pegasus.vehicle import Vehicle

_MOST_VEHICLES = 20
"""Vehicles whose propellers turn; each one costs some attributes with every frame."""
_OPERATION = "spin"


def turn_propellers(stage: Usd.Stage, vehicles: Iterable[Vehicle], time: float) -> None:
    """Turn the propellers of drawn vehicles to where they would be at their present speed since time 0.

    A model of the user's own stands still: its propellers may have no pivot.

    Args:
        stage: The stage.
        vehicles: The vehicles.
        time: Simulation time [s].
    """
    left = _MOST_VEHICLES
    with Sdf.ChangeBlock():
        for vehicle in vehicles:
            if vehicle.spec.usd is not None:
                continue
            spin = [1.0 if rotor.direction == "ccw" else -1.0 for rotor in vehicle.spec.rotor_list()]
            angles = np.degrees(np.remainder(vehicle.state.rotor_speed * time, 2 * np.pi)) * spin
            for copy, row in enumerate(angles[:left].tolist()):
                for rotor, angle in enumerate(row):
                    _turn(stage, f"{body_path(f'{vehicle.name}/{copy}')}/looks/rotor{rotor}", angle)
            left = max(0, left - vehicle.count)


def _turn(stage: Usd.Stage, path: str, angle: float) -> None:
    attribute = stage.GetAttributeAtPath(f"{path}.xformOp:rotateZ:{_OPERATION}")
    if attribute:
        attribute.Set(angle)


def prepare_propellers(stage: Usd.Stage, vehicle: Vehicle) -> None:
    """Give the propellers of a drawn vehicle something to turn by.

    Args:
        stage: The stage that it is on.
        vehicle: The vehicle.
    """
    if vehicle.spec.usd is not None:
        return
    # Not on the session's layer: what is left there of a deleted vehicle would keep its prim from going.
    for copy in range(min(vehicle.count, _MOST_VEHICLES)):
        for rotor in range(len(vehicle.spec.rotor_list())):
            path = f"{body_path(f'{vehicle.name}/{copy}')}/looks/rotor{rotor}"
            prim = stage.GetPrimAtPath(path)
            if prim and not prim.HasAttribute(f"xformOp:rotateZ:{_OPERATION}"):
                operation = UsdGeom.Xformable(prim).AddRotateZOp(opSuffix=_OPERATION)
                operation.Set(0.0)
