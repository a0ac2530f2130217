"""Electric motors: torque from voltage, speed and current, with a throttle or a controller of the speed."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pegasus.base.components import require
from pegasus.base.step_math import Real, Vec3, clamped, magnitude, minimum, sqrt
from pegasus.dynamics.motors import DrivenMotor

_CREEP = 0.01
"""Speed below which the Coulomb friction falls linearly to 0, by that at which the back-EMF is the nominal
voltage."""
_LEAST_CURRENT = 1e-9
"""Current of a motor that turns without a load [A], for which its response has a limit only."""


@dataclass(frozen=True)
class ElectricParameters:
    """Parameters of `electric_torque`."""

    torque_constant: float
    """Torque by current [N m/A], and back-EMF by speed [V s/rad]."""
    resistance: float
    """Resistance of windings and speed controller [ohm]."""
    conductance: float
    """Its inverse."""
    coulomb_friction: float
    """Friction that does not depend on the speed [N m]."""
    viscous_friction: float
    """Friction by speed [N m s/rad]."""
    by_creep: float
    """Inverse of the speed below which the Coulomb friction falls to 0 [s/rad]."""
    nominal_voltage: float
    """Voltage of the supply without a battery [V]."""
    full_speed: float
    """Command that is full throttle of an open loop [rad/s]."""
    closed_loop: int
    """1 for a controller of the speed, 0 for a throttle."""
    proportional_gain: float
    """Gains of that controller [V s/rad] and [V/rad]."""
    integral_gain: float
    by_gain: float
    """Inverse of the proportional gain."""
    max_current: float
    """Largest current [A]."""
    regenerative: int
    """1 if the current may be negative."""
    voltage_gain: float
    """Factors of the empirical current: `ElectricMotor`."""
    voltage_offset: float


def electric_torque(
    p: ElectricParameters, speed: Real, state: Vec3, command: Real, voltage: Real
) -> tuple[Real, Vec3, Real]:
    """Return torque, rate of the integral and electrical power of a motor; see `ElectricMotor`."""
    supply = p.nominal_voltage
    if voltage > 0.0:
        supply = voltage
    sense = 1.0
    if command < 0.0:
        sense = -1.0
    wanted = sense * command
    turning = sense * speed
    rate = 0.0
    applied = 0.0
    if p.closed_loop == 0:
        applied = supply * minimum(wanted / p.full_speed, 1.0)
    else:
        error = wanted - turning
        asked = p.torque_constant * wanted + p.proportional_gain * error + sense * state[0]
        applied = clamped(asked, 0.0, supply)
        if wanted <= 0.0:
            applied = 0.0
        rate = p.integral_gain * (error + (applied - asked) * p.by_gain)
    half = 0.5 * (applied * p.voltage_gain - p.torque_constant * turning) * p.conductance
    current = 2.0 * half
    if p.regenerative == 0:
        rest = magnitude(half)
        if p.voltage_offset > 0.0:
            rest = sqrt(half * half + applied * p.voltage_offset * p.conductance)
        current = half + rest
    if current > p.max_current or current < -p.max_current:
        current = clamped(current, -p.max_current, p.max_current)
        applied = clamped(p.resistance * current + p.torque_constant * turning, 0.0, applied)
    friction = p.coulomb_friction * clamped(turning * p.by_creep, -1.0, 1.0) + p.viscous_friction * turning
    torque = p.torque_constant * current - friction
    return sense * torque, Vec3(sense * rate, 0.0, 0.0), applied * current


@dataclass(frozen=True, kw_only=True)
class ElectricMotor(DrivenMotor):
    """Brushless or DC motor with its speed controller (Hector 2012, eq. 4 to 6), without inductance.

    With the applied voltage U, the current I and the speed w

        I = (beta U - K w) / R,   M = K I - K I_0 sign(w) - d w,   J w' = M - Q

    where Q is the torque of the air and J the inertia of motor and propeller. Unless `regenerative`, the
    speed controller lets no current flow back: with t = (beta U - K w) / (2 R) the current is
    t + sqrt(t^2 + U alpha / R), which for alpha = 0 is the larger of (beta U - K w) / R and 0, and else the
    empirical form of the parameter files published with Hector. The power drawn is U I.

    `speed_control: open_loop` applies command / `max_speed` times the supply's voltage, as a throttle does:
    the speed reached depends on load and voltage. `closed_loop` applies K c + k_p (c - w) + i for a command
    c, limited to 0 and the supply's voltage; the integral i' = k_i (c - w) + (k_i / k_p) (U - U_asked) does
    not wind up at these limits (back-calculation: Astrom and Hagglund, PID Controllers, 1995, sec. 3.5).
    """

    law: ClassVar[Any] = staticmethod(electric_torque)

    torque_constant: float | None = None
    """Torque by current K [N m/A], which is also the back-EMF by speed [V s/rad]."""
    kv: float | None = None
    """No-load speed by voltage, in place of `torque_constant` [rpm/V]."""
    resistance: float
    """Resistance R of windings, leads and speed controller [ohm]."""
    no_load_current: float = 0.0
    """Current I_0 that overcomes the Coulomb friction [A]."""
    viscous_friction: float = 0.0
    """Friction by speed d [N m s/rad]."""
    nominal_voltage: float
    """Voltage of the supply of a vehicle without a battery [V]."""
    speed_control: Literal["open_loop", "closed_loop"] = "open_loop"
    """Throttle or controller of the speed."""
    proportional_gain: float | None = None
    """Gain k_p of the closed loop [V s/rad]; required there."""
    integral_gain: float = 0.0
    """Gain k_i of the closed loop [V/rad]."""
    max_current: float = math.inf
    """Largest current of the speed controller [A]."""
    regenerative: bool = False
    """Whether the speed controller brakes with currents below 0."""
    voltage_gain: float = 1.0
    """Factor beta of the applied voltage."""
    voltage_offset: float = 0.0
    """Voltage alpha of the empirical current [V]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            (self.torque_constant is None) != (self.kv is None),
            "torque_constant",
            self.torque_constant,
            "exactly one of torque_constant and kv must be given",
        )
        given = {"torque_constant": "N m/A", "kv": "rpm/V", "proportional_gain": "V s/rad"}
        for name, unit in given.items():
            value = getattr(self, name)
            require(value is None or 0 < value < math.inf, name, value, f"must be above 0 {unit}")
        positive = {"resistance": "ohm", "nominal_voltage": "V", "voltage_gain": ""}
        for name, unit in positive.items():
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit}".strip())
        least = {
            "no_load_current": "A",
            "viscous_friction": "N m s/rad",
            "integral_gain": "V/rad",
            "voltage_offset": "V",
        }
        for name, unit in least.items():
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, f"must not be below 0 {unit}")
        require(self.max_current > 0, "max_current", self.max_current, "must be above 0 A")
        forms = ("open_loop", "closed_loop")
        require(self.speed_control in forms, "speed_control", self.speed_control, f"must be {forms}")
        closed = self.speed_control == "closed_loop"
        require(
            closed or math.isfinite(self.max_speed),
            "max_speed",
            self.max_speed,
            "must be finite for an open loop",
            "give the speed that the loaded rotor reaches at full throttle",
        )
        require(
            not closed or self.proportional_gain is not None,
            "proportional_gain",
            self.proportional_gain,
            "must be given for a closed loop",
        )
        require(
            not (self.regenerative and self.voltage_offset),
            "voltage_offset",
            self.voltage_offset,
            "must be 0 for a regenerative controller, whose current has no such term",
        )

    @property
    def constant(self) -> float:
        """Torque by current K [N m/A]."""
        if self.torque_constant is not None:
            return self.torque_constant
        assert self.kv is not None
        return 30.0 / (math.pi * self.kv)

    def parameters(self) -> ElectricParameters:
        """Return the parameters of the law."""
        constant = self.constant
        return ElectricParameters(
            torque_constant=constant,
            resistance=self.resistance,
            conductance=1.0 / self.resistance,
            coulomb_friction=constant * self.no_load_current,
            viscous_friction=self.viscous_friction,
            by_creep=constant / (_CREEP * self.nominal_voltage),
            nominal_voltage=self.nominal_voltage,
            full_speed=self.max_speed if math.isfinite(self.max_speed) else 1.0,
            closed_loop=int(self.speed_control == "closed_loop"),
            proportional_gain=self.proportional_gain or 1.0,
            integral_gain=self.integral_gain,
            by_gain=1.0 / (self.proportional_gain or 1.0),
            max_current=self.max_current,
            regenerative=int(self.regenerative),
            voltage_gain=self.voltage_gain,
            voltage_offset=self.voltage_offset,
        )

    @property
    def has_state(self) -> bool:
        """True with an integral part of the speed controller."""
        return self.speed_control == "closed_loop" and self.integral_gain > 0

    def time_constant(self, speed: float, torque: float, inertia: float) -> float:
        """Return the time constant of small changes of the rotor speed [s].

        J w' = M - Q is linearised about the steady speed, with a torque of the air that grows with w^2. A
        controller of the speed is taken without its integral, and limits of voltage and current as far off.
        """
        p = self.parameters()
        current, applied = self._steady(speed, torque)
        stiffness = p.torque_constant * current
        if p.closed_loop == 1:
            stiffness += p.proportional_gain * (p.voltage_gain * current + p.voltage_offset)
        rest = 2.0 * p.resistance * current - (p.voltage_gain * applied - p.torque_constant * speed)
        damping = p.torque_constant * stiffness / rest + p.viscous_friction + 2.0 * torque / speed
        return inertia / damping

    def electrical_power(self, speed: float, torque: float) -> float:
        """Return voltage times current at a steady speed [W]."""
        current, applied = self._steady(speed, torque)
        return current * applied

    def _steady(self, speed: float, torque: float) -> tuple[float, float]:
        """Return current [A] and applied voltage [V] that hold a speed against a torque of the air."""
        p = self.parameters()
        current = (torque + p.coulomb_friction + p.viscous_friction * speed) / p.torque_constant
        current = max(current, _LEAST_CURRENT)
        needed = p.resistance * current + p.torque_constant * speed
        return current, current * needed / (p.voltage_offset + p.voltage_gain * current)

    def fastest_rate(self, inertia: float) -> float:
        """Return the rate of speed by back-EMF, controller and friction [1/s]."""
        p = self.parameters()
        stiffness = p.torque_constant
        if p.closed_loop == 1:
            stiffness += p.voltage_gain * p.proportional_gain
        slope = p.torque_constant * stiffness / p.resistance + p.viscous_friction
        return (slope + p.coulomb_friction * p.by_creep) / inertia
