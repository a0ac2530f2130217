"""Joints of a vehicle's own USD model, such as those of a gimbal or a gripper.

PhysX has one body for a vehicle, with the mass properties of the vehicle's file, so joints have no dynamics:
a part takes the pose of its joint's target at once. Joints of rotors take the angles of the rotors, and those
named like joints of the vehicle's file, such as the tilt of a nacelle, their angles.
"""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.frames import (
    inverse_transform,
    matrix_from_quaternion,
    quaternion_from_rotation_vector,
)
from pegasus.config.rotor_specs import rotor_of
from pegasus.core.aircraft import Aircraft
from pegasus.isaac import kit
from pegasus.isaac.bodies import body_of
from pegasus.isaac.session_layer import unsaved
from pegasus.scene.vehicle_asset import VehicleModel

_log = logging.getLogger(__name__)

_OPERATION = "xformOp:transform:joint"
_TARGET = "pegasus:jointTarget"
"""Attribute of a joint's prim with its target [rad] or [m]."""
_MASS_TOLERANCE = 1e-3
"""Relative difference of the masses of a model and its vehicle's file that is not worth a warning."""


@dataclass(frozen=True, eq=False)
class Joint:
    """Joint of a vehicle's model with one degree of freedom."""

    name: str
    """Name of its prim, or its path below the model's default prim if several have that name."""
    is_revolute: bool
    """It turns; else it slides."""
    lower: float
    """Lower limit [rad] or [m]; minus infinity without one."""
    upper: float
    """Upper limit [rad] or [m]; infinity without one."""
    rotor: int | None
    """Index of the rotor that turns with it; None if it is not that of a rotor."""
    axis: Array
    """Axis in the frame of the joint, shape (3,)."""
    path: Sdf.Path
    """Path of its prim."""
    parent: Sdf.Path
    """Path of the part that carries it."""
    child: Sdf.Path
    """Path of the part that it moves."""
    on_parent: Array
    """Frame of the joint on the part that carries it, shape (4, 4)."""
    on_child: Array
    """Frame of the joint on the part that it moves, shape (4, 4)."""
    rest: float
    """Position in the model as it is drawn [rad] or [m]."""


