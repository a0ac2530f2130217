"""Motor models: commanded to actual rotor speed, or to the torque on the rotor."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from pegasus.base.components import require
from pegasus.base.step_math import Real, Vec3, exp, magnitude, maximum

_SLOWEST = 0.01
"""Least rate at which a speed follows its command [1/s]."""


@dataclass(frozen=True, kw_only=True)
class Motor:
    """Base of a motor with its speed controller.

    A custom motor is a frozen dataclass derived from this one, with a `law` that is compiled with the step.
    """

    law: ClassVar[Callable[..., Any] | None] = None
    """Step function (parameters, speed, state, command, voltage, dt) -> (speed, state) of one rotor, with the
    fields of this class as parameters. The speed is in [rad/s]; the state is three numbers of the motor's
    own, 0 at rest; the command is held over dt; the voltage is that of the battery under load, 0 without
    one."""

    max_speed: float = math.inf
    """Largest rotor speed [rad/s]; larger commands are limited."""
    min_speed: float = 0.0
    """Smallest rotor speed [rad/s]; negative for reversible rotors."""

    def __post_init__(self) -> None:
        require(self.max_speed > 0, "max_speed", self.max_speed, "must be above 0 rad/s")
        require(self.min_speed < self.max_speed, "min_speed", self.min_speed, "must be below max_speed")

    def time_constant(self, speed: float, torque: float, inertia: float) -> float | None:
        """Return the time constant of small changes of the rotor speed [s]; None if it is not known.

        Args:
            speed: Steady rotor speed [rad/s].
            torque: Torque of the air at that speed [N m].
            inertia: Inertia of motor and propeller [kg m^2].
        """
        return None

    def electrical_power(self, speed: float, torque: float) -> float | None:
        """Return the power drawn from the supply [W]; None for the shaft power by the battery's efficiency.

        Args:
            speed: Steady rotor speed [rad/s].
            torque: Torque of the air at that speed [N m].
        """
        return None


def ideal_motor(
    p: "IdealMotor", speed: Real, state: Vec3, command: Real, voltage: Real, dt: Real
) -> tuple[Real, Vec3]:
    """Return the command (Pegasus paper, sec. III-C)."""
    return command, state


def first_order_motor(
    p: "FirstOrderMotor", speed: Real, state: Vec3, command: Real, voltage: Real, dt: Real
) -> tuple[Real, Vec3]:
    """Return the speed after dt of a first-order lag, w' = c + (w - c) exp(-dt / tau).

    Exact for a command held over dt, whatever the size of dt.
    """
    # Both exponentials are the same for all rows.
    falling = exp(-dt / p.time_constant_down)
    rising = exp(-dt / p.time_constant_up)
    left = falling
    if magnitude(command) > magnitude(speed):
        left = rising
    return command + (speed - command) * left, state


@dataclass(frozen=True, kw_only=True)
class IdealMotor(Motor):
    """Motor without lag (Pegasus paper, sec. III-C)."""

    law: ClassVar[Any] = staticmethod(ideal_motor)


@dataclass(frozen=True, kw_only=True)
class FirstOrderMotor(Motor):
    """Motor with a first-order lag and separate time constants for rising and falling speed."""

    law: ClassVar[Any] = staticmethod(first_order_motor)

    time_constant_up: float
    """Time constant while the magnitude of the speed rises [s]."""
    time_constant_down: float
    """Time constant while it falls [s]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("time_constant_up", "time_constant_down"):
            value = getattr(self, name)
            require(value > 0, name, value, "must be above 0 s", "use model ideal for a motor without lag")

    def time_constant(self, speed: float, torque: float, inertia: float) -> float:
        """Return the larger of `time_constant_up` and `time_constant_down` [s]."""
        return max(self.time_constant_up, self.time_constant_down)


def quadratic_lag_motor(
    p: "QuadraticLagMotor", speed: Real, state: Vec3, command: Real, voltage: Real, dt: Real
) -> tuple[Real, Vec3]:
    """Return the speed after dt of w' = a (c - w) + b (c^2 - w^2), exact for a command c held over dt.

    The gap y = c - w follows y' = -r y + b y^2 with r = a + 2 b c, a logistic equation.
    """
    linear, quadratic = p.fall_linear, p.fall_quadratic
    if command > speed:
        linear, quadratic = p.rise_linear, p.rise_quadratic
    rate = maximum(linear + 2.0 * quadratic * command, _SLOWEST)
    left = exp(-rate * dt)
    gap = command - speed
    return command - gap * left / (1.0 - quadratic * gap * (1.0 - left) / rate), state


@dataclass(frozen=True, kw_only=True)
class QuadraticLagMotor(Motor):
    """Motor whose speed follows its command by a difference of first and second powers.

    w' = a (c - w) + b (c^2 - w^2), with constants for rising and falling speed: the motor of drone-models
    (University of Toronto), `rotor_dyn_coef`.
    """

    law: ClassVar[Any] = staticmethod(quadratic_lag_motor)

    rise_linear: float
    """a while the speed rises [1/s]."""
    rise_quadratic: float = 0.0
    """b while it rises [1/rad]."""
    fall_linear: float
    """a while it falls [1/s]."""
    fall_quadratic: float = 0.0
    """b while it falls [1/rad]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.min_speed >= 0, "min_speed", self.min_speed, "must not be below 0: it turns one way")
        for way in ("rise", "fall"):
            linear, quadratic = getattr(self, f"{way}_linear"), getattr(self, f"{way}_quadratic")
            for name, value in ((f"{way}_linear", linear), (f"{way}_quadratic", quadratic)):
                require(0 <= value < math.inf, name, value, "must be at least 0 and finite")
            require(linear + quadratic > 0, f"{way}_linear", linear, f"or {way}_quadratic must be above 0")

    def time_constant(self, speed: float, torque: float, inertia: float) -> float:
        """Return the larger time constant of small changes of the speed [s]."""
        rates = (
            self.rise_linear + 2 * self.rise_quadratic * speed,
            self.fall_linear + 2 * self.fall_quadratic * speed,
        )
        return 1.0 / max(min(rates), _SLOWEST)


@dataclass(frozen=True, kw_only=True)
class DrivenMotor(Motor):
    """Base of a motor that gives a torque: the rotor's speed is integrated together with the body.

    A custom one is a frozen dataclass derived from this one, with a `law` that is compiled with the step. The
    voltage is that of the battery under load, 0 without one.
    """

    law: ClassVar[Callable[..., Any] | None] = None
    """Step function (parameters, speed, state, command, voltage) -> (torque [N m], rate of the state,
    electrical power [W]) of one rotor; the torque counts in its sense of rotation."""

    inertia: float = 0.0
    """Moment of inertia of the motor's rotor, in addition to that of the propeller [kg m^2]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 <= self.inertia < math.inf, "inertia", self.inertia, "must not be below 0 kg m^2")

    def parameters(self) -> Any:
        """Return the dataclass of numbers that the law takes; by default this one."""
        return self

    @property
    def has_state(self) -> bool:
        """False if the law neither reads nor changes its state, whose integration is then left out."""
        return True

    def fastest_rate(self, inertia: float) -> float:
        """Return the largest rate at which the law brings the speed to its goal [1/s]; 0 if not known.

        Args:
            inertia: Inertia of motor and propeller [kg m^2].
        """
        return 0.0
