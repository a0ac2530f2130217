"""Tests of the worlds `forest` and `hills`: their stages follow their parameters; borders of grass."""

from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdShade

from pegasus.worlds import SiteGenerator
from pegasus.worlds.forest import Forest
from pegasus.worlds.hills import Hills
from pegasus.worlds.landscape import distance_to_line
from pegasus.worlds.race_gates import RaceGates
from pegasus.worlds.site import Site


def built(world: SiteGenerator, folder: Path) -> Site:
    """Return a generated world from its stage."""
    site = Site(folder, world.seed)
    world.build(site)
    return site


def places(site: Site, group: str) -> np.ndarray:
    """Return the positions of the instances of a group, shape (K, 3)."""
    found = [
        UsdGeom.XformCache().GetLocalToWorldTransform(prim).ExtractTranslation()
        for prim in site.stage.GetPrimAtPath(group).GetFilteredChildren(Usd.TraverseInstanceProxies())
    ]
    return np.array(found)


def test_trunks_keep_apart_and_off_the_way_and_follow_the_density(tmp_path: Path) -> None:
    """Trunks would overlap or block the path, or the density have no effect."""
    counts = []
    for density in (0.01, 0.03):
        world = Forest(seed=3, size=60.0, tree_density=density, least_gap=3.0, undergrowth=0.0)
        site = built(world, tmp_path)
        trees = places(site, "/World/Trees")[:, :2]
        counts.append(len(trees))
        apart = np.hypot(*(trees[:, None] - trees[None]).transpose(2, 0, 1))
        assert apart[~np.eye(len(trees), dtype=bool)].min() > 3.0 - 1e-4
        assert distance_to_line(trees, np.array(site.paths["trail"])[:, :2]).min() > 2.0
    assert 2.5 < counts[1] / counts[0] < 3.5


def test_hills_are_as_high_as_asked_and_trees_stand_on_them(tmp_path: Path) -> None:
    """Heights would not follow the amplitude, or trees would float."""
    site = built(Hills(seed=2, size=120.0, cell=2.4, amplitude=15.0, tree_density=0.01), tmp_path)
    ground = UsdGeom.Mesh(site.stage.GetPrimAtPath("/World/Ground/Collision"))
    points = np.array(ground.GetPointsAttr().Get())
    assert points[:, 2].max() == pytest.approx(15.0, abs=1e-3)
    assert points[:, 2].min() >= -1e-4
    trees = places(site, "/World/Trees")
    near = np.hypot(*(trees[:, None, :2] - points[None, :, :2]).transpose(2, 0, 1)).argmin(axis=1)
    assert len(trees) > 20
    assert np.abs(trees[:, 2] - points[near, 2]).max() < 2.4


def test_hills_of_a_height_map_are_that_map(tmp_path: Path) -> None:
    """A user's own land would be changed, mirrored, or stretched."""
    rows, columns = np.mgrid[0:60, 0:90]
    heights = 6.0 + 4.0 * np.sin(columns / 14.0) + 0.05 * rows
    np.save(tmp_path / "map.npy", heights)
    site = built(Hills(size=178.0, height_map=tmp_path / "map.npy"), tmp_path)
    ground = UsdGeom.Mesh(site.stage.GetPrimAtPath("/World/Ground/Collision"))
    points = np.array(ground.GetPointsAttr().Get()).reshape(60, 90, 3)
    np.testing.assert_allclose(points[::-1, :, 2], heights, atol=1e-4)
    np.testing.assert_allclose(points[0, [0, -1], 0], [-89.0, 89.0], atol=1e-4)
    np.testing.assert_allclose(points[[0, -1], 0, 1], [-59.0, 59.0], atol=1e-4)


@pytest.mark.parametrize(
    ("amplitude", "parameters"),
    [
        (59.2, {"seed": 899192, "size": 149.2, "rock_density": 0.0078, "tree_density": 0.0034}),
        (45.7, {"seed": 987436, "size": 185.4, "rock_density": 0.0005, "tree_density": 0.0068}),
    ],
)
def test_starts_on_steep_hills_stand_on_the_ground(
    tmp_path: Path, amplitude: float, parameters: dict[str, float]
) -> None:
    """A vehicle would start within a ridge, or fall down a slope before it takes off."""
    site = built(Hills(amplitude=amplitude, cell=2.0, **parameters), tmp_path)
    points = np.array(UsdGeom.Mesh(site.stage.GetPrimAtPath("/World/Ground/Collision")).GetPointsAttr().Get())
    side = round(len(points) ** 0.5)
    line, heights = points[:side, 0], points[:, 2].reshape(side, side)
    step = np.linspace(-0.45, 0.45, 61)
    assert len(site.spawn_points) == 8
    for start in site.spawn_points:
        x, y, z = start.position
        u, v = ((place - line[0] + step) / (line[1] - line[0]) for place in (x, y))
        column, row = np.meshgrid(u.astype(int), v.astype(int))
        s, t = np.meshgrid(u % 1.0, v % 1.0)
        a, b, c, d = (heights[row + j, column + i] for j in (0, 1) for i in (0, 1))
        under = np.where(s > t, a + s * (b - a) + t * (d - b), a + t * (c - a) + s * (d - c))
        assert under.max() < z - 0.05
        assert z - under[30, 30] < 1.0


@pytest.mark.parametrize(
    ("world", "bare"),
    [
        (Forest(seed=3, size=60.0, tree_density=0.0, undergrowth=0.0), "ForestFloor"),
        (Hills(seed=2, size=120.0, tree_density=0.0, rock_density=0.0), "Soil"),
        (RaceGates(seed=1), "Soil"),
    ],
)
def test_thin_grass_lies_between_earth_and_grass(world: SiteGenerator, bare: str, tmp_path: Path) -> None:
    """Lawns would end at bare earth in a sharp line, like carpets."""
    site = built(world, tmp_path)
    points: dict[str, set[tuple[float, ...]]] = {}
    for prim in site.stage.GetPrimAtPath("/World/Ground").GetChildren():
        look = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0].GetPrim()
        if (
            look
            and UsdGeom.Imageable(prim).ComputePurpose() != UsdGeom.Tokens.guide
            and prim.IsA(UsdGeom.Mesh)
        ):
            kind = look.GetName().split("_")[0]
            places = np.round(np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get()), 3)
            points.setdefault(kind, set()).update(map(tuple, places.tolist()))
    green = points.get("Grass", set()) | points.get("Meadow", set())
    soft, sharp = len(points[bare] & points["ThinGrass"]), len(points[bare] & green)
    assert soft > 50
    assert sharp < 0.1 * soft
