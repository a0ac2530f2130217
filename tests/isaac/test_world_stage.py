"""Tests that in Isaac Sim a world is read only where PhysX and RTX lack its data."""

import threading

import numpy as np
import pytest
import yaml
from pxr import Usd, UsdGeom, UsdLux, UsdPhysics, UsdSemantics

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.cameras import Camera, Lidar
from pegasus.cameras.scan_patterns import Spinning
from pegasus.scene import deferred
from pegasus.scene.lights import light
from pegasus.scene.stage import Notices, stage_frame
from pegasus.scene.translation import translate
from pegasus.scene.world_scene import NO_LIGHT
from tests.isaac.contract import VERSIONS


@pytest.fixture
def reads(monkeypatch):
    """Record for each translation of a world whether it reads geometry, and in which thread."""
    made = []

    def noted(source, *, geometry, progress):
        made.append((geometry, threading.current_thread() is threading.main_thread()))
        return translate(source, geometry=geometry, progress=progress)

    monkeypatch.setattr(deferred, "translate", noted)
    return made


def fleet(simulation, **sensors):
    """Add a vehicle with sensors, and fly some steps."""
    iris = simulation.add(Multirotor("iris", position=(0.0, 0.0, 1.5), extra_sensors=sensors))
    simulation.step(30)
    return iris


@pytest.mark.parametrize("version", VERSIONS)
def test_a_world_that_nothing_needs_is_not_read(isaac, reads, version):
    """Thousands of meshes would be copied while Kit's window is frozen."""
    isaac(version)
    with Simulation("box_room", engine="isaac", rate=250) as simulation:
        camera = Camera(rate_hz=25.0, resolution=(16, 12), outputs=("rgb", "depth"))
        iris = fleet(simulation, front=camera)
        assert np.isfinite(iris.readings["front"].image("rgb", 0)).all()
        assert simulation.scene.source.endswith(".usdc") or simulation.scene.source.endswith(".usda")
    assert reads == []


def test_labels_are_read_without_geometry(isaac, reads):
    """Segmentation and lidar labels would cause triangles to be read."""
    isaac()
    with Simulation("box_room", engine="isaac", rate=250) as simulation:
        camera = Camera(rate_hz=25.0, resolution=(16, 12), outputs=("semantic_segmentation",))
        # The fakes cast each ray by itself.
        few_rays = Spinning(tuple(np.radians([-30.0, 0.0])), column_count=90)
        iris = fleet(simulation, front=camera, top=Lidar(pattern=few_rays, rate_hz=10.0))
        assert len(np.unique(iris.readings["front"].image("semantic_segmentation", 0))) >= 2
        assert np.isfinite(iris.readings["top"].scan(0).range).any()
    assert reads == [(False, True)]


def test_a_renderer_of_its_own_reads_all(isaac, reads):
    """Embree would not get the triangles of the stage."""
    isaac()
    with Simulation("box_room", engine="isaac", rate=250, renderer="embree") as simulation:
        camera = Camera(rate_hz=25.0, resolution=(16, 12), outputs=("depth",))
        iris = fleet(simulation, front=camera)
        assert np.isfinite(iris.readings["front"].image("depth", 0)).any()
    assert reads == [(True, True)]


def test_the_window_reads_in_the_background(window, monkeypatch):
    """The window would freeze while labels are read, or show no progress."""
    may_go = threading.Event()

    def slow(source, *, geometry, progress):
        progress(0.25)
        assert may_go.wait(30)
        return translate(source, geometry=geometry)

    monkeypatch.setattr(deferred, "translate", slow)
    user = window()
    user.fly_square()
    user.kit.menu["Pegasus"].show_window(None, True, 0)
    camera = Camera(rate_hz=25.0, resolution=(16, 12), outputs=("semantic_segmentation",))
    iris = user.simulation.add(Multirotor("iris", position=(0.0, 3.0, 1.5), extra_sensors={"front": camera}))
    user.kit.timeline.play()
    user.update(20)
    early = iris.readings["front"].image("semantic_segmentation", 0)
    scene = user.simulation.scene
    for _ in range(3000):
        if scene.progress == 0.25:
            break
        may_go.wait(0.01)
    user.update(10)
    shown = [label.text for label in user.kit.windows[0].frame._all() if hasattr(label, "text")]
    assert any("reading the world for its sensors: 25%" in text for text in shown)
    assert not early.any()
    may_go.set()
    assert scene.entities
    user.update(10)
    assert iris.readings["front"].image("semantic_segmentation", 0).any()


@pytest.mark.parametrize(
    ("renderer", "sensors", "read"),
    [("embree", {}, (True, False)), ("auto", {"top": Lidar(rate_hz=10.0)}, (False, False))],
)
def test_the_window_begins_before_it_is_asked(window, reads, renderer, sensors, read):
    """The first Embree image or lidar scan would wait for the whole translation in Kit's thread."""
    session = window().extension.session
    session.exchange(lambda: Simulation("box_room", rate=250, renderer=renderer))
    session.add(Multirotor("iris", position=(0.0, 0.0, 1.5), extra_sensors=sensors))
    scene = session.simulation.scene
    for _ in range(3000):
        if reads and scene.progress is None:
            break
        threading.Event().wait(0.01)
    assert reads == [read]


def test_the_open_stage_is_read_without_vehicles(isaac, reads):
    """A vehicle would be part of its own world, and see itself."""
    kit = isaac()
    from pegasus.isaac.kit_session import simulation_of_stage

    stage = kit.context.get_stage()
    UsdPhysics.CollisionAPI.Apply(UsdGeom.Plane.Define(stage, "/World/ground").GetPrim())
    simulation = simulation_of_stage(rate=250)
    fleet(simulation)
    assert reads == []
    UsdGeom.Cube.Define(stage, "/World/table")
    assert set(simulation.scene.entities) == {"/World/ground", "/World/table"}
    assert reads == [(False, True)]
    simulation.close()


