"""Readings of a vehicle by sensor name, whose missing entries say what there is."""

from collections.abc import Mapping

from pegasus.base.errors import UnknownNameError, unknown_name
from pegasus.contracts.reading import Reading
from pegasus.contracts.sensor import Sensor


class Readings(dict[str, Reading]):
    """Last reading of each sensor that has given one; an unknown name is a KeyError that says why.

    Args:
        sensors: Sensors by name.
    """

    def __init__(self, sensors: Mapping[str, Sensor]) -> None:
        self._sensors = sensors

    def __missing__(self, name: str) -> Reading:
        if name not in self._sensors:
            raise unknown_name("sensor", name, self._sensors)
        problem, remedy = self._why(name)
        raise UnknownNameError(problem, field="reading of sensor", value=name, remedy=remedy)

    def _why(self, name: str) -> tuple[str, str]:
        return (
            "has not been given",
            "step the simulation first: sensors give their first reading at the first step",
        )


class NewReadings(Readings):
    """Readings of one step."""

    def _why(self, name: str) -> tuple[str, str]:
        rate = self._sensors[name].rate_hz
        return (
            f"is not new at this step, because the sensor gives {rate:g} a second",
            f"take the last one from vehicle.readings, or ask whether {name!r} is in the new readings",
        )
