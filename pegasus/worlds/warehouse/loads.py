"""Pallets and their loads.

A load stands on z = 0, is at most 0.8 m long along x, 1.2 m along y and 1.3 m high.
"""

import numpy as np
from pxr import Usd, UsdShade, Vt

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.authoring import Surface
from pegasus.scene.scene import Color
from pegasus.worlds.site import Site
from pegasus.worlds.solids import Solid, cuboid, draw, joined, loft, panel, round_obstacle, tube

PALLET_HEIGHT = 0.144
PALLET_SIZE = (0.8, 1.2)

_CARTONS: tuple[tuple[int, int, int, Color], ...] = (
    (2, 3, 4, (1.0, 1.0, 1.0)),
    (2, 2, 3, (0.9, 0.84, 0.78)),
    (2, 4, 5, (1.08, 1.0, 0.9)),
    (1, 2, 2, (0.95, 0.95, 0.95)),
    (3, 4, 4, (1.0, 0.93, 0.85)),
    (2, 3, 3, (2.1, 2.5, 3.0)),
    (2, 2, 2, (0.86, 0.8, 0.74)),
)
"""Cartons along x, along y, layers, tint."""
_KINDS = (0.45, 0.3, 0.25)
"""Shares of printed, of dark plain and of light plain cartons."""
_CRATES: tuple[tuple[Color, int], ...] = (
    ((0.02, 0.1, 0.35), 5),
    ((0.45, 0.03, 0.02), 4),
    ((0.03, 0.2, 0.06), 3),
    ((0.35, 0.36, 0.37), 5),
)
_DRUMS: tuple[Color, ...] = ((0.01, 0.08, 0.3), (0.03, 0.03, 0.035), (0.5, 0.22, 0.01))
_FILMS: tuple[tuple[Color, float, float], ...] = (
    ((0.012, 0.012, 0.014), 1.25, 0.24),
    ((0.62, 0.65, 0.66), 1.1, 0.3),
    ((0.5, 0.6, 0.68), 0.9, 0.26),
)


def write_pallet(site: Site) -> str:
    """Return the prototype of a flat pallet of 1200 x 800 mm after EN 13698-1, long along y."""
    path = site.prototype("Pallet", "pallet")
    wood = site.finish("wood_planks", tint=(1.0, 0.95, 0.85), scope=path)
    width, length = PALLET_SIZE
    boards: list[Solid] = []
    for x, wide in ((-0.3275, 0.145), (-0.185, 0.1), (0.0, 0.145), (0.185, 0.1), (0.3275, 0.145)):
        boards.append(cuboid((x, 0.0, 0.133), (wide, length, 0.022), bevel=0.003))
    for y in (-0.5275, 0.0, 0.5275):
        boards.append(cuboid((0.0, y, 0.111), (width, 0.145, 0.022)))
        for x, wide in ((-0.35, 0.1), (0.0, 0.145), (0.35, 0.1)):
            boards.append(cuboid((x, y, 0.061), (wide, 0.145, 0.078)))
    for x, wide in ((-0.35, 0.1), (0.0, 0.145), (0.35, 0.1)):
        boards.append(cuboid((x, 0.0, 0.011), (wide, length, 0.022), bevel=0.003))
    draw(site.stage, f"{path}/Boards", boards, wood)
    return path


def write_loads(site: Site) -> dict[str, list[str]]:
    """Return the prototypes of loads by kind."""
    return {
        "cartons": [_cartons(site, k) for k in range(len(_CARTONS))],
        "film": [_film(site, k) for k in range(len(_FILMS))],
        "crates": [_crates(site, k) for k in range(len(_CRATES))],
        "drums": [_drums(site, k) for k in range(len(_DRUMS))],
        "sacks": [_sacks(site, k) for k in range(2)],
        "tank": [_tank(site)],
        "chest": [_chest(site)],
        "reels": [_reels(site)],
    }


