"""Propellers, control surfaces, nacelles and wheels of vehicles on a stage, which turn with each frame."""

from collections.abc import Iterable

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom

from pegasus.base.arrays import Array
from pegasus.core.aircraft import Aircraft
from pegasus.isaac.bodies import body_path
from pegasus.isaac.session_layer import unsaved
from pegasus.scene.moving_parts import Motions, moving_parts

MOST_VEHICLES = 20
"""Vehicles whose parts turn: each costs several attributes per frame."""
_SPIN, _TURN = "spin", "turn"


def rotor_angles(vehicle: Aircraft, time: float) -> Array:
    """Return the angles of rotors about their axes at a time [s], as if their speeds were constant since 0.

    Args:
        vehicle: The vehicle.
        time: The time [s].

    Returns:
        The angles [rad], shape (N, R).
    """
    angles: Array = np.remainder(vehicle.state.rotor_speed * time, 2 * np.pi) * vehicle.layout.spin
    return angles


class TurningPrims:
    """Prims of a drawn vehicle that turn, by operations in the session layer, which are not saved.

    Parts of a user's USD model may have no pivot; those with a joint turn by `VehicleJoints`.

    Args:
        stage: The stage that holds the vehicle.
        vehicle: The vehicle.
    """

    def __init__(self, stage: Usd.Stage, vehicle: Aircraft) -> None:
        self._vehicle = vehicle
        self.count = min(vehicle.count, MOST_VEHICLES)
        """Number of copies whose parts turn."""
        parts = moving_parts(vehicle.spec)
        names = {part.name: k for k, part in enumerate(parts)}
        rotors = {f"rotor{k}": k for k in range(vehicle.rotor_count)}
        self._spins: list[tuple[int, int, Sdf.AttributeSpec]] = []
        self._turns: list[tuple[int, int, Sdf.AttributeSpec]] = []
        self._motions = Motions(parts)
        self._last = np.zeros((self.count, len(parts), 4, 4))
        if vehicle.spec.usd is not None:
            return
        with unsaved(stage):
            for copy in range(self.count):
                root = stage.GetPrimAtPath(f"{body_path(f'{vehicle.name}/{copy}')}/looks")
                for prim in Usd.PrimRange(root) if root else ():
                    if (rotor := rotors.get(prim.GetName())) is not None:
                        self._spins.append((copy, rotor, _spin(prim)))
                    elif (part := names.get(prim.GetName())) is not None:
                        self._turns.append((copy, part, _turn(prim)))

    def turn(self, time: float, most: int) -> None:
        """Set the angles at a time; see `rotor_angles`.

        Args:
            time: The time [s].
            most: Number of copies to turn at most.
        """
        vehicle, count = self._vehicle, min(self.count, most)
        angles = np.degrees(rotor_angles(vehicle, time)[:count])
        for copy, rotor, value in self._spins:
            if copy < count and not value.expired:
                value.default = float(angles[copy, rotor])
        if not self._turns or not count:
            return
        columns = vehicle.columns["joint_angle"][:count], vehicle.columns["wheel_angle"][:count]
        moved = self._motions.at(np.concatenate(columns, axis=1))
        changed = (moved != self._last[:count]).any(axis=(2, 3)).tolist()
        self._last[:count] = moved
        # Matrices of OpenUSD act on rows.
        rows = moved.swapaxes(2, 3).reshape(*moved.shape[:2], 16).tolist()
        for copy, part, value in self._turns:
            if copy < count and changed[copy][part] and not value.expired:
                value.default = Gf.Matrix4d(*rows[copy][part])


def turn_prims(vehicles: Iterable[TurningPrims], time: float) -> None:
    """Turn the parts of vehicles at a time [s], unsaved.

    Args:
        vehicles: Prims of the vehicles.
        time: The time [s].
    """
    left = MOST_VEHICLES
    with Sdf.ChangeBlock():
        for prims in vehicles:
            prims.turn(time, left)
            left = max(0, left - prims.count)


def _spin(prim: Usd.Prim) -> Sdf.AttributeSpec:
    """Return the value of a rotation about the prim's own z axis [deg], in the session layer."""
    attribute = prim.GetAttribute(f"xformOp:rotateZ:{_SPIN}")
    if not attribute:
        attribute = UsdGeom.Xformable(prim).AddRotateZOp(opSuffix=_SPIN).GetAttr()
    return _unsaved_value(attribute, 0.0)


def _turn(prim: Usd.Prim) -> Sdf.AttributeSpec:
    """Return the value of a motion in the frame above the prim, behind its own transform."""
    attribute = prim.GetAttribute(f"xformOp:transform:{_TURN}")
    if not attribute:
        form = UsdGeom.Xformable(prim)
        own = form.GetOrderedXformOps()
        operation = form.AddTransformOp(opSuffix=_TURN)
        form.SetXformOpOrder([operation, *own])
        attribute = operation.GetAttr()
    return _unsaved_value(attribute, Gf.Matrix4d(1.0))


def _unsaved_value(attribute: Usd.Attribute, first: object) -> Sdf.AttributeSpec:
    """Return the value of an attribute in the session layer, which is faster to set than the attribute."""
    attribute.Set(first)
    return attribute.GetStage().GetSessionLayer().GetAttributeAtPath(attribute.GetPath())
