"""Surfaces of the town by name."""

from dataclasses import dataclass

from pegasus.scene.authoring import Surface
from pegasus.scene.scene import Color
from pegasus.worlds.site import ROOT, Site


@dataclass(frozen=True)
class Coat:
    """A tinted finish, or a colour without a finish."""

    finish: str | None = None
    tint: Color = (1.0, 1.0, 1.0)
    roughness: float = 0.6
    metallic: float = 0.0
    emission: Color = (0.0, 0.0, 0.0)


PLASTERS: tuple[Color, ...] = (
    (0.92, 0.80, 0.56),
    (0.85, 0.58, 0.26),
    (0.74, 0.36, 0.22),
    (0.50, 0.60, 0.52),
    (0.95, 0.93, 0.88),
    (0.56, 0.60, 0.70),
    (0.88, 0.70, 0.42),
    (0.52, 0.42, 0.31),
    (0.80, 0.60, 0.52),
)
BRICKS: tuple[Color, ...] = ((1.0, 1.0, 1.0), (0.85, 0.72, 0.66), (1.1, 1.0, 0.8), (0.75, 0.75, 0.80))
ROOFS: tuple[Color, ...] = ((1.0, 1.0, 1.0), (0.72, 0.60, 0.56), (0.45, 0.45, 0.50))
DOORS: tuple[Color, ...] = ((0.12, 0.05, 0.03), (0.03, 0.09, 0.06), (0.03, 0.05, 0.12), (0.25, 0.03, 0.03))
STREAK: Color = (0.74, 0.72, 0.70)
"""Colour of rain streaks relative to their wall."""
CLOTHS: tuple[Color, ...] = ((0.45, 0.05, 0.05), (0.05, 0.20, 0.12), (0.06, 0.10, 0.30), (0.60, 0.40, 0.08))
SHUTTERS: tuple[Color, ...] = ((0.05, 0.16, 0.10), (0.10, 0.16, 0.26), (0.30, 0.10, 0.06), (0.50, 0.48, 0.42))


def _dirty(color: Color) -> Color:
    red, green, blue = (round(a * b, 3) for a, b in zip(color, STREAK, strict=True))
    return red, green, blue


