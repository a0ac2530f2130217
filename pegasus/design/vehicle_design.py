"""Design of a multirotor from size, mass, propeller, motor and battery."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.config.rotor_specs import RotorRing, RotorSpec
from pegasus.config.scenario import inertia_tensor
from pegasus.control.allocation import Allocation
from pegasus.design.mass_properties import Part, box, combined, disc, point, rod
from pegasus.design.propulsion import Battery, Motor, Propeller
from pegasus.model.rotors import RotorLayout, require_rotors_apart

STANDARD_GRAVITY = 9.80665  # [m/s^2]
MIN_THRUST_TO_WEIGHT = 1.5
"""Thrust-to-weight ratio below which little reserve remains for climbs, turns and wind."""

_ARM_BY_MOTOR = 0.5  # mass of an arm by that of a motor
_BODY_BY_SIZE, _HEIGHT_BY_BODY = 0.35, 0.4  # central body
_BODY_CLEARANCE = 0.95  # of the room between the propellers
_LEAST_BODY = 0.1  # of the size
_MOTOR_HEIGHT = 0.12  # of the diameter: from the arms up to the disc
_STACK = 0.3  # of the diameter: distance of the discs of a coaxial pair
_LEG_BY_SIZE, _ARM_DIAMETER_BY_SIZE = 0.12, 0.03
_BATTERY_DENSITY, _BATTERY_SHAPE = 2000.0, (1.0, 1 / 3, 1 / 4)  # [kg/m^3]; lengths by the longest
_LEAST_REST = 0.02  # of the mass: frame, controller, leads
_CLOCKWISE_PLUS, _CLOCKWISE_X = (6, 8), (6, 10)
"""Rotor counts for which ArduPilot's first rotor (front, or front left) turns clockwise."""
_PX4_QUAD: tuple[tuple[float, float, str], ...] = (
    (1, -1, "ccw"),
    (-1, 1, "ccw"),
    (1, 1, "cw"),
    (-1, -1, "cw"),
)


class LayoutName(StrEnum):
    """Rotor layouts."""

    X = "x"
    """Around the body, none straight ahead; four rotors are in the order of PX4's motors."""
    PLUS = "plus"
    """Around the body, the first one straight ahead."""
    COAXIAL = "coaxial"
    """Coaxial pairs."""
    RING = "ring"
    """Around the body, any number, counter-clockwise from the front left."""


@dataclass(frozen=True, kw_only=True)
class MeasuredBody:
    """Properties of a vehicle taken from its model instead of estimates."""

    rotors: tuple[RotorSpec, ...]
    center_of_mass: tuple[float, float, float] | None = None
    """Centre of mass [m]."""
    inertia: Array | None = None
    """Inertia about the centre of mass [kg m^2], shape (3, 3)."""


