"""Tests of the choice of ArduPilot's frame and outputs for a vehicle's rotors."""

import logging
import os
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from ardupilot_rig import SLOW_LOOP, launched

from pegasus import ConfigError, Multirotor
from pegasus.backends.ardupilot.ardupilot import ArduPilot
from pegasus.backends.ardupilot.motor_frames import FRAMES, fit_frame, scaled_angles
from pegasus.backends.mavlink.airframe import output_map
from pegasus.base.system import resource
from pegasus.config.autopilot_specs import ArduPilotSpec
from pegasus.config.files import load_vehicle
from pegasus.environment import Environment
from pegasus.scene import vehicle_scene
from tests.flyers import MULTIROTORS

DIRECTORY = os.environ.get("ARDUPILOT_DIR")
pytestmark = pytest.mark.usefixtures("nothing_left")
BASE = yaml.safe_load(resource("config", "vehicles", "tilted_hexarotor.yaml").read_text())
SHIPPED = {
    "coaxial_x8": (4, 1),
    "crazyflie": (1, 1),
    "heavy_octorotor": (3, 1),
    "iris": (1, 1),
    "octorotor": (3, 1),
    "pegasus": (1, 1),
    "racer": (1, 1),
    "tilted_hexarotor": (2, 0),
    "typhoon_h": (2, 1),
    "x500": (1, 1),
}
IDS = [frame.name for frame in FRAMES]


@pytest.fixture(scope="module", autouse=True)
def undrawn():
    """Let all vehicles look alike: to draw hundreds of them would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        look = vehicle_scene(*load_vehicle("iris"))
        patch.setattr("pegasus.scene.vehicle_asset._drawn_scene", lambda _: look)
        yield


def rotor(angle, sense, *, height=0.1, axis=(0, 0, 1)):
    """Return a rotor on the sides of a square of 0.8 m, at an angle clockwise from the front [deg]."""
    x, y = np.cos(np.radians(angle)), -np.sin(np.radians(angle))
    reach = 0.4 / max(abs(x), abs(y))
    return {"position": [float(reach * x), float(reach * y), height], "direction": sense, "axis": list(axis)}


def rotors_of(frame):
    """Return rotors at the motors of a frame; those of a coaxial pair are above each other."""
    rotors, levels = [], {}
    for angle, sense in zip(frame.angles, frame.senses, strict=True):
        place = round(angle % 360.0, 6)
        levels[place] = levels.get(place, 0) + 1
        rotors.append(rotor(angle, "ccw" if sense == "+" else "cw", height=0.1 + 0.1 * levels[place]))
    return rotors


def vehicle(rotors, **others):
    """Return a vehicle with these rotors."""
    model = BASE | {"name": "mine", "rotors": rotors, "propeller": {"diameter": 0.08}, **others}
    made = Multirotor(model)
    made.environment, made.physics_rate = Environment(), 400.0
    return made


def fit(made, **given):
    """Return the frame of a vehicle, with given parameters."""
    rotors = output_map(made.spec.ardupilot, made.channels, output_count=16, field="ardupilot")
    return fit_frame(made, rotors, {**made.spec.ardupilot.parameters, **given})


def frame_of(fitted):
    """Return the frame of given parameters."""
    key = fitted.parameters["FRAME_CLASS"], fitted.parameters["FRAME_TYPE"]
    return next(frame for frame in FRAMES if (frame.frame_class, frame.frame_type) == key)


def assert_flown(made, frame, channels):
    """Assert that each command of ArduPilot acts on its axis of the vehicle, by its mixing.

    A motor at an angle has the roll factor -sin, the pitch factor cos and the yaw factor +1 where it turns
    counter-clockwise (AP_MotorsMatrix, add_motor); positive torques are right down, nose up, nose right.
    """
    angles = np.radians([frame.angles[channel] for channel in channels])
    senses = np.array([1.0 if frame.senses[channel] == "+" else -1.0 for channel in channels])
    factors = np.stack([-np.sin(angles), np.cos(angles), senses, np.ones(len(channels))], axis=1)
    layout = made.layout
    lever = np.cross(layout.position - made.center_of_mass, layout.axis)
    ratio = made.spec.thrust_curve.get("moment_ratio", 0.02)
    turning = lever - ratio * layout.spin[:, None] * layout.axis
    effect = np.stack([turning[:, 0], -turning[:, 1], -turning[:, 2], layout.axis[:, 2]]) @ factors
    main = np.diag(effect)
    assert (main > 0).all()
    # Coupling of roll and pitch: limited by the tolerance of the angles.
    assert abs(effect[0, 1]) < np.tan(np.radians(15.0)) * main[1]
    assert abs(effect[1, 0]) < np.tan(np.radians(15.0)) * main[0]


@pytest.mark.parametrize("name", MULTIROTORS)
@pytest.mark.parametrize("bare", [False, True], ids=["as shipped", "without a section"])
def test_a_shipped_vehicle(name, bare):
    """A shipped vehicle would turn over: ArduPilot's frame or an output would be wrong."""
    spec, _ = load_vehicle(name)
    made = Multirotor(spec.model_copy(update={"ardupilot": ArduPilotSpec()}) if bare else spec)
    made.environment, made.physics_rate = Environment(), 400.0
    fitted = fit(made)
    frame = frame_of(fitted)
    assert (frame.frame_class, frame.frame_type) == SHIPPED[name]
    assert sorted(fitted.channels) == list(range(made.rotor_count))
    assert_flown(made, frame, fitted.channels)


