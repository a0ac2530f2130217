"""Bad joints, surfaces, wheels and kinds of propulsion: one line each, with field, value and remedy."""

import pytest

from pegasus import ConfigError, Multirotor

FLAP = {"model": "lift_drag", "area": 0.1, "controls": ["flap"], "control_joint_rad_to_cl": 1.0}
PUSHER = {"position": [0.3, 0, 0], "axis": [1, 0, 0], "direction": "cw"}
GLIDER = {
    "name": "glider",
    "mass": 1.5,
    "inertia": [0.2, 0.15, 0.15],
    "body": {"leg_height": 0.3},
    "rotors": [PUSHER],
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.01},
    "joints": {"flap": {}},
    "surfaces": {"wing": FLAP},
}
WHEEL = {"position": [0, 0, -0.1], "radius": 0.05}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"surfaces": {"wing": {"model": "lift_drag"}}}, "surfaces.wing.area: required field is missing"),
        ({"surfaces": {"wing": {**FLAP, "area": 0.0}}}, "surfaces.wing.area = 0.0: must be above 0 m^2"),
        (
            {"surfaces": {"wing": {**FLAP, "controls": ["flop"]}}},
            "surfaces.wing.controls.0 = 'flop': is no joint of the vehicle; did you mean flap?",
        ),
        (
            {"surfaces": {"wing": {**FLAP, "controls": []}}},
            "surfaces.wing.controls = []: must name 1 joints, as many as the model",
        ),
        ({"surfaces": {"wing": {**FLAP, "upward": [2, 0, 0]}}}, "surfaces.wing.upward = (2.0, 0.0, 0.0): "),
        ({"surfaces": {"wing": {**FLAP, "slipstream": [1]}}}, "surfaces.wing.slipstream.0 = 1: must be a "),
        ({"surfaces": {"wing": {**FLAP, "model": "lift"}}}, "surfaces.wing.model = 'lift': must be one "),
        (
            {"joints": {"flap": {}, "tab": {}}},
            "joints.tab: turns nothing; name it in a surface, a rotor or a wheel, or remove it",
        ),
        (
            {"joints": {"flap": {}, "rotor_3": {}}},
            "joints.rotor_3 = 'rotor_3': is no name of a channel; use letters, digits and underscores; ",
        ),
        (
            {"joints": {"flap": {"servo": {"low": 1.0, "high": 0.5}}}},
            "joints.flap.servo.low = 1.0: must be below high = 0.5 rad",
        ),
        ({"joints": {"flap": {"axis": [0, 0, 0]}}}, "joints.flap.axis = (0.0, 0.0, 0.0): must not be zero"),
        (
            {"rotors": [{**PUSHER, "propulsion": "pusher"}]},
            "rotors.0.propulsion = 'pusher': is no kind of propulsion of the vehicle; there are none",
        ),
        ({"rotors": [{**PUSHER, "joint": "tilt"}]}, "rotors.0.joint = 'tilt': is no joint of the vehicle"),
        ({"wheels": {"nose": {**WHEEL, "joint": "steer"}}}, "wheels.nose.joint = 'steer': is no joint of "),
        (
            {"wheels": {"nose": {**WHEEL, "brake": "flap"}}},
            "wheels.nose.brake = 'flap': is the channel of a joint; rename one",
        ),
        ({"wheels": {"nose": {**WHEEL, "brake": "rotor_0"}}}, "wheels.nose.brake = 'rotor_0': is no name "),
    ],
)  # fmt: skip
def test_a_wrong_part_is_one_line(changes, line):
    """If this fails, a mistake in an aircraft's file is accepted, or not named by field and value."""
    with pytest.raises(ConfigError) as error:
        Multirotor({**GLIDER, **changes})
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


def test_channels_are_those_of_rotors_brakes_and_joints():
    """Other tools count on names, units, limits and order."""
    made = Multirotor(
        {
            **GLIDER,
            "joints": {"flap": {"servo": {"low": -0.2, "high": 0.4, "idle": 0.1}}},
            "wheels": {"left": {**WHEEL, "brake": "brake"}, "right": {**WHEEL, "brake": "brake"}},
            "rotors": [PUSHER, {**PUSHER, "position": [0.3, 1, 0], "propulsion": "small"}],
            "propulsion": {
                "small": {
                    "motor": {"model": "ideal", "max_speed": 2000.0},
                    "thrust_curve": GLIDER["thrust_curve"],
                }
            },
            "motor": {"model": "ideal", "max_speed": 900.0},
        }
    )
    assert [str(channel) for channel in made.channels] == [
        "rotor_0 [rad/s], 0 to 900",
        "rotor_1 [rad/s], 0 to 2000",
        "brake, 0 to 1",
        "flap [rad], -0.2 to 0.4",
    ]
    assert made.columns["command"].tolist() == [[0.0, 0.0, 0.0, 0.1]]
    assert made.columns["joint_angle"].tolist() == [[0.1]]
