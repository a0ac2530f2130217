"""Floors of slabs that show different parts of one image, in several shades, so that nothing repeats."""

import numpy as np
from pxr import UsdGeom

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.authoring import label, subset
from pegasus.scene.scene import Color
from pegasus.worlds.site import Site

_SHADES = (0.94, 1.0, 1.07)


def scattered_uvs(rng: np.random.Generator, corners: Array, *, side: float, course: float = 0.0) -> Array:
    """Return texture coordinates by which each quad shows another part of an image, half of them turned.

    Args:
        rng: Random numbers.
        corners: Horizontal corners of the quads [m], shape (F, 4, 2).
        side: Side of the image [m].
        course: Height of the courses of the image, which begin at the edges of the quads [m]; 0 without.
    """
    count = len(corners)
    turned = rng.integers(0, 2, count) == 1
    shift = rng.uniform(0.0, side, (count, 2))
    if course > 0.0:
        shift[:, 1] = course * np.floor(shift[:, 1] / course)
    local = corners - corners[:, :1]
    local = np.where(turned[:, None, None], local[..., ::-1] * [1.0, -1.0], local)
    uvs: Array = local + shift[:, None]
    return uvs


def shade_slabs(
    site: Site,
    floor: UsdGeom.Mesh,
    name: str,
    faces: IntArray,
    *,
    finish: str,
    tint: Color,
    rng: np.random.Generator,
    roughness: float | None = None,
    weathering: Array | None = None,
) -> None:
    """Give faces of a floor a finish in several shades, at random or by how weathered they are.

    Args:
        site: The site.
        floor: The floor.
        name: Semantic class of the faces.
        faces: Indices of the faces, shape (K,).
        finish: Name of the finish.
        tint: Factor on its colours, linear.
        rng: Random numbers.
        roughness: Uniform roughness, as for `Site.finish`.
        weathering: 0 for the darkest to 1 for the brightest shade, clipped, shape (K,).
    """
    count = len(_SHADES)
    if weathering is None:
        kinds = rng.integers(0, count, len(faces))
    else:
        kinds = np.clip(np.floor(count * weathering), 0, count - 1).astype(np.int64)
    for k, shade in enumerate(_SHADES):
        red, green, blue = (round(shade * part, 3) for part in tint)
        look = site.finish(finish, tint=(red, green, blue), collides=False, roughness=roughness)
        part = subset(floor, f"{name}_{k}", faces[kinds == k].tolist(), look.material)
        label(part, name)