class VehicleJoints:
    """Joints of the model of a vehicle's copy on the stage.

    Targets and poses are in the session layer of the stage, so they are not saved.

    Args:
        vehicle: The vehicle, which is on the open stage.
        copy: Number of the copy.

    Raises:
        ConfigError: If it is not on the open stage.
    """

    def __init__(self, vehicle: Aircraft, copy: int = 0) -> None:
        stage = kit.stage()
        path = Sdf.Path(body_of(vehicle, copy)).AppendChild("looks")
        assert stage is not None
        self._stage, self._root = stage, stage.GetPrimAtPath(path)
        self._meters = 1.0
        self._cache = UsdGeom.XformCache()
        self._rest: dict[Sdf.Path, Array] = {}
        self._angles: dict[str, float] = {}
        self._joints = self._found(vehicle)
        rotors, hinges = vehicle.layout.axis, list(vehicle.spec.joints)
        axes = [*rotors, *(np.array(joint.axis) for joint in vehicle.spec.joints.values())]
        self._driven: list[tuple[Joint, int, float]] = []
        for joint in self._joints.values():
            place = joint.rotor
            if place is None and joint.is_revolute and joint.name in hinges:
                place = len(rotors) + hinges.index(joint.name)
            if place is not None:
                sense = 1.0 if self._direction(joint) @ axes[place] > 0 else -1.0
                self._driven.append((joint, place, sense))

    @property
    def joints(self) -> Mapping[str, Joint]:
        """Joints that can be set, by name: all but those of rotors, and those that the vehicle's file has."""
        driven = [joint.name for joint, _, _ in self._driven]
        return {name: joint for name, joint in self._joints.items() if name not in driven}

    @property
    def targets(self) -> Mapping[str, float]:
        """Targets of the joints that can be set [rad] or [m], by name."""
        return {name: self._target(joint) for name, joint in self.joints.items()}

    def set_targets(self, **targets: float) -> None:
        """Set the targets of joints by name, and pose their parts.

        Args:
            **targets: Angles [rad] of joints that turn, positions [m] of those that slide.

        Raises:
            ConfigError: If there is no such joint, or a target is not within the limits of its joint.
        """
        known = self.joints
        for name, value in targets.items():
            require(name in known, "joint", name, f"is not one of {', '.join(known) or 'no joints'}")
            joint = known[name]
            allowed = f"must be from {joint.lower:g} to {joint.upper:g} {'rad' if joint.is_revolute else 'm'}"
            require(joint.lower <= value <= joint.upper, name, value, allowed)
        with unsaved(self._stage):
            for name, value in targets.items():
                prim = self._stage.GetPrimAtPath(known[name].path)
                prim.CreateAttribute(_TARGET, Sdf.ValueTypeNames.Double).Set(value)
        self._pose()

    def turn(self, rotors: Array, joints: Array) -> None:
        """Turn the parts of the joints of rotors, and of those named like joints of the vehicle's file.

        Args:
            rotors: Angles of the rotors about their axes [rad], shape (R,).
            joints: Angles of the joints of the vehicle's file [rad], shape (J,).
        """
        angles = [*rotors.tolist(), *joints.tolist()]
        for joint, place, sense in self._driven:
            self._angles[joint.name] = joint.rest + sense * angles[place]
        if self._driven and self._root:
            self._pose()

    def _target(self, joint: Joint) -> float:
        """Return the target of a joint [rad] or [m]: its position in the model until one is set."""
        if joint.name in self._angles:
            return self._angles[joint.name]
        attribute = self._stage.GetAttributeAtPath(joint.path.AppendProperty(_TARGET))
        return float(attribute.Get()) if attribute else joint.rest

    def _found(self, vehicle: Aircraft) -> dict[str, Joint]:
        """Return the joints below the root by name, those that carry others first."""
        layer = Sdf.Layer.FindOrOpen(str(vehicle.usd_file()))
        file_root, rotors = f"/{layer.defaultPrim}", vehicle.spec.rotor_list()
        self._meters = UsdGeom.GetStageMetersPerUnit(Usd.Stage.Open(layer, load=Usd.Stage.LoadNone))
        prims = [
            prim
            for prim in Usd.PrimRange(self._root, Usd.PrimAllPrimsPredicate)
            if prim.IsA(UsdPhysics.RevoluteJoint) or prim.IsA(UsdPhysics.PrismaticJoint)
        ]
        names = [prim.GetName() for prim in prims]
        found = []
        for prim in prims:
            below = str(prim.GetPath().MakeRelativePath(self._root.GetPath()))
            name = prim.GetName() if names.count(prim.GetName()) == 1 else below
            schema = UsdPhysics.Joint(prim)
            children = schema.GetBody1Rel().GetTargets()
            parents = schema.GetBody0Rel().GetTargets() or [self._root.GetPath()]
            if children and self._stage.GetPrimAtPath(children[0]):
                child = file_root + str(children[0]).removeprefix(str(self._root.GetPath()))
                found.append(self._joint(prim, name, parents[0], children[0], rotor_of(child, rotors)))
        ordered: dict[str, Joint] = {}
        while found:
            ready = [j for j in found if not any(j.parent.HasPrefix(o.child) for o in found)] or found
            ordered |= {joint.name: joint for joint in ready}
            found = [joint for joint in found if joint.name not in ordered]
        return ordered

    def _joint(
        self, prim: Usd.Prim, name: str, parent: Sdf.Path, child: Sdf.Path, rotor: int | None
    ) -> Joint:
        turns = prim.IsA(UsdPhysics.RevoluteJoint)
        schema = UsdPhysics.RevoluteJoint(prim) if turns else UsdPhysics.PrismaticJoint(prim)
        axis = np.eye(3)["XYZ".index(str(schema.GetAxisAttr().Get()))]
        unit = np.pi / 180.0 if turns else self._meters
        on_parent = self._frame(schema.GetLocalPos0Attr(), schema.GetLocalRot0Attr(), parent)
        on_child = self._frame(schema.GetLocalPos1Attr(), schema.GetLocalRot1Attr(), child)
        moved = inverse_transform(self._rigid(parent) @ on_parent) @ self._rigid(child) @ on_child
        if turns:
            i, j = (int(np.argmax(axis)) + 1) % 3, (int(np.argmax(axis)) + 2) % 3
            rest = float(np.arctan2(moved[j, i], moved[i, i]))
        else:
            rest = float(axis @ moved[:3, 3]) * self._meters
        lower, upper = (
            float(limit.Get()) for limit in (schema.GetLowerLimitAttr(), schema.GetUpperLimitAttr())
        )
        return Joint(
            name=name,
            is_revolute=turns,
            lower=lower * unit,
            upper=upper * unit,
            rotor=rotor,
            axis=axis,
            path=prim.GetPath(),
            parent=parent,
            child=child,
            on_parent=on_parent,
            on_child=on_child,
            rest=rest,
        )

    def _frame(self, position: Usd.Attribute, rotation: Usd.Attribute, part: Sdf.Path) -> Array:
        """Return a frame on a part, shape (4, 4)."""
        made, turn = np.eye(4), rotation.Get()
        made[:3, :3] = matrix_from_quaternion(np.array([*turn.GetImaginary(), turn.GetReal()]))
        scale = np.linalg.norm(self._drawn(part)[:3, :3], axis=0)
        made[:3, 3] = np.asarray(position.Get()) * scale
        return made

    def _drawn(self, path: Sdf.Path) -> Array:
        """Return the transform of a part to the model as it is drawn, shape (4, 4)."""
        if path not in self._rest:
            prim = self._stage.GetPrimAtPath(path)
            to_world = [np.array(self._cache.GetLocalToWorldTransform(each)).T for each in (self._root, prim)]
            self._rest[path] = inverse_transform(to_world[0]) @ to_world[1]
        return self._rest[path]

    def _rigid(self, path: Sdf.Path) -> Array:
        """Return that transform without its scale."""
        drawn = self._drawn(path).copy()
        drawn[:3, :3] /= np.linalg.norm(drawn[:3, :3], axis=0)
        return drawn

    def _direction(self, joint: Joint) -> Array:
        """Return the axis of a joint in the frame of the model, shape (3,)."""
        axis: Array = (self._rigid(joint.parent) @ joint.on_parent)[:3, :3] @ joint.axis
        return axis

    def _pose(self) -> None:
        """Write the poses of all parts by the targets."""
        moved: dict[Sdf.Path, Array] = {}

        def place(path: Sdf.Path) -> Array:
            """Return the transform of a prim to the model, with the parts above it moved."""
            above = max((other for other in moved if path.HasPrefix(other)), key=_depth, default=None)
            if above is None:
                return self._drawn(path)
            part: Array = moved[above] @ inverse_transform(self._drawn(above)) @ self._drawn(path)
            return part

        for joint in self._joints.values():
            carried = (
                place(joint.parent) @ inverse_transform(self._drawn(joint.parent)) @ self._rigid(joint.parent)
            )
            motion = self._motion(joint, self._target(joint))
            rigid = carried @ joint.on_parent @ motion @ inverse_transform(joint.on_child)
            moved[joint.child] = (
                rigid @ inverse_transform(self._rigid(joint.child)) @ self._drawn(joint.child)
            )
        with unsaved(self._stage):
            for path, pose in moved.items():
                above = path.GetParentPath()
                local = inverse_transform(place(above)) @ pose
                prim = UsdGeom.Xformable(self._stage.GetPrimAtPath(path))
                if not prim.GetPrim().HasAttribute(_OPERATION):
                    prim.AddTransformOp(opSuffix="joint")
                    prim.GetPrim().GetAttribute("xformOpOrder").Set([_OPERATION])
                prim.GetPrim().GetAttribute(_OPERATION).Set(Gf.Matrix4d(local.T.tolist()))

    def _motion(self, joint: Joint, target: float) -> Array:
        """Return the motion of a joint to a target in its own frame, shape (4, 4)."""
        made = np.eye(4)
        if joint.is_revolute:
            made[:3, :3] = matrix_from_quaternion(quaternion_from_rotation_vector(target * joint.axis))
        else:
            made[:3, 3] = joint.axis * target / self._meters
        return made


def _depth(path: Sdf.Path) -> int:
    """Return the number of prims of a path."""
    return int(path.pathElementCount)


def warn_of_differences(vehicle: Aircraft) -> None:
    """Log which joints of a vehicle's custom USD model do not move, and whether its masses are others."""
    model = VehicleModel(vehicle.usd_file())
    joints = [prim for prim in Usd.PrimRange(model.root) if prim.IsA(UsdPhysics.Joint)]
    kinds = (UsdPhysics.RevoluteJoint, UsdPhysics.PrismaticJoint, UsdPhysics.FixedJoint)
    if others := [prim.GetName() for prim in joints if not any(prim.IsA(kind) for kind in kinds)]:
        _log.warning(
            "vehicle %r: joints that neither turn nor slide stay as they are drawn: %s",
            vehicle.name,
            ", ".join(others),
        )
    parts = model.mass_properties()
    if joints and parts is not None and not math.isclose(parts.mass, vehicle.mass, rel_tol=_MASS_TOLERANCE):
        _log.warning(
            "vehicle %r: the parts of its model have %.4g kg together, but it flies with the %.4g kg of its "
            "file, which must include them",
            vehicle.name,
            parts.mass,
            vehicle.mass,
        )
