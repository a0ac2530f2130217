"""Tests of moving parts: control surfaces, nacelles and wheels turn about their lines in images."""

from itertools import pairwise

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.config.files import load_vehicle
from pegasus.config.scenario import VehicleSpec
from pegasus.core.drawn_vehicle import DrawnVehicle
from pegasus.scene.lofted_wings import lofted_parts
from pegasus.scene.moving_parts import moving_parts, parts_of
from pegasus.scene.vehicle_asset import vehicle_scene
from tests.flyers import AIRCRAFT

TAIL = {"span": 0.4, "chord": 0.2, "controls": ["tail"]}
GLIDER = {
    "name": "glider",
    "mass": 1.0,
    "inertia": [0.01, 0.01, 0.01],
    "rotors": [{"position": [0.3, 0, 0], "axis": [1, 0, 0], "direction": "cw"}],
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-6, "moment_ratio": 0.0},
    # The line of the joint is far from the tail, and across the hinges of a V-tail.
    "joints": {"tail": {"position": [0.5, 0, 0.3]}, "incidence": {"position": [-0.4, 0, 0.1]}},
    "surfaces": {
        "tail": {
            "model": "lift_drag",
            "position": [-0.5, 0, 0],
            "area": 0.1,
            "cla": 4.0,
            "cda": 0.1,
            "controls": ["tail"],
            "control_joint_rad_to_cl": -1.0,
            "shape": TAIL,
        }
    },
    "wheels": {
        "nose": {"position": [0.4, 0.1, -0.2], "radius": 0.05, "joint": "tail", "steering_ratio": -0.5},
        "rear": {"position": [-0.4, 0.0, -0.2], "radius": 0.05, "joint": "incidence"},
    },
    "sensors": {},
}


def drawn(vehicle, joints, wheels):
    """Return the vertices of the prims of a vehicle in the body frame at angles of joints and wheels."""
    shown = DrawnVehicle(vehicle)
    level = np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0, 1.0]])
    poses = shown.poses(*level, np.zeros((1, vehicle.rotor_count)), joints, wheels, 0.0)
    found = {}
    for item, pose in zip(shown.objects, poses, strict=True):
        for part in item.scene.instances:
            placed = pose @ part.transform
            vertices = item.scene.geometries[part.geometry].vertices
            found[part.path.split("/", 2)[2]] = vertices @ placed[:3, :3].T + placed[:3, 3]
    return found


def volume(part):
    """Return the volume of a part [m^3], positive if its faces are outward."""
    corners = [
        [part.points[a], part.points[b], part.points[c]] for a, *rest in part.faces for b, c in pairwise(rest)
    ]
    return float(np.linalg.det(np.array(corners) - part.points.mean(axis=0)).sum()) / 6.0


def glider(**surface):
    fields = {**GLIDER["surfaces"]["tail"], **surface}
    return Multirotor({**GLIDER, "surfaces": {"tail": fields}})


@pytest.mark.parametrize("name", AIRCRAFT)
def test_every_joint_of_an_aircraft_is_drawn(name):
    """A flap or wheel would not be seen, or wings be drawn with faces inward."""
    spec, source = load_vehicle(name)
    scene = vehicle_scene(spec, source)
    parts = moving_parts(spec)
    seen = {parts[k].name for item in scene.instances for k in parts_of(item.path, parts)}
    turned = {turn.angle for part in parts if part.name in seen for turn in part.turns}
    # Blades are drawn at one pitch.
    pitched = {rotor.pitch_joint for rotor in spec.rotor_list()}
    drawn = {k for k, joint in enumerate(spec.joints) if joint not in pitched}
    assert turned == drawn | set(range(len(spec.joints), len(spec.joints) + len(spec.wheels)))
    assert all(volume(part) > 0 for part in lofted_parts(spec))
    assert scene.warnings == []


@pytest.mark.parametrize("dihedral", [0.0, 0.7])
def test_control_surfaces_turn_about_their_own_hinges(dihedral):
    """Flaps of a V-tail, or of a joint without a place, would leave their wings."""
    vehicle = glider(shape={**TAIL, "dihedral": dihedral})
    rest = drawn(vehicle, np.array([[0.0, 0.0]]), np.zeros((1, 2)))
    moved = drawn(vehicle, np.array([[0.4, 0.0]]), np.zeros((1, 2)))
    flaps = [path for path in rest if path.endswith("_control")]
    assert len(flaps) == 2
    for path in rest:
        assert (path in flaps or path.startswith("wheel_nose")) == (
            not np.array_equal(rest[path], moved[path])
        )
    for path in flaps:
        before, after = rest[path], moved[path]
        hinge = before[:, 0] > before[:, 0].max() - 1e-6
        edge = before[:, 0] < before[:, 0].min() + 1e-6
        # The hinge line is in the middle of the flap's front, which is 1.6 cm thick here.
        assert np.abs(after[hinge] - before[hinge]).max() < 0.004
        np.testing.assert_allclose(after[hinge].mean(axis=0), before[hinge].mean(axis=0), atol=1e-6)
        # The trailing edge, 5 cm behind it, goes up, at right angles to the wing.
        rise = (after - before)[edge].mean(axis=0)
        across = np.sign(before[:, 1].mean()) * -np.sin(dihedral)
        length = 0.05 * np.array([1 - np.cos(0.4), np.sin(0.4) * across, np.sin(0.4) * np.cos(dihedral)])
        np.testing.assert_allclose(rise, length, atol=2e-4)