def test_every_shipped_vehicle_is_known():
    """A shipped vehicle would lack a comparison with ArduPilot's frames."""
    assert set(SHIPPED) == set(MULTIROTORS)


@pytest.mark.parametrize("frame", FRAMES, ids=IDS)
def test_rotors_in_any_order(frame):
    """Rotors in another order than a frame's motors would get wrong outputs."""
    rng, rotors = np.random.default_rng(11), rotors_of(frame)
    for _ in range(5):
        order = rng.permutation(len(rotors))
        made = vehicle([rotors[k] for k in order])
        # The frame requested, else the frame that these rotors form.
        by_type = fit(made, FRAME_CLASS=frame.frame_class, FRAME_TYPE=frame.frame_type)
        assert by_type.parameters == {}
        found = fit(made)
        assert frame_of(found).frame_class == frame.frame_class
        for chosen, channels in ((frame, by_type.channels), (frame_of(found), found.channels)):
            assert sorted(channels) == list(range(len(rotors)))
            for k, channel in zip(order, channels, strict=True):
                off = (chosen.angles[channel] - frame.angles[k] + 180) % 360 - 180
                assert abs(off) < 1e-6
                assert chosen.senses[channel] == frame.senses[k]
            assert_flown(made, chosen, channels)


REVERSED = {"cw": "ccw", "ccw": "cw"}
ONE_WAY_ONLY = re.compile("hexa|deca|quad Y4|octa (plus|V|H|I)$")
"""Frames of which ArduPilot has no mirror image."""


@pytest.mark.parametrize("frame", FRAMES, ids=IDS)
def test_rotors_that_all_turn_the_other_way(frame):
    """ArduPilot would yaw the wrong way: a mirrored frame is another frame, or none."""
    made = vehicle([one | {"direction": REVERSED[one["direction"]]} for one in rotors_of(frame)])
    if ONE_WAY_ONLY.match(frame.name):
        with pytest.raises(ConfigError, match="rotors: match no frame of ArduPilot; the nearest is "):
            fit(made)
    else:
        found = fit(made)
        assert_flown(made, frame_of(found), found.channels)


def test_a_refusal_names_what_is_wrong():
    """The error would not name the wrong rotors, their deviation and a remedy."""
    rotors = rotors_of(next(frame for frame in FRAMES if frame.name == "hexa X"))
    turned = [one | {"direction": REVERSED[one["direction"]]} for one in rotors]
    with pytest.raises(ConfigError) as raised:
        fit(vehicle(turned))
    assert str(raised.value) == (
        "rotors: match no frame of ArduPilot; the nearest is hexa X (FRAME_CLASS 2, FRAME_TYPE 1), "
        "with rotors 0, 1, 2, 3, 4, 5 turning in the opposite sense; move or reverse the rotors "
        "accordingly, or set ardupilot.channels, and FRAME_CLASS and FRAME_TYPE in ardupilot.parameters, "
        "explicitly"
    )
    bent = [rotor(45, "ccw"), rotor(-135, "ccw"), rotor(-45, "cw"), rotor(175, "cw")]
    with pytest.raises(ConfigError, match=r"nearest is quad X \(.*\), with rotors? [0-3, ]+ up to \d+ deg"):
        fit(vehicle(bent))
    five = [rotor(72 * k, "ccw" if k % 2 else "cw") for k in range(5)]
    with pytest.raises(ConfigError, match=r"rotors: are 5; ArduPilot's frames have 4, 6, 8, 10, 12; move"):
        fit(vehicle(five))


