"""Sites: stage, surfaces, spawn points and paths of a world under construction."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdShade

from pegasus.base.components import Vec3
from pegasus.base.streams import stream
from pegasus.config.mover_specs import MoverSpec
from pegasus.config.scenario import SpawnPoint
from pegasus.scene.authoring import Surface, label, material, new_stage, physics_material, place
from pegasus.scene.generator import GeneratedWorld, WorldGenerator
from pegasus.scene.scene import Color, PhysicsMaterial
from pegasus.worlds.finishes import FINISHES, Images, finish_images, textured_material

ROOT = "/World"
"""Path of the root prim of generated worlds."""
SHAPES = ("authoring", "faces")
"""Modules of `pegasus.scene` that, beside the generators themselves, determine what generators write."""

_PROTOTYPES = "/Prototypes"
_NO_TINT: Color = (1.0, 1.0, 1.0)
_CONTACT = PhysicsMaterial(static_friction=0.8, dynamic_friction=0.7, restitution=0.1)


class Site:
    """A world under construction below the prim /World.

    Args:
        folder: Existing folder of the textures.
        seed: Seed of all random choices.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.stage: Usd.Stage = new_stage(ROOT.strip("/"))
        UsdPhysics.Scene.Define(self.stage, f"{ROOT}/Physics")
        self.spawn_points: list[SpawnPoint] = []
        self.paths: dict[str, list[Vec3]] = {}
        """Paths by name, each a list of points with 0.75 m of clearance [m]."""
        self.movers: list[MoverSpec] = []
        """Objects that move by themselves."""
        self._folder, self._seed = folder, seed
        self._images: dict[str, Images] = {}
        self._surfaces: dict[str, Surface] = {}

    def stream(self, *names: str) -> np.random.Generator:
        """Return the random stream of one part of the world, independent of other parts.

        Args:
            names: Path of the part, such as "trees".
        """
        return stream(self._seed, *names)

    def finish(
        self,
        name: str,
        *,
        tint: Color = _NO_TINT,
        scope: str = ROOT,
        collides: bool = True,
        roughness: float | None = None,
    ) -> Surface:
        """Return a surface with the images of a finish; texture coordinates are in metres.

        Args:
            name: Key into `FINISHES`.
            tint: Factor on the finish's colours, linear.
            scope: Ancestor of the prims that use it: /World, or a prototype, which must contain its
                materials.
            collides: Whether prims with this surface collide.
            roughness: Roughness instead of the finish's roughness and normals, which is drawn faster.
        """
        finish = FINISHES[name]
        if name not in self._images:
            self._images[name] = finish_images(finish, name, self._folder)
        key = f"{scope}/Looks/{_identifier(name)}" + _suffix(tint)
        if roughness is not None:
            key += f"_Even{round(1000 * roughness):04d}"
        if f"{key} {collides}" not in self._surfaces:
            if not self.stage.GetPrimAtPath(key):
                textured_material(self.stage, key, finish, self._images[name], tint=tint, roughness=roughness)
            self._surfaces[f"{key} {collides}"] = self._surface(key, scope, finish.contact, collides=collides)
        return self._surfaces[f"{key} {collides}"]

    def paint(
        self,
        name: str,
        color: Color,
        *,
        roughness: float = 0.6,
        metallic: float = 0.0,
        emission: Color = (0.0, 0.0, 0.0),
        scope: str = ROOT,
        collides: bool = True,
    ) -> Surface:
        """Return a surface of uniform colour.

        Args:
            name: Name of the material, unique below its scope.
            color: Diffuse colour, linear.
            roughness: Roughness, 0 to 1.
            metallic: Metalness, 0 to 1.
            emission: Emitted colour, linear.
            scope: Ancestor of the prims that use it, as for `finish`.
            collides: Whether prims with this surface collide.
        """
        key = f"{scope}/Looks/{_identifier(name)}"
        if not self.stage.GetPrimAtPath(key):
            material(self.stage, key, color, roughness=roughness, metallic=metallic, emission=emission)
        return self._surface(key, scope, _CONTACT, collides=collides)

    def prototype(self, name: str, semantic_class: str) -> str:
        """Return the path of a new prototype, to be placed with `authoring.instance`.

        Args:
            name: Unique name.
            semantic_class: Semantic class of its instances.
        """
        if not self.stage.GetPrimAtPath(_PROTOTYPES):
            self.stage.CreateClassPrim(_PROTOTYPES)
        path = f"{_PROTOTYPES}/{name}"
        label(self.stage.DefinePrim(path, "Xform"), semantic_class)
        return path

    def spawn(
        self, x: float, y: float, *, ground: float = 0.0, heading: float = 0.0, name: str | None = None
    ) -> None:
        """Add a spawn point; the surrounding 0.5 m must be free.

        Args:
            x: East [m].
            y: North [m].
            ground: Height of the ground [m].
            heading: Heading of the vehicle, counter-clockwise from east [rad].
            name: Name; by the order of the points if None.
        """
        position = (round(x, 3), round(y, 3), round(ground + 0.1, 3))
        self.spawn_points.append(SpawnPoint(name=name, position=position, heading=round(heading, 3)))

    def attach(self, name: str, text: str) -> None:
        """Write a file next to the world.

        Args:
            name: File name without folder.
            text: Content.
        """
        (self._folder / name).write_text(text, encoding="utf-8", newline="\n")

    def add_mover(self, name: str, stage: Usd.Stage, motion: dict[str, Any]) -> None:
        """Add an object that moves by itself, and write its shape next to the world; it does not collide.

        Args:
            name: Unique name, and its semantic class.
            stage: Its shape.
            motion: Its motion, as in a world file.
        """
        file = f"{name}.usdc"
        stage.GetRootLayer().Export(str(self._folder / file))
        self.movers.append(MoverSpec(name=name, label=name, usd=Path(file), collides=False, motion=motion))

    def camera(self, position: Vec3, target: Vec3, *, horizontal_fov: float = 65.0) -> None:
        """Write the camera of the world's thumbnail; by default the view is from a spawn point.

        Args:
            position: Position [m].
            target: Target point [m].
            horizontal_fov: Horizontal field of view [deg].
        """
        schema = UsdGeom.Camera.Define(self.stage, f"{ROOT}/Camera")
        width = schema.GetHorizontalApertureAttr().Get()
        schema.CreateVerticalApertureAttr(round(width * 9 / 16, 5))
        schema.CreateFocalLengthAttr(round(width / 2 / math.tan(math.radians(horizontal_fov / 2)), 5))
        schema.CreateClippingRangeAttr(Gf.Vec2f(0.05, 1e4))
        back = np.subtract(position, target) / math.dist(position, target)
        right = np.cross([0.0, 0.0, 1.0], back)
        right /= math.hypot(*right)
        axes = np.stack([right, np.cross(back, right), back], axis=1)
        place(schema.GetPrim(), position, rotation=axes)

    def _surface(self, key: str, scope: str, contact: PhysicsMaterial, *, collides: bool) -> Surface:
        look = self.stage.GetPrimAtPath(key)
        if not collides:
            return Surface(UsdShade.Material(look))
        numbers = (contact.static_friction, contact.dynamic_friction, contact.restitution)
        path = f"{scope}/Looks/Contact{_suffix(numbers)}"
        existing = self.stage.GetPrimAtPath(path)
        physics = UsdShade.Material(existing) if existing else physics_material(self.stage, path, contact)
        return Surface(UsdShade.Material(look), physics)


