"""Rigid bodies as prims: mass properties, colliders, looks, and what PhysX is to leave alone."""

import hashlib
from collections.abc import Sequence

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

from pegasus.arrays import Array, IntArray
from pegasus.engines.engine import RigidBody
from pegasus.errors import ConfigError
from pegasus.frames import quaternion_from_matrix
from pegasus.scene.authoring import collide, label, physics_material
from pegasus.scene.scene import Collider, ColliderShape, PhysicsMaterial

ROOT = "/World"
"""Prim that worlds and vehicles come below."""

# The vehicle's own models do all of this: PhysX adds nothing to them, and never rests a body.
_RIGID_BODY = {
    "physxRigidBody:disableGravity": (Sdf.ValueTypeNames.Bool, True),
    "physxRigidBody:linearDamping": (Sdf.ValueTypeNames.Float, 0.0),
    "physxRigidBody:angularDamping": (Sdf.ValueTypeNames.Float, 0.0),
    "physxRigidBody:maxLinearVelocity": (Sdf.ValueTypeNames.Float, 1e4),
    "physxRigidBody:maxAngularVelocity": (Sdf.ValueTypeNames.Float, 1e5),  # [deg/s]
    "physxRigidBody:sleepThreshold": (Sdf.ValueTypeNames.Float, 0.0),
    "physxRigidBody:stabilizationThreshold": (Sdf.ValueTypeNames.Float, 0.0),
    "physxRigidBody:enableGyroscopicForces": (Sdf.ValueTypeNames.Bool, True),
    "physxRigidBody:solverPositionIterationCount": (Sdf.ValueTypeNames.Int, 8),
    "physxRigidBody:solverVelocityIterationCount": (Sdf.ValueTypeNames.Int, 1),
}
_CONTACT_REPORT = {"physxContactReport:threshold": (Sdf.ValueTypeNames.Float, 0.0)}


def body_path(name: str) -> str:
    """Return the path of the prim of a body, such as /World/iris/body_0 for iris/0.

    Args:
        name: Name of the body: that of its vehicle and its number.
    """
    vehicle, _, number = name.rpartition("/")
    return f"{vehicle_path(vehicle or name)}/body_{number if vehicle else 0}"


def vehicle_path(name: str) -> str:
    """Return the path of the prim that the bodies of a vehicle are below.

    Args:
        name: Name of the vehicle.
    """
    valid = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return f"{ROOT}/{'_' if valid[0].isdigit() else ''}{valid}"


def add_bodies(stage: Usd.Stage, bodies: Sequence[RigidBody], *, scene: str) -> list[str]:
    """Write bodies to a stage, and return the paths of their prims.

    Copies share their colliders and looks, which are written once.

    Args:
        stage: The stage, in metres with z up.
        bodies: The bodies.
        scene: Path of the physics scene that simulates them.

    Raises:
        ConfigError: If a path is taken.
    """
    paths = [body_path(body.name) for body in bodies]
    for body, path in zip(bodies, paths, strict=True):
        taken = stage.GetPrimAtPath(path)
        if taken and not taken.HasAPI(UsdPhysics.RigidBodyAPI):
            raise ConfigError(
                f"the prim {path} of the world is in its place",
                field="name",
                value=body.name,
                remedy="choose another name",
            )
        if paths.count(path) > 1:
            raise ConfigError("names alike give one prim", field="name", value=body.name)
    for body, path in zip(bodies, paths, strict=True):
        UsdGeom.Xform.Define(stage, str(Sdf.Path(path).GetParentPath()))
        _write_body(stage, path, body, scene)
    return paths


def remove_bodies(stage: Usd.Stage, paths: Sequence[str]) -> None:
    """Remove bodies from a stage, and what is left of a vehicle without any.

    Args:
        stage: The stage.
        paths: Paths of their prims; those that are gone already are passed over.
    """
    for path in paths:
        if stage.GetPrimAtPath(path):
            stage.RemovePrim(path)
    for parent in {str(Sdf.Path(path).GetParentPath()) for path in paths}:
        vehicle = stage.GetPrimAtPath(parent)
        if vehicle and not any(child.HasAPI(UsdPhysics.RigidBodyAPI) for child in vehicle.GetChildren()):
            stage.RemovePrim(parent)


def write_pose(stage: Usd.Stage, path: str, position: Array, orientation: Array) -> None:
    """Write the pose of a body.

    Args:
        stage: The stage.
        path: Path of its prim.
        position: Origin of the body frame in the world [m], shape (3,).
        orientation: Unit quaternion xyzw, shape (4,).
    """
    prim = stage.GetPrimAtPath(path)
    x, y, z, w = orientation.tolist()
    prim.GetAttribute("xformOp:translate").Set(Gf.Vec3d(*position.tolist()))
    prim.GetAttribute("xformOp:orient").Set(Gf.Quatd(w, x, y, z))


