"""Tests of drawn wings: sections, planforms, hinge lines, and the prims that joints turn."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.config.files import load_vehicle
from pegasus.config.scenario import VehicleSpec
from pegasus.scene.lofted_wings import lofted_parts, naca_section
from pegasus.scene.vehicle_asset import vehicle_scene

PANEL = {"span": 0.6, "chord": 0.3, "taper": 0.5, "sweep": 0.2, "dihedral": 0.1}


def plane(shape, position=(0.0, 0.4, 0.0), joint=None, **fields):
    """Return a plane with a rotor, a hinge and one surface."""
    surface = {"model": "lift_drag", "area": 0.2, "position": position, "shape": shape} | fields
    joints = {}
    if joint is not None:
        joints = {"flap": {"position": joint}}
        surface |= {"controls": ["flap"], "control_joint_rad_to_cl": -1.0}
    return VehicleSpec.model_validate(
        {
            "name": "plane",
            "mass": 1.0,
            "inertia": (0.1, 0.1, 0.15),
            "rotors": [{"position": (0.3, 0, 0), "axis": (1, 0, 0), "direction": "cw"}],
            "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
            "joints": joints,
            "surfaces": {"wing": surface},
        }
    )


def volume(part):
    """Return the signed volume within the faces of a part [m^3]."""
    corners = [part.points[[face[0], b, c]] for face in part.faces for b, c in pairwise(face[1:])]
    return sum(float(a @ np.cross(b, c)) for a, b, c in corners) / 6


def test_sections_are_those_of_naca():
    """A wing would be too thick, or its camber be at another place."""
    flat, cambered = naca_section("0012"), naca_section("2412")
    assert np.ptp(flat[:, 1]) == pytest.approx(0.12, rel=0.01)
    assert flat[np.argmax(flat[:, 1]), 0] == pytest.approx(0.3, abs=0.06)
    middle = (cambered[:14][::-1, 1] + cambered[14:, 1]) / 2
    assert middle.max() == pytest.approx(0.02, rel=0.02)
    assert cambered[14 + np.argmax(middle), 0] == pytest.approx(0.4, abs=0.06)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_panel_is_of_its_planform(side):
    """A wing would have another span, taper, sweep or dihedral than its file, or its faces look inward."""
    (part,) = lofted_parts(plane(PANEL, (0.0, side * 0.4, 0.0)))
    y = side * part.points[:, 1]
    assert (y.min(), y.max()) == pytest.approx((0.1, 0.7))
    root, tip = part.points[y < 0.2], part.points[y > 0.6]
    assert (np.ptp(root[:, 0]), np.ptp(tip[:, 0])) == pytest.approx((0.3, 0.15), rel=1e-3)
    # The quarter-chord line passes through the position in the middle of the span.
    quarters = [points[:, 0].max() - 0.25 * np.ptp(points[:, 0]) for points in (root, tip)]
    assert np.mean(quarters) == pytest.approx(0.0, abs=1e-3)
    assert quarters[0] - quarters[1] == pytest.approx(0.6 * np.tan(0.2), rel=0.01)
    assert tip[:, 2].mean() - root[:, 2].mean() == pytest.approx(0.6 * np.tan(0.1), rel=0.02)
    # A section of 12 % has 0.0815 chord^2 / 0.119 of area: 0.68 of its box.
    assert volume(part) == pytest.approx(0.685 * 0.12 * 0.6 * (0.3**2 + 0.3 * 0.15 + 0.15**2) / 3, rel=0.03)


def test_a_wing_in_the_plane_of_symmetry_has_two_sides_and_a_fin_stands_up():
    """Half of a wing would be missing, or a fin hang down."""
    both = [part.points for part in lofted_parts(plane(PANEL, (0.0, 0.0, 0.0)))]
    assert sorted((points[:, 1].min(), points[:, 1].max()) for points in both) == [
        pytest.approx((-0.3, 0.0)),
        pytest.approx((0.0, 0.3)),
    ]
    (fin,) = lofted_parts(plane({"span": 0.2, "chord": 0.1}, (-0.5, 0.0, 0.1), upward=(0, 1, 0)))
    assert (fin.points[:, 2].min(), fin.points[:, 2].max()) == pytest.approx((0.0, 0.2))


def test_a_shape_follows_from_the_area():
    """A wing without a shape would be invisible, or of another area than flies."""
    (part,) = lofted_parts(plane(None))
    span, chord = np.ptp(part.points[:, 1]), np.ptp(part.points[:, 0])
    assert span * chord == pytest.approx(0.2, rel=1e-3)
    assert span / chord == pytest.approx(5.0, rel=1e-3)


def test_a_control_surface_is_behind_its_hinge():
    """A flap would turn about a line inside the wing, or overlap it."""
    shape = {"span": 0.6, "chord": 0.3, "controls_span": (0.25, 0.75)}
    parts = list(lofted_parts(plane(shape, joint=(-0.12, 0.4, 0.0))))
    (flap,) = [part for part in parts if part.joint == "flap"]
    assert flap.points[:, 0].max() == pytest.approx(-0.12, abs=1e-6)
    assert flap.points[:, 0].min() == pytest.approx(-0.225, abs=1e-6)
    assert (flap.points[:, 1].min(), flap.points[:, 1].max()) == pytest.approx((0.25, 0.55), abs=0.02)
    beside = [
        p.points for p in parts if p.joint is None and p.points[:, 1].mean() == pytest.approx(0.4, abs=0.05)
    ]
    assert len(beside) == 1
    assert beside[0][:, 0].min() > -0.12


def test_a_wrong_shape_is_one_line():
    """A misspelt field would be ignored."""
    with pytest.raises(ConfigError, match=r"surfaces\.wing\.shape") as caught:
        list(lofted_parts(plane({"length": 3.0})))
    assert "\n" not in str(caught.value)


def test_wings_collide():
    """A wing would pass through walls, or the vehicle stand on it."""
    spec, source = load_vehicle("plane")
    scene = vehicle_scene(spec, source)
    reach = max(
        float(np.abs((c.vertices + c.position)[:, 1]).max())
        for c in scene.colliders
        if c.vertices is not None
    )
    assert reach == pytest.approx(0.62, abs=0.01)


def test_rotors_by_prim_keep_their_propulsion_and_joint(tmp_path):
    """A rotor that is placed by its prim would fall back to the vehicle's motor, and not tilt."""
    from pegasus.scene.vehicle_asset import place_rotors

    (tmp_path / "m.usda").write_text(
        '#usda 1.0\n(\n defaultPrim = "m"\n metersPerUnit = 1\n upAxis = "Z"\n)\n'
        'def Xform "m" {\n def Sphere "rotor_0" {\n double radius = 0.1\n'
        " double3 xformOp:translate = (0.3, 0, 0.1)\n"
        ' uniform token[] xformOpOrder = ["xformOp:translate"]\n }\n}\n'
    )
    curve = {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02}
    spec = VehicleSpec.model_validate(
        {
            "name": "m",
            "mass": 1.0,
            "inertia": (0.1, 0.1, 0.15),
            "usd": "m.usda",
            "rotors": [{"prim": "rotor_0", "direction": "cw", "propulsion": "pusher", "joint": "tilt"}],
            "thrust_curve": curve,
            "propulsion": {"pusher": {"thrust_curve": curve}},
            "joints": {"tilt": {}},
        }
    )
    (rotor,) = place_rotors(spec, Path(tmp_path) / "m.yaml").rotor_list()
    assert (rotor.propulsion, rotor.joint, rotor.position) == ("pusher", "tilt", (0.3, 0.0, 0.1))