def test_control_surfaces_go_along_with_their_wing():
    """A flap would stay where its wing was before a joint turned it as a whole."""
    vehicle = glider(joint="incidence")
    rest = drawn(vehicle, np.array([[0.3, 0.0]]), np.zeros((1, 2)))
    moved = drawn(vehicle, np.array([[0.3, 0.6]]), np.zeros((1, 2)))
    turn = np.array([[np.cos(0.6), 0, np.sin(0.6)], [0, 1, 0], [-np.sin(0.6), 0, np.cos(0.6)]])
    pivot = np.array([-0.4, 0.0, 0.1])
    tail = [path for path in rest if "tail_0" in path]
    assert len(tail) == 8
    for path in tail:
        np.testing.assert_allclose(moved[path], (rest[path] - pivot) @ turn.T + pivot, atol=1e-6)


def test_wheels_roll_about_steered_axles():
    """A wheel would steer about its contact, or roll about the axle that it has when it is not steered."""
    vehicle = glider()
    rest = drawn(vehicle, np.zeros((1, 2)), np.zeros((1, 2)))["wheel_nose/tyre"]
    moved = drawn(vehicle, np.array([[0.5, 0.0]]), np.array([[1.3, 0.0]]))["wheel_nose/tyre"]
    roll = np.array([[np.cos(1.3), 0, np.sin(1.3)], [0, 1, 0], [-np.sin(1.3), 0, np.cos(1.3)]])
    steer = np.array([[np.cos(-0.25), -np.sin(-0.25), 0], [np.sin(-0.25), np.cos(-0.25), 0], [0, 0, 1]])
    hub = np.array([0.4, 0.1, -0.2])
    np.testing.assert_allclose(moved, (rest - hub) @ (steer @ roll).T + hub, atol=1e-6)
    np.testing.assert_allclose(rest.mean(axis=0), hub, atol=1e-6)


def test_moving_parts_turn_in_images():
    """Flaps and nacelles would stand still in images, or rotors stay behind their nacelles."""
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("tiltrotor", position=(1.0, 2.0, 3.0), sensors={}))
        sim.step()
        vehicle.columns["joint_angle"][...] = 0.0
        before = sim.visuals.snapshot(0.0).object_poses
        names = list(vehicle.spec.joints)
        vehicle.columns["joint_angle"][0, names.index("right_tilt")] = np.pi / 2
        vehicle.columns["joint_angle"][0, names.index("elevator")] = 0.3
        after = sim.visuals.snapshot(0.0).object_poses
    moved = {path.rsplit("/", 1)[1] for path in before if not np.array_equal(before[path], after[path])}
    tail = {f"tailplane_0_{side}_1_control" for side in (0, 1)}
    assert moved == {"rotor0", "joint_right_tilt", *tail}
    body = before["/World/tiltrotor/body"]
    rotor = np.linalg.inv(body) @ after["/World/tiltrotor/rotor0"]
    # 50 mm above the hinge before, 50 mm in front of it afterwards, and the thrust forward.
    np.testing.assert_allclose(rotor[:3, 3], (0.40, -0.35, 0.02), atol=1e-9)
    np.testing.assert_allclose(rotor[:3, 2], (1.0, 0.0, 0.0), atol=1e-9)
    turned = np.linalg.inv(body) @ after["/World/tiltrotor/tailplane_0_0_1_control"]
    np.testing.assert_allclose(turned[:3, :3] @ (-1.0, 0.0, 0.0), (-np.cos(0.3), 0.0, np.sin(0.3)), atol=1e-9)


def test_user_models_turn_by_the_names_of_prims():
    """A wheel or nacelle of a user's model would stand still, or have the flaps of a drawn one."""
    parts = moving_parts(VehicleSpec.model_validate({**GLIDER, "usd": "glider.usda"}))
    assert [part.name for part in parts] == ["joint_tail", "joint_incidence", "wheel_nose", "wheel_rear"]
    assert parts_of("/glider/base/joint_incidence/rod/joint_tail/mesh", parts) == (1, 0)
    assert parts_of("/glider/joint_other/mesh", parts) == ()
