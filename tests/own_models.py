"""Custom USD models of vehicles."""

from pathlib import Path

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics

PLACES = [(0.2, -0.2, 0.05), (-0.2, 0.2, 0.05), (0.2, 0.2, 0.05), (-0.2, -0.2, 0.05)]
"""Rotors of the model, in the body frame [m]."""


def blades(count: int, center: tuple[float, float, float], *, radius: float = 0.12) -> tuple[list, list]:
    """Return the corners and faces of thin blades around a point."""
    points, faces = [], []
    for k in range(count):
        a = 2 * np.pi * k / count + 0.3
        along, across = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0])
        corners = [0.01 * across, along * radius + 0.005 * across, along * radius, -0.01 * across]
        faces += [[4 * k, 4 * k + 1, 4 * k + 2], [4 * k, 4 * k + 2, 4 * k + 3]]
        points += [tuple(np.asarray(center) + corner) for corner in corners]
    return points, faces


def write_model(
    path: Path, *, unit: float = 1.0, y_up: bool = False, pivots: bool = True, count: int = 2
) -> Usd.Stage:
    """Write a quadrotor that is translated and rotated against the stage's origin."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y if y_up else UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, unit)

    def to_stage(point: tuple[float, float, float]) -> Gf.Vec3f:
        x, y, z = (value / unit for value in point)
        return Gf.Vec3f(x, z, -y) if y_up else Gf.Vec3f(x, y, z)

    root = UsdGeom.Xform.Define(stage, "/Drone")
    root.AddTranslateOp().Set(Gf.Vec3d(3 / unit, 4 / unit, 5 / unit))
    root.AddRotateXYZOp().Set(Gf.Vec3f(0, 40, 0) if y_up else Gf.Vec3f(0, 0, 40))
    stage.SetDefaultPrim(root.GetPrim())
    UsdGeom.Xform.Define(stage, "/Drone/frame")
    hull = UsdGeom.Cube.Define(stage, "/Drone/frame/hull")
    hull.CreateSizeAttr(0.16 / unit)
    UsdPhysics.CollisionAPI.Apply(hull.GetPrim())
    for k, place in enumerate(PLACES):
        rotor = UsdGeom.Xform.Define(stage, f"/Drone/frame/rotor_{k}")
        if pivots:
            rotor.AddTranslateOp().Set(Gf.Vec3d(to_stage(place)))
        points, faces = blades(count, (0, 0, 0) if pivots else place)
        mesh = UsdGeom.Mesh.Define(stage, f"/Drone/frame/rotor_{k}/blades")
        mesh.CreatePointsAttr([to_stage(point) for point in points])
        mesh.CreateFaceVertexCountsAttr([3] * len(faces))
        mesh.CreateFaceVertexIndicesAttr([i for face in faces for i in face])
    stage.Save()
    return stage