def show(stage: Usd.Stage, path: str, *, visible: bool) -> None:
    """Show or hide a body in pictures.

    Args:
        stage: The stage.
        path: Path of its prim; one that is gone already is passed over.
        visible: Whether it is seen.
    """
    prim = stage.GetPrimAtPath(path)
    if not prim:
        return
    # Not on the session's layer: what is left there of a deleted body would keep its prim from going.
    word = UsdGeom.Tokens.inherited if visible else UsdGeom.Tokens.invisible
    UsdGeom.Imageable(prim).CreateVisibilityAttr().Set(word)


def principal_axes(inertia: Array) -> tuple[Array, Array]:
    """Return the principal moments of an inertia tensor, shape (3,), and the axes as a rotation, (3, 3).

    Args:
        inertia: Inertia tensor [kg m^2], shape (3, 3).
    """
    if not np.any(inertia - np.diag(np.diagonal(inertia))):
        return np.diagonal(inertia), np.eye(3)
    moments, axes = np.linalg.eigh(inertia)
    return moments, axes * [1.0, 1.0, np.linalg.det(axes)]


def _write_body(stage: Usd.Stage, path: str, body: RigidBody, scene: str) -> None:
    xform = UsdGeom.Xform.Define(stage, path)
    prim = xform.GetPrim()
    if not xform.GetOrderedXformOps():
        xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble)
        xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)
        xform.AddScaleOp().Set(Gf.Vec3f(1.0))
    write_pose(stage, path, body.position, body.orientation)
    prim.GetInherits().SetInherits([_shared(stage, path, body)])
    rigid = UsdPhysics.RigidBodyAPI.Apply(prim)
    rigid.CreateVelocityAttr(Gf.Vec3f(0.0))
    rigid.CreateAngularVelocityAttr(Gf.Vec3f(0.0))
    rigid.CreateSimulationOwnerRel().SetTargets([scene])
    moments, axes = principal_axes(body.inertia)
    x, y, z, w = quaternion_from_matrix(axes).tolist()
    mass = UsdPhysics.MassAPI.Apply(prim)
    mass.CreateMassAttr(float(body.mass))
    mass.CreateCenterOfMassAttr(Gf.Vec3f(*body.center_of_mass.tolist()))
    mass.CreateDiagonalInertiaAttr(Gf.Vec3f(*moments.tolist()))
    mass.CreatePrincipalAxesAttr(Gf.Quatf(w, x, y, z))
    # The schemas of PhysX are not part of OpenUSD; by name they are the same ones.
    for schema, attributes in (
        ("PhysxRigidBodyAPI", _RIGID_BODY),
        ("PhysxContactReportAPI", _CONTACT_REPORT),
    ):
        prim.AddAppliedSchema(schema)
        for name, (kind, value) in attributes.items():
            prim.CreateAttribute(name, kind, custom=False).Set(value)
    label(prim, "multirotor")


def _shared(stage: Usd.Stage, path: str, body: RigidBody) -> Sdf.Path:
    """Return the class prim with the colliders and looks of a body, written if it is not there yet."""
    file = body.appearance() if body.appearance is not None else None
    digest = hashlib.sha256(str(file).encode())
    for collider in body.colliders:
        digest.update(repr((collider.shape, collider.size, collider.approximation)).encode())
        for array in (collider.position, collider.orientation, collider.vertices, collider.faces):
            digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    parent = Sdf.Path(path).GetParentPath()
    place = parent.AppendChild(f"_class_body_{digest.hexdigest()[:12]}")
    if not stage.GetPrimAtPath(place):
        stage.CreateClassPrim(place)
        if file is not None:
            _write_looks(stage, place.AppendChild("looks"), str(file))
        _write_colliders(stage, place, body.colliders)
    return place


def _write_looks(stage: Usd.Stage, path: Sdf.Path, file: str) -> None:
    """Reference a vehicle's USD for its looks only: mass, colliders and joints in it are switched off."""
    prim = UsdGeom.Xform.Define(stage, path).GetPrim()
    prim.GetReferences().AddReference(file)
    # The body frame is that of the default prim, wherever that stands in its own file.
    UsdGeom.Xformable(prim).SetXformOpOrder([])
    for part in Usd.PrimRange(prim, Usd.PrimAllPrimsPredicate):
        if part.IsInstanceable():
            part.SetInstanceable(False)
    for part in list(Usd.PrimRange(prim, Usd.PrimAllPrimsPredicate)):
        if part.IsA(UsdPhysics.Joint):
            part.SetActive(False)
            continue
        for schema in (
            UsdPhysics.RigidBodyAPI,
            UsdPhysics.MassAPI,
            UsdPhysics.CollisionAPI,
            UsdPhysics.ArticulationRootAPI,
        ):
            if part.HasAPI(schema):
                part.RemoveAPI(schema)