@dataclass(frozen=True)
class SiteGenerator(WorldGenerator):
    """World generator that builds on a `Site`; a subclass sets `name` and implements `build`."""

    @abstractmethod
    def build(self, site: Site) -> None:
        """Write the world.

        Args:
            site: Stage, surfaces, spawn points and paths of the world.
        """

    def generate(self, folder: Path) -> GeneratedWorld:
        """Return the world; see `WorldGenerator.generate`."""
        site = Site(folder, self.seed)
        self.build(site)
        return GeneratedWorld(site.stage, site.spawn_points, site.paths, site.movers)

    def sources(self) -> set[Path]:
        """Return the source files that determine the world; see `WorldGenerator.sources`."""
        worlds = Path(__file__).resolve().parent
        shapes = {worlds.with_name("scene") / f"{name}.py" for name in SHAPES}
        return super().sources() | set(worlds.rglob("*.py")) | shapes


def _identifier(name: str) -> str:
    """Return the prim name of a name: "brick_wall" becomes "BrickWall"."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _suffix(numbers: tuple[float, ...]) -> str:
    """Return a name suffix for numbers from 0 to 10; empty if all are one."""
    if all(number == 1.0 for number in numbers):
        return ""
    return "_" + "_".join(f"{round(1000 * number):04d}" for number in numbers)
