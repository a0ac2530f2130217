"""Pillars, benches and lamps of the courtyard."""

import numpy as np

from pegasus.scene.authoring import Surface, group, instance, physics_material, sphere
from pegasus.scene.scene import PhysicsMaterial
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import Solid, bar, cuboid, draw, loft, obstacle, round_obstacle

PILLAR_HEIGHT = 3.65
"""Height of a pillar [m]."""


def stand_pillars(site: Site, terrace: float) -> None:
    """Write two colonnades of one instanced pillar.

    Args:
        site: The site.
        terrace: Height of the terrace, where the northern colonnade stands [m].
    """
    stage = site.stage
    path = site.prototype("Pillar", "pillar")
    stone = site.finish("concrete", tint=(1.2, 1.14, 1.02), scope=path, roughness=0.8)
    contact = physics_material(stage, f"{path}/Looks/Contact", PhysicsMaterial(0.7, 0.6, 0.2))
    solid, flat = Surface(stone.material, contact), Surface(stone.material)
    obstacle(stage, f"{path}/Base", (0.0, 0.0, 0.125), (0.9, 0.9, 0.25), solid)
    round_obstacle(stage, f"{path}/Shaft", (0.0, 0.0, 0.25), (0.0, 0.0, PILLAR_HEIGHT - 0.2), 0.3, solid)
    obstacle(stage, f"{path}/Capital", (0.0, 0.0, PILLAR_HEIGHT - 0.1), (0.8, 0.8, 0.2), solid)
    top = PILLAR_HEIGHT
    parts = [
        cuboid((0.0, 0.0, 0.075), (0.9, 0.9, 0.15), bevel=0.012),
        cuboid((0.0, 0.0, top - 0.06), (0.8, 0.8, 0.12), bevel=0.012),
        # Rolls at the foot, a shaft that swells, a ring, and a capital that widens.
        _turned([(0.40, 0.15), (0.435, 0.165), (0.445, 0.195), (0.435, 0.225), (0.38, 0.24)]),
        _turned([(0.36, 0.24), (0.38, 0.255), (0.36, 0.28), (0.315, 0.30)]),
        _turned([(0.30, 0.29), (0.303, 1.2), (0.297, 2.0), (0.28, 2.7), (0.26, top - 0.42)]),
        _turned([(0.255, top - 0.43), (0.29, top - 0.415), (0.29, top - 0.385), (0.255, top - 0.37)]),
        _turned([(0.262, top - 0.38), (0.268, top - 0.26), (0.31, top - 0.19), (0.385, top - 0.12)]),
    ]
    draw(stage, f"{path}/Column", parts, flat)
    group(stage, f"{ROOT}/Pillars")
    for k in range(9):
        instance(stage, f"{ROOT}/Pillars/North{k}", path, (3.0 * k - 12.0, 24.5, terrace))
        instance(stage, f"{ROOT}/Pillars/West{k}", path, (-24.0, 5.0 * k - 24.0, 0.0))


