"""Indoor lights: dim dome, panels, hanging lamps."""

from collections.abc import Sequence

from pxr import Gf, Usd, UsdLux

from pegasus.base.arrays import Array
from pegasus.scene.authoring import Vector, instance, place
from pegasus.scene.scene import Color
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import cuboid, draw, tube

_NEUTRAL: Color = (1.0, 0.96, 0.9)


def dim_dome(stage: Usd.Stage, *, intensity: float = 150.0) -> None:
    """Write a dim dome light.

    Args:
        stage: Stage to write to.
        intensity: Intensity; a clear sky has 1000.
    """
    dome = UsdLux.DomeLight.Define(stage, f"{ROOT}/Dome")
    dome.CreateIntensityAttr(intensity)
    dome.CreateColorAttr(Gf.Vec3f(0.9, 0.95, 1.0))


def panel_light(
    stage: Usd.Stage,
    path: str,
    center: Vector,
    size: tuple[float, float],
    *,
    intensity: float,
    color: Color = _NEUTRAL,
    rotation: Array | None = None,
) -> None:
    """Write a rectangular light that shines down.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        center: Centre [m], shape (3,).
        size: Lengths along x and y [m].
        intensity: Intensity for RTX; the sun has 3000 over a far smaller angle.
        color: Linear colour.
        rotation: Rotation matrix, shape (3, 3); by default horizontal.
    """
    light = UsdLux.RectLight.Define(stage, path)
    light.CreateWidthAttr(size[0])
    light.CreateHeightAttr(size[1])
    light.CreateIntensityAttr(intensity)
    light.CreateColorAttr(Gf.Vec3f(*color))
    place(light.GetPrim(), center, rotation=rotation)


def hang_lamps(
    site: Site,
    centers: Sequence[tuple[float, float, float]],
    *,
    ceiling: float,
    length: float = 1.5,
    width: float = 0.34,
    intensity: float = 30_000.0,
) -> None:
    """Write lamps along x, each with a light, on two wires from the ceiling.

    Args:
        site: The site.
        centers: Centre of each lamp's body [m].
        ceiling: Height of the ceiling [m].
        length: Length of a lamp [m].
        width: Width of a lamp [m].
        intensity: Intensity of its light.
    """
    stage = site.stage
    path = site.prototype("Lamp", "lamp")
    body = site.paint("lamp_body", (0.75, 0.75, 0.74), roughness=0.35, metallic=0.3, scope=path)
    lens = site.paint("lamp_lens", (0.9, 0.9, 0.88), emission=(1.0, 0.96, 0.9), scope=path, collides=False)
    wire = site.paint("lamp_wire", (0.1, 0.1, 0.1), scope=path, collides=False)
    draw(
        stage,
        f"{path}/Body",
        [
            cuboid((0.0, 0.0, 0.0), (length, width, 0.07), bevel=0.012),
            cuboid((0.0, 0.0, 0.06), (0.5, 0.16, 0.06), bevel=0.01),
        ],
        body,
    )
    draw(stage, f"{path}/Lens", [cuboid((0.0, 0.0, -0.037), (length - 0.08, width - 0.06, 0.006))], lens)
    drop = ceiling - centers[0][2] if centers else 0.0
    if drop > 0.05:
        ends = (-0.4 * length, 0.4 * length)
        draw(
            stage,
            f"{path}/Wires",
            [tube((x, 0.0, 0.03), (x, 0.0, drop), 0.004, sides=6) for x in ends],
            wire,
        )
    for index, center in enumerate(centers):
        instance(stage, f"{ROOT}/Lamps/Lamp{index}", path, center)
        below = (center[0], center[1], center[2] - 0.045)
        panel_light(
            stage, f"{ROOT}/Lights/Lamp{index}", below, (length - 0.1, width - 0.08), intensity=intensity
        )
