"""Failures that PX4 or a ground station asks for: MAV_CMD_INJECT_FAILURE.

PX4 handles most of these itself, in its simulator module. It also sends commands that its own shell gives,
such as `failure motor off -i 1`, on its MAVLink links (streams of COMMAND_LONG), by which they arrive here.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from pegasus.backends.mavlink.airframe import OutputMap
from pegasus.backends.mavlink.hub import Inbox
from pegasus.backends.mavlink.link import Link, LinkClosedError
from pegasus.backends.mavlink.messages import Decoder, encode, make_message
from pegasus.base.errors import ConfigError
from pegasus.contracts.fault import Fault
from pegasus.core.aircraft import Aircraft
from pegasus.faults import (
    BatteryEmpty,
    MotorLoss,
    MotorStuck,
    SensorDelay,
    SensorDropouts,
    SensorOff,
    SensorStuck,
)
from pegasus.sensors import (
    GPS,
    IMU,
    Airspeed,
    Barometer,
    Magnetometer,
    Odometry,
    OpticalFlow,
    Rangefinder,
    Sensor,
)

_log = logging.getLogger(__name__)

INJECT_FAILURE = 420
"""MAV_CMD_INJECT_FAILURE; parameters: unit, type, and instance, which is 0 for all."""
ACCEPTED, DENIED, UNSUPPORTED = 0, 2, 3
"""Values of MAV_RESULT."""
BATTERY, MOTOR = 100, 101
"""Units of FAILURE_UNIT that are not sensors."""
OK, OFF, STUCK, SLOW, DELAYED, INTERMITTENT = 0, 1, 2, 5, 6, 7
"""Values of FAILURE_TYPE that are handled; not GARBAGE (3) and WRONG (4)."""
_SENSORS: dict[int, type[Sensor]] = {
    0: IMU,
    1: IMU,
    2: Magnetometer,
    3: Barometer,
    4: GPS,
    5: OpticalFlow,
    6: Odometry,
    7: Rangefinder,
    8: Airspeed,
}
"""Sensor of each unit: gyroscope and accelerometer are one."""
_SENSOR_FAULTS: dict[int, Callable[[str], Fault]] = {
    OFF: lambda sensor: SensorOff(sensor),
    STUCK: lambda sensor: SensorStuck(sensor),
    SLOW: lambda sensor: SensorDropouts(sensor, probability=0.5),
    DELAYED: lambda sensor: SensorDelay(sensor, delay=0.5),
    INTERMITTENT: lambda sensor: SensorDropouts(sensor, probability=0.5),
}
_AUTOPILOT = 1


def failure_faults(vehicle: Aircraft, outputs: OutputMap, unit: int, kind: int, instance: int) -> list[Fault]:
    """Return the faults that a command asks for; none if it is not handled.

    Args:
        vehicle: The vehicle.
        outputs: Map from outputs to channels; motor k is the k-th of the outputs of rotors.
        unit: Unit that fails, of FAILURE_UNIT.
        kind: Type of the failure, of FAILURE_TYPE.
        instance: Number of the motor or sensor, from 1; 0 for all.
    """
    if unit == BATTERY:
        return [BatteryEmpty()] if kind == OFF else []
    if unit == MOTOR:
        rotors = [r for r, channel in enumerate(outputs.channels) if channel.supplied]
        motors = sorted(rotors, key=outputs.outputs.__getitem__)
        failed = motors if instance == 0 else motors[instance - 1 : instance]
        if kind == OFF:
            return [MotorLoss(rotor) for rotor in failed]
        return [MotorStuck(rotor) for rotor in failed] if kind == STUCK else []
    if unit not in _SENSORS or kind not in _SENSOR_FAULTS:
        return []
    names = [name for name, sensor in vehicle.sensors.items() if isinstance(sensor, _SENSORS[unit])]
    chosen = names if instance == 0 else names[instance - 1 : instance]
    return [_SENSOR_FAULTS[kind](name) for name in chosen]


class FailureListener:
    """Commands to inject failures, from the links of N autopilots.

    Args:
        links: Links with the copy at their other end; an autopilot may have several.
        systems: System id of each autopilot.
        vehicle: The vehicle.
        outputs: Map from outputs to rotors.
    """

    def __init__(
        self,
        links: Sequence[tuple[int, Link]],
        systems: Sequence[int],
        vehicle: Aircraft,
        outputs: OutputMap,
    ) -> None:
        self._links, self._inbox = [link for _, link in links], Inbox()
        for copy, link in links:
            self._inbox.add(link, (copy, link, Decoder("COMMAND_LONG")))
        self._systems, self._vehicle, self._outputs = systems, vehicle, outputs
        self._labels: dict[tuple[int, int], list[str]] = {}
        self._sequence = 0

    def read(self) -> None:
        """Inject the failures that were asked for since the last call, and acknowledge them."""
        for copy, link, decoder in self._inbox.ready():
            for command in decoder.feed(link.receive()):
                if command.command == INJECT_FAILURE:
                    self._answer(copy, link, self._take(copy, command))

    def close(self) -> None:
        """Close the links."""
        for link in self._links:
            link.close()
        self._inbox.close()

    def _take(self, copy: int, command: Any) -> int:
        """Inject or heal, and return the result of the command."""
        unit, kind, instance = (round(p) for p in (command.param1, command.param2, command.param3))
        vehicle = self._vehicle
        if kind == OK:
            for label in self._labels.pop((copy, unit), []):
                if any(injection.label == label for injection in vehicle.faults.injections):
                    vehicle.heal(label, copies=copy)
            return ACCEPTED
        faults = failure_faults(vehicle, self._outputs, unit, kind, instance)
        if not faults:
            return UNSUPPORTED
        try:
            labels = [vehicle.inject(fault, copies=copy).label for fault in faults]
        except ConfigError as error:
            _log.warning("%s: failure is not injected: %s", vehicle.name, error)
            return DENIED
        self._labels.setdefault((copy, unit), []).extend(labels)
        return ACCEPTED

    def _answer(self, copy: int, link: Link, result: int) -> None:
        ack = make_message(
            "COMMAND_ACK",
            command=INJECT_FAILURE,
            result=result,
            target_system=self._systems[copy],
            target_component=_AUTOPILOT,
        )
        try:
            link.send(encode(ack, sequence=self._sequence, system=self._systems[copy]))
        except LinkClosedError:
            return
        self._sequence += 1
