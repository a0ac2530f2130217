"""Dynamics models of a vehicle: those given as arguments, else those of its file."""

from dataclasses import dataclass, replace
from typing import Any

from pegasus.base.components import build, require_instance
from pegasus.base.registry import Registry
from pegasus.config.scenario import VehicleSpec
from pegasus.dynamics import (
    BATTERIES,
    DOWNWASHES,
    DRAGS,
    GROUND_EFFECTS,
    MOTORS,
    THRUST_CURVES,
    Battery,
    Downwash,
    Drag,
    GroundEffect,
    Motor,
    ThrustCurve,
)

_REGISTRIES: dict[str, tuple[type, Registry[Any]]] = {
    "motor": (Motor, MOTORS),
    "thrust_curve": (ThrustCurve, THRUST_CURVES),
    "drag": (Drag, DRAGS),
    "battery": (Battery, BATTERIES),
    "ground_effect": (GroundEffect, GROUND_EFFECTS),
    "downwash": (Downwash, DOWNWASHES),
}
"""Base class and registry of each field."""


@dataclass(frozen=True)
class DynamicsModels:
    """Models of rotors, battery and air of a vehicle.

    Raises:
        ConfigError: If an argument is not a model of its kind.
    """

    motor: Motor | None = None
    thrust_curve: ThrustCurve | None = None
    drag: Drag | None = None
    battery: Battery | None = None
    ground_effect: GroundEffect | None = None
    downwash: Downwash | None = None

    def __post_init__(self) -> None:
        for field, (kind, _) in _REGISTRIES.items():
            if (model := getattr(self, field)) is not None:
                require_instance(kind, field, model)

    def completed(self, spec: VehicleSpec) -> "DynamicsModels":
        """Return these models, and those of a vehicle's file for the fields that are None.

        Args:
            spec: Description of the vehicle.

        Raises:
            ConfigError: If a model is not known or a parameter is not allowed.
        """
        built = {
            field: build(kind, registry, described, field=field)
            for field, (kind, registry) in _REGISTRIES.items()
            if getattr(self, field) is None and (described := getattr(spec, field)) is not None
        }
        return replace(self, **built)
