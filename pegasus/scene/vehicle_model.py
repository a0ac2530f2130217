"""A user's own model of a vehicle: its rotors by prim, and its mass properties where they are authored."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.frames import matrix_from_quaternion
from pegasus.scene.colliders import take_apart
from pegasus.scene.notices import Notices
from pegasus.scene.scene import Scene
from pegasus.scene.stage import TIME, open_stage, stage_frame
from pegasus.scene.translation import translate

_ROTOR_NAME = re.compile(r"(?:^|_)(?:rotor|prop|propeller)_?(\d+)(?:_|$)", re.IGNORECASE)
_NO_PIVOT = 1e-4
"""Distance from the body's origin up to which a prim counts as having no pivot of its own [m]."""


@dataclass(frozen=True, eq=False)
class RotorPrim:
    """A rotor of a model, in the body frame: metres, z up."""

    path: str
    """Path of the prim."""
    position: Array
    """Centre of the rotor [m], shape (3,)."""
    axis: Array
    """Unit direction of its up axis, shape (3,)."""


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass properties as UsdPhysicsMassAPI has them, in the body frame."""

    mass: float
    """Mass [kg]."""
    center_of_mass: Array
    """Centre of mass [m], shape (3,)."""
    inertia: Array | None
    """Inertia about the centre of mass [kg m^2], shape (3, 3); None where it is not authored in full."""


class VehicleModel:
    """The stage of a user's own model, posed in the frame of its default prim.

    Args:
        file: A USD file.

    Raises:
        ConfigError: If the file does not exist, does not parse or holds no geometry.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.stage = open_stage(file)
        root = self.stage.GetDefaultPrim()
        self.root = root if root else self.stage.GetPseudoRoot()
        """Prim that is the body."""
        self._frame = stage_frame(self.stage, Notices())
        self._transforms = UsdGeom.XformCache(TIME)
        placement = take_apart(self._to_stage(self.root))
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = placement.rotation, placement.position
        self._body = np.linalg.inv(pose)
        self._scene: Scene | None = None

    @property
    def rotor_names(self) -> list[str]:
        """Paths, below the default prim, of what is named like a rotor (rotor0, Prop_1, ...), by number."""
        found: dict[str, int] = {}
        for prim in self._prims():
            number = _ROTOR_NAME.search(prim.GetName())
            path = str(prim.GetPath())
            inside = any(path.startswith(f"{other}/") for other in found)
            if number and prim.IsA(UsdGeom.Imageable) and not inside:
                found[path] = int(number.group(1))
        return [self._below(path) for path in sorted(found, key=lambda path: found[path])]

    def rotor(self, name: str) -> RotorPrim:
        """Return a rotor by its prim.

        Its centre is the prim's origin. A prim whose origin is that of the body has no pivot of its own;
        then it is the centroid of the prim's surface, which is on the axis for any number of blades.

        Args:
            name: Name of a prim below the default prim, its path below that prim, or its full path.

        Raises:
            ConfigError: If there is no such prim, or several, or it has neither pivot nor surface.
        """
        prim = self._find(name)
        transform = self._frame.convert(self._body @ self._to_stage(prim))
        up = transform[:3, :3] @ self._frame.rotation.T @ (0.0, 0.0, 1.0)
        path, position = str(prim.GetPath()), transform[:3, 3]
        if np.abs(position).max() < _NO_PIVOT:
            position = self._centroid(path)
        return RotorPrim(path, position, up / np.sqrt(up @ up))

    def radius(self, rotor: RotorPrim) -> float:
        """Return how far a rotor's surface reaches from its axis [m].

        Args:
            rotor: A rotor of this model.
        """
        corners = np.concatenate([points.reshape(-1, 3) for points in self._triangles(rotor.path)])
        spokes = corners - rotor.position
        spokes -= (spokes @ rotor.axis)[:, None] * rotor.axis
        return float(np.sqrt((spokes * spokes).sum(axis=1).max()))

    def mass_properties(self) -> MassProperties | None:
        """Return what UsdPhysicsMassAPI says of the body; None if no mass is authored.

        The default prim's own mass stands for all; else the prims that have a mass are put together.
        """
        root = self._mass_of(self.root)
        parts = [root] if root else [part for prim in self._prims() if (part := self._mass_of(prim))]
        if not parts:
            return None
        mass = sum(part.mass for part in parts)
        center = np.sum([part.mass * part.center_of_mass for part in parts], axis=0) / mass
        inertia = np.zeros((3, 3))
        for part in parts:
            if part.inertia is None:
                return MassProperties(mass, center, None)
            d = part.center_of_mass - center
            inertia += part.inertia + part.mass * ((d @ d) * np.eye(3) - np.outer(d, d))
        return MassProperties(mass, center, inertia)

    def _mass_of(self, prim: Usd.Prim) -> MassProperties | None:
        if not prim.HasAPI(UsdPhysics.MassAPI):
            return None
        schema = UsdPhysics.MassAPI(prim)
        mass = float(schema.GetMassAttr().Get(TIME) or 0.0) * UsdPhysics.GetStageKilogramsPerUnit(self.stage)
        if not mass > 0:
            return None
        transform = self._body @ self._to_stage(prim)
        meters = self._frame.meters_per_unit
        center = np.asarray(schema.GetCenterOfMassAttr().Get(TIME), dtype=np.float64)
        if not np.isfinite(center).all():
            center = np.zeros(3)
        center = self._frame.rotation @ (transform @ [*center, 1.0])[:3] * meters
        moments = np.asarray(schema.GetDiagonalInertiaAttr().Get(TIME), dtype=np.float64)
        if not moments.any():
            return MassProperties(mass, center, None)
        axes = schema.GetPrincipalAxesAttr().Get(TIME)
        quaternion = np.array([*axes.GetImaginary(), axes.GetReal()], dtype=np.float64)
        rotation = self._frame.rotation @ take_apart(transform).rotation
        if quaternion.any():
            rotation = rotation @ matrix_from_quaternion(quaternion / np.sqrt(quaternion @ quaternion))
        scale = UsdPhysics.GetStageKilogramsPerUnit(self.stage) * meters**2
        return MassProperties(mass, center, rotation @ np.diag(moments * scale) @ rotation.T)

    def _find(self, name: str) -> Usd.Prim:
        prim = self.stage.GetPrimAtPath(name if name.startswith("/") else f"{self._prefix}/{name}")
        if prim:
            return prim
        named = [prim for prim in self._prims() if prim.GetName() == name]
        if len(named) == 1:
            return named[0]
        if named:
            known = ", ".join(self._below(str(prim.GetPath())) for prim in named)
            raise ConfigError(
                f"several prims of {self.file} have this name: {known}", value=name, remedy="give the path"
            )
        known = ", ".join(self.rotor_names) or "none"
        raise ConfigError(
            f"no such prim below {self._prefix or '/'} in {self.file}; named like rotors are {known}",
            value=name,
            remedy="correct the name, or give the rotor's position in place of prim",
        )

    def _centroid(self, path: str) -> Array:
        """Return the centroid of the surface of a prim, shape (3,)."""
        weights, centers = [np.zeros(1)], [np.zeros((1, 3))]
        for corners in self._triangles(path):
            normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            weights.append(np.sqrt((normals * normals).sum(axis=1)))
            centers.append(corners.mean(axis=1))
        weight = np.concatenate(weights)
        if not weight.sum() > 0:
            raise ConfigError(
                f"the prim has neither a pivot off the body's origin nor a surface in {self.file}",
                value=path,
                remedy="name the prim that holds the blades, or give the rotor's position",
            )
        centroid: Array = weight @ np.concatenate(centers) / weight.sum()
        return centroid

    def _triangles(self, path: str) -> list[Array]:
        """Return the triangles below a prim in the body frame, each item of shape (F, 3, 3)."""
        if self._scene is None:
            self._scene = translate(self.stage, root=str(self.root.GetPath()))
        found = []
        for item in self._scene.instances:
            if item.path == path or item.path.startswith(f"{path}/"):
                geometry = self._scene.geometries[item.geometry]
                vertices = geometry.vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
                found.append(vertices[geometry.faces])
        return found

    def _prims(self) -> Usd.PrimRange:
        return Usd.PrimRange(self.root, Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate))

    def _to_stage(self, prim: Usd.Prim) -> Array:
        return np.asarray(self._transforms.GetLocalToWorldTransform(prim), dtype=np.float64).T

    @property
    def _prefix(self) -> str:
        return str(self.root.GetPath()).rstrip("/")

    def _below(self, path: str) -> str:
        return path.removeprefix(f"{self._prefix}/")
