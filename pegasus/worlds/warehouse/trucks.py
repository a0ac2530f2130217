"""Simple models of a forklift and a pallet jack, facing +x."""

import numpy as np

from pegasus.scene.authoring import Surface
from pegasus.scene.scene import Color
from pegasus.worlds.site import Site
from pegasus.worlds.solids import Solid, bar, cuboid, draw, extrusion, obstacle, round_obstacle, tube

FORK_LENGTH = 1.15
CARRIED_AT = 1.58
"""Position of the centre of a carried pallet, x [m]."""

_FORK_OFFSET = 0.21


def write_forklift(site: Site, *, color: Color = (0.8, 0.22, 0.01)) -> str:
    """Return the prototype of a counterbalanced forklift, 1.1 m wide; its forks reach from x = 0.95 m."""
    stage = site.stage
    path = site.prototype("Forklift", "forklift")
    body = site.paint("forklift_body", color, roughness=0.3, scope=path)
    dark = site.paint("forklift_dark", (0.02, 0.02, 0.022), roughness=0.5, scope=path, collides=False)
    grey = site.paint("forklift_grey", (0.09, 0.09, 0.095), roughness=0.4, scope=path, collides=False)
    steel = site.paint(
        "forklift_steel", (0.2, 0.2, 0.21), metallic=0.8, roughness=0.4, scope=path, collides=False
    )
    tire = site.paint("forklift_tire", (0.012, 0.012, 0.012), roughness=0.9, scope=path, collides=False)
    light = site.paint(
        "forklift_light",
        (0.9, 0.9, 0.85),
        roughness=0.1,
        emission=(0.6, 0.6, 0.55),
        scope=path,
        collides=False,
    )
    amber = site.paint(
        "forklift_amber", (0.9, 0.35, 0.0), emission=(0.7, 0.25, 0.0), scope=path, collides=False
    )
    weight = [
        (-1.0, 0.22),
        (-1.22, 0.3),
        (-1.28, 0.75),
        (-1.2, 0.98),
        (-0.95, 1.03),
        (-0.62, 1.03),
        (-0.6, 0.22),
    ]
    cabin = [
        (-0.6, 0.2),
        (-0.6, 0.95),
        (-0.1, 0.92),
        (-0.05, 0.48),
        (0.32, 0.45),
        (0.42, 1.0),
        (0.56, 1.02),
        (0.66, 0.6),
        (0.7, 0.2),
    ]
    # The outline of a prism along y has x to the left, so it is mirrored.
    skin = [
        _profile(weight, 1.06),
        _profile(cabin, 1.0),
        cuboid((0.45, 0.0, 0.42), (0.62, 1.12, 0.3), bevel=0.05),
    ]
    draw(stage, f"{path}/Skin", skin, Surface(body.material))
    guard: list[Solid] = []
    for y in (-0.46, 0.46):
        guard += [
            bar((-0.9, y, 1.0), (-0.72, y, 2.08), 0.06, 0.07),
            bar((0.52, y, 0.98), (0.2, y, 2.1), 0.05, 0.06),
        ]
        guard.append(bar((-0.76, y, 2.1), (0.24, y, 2.12), 0.06, 0.06))
    guard += [
        bar((x, -0.46, 2.12), (x, 0.46, 2.12), 0.03, 0.04) for x in np.linspace(-0.74, 0.22, 8).tolist()
    ]
    guard += [cuboid((-0.36, 0.0, 0.99), (0.5, 0.5, 0.14), bevel=0.04)]
    back = cuboid((0.0, 0.0, 0.0), (0.12, 0.48, 0.55), bevel=0.04).moved(
        (-0.58, 0.0, 1.3), rotation=_pitch(-12.0)
    )
    wheel_rod = tube((0.36, 0.0, 0.95), (0.12, 0.0, 1.22), 0.025, sides=10)
    rim = tube((0.115, 0.0, 1.215), (0.1, 0.0, 1.235), 0.17, sides=20)
    draw(stage, f"{path}/Dark", [*guard, back, wheel_rod, rim], dark)
    stripes = [cuboid((-1.271, y, 0.62), (0.004, 0.12, 0.12)) for y in (-0.3, 0.0, 0.3)]
    mast: list[Solid] = []
    for y in (-0.33, 0.33):
        mast += [cuboid((0.79, y, 1.2), (0.13, 0.06, 2.2)), cuboid((0.81, y * 0.8, 1.22), (0.1, 0.05, 2.16))]
        mast.append(tube((0.76, y * 0.45, 0.25), (0.76, y * 0.45, 2.0), 0.03, sides=12))
    mast += [cuboid((0.79, 0.0, z), (0.06, 0.7, 0.1)) for z in (0.3, 1.25, 2.25)]
    draw(stage, f"{path}/Mast", [*mast, *stripes], grey)
    carriage = [cuboid((0.91, 0.0, z), (0.05, 1.0, 0.1)) for z in (0.22, 0.56)]
    carriage += [cuboid((0.92, y, 0.85), (0.03, 0.03, 0.55)) for y in np.linspace(-0.47, 0.47, 7).tolist()]
    carriage.append(cuboid((0.92, 0.0, 1.13), (0.035, 0.97, 0.035)))
    tip = 0.935 + FORK_LENGTH
    for y in (-_FORK_OFFSET, _FORK_OFFSET):
        carriage.append(cuboid((0.955, y, 0.34), (0.04, 0.12, 0.6)))
        fork = _profile([(0.935, 0.04), (tip, 0.058), (tip, 0.07), (0.935, 0.085)], 0.12)
        carriage.append(fork.moved((0.0, y, 0.0)))
    draw(stage, f"{path}/Carriage", carriage, steel)
    tires: list[Solid] = []
    hubs: list[Solid] = []
    for x, y, radius, wide in ((0.45, 0.5, 0.33, 0.22), (-0.85, 0.46, 0.27, 0.18)):
        for side in (-1.0, 1.0):
            a, b = side * (y - wide / 2), side * (y + wide / 2)
            tires.append(tube((x, a, radius), (x, b, radius), radius, sides=28))
            hubs.append(tube((x, b, radius), (x, b + side * 0.012, radius), radius * 0.55, sides=20))
    draw(stage, f"{path}/Tires", tires, tire)
    draw(stage, f"{path}/Hubs", hubs, steel)
    draw(stage, f"{path}/Lights", [tube((0.3, y, 1.95), (0.36, y, 1.93), 0.06) for y in (-0.42, 0.42)], light)
    draw(
        stage, f"{path}/Beacon", [tube((-0.6, 0.3, 2.14), (-0.6, 0.3, 2.26), 0.045, end_radius=0.035)], amber
    )
    for name, center, size in (
        ("Body", (-0.29, 0.0, 0.55), (1.98, 1.14, 1.05)),
        ("Seat", (-0.55, 0.0, 1.3), (0.3, 0.5, 0.55)),
        ("Top", (-0.26, 0.0, 2.11), (1.1, 0.98, 0.08)),
        ("Mast", (0.81, 0.0, 1.2), (0.18, 0.74, 2.24)),
        ("Carriage", (0.94, 0.0, 0.66), (0.08, 1.0, 1.0)),
        ("LeftFork", (0.935 + FORK_LENGTH / 2, _FORK_OFFSET, 0.0625), (FORK_LENGTH, 0.12, 0.045)),
        ("RightFork", (0.935 + FORK_LENGTH / 2, -_FORK_OFFSET, 0.0625), (FORK_LENGTH, 0.12, 0.045)),
    ):
        obstacle(stage, f"{path}/{name}Solid", center, size, body)
    for k, y in enumerate((-0.46, 0.46)):
        round_obstacle(stage, f"{path}/RearPost{k}", (-0.9, y, 1.0), (-0.72, y, 2.08), 0.035, body)
        round_obstacle(stage, f"{path}/FrontPost{k}", (0.52, y, 0.98), (0.2, y, 2.1), 0.03, body)
    return path


