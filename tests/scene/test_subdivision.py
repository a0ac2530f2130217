"""Tests of subdivision surfaces against closed forms: limits, creases, boundaries, coordinates, colliders."""

from dataclasses import replace

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

from pegasus.scene.authoring import material
from pegasus.scene.scene import Geometry
from pegasus.scene.subdivision import INFINITE, Refinement, Topology
from pegasus.scene.translation import translate

CUBE_POINTS = np.array([(x, y, z) for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], dtype=np.float64)
CUBE_FACES = np.array(
    [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]], dtype=np.int64
)
OCTAHEDRON_POINTS = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
OCTAHEDRON_FACES = np.array(
    [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]], dtype=np.int64
)


def cage(faces: np.ndarray, point_count: int, *, sharpness: float = 0.0, **options: bool) -> Topology:
    return Topology(
        faces.ravel(),
        np.full(len(faces), faces.shape[1]),
        np.full(faces.size, sharpness),
        np.zeros(point_count),
        **options,
    )


def grid(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and quads of a square grid in the plane."""
    index = np.arange(size * size).reshape(size, size)
    quads = np.stack([index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]], axis=-1)
    points = np.stack([index % size, index // size, 0 * index], axis=-1).reshape(-1, 3)
    return points.astype(np.float64), quads.reshape(-1, 4)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_corners_of_a_cube_have_their_limit_at_every_level(level: int) -> None:
    """Wrong rules at points of three edges would make other shapes than other programs do.

    The limit is (9 v + 4 sum of neighbours + sum of opposite corners) / 24 (Halstead, Kass and DeRose 1993).
    """
    points = Refinement(cage(CUBE_FACES, 8), level, "all").vertex(CUBE_POINTS)
    np.testing.assert_allclose(points[:8], CUBE_POINTS / 2, atol=1e-12)


def test_a_level_has_a_point_for_each_point_edge_and_face() -> None:
    """Points that are not shared would leave gaps in the surface."""
    level = cage(CUBE_FACES, 8).refined()
    assert len(level.point_sharpness) == 8 + 12 + 6
    assert len(level.counts) == 24
    assert (level.counts == 4).all()
    edges = np.sort(np.stack([level.indices, level.indices[level.next]], axis=1), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


def test_a_regular_grid_is_a_bicubic_spline() -> None:
    """Wrong rules at points of four edges: the limit of the squares i^2 is i^2 + 1/3 in a cubic B-spline."""
    points, quads = grid(9)
    points[:, 2] = points[:, 0] ** 2
    limit = Refinement(cage(quads, 81), 2, "all").vertex(points)[:81]
    inner = ((points[:, :2] > 1) & (points[:, :2] < 7)).all(axis=1)
    np.testing.assert_allclose(limit[inner, :2], points[inner, :2], atol=1e-12)
    np.testing.assert_allclose(limit[inner, 2], points[inner, 2] + 1 / 3, atol=1e-12)


def test_sharp_edges_keep_the_cube() -> None:
    """Creases would be rounded."""
    points = Refinement(cage(CUBE_FACES, 8, sharpness=INFINITE), 2, "all").vertex(CUBE_POINTS)
    np.testing.assert_allclose(points[:8], CUBE_POINTS, atol=1e-12)
    np.testing.assert_allclose(np.abs(points).max(axis=1), 1.0, atol=1e-12)


def test_a_crease_is_a_cubic_spline() -> None:
    """A crease around a lid would be a polygon: its points have the limit (4 v + a + b) / 6."""
    topology = cage(CUBE_FACES, 8)
    topology.edge_sharpness[4:8] = INFINITE
    points = Refinement(topology, 3, "all").vertex(CUBE_POINTS)
    np.testing.assert_allclose(points[4:8], CUBE_POINTS[4:8] * [2 / 3, 2 / 3, 1], atol=1e-12)


def test_sharpness_wears_off_by_one_per_level_and_blends_below_one() -> None:
    """Edges of sharpness 1 would stay sharp for ever, or those of 0.5 would be smooth."""
    smooth, half, one, sharp = (
        cage(CUBE_FACES, 8, sharpness=value).values(CUBE_POINTS) for value in (0.0, 0.5, 1.0, INFINITE)
    )
    np.testing.assert_allclose(one, sharp, atol=1e-12)
    np.testing.assert_allclose(half, (smooth + sharp) / 2, atol=1e-12)
    worn = cage(CUBE_FACES, 8, sharpness=1.5).refined()
    assert set(worn.edge_sharpness) == {0.0, 0.5}
    assert set(cage(CUBE_FACES, 8, sharpness=INFINITE).refined().edge_sharpness) == {0.0, INFINITE}


def test_sharp_points_stay() -> None:
    """Corners of a mesh would be rounded."""
    topology = cage(CUBE_FACES, 8)
    topology.point_sharpness[0] = INFINITE
    points = Refinement(topology, 2, "all").vertex(CUBE_POINTS)
    np.testing.assert_allclose(points[0], CUBE_POINTS[0])
    assert np.abs(points[1]).max() < 1.0


@pytest.mark.parametrize("sharp_tips", [True, False])
def test_boundaries_are_curves_with_or_without_their_corners(sharp_tips: bool) -> None:
    """Sheets would shrink, or keep corners that their author wants round."""
    points, quads = grid(2)
    refined = Refinement(cage(quads, 4, sharp_tips=sharp_tips), 3, "all").vertex(points)
    corner = [0.0, 0.0, 0.0] if sharp_tips else [1 / 6, 1 / 6, 0.0]
    np.testing.assert_allclose(refined[0], corner, atol=1e-12)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_loop_surfaces_have_their_limit_at_every_level(level: int) -> None:
    """Triangles would be refined by the wrong weights (Loop 1987)."""
    beta = (5 / 8 - (3 / 8 + np.cos(2 * np.pi / 4) / 4) ** 2) / 4
    own = 1 - 4 / (4 + 3 / (8 * beta))
    refinement = Refinement(cage(OCTAHEDRON_FACES, 6, loop=True), level, "all")
    points = refinement.vertex(OCTAHEDRON_POINTS)
    np.testing.assert_allclose(points[:6], own * OCTAHEDRON_POINTS, atol=1e-12)
    assert len(refinement.topology.counts) == 8 * 4**level
    assert (refinement.parents == np.repeat(np.arange(8), 4**level)).all()


def define(stage: Usd.Stage, path: str = "/Cube", scheme: str | None = "catmullClark") -> UsdGeom.Mesh:
    """Write a cube of edge 2 m."""
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray([tuple(point) for point in CUBE_POINTS.tolist()]))
    mesh.CreateFaceVertexCountsAttr([4] * 6)
    mesh.CreateFaceVertexIndicesAttr(CUBE_FACES.ravel().tolist())
    if scheme is not None:
        mesh.CreateSubdivisionSchemeAttr(scheme)
    return mesh


def only(stage: Usd.Stage) -> Geometry:
    (geometry,) = translate(stage).geometries.values()
    return geometry


def corners(geometry: Geometry) -> np.ndarray:
    return np.unique(np.round(geometry.vertices, 5), axis=0)


def test_a_subdivided_mesh_is_drawn_and_collides_as_its_surface(stage: Usd.Stage) -> None:
    """A ball authored as a cube would be drawn as a ball and stop vehicles as a cube, or be drawn as one."""
    mesh = define(stage)
    mesh.CreateNormalsAttr(Vt.Vec3fArray([(0.0, 0.0, 1.0)] * 8))
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    scene = translate(stage)
    (geometry,) = scene.geometries.values()
    assert len(geometry.faces) == 6 * 4 * 4 * 2
    radius = np.linalg.norm(geometry.vertices, axis=1)
    assert 0.83 < radius.min() <= radius.max() < 0.87
    outward = (geometry.normals * geometry.vertices).sum(axis=1) / radius
    assert outward.min() > 0.95
    (collider,) = scene.colliders
    np.testing.assert_allclose(
        np.unique(np.round(collider.vertices, 5), axis=0), corners(geometry), atol=2e-5
    )


def test_creases_and_corners_are_read(stage: Usd.Stage) -> None:
    """Creases by their own sharpness or that of each edge would be lost."""
    mesh = define(stage)
    mesh.CreateCreaseIndicesAttr([4, 5, 7, 6, 4])
    mesh.CreateCreaseLengthsAttr([5])
    mesh.CreateCreaseSharpnessesAttr([INFINITE])
    mesh.CreateCornerIndicesAttr([0])
    mesh.CreateCornerSharpnessesAttr([INFINITE])
    found = corners(only(stage))
    for point in ((2 / 3, 2 / 3, 1.0), (-2 / 3, 2 / 3, 1.0), (-1.0, -1.0, -1.0)):
        assert np.abs(found - point).max(axis=1).min() < 1e-4
    mesh.GetCreaseSharpnessesAttr().Set([INFINITE] * 4)
    np.testing.assert_array_equal(corners(only(stage)), found)
    mesh.GetCreaseLengthsAttr().Set([4])
    assert "/Cube: creases left out: their indices, lengths and sharpnesses do not fit" in (
        translate(stage).warnings
    )


def test_the_level_is_an_attribute_of_the_mesh(stage: Usd.Stage) -> None:
    """A cage could not be kept, nor a coarse one be made finer."""
    prim = define(stage).GetPrim()
    prim.CreateAttribute("refinementEnableOverride", Sdf.ValueTypeNames.Bool).Set(True)
    level = prim.CreateAttribute("refinementLevel", Sdf.ValueTypeNames.Int)
    for value, count in ((0, 12), (1, 48), (3, 768)):
        level.Set(value)
        assert len(only(stage).faces) == count
    level.Set(12)
    scene = translate(stage)
    assert "/Cube: subdivided 8 times, not 12: it would have too many faces" in scene.warnings


def test_meshes_without_a_scheme_stay_polygons_and_say_so(stage: Usd.Stage) -> None:
    """Boxes of exporters that leave out the scheme would turn into balls."""
    mesh = define(stage, scheme=None)
    scene = translate(stage)
    assert len(scene.geometries["/Cube"].faces) == 12
    line = "/Cube: subdivisionScheme is not authored: read as polygons, not subdivided"
    assert line in scene.warnings
    mesh.CreateNormalsAttr(Vt.Vec3fArray([(0.0, 0.0, 1.0)] * 8))
    assert line not in translate(stage).warnings


def test_islands_of_coordinates_keep_their_borders(stage: Usd.Stage) -> None:
    """Textures would bleed over seams, or shrink away from them."""
    mesh = define(stage)
    island = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    coordinates = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(
        "st", Sdf.ValueTypeNames.TexCoord2fArray, "faceVarying"
    )
    coordinates.Set(Vt.Vec2fArray([(u + 2 * face, v) for face in range(6) for u, v in island]))
    geometry = only(stage)
    for face in range(6):
        uvs = geometry.uvs[(geometry.uvs[:, 0] > 2 * face - 0.5) & (geometry.uvs[:, 0] < 2 * face + 1.5)]
        assert uvs.min(axis=0).tolist() == [2 * face, 0.0]
        assert uvs.max(axis=0).tolist() == [2 * face + 1, 1.0]


@pytest.mark.parametrize("rule", ["all", "none", "cornersOnly", "cornersPlus1", "cornersPlus2", "boundaries"])
def test_coordinates_of_a_flat_grid_follow_its_points(rule: str) -> None:
    """Textures would swim over flat ground, whatever the rule at borders."""
    points, quads = grid(5)
    topology = cage(quads, 25)
    refinement = Refinement(topology, 2, rule)
    places = refinement.vertex(points)[refinement.topology.indices]
    uvs = refinement.face_varying(points[quads.ravel(), :2])
    inner = ((places[:, :2] >= 1) & (places[:, :2] <= 3)).all(axis=1)
    np.testing.assert_allclose(uvs[inner], places[inner, :2], atol=1e-12)
    tips = Refinement(replace(topology, sharp_tips=rule != "none"), 2, rule)
    smooth = tips.vertex(points)[tips.topology.indices][:, :2]
    if rule in ("none", "cornersOnly", "cornersPlus1"):
        np.testing.assert_allclose(uvs, smooth, atol=1e-12)


def test_colours_and_subsets_of_faces_hold_for_their_parts(stage: Usd.Stage) -> None:
    """Refined faces would take the colours and materials of other faces."""
    mesh = define(stage)
    tones = [(face / 10.0, 0.0, 0.0) for face in range(6)]
    UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("displayColor", Sdf.ValueTypeNames.Color3fArray, "uniform").Set(
        Vt.Vec3fArray(tones)
    )
    geometry = only(stage)
    tone = geometry.colors[geometry.faces[:, 0], 0]
    counts = np.unique(np.round(tone, 3), return_counts=True)
    assert counts[1].tolist() == [32] * 6
    top = geometry.vertices[geometry.faces[np.isclose(tone, 0.1)]].mean(axis=(0, 1))
    assert top[2] > 0.6
    paint = material(stage, "/Looks/Paint", (1.0, 0.0, 0.0))
    subset = UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).CreateMaterialBindSubset("top", [1])
    UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(paint)
    scene = translate(stage)
    painted = next(item for item in scene.instances if item.material == "/Looks/Paint")
    part = scene.geometries[painted.geometry]
    assert len(part.faces) == 32
    assert part.vertices[:, 2].min() > 0.4
