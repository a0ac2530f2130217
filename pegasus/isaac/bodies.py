"""Prims of rigid bodies: mass properties, colliders, appearance and physics attributes."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

from pegasus.base.arrays import Array, IntArray
from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_matrix
from pegasus.contracts.engine import RigidBody
from pegasus.core.aircraft import Aircraft
from pegasus.isaac import kit
from pegasus.isaac.session_layer import unsaved
from pegasus.scene.authoring import collide, label, physics_material
from pegasus.scene.scene import Collider, ColliderShape, PhysicsMaterial

ROOT = "/World"
"""Parent prim of worlds and vehicles."""

# The vehicle's own models compute gravity and drag: PhysX adds none, and no body is put to sleep.
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
    """Return the prim path of a body by its name, such as /World/iris/body_0 for iris/0."""
    vehicle, _, number = name.rpartition("/")
    return f"{vehicle_path(vehicle or name)}/body_{number if vehicle else 0}"


def vehicle_path(name: str) -> str:
    """Return the prim path of a vehicle by its name: the parent of its bodies."""
    valid = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return f"{ROOT}/{'_' if valid[0].isdigit() else ''}{valid}"


def add_bodies(stage: Usd.Stage, bodies: Sequence[RigidBody], *, scene: str) -> list[str]:
    """Add bodies to a stage, and return their prim paths.

    Copies share their colliders and appearance, which are written once.

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
                f"the world has a prim at {path} already",
                field="name",
                value=body.name,
                remedy="choose another name",
            )
        if paths.count(path) > 1:
            raise ConfigError("equals another name in its prim path", field="name", value=body.name)
    for body, path in zip(bodies, paths, strict=True):
        UsdGeom.Xform.Define(stage, str(Sdf.Path(path).GetParentPath()))
        _write_body(stage, path, body, scene)
    return paths


def remove_bodies(stage: Usd.Stage, paths: Sequence[str]) -> None:
    """Remove bodies by their prim paths, if they exist, and vehicles without any body left."""
    for path in paths:
        remove_prim(stage, path)
    for parent in {str(Sdf.Path(path).GetParentPath()) for path in paths}:
        vehicle = stage.GetPrimAtPath(parent)
        if vehicle and not any(child.HasAPI(UsdPhysics.RigidBodyAPI) for child in vehicle.GetChildren()):
            remove_prim(stage, parent)


def remove_prim(stage: Usd.Stage, path: str) -> None:
    """Remove a prim, if it exists, with its values in the session layer, which would keep it."""
    with unsaved(stage):
        stage.RemovePrim(path)
    if stage.GetPrimAtPath(path):
        stage.RemovePrim(path)


def set_pose(prim: Usd.Prim, position: ArrayLike, orientation: ArrayLike) -> None:
    """Set the pose of a prim in its parent's frame.

    Args:
        prim: The prim, whose transform is a translation and an orientation in double precision.
        position: Its origin [m], shape (3,).
        orientation: Unit quaternion xyzw, shape (4,).
    """
    x, y, z, w = np.asarray(orientation, dtype=np.float64).tolist()
    prim.GetAttribute("xformOp:translate").Set(Gf.Vec3d(*np.asarray(position, dtype=np.float64).tolist()))
    prim.GetAttribute("xformOp:orient").Set(Gf.Quatd(w, x, y, z))


def show(stage: Usd.Stage, path: str, *, visible: bool) -> None:
    """Show or hide the body with a prim path in images, if it exists."""
    prim = stage.GetPrimAtPath(path)
    if not prim:
        return
    # Not on the session layer: remains there would keep the prim of a deleted body alive.
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
    set_pose(prim, body.position, body.orientation)
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
    """Return the class prim with the colliders and appearance of a body, written on first use."""
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
            write_looks(stage, place.AppendChild("looks"), str(file))
        write_colliders(stage, place, body.colliders)
    return place


def write_looks(stage: Usd.Stage, path: Sdf.Path, file: str) -> None:
    """Reference a vehicle's USD for its appearance only: remove its masses, colliders and joints."""
    prim = UsdGeom.Xform.Define(stage, path).GetPrim()
    prim.GetReferences().AddReference(file)
    # The body frame is that of the default prim, without its transform in the file.
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


def write_colliders(stage: Usd.Stage, place: Sdf.Path, colliders: Sequence[Collider]) -> None:
    """Write the colliders of a body below its prim, as guides."""
    contacts: dict[PhysicsMaterial, UsdShade.Material] = {}
    for index, collider in enumerate(colliders):
        if collider.material not in contacts:
            path = str(place.AppendChild(f"contact_{len(contacts)}"))
            contacts[collider.material] = physics_material(stage, path, collider.material)
        prim = _write_shape(stage, str(place.AppendChild(f"collider_{index}")), collider)
        UsdGeom.Imageable(prim).CreatePurposeAttr(UsdGeom.Tokens.guide)
        collide(prim, contacts[collider.material])


def _write_shape(stage: Usd.Stage, path: str, collider: Collider) -> Usd.Prim:
    """Write a collider with its pose in the body frame."""
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
    """Write a mesh; an ellipsoid, which PhysX does not have, becomes a convex hull."""
    if collider.shape is ColliderShape.ELLIPSOID:
        vertices, faces = _ellipsoid(collider.size)
        approximation = "convexHull"
    else:
        assert collider.vertices is not None
        assert collider.faces is not None
        vertices, faces = collider.vertices, collider.faces.astype(np.int64)
        # PhysX has no moving triangle meshes.
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
    """Return an ellipsoid as triangles: 16 segments around the axis, 8 from pole to pole."""
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


def body_of(vehicle: Aircraft, copy: int) -> str:
    """Return the prim path of the body of a vehicle's copy.

    Raises:
        ConfigError: If it is not on the stage.
    """
    stage, path = kit.stage(), body_path(f"{vehicle.name}/{copy}")
    if stage is None or not stage.GetPrimAtPath(path):
        raise ConfigError(
            "is not on the open stage",
            field="vehicle",
            value=vehicle.name,
            remedy="add it to a simulation on Isaac Sim first",
        )
    return path


def free_path(stage: Usd.Stage, path: str) -> str:
    """Return a prim path, with a number appended if it is taken."""
    import omni.usd

    return str(omni.usd.get_stage_next_free_path(stage, path, False))


def define_mount(stage: Usd.Stage, path: str) -> Usd.Prim:
    """Return a new prim with translation and orientation, to which other prims are attached."""
    mount = UsdGeom.Xform.Define(stage, path)
    mount.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble)
    mount.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)
    return mount.GetPrim()