def write_pallet_jack(site: Site) -> str:
    """Return the prototype of a hand pallet truck; its forks reach from x = 0.1 m to 1.25 m."""
    stage = site.stage
    path = site.prototype("PalletJack", "pallet_jack")
    red = site.paint("jack_red", (0.55, 0.03, 0.02), roughness=0.35, scope=path)
    dark = site.paint("jack_dark", (0.02, 0.02, 0.02), roughness=0.6, scope=path, collides=False)
    parts = [cuboid((0.1 + 0.575, y, 0.1), (1.15, 0.15, 0.045), bevel=0.012) for y in (-0.19, 0.19)]
    parts += [
        cuboid((0.07, 0.0, 0.2), (0.1, 0.5, 0.24), bevel=0.02),
        tube((0.0, 0.0, 0.2), (0.0, 0.0, 0.55), 0.06),
    ]
    parts.append(tube((0.0, 0.0, 0.5), (-0.28, 0.0, 1.1), 0.02, sides=12))
    draw(stage, f"{path}/Frame", parts, Surface(red.material))
    grip = [tube((-0.28, 0.0, 1.1), (-0.3, s * 0.13, 1.16), 0.016, sides=10) for s in (-1.0, 1.0)]
    grip += [tube((-0.3, s * 0.13, 1.16), (-0.34, s * 0.13, 1.25), 0.016, sides=10) for s in (-1.0, 1.0)]
    grip.append(tube((-0.34, -0.14, 1.25), (-0.34, 0.14, 1.25), 0.018, sides=10))
    wheels = [tube((0.0, y - 0.03, 0.1), (0.0, y + 0.03, 0.1), 0.1, sides=20) for y in (-0.07, 0.07)]
    wheels += [tube((1.1, y - 0.05, 0.041), (1.1, y + 0.05, 0.041), 0.04, sides=14) for y in (-0.19, 0.19)]
    draw(stage, f"{path}/Grip", [*grip, *wheels], dark)
    for k, y in enumerate((-0.19, 0.19)):
        obstacle(stage, f"{path}/Fork{k}", (0.675, y, 0.1), (1.15, 0.15, 0.045), red)
    obstacle(stage, f"{path}/Pump", (0.03, 0.0, 0.28), (0.2, 0.5, 0.54), red)
    round_obstacle(stage, f"{path}/Handle", (0.0, 0.0, 0.5), (-0.33, 0.0, 1.22), 0.03, red)
    return path


def _profile(outline: list[tuple[float, float]], width: float) -> Solid:
    """Return the extrusion of a side view (x forward, z up) to a width, centred on y = 0."""
    mirrored = [(-x, z) for x, z in outline]
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(mirrored, mirrored[1:] + mirrored[:1], strict=True))
    ring = mirrored if area > 0 else mirrored[::-1]
    return extrusion(ring, (0.0, -width / 2, 0.0), (0.0, width / 2, 0.0))


def _pitch(angle: float) -> np.ndarray:
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
