"""Vehicle assets: drawn airframes, and custom USD models with rotors and mass properties."""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.config.rotor_specs import RotorPrimSpec, RotorRing, RotorSpec, rotor_of
from pegasus.config.scenario import VehicleSpec
from pegasus.scene.airframe import CONTACT, build_vehicle_stage, feet_height
from pegasus.scene.colliders import decompose, lowest_point, reach
from pegasus.scene.gltf import usd_file
from pegasus.scene.scene import Collider, ColliderShape, Rolling, Scene
from pegasus.scene.stage import TIME, Notices, cached_file, open_stage, stage_frame
from pegasus.scene.translation import translate


class VehicleAsset:
    """Geometry, colliders and USD file of a vehicle, in its body frame.

    Args:
        spec: The vehicle.
        file: Its YAML file, which the path of its USD file is relative to; None where it has none.

    Raises:
        ConfigError: If its USD file or a prim of it does not exist or cannot be translated.
    """

    def __init__(self, spec: VehicleSpec, file: Path | None) -> None:
        self._source = file or Path()
        self.spec = place_rotors(spec, self._source)
        """The vehicle with a position for each rotor."""
        self.scene = vehicle_scene(self.spec, self._source)
        """Geometry and colliders, without its wheels."""
        self.colliders = [*self.scene.colliders, *_wheels(self.spec)]
        """Collision shapes, with those of its wheels."""

    @property
    def lowest_point(self) -> float:
        """Lowest z of the colliders [m]; infinite without any."""
        return lowest_point(self.colliders)

    @property
    def reach(self) -> float:
        """Radius about the z axis that the colliders stay within [m]."""
        return reach(self.colliders)

    @property
    def airframe_bottom(self) -> float:
        """Lowest z of the airframe without its rotors [m]; infinite without colliders."""
        rotors, wheels = self.spec.rotor_list(), lowest_point(_wheels(self.spec))
        if self.spec.usd is None:
            # The collider of a drawn airframe is a convex hull that includes the rotors.
            return min(feet_height(self.spec), wheels)
        return min(
            lowest_point([c for c in self.scene.colliders if rotor_of(c.path, rotors) is None]), wheels
        )

    def file(self) -> Path:
        """Return the USD file; that of a drawn vehicle is in the user's cache."""
        return vehicle_file(self.spec, self._source)


def vehicle_scene(spec: VehicleSpec, source: Path) -> Scene:
    """Return a vehicle as geometry and colliders in its body frame.

    A custom USD model is used unchanged: the descendants of its default prim, in the frame of that prim. A
    model without colliders collides by its bounding box.

    Args:
        spec: The vehicle.
        source: Its YAML file, which the path of its USD file is relative to.

    Raises:
        ConfigError: If its USD file does not exist or cannot be translated.
    """
    if spec.usd is None:
        looks = (
            spec.name,
            spec.body,
            spec.propeller,
            spec.propulsion,
            spec.rotors,
            spec.joints,
            spec.surfaces,
        )
        text = repr((*looks, spec.wheels))
        return _drawn_scene(_Drawing(text, spec))
    stage = open_stage(_model_file(spec, source))
    root = stage.GetDefaultPrim()
    scene = translate(stage, root=str(root.GetPath()) if root else "/")
    if not scene.colliders:
        if not scene.instances:
            raise ConfigError("holds no geometry below its default prim", file=scene.source)
        scene.colliders.append(_box_around(scene, str(root.GetPath()) if root else "/"))
        scene.warnings.append(f"{scene.source}: no collider: the vehicle collides by its bounding box")
    return scene


def _wheels(spec: VehicleSpec) -> list[Collider]:
    """Return the tyres of a vehicle as spheres that roll."""
    return [
        Collider(
            path=f"wheels/{name}",
            shape=ColliderShape.SPHERE,
            size=(wheel.radius,),
            position=np.array(wheel.position),
            orientation=np.array([0.0, 0.0, 0.0, 1.0]),
            material=CONTACT,
            rolling=Rolling(np.array(wheel.axle), wheel.rolling_friction),
        )
        for name, wheel in spec.wheels.items()
    ]


@dataclass(frozen=True)
class _Drawing:
    """A vehicle without a USD file, compared by the text of what is drawn of it."""

    text: str
    spec: VehicleSpec = field(compare=False)


@lru_cache(maxsize=32)
def _drawn_scene(drawing: _Drawing) -> Scene:
    """Return a drawn airframe; vehicles that look the same share it, since drawing takes long."""
    stage = build_vehicle_stage(drawing.spec)
    return translate(stage, root=str(stage.GetDefaultPrim().GetPath()))


def vehicle_file(spec: VehicleSpec, source: Path) -> Path:
    """Return the USD file of a vehicle; a drawn airframe is written to the user's cache.

    Args:
        spec: The vehicle.
        source: Its YAML file, which the path of its USD file is relative to.

    Raises:
        ConfigError: If its USD file does not exist, or the cache cannot be written.
    """
    if spec.usd is not None:
        return usd_file(_model_file(spec, source)).resolve()
    return cached_file(build_vehicle_stage(spec), "vehicles")