def stand_benches(site: Site) -> None:
    """Write benches of planks on iron legs around the middle, facing it."""
    stage = site.stage
    path = site.prototype("Bench", "bench")
    contact = physics_material(stage, f"{path}/Looks/Contact", PhysicsMaterial(0.5, 0.4, 0.2))
    planks = site.finish("wood_planks", tint=(0.75, 0.62, 0.52), scope=path, roughness=0.65)
    iron = site.paint("iron", (0.035, 0.04, 0.038), roughness=0.42, metallic=0.3, scope=path)
    wood = Surface(planks.material, contact)
    obstacle(stage, f"{path}/Seat", (0.0, 0.0, 0.45), (0.45, 1.8, 0.05), wood)
    obstacle(stage, f"{path}/Back", (0.24, 0.0, 0.75), (0.05, 1.8, 0.4), wood)
    slats = [cuboid((x, 0.0, 0.46), (0.085, 1.8, 0.03), bevel=0.005) for x in (-0.18, -0.08, 0.02, 0.12)]
    slats += [cuboid((0.235, 0.0, z), (0.028, 1.8, 0.09), bevel=0.005) for z in (0.62, 0.755, 0.89)]
    # Boards run along y, as the grain of the image runs along x.
    slats = [Solid(slat.points, slat.normals, slat.uvs[:, ::-1], slat.faces) for slat in slats]
    draw(stage, f"{path}/Slats", slats, Surface(planks.material))
    legs: list[Solid] = []
    for name, y in (("Left", -0.75), ("Right", 0.75)):
        obstacle(
            stage, f"{path}/{name}Leg", (0.0, y, 0.2125), (0.4, 0.06, 0.425), Surface(iron.material, contact)
        )
        for a, b, wide in (
            ((-0.19, y, 0.0), (-0.16, y, 0.43), 0.05),
            ((0.21, y, 0.0), (0.15, y, 0.43), 0.05),
            ((-0.2, y, 0.435), (0.2, y, 0.435), 0.05),
            ((0.2, y, 0.42), (0.26, y, 0.94), 0.035),
            ((-0.19, y, 0.44), (-0.19, y, 0.64), 0.03),
            ((-0.22, y, 0.65), (0.23, y, 0.65), 0.045),
        ):
            legs.append(bar(a, b, wide, 0.03))
    draw(stage, f"{path}/Legs", legs, Surface(iron.material))
    group(stage, f"{ROOT}/Benches")
    for k in range(8):
        yaw = 45.0 * k + 22.5
        angle = np.radians(yaw)
        at = (16 * np.cos(angle), 16 * np.sin(angle), 0.0)
        instance(stage, f"{ROOT}/Benches/Bench{k}", path, at, yaw=yaw)


def stand_lamps(site: Site) -> None:
    """Write four lamp posts."""
    stage = site.stage
    path = site.prototype("Lamp", "lamp")
    contact = physics_material(stage, f"{path}/Looks/Contact", PhysicsMaterial(0.4, 0.3, 0.2))
    paint = site.paint("iron", (0.03, 0.036, 0.034), roughness=0.38, metallic=0.3, scope=path)
    glass = site.paint("glow", (0.9, 0.9, 0.8), emission=(1.0, 0.9, 0.7), scope=path)
    iron = Surface(paint.material, contact)
    round_obstacle(stage, f"{path}/Foot", (0.0, 0.0, 0.0), (0.0, 0.0, 0.3), 0.14, iron)
    round_obstacle(stage, f"{path}/Post", (0.0, 0.0, 0.3), (0.0, 0.0, 3.4), 0.05, iron)
    sphere(stage, f"{path}/Globe", (0.0, 0.0, 3.58), 0.2, Surface(glass.material, contact))
    turned = [
        _turned([(0.14, 0.0), (0.14, 0.1), (0.12, 0.13), (0.085, 0.2), (0.06, 0.34)], sides=16),
        _turned([(0.05, 0.3), (0.042, 1.8), (0.036, 3.2)], sides=12),
        _turned([(0.036, 0.8), (0.062, 0.82), (0.062, 0.86), (0.036, 0.88)], sides=12),
        _turned([(0.036, 3.16), (0.07, 3.2), (0.06, 3.28), (0.12, 3.36), (0.125, 3.4)], sides=12),
        _turned([(0.09, 3.775), (0.05, 3.8), (0.012, 3.84), (0.01, 3.92)], sides=12),
    ]
    draw(stage, f"{path}/Turned", turned, Surface(paint.material))
    group(stage, f"{ROOT}/Lamps")
    for k, (x, y) in enumerate(((15.5, 15.5), (-15.5, 15.5), (-15.5, -15.5), (15.5, -15.5))):
        instance(stage, f"{ROOT}/Lamps/Lamp{k}", path, (x, y, 0.0))


def _turned(profile: list[tuple[float, float]], *, sides: int = 24) -> Solid:
    """Return a smooth solid of revolution about z.

    Args:
        profile: Radii and heights from below [m].
        sides: Number of flat sides.
    """
    angle = np.linspace(0.0, 2 * np.pi, sides + 1)
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(sides + 1)], axis=1)
    return loft(np.stack([circle * radius + [0.0, 0.0, z] for radius, z in profile]))