@dataclass(frozen=True, kw_only=True)
class VehicleDesign:
    """Design of a multirotor, with the properties derived from its parts.

    Raises:
        ConfigError: If a value is out of range, the parts weigh more than the vehicle, propellers overlap,
            the rotors cannot control the vehicle, or it cannot hover.
    """

    name: str
    mass: float
    """Mass at take-off [kg]."""
    propeller: Propeller
    motor: Motor
    battery: Battery
    size: float = 0.0
    """Diagonal from motor to motor [m]; ignored if `body` is given."""
    rotor_count: int = 4
    layout: LayoutName = LayoutName.X
    measured_arm_mass: float | None = None
    """Measured mass of one arm [kg]; half of a motor when None."""
    measured_inertia: tuple[float, ...] | None = None
    """Measured xx, yy, zz, or also xy, xz, yz, about the centre of mass [kg m^2]; of the parts when None."""
    body: MeasuredBody | None = None
    """Properties taken from a model of the vehicle."""

    def __post_init__(self) -> None:
        require(0.005 <= self.mass <= 500.0, "mass", self.mass, "must be from 0.005 to 500 kg")
        arm = self.measured_arm_mass
        require(arm is None or arm >= 0, "arm_mass", arm, "must not be negative")
        given = self.measured_inertia
        require(given is None or len(given) in (3, 6), "inertia", given, "must hold 3 or 6 numbers")
        if self.body is None:
            require(0.03 <= self.size <= 10.0, "size", self.size, "must be from 0.03 to 10 m")
            self._require_layout()
        self._require_apart()
        self._require_parts()
        self._require_hover()
        ratio, center = self.propeller.moment_ratio, np.array(self.center_of_mass)
        Allocation(RotorLayout.from_specs(self.rotors), center, ratio)

    @cached_property
    def rotors(self) -> tuple[RotorSpec, ...]:
        """The rotors in order."""
        if self.body is not None:
            return self.body.rotors
        radius, height = self.size / 2, _MOTOR_HEIGHT * self.propeller.diameter
        if self.layout is LayoutName.COAXIAL:
            half = _STACK * self.propeller.diameter / 2
            ring = self._ring(self.rotor_count // 2, height + half)
            return ring + tuple(_below(rotor, 2 * half) for rotor in ring)
        if self.layout is LayoutName.X and self.rotor_count == 4:
            side = radius / math.sqrt(2)
            return tuple(
                RotorSpec.model_validate({"position": (x * side, y * side, height), "direction": direction})
                for x, y, direction in _PX4_QUAD
            )
        return self._ring(self.rotor_count, height)

    @cached_property
    def body_size(self) -> tuple[float, float, float]:
        """Dimensions of the central body: 0.35 of the size, or the space between the propellers [m]."""
        reach = 2 * min(math.hypot(*rotor.position[:2]) for rotor in self.rotors)
        free = _BODY_CLEARANCE * (reach - self.propeller.diameter) / math.sqrt(2)
        side = max(min(_BODY_BY_SIZE * reach, free), _LEAST_BODY * reach)
        return side, side, _HEIGHT_BY_BODY * side

    @property
    def arm_count(self) -> int:
        """Number of arms: one for each rotor or coaxial pair."""
        return len({(round(x, 3), round(y, 3)) for x, y, _ in (rotor.position for rotor in self.rotors)})

    @property
    def arm_diameter(self) -> float:
        """Diameter of the arms, 0.03 of the size [m]."""
        return _ARM_DIAMETER_BY_SIZE * self._reach * 2

    @property
    def leg_height(self) -> float:
        """Height of the landing gear, 0.12 of the size; more if rotors are below the arms [m]."""
        hanging = max(0.0, -min(rotor.position[2] for rotor in self.rotors))
        return _LEG_BY_SIZE * self._reach * 2 + hanging

    @property
    def arm_mass(self) -> float:
        """Mass of an arm [kg]."""
        return _ARM_BY_MOTOR * self.motor.mass if self.measured_arm_mass is None else self.measured_arm_mass

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts: body and battery as boxes, arms as rods, motors as points, propellers as discs."""
        motor_height = 0.5 * _MOTOR_HEIGHT * self.propeller.diameter
        length = (12 * self.battery.mass / _BATTERY_DENSITY) ** (1 / 3)
        parts = [
            box("battery", self.battery.mass, (0, 0, 0), [length * part for part in _BATTERY_SHAPE]),
        ]
        hubs = {}
        for rotor in self.rotors:
            x, y, z = rotor.position
            parts.append(point("motor", self.motor.mass, (x, y, z - motor_height)))
            parts.append(disc("propeller", self.propeller.mass, rotor.position, self.propeller.inertia))
            hubs[round(x, 3), round(y, 3)] = (x, y, 0.0)
        parts += [rod("arm", self.arm_mass, (0, 0, 0), hub) for hub in hubs.values()]
        rest = self.mass - sum(part.mass for part in parts)
        return (box("body", rest, (0, 0, 0), self.body_size), *parts)

    @cached_property
    def center_of_mass(self) -> tuple[float, float, float]:
        """Centre of mass in the body frame [m]."""
        if self.body is not None and self.body.center_of_mass is not None:
            return self.body.center_of_mass
        x, y, z = (round(float(value), 6) + 0.0 for value in combined(self.parts).position)
        return x, y, z

    @cached_property
    def inertia(self) -> Array:
        """Inertia about the centre of mass [kg m^2], shape (3, 3)."""
        if self.measured_inertia is not None:
            return inertia_tensor(self.measured_inertia)
        if self.body is not None and self.body.inertia is not None:
            return self.body.inertia
        return combined(self.parts).inertia

    @property
    def weight(self) -> float:
        """Weight at standard gravity [N]."""
        return self.mass * STANDARD_GRAVITY

    @property
    def lift_axes(self) -> float:
        """Sum of the rotor axes' z components: total vertical thrust divided by the thrust of one rotor."""
        return float(np.maximum(RotorLayout.from_specs(self.rotors).axis[:, 2], 0.0).sum())

    @cached_property
    def max_speed(self) -> float:
        """Rotor speed at full throttle of all motors [rad/s]."""
        return self.motor.full_throttle_speed(self.propeller.torque_constant, self.battery, len(self.rotors))

    @property
    def lift(self) -> float:
        """Total upward thrust at full throttle [N]."""
        return self.lift_axes * self.propeller.thrust_constant * self.max_speed**2

    @property
    def hover_speed(self) -> float:
        """Rotor speed in hover [rad/s]."""
        return math.sqrt(self.weight / self.lift_axes / self.propeller.thrust_constant)

    @property
    def hover_current(self) -> float:
        """Battery current in hover [A]: power of all motors divided by the battery voltage."""
        torque = self.propeller.torque_constant * self.hover_speed**2
        current = self.motor.current(torque, self.battery.voltage)
        voltage = self.motor.torque_constant * self.hover_speed + self.motor.resistance * current
        return len(self.rotors) * current * voltage / self.battery.voltage

    @property
    def hover_efficiency(self) -> float:
        """Ratio of shaft power to electrical power of the motors in hover."""
        shaft_power = len(self.rotors) * self.propeller.torque_constant * self.hover_speed**3
        return shaft_power / (self.hover_current * self.battery.voltage)

    @property
    def full_throttle_voltage(self) -> float:
        """Battery voltage with all motors at full throttle [V]."""
        torque = self.propeller.torque_constant * self.max_speed**2
        current = self.motor.current(torque, self.battery.voltage)
        return self.battery.voltage - len(self.rotors) * self.battery.resistance * current

    @property
    def rotor_inertia(self) -> float:
        """Moment of inertia of propeller and bell about their axis [kg m^2]."""
        return self.propeller.inertia + self.motor.inertia

    @property
    def time_constant(self) -> float:
        """Time constant of the rotor speed about hover [s]."""
        return self.motor.time_constant(self.rotor_inertia, self.propeller.torque_constant, self.hover_speed)

    @property
    def drag_areas(self) -> tuple[float, float, float]:
        """Cross sections of body and arms along x, y, z [m^2]; the mean projection of a rod is 2 / pi."""
        length, width, height = self.body_size
        arms = self.arm_count * max(self._reach - length / 2, 0.0) * self.arm_diameter
        return (
            height * width + 2 / math.pi * arms,
            height * length + 2 / math.pi * arms,
            length * width + arms,
        )

    @property
    def _reach(self) -> float:
        return max(math.hypot(*rotor.position[:2]) for rotor in self.rotors)

    def _ring(self, count: int, height: float) -> tuple[RotorSpec, ...]:
        plus = self.layout is LayoutName.PLUS
        ring = RotorRing(
            count=count,
            radius=self.size / 2,
            height=height,
            first_angle=0.0 if plus else None,
            first_direction="cw" if count in (_CLOCKWISE_PLUS if plus else _CLOCKWISE_X) else "ccw",
        )
        return tuple(ring.rotors())

    def _require_layout(self) -> None:
        count, name = self.rotor_count, self.layout.value
        if self.layout is LayoutName.COAXIAL:
            allowed = count >= 6 and count % 2 == 0
            require(allowed, "rotors", count, "must be even and at least 6 in the layout coaxial")
        elif self.layout is LayoutName.RING:
            require(count >= 4, "rotors", count, "must be at least 4 to control roll, pitch and yaw")
        else:
            allowed = count >= 4 and count % 2 == 0
            require(
                allowed, "rotors", count, f"must be even and at least 4 in the layout {name}", "or use ring"
            )
        require(count <= 32, "rotors", count, "must be at most 32")

    def _require_apart(self) -> None:
        if self.body is not None:
            diameters = [self.propeller.diameter] * len(self.rotors)
            require_rotors_apart(RotorLayout.from_specs(self.rotors), diameters)
            return
        arms = self.rotor_count // (2 if self.layout is LayoutName.COAXIAL else 1)
        between, diameter = self.size * math.sin(math.pi / arms), self.propeller.diameter
        if between < diameter:
            raise ConfigError(
                f"neighbouring propellers overlap by {diameter - between:.3g} m: they are {diameter:.4g} m "
                f"wide, their axes {between:.3g} m apart",
                field="size",
                value=self.size,
                remedy=f"use at least {_up(diameter / math.sin(math.pi / arms)):g} m, or smaller propellers",
            )

    def _require_parts(self) -> None:
        if self.body is not None and self.body.inertia is not None:
            return
        masses = dict.fromkeys(("battery", "motor", "propeller", "arm"), 0.0)
        for part in self.parts[1:]:
            masses[part.name] += part.mass
        total = sum(masses.values())
        if self.mass - total < _LEAST_REST * self.mass:
            listed = ", ".join(f"{name} {mass:.3g} kg" for name, mass in masses.items())
            raise ConfigError(
                f"is less than the parts, which weigh {total:.3g} kg: {listed}",
                field="mass",
                value=self.mass,
                remedy="give the mass at take-off, or the measured masses of motor, arm and battery",
            )

    def _require_hover(self) -> None:
        if self.lift > self.weight:
            return
        raise ConfigError(
            f"cannot hover: thrust {self.lift:.1f} N against weight {self.weight:.1f} N, "
            f"{self.weight - self.lift:.1f} N are missing",
            field="mass",
            value=self.mass,
            remedy=f"reduce it below {self.lift / STANDARD_GRAVITY:.3g} kg, or use larger propellers, "
            "more rotors, a higher kV or more cells",
        )


def thrust_to_weight_notice(design: VehicleDesign) -> str | None:
    """Return a warning about a low thrust-to-weight ratio, if it applies."""
    ratio = design.lift / design.weight
    if ratio >= MIN_THRUST_TO_WEIGHT:
        return None
    return (
        f"{design.name}: thrust to weight is {ratio:.2f}; below {MIN_THRUST_TO_WEIGHT:g} little reserve "
        "remains for climbs, turns and wind"
    )


def _below(rotor: RotorSpec, distance: float) -> RotorSpec:
    """Return the lower rotor of a coaxial pair, with the opposite direction of rotation."""
    x, y, z = rotor.position
    return RotorSpec(position=(x, y, z - distance), direction="cw" if rotor.direction == "ccw" else "ccw")


def _up(value: float) -> float:
    """Return a length rounded up to whole millimetres [m]."""
    return math.ceil(value * 1000 - 1e-9) / 1000


def alternating_directions(positions: Sequence[Array]) -> list[str]:
    """Return directions of rotation that alternate around the z axis, starting counter-clockwise.

    Args:
        positions: Centres of the rotors [m], each of shape (3,).
    """
    order = np.argsort([math.atan2(y, x) % (2 * math.pi) for x, y, _ in positions], kind="stable")
    senses = [""] * len(positions)
    for k, index in enumerate(order):
        senses[int(index)] = "ccw" if k % 2 == 0 else "cw"
    if senses and senses[0] == "cw":
        senses = ["cw" if sense == "ccw" else "ccw" for sense in senses]
    return senses