COATS: dict[str, Coat] = {
    **{f"plaster_{k}": Coat("plaster", color) for k, color in enumerate(PLASTERS)},
    **{f"streak_{k}": Coat("plaster", _dirty(color)) for k, color in enumerate(PLASTERS)},
    **{f"brick_{k}": Coat("brick", color) for k, color in enumerate(BRICKS)},
    **{f"tiles_{k}": Coat("roof_tiles", color) for k, color in enumerate(ROOFS)},
    **{f"door_{k}": Coat(None, color, 0.35) for k, color in enumerate(DOORS)},
    **{f"cloth_{k}": Coat(None, color, 0.9) for k, color in enumerate(CLOTHS)},
    **{f"shutter_{k}": Coat(None, color, 0.5) for k, color in enumerate(SHUTTERS)},
    "asphalt": Coat("asphalt"),
    "roadway": Coat("roadway"),
    "patch": Coat("asphalt", (0.62, 0.62, 0.64)),
    "paving": Coat("paving"),
    "slabs": Coat("paving", (0.86, 0.80, 0.72)),
    "kerb": Coat("concrete", (0.95, 0.95, 0.97)),
    "marking": Coat("road_marking"),
    "iron": Coat(None, (0.05, 0.05, 0.055), 0.55, 0.6),
    "grass": Coat("grass"),
    "meadow": Coat("meadow"),
    "field_0": Coat("grass", (1.25, 1.15, 0.7)),
    "field_1": Coat("meadow", (0.8, 0.9, 0.7)),
    "field_2": Coat("soil", (1.0, 0.9, 0.8)),
    "field_3": Coat("grass", (0.75, 0.9, 0.7)),
    "gutter": Coat("concrete", (0.62, 0.62, 0.62)),
    "gravel": Coat("gravel", (0.95, 0.88, 0.75)),
    "roof_gravel": Coat("gravel", (0.75, 0.75, 0.77)),
    "soil": Coat("soil"),
    "concrete": Coat("concrete"),
    "stone": Coat("concrete", (1.25, 1.2, 1.08)),
    "plinth": Coat("concrete", (0.72, 0.70, 0.67)),
    "coping": Coat(None, (0.28, 0.30, 0.31), 0.4, 0.7),
    "frame_white": Coat(None, (0.78, 0.78, 0.76), 0.4),
    "frame_dark": Coat(None, (0.05, 0.055, 0.06), 0.4),
    "glass": Coat(None, (0.025, 0.035, 0.045), 0.06),
    "shop_glass": Coat(None, (0.04, 0.045, 0.05), 0.05),
    "curtain": Coat(None, (0.42, 0.40, 0.36), 0.25),
    "display": Coat(None, (0.50, 0.36, 0.20), 0.4, 0.0, (0.10, 0.07, 0.04)),
    "metal": Coat(None, (0.45, 0.46, 0.47), 0.4, 0.8),
    "zinc": Coat(None, (0.36, 0.38, 0.40), 0.5, 0.6),
    "solar": Coat(None, (0.01, 0.015, 0.05), 0.15),
    "white": Coat(None, (0.75, 0.75, 0.73), 0.5),
    "black": Coat(None, (0.02, 0.02, 0.022), 0.6),
    "wood": Coat("wood_planks", (0.75, 0.55, 0.38)),
    "rubber": Coat(None, (0.018, 0.018, 0.018), 0.85),
    "rim": Coat(None, (0.55, 0.56, 0.58), 0.3, 0.9),
    "car_glass": Coat(None, (0.012, 0.016, 0.02), 0.04),
    "head_light": Coat(None, (0.70, 0.72, 0.75), 0.08),
    "tail_light": Coat(None, (0.35, 0.01, 0.01), 0.12),
    "amber": Coat(None, (0.65, 0.25, 0.01), 0.2),
    "plate": Coat(None, (0.80, 0.80, 0.76), 0.4),
    "lamp_glass": Coat(None, (0.85, 0.83, 0.76), 0.2, 0.0, (0.30, 0.28, 0.22)),
    "sign_blue": Coat(None, (0.01, 0.10, 0.42), 0.35),
    "sign_red": Coat(None, (0.55, 0.01, 0.02), 0.35),
    "sign_white": Coat(None, (0.82, 0.82, 0.82), 0.35),
    "sign_yellow": Coat(None, (0.85, 0.55, 0.02), 0.35),
    "light_red": Coat(None, (0.55, 0.02, 0.02), 0.2, 0.0, (1.5, 0.05, 0.03)),
    "light_off_yellow": Coat(None, (0.22, 0.14, 0.01), 0.2),
    "light_off_green": Coat(None, (0.01, 0.13, 0.07), 0.2),
    "bin_green": Coat(None, (0.03, 0.13, 0.07), 0.4),
    "poster": Coat(None, (0.62, 0.30, 0.12), 0.5),
    "water": Coat(None, (0.03, 0.09, 0.10), 0.05),
    "hedge": Coat("grass", (0.42, 0.62, 0.36)),
}
"""Coats by name; plasters, bricks, roofs, doors, cloths and shutters come with numbers."""

PAINTS: tuple[tuple[Color, float], ...] = (
    ((0.70, 0.70, 0.69), 0.0),
    ((0.015, 0.015, 0.018), 0.0),
    ((0.32, 0.34, 0.36), 0.6),
    ((0.35, 0.015, 0.015), 0.1),
    ((0.02, 0.07, 0.25), 0.3),
    ((0.10, 0.11, 0.12), 0.5),
    ((0.04, 0.16, 0.14), 0.3),
    ((0.55, 0.47, 0.33), 0.4),
)
"""Colours of cars with their metalness."""


def surfaces(site: Site, names: list[str], *, scope: str = ROOT) -> dict[str, Surface]:
    """Return the visual surfaces of coats; colliders are separate prims.

    Args:
        site: The site.
        names: Keys into `COATS`.
        scope: Ancestor of the prims that use them.
    """
    return {name: _surface(site, name, scope) for name in names}


def _surface(site: Site, name: str, scope: str) -> Surface:
    coat = COATS[name]
    if coat.finish is not None:
        return site.finish(coat.finish, tint=coat.tint, scope=scope, collides=False)
    return site.paint(
        name,
        coat.tint,
        roughness=coat.roughness,
        metallic=coat.metallic,
        emission=coat.emission,
        scope=scope,
        collides=False,
    )
