"""Tests that in Isaac Sim a world is read only where PhysX and RTX lack its data."""

import threading

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdPhysics

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.cameras import Camera, Lidar
from pegasus.scene import deferred
from pegasus.scene.translation import translate
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
        iris = fleet(simulation, front=camera, top=Lidar(rate_hz=10.0))
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