def _write_colliders(stage: Usd.Stage, place: Sdf.Path, colliders: Sequence[Collider]) -> None:
    contacts: dict[PhysicsMaterial, UsdShade.Material] = {}
    for index, collider in enumerate(colliders):
        if collider.material not in contacts:
            path = str(place.AppendChild(f"contact_{len(contacts)}"))
            contacts[collider.material] = physics_material(stage, path, collider.material)
        prim = _write_shape(stage, str(place.AppendChild(f"collider_{index}")), collider)
        UsdGeom.Imageable(prim).CreatePurposeAttr(UsdGeom.Tokens.guide)
        collide(prim, contacts[collider.material])


def _write_shape(stage: Usd.Stage, path: str, collider: Collider) -> Usd.Prim:
    """Write one shape, posed in the body frame."""
    scale: Sequence[float] = (1.0, 1.0, 1.0)
    schema: UsdGeom.Gprim
    if collider.shape is ColliderShape.BOX:
        schema = UsdGeom.Cube.Define(stage, path)
        schema.CreateSizeAttr(2.0)
        scale = collider.size
    elif collider.shape is ColliderShape.SPHERE:
        schema = UsdGeom.Sphere.Define(stage, path)
        schema.CreateRadiusAttr(collider.size[0])
    elif collider.shape in (ColliderShape.CAPSULE, ColliderShape.CYLINDER):
        kind = UsdGeom.Capsule if collider.shape is ColliderShape.CAPSULE else UsdGeom.Cylinder
        schema = kind.Define(stage, path)
        schema.CreateRadiusAttr(collider.size[0])
        schema.CreateHeightAttr(2.0 * collider.size[1])
        schema.CreateAxisAttr(UsdGeom.Tokens.z)
    elif collider.shape is ColliderShape.PLANE:
        schema = UsdGeom.Plane.Define(stage, path)
        schema.CreateAxisAttr(UsdGeom.Tokens.z)
    else:
        schema = _write_mesh(stage, path, collider)
    x, y, z, w = collider.orientation.tolist()
    schema.AddTranslateOp().Set(Gf.Vec3d(*collider.position.tolist()))
    schema.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(w, x, y, z))
    schema.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*scale))
    return schema.GetPrim()


def _write_mesh(stage: Usd.Stage, path: str, collider: Collider) -> UsdGeom.Mesh:
    """Write a mesh, or an ellipsoid, which PhysX does not know, as the hull of points on it."""
    if collider.shape is ColliderShape.ELLIPSOID:
        vertices, faces = _ellipsoid(collider.size)
        approximation = "convexHull"
    else:
        assert collider.vertices is not None
        assert collider.faces is not None
        vertices, faces = collider.vertices, collider.faces.astype(np.int64)
        # PhysX moves no bare triangles.
        approximation = "convexDecomposition" if collider.approximation == "none" else collider.approximation
    schema = UsdGeom.Mesh.Define(stage, path)
    schema.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.asarray(vertices, dtype=np.float32)))
    schema.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, dtype=np.int32)))
    indices = np.ascontiguousarray(faces, dtype=np.int32).ravel()
    schema.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(indices))
    schema.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    UsdPhysics.MeshCollisionAPI.Apply(schema.GetPrim()).CreateApproximationAttr(approximation)
    return schema


def _ellipsoid(half_axes: Sequence[float]) -> tuple[Array, IntArray]:
    """Return an ellipsoid as triangles, 16 around and 8 from pole to pole."""
    around, along = 16, 8
    polar = np.pi * np.arange(along + 1)[:, None] / along
    azimuth = 2 * np.pi * np.arange(around) / around
    points = np.stack(
        [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar) + 0 * azimuth],
        axis=-1,
    ).reshape(-1, 3)
    row, column = (index.ravel() for index in np.mgrid[:along, :around])
    a, b = row * around + column, row * around + (column + 1) % around
    lower, right = a + around, b + around
    faces = np.concatenate([np.stack([a, lower, b], axis=1), np.stack([b, lower, right], axis=1)])
    return points * half_axes, faces
