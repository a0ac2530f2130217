"""Tests of the health of the autopilots' estimators."""

import math

from pegasus.backends.mavlink.health_link import HealthListener
from pegasus.backends.mavlink.hub import LinkHub
from pegasus.backends.mavlink.link import UdpLink
from pegasus.backends.mavlink.messages import encode, make_message


def test_largest_ratios_are_those_of_the_flight():
    """Ratios of the start, or of the other autopilot, would be reported for the flight."""
    hubs = [LinkHub(UdpLink("127.0.0.1", 9)) for _ in range(2)]
    listener = HealthListener([hub.tap for hub in hubs], "iris", ["PX4 0", "PX4 1"])

    def say(t, armed, **fields):
        hubs[1].deliver(encode(make_message("ESTIMATOR_STATUS", **fields), sequence=0))
        listener.update(t, armed=[False, armed])

    say(0.0, False, vel_ratio=9.0)
    say(1.0, True, vel_ratio=0.5, tas_ratio=math.nan, mag_ratio=0.25, flags=1)
    say(2.0, True, vel_ratio=0.25, tas_ratio=math.nan, mag_ratio=0.375, flags=2049)
    first, second = listener.health
    assert math.isnan(first.time)
    assert first.flags == ()
    assert (second.vehicle, second.autopilot, second.time) == ("iris", "PX4 1", 2.0)
    assert second.flags == ["attitude", "accel_error"]
    assert (second.ratios["velocity"], second.ratios["heading"]) == (0.25, 0.375)
    assert (second.largest_ratios["velocity"], second.largest_ratios["heading"]) == (0.5, 0.375)
    assert second.largest_ratios["airspeed"] == 0.0
    listener.close()
    for hub in hubs:
        hub.link.close()