def test_rotors_somewhat_off_their_motors():
    """Frames with build tolerances of some degrees would be rejected."""
    near = [rotor(40, "ccw"), rotor(-130, "ccw"), rotor(-50, "cw"), rotor(128, "cw")]
    found = fit(vehicle(near))
    assert found == ([0, 1, 2, 3], {"FRAME_CLASS": 1, "FRAME_TYPE": 1})


def test_a_rectangle_is_an_x():
    """A long quadrotor would be rejected as an X, although ArduPilot scales roll and pitch separately."""
    corners = [(0.2, -0.6, "ccw"), (-0.2, 0.6, "ccw"), (0.2, 0.6, "cw"), (-0.2, -0.6, "cw")]
    long = [{"position": [x, y, 0.1], "direction": sense} for x, y, sense in corners]
    assert fit(vehicle(long)) == ([0, 1, 2, 3], {"FRAME_CLASS": 1, "FRAME_TYPE": 1})


def test_tilted_rotors_count_as_what_they_do():
    """Rotors whose tilt yaws more than their reaction torque would get a wrong yaw sense."""
    spec, _ = load_vehicle("tilted_hexarotor")
    for factor, frame_type in ((1.0, 0), (-1.0, None)):
        rotors = [
            {**one.model_dump(), "axis": [factor * one.axis[0], factor * one.axis[1], one.axis[2]]}
            for one in spec.rotor_list()
        ]
        made = vehicle(rotors, propeller={"diameter": 0.2})
        if frame_type is None:
            # Mirrored: the reaction torque of these rotors is a tenth of the opposite yaw of their tilt.
            with pytest.raises(ConfigError, match="turning in the opposite sense"):
                fit(made)
        else:
            assert fit(made).parameters["FRAME_TYPE"] == frame_type


def test_a_rotor_that_does_not_lift():
    """ArduPilot would use a forward-pushing rotor for lift."""
    rotors = rotors_of(next(frame for frame in FRAMES if frame.name == "quad X"))
    pushing = [rotor(90 * side, "cw", axis=(1, 0, 0), height=0.3) for side in (1, -1)]
    with pytest.raises(ConfigError, match="4, 5 up to 180 deg off"):
        fit(vehicle(rotors + pushing))


def test_outputs_of_the_file_choose_the_type():
    """Outputs given by the user would be replaced, or used in the order of another type."""
    rotors = rotors_of(next(frame for frame in FRAMES if frame.name == "quad X"))
    for channels, frame_type in (([0, 1, 2, 3], 1), ([1, 2, 3, 0], 12), ([0, 2, 1, 3], 13)):
        made = vehicle(rotors, ardupilot={"channels": channels})
        assert fit(made) == (channels, {"FRAME_CLASS": 1, "FRAME_TYPE": frame_type})
    with pytest.raises(ConfigError, match="rotors: match no frame of ArduPilot"):
        fit(vehicle(rotors, ardupilot={"channels": [2, 3, 0, 1]}))
    message = r"ardupilot.channels = \[4, 5, 6, 7\]: must be 0 to 3, each once, if FRAME_CLASS"
    with pytest.raises(ConfigError, match=message):
        fit(vehicle(rotors, ardupilot={"channels": [4, 5, 6, 7]}))


def test_what_is_set_by_hand_counts(caplog):
    """A frame chosen by the user would be replaced."""
    rotors = rotors_of(next(frame for frame in FRAMES if frame.name == "hexa X"))
    turned = [one | {"direction": REVERSED[one["direction"]]} for one in rotors]
    by_hand = {"FRAME_CLASS": 2, "FRAME_TYPE": 1}
    made = vehicle(turned, ardupilot={"channels": [5, 4, 3, 2, 1, 0], "parameters": by_hand})
    assert fit(made) == ([5, 4, 3, 2, 1, 0], {})
    assert fit(vehicle(rotors), FRAME_CLASS=15) == ([0, 1, 2, 3, 4, 5], {})
    assert caplog.records == []
    with caplog.at_level(logging.WARNING):
        assert fit(vehicle(turned), **by_hand) == ([0, 1, 2, 3, 4, 5], {})
    (record,) = caplog.records
    assert record.getMessage().endswith("turning in the opposite sense; rotor i follows output i")


