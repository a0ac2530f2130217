"""Tests of generated airframes: coaxial pairs, feet, offset bodies, and hulls around the discs."""

from pathlib import Path

import numpy as np
import pytest

from pegasus.config.files import load_vehicle
from pegasus.config.scenario import VehicleSpec
from pegasus.scene.airframe import feet_height, footprint, partner_above
from pegasus.scene.authoring import rotation_to
from pegasus.scene.scene import Scene
from pegasus.scene.vehicle_asset import vehicle_scene
from tests.flyers import MULTIROTORS

HERE = Path("vehicle.yaml")
SHIPPED = MULTIROTORS


def shape(**fields: object) -> VehicleSpec:
    """Return a quadrotor, with changed fields."""
    values: dict[str, object] = {
        "name": "quad",
        "mass": 1.0,
        "inertia": (0.01, 0.01, 0.02),
        "rotors": {"count": 4, "radius": 0.25, "height": 0.05},
        "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
    }
    return VehicleSpec.model_validate(values | fields)


def drawn(scene: Scene, part: str) -> np.ndarray:
    """Return all vertices of instances whose path ends with a word, in the body frame."""
    found = [
        scene.geometries[i.geometry].vertices @ i.transform[:3, :3].T + i.transform[:3, 3]
        for i in scene.instances
        if i.path.rsplit("/", 1)[1] == part
    ]
    return np.concatenate(found) if found else np.zeros((0, 3))


def pair(gap: float) -> VehicleSpec:
    rotors = [
        {"position": (x, y, z), "direction": direction}
        for x, y in ((0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2))
        for z, direction in ((gap, "ccw"), (0.0, "cw"))
    ]
    return shape(rotors=rotors, propeller={"diameter": 0.25})


def test_coaxial_pairs_share_an_arm_and_face_each_other() -> None:
    """A propeller would intersect the other motor of a coaxial pair."""
    spec = pair(0.08)
    scene = vehicle_scene(spec, HERE)
    for k in range(8):
        motor = drawn(scene, f"motor{k}")[:, 2]
        if k % 2:
            assert partner_above(spec, k) == k - 1
            assert motor.min() > 0.0
            assert len(drawn(scene, f"arm{k}")) == 0
        else:
            assert partner_above(spec, k) is None
            assert motor.max() < 0.08
            end = drawn(scene, f"arm{k}")
            far = end[np.hypot(end[:, 0], end[:, 1]) > 0.27]
            assert far[:, 2].mean() == pytest.approx(0.04, abs=1e-3)
    upper, lower = drawn(scene, "motor0")[:, 2], drawn(scene, "motor1")[:, 2]
    assert lower.max() < upper.min() + 1e-6


def test_feet_stand_below_the_motors() -> None:
    """A vehicle on feet would hover above the ground at the start, or stand on one point."""
    spec = shape(body={"landing_gear": "feet", "leg_height": 0.05, "size": (0.1, 0.1, 0.04)})
    scene = vehicle_scene(spec, HERE)
    assert len(drawn(scene, "left_skid")) == 0
    for k, rotor in enumerate(spec.rotor_list()):
        foot = drawn(scene, f"foot{k}")
        assert foot[:, 2].min() == pytest.approx(feet_height(spec), abs=1e-5)
        np.testing.assert_allclose(foot[:, :2].mean(axis=0), rotor.position[:2], atol=2e-3)
    np.testing.assert_allclose(np.ptp(footprint(spec), axis=0), 2 * 0.25 / np.sqrt(2), atol=1e-5)


def test_the_body_may_sit_apart_from_the_rotors() -> None:
    """A body below its rotors would be drawn between them, inside their discs."""
    spec = shape(body={"height": -0.1, "size": (0.1, 0.1, 0.04), "leg_height": 0.03})
    shell = drawn(vehicle_scene(spec, HERE), "shell")[:, 2]
    assert shell.max() == pytest.approx(-0.08, abs=1e-5)
    assert feet_height(spec) == pytest.approx(-0.15)


def test_tall_legs_stand_wide() -> None:
    """A vehicle on long legs would topple in the first gust."""
    low, tall = (footprint(shape(body={"leg_height": h}))[:, 1].max() for h in (0.05, 0.4))
    assert tall > 1.3 * low


@pytest.mark.parametrize("name", SHIPPED)
def test_the_hull_holds_the_discs_and_stands_on_the_feet(name: str) -> None:
    """Blades would reach through walls, or a vehicle come to rest on its motors."""
    spec, source = load_vehicle(name)
    scene = vehicle_scene(spec, source)
    (collider,) = scene.colliders
    assert collider.vertices is not None
    assert collider.faces is not None
    points = collider.vertices + collider.position
    a, b, c = (points[collider.faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1)
    normals, a = normals[length > 1e-12] / length[length > 1e-12, None], a[length > 1e-12]
    turn = np.linspace(0.0, 2 * np.pi, 72, endpoint=False)
    circle = spec.propeller.diameter / 2 * np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    for rotor in spec.rotor_list():
        disc = circle @ rotation_to(rotor.axis).T + rotor.position
        assert np.einsum("fi,fvi->fv", normals, disc[None] - a[:, None]).max() < 2e-5
    everything = np.concatenate(
        [
            scene.geometries[i.geometry].vertices @ i.transform[:3, :3].T + i.transform[:3, 3]
            for i in scene.instances
        ]
    )
    assert everything[:, 2].min() == pytest.approx(points[:, 2].min(), abs=2e-5)


@pytest.mark.parametrize("name", SHIPPED)
def test_blades_keep_off_what_stands_still(name: str) -> None:
    """Arms, motors and legs would intersect a rotor disc."""
    spec, source = load_vehicle(name)
    scene = vehicle_scene(spec, source)
    still = np.concatenate(
        [
            scene.geometries[i.geometry].vertices @ i.transform[:3, :3].T + i.transform[:3, 3]
            for i in scene.instances
            if "/body/" in i.path
        ]
    )
    for k, rotor in enumerate(spec.rotor_list()):
        rotation = rotation_to(rotor.axis)
        local = (still - rotor.position) @ rotation
        blades = np.concatenate(
            [
                (
                    scene.geometries[i.geometry].vertices @ i.transform[:3, :3].T
                    + i.transform[:3, 3]
                    - rotor.position
                )
                @ rotation
                for i in scene.instances
                if i.path.endswith(f"/rotor{k}/propeller")
            ]
        )
        swept = np.hypot(local[:, 0], local[:, 1]) < spec.propeller.diameter / 2
        between = (local[:, 2] > blades[:, 2].min()) & (local[:, 2] < blades[:, 2].max())
        hub = np.hypot(local[:, 0], local[:, 1]) < 0.08 * spec.propeller.diameter
        assert not (swept & between & ~hub).any()
