"""Messages of a sensor's readings, copied from its columns where it declares what it gives."""

from collections.abc import Sequence

from pegasus.base.arrays import Array
from pegasus.core.compiled_sensor import CompiledSensor
from pegasus.core.sensor_suite import SensorSuite
from pegasus.recording.messages import ItemMessages
from pegasus.recording.schemas import Field


class ReadingMessages(ItemMessages):
    """Messages of the readings of a sensor.

    The columns of a compiled sensor that declares what it `gives` are recorded, without making a reading.

    Args:
        channel: Number of the channel.
        fields: The recorded fields of the first reading, from `item_fields`.
        sensors: Sensors of the vehicle.
        name: Name of the sensor.
    """

    def __init__(self, channel: int, fields: Sequence[Field], sensors: SensorSuite, name: str) -> None:
        super().__init__(channel, fields)
        self._sensors, self._name = sensors, name
        sensor = sensors[name]
        self._sensor = sensor if isinstance(sensor, CompiledSensor) else None
        self._bound: object = None
        self._columns: Sequence[Array] = ()

    def add_new(self, stamp: int) -> None:
        """Add the reading of this step; there must be one.

        Args:
            stamp: Its time [ns].

        Raises:
            ConfigError: If a field does not fit the type and shape that it had in the first message.
        """
        sensor, sensors = self._sensor, self._sensors
        if sensor is not None and sensor.rows is not self._bound:
            self._bound, self._columns = sensor.rows, self._fitting(sensor.given_columns)
        if self._columns and self._name not in sensors.altered:
            self.add_arrays(stamp, self._columns)
        else:
            self.add(stamp, sensors.last_given(self._name))

    def _fitting(self, columns: Sequence[Array]) -> Sequence[Array]:
        """Return columns followed by the time, if these are the recorded fields of a reading."""
        if not columns or self._sensors.time is None:
            return ()
        found = [*columns, self._sensors.time[0, ...]]
        return found if self.layout.fits(found) else ()
