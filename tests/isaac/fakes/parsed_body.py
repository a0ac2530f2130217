"""Rigid bodies as PhysX parses them from prims."""

import math

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from pegasus.base.frames import matrix_from_quaternion
from pegasus.contracts.engine import RigidBody
from pegasus.scene import translate

# Fallback values of the schema PhysxRigidBodyAPI.
_DEFAULTS = {
    "linearDamping": 0.0,
    "angularDamping": 0.05,
    "maxLinearVelocity": math.inf,
    "maxAngularVelocity": 5729.58,
    "disableGravity": False,
    "enableGyroscopicForces": True,
    "sleepThreshold": 5e-5,
}


class Body:
    """A rigid body as PhysX parses it from a prim."""

    def __init__(self, stage, path, unit):
        prim = stage.GetPrimAtPath(path)
        mass_api = UsdPhysics.MassAPI(prim)
        mass, inertia = mass_api.GetMassAttr().Get(), mass_api.GetDiagonalInertiaAttr().Get()
        if not prim.HasAPI(UsdPhysics.MassAPI) or not mass or inertia is None or not any(inertia):
            raise AssertionError(f"{path}: PhysX would work out mass and inertia from the colliders")
        axes, center = mass_api.GetPrincipalAxesAttr().Get(), mass_api.GetCenterOfMassAttr().Get()
        turn = _quaternion(axes) if axes is not None and axes.GetLength() > 0.5 else np.array([0, 0, 0, 1.0])
        rotation = matrix_from_quaternion(turn)
        diagonal = np.diag(np.array(inertia, dtype=np.float64)) * unit**2
        turned = not np.array_equal(rotation, np.eye(3))
        matrix = (
            UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default()).RemoveScaleShear()
        )
        position = np.array(matrix.ExtractTranslation()) * unit
        # Without a centre of mass PhysX uses the colliders'; Pegasus always authors one.
        offset = (
            np.zeros(3)
            if center is None or not np.isfinite(center[0])
            else np.array(center, dtype=np.float64)
        )
        self.prim = prim
        self.rigid = RigidBody(
            name=path,
            mass=float(mass),
            center_of_mass=offset * unit,
            inertia=rotation @ diagonal @ rotation.T if turned else diagonal,
            colliders=translate(stage, root=path).colliders,
            position=position,
            orientation=_quaternion(matrix.ExtractRotationQuat()),
        )
        api = UsdPhysics.RigidBodyAPI(prim)
        self.start_velocity = np.array(api.GetVelocityAttr().Get() or (0, 0, 0), dtype=np.float64) * unit
        self.start_spin = np.radians(
            np.array(api.GetAngularVelocityAttr().Get() or (0, 0, 0), dtype=np.float64)
        )
        self.force, self.torque = np.zeros(3), np.zeros(3)
        self.handle = self.row = -1
        self.settings = {}

    def setting(self, name):
        if name not in self.settings:
            attribute = self.prim.GetAttribute(f"physxRigidBody:{name}")
            value = attribute.Get() if attribute and has_schema(self.prim, "PhysxRigidBodyAPI") else None
            self.settings[name] = _DEFAULTS[name] if value is None else value
        return self.settings[name]


def has_schema(prim, name):
    """Return whether a schema is applied, also one unknown to OpenUSD, for which `HasAPI` is false."""
    return name in prim.GetPrimTypeInfo().GetAppliedAPISchemas()


def _quaternion(value):
    """Return a Gf quaternion, whose real part comes first, as xyzw."""
    return np.array([*value.GetImaginary(), value.GetReal()], dtype=np.float64)