def place_rotors(spec: VehicleSpec, source: Path) -> VehicleSpec:
    """Return a vehicle with the positions of all rotors; rotors given by prim take the prim's position.

    Args:
        spec: The vehicle.
        source: Its YAML file, which the path of its USD file is relative to.

    Raises:
        ConfigError: If the USD file or a prim does not exist, or a prim does not determine the rotor's
            position.
    """
    if isinstance(spec.rotors, RotorRing) or not any(rotor.prim for rotor in spec.rotors):
        return spec
    model = VehicleModel(_model_file(spec, source))
    placed: list[RotorSpec] = []
    for index, rotor in enumerate(spec.rotors):
        if rotor.prim is None:
            placed.append(rotor)
            continue
        try:
            found = model.rotor(rotor.prim)
        except ConfigError as error:
            raise error.within(field=f"rotors.{index}.prim") from None
        if any(other.prim == found.path for other in placed):
            raise ConfigError(
                "another rotor has this prim already",
                field=f"rotors.{index}.prim",
                value=rotor.prim,
                remedy="name each prim once",
            )
        x, y, z = found.position.tolist() if isinstance(rotor, RotorPrimSpec) else rotor.position
        a, b, c = found.axis.tolist() if rotor.axis is None else rotor.axis
        fields = {"position": (x, y, z), "axis": (a, b, c), "prim": found.path}
        placed.append(RotorSpec.model_validate(rotor.model_dump() | fields))
    return spec.model_copy(update={"rotors": placed})


def _model_file(spec: VehicleSpec, source: Path) -> Path:
    """Return the USD file named by a vehicle."""
    file = source.parent / (spec.usd or "")
    if not file.is_file():
        remedy = "correct the path, or omit the field for a drawn airframe"
        raise ConfigError("no such file", file=source, field="usd", value=str(spec.usd), remedy=remedy)
    return file


def _box_around(scene: Scene, path: str) -> Collider:
    """Return the axis-aligned bounding box of all instances as the collider of a prim."""
    corners: list[Array] = []
    for item in scene.instances:
        vertices = scene.geometries[item.geometry].vertices.astype(np.float64)
        vertices = vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
        corners += [vertices.min(axis=0), vertices.max(axis=0)]
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    half = (high - low) / 2
    return Collider(
        path=path,
        shape=ColliderShape.BOX,
        size=(float(half[0]), float(half[1]), float(half[2])),
        position=(low + high) / 2,
        orientation=np.array([0.0, 0.0, 0.0, 1.0]),
        material=CONTACT,
    )


_ROTOR_NAME = re.compile(
    r"(?:^|_)(?:rotor|prop|propeller)_?(\d+)(?:_|$)|(?:^|_)m?(\d+)_(?:rotor|prop|propeller)(?:_|$)",
    re.IGNORECASE,
)
_NO_PIVOT = 1e-4
"""Distance from the body's origin below which a prim has no pivot [m]."""


@dataclass(frozen=True, eq=False)
class RotorPrim:
    """A rotor of a USD model in the body frame, z up."""

    path: str
    """Path of the prim."""
    position: Array
    """Centre of the rotor [m], shape (3,)."""
    axis: Array
    """Unit vector along the prim's up axis, shape (3,)."""


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass properties of UsdPhysicsMassAPI in the body frame."""

    mass: float
    """Mass [kg]."""
    center_of_mass: Array
    """Centre of mass [m], shape (3,)."""
    inertia: Array | None
    """Inertia about the centre of mass [kg m^2], shape (3, 3); None if it is not fully authored."""


class VehicleModel:
    """A custom USD model of a vehicle, in the frame of its default prim.

    Raises:
        ConfigError: If the file does not exist, does not parse or holds no geometry.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.stage = open_stage(file)
        root = self.stage.GetDefaultPrim()
        self.root = root if root else self.stage.GetPseudoRoot()
        """Prim of the body."""
        self._frame = stage_frame(self.stage, Notices())
        self._transforms = UsdGeom.XformCache(TIME)
        placement = decompose(self._to_stage(self.root))
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = placement.rotation, placement.position
        self._body = np.linalg.inv(pose)
        self._scene: Scene | None = None

    @property
    def rotor_names(self) -> list[str]:
        """Paths below the default prim of prims named like rotors (rotor0, Prop_1, m2_prop, ...), by number.

        Joints are none, nor are prims without a surface if others have one.
        """
        found: dict[str, int] = {}
        for prim in self._prims():
            number = _ROTOR_NAME.search(prim.GetName())
            path = str(prim.GetPath())
            inside = any(path.startswith(f"{other}/") for other in found)
            if number and prim.IsA(UsdGeom.Imageable) and not prim.IsA(UsdPhysics.Joint) and not inside:
                found[path] = int(number.group(1) or number.group(2))
        drawn = [path for path in found if self._triangles(path)]
        return [self._below(path) for path in sorted(drawn or found, key=lambda path: found[path])]

    def rotor(self, name: str) -> RotorPrim:
        """Return the rotor of a prim.

        Its centre is the prim's origin. A prim with the origin of the body has no pivot; its centre is then
        the centroid of its surface, which is on the axis for any number of blades.

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
        """Return the largest distance of a rotor's surface from its axis [m]; 0 without a surface."""
        triangles = self._triangles(rotor.path)
        if not triangles:
            return 0.0
        corners = np.concatenate([points.reshape(-1, 3) for points in triangles])
        spokes = corners - rotor.position
        spokes -= (spokes @ rotor.axis)[:, None] * rotor.axis
        return float(np.sqrt((spokes * spokes).sum(axis=1).max()))

    def mass_properties(self) -> MassProperties | None:
        """Return the authored mass properties of the body; None if no mass is authored.

        The mass of the default prim applies to the whole body; else the masses of its descendants are
        combined.
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
        rotation = self._frame.rotation @ decompose(transform).rotation
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
            paths = ", ".join(self._below(str(prim.GetPath())) for prim in named)
            raise ConfigError(
                f"several prims of {self.file} have this name: {paths}", value=name, remedy="give the path"
            )
        candidates = ", ".join(self.rotor_names) or "none"
        raise ConfigError(
            f"no such prim below {self._prefix or '/'} in {self.file}; named like rotors are {candidates}",
            value=name,
            remedy="correct the name, or give the rotor's position instead of prim",
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
