"""Maps from the outputs of autopilots to commands by channel."""

import math
import re

import pytest

from pegasus import ConfigError, Multirotor
from pegasus.backends.mavlink.airframe import output_map
from pegasus.config.autopilot_specs import ActuatorMap
from pegasus.config.scenario import parse
from pegasus.model.machine import Channel

PLANE = (Channel("throttle", "", 0.0, 1.0), Channel("rudder", "rad", -0.4, 0.4, idle=0.05))


def commands(channels, outputs, /, **actuators):
    """Return the commands of outputs."""
    return output_map(ActuatorMap(**actuators), channels, output_count=16, field="px4").commands(outputs)


def test_outputs_of_a_plane_reach_the_limits_of_its_channels():
    """A rudder would move in one direction only, or a throttle in rad/s."""
    assert commands(PLANE, [1.0, 1.0]) == [1.0, 0.4]
    assert commands(PLANE, [0.5, -0.5]) == [0.5, -0.2]
    assert commands(PLANE, [-1.0, -3.0]) == [0.0, -0.4]
    assert commands(PLANE, [math.nan, math.nan]) == [0.0, 0.05]
    assert commands(PLANE, [0.0, 0.5, 1.0], channels=[2, 1], scale=[0.8, 0.3]) == [0.8, 0.15]


TILTROTOR = (
    Channel("rotor_0", "rad/s", 0.0, 1500.0, supplied=True),
    Channel("rotor_1", "rad/s", -900.0, 900.0, supplied=True),
    Channel("tilt", "rad", 0.0, 1.57),
    Channel("flap", "rad", -0.5, 0.5, idle=0.1),
)
NAMED = {
    "rotor_0": {"output": 4, "scale": 1400.0, "offset": 100.0},
    "rotor_1": {"output": 0, "offset": 50.0, "scale": 850.0},
    "tilt": {"output": 7, "scale": 0.785, "offset": 0.785},
    "flap": {"output": 2, "scale": -1.0},
}


def test_channels_by_name():
    """A tilt servo would stand still at negative outputs, a reversed flap be refused, an output go astray."""
    outputs = [-0.5, 9.9, 0.25, 9.9, 0.5, 9.9, 9.9, -1.0]
    assert commands(TILTROTOR, outputs, channels=NAMED) == [800.0, -475.0, 0.0, -0.25]
    outputs[7], outputs[2] = 0.2, 1.0
    assert commands(TILTROTOR, outputs, channels=NAMED) == [800.0, -475.0, pytest.approx(0.942), -0.5]
    assert commands(TILTROTOR, [0.0] * 8, channels=NAMED) == [100.0, 0.0, 0.785, 0.0]


def test_a_channel_that_rests():
    """A flap of which an autopilot knows nothing would need an output."""
    assert commands(TILTROTOR, [1.0] * 8, channels=NAMED | {"flap": None})[3] == 0.1


def test_outputs_of_a_multirotor_are_shares_of_the_largest_speed():
    """Motors would turn at another speed than before they were called channels."""
    channels = Multirotor("iris").channels
    assert commands(channels, [0.0, 0.5, 1.0, 2.0]) == [0.0, 359.0, 718.0, 718.0]


@pytest.mark.parametrize(
    ("channels", "actuators", "message"),
    [
        (PLANE, {"scale": [1.0]}, "px4.scale = [1.0]: must have one item for each of the 2 channels"),
        (PLANE, {"channels": [0, 16]}, "px4.channels = [0, 16]: must be outputs 0 to 15"),
        (
            PLANE,
            {"channels": [1, 1]},
            "px4.channels = [1, 1]: uses output 1 twice, once for throttle, 0 to 1; name each output once",
        ),
        (
            TILTROTOR,
            {"channels": NAMED | {"flap": {"output": 7}}},
            "px4.channels = [4, 0, 7, 7]: uses output 7 twice, once for tilt [rad], 0 to 1.57; name each",
        ),
        (
            TILTROTOR,
            {"channels": {name: NAMED[name] for name in ("rotor_0", "tilt", "flap")}},
            "px4.channels: names no output for rotor_1 [rad/s], -900 to 900; name one, or null to let it ",
        ),
        (
            TILTROTOR,
            {"channels": NAMED | {"flaps": {"output": 3}}},
            "px4.channels = 'flaps': is no channel of the vehicle; did you mean flap?",
        ),
        (
            TILTROTOR,
            {"channels": NAMED | {"rotor_1": {"output": 0, "scale": -1.0}}},
            "px4.scale = -1.0: must be above 0 for rotor_1 [rad/s], -900 to 900",
        ),
        (
            (Channel("rotor_0", "rad/s", 0.0, math.inf),),
            {},
            "px4.scale: is required, because rotor_0 [rad/s], 0 to inf has no upper limit; set the command "
            "at full output [rad/s]",
        ),
    ],
)  # fmt: skip
def test_maps_that_do_not_fit(channels, actuators, message):
    """A wrong map would be told as one of rotors, or not at all."""
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        commands(channels, [0.0, 0.0], **actuators)


def test_scales_twice():
    """One of two scales would be ignored."""
    with pytest.raises(ConfigError, match=r"scale = 2\.0: is given twice: channels are described by name"):
        parse({"channels": NAMED, "scale": 2.0}, ActuatorMap)


def test_the_map_of_the_plane():
    """PX4's outputs would reach other servos than in its Gazebo model, or with other signs."""
    channels, spec = Multirotor("plane").channels, Multirotor("plane").spec.px4
    outputs = [9.9, 9.9, 0.1, 0.2, 0.5, -0.3, 0.3, 0.4, 0.2]
    reached = output_map(spec, channels, output_count=16, field="px4").commands(outputs)
    names = [channel.name for channel in channels]
    assert dict(zip(names, reached, strict=True)) == {
        "rotor_0": 1750.0,
        "left_elevon": -0.3,
        "right_elevon": 0.3,
        "left_flap": -0.2,
        "right_flap": -0.2,
        "elevator": 0.4,
        "rudder": 0.1,
        "brake": 0.0,
    }
