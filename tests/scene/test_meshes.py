"""Tests of triangulation: polygons, holes, orientation, normals, coordinates, colours, subsets."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom, UsdShade, Vt

from pegasus.scene.authoring import label, material
from pegasus.scene.scene import Geometry
from pegasus.scene.translation import translate

CUBE_POINTS = [(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)]
CUBE_FACES = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]


def write(
    stage: Usd.Stage, path: str, points: Sequence[Sequence[float]], faces: Sequence[Sequence[int]]
) -> UsdGeom.Mesh:
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray([tuple(map(float, point)) for point in points]))
    mesh.CreateFaceVertexCountsAttr([len(face) for face in faces])
    mesh.CreateFaceVertexIndicesAttr([index for face in faces for index in face])
    mesh.CreateSubdivisionSchemeAttr("none")
    return mesh


def only(stage: Usd.Stage) -> Geometry:
    (geometry,) = translate(stage).geometries.values()
    return geometry


def primvar(
    mesh: UsdGeom.Mesh, name: str, kind: Sdf.ValueTypeName, interpolation: str, values: object
) -> None:
    UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(name, kind, interpolation).Set(values)


def polygon_area(outline: Sequence[tuple[float, float]]) -> float:
    """Area of a polygon in the plane by the shoelace formula."""
    x, y = np.array(outline).T
    return float(np.abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


STAR = [
    (float(r * np.cos(a)), float(r * np.sin(a)))
    for k in range(14)
    for r, a in [(1.0 if k % 2 else 0.3, 2 * np.pi * k / 14)]
]
CONCAVE = {
    "ell": [(0, 0), (2, 0), (2, 1), (1, 1), (1, 3), (0, 3)],
    "arrow": [(0, 0), (2, 1), (0, 2), (0.5, 1)],
    "star": STAR,
    # A square with a square hole that is joined to the outline by a slit: two corners are double.
    "slit": [(0, 0), (4, 0), (4, 4), (0, 4), (0, 0), (1, 1), (1, 3), (3, 3), (3, 1), (1, 1)],
}


@pytest.mark.parametrize("name", CONCAVE)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_concave_faces_are_covered_exactly_once(
    stage: Usd.Stage, area_and_volume: Callable[..., tuple[float, float]], name: str, axis: int, sign: float
) -> None:
    """A fan over a concave face would cover what is outside it, and turn some triangles over."""
    outline = CONCAVE[name]
    points = np.zeros((len(outline), 3))
    points[:, [(axis + 1) % 3, (axis + 2) % 3]] = outline
    points[:, axis] = 0.7
    order = list(range(len(outline)))[:: int(sign)]
    write(stage, "/Face", points.tolist(), [order])
    geometry = only(stage)
    assert area_and_volume(geometry.vertices, geometry.faces)[0] == pytest.approx(
        polygon_area(outline), rel=1e-5
    )
    corners = geometry.vertices[geometry.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (normals[:, axis] * sign >= -1e-7).all()
    np.testing.assert_allclose(geometry.normals[:, axis], sign, atol=1e-6)


def test_polygons_of_every_size_close_a_volume(
    stage: Usd.Stage, area_and_volume: Callable[..., tuple[float, float]]
) -> None:
    """A face whose triangles go missing or turn over would leave the solid open."""
    corners = [(float(np.cos(a)), float(np.sin(a))) for a in 2 * np.pi * np.arange(7) / 7]
    points = [(x, y, z) for z in (0.0, 2.0) for x, y in corners]
    sides = [[k, (k + 1) % 7, (k + 1) % 7 + 7, k + 7] for k in range(7)]
    write(stage, "/Prism", points, [list(range(7))[::-1], list(range(7, 14)), *sides])
    geometry = only(stage)
    base = polygon_area(corners)
    edge = 2 * np.sin(np.pi / 7)
    area, volume = area_and_volume(geometry.vertices, geometry.faces)
    assert volume == pytest.approx(2 * base, rel=1e-6)
    assert area == pytest.approx(2 * base + 7 * 2 * edge, rel=1e-6)


def test_holes_are_left_out(stage: Usd.Stage, area_and_volume: Callable[..., tuple[float, float]]) -> None:
    """Faces that a modeller marked as holes would be drawn."""
    write(stage, "/Box", CUBE_POINTS, CUBE_FACES).CreateHoleIndicesAttr([0, 3])
    geometry = only(stage)
    assert area_and_volume(geometry.vertices, geometry.faces)[0] == pytest.approx(4.0)


def test_left_handed_meshes_keep_their_outside_out(
    stage: Usd.Stage, area_and_volume: Callable[..., tuple[float, float]]
) -> None:
    """Left-handed meshes would be inside out."""
    mesh = write(stage, "/Box", CUBE_POINTS, [face[::-1] for face in CUBE_FACES])
    mesh.CreateOrientationAttr("leftHanded")
    geometry = only(stage)
    assert area_and_volume(geometry.vertices, geometry.faces)[1] == pytest.approx(1.0)
    outward = ((geometry.vertices - 0.5) * geometry.normals).sum(axis=1)
    assert (outward > 0.4).all()


def test_flat_faces_split_vertices_and_smooth_ones_share_them(stage: Usd.Stage) -> None:
    """A box would be shaded like a ball, or no mesh would share vertices."""
    write(stage, "/Flat", CUBE_POINTS, CUBE_FACES)
    smooth = write(stage, "/Smooth", CUBE_POINTS, CUBE_FACES)
    normals = (np.array(CUBE_POINTS) - 0.5) / np.sqrt(0.75)
    smooth.CreateNormalsAttr(Vt.Vec3fArray([tuple(map(float, normal)) for normal in normals]))
    scene = translate(stage)
    assert len(scene.geometries["/Flat"].vertices) == 24
    assert len(scene.geometries["/Smooth"].vertices) == 8
    for geometry in scene.geometries.values():
        np.testing.assert_allclose(np.linalg.norm(geometry.normals, axis=1), 1.0, rtol=1e-6)
    got = scene.geometries["/Smooth"]
    np.testing.assert_allclose(got.normals, (got.vertices - 0.5) / np.sqrt(0.75), atol=1e-6)


def test_meshes_without_scheme_and_normals_are_smooth_but_not_across_sharp_edges(stage: Usd.Stage) -> None:
    """Smooth shapes would look faceted, or sharp edges would be rounded."""
    write(stage, "/Box", CUBE_POINTS, CUBE_FACES).GetPrim().RemoveProperty("subdivisionScheme")
    angle = 2 * np.pi * np.arange(16) / 16
    points = [(float(np.cos(a)), float(np.sin(a)), z) for z in (0.0, 1.0) for a in angle]
    faces = [[k, (k + 1) % 16, (k + 1) % 16 + 16, k + 16] for k in range(16)]
    write(stage, "/Tube", points, faces).GetPrim().RemoveProperty("subdivisionScheme")
    scene = translate(stage)
    assert len(scene.geometries["/Box"].vertices) == 24
    tube = scene.geometries["/Tube"]
    assert len(tube.vertices) == 32
    np.testing.assert_allclose(tube.normals[:, :2], tube.vertices[:, :2], atol=1e-6)


@pytest.mark.parametrize("interpolation", ["vertex", "varying", "faceVarying", "uniform", "constant"])
def test_texture_coordinates_of_every_interpolation(stage: Usd.Stage, interpolation: str) -> None:
    """Textures would be scrambled for other interpolations of the coordinates."""
    points = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0), (1, 1, 0), (2, 1, 0)]
    faces = [[0, 1, 4, 3], [1, 2, 5, 4]]
    mesh = write(stage, "/Sheet", points, faces)
    corners = [index for face in faces for index in face]
    per_point = [(float(x) / 2, float(y)) for x, y, _ in points]
    values = {
        "vertex": per_point,
        "varying": per_point,
        "faceVarying": [(per_point[c][0] + 10.0 * (k // 4), per_point[c][1]) for k, c in enumerate(corners)],
        "uniform": [(0.0, 0.0), (5.0, 5.0)],
        "constant": [(0.25, 0.75)],
    }[interpolation]
    primvar(mesh, "st", Sdf.ValueTypeNames.TexCoord2fArray, interpolation, Vt.Vec2fArray(values))
    geometry = only(stage)
    for triangle in geometry.faces:
        where = geometry.vertices[triangle]
        face = int(where[:, 0].mean() > 1.0)
        expected = {
            "uniform": np.full((3, 2), 5.0 * face),
            "constant": np.tile([0.25, 0.75], (3, 1)),
            "faceVarying": where[:, :2] * [0.5, 1.0] + [10.0 * face, 0.0],
        }.get(interpolation, where[:, :2] * [0.5, 1.0])
        np.testing.assert_allclose(geometry.uvs[triangle], expected, atol=1e-6)


def test_indexed_primvars_are_flattened(stage: Usd.Stage) -> None:
    """Indexed texture coordinates would be read in the wrong order."""
    mesh = write(stage, "/Face", [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [[0, 1, 2]])
    st = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("UVMap", Sdf.ValueTypeNames.TexCoord2fArray, "faceVarying")
    st.Set(Vt.Vec2fArray([(0, 1), (1, 0), (0, 0)]))
    st.SetIndices(Vt.IntArray([2, 1, 0]))
    geometry = only(stage)
    np.testing.assert_allclose(geometry.uvs, geometry.vertices[:, :2])


def test_a_primvar_that_does_not_fit_is_left_out_and_noted(stage: Usd.Stage) -> None:
    """A short primvar would raise, or read beyond its end."""
    mesh = write(stage, "/Box", CUBE_POINTS, CUBE_FACES)
    primvar(mesh, "st", Sdf.ValueTypeNames.TexCoord2fArray, "faceVarying", Vt.Vec2fArray([(0, 0)] * 5))
    scene = translate(stage)
    assert scene.geometries["/Box"].uvs is None
    assert "/Box: faceVarying st left out: fewer values than needed" in scene.warnings


def test_broken_topology_is_noted_and_skipped(stage: Usd.Stage) -> None:
    """One broken mesh would keep a whole world from loading."""
    write(stage, "/Broken", CUBE_POINTS, [[0, 1, 99]])
    write(stage, "/Empty", [], [])
    write(stage, "/Good", CUBE_POINTS, CUBE_FACES)
    scene = translate(stage)
    assert list(scene.geometries) == ["/Good"]
    assert any(line.startswith("/Broken: mesh skipped") for line in scene.warnings)


def test_vertex_colours_decide_where_no_material_is_bound(stage: Usd.Stage) -> None:
    """Scans and simple assets that are coloured by vertex would be grey."""
    mesh = write(stage, "/Box", CUBE_POINTS, CUBE_FACES)
    colors = Vt.Vec3fArray([tuple(map(float, point)) for point in CUBE_POINTS])
    primvar(mesh, "displayColor", Sdf.ValueTypeNames.Color3fArray, "vertex", colors)
    scene = translate(stage)
    (geometry,) = scene.geometries.values()
    np.testing.assert_allclose(geometry.colors, geometry.vertices)
    assert scene.materials[scene.instances[0].material].diffuse_color == (1.0, 1.0, 1.0)


def test_an_inherited_display_colour_counts(stage: Usd.Stage) -> None:
    """A colour set once on a group would be lost on its parts."""
    group = UsdGeom.Xform.Define(stage, "/Group")
    color = UsdGeom.PrimvarsAPI(group).CreatePrimvar(
        "displayColor", Sdf.ValueTypeNames.Color3fArray, "constant"
    )
    color.Set(Vt.Vec3fArray([(0.25, 0.5, 0.75)]))
    UsdGeom.Cube.Define(stage, "/Group/Box")
    scene = translate(stage)
    assert scene.materials[scene.instances[0].material].diffuse_color == (0.25, 0.5, 0.75)


def test_subsets_split_a_mesh_by_material_and_label(
    stage: Usd.Stage, area_and_volume: Callable[..., tuple[float, float]]
) -> None:
    """A mesh of several materials would be drawn in one, or its faces twice."""
    mesh = write(stage, "/Box", CUBE_POINTS, CUBE_FACES)
    red, blue = (material(stage, f"/Looks/{name}", color) for name, color in
                 (("Red", (1.0, 0.0, 0.0)), ("Blue", (0.0, 0.0, 1.0))))  # fmt: skip
    binding = UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim())
    binding.Bind(blue)
    part = binding.CreateMaterialBindSubset("lid", Vt.IntArray([1, 2]))
    UsdShade.MaterialBindingAPI.Apply(part.GetPrim()).Bind(red)
    label(mesh.GetPrim(), "box")
    label(part.GetPrim(), "lid")
    scene = translate(stage)
    found = {
        (instance.path, instance.material, instance.labels["class"]): area_and_volume(
            scene.geometries[instance.geometry].vertices, scene.geometries[instance.geometry].faces
        )[0]
        for instance in scene.instances
    }
    assert found == {
        ("/Box", "/Looks/Red", "lid"): pytest.approx(2.0),
        ("/Box", "/Looks/Blue", "box"): pytest.approx(4.0),
    }


def author(stage: Usd.Stage, path: str, kind: Sdf.ValueTypeName, values: object) -> None:
    """Write an attribute of any type, as a text file may."""
    attribute = stage.GetRootLayer().GetAttributeAtPath(path)
    if attribute is not None:
        del stage.GetRootLayer().GetPrimAtPath(attribute.path.GetPrimPath()).properties[attribute.name]
    path = Sdf.Path(path)
    owner = stage.GetRootLayer().GetPrimAtPath(path.GetPrimPath())
    Sdf.AttributeSpec(owner, path.name, kind).default = values


def test_a_mesh_whose_points_are_no_points_is_left_out_with_a_line(stage: Usd.Stage) -> None:
    """A point array of a wrong type would end a check of the world in a traceback."""
    write(stage, "/Good", CUBE_POINTS, CUBE_FACES)
    for name, kind, values in (
        ("Flat", Sdf.ValueTypeNames.Float2Array, Vt.Vec2fArray([(0.0, 0.0)] * 8)),
        ("Numbers", Sdf.ValueTypeNames.IntArray, Vt.IntArray(range(8))),
        ("Words", Sdf.ValueTypeNames.StringArray, Vt.StringArray(["a"] * 8)),
    ):
        write(stage, f"/{name}", CUBE_POINTS, CUBE_FACES)
        author(stage, f"/{name}.points", kind, values)
    scene = translate(stage)
    assert [instance.path for instance in scene.instances] == ["/Good"]
    assert "/Flat and 2 more: mesh left out: its points are not of 3 numbers" in scene.warnings


def test_normals_coordinates_and_colours_of_too_few_numbers_are_left_out_with_a_line(
    stage: Usd.Stage,
) -> None:
    """Values of another width would break the tables of a renderer with a traceback."""
    mesh = write(stage, "/Cube", CUBE_POINTS, CUBE_FACES)
    author(stage, "/Cube.normals", Sdf.ValueTypeNames.FloatArray, Vt.FloatArray([1.0] * 8))
    primvar(mesh, "st", Sdf.ValueTypeNames.FloatArray, "vertex", Vt.FloatArray([1.0] * 8))
    scene = translate(stage)
    (geometry,) = scene.geometries.values()
    assert geometry.normals.shape[1] == 3
    assert geometry.uvs is None
    for name, width in (("normals", 3), ("st", 2)):
        assert f"/Cube: {name} left out: its values are not of {width} numbers" in scene.warnings


@pytest.mark.parametrize("scheme", ["none", "catmullClark"])
@pytest.mark.parametrize("interpolation", ["faceVarying", "vertex", "uniform", "constant"])
@pytest.mark.parametrize("name", ["st", "normals", "displayColor", "displayOpacity"])
def test_empty_primvars_are_none(name: str, interpolation: str, scheme: str) -> None:
    """Files of exporters that write empty arrays would end in a traceback, or be warned of."""
    stage = Usd.Stage.CreateInMemory()
    mesh = write(stage, "/M", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [[0, 1, 2, 3]])
    mesh.CreateSubdivisionSchemeAttr(scheme)
    mesh.CreateNormalsAttr([])
    kinds = {"st": "TexCoord2fArray", "normals": "Normal3fArray", "displayColor": "Color3fArray"}
    kind = getattr(Sdf.ValueTypeNames, kinds.get(name, "FloatArray"))
    primvar(mesh, name, kind, interpolation, [])
    scene = translate(stage)
    (geometry,) = scene.geometries.values()
    assert geometry.uvs is None
    assert geometry.colors is None
    assert np.isfinite(geometry.normals).all()
    assert not any(name in line for line in scene.warnings)
