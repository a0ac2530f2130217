"""Tests of the Pegasus drone: its file equals its generator's output, and its parts are in place."""

from collections.abc import Callable

import numpy as np
import pytest
from pxr import Usd, UsdPhysics, UsdShade

from pegasus.base.system import resource
from pegasus.config.files import load_vehicle
from pegasus.config.rotor_specs import rotor_of
from pegasus.config.scenario import VehicleSpec, inertia_tensor
from pegasus.scene.scene import Scene
from pegasus.scene.vehicle_asset import vehicle_scene
from pegasus.worlds.pegasus_drone import BLADE_TIP_RING, arm, canopy, hull, leg, propeller, skin_height, wings
from pegasus.worlds.pegasus_drone_stage import ROOT, build_pegasus_drone
from tests.stage_validation import complaints


@pytest.fixture(scope="module")
def spec() -> VehicleSpec:
    return load_vehicle("pegasus")[0]


@pytest.fixture(scope="module")
def stage(spec: VehicleSpec) -> Usd.Stage:
    return build_pegasus_drone(spec)


@pytest.fixture(scope="module")
def scene(spec: VehicleSpec) -> Scene:
    return vehicle_scene(spec, resource("config", "vehicles", "pegasus.yaml"))


def triangles(faces: list[list[int]]) -> np.ndarray:
    return np.array([[f[0], f[k], f[k + 1]] for f in faces for k in range(1, len(f) - 1)])


def test_the_file_is_what_its_generator_writes(stage: Usd.Stage) -> None:
    """A change of the drone's shape or figures would not reach users, or the file differ by machine."""
    file = resource("data", "vehicles", "pegasus.usda")
    written = stage.GetRootLayer().ExportToString()
    assert file.read_text() == written
    assert len(written) < 400_000


def test_the_stage_validates(stage: Usd.Stage) -> None:
    """Isaac Sim and other tools would reject the drone or warn about it."""
    assert complaints(stage) == []


def test_mass_properties_are_those_of_the_description(stage: Usd.Stage, spec: VehicleSpec) -> None:
    """A physics engine that reads the file would fly another vehicle."""
    mass = UsdPhysics.MassAPI(stage.GetDefaultPrim())
    assert mass.GetMassAttr().Get() == pytest.approx(spec.mass)
    moments = sorted(mass.GetDiagonalInertiaAttr().Get())
    np.testing.assert_allclose(moments, np.linalg.eigvalsh(inertia_tensor(spec.inertia)), rtol=1e-5)


def test_rotors_turn_with_all_that_turns(scene: Scene, spec: VehicleSpec) -> None:
    """A renderer would spin a propeller without its bell, or about another point."""
    for k, rotor in enumerate(spec.rotor_list()):
        parts = {i.path.rsplit("/", 1)[1]: i for i in scene.instances if rotor_of(i.path) == k}
        assert {"propeller", "bell", "shaft", "spinner"} <= {p.split("/")[-1] for p in parts} | set(parts)
        np.testing.assert_allclose(parts["spinner"].transform[:3, 3], rotor.position, atol=1e-6)


def test_it_is_one_multirotor_with_named_parts(scene: Scene) -> None:
    """Segmentation would give unrelated parts instead of a vehicle, or no parts."""
    assert {i.labels["class"] for i in scene.instances} == {"multirotor"}
    named = {i.labels["part"] for i in scene.instances if "part" in i.labels}
    assert {"shell", "canopy", "arm", "motor", "propeller", "leg", "camera", "light"} <= named
    assert scene.warnings == []


def test_lights_are_those_of_an_aircraft(stage: Usd.Stage, spec: VehicleSpec) -> None:
    """The lights would not show the heading: red on the left, green on the right."""
    for k, rotor in enumerate(spec.rotor_list()):
        prim = stage.GetPrimAtPath(f"{ROOT}/body/light{k}")
        look, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
        x, y, _ = rotor.position
        expected = "white_light" if x < 0 else "red_light" if y > 0 else "green_light"
        assert look.GetPrim().GetName() == expected


@pytest.mark.parametrize("direction", ["ccw", "cw"])
@pytest.mark.parametrize("blade_count", [2, 3])
def test_blades_screw_upwards_and_sweep_backwards(
    direction: str, blade_count: int, area_and_volume: Callable[..., tuple[float, float]]
) -> None:
    """Propellers would be drawn for the other sense of rotation, larger than they are, or inside out."""
    points, faces, tips = propeller(0.24, blade_count, direction)
    assert area_and_volume(points, triangles(faces))[1] > 0
    radius, angle = np.hypot(points[:, 0], points[:, 1]), np.arctan2(points[:, 1], points[:, 0])
    assert radius.max() == pytest.approx(0.12, rel=1e-6)
    sense = 1.0 if direction == "ccw" else -1.0
    step = 2 * np.pi / blade_count
    first = np.abs((sense * angle + 0.5 * step) % (2 * np.pi) - 0.5 * step) < 0.4 * step
    ahead = sense * angle[first] * radius[first]
    for near, far in ((0.037, 0.040), (0.054, 0.057), (0.070, 0.073), (0.087, 0.091)):
        section = (radius[first] > near) & (radius[first] < far)
        assert section.sum() == 7
        # The leading edge is up: within a cross-section height grows in the sense of rotation.
        assert np.corrcoef(ahead[section], points[first][section, 2])[0, 1] > 0.7
    outermost = radius[first] > 0.119
    middle = (radius[first] > 0.05) & (radius[first] < 0.06)
    assert ahead[outermost].mean() < ahead[middle].mean() - 0.01
    assert radius[[corner for tip in tips for corner in faces[tip]]].min() > 0.1
    assert len(tips) == blade_count * (7 * (10 - BLADE_TIP_RING) + 1)


def test_solids_are_closed_and_face_outwards(
    area_and_volume: Callable[..., tuple[float, float]],
) -> None:
    """Parts would be transparent, or black from outside."""
    shell = hull()
    end = np.array([0.16, 0.205, 0.015])
    for points, faces in ((shell.points, shell.faces), arm(end), leg(end, -0.09)):
        assert area_and_volume(points, triangles(faces))[1] > 0
        edges = np.sort([(a, b) for f in faces for a, b in zip(f, [*f[1:], f[0]], strict=True)], axis=1)
        assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


def test_canopy_and_wings_lie_on_the_hull_and_face_up() -> None:
    """Canopy and wings would sink into the hull, float above it or face inwards."""
    for points, faces in (canopy(), wings()):
        above = points[:, 2] - skin_height(points[:, 0], points[:, 1])
        assert above.min() > 0.0005
        assert above.max() < 0.002
        corners = points[triangles(faces)]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert (normals[:, 2] >= 0.0).all()


def test_hull_is_symmetrical() -> None:
    """The drone would be asymmetric."""
    points = hull().points
    mirrored = points * [1.0, -1.0, 1.0]
    for sample in mirrored[::7]:
        assert np.abs(points - sample).max(axis=1).min() < 1e-9
