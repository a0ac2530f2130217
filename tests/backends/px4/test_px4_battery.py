"""Tests of the vehicle's battery in PX4: BATTERY_STATUS at the payload link."""

import math

import pytest
from px4_rig import Answerer, call, controls, datagrams, iris, started_with

from pegasus import Simulation
from pegasus.backends import PX4
from pegasus.backends.mavlink.messages import Decoder
from pegasus.backends.mavlink.ports import bind_udp
from pegasus.backends.px4.battery import battery_message
from pegasus.faults import BatteryEmpty

pytestmark = pytest.mark.usefixtures("nothing_left")


def told(payload):
    """Return the BATTERY_STATUS in the datagrams of a socket, with system and component of their senders."""
    found = []
    for data, _ in datagrams(payload):
        for message in Decoder().feed(data):
            if message.msgname == "BATTERY_STATUS":
                found.append((message, data[5], data[6]))
    return found


def test_px4_is_told_the_battery():
    """PX4 would have a battery of its own, and not notice that the vehicle's is empty."""
    backend = PX4(launch=False)

    def answer(message, _):
        return controls(message, *[0.6] * 4)

    with Simulation() as simulation:
        vehicle = simulation.add(iris(backend, Answerer(call, answer), count=1))
        number = backend.first_instance
        with bind_udp("127.0.0.1", 14280 + number) as payload:
            simulation.run(2.0)
            found = told(payload)
            battery = vehicle.battery
            voltage, current, charge = (
                float(c[0]) for c in (battery.voltage, battery.current, battery.charge)
            )
            vehicle.inject(BatteryEmpty())
            simulation.run(0.4)
            empty = told(payload)[-1][0]
    # Five times per simulated second, from a component of PX4's own system.
    assert 9 <= len(found) <= 11
    assert {(system, component) for _, system, component in found} == {(number + 1, 180)}
    last = found[-1][0]
    assert sum(last.voltages[:3]) * 1e-3 == pytest.approx(voltage, abs=0.05)
    assert list(last.voltages[3:]) == [65535] * 7
    assert last.current_battery * 0.01 == pytest.approx(current, abs=1.0)
    assert current > 5.0
    assert last.current_consumed == pytest.approx(5100 * (1 - charge), abs=5)
    assert (last.battery_remaining, empty.battery_remaining) == (round(100 * charge), 0)


def test_px4_simulates_no_battery_beside_it(px4):
    """PX4 would take its own battery, which never gets empty, or the vehicle's in spite of the user."""
    assert started_with(px4())["PX4_PARAM_SIM_BAT_ENABLE"] == "0"
    backend = px4(parameters={"SIM_BAT_ENABLE": 1})
    with Simulation() as simulation:
        simulation.add(iris(backend))
        with bind_udp("127.0.0.1", 14280 + backend.first_instance) as payload:
            simulation.run(1.0)
            assert told(payload) == []


@pytest.mark.parametrize(("cells", "volts"), [(1, 3.7), (10, 37.0), (14, 51.8)])
def test_packs_of_any_size(cells, volts):
    """The voltage of a large pack would be cut to that of ten cells."""
    message = battery_message(volts, 400.0, 0.256, cell_count=cells, capacity=2.0)
    present = [cell for cell in message.voltages if cell != 65535]
    assert len(present) == min(cells, 10)
    assert math.isclose(sum(present) * 1e-3, volts, abs_tol=0.01)
    assert (message.current_battery, message.battery_remaining, message.current_consumed) == (32767, 26, 1488)
