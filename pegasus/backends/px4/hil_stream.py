"""Stream of HIL messages to N PX4s: those of each step, from its readings and true states."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pegasus.backends.px4.hil import SensorMessages, rc_message
from pegasus.backends.px4.hil_instance import HilInstance, Phase
from pegasus.backends.px4.hil_sensors import Converter, HilSensors
from pegasus.backends.px4.truth import Truth
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.core.aircraft import Aircraft
from pegasus.core.link_state import FaultyLine

_TRUTH_INTERVAL, _RECEIVER_INTERVAL = 5, 5
"""Number of sensor messages between true states, and between messages of the receiver."""
_LINK = "mavlink"
"""Name of the links to autopilots in faults."""


class HilStream:
    """Stream of HIL messages to the autopilots of a vehicle.

    Args:
        vehicle: The vehicle.
        sensors: Its sensors.
        instances: Its autopilots.
        external: Whether they may be flight controllers, which get no true state before they answer steadily.
    """

    def __init__(
        self,
        vehicle: Aircraft,
        sensors: HilSensors,
        instances: Sequence[HilInstance],
        *,
        external: bool,
    ) -> None:
        self._vehicle, self._sensors, self._instances = vehicle, sensors, instances
        self._messages = [SensorMessages(vehicle.count, k) for k in range(sensors.number_count)]
        self._further = self._messages[1:]
        self._period, self._external = 1.0 / sensors.rate, external
        self._sample_count = 0
        # Compiled before the autopilots start, which would wait for it.
        self._truth = Truth(vehicle.state, vehicle.environment)

    def send(
        self,
        t: float,
        state: VehicleState,
        readings: Mapping[str, Reading],
        rc_channels: Sequence[int] | None,
    ) -> None:
        """Send the messages of a step to every connected autopilot.

        Args:
            t: Simulation time [s].
            state: True state.
            readings: Readings that are new at this step, by sensor name.
            rc_channels: Pulse widths of a receiver [us]; None for no receiver.
        """
        imu, others = self._sensors.take(readings, self._messages)
        truths: Sequence[Any] = ()
        receiver: Sequence[int] | None = None
        if imu is not None:
            forces, rates = imu.specific_force.tolist(), imu.angular_velocity.tolist()
            self._sample_count += 1
            if self._sample_count % _TRUTH_INTERVAL == 0:
                truths = self._truths(t, state)
            if self._sample_count % _RECEIVER_INTERVAL == 0:
                receiver = rc_channels
        fails, first, further = self._vehicle.faults.links.fail(_LINK), self._messages[0], self._further
        for i, instance in enumerate(self._instances):
            if instance.phase is Phase.ABSENT:
                continue
            if fails or instance.line is not None:
                self._note_faults(i, instance, fails=fails)
            time_usec = instance.clock(t, self._period)
            # The first sample sets PX4's clock: it would stamp any message before it with a wrong time.
            if instance.is_clocked and (others or truths or receiver is not None or further):
                for message in self._beside(i, time_usec, others, truths, receiver):
                    instance.add(message)
            if imu is not None:
                instance.add_sensor(first.message(i, time_usec, forces[i], rates[i]))
            instance.send(t)

    def _beside(
        self,
        i: int,
        time_usec: int,
        others: Sequence[tuple[Converter, Reading]],
        truths: Sequence[Any],
        receiver: Sequence[int] | None,
    ) -> Iterator[Any]:
        """Yield the messages to an autopilot before its sample, which is the one that it answers."""
        for convert, reading in others:
            yield convert(time_usec, reading, i)
        # A starting flight controller would use the truth as its estimate.
        if truths and (not self._external or self._instances[i].phase is Phase.LOCKSTEP):
            yield truths[i]
        if receiver is not None:
            yield rc_message(time_usec, receiver)
        for messages in self._further:
            if (new_message := messages.new_message(i, time_usec)) is not None:
                yield new_message

    def _truths(self, t: float, state: VehicleState) -> Sequence[Any]:
        """Return the true states as messages."""
        if self._truth.state is not state:
            self._truth = Truth(state, self._vehicle.environment)
        return self._truth.messages([instance.clock(t, self._period) for instance in self._instances], t)

    def _note_faults(self, i: int, instance: HilInstance, *, fails: bool) -> None:
        """Begin or end the faults of the link to an autopilot."""
        if fails and instance.line is None:
            instance.line = FaultyLine(self._vehicle.faults.links, _LINK, i)
        elif instance.line is not None and instance.line.is_idle:
            instance.line = None