def _cartons(site: Site, index: int) -> str:
    """Write cartons in layers with small offsets."""
    columns, rows, layers, tint = _CARTONS[index]
    rng = site.stream("cartons", str(index))
    path = site.prototype(f"Cartons{index}", "box")
    board = site.finish("cardboard", tint=tint, scope=path)
    worn = site.stream("worn cartons", str(index))
    high = float(rng.uniform(0.95, 1.2)) / layers if layers > 2 else float(rng.uniform(0.4, 0.55))
    long, deep = 0.78 / columns, 1.17 / rows
    cartons: tuple[list[Solid], list[Solid]] = ([], [])
    kinds: tuple[list[int], list[int]] = ([], [])
    # The last layer of some stacks is incomplete.
    missing = int(rng.integers(0, columns * rows // 2 + 1)) if layers > 2 and index % 2 else 0
    for layer in range(layers):
        kept = columns * rows - (missing if layer == layers - 1 else 0)
        for spot in range(kept):
            i, j = divmod(spot, rows)
            turn, shift = float(rng.normal(0.0, 0.7)), rng.uniform(-0.006, 0.006, 2)
            x, y = (i - (columns - 1) / 2) * long + shift[0], (j - (rows - 1) / 2) * deep + shift[1]
            size = (long - 0.01, deep - 0.01, high - 0.004)
            at = np.array([x, y, (layer + 0.5) * high])
            # The print of the finish lies about the origin: the middle of each face.
            carton = cuboid((0.0, 0.0, 0.0), size, bevel=0.004)
            kind = int(worn.choice(3, p=_KINDS))
            if kind:
                # Boards without print show any part of their image.
                uvs = carton.uvs + worn.uniform(0.0, 1.2, 2)
                carton = Solid(carton.points, carton.normals, uvs, carton.faces)
            half_turn = 180.0 * int(rng.integers(2))
            part = int(layer == layers - 1 and missing > 0)
            cartons[part].append(carton.moved(at, yaw=turn + half_turn))
            kinds[part].append(kind)
    plain = [
        site.finish("plain_cardboard", tint=_scaled(tint, shade), scope=path, collides=False)
        for shade in (0.82, 1.06)
    ]
    for name, solids, looks in zip(("Cartons", "Picked"), cartons, kinds, strict=True):
        if not solids:
            continue
        prim = draw(site.stage, f"{path}/{name}", solids, board)
        of_face = np.repeat(looks, [len(solid.faces) for solid in solids])
        for k, look in enumerate(plain, start=1):
            if (of_face == k).any():
                _clad(prim, f"Plain{k}", np.nonzero(of_face == k)[0], look)
    return path


def _film(site: Site, index: int) -> str:
    """Write a load wrapped in film: a box with soft corners and folds."""
    color, height, roughness = _FILMS[index]
    rng = site.stream("film", str(index))
    path = site.prototype(f"Film{index}", "box")
    film = site.paint("film", color, roughness=roughness, scope=path)
    paper = site.paint("paper", (0.78, 0.78, 0.76), roughness=0.6, scope=path, collides=False)
    levels = np.concatenate(
        [[0.0, 0.02], np.linspace(0.06, height - 0.03, 8), [height - 0.008, height, height]]
    )
    inset = np.concatenate([[0.03, 0.012], np.zeros(8), [0.012, 0.035, 0.3]])
    angle = np.linspace(0.0, 2 * np.pi, 65)
    ring = _rounded_box(angle, 0.385, 0.585, 14.0)
    sections = []
    for z, cut in zip(levels, inset, strict=True):
        folds = 0.004 * np.sin(3 * angle + 9.0 * z) + 0.003 * np.sin(
            17 * angle + 31.0 * z + rng.uniform(0, 1)
        )
        scale = 1.0 - cut / 0.4 + folds
        scale[-1] = scale[0]
        sections.append(np.column_stack([ring * scale[:, None], np.full(len(ring), z)]))
    draw(site.stage, f"{path}/Film", [loft(np.array(sections))], film)
    draw(
        site.stage,
        f"{path}/Paper",
        [cuboid((0.08, s * 0.594, 0.6 * height), (0.21, 0.004, 0.148)) for s in (-1, 1)],
        paper,
    )
    return path


def _crates(site: Site, index: int) -> str:
    """Write plastic crates in layers, with rims and grips."""
    color, layers = _CRATES[index]
    path = site.prototype(f"Crates{index}", "crate")
    plastic = site.paint("plastic", color, roughness=0.45, scope=path)
    dark = site.paint("grip", (0.01, 0.01, 0.01), roughness=0.8, scope=path, collides=False)
    parts: list[Solid] = []
    grips: list[Solid] = []
    high = 0.235
    for layer in range(layers):
        for j in (-1, 0, 1):
            y, z = 0.395 * j, layer * high
            parts.append(cuboid((0.0, y, z + 0.105), (0.575, 0.365, 0.2)))
            parts += [
                cuboid((0.0, y, z + level), (0.6, 0.392, thick))
                for level, thick in ((0.212, 0.035), (0.012, 0.02))
            ]
            parts += [cuboid((x, y, z + 0.11), (0.016, 0.378, 0.18)) for x in (-0.2, -0.1, 0.0, 0.1, 0.2)]
            parts += [cuboid((0.0, y + s, z + 0.11), (0.587, 0.016, 0.18)) for s in (-0.12, 0.12)]
            grips += [
                panel((0.0, y + s * 0.19, z + 0.155), (0.11, 0.03), yaw=90.0 + 90.0 * s) for s in (-1, 1)
            ]
    draw(site.stage, f"{path}/Crates", parts, plastic)
    draw(site.stage, f"{path}/Grips", grips, dark)
    return path


def _drums(site: Site, index: int) -> str:
    """Write drums with hoops and bungs, two by two in reach of the pallet."""
    path = site.prototype(f"Drums{index}", "drum")
    skin = site.paint("drum", _DRUMS[index], roughness=0.32, metallic=0.2, scope=path)
    trim = Surface(skin.material)
    steel = site.paint("bung", (0.5, 0.5, 0.5), metallic=0.9, roughness=0.35, scope=path, collides=False)
    radius, height = 0.19, 0.88
    bungs: list[Solid] = []
    hoops: list[Solid] = []
    places = [(x, y) for x in (-0.2, 0.2) for y in (-0.4, 0.0, 0.4)]
    for k, (x, y) in enumerate(places):
        hoops.append(tube((x, y, 0.0), (x, y, height - 0.012), radius - 0.004, sides=24))
        round_obstacle(site.stage, f"{path}/Drum{k}", (x, y, 0.0), (x, y, height), radius, skin)
        for z in (0.01, 0.3, 0.58, height - 0.015):
            hoops.append(tube((x, y, z - 0.012), (x, y, z + 0.012), radius + 0.003, sides=24))
        bungs.append(tube((x + 0.1, y, height - 0.02), (x + 0.1, y, height + 0.01), 0.03, sides=12))
        bungs.append(tube((x - 0.11, y, height - 0.02), (x - 0.11, y, height + 0.006), 0.015, sides=10))
    draw(site.stage, f"{path}/Skin", hoops, trim)
    draw(site.stage, f"{path}/Bungs", bungs, steel)
    return path


def _sacks(site: Site, index: int) -> str:
    """Write sacks laid crosswise in layers."""
    rng = site.stream("sacks", str(index))
    path = site.prototype(f"Sacks{index}", "sack")
    paper = site.finish("fabric", tint=((1.4, 1.35, 1.25), (1.2, 0.95, 0.7))[index], scope=path)
    sacks: list[Solid] = []
    layers, high = 7 - index, 0.135
    for layer in range(layers):
        for x in (-0.2, 0.2):
            for y in (-0.4, 0.0, 0.4):
                size = np.array([0.41, 0.42, 0.15]) * rng.uniform(0.96, 1.02, 3)
                shift = rng.uniform(-0.012, 0.012, 2)
                at = (x + shift[0], y + shift[1], layer * high + 0.072)
                sacks.append(_pillow(size).moved(at, yaw=float(rng.normal(0.0, 2.0))))
    draw(site.stage, f"{path}/Sacks", sacks, paper)
    return path


def _tank(site: Site) -> str:
    """Write a tank of plastic in a cage of tubes."""
    path = site.prototype("Tank", "tank")
    white = site.paint("tank", (0.72, 0.74, 0.72), roughness=0.35, scope=path)
    steel = site.paint("cage", (0.5, 0.52, 0.53), metallic=0.9, roughness=0.35, scope=path, collides=False)
    black = site.paint("cap", (0.02, 0.02, 0.02), roughness=0.5, scope=path, collides=False)
    draw(site.stage, f"{path}/Tank", [cuboid((0.0, 0.0, 0.49), (0.74, 1.12, 0.98), bevel=0.06)], white)
    cage: list[Solid] = []
    for z in (0.05, 0.28, 0.52, 0.76, 0.99):
        for s in (-1.0, 1.0):
            cage.append(tube((s * 0.385, -0.585, z), (s * 0.385, 0.585, z), 0.009, sides=6))
            cage.append(tube((-0.385, s * 0.585, z), (0.385, s * 0.585, z), 0.009, sides=6))
    for s in (-1.0, 1.0):
        for y in np.linspace(-0.585, 0.585, 8).tolist():
            cage.append(tube((s * 0.385, y, 0.0), (s * 0.385, y, 1.0), 0.008, sides=6))
        for x in np.linspace(-0.23, 0.23, 4).tolist():
            cage.append(tube((x, s * 0.585, 0.0), (x, s * 0.585, 1.0), 0.008, sides=6))
    draw(site.stage, f"{path}/Cage", cage, steel)
    caps = [
        tube((0.0, 0.0, 0.97), (0.0, 0.0, 1.02), 0.1, sides=20),
        cuboid((0.0, 0.58, 0.08), (0.12, 0.06, 0.1), bevel=0.01),
    ]
    draw(site.stage, f"{path}/Caps", caps, black)
    return path


def _chest(site: Site) -> str:
    """Write a chest of boards with battens."""
    path = site.prototype("Chest", "crate")
    wood = site.finish("plywood", scope=path)
    batten = site.finish("wood_planks", scope=path, collides=False)
    draw(site.stage, f"{path}/Body", [cuboid((0.0, 0.0, 0.45), (0.74, 1.1, 0.9))], wood)
    parts: list[Solid] = []
    for z in (0.05, 0.45, 0.85):
        parts += [cuboid((s * 0.382, 0.0, z), (0.022, 1.1, 0.09)) for s in (-1, 1)]
        parts += [cuboid((0.0, s * 0.562, z), (0.786, 0.022, 0.09)) for s in (-1, 1)]
    for s in (-1, 1):
        parts += [cuboid((s * 0.381, y, 0.45), (0.02, 0.09, 0.71)) for y in (-0.5, 0.5)]
        parts += [cuboid((x, s * 0.561, 0.45), (0.09, 0.02, 0.71)) for x in (-0.34, 0.34)]
    draw(site.stage, f"{path}/Battens", parts, batten)
    return path


def _reels(site: Site) -> str:
    """Write reels of paper, on end, with hollow cores."""
    path = site.prototype("Reels", "reel")
    paper = site.paint("reel", (0.68, 0.66, 0.6), roughness=0.8, scope=path)
    dark = site.paint("core", (0.05, 0.04, 0.03), scope=path, collides=False)
    cores: list[Solid] = []
    reels: list[Solid] = []
    for k, y in enumerate((-0.3, 0.3)):
        reels.append(tube((0.0, y, 0.0), (0.0, y, 1.05), 0.29, sides=40))
        round_obstacle(site.stage, f"{path}/Reel{k}", (0.0, y, 0.0), (0.0, y, 1.05), 0.29, paper)
        cores.append(tube((0.0, y, 1.049), (0.0, y, 1.0515), 0.05, sides=16))
    draw(site.stage, f"{path}/Paper", reels, Surface(paper.material))
    draw(site.stage, f"{path}/Cores", cores, dark)
    return path


def _rounded_box(angle: Array, a: float, b: float, power: float) -> Array:
    """Return points of a superellipse, shape (K, 2)."""
    c, s = np.cos(angle), np.sin(angle)
    radius = (np.abs(c / a) ** power + np.abs(s / b) ** power) ** (-1.0 / power)
    return np.column_stack([c * radius, s * radius])


def _pillow(size: Array) -> Solid:
    """Return a cushion around the origin."""
    angle = np.linspace(0.0, 2 * np.pi, 21)
    heights = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 7))
    sections = []
    for k, z in enumerate(heights):
        shrink = (1.0 - abs(z) ** 3.5) ** 0.3 if 0 < k < len(heights) - 1 else 0.0
        ring = _rounded_box(angle, size[0] / 2, size[1] / 2, 5.0) * max(shrink, 1e-3)
        sections.append(np.column_stack([ring, np.full(len(ring), z * size[2] / 2)]))
    return joined([loft(np.array(sections), capped=False)])


def _scaled(color: Color, factor: float) -> Color:
    red, green, blue = (round(factor * part, 3) for part in color)
    return red, green, blue


def _clad(prim: Usd.Prim, name: str, faces: IntArray, surface: Surface) -> None:
    """Give triangles of a mesh another visual material; its class and collider remain.

    Args:
        prim: Mesh of `draw`.
        name: Name of the subset.
        faces: Indices of the triangles, shape (K,).
        surface: The material.
    """
    binding = UsdShade.MaterialBindingAPI(prim)
    part = binding.CreateMaterialBindSubset(name, Vt.IntArray.FromNumpy(faces.astype(np.int32)))
    UsdShade.MaterialBindingAPI.Apply(part.GetPrim()).Bind(surface.material)
