"""Motors: from a commanded to an actual rotor speed."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from pegasus.arrays import Array, namespace
from pegasus.components import require


def first_order_response(
    speed: Array, command: Array, dt: float, *, time_constant_up: float, time_constant_down: float
) -> Array:
    """Return the speed after dt of a first-order lag, w' = c + (w - c) exp(-dt / tau), shape (N, R).

    Exact for a command held over dt, whatever the size of dt.

    Args:
        speed: Speed at the start [rad/s], shape (N, R).
        command: Commanded speed, held over dt [rad/s], shape (N, R).
        dt: Length of the step [s].
        time_constant_up: Time constant while the speed's magnitude rises [s].
        time_constant_down: Time constant while it falls [s].
    """
    up, down = math.exp(-dt / time_constant_up), math.exp(-dt / time_constant_down)
    error = speed - command
    if up == down:
        return command + error * up
    xp = namespace(speed)
    rising = xp.abs(command) > xp.abs(speed)
    response: Array = command + xp.where(rising, error * up, error * down)
    return response


@dataclass(frozen=True, kw_only=True)
class Motor(ABC):
    """Base of a motor with its speed controller.

    A user's own motor is a frozen dataclass that derives from this one and implements `step`.
    """

    max_speed: float = math.inf
    """Largest rotor speed [rad/s]; commands beyond it are cut."""
    min_speed: float = 0.0
    """Smallest rotor speed [rad/s]; negative for rotors that may turn backwards."""

    def __post_init__(self) -> None:
        require(self.max_speed > 0, "max_speed", self.max_speed, "must be above 0 rad/s")
        require(self.min_speed < self.max_speed, "min_speed", self.min_speed, "must be below max_speed")

    @abstractmethod
    def step(self, speed: Array, command: Array, dt: float) -> Array:
        """Return the rotor speed after dt [rad/s], shape (N, R).

        Args:
            speed: Rotor speed at the start of the step [rad/s], shape (N, R).
            command: Commanded speed within the motor's limits, held over the step [rad/s], shape (N, R).
            dt: Length of the step [s].
        """

    def mean_speed(self, start: Array, end: Array) -> Array:
        """Return the speed that stands for a whole step when its thrust is computed [rad/s], shape (N, R).

        The mean of both ends; second-order accurate for any motor with a lag.

        Args:
            start: Speed before `step` [rad/s], shape (N, R).
            end: Speed that `step` returned [rad/s], shape (N, R).
        """
        return 0.5 * (start + end)


@dataclass(frozen=True, kw_only=True)
class IdealMotor(Motor):
    """Motor without lag (Pegasus paper, sec. III-C)."""

    def step(self, speed: Array, command: Array, dt: float) -> Array:
        """Return the command."""
        return command

    def mean_speed(self, start: Array, end: Array) -> Array:
        """Return the command: it acts from the start of the step."""
        return end


@dataclass(frozen=True, kw_only=True)
class FirstOrderMotor(Motor):
    """Motor with a first-order lag, and its own time constants for rising and falling speed."""

    time_constant_up: float
    """Time constant while the speed rises [s]."""
    time_constant_down: float
    """Time constant while the speed falls [s]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("time_constant_up", "time_constant_down"):
            value = getattr(self, name)
            require(value > 0, name, value, "must be above 0 s", "use model ideal for a motor without lag")

    def step(self, speed: Array, command: Array, dt: float) -> Array:
        """Return the exact response to the held command; see `first_order_response`."""
        return first_order_response(
            speed,
            command,
            dt,
            time_constant_up=self.time_constant_up,
            time_constant_down=self.time_constant_down,
        )