def test_ardupilot_is_started_with_the_frame_of_a_vehicle(tmp_path):
    """ArduPilot's frame would differ from the one whose outputs drive the rotors."""
    spec, _ = load_vehicle("tilted_hexarotor")
    made = Multirotor(spec.model_copy(update={"ardupilot": ArduPilotSpec()}))
    made.environment, made.physics_rate = Environment(), 400.0
    backend = launched(tmp_path / "ardupilot")
    backend.run_folder = tmp_path / "run"
    backend.bind(made)
    backend.start()
    own = (tmp_path / "run" / f"ardupilot_{backend.instances[0]}" / "own.parm").read_text().splitlines()
    backend.stop()
    assert {"FRAME_CLASS 2", "FRAME_TYPE 0"} <= set(own)
    assert backend._channels == [0, 4, 2, 1, 5, 3]


def test_a_parameter_file_chooses_the_frame(tmp_path):
    """The frame of a user's parameter file would be replaced."""
    file = tmp_path / "mine.parm"
    file.write_text("FRAME_CLASS 1\nFRAME_TYPE 13\n")
    backend = ArduPilot(launch=False, parameter_files=(file,), parameters=SLOW_LOOP)
    made = Multirotor("x500")
    made.environment, made.physics_rate = Environment(), 400.0
    backend.bind(made)
    backend.stop()
    assert backend._channels == [0, 2, 1, 3]
    assert "FRAME" not in backend._own_parameters


CLASSES = {"quad": 1, "hexa": 2, "octa": 3, "octaquad": 4, "y6": 5, "dodecahexa": 12, "deca": 14}
TYPES = {
    **{"PLUS": 0, "X": 1, "V": 2, "H": 3, "PLUSREV": 6, "Y6B": 10, "Y6F": 11, "BF_X": 12},
    **{"DJI_X": 13, "CW_X": 14, "I": 15, "BF_X_REV": 18, "Y4": 19, "default": 0},
}
CASE = re.compile(r"(?:case MOTOR_FRAME_TYPE_)?(\w+):\s")
MOTOR = re.compile(r"\{([^{}]*),([^{},]*),\s*\d+\s*\}")


def tables_of(source):
    """Return arm positions to the right and the front, and turning senses, from ArduPilot's source."""
    found = {}
    for name, number in CLASSES.items():
        body = source.split(f"::setup_{name}_matrix(")[1].split("\n}")[0]
        for block in body.split("break;"):
            kinds, motors = CASE.findall(block.partition("add_motor")[0]), MOTOR.findall(block)
            kind = next((kind for kind in reversed(kinds) if kind.isupper() or kind == "default"), None)
            if kind not in TYPES or not motors:
                continue  # of aeroplanes, or with motors that do not yaw
            places = [[float(x.strip().rstrip("f")) for x in place.split(",")] for place, _ in motors]
            if len(places[0]) == 1:
                arms = [(np.sin(np.radians(angle)), np.cos(np.radians(angle))) for (angle,) in places]
            else:
                arms = [(-roll, pitch) for roll, pitch in places]
            yaw = ["-" if "_CW" in sense or sense.strip().startswith("-") else "+" for _, sense in motors]
            found[number, TYPES[kind]] = np.array(arms), "".join(yaw)
    return found


@pytest.mark.ardupilot
@pytest.mark.skipif(not DIRECTORY, reason="needs ArduPilot: set ARDUPILOT_DIR to its source")
def test_the_frames_are_those_of_ardupilot():
    """A number of a frame would differ from ArduPilot's source."""
    file = Path(DIRECTORY) / "libraries" / "AP_Motors" / "AP_MotorsMatrix.cpp"
    theirs = tables_of(file.read_text())
    # Deca has one table for X and for clockwise X.
    theirs[14, 1] = theirs.pop((14, 14))
    ours = {(frame.frame_class, frame.frame_type): frame for frame in FRAMES}
    assert set(ours) == set(theirs)
    for key, (arms, senses) in theirs.items():
        assert ours[key].senses == senses
        off = (scaled_angles(*arms.T) - ours[key].angles + 180) % 360 - 180
        np.testing.assert_allclose(off, 0.0, atol=0.1)
