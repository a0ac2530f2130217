"""A small autopilot for the Iris that flies a mission from HIL messages alone.

NED and FRD as on the wire. Plain floats throughout: at this size they are several times faster than arrays.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from px4_observer import GRAVITY, Observer, Vector

AT_REST = (0.0,) * 16
IDLE = (0.001,) * 4 + (0.0,) * 12
"""What PX4 gives while it is armed on the ground."""

# Gains of position, velocity, its integral, attitude (roll and pitch, yaw), rates (roll and pitch, yaw).
_POSITION, _VELOCITY, _INTEGRAL = 1.1, 2.6, 0.9
_ATTITUDE, _YAW, _RATES, _YAW_RATE = 7.0, 3.0, 25.0, 10.0
_LARGEST_ACCELERATION, _LARGEST_INTEGRAL, _LARGEST_ERROR = 4.0, 3.0, 2.0  # [m/s^2], [m/s^2], [m/s]

# The Iris: mass, inertia, (forward, right, yaw torque per thrust) of each rotor, thrust constant, and
# rotor speed = scale * output + offset.
_MASS, _INERTIA = 1.5, (0.029125, 0.029125, 0.055225)
_RATIO = 0.016334
_ROTORS = (
    (0.138, 0.207, _RATIO),
    (-0.125, -0.219, _RATIO),
    (0.138, -0.203, -_RATIO),
    (-0.124, 0.222, -_RATIO),
)
_THRUST_CONSTANT, _SPEED_SCALE, _SPEED_OFFSET = 1.58860e-5, 653.0, 65.0

_SPEED, _ACCELERATION, _LANDING_SPEED = 1.5, 1.0, 0.7  # [m/s], [m/s^2], [m/s]
_ZERO = (0.0, 0.0, 0.0)
_IDLE_TIME, _SETTLED_TIME, _LANDED_TIME = 0.5, 0.5, 0.5  # [s]


class Controller:
    """Position, velocity, attitude and rate loops in a cascade, and the mixer of the Iris."""

    def __init__(self) -> None:
        self._mixer = np.linalg.inv([[1.0, -y, x, k] for x, y, k in _ROTORS]).T.tolist()
        self.reset()

    def reset(self) -> None:
        """Reset the integrals."""
        self._integral = [0.0, 0.0, 0.0]
        self.thrust = GRAVITY
        """Thrust that was last asked for, over the mass [m/s^2]."""

    def outputs(
        self,
        observer: Observer,
        position: tuple[float, float, float | None],
        velocity: Vector,
        acceleration: Vector,
        yaw: float,
        dt: float,
    ) -> list[float]:
        """Return the outputs of the four motors.

        Args:
            observer: Observer of the state.
            position: Reference position [m]; with None for an axis, only its velocity is controlled.
            velocity: Reference velocity [m/s].
            acceleration: Reference acceleration [m/s^2].
            yaw: Heading [rad].
            dt: Time since the last call [s].
        """
        wanted = []
        for axis in range(3):
            at, target = observer.position[axis], position[axis]
            speed = velocity[axis] + (0.0 if target is None else _POSITION * (target - at))
            error = max(-_LARGEST_ERROR, min(_LARGEST_ERROR, speed - observer.velocity[axis]))
            integral = self._integral[axis] + _INTEGRAL * error * dt
            self._integral[axis] = max(-_LARGEST_INTEGRAL, min(_LARGEST_INTEGRAL, integral))
            change = acceleration[axis] + _VELOCITY * error + self._integral[axis]
            wanted.append(max(-_LARGEST_ACCELERATION, min(_LARGEST_ACCELERATION, change)))
        # The z axis points down, opposite to the thrust.
        zx, zy, zz = -wanted[0], -wanted[1], GRAVITY - wanted[2]
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = observer.rotation
        self.thrust = zx * r02 + zy * r12 + zz * r22
        size = 1 / math.sqrt(zx * zx + zy * zy + zz * zz)
        zx, zy, zz = zx * size, zy * size, zz * size
        cosine, sine = math.cos(yaw), math.sin(yaw)
        yx, yy, yz = -zz * sine, zz * cosine, zx * sine - zy * cosine
        size = 1 / math.sqrt(yx * yx + yy * yy + yz * yz)
        yx, yy, yz = yx * size, yy * size, yz * size
        xx, xy, xz = yy * zz - yz * zy, yz * zx - yx * zz, yx * zy - yy * zx
        # Half the sum of (present axis) x (wanted axis) is the sine of the rotation angle, about its axis.
        ex = r10 * xz - r20 * xy + r11 * yz - r21 * yy + r12 * zz - r22 * zy
        ey = r20 * xx - r00 * xz + r21 * yx - r01 * yz + r22 * zx - r02 * zz
        ez = r00 * xy - r10 * xx + r01 * yy - r11 * yx + r02 * zy - r12 * zx
        p, q, r = observer.rates
        jx, jy, jz = _INERTIA
        wrench = (
            self.thrust * _MASS,
            jx * _RATES * (_ATTITUDE * 0.5 * (r00 * ex + r10 * ey + r20 * ez) - p),
            jy * _RATES * (_ATTITUDE * 0.5 * (r01 * ex + r11 * ey + r21 * ez) - q),
            jz * _YAW_RATE * (_YAW * 0.5 * (r02 * ex + r12 * ey + r22 * ez) - r),
        )
        motors = []
        for a, b, c, d in self._mixer:
            thrust = a * wrench[0] + b * wrench[1] + c * wrench[2] + d * wrench[3]
            speed = math.sqrt(thrust / _THRUST_CONSTANT) if thrust > 0 else 0.0
            motors.append(max(0.0, min(1.0, (speed - _SPEED_OFFSET) / _SPEED_SCALE)))
        return motors


class Pilot:
    """Observer, controller and mission: one answer to every sensor message.

    Args:
        mission: `none` (stay disarmed), `hover` (take off and stay), `square` (take off, fly a square to the
            north and east, land, disarm).
        report: Called with the name of each phase and its time [s].
        ready_time: Time from the first sensor message after which it arms, if the sensors are right [s].
        height: Height above the start [m].
        side: Side of the square [m].
        hover_time: Time between `HOVER` and the square [s].
        declination: Declination of the magnetic field [rad].
    """

    def __init__(
        self,
        mission: str,
        report: Callable[[str, float], None],
        *,
        ready_time: float = 6.0,
        height: float = 5.0,
        side: float = 5.0,
        hover_time: float = 5.0,
        declination: float = 0.0,
    ) -> None:
        self._report, self._ready_time = report, ready_time
        self._height, self._side, self._hover_time = height, side, hover_time
        self._observer, self._controller = Observer(declination), Controller()
        self._script = {"none": self._stay, "hover": self._hover, "square": self._square}[mission]()
        self.over = mission != "square"
        """Whether nothing of the mission is left to do."""
        self.armed = False
        self._answer: tuple[float, ...] = AT_REST
        self._t = self._dt = 0.0
        self._began: float | None = None
        self._fix_at = -math.inf
        self._yaw = 0.0
        self._target: Vector = _ZERO
        self._speed = 0.0

    @property
    def position(self) -> Vector:
        """Estimated position: north, east, down of the place of arming [m]."""
        return self._observer.position

    def gps(self, message: Any) -> None:
        """Process a HIL_GPS."""
        if message.fix_type >= 3:
            self._fix_at = self._t
            self._observer.locate(message, self._t)

    def sensor(self, message: Any) -> tuple[float, ...]:
        """Process a HIL_SENSOR and return the sixteen outputs that answer it."""
        t = message.time_usec * 1e-6
        if self._began is None:
            self._began = self._t = t
        self._dt, self._t = min(t - self._t, 0.05), t
        if self._observer.aligned:
            self._observer.fly(message, t, self._dt)
        else:
            self._observer.stand(message, self._dt)
        next(self._script)
        return self._answer

    def unfit_sensors(self) -> list[str]:
        """Return the names of the sensors that are missing or implausible for a vehicle at rest."""
        seen = self._observer
        x, y, z = seen.accel
        gyro = seen.gyro or (math.inf,) * 3
        right = {
            "accel": math.hypot(x, y) < 2.0 and abs(z + GRAVITY) < 1.0,
            "gyro": max(map(abs, gyro)) < 0.1,
            "mag": seen.mag is not None and 0.15 < math.hypot(*seen.mag) < 0.75,
            "gps": seen.fix is not None and self._t - self._fix_at < 1.0,
            "baro": seen.baro is not None,
        }
        if right["baro"] and right["gps"]:
            right["baro"] = abs(seen.baro - seen.fix[2]) < 100.0
        return [name for name, fine in right.items() if not fine]

    def _stay(self) -> Iterator[None]:
        while True:
            yield

    def _hover(self) -> Iterator[None]:
        yield from self._take_off()
        while True:
            self._hold()
            yield

    def _square(self) -> Iterator[None]:
        yield from self._take_off()
        until = self._t + self._hover_time
        while self._t < until:
            self._hold()
            yield
        self._report("SQUARE", self._t)
        for north, east in ((1, 0), (1, 1), (0, 1), (0, 0)):
            yield from self._go((north * self._side, east * self._side, -self._height))
        yield from self._land()
        self.over = True
        yield from self._stay()

    def _take_off(self) -> Iterator[None]:
        while self._t < self._began + self._ready_time:
            yield
        if missing := self.unfit_sensors():
            self._report(f"DENIED {','.join(missing)}", self._t)
            while self.unfit_sensors():
                yield
        self._observer.align(self._t)
        self._yaw = self._observer.yaw()
        self.armed, self._answer = True, IDLE
        self._report("ARMED", self._t)
        yield from self._wait(_IDLE_TIME)
        self._report("TAKEOFF", self._t)
        north, east, down = self._target = self.position
        yield from self._go((north, east, down - self._height))
        self._report("HOVER", self._t)

    def _land(self) -> Iterator[None]:
        self._report("LAND", self._t)
        north, east, _ = self._target
        down_for = 0.0
        while down_for < _LANDED_TIME:
            # Slower near the ground, but fast enough to land in spite of a height error.
            speed = max(_LANDING_SPEED, min(_SPEED, -0.7 * self.position[2]))
            self._fly((north, east, None), (0.0, 0.0, speed))
            # On the ground it does not sink, however low the thrust.
            on_ground = self._controller.thrust < 0.7 * GRAVITY and abs(self._observer.velocity[2]) < 0.3
            down_for = down_for + self._dt if on_ground else 0.0
            yield
        self._report("LANDED", self._t)
        self._answer = IDLE
        yield from self._wait(_IDLE_TIME)
        self.armed, self._answer = False, AT_REST
        self._report("DISARMED", self._t)

    def _wait(self, duration: float) -> Iterator[None]:
        until = self._t + duration
        while self._t < until:
            yield

    def _go(self, goal: Vector) -> Iterator[None]:
        """Move the target to a position and wait until the vehicle has settled there."""
        settled = 0.0
        while settled < _SETTLED_TIME:
            way = [b - a for a, b in zip(self._target, goal, strict=True)]
            distance = math.hypot(*way)
            speed = min(
                self._speed + _ACCELERATION * self._dt, _SPEED, math.sqrt(2 * _ACCELERATION * distance)
            )
            if distance <= speed * self._dt or distance < 1e-3:
                self._target, self._speed = goal, 0.0
                self._hold()
            else:
                change = (speed - self._speed) / max(self._dt, 1e-6)
                self._speed = speed
                velocity = tuple(speed / distance * part for part in way)
                acceleration = tuple(change / distance * part for part in way)
                self._target = tuple(a + v * self._dt for a, v in zip(self._target, velocity, strict=True))
                self._fly(self._target, velocity, acceleration)
            near = math.dist(self.position, goal) < 0.1 and math.hypot(*self._observer.velocity) < 0.1
            settled = settled + self._dt if near else 0.0
            yield

    def _hold(self) -> None:
        self._fly(self._target, _ZERO)

    def _fly(
        self, position: tuple[float, float, float | None], velocity: Vector, acceleration: Vector = _ZERO
    ) -> None:
        motors = self._controller.outputs(
            self._observer, position, velocity, acceleration, self._yaw, self._dt
        )
        self._answer = (*motors, *AT_REST[4:])
