"""Dynamics models of a vehicle: those given as arguments, else those of its file."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import build, require_instance
from pegasus.base.registry import Registry
from pegasus.config.scenario import VehicleSpec, inertia_tensor
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
    DrivenMotor,
    GroundEffect,
    Motor,
    ThrustCurve,
)
from pegasus.model.airframe import Airframe

MODELS: dict[str, tuple[type, Registry[Any]]] = {
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
        for name, (kind, _) in MODELS.items():
            if (model := getattr(self, name)) is not None:
                require_instance(kind, name, model)

    def completed(self, spec: VehicleSpec) -> "DynamicsModels":
        """Return these models, and those of a vehicle's file for the fields that are None.

        Args:
            spec: Description of the vehicle.

        Raises:
            ConfigError: If a model is not known or a parameter is not allowed.
        """
        built = {
            name: build(kind, registry, described, field=name)
            for name, (kind, registry) in MODELS.items()
            if getattr(self, name) is None and (described := getattr(spec, name)) is not None
        }
        return replace(self, **built)


@dataclass(frozen=True, eq=False)
class VehicleParameters:
    """Parameters of the step: those of all copies of a vehicle, or of one copy."""

    mass: float
    """Mass [kg]."""
    inertia: Array
    """Inertia about the centre of mass in the body frame [kg m^2], shape (3, 3)."""
    center_of_mass: Array
    """Centre of mass in the body frame [m], shape (3,)."""
    rotor_inertia: float
    """Inertia of a propeller, and of its driven motor, about their axis [kg m^2]."""
    motor: Motor
    thrust_curve: ThrustCurve
    drag: Drag | None
    battery: Battery | None
    ground_effect: GroundEffect | None
    downwash: Downwash | None
    airframe: Airframe = field(default_factory=Airframe)
    """Joints, surfaces and further kinds of propulsion."""

    @classmethod
    def of(cls, spec: VehicleSpec, models: DynamicsModels, airframe: Airframe) -> "VehicleParameters":
        """Return the parameters of a vehicle.

        Args:
            spec: Description of the vehicle.
            models: Its models, completed.
            airframe: Its parts besides rotors of one kind.
        """
        assert models.motor is not None
        assert models.thrust_curve is not None
        motor = models.motor
        return cls(
            mass=spec.mass,
            inertia=inertia_tensor(spec.inertia),
            center_of_mass=np.array(spec.center_of_mass, dtype=np.float64),
            rotor_inertia=spec.propeller.inertia + (motor.inertia if isinstance(motor, DrivenMotor) else 0.0),
            motor=motor,
            thrust_curve=models.thrust_curve,
            drag=models.drag,
            battery=models.battery,
            ground_effect=models.ground_effect,
            downwash=models.downwash,
            airframe=airframe,
        )
