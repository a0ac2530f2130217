"""Maps from the outputs of autopilots to commands by channel."""

import math
import re

import pytest

from pegasus import ConfigError, Multirotor
from pegasus.backends.mavlink.airframe import output_map
from pegasus.config.scenario import ActuatorMap
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
