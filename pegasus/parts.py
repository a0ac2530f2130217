"""Refuse parts of a vehicle that are none, such as a class in place of an instance."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pegasus.aerodynamics import Downwash, Drag, GroundEffect
from pegasus.backends.backend import Backend
from pegasus.components import require
from pegasus.propulsion import Battery, Motor, ThrustCurve
from pegasus.sensors import Sensor

_KINDS: Mapping[str, type] = MappingProxyType(
    {
        "motor": Motor,
        "thrust_curve": ThrustCurve,
        "drag": Drag,
        "battery": Battery,
        "ground_effect": GroundEffect,
        "downwash": Downwash,
    }
)


def require_parts(**parts: object) -> None:
    """Raise a ConfigError unless each part is of its kind, or None.

    Args:
        **parts: Parts by the arguments that they were given as.
    """
    for name, part in parts.items():
        kind = _KINDS[name]
        fits = part is None or isinstance(part, kind)
        require(fits, name, part, f"must be a {kind.__name__}", "give an instance, not the class")


def require_backends(backends: object) -> None:
    """Raise a ConfigError unless backends are a list of these.

    Args:
        backends: What was given.
    """
    require(isinstance(backends, Sequence), "backends", backends, "must be a list", "write backends=[...]")
    assert isinstance(backends, Sequence)
    for k, backend in enumerate(backends):
        fits = isinstance(backend, Backend)
        require(fits, f"backends.{k}", backend, "must be a Backend", "give an instance, not the class")


def require_sensors(**groups: object) -> None:
    """Raise a ConfigError unless sensors are a mapping from names to these, or None.

    Args:
        **groups: What was given, by the arguments that it was given as.
    """
    for group, sensors in groups.items():
        if sensors is None:
            continue
        allowed = "must be sensors by name"
        require(isinstance(sensors, Mapping), group, sensors, allowed, "such as {'imu': IMU()}")
        assert isinstance(sensors, Mapping)
        for name, sensor in sensors.items():
            fits = isinstance(sensor, Sensor)
            require(fits, f"{group}.{name}", sensor, "must be a Sensor", "give an instance, not the class")