def test_a_file_that_is_no_world_is_told_at_once(isaac, tmp_path, caplog):
    """The error would come with the first image, minutes later."""
    isaac()
    (tmp_path / "bad.usda").write_text("no stage", encoding="utf-8")
    with pytest.raises(ConfigError, match="is not valid USD"):
        Simulation(tmp_path / "bad.usda", engine="isaac")
    bare = Usd.Stage.CreateNew(str(tmp_path / "bare.usda"))
    UsdGeom.SetStageMetersPerUnit(bare, 1.0)
    UsdGeom.SetStageUpAxis(bare, UsdGeom.Tokens.z)
    bare.SetDefaultPrim(UsdGeom.Cube.Define(bare, "/cube").GetPrim())
    bare.Save()
    with Simulation(tmp_path / "bare.usda", engine="isaac"):
        assert "has no collider: vehicles fall through everything" in caplog.text


YARD = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = {meters}
    upAxis = "{up}"
)
def Xform "World"
{{
    def Cube "Ground" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {{
        double size = 10
    }}
    {light}
}}
"""
SUN = 'def DistantLight "Sun" {\n float inputs:intensity = 10\n}'


def yard(folder, *, meters=1.0, up="Z", light="", **fields):
    """Write a world of a cube, and return its file."""
    (folder / "yard.usda").write_text(YARD.format(meters=meters, up=up, light=light))
    (folder / "yard.yaml").write_text(yaml.safe_dump({"name": "yard", "usd": "yard.usda", **fields}))
    return folder / "yard.yaml"


def lights_on(stage):
    """Return the lights of a stage as plain numbers."""
    notices = Notices()
    frame = stage_frame(stage, notices)
    return [
        light(prim, str(prim.GetPath()), matrix_of(prim), frame, notices)
        for prim in stage.Traverse()
        if prim.HasAPI(UsdLux.LightAPI)
    ]


def matrix_of(prim):
    return np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(0.0)).T


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("meters", "up"), [(1.0, "Z"), (0.01, "Y")])
def test_lights_and_labels_of_a_world_file_are_on_the_stage(isaac, tmp_path, version, meters, up):
    """RTX would not see the lights that other renderers use, and images of classes be empty."""
    kit = isaac(version)
    (tmp_path / "sky.png").write_bytes(b"image")
    lights = [
        {"model": "sun", "elevation": 0.5, "azimuth": 2.0, "intensity": 100.0, "color": [1, 0.5, 0.25]},
        {"model": "sky", "file": "sky.png"},
        {"model": "lamp", "position": [1, 2, 3], "radius": 0.1, "intensity": 7.0, "color": [1, 1, 1]},
        {"model": "spot", "position": [1, 2, 3], "direction": [1, 1, -1], "angle": 0.4, "softness": 0.3},
    ]
    world = yard(tmp_path, meters=meters, up=up, light=SUN, lights=lights, labels={"/World/Ground": "floor"})
    with Simulation(world, engine="mujoco") as simulation:
        _, *expected = simulation.scene.lights
    with Simulation(world, engine="isaac") as simulation:
        simulation.step()
        found = {item.path: item for item in lights_on(kit.context.get_stage())}
        assert len(found) == 5
        for wanted in expected:
            item = found[wanted.path]
            assert (item.kind, item.texture) == (wanted.kind, wanted.texture)
            assert item.color == pytest.approx(wanted.color, rel=1e-6)
            assert item.parameters == pytest.approx(wanted.parameters, rel=1e-6)
            np.testing.assert_allclose(item.transform, wanted.transform, atol=1e-12)
        labelled = [prim for prim in kit.context.get_stage().Traverse() if prim.GetName() == "Ground"]
        assert [list(UsdSemantics.LabelsAPI(prim, "class").GetLabelsAttr().Get()) for prim in labelled] == [
            ["floor"]
        ]
        assert [item.labels for item in simulation.scene.instances] == [{"class": "floor"}]


def test_a_stage_without_lights_gets_daylight(isaac, tmp_path, caplog):
    """RTX would render black images without a warning."""
    kit = isaac()
    with Simulation(yard(tmp_path), engine="isaac") as simulation:
        simulation.step()
        assert [item.kind for item in lights_on(kit.context.get_stage())] == ["DistantLight", "DomeLight"]
    assert NO_LIGHT in caplog.text
    caplog.clear()
    (tmp_path / "lit").mkdir()
    with Simulation(yard(tmp_path / "lit", light=SUN), engine="isaac") as simulation:
        assert [item.kind for item in lights_on(kit.context.get_stage())] == ["DistantLight"]
        assert simulation.scene.source == str(tmp_path / "lit" / "yard.usda")
    assert NO_LIGHT not in caplog.text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": {"/World/Grund": "a"}}, "labels = '/World/Grund': no such prim .* mean /World/Ground?"),
        ({"lights": [{"model": "sky", "file": "no.png"}]}, "lights.0.file = .*no.png': no such file"),
    ],
)
def test_wrong_lights_and_labels_are_refused_in_isaac_sim(isaac, tmp_path, fields, message):
    """A misspelt prim would stay unlabelled, or a light be left out."""
    isaac()
    with pytest.raises(ConfigError, match=message) as caught:
        Simulation(yard(tmp_path, **fields), engine="isaac")
    assert str(caught.value).startswith(f"{tmp_path / 'yard.yaml'}: ")
