"""Where a generator builds: a stage, its textures, its places to start from and ways to fly."""

import math
from pathlib import Path

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdShade

from pegasus.components import Vec3
from pegasus.scenario import SpawnPoint
from pegasus.scene.authoring import Surface, label, material, new_stage, physics_material, place
from pegasus.scene.finishes import FINISHES, Images, finish_images, textured_material
from pegasus.scene.scene import Color, PhysicsMaterial
from pegasus.streams import stream

ROOT = "/World"

_PROTOTYPES = "/Prototypes"
_NO_TINT: Color = (1.0, 1.0, 1.0)
_CONTACT = PhysicsMaterial(static_friction=0.8, dynamic_friction=0.7, restitution=0.1)


class Site:
    """A world that is being built below the prim /World.

    Args:
        folder: Where the textures are written; it exists.
        seed: Seed of everything that is random.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.stage: Usd.Stage = new_stage(ROOT.strip("/"))
        UsdPhysics.Scene.Define(self.stage, f"{ROOT}/Physics")
        self.spawn_points: list[SpawnPoint] = []
        self.paths: dict[str, list[Vec3]] = {}
        """Ways through the world by name, free of obstacles within 0.75 m [m]."""
        self._folder, self._seed = folder, seed
        self._images: dict[str, Images] = {}
        self._surfaces: dict[str, Surface] = {}

    def stream(self, *names: str) -> np.random.Generator:
        """Return the random numbers of one part of the world, which no other part disturbs.

        Args:
            names: Path of the part, such as "trees".
        """
        return stream(self._seed, *names)

    def finish(
        self, name: str, *, tint: Color = _NO_TINT, scope: str = ROOT, collides: bool = True
    ) -> Surface:
        """Return a surface with the images of a finish, laid out by texture coordinates in metres.

        Args:
            name: Key into `FINISHES`.
            tint: Factor on the finish's colours, linear.
            scope: Path of the prim that it is used below: /World, or a prototype, whose materials must lie
                within it.
            collides: Whether what it covers is solid.
        """
        finish = FINISHES[name]
        if name not in self._images:
            self._images[name] = finish_images(finish, name, self._folder)
        key = f"{scope}/Looks/{_identifier(name)}" + _suffix(tint)
        if f"{key} {collides}" not in self._surfaces:
            if not self.stage.GetPrimAtPath(key):
                textured_material(self.stage, key, finish, self._images[name], tint=tint)
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
        """Return a surface of one colour.

        Args:
            name: Name of the material, unique below its scope.
            color: Diffuse colour, linear.
            roughness: Roughness, 0 to 1.
            metallic: Metalness, 0 to 1.
            emission: Emitted colour, linear.
            scope: Path of the prim that it is used below, as for `finish`.
            collides: Whether what it covers is solid.
        """
        key = f"{scope}/Looks/{_identifier(name)}"
        if not self.stage.GetPrimAtPath(key):
            material(self.stage, key, color, roughness=roughness, metallic=metallic, emission=emission)
        return self._surface(key, scope, _CONTACT, collides=collides)

    def prototype(self, name: str, semantic_class: str) -> str:
        """Return the path of a new prototype, to be filled and then placed with `authoring.instance`.

        Args:
            name: Its name, unique.
            semantic_class: Semantic class of its instances.
        """
        if not self.stage.GetPrimAtPath(_PROTOTYPES):
            self.stage.CreateClassPrim(_PROTOTYPES)
        path = f"{_PROTOTYPES}/{name}"
        label(self.stage.DefinePrim(path, "Xform"), semantic_class)
        return path

    def spawn(self, x: float, y: float, *, ground: float = 0.0, heading: float = 0.0) -> None:
        """Add a place to start from; nothing may stand within 0.5 m of it.

        Args:
            x: East [m].
            y: North [m].
            ground: Height of what the vehicle stands on [m].
            heading: Direction of its x axis, counter-clockwise from east [rad].
        """
        position = (round(x, 3), round(y, 3), round(ground + 0.1, 3))
        self.spawn_points.append(SpawnPoint(position=position, heading=round(heading, 3)))

    def attach(self, name: str, text: str) -> None:
        """Write a file next to the world.

        Args:
            name: Its name, no folder.
            text: What stands in it.
        """
        (self._folder / name).write_text(text, encoding="utf-8", newline="\n")

    def camera(self, position: Vec3, target: Vec3, *, horizontal_fov: float = 65.0) -> None:
        """Write the camera that takes the world's picture, which is taken from a spawn point without one.

        Args:
            position: Where it is [m].
            target: What it looks at [m].
            horizontal_fov: Its field of view [deg].
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


def _identifier(name: str) -> str:
    """Return a name such as "brick_wall" as that of a prim, "BrickWall"."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _suffix(numbers: tuple[float, ...]) -> str:
    """Return what tells materials apart that differ in numbers from 0 to 10 only; nothing for ones."""
    if all(number == 1.0 for number in numbers):
        return ""
    return "_" + "_".join(f"{round(1000 * number):04d}" for number in numbers)
