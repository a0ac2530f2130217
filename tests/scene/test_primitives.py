"""Tests of triangulated primitives against the closed forms of their area and volume."""

from collections.abc import Callable

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from pegasus.scene.translation import translate

R, H = 0.7, 1.9

# A circle of 32 chords has 0.64 % less area than the circle, and a ball of 32 by 16 facets 1.6 % less volume.
INSCRIBED = 0.984

SHAPES = {
    "Sphere": ({"radius": R}, 4 * np.pi * R**2, 4 / 3 * np.pi * R**3),
    "Cylinder": ({"radius": R, "height": H}, 2 * np.pi * R * (R + H), np.pi * R**2 * H),
    "Cone": ({"radius": R, "height": H}, np.pi * R * (R + np.hypot(R, H)), np.pi * R**2 * H / 3),
    "Capsule": ({"radius": R, "height": H}, 2 * np.pi * R * (2 * R + H), np.pi * R**2 * (H + 4 / 3 * R)),
    "Cylinder_1": (
        {"radiusBottom": R, "radiusTop": R / 2, "height": H},
        np.pi * (R**2 + R**2 / 4 + 1.5 * R * np.hypot(R / 2, H)),
        np.pi * H / 3 * (R**2 + R**2 / 2 + R**2 / 4),
    ),
}


def define(stage: Usd.Stage, kind: str, **attributes: object) -> Usd.Prim:
    prim = stage.DefinePrim(f"/{kind}", kind)
    for name, value in attributes.items():
        prim.GetAttribute(name).Set(value)
    return prim


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
def test_area_and_volume(
    stage: Usd.Stage, area_and_volume: Callable[..., tuple[float, float]], kind: str, axis: str
) -> None:
    """A primitive would be open, inside out, or of another size than authored."""
    attributes, area, volume = SHAPES[kind]
    prim = define(stage, kind, **attributes)
    if prim.HasAttribute("axis"):
        prim.GetAttribute("axis").Set(axis)
    (geometry,) = translate(stage).geometries.values()
    got_area, got_volume = area_and_volume(geometry.vertices, geometry.faces)
    assert INSCRIBED * area < got_area <= area
    assert INSCRIBED * volume < got_volume <= volume


@pytest.mark.parametrize("kind", [*SHAPES, "Cube"])
@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
def test_extent_and_normals(stage: Usd.Stage, kind: str, axis: str) -> None:
    """A primitive would lie along another axis than OpenUSD says, or be lit from inside."""
    prim = define(stage, kind, **(SHAPES[kind][0] if kind in SHAPES else {"size": R}))
    if prim.HasAttribute("axis"):
        prim.GetAttribute("axis").Set(axis)
    (geometry,) = translate(stage).geometries.values()
    extent = UsdGeom.Boundable.ComputeExtentFromPlugins(UsdGeom.Boundable(prim), Usd.TimeCode.Default())
    reach = np.stack([geometry.vertices.min(axis=0), geometry.vertices.max(axis=0)])
    np.testing.assert_allclose(reach, np.array(extent), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(geometry.normals, axis=1), 1.0, rtol=1e-5)
    corners = geometry.vertices[geometry.faces].astype(np.float64)
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("fi,fci->fc", areas, geometry.normals[geometry.faces]) > 0).all()
    assert geometry.uvs is not None
    assert geometry.uvs.min() >= 0.0
    assert geometry.uvs.max() <= 1.0


@pytest.mark.parametrize(("axis", "normal"), [("X", (1, 0, 0)), ("Y", (0, 1, 0)), ("Z", (0, 0, 1))])
def test_planes(
    stage: Usd.Stage, area_and_volume: Callable[..., tuple[float, float]], axis: str, normal: tuple[int, ...]
) -> None:
    """A floor would face down, or have its width and length exchanged."""
    prim = define(stage, "Plane", width=2.0, length=3.0, axis=axis)
    (geometry,) = translate(stage).geometries.values()
    extent = UsdGeom.Boundable.ComputeExtentFromPlugins(UsdGeom.Boundable(prim), Usd.TimeCode.Default())
    reach = np.stack([geometry.vertices.min(axis=0), geometry.vertices.max(axis=0)])
    np.testing.assert_allclose(reach, np.array(extent), atol=1e-6)
    assert area_and_volume(geometry.vertices, geometry.faces)[0] == pytest.approx(6.0)
    np.testing.assert_allclose(geometry.normals, np.tile(normal, (4, 1)))
    corners = geometry.vertices[geometry.faces]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (areas @ normal > 0).all()
    assert geometry.double_sided


def test_equal_primitives_share_one_geometry(stage: Usd.Stage) -> None:
    """A wall of a thousand boxes would hold a thousand meshes."""
    for k in range(4):
        UsdGeom.Cube.Define(stage, f"/Box{k}").GetSizeAttr().Set(1.0 if k < 3 else 2.0)
    scene = translate(stage)
    assert len(scene.instances) == 4
    assert len(scene.geometries) == 2
