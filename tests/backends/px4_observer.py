"""State estimator of the autopilot that the tests fly with: pose and velocity from HIL messages alone.

NED and FRD as on the wire, quaternions w first. Plain floats throughout: at this size they are several times
faster than arrays. Only the fields of the messages are used, so any object that has them will do.
"""

import math
from collections import deque
from typing import Any

MAG, BARO = 0x1C0, 0x1A00
"""Bits of `fields_updated`."""
GRAVITY = 9.80665
"""Standard gravity [m/s^2]."""

_EARTH_RADIUS = 6_371_000.0  # [m]
_STANDING_TIME = 0.4  # Time constant of the averages for alignment [s].
_GPS_DELAY = 0.1  # [s]

# Gains of the observer. Each chain velocity - tilt (or vertical bias) - gyro bias follows GPS velocity with
# about 0.8 rad/s, where the default noise of IMU and GPS balance.
_POSITION_BY_GPS, _VELOCITY_BY_GPS, _TILT_BY_GPS, _BIAS_BY_GPS = 1.0, 1.8, 0.8, 0.08
_HEIGHT_BY_BARO, _OFFSET_BY_BARO = 0.03, 0.3
_YAW_BY_MAG, _BIAS_BY_MAG = 0.6, 0.06

Vector = tuple[float, float, float]


class Observer:
    """Inertial observer of attitude, velocity and position with constant gains.

    At rest it averages the sensors; `align` initialises it from the averages. In flight it integrates the
    gyroscope and the accelerometer, and GPS, magnetometer and barometer correct it: a velocity error also
    corrects the tilt, and a lasting tilt error the gyroscope bias.
    """

    def __init__(self, declination: float) -> None:
        self.declination = declination
        self.aligned = False
        self.quaternion = (1.0, 0.0, 0.0, 0.0)
        self.rotation = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
        self.position: Vector = (0.0, 0.0, 0.0)
        self.velocity: Vector = (0.0, 0.0, 0.0)
        self.rates: Vector = (0.0, 0.0, 0.0)
        self.gyro: Vector | None = None
        self.accel: Vector = (0.0, 0.0, 0.0)
        self.mag: Vector | None = None
        self.baro: float | None = None
        self.fix: tuple[float, float, float] | None = None
        self._gyro_bias: Vector = (0.0, 0.0, 0.0)
        self._down_bias = self._baro_offset = self._down_home = 0.0
        self._home = (0.0, 0.0, 0.0)
        self._history: deque[tuple[float, Vector, Vector]] = deque(maxlen=256)
        self._last_mag = self._last_fix = 0.0

    def stand(self, message: Any, dt: float) -> None:
        """Average a sensor message while the vehicle is at rest."""
        share = min(dt / _STANDING_TIME, 1.0)
        gyro = message.xgyro, message.ygyro, message.zgyro
        accel = message.xacc, message.yacc, message.zacc
        if self.gyro is None:
            self.gyro, self.accel = gyro, accel
        self.gyro, self.accel = _mean(self.gyro, gyro, share), _mean(self.accel, accel, share)
        if message.fields_updated & MAG == MAG:
            mag = message.xmag, message.ymag, message.zmag
            self.mag = mag if self.mag is None else _mean(self.mag, mag, min(5 * share, 1.0))
        if message.fields_updated & BARO == BARO:
            height = message.pressure_alt
            self.baro = (
                height if self.baro is None else self.baro + min(5 * share, 1.0) * (height - self.baro)
            )

    def align(self, t: float) -> None:
        """Initialise from the averages: level by the accelerometer, north by the compass, home by GPS."""
        x, y, z = self.accel
        roll, pitch = math.atan2(-y, -z), math.atan2(x, math.hypot(y, z))
        sr, cr, sp, cp = math.sin(roll), math.cos(roll), math.sin(pitch), math.cos(pitch)
        mx, my, mz = self.mag
        forward, right = mx * cp + (my * sr + mz * cr) * sp, my * cr - mz * sr
        yaw = math.atan2(-right, forward) + self.declination
        sr, cr, sp, cp = (f(angle / 2) for angle in (roll, pitch) for f in (math.sin, math.cos))
        sy, cy = math.sin(yaw / 2), math.cos(yaw / 2)
        self.quaternion = (
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        )
        self._turn(0.0, 0.0, 0.0)
        self._gyro_bias, self._down_bias = self.gyro, GRAVITY - math.sqrt(x * x + y * y + z * z)
        self._home, self._baro_offset = self.fix, self.baro
        self.position = self.velocity = (0.0, 0.0, 0.0)
        self._last_mag = self._last_fix = t
        self._history.clear()
        self.aligned = True

    def fly(self, message: Any, t: float, dt: float) -> None:
        """Update by a sensor message in flight."""
        bx, by, bz = self._gyro_bias
        p, q, r = self.rates = message.xgyro - bx, message.ygyro - by, message.zgyro - bz
        self._turn(p * dt, q * dt, r * dt)
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = self.rotation
        x, y, z = message.xacc, message.yacc, message.zacc
        an, ae = r00 * x + r01 * y + r02 * z, r10 * x + r11 * y + r12 * z
        ad = r20 * x + r21 * y + r22 * z + GRAVITY - self._down_bias
        n, e, d = self.position
        vn, ve, vd = self.velocity
        half = 0.5 * dt * dt
        self.position = n + vn * dt + an * half, e + ve * dt + ae * half, d + vd * dt + ad * half
        self.velocity = vn + an * dt, ve + ae * dt, vd + ad * dt
        self._history.append((t, self.position, self.velocity))
        fields = message.fields_updated
        if fields & MAG == MAG:
            self._correct_yaw(message, min(t - self._last_mag, 0.2))
            self._last_mag = t
        if fields & BARO == BARO:
            n, e, d = self.position
            error = message.pressure_alt - self._baro_offset + d
            self._baro_offset += _OFFSET_BY_BARO * 0.02 * error
            self.position = n, e, d - _HEIGHT_BY_BARO * 0.02 * error

    def locate(self, message: Any, t: float) -> None:
        """Update by a GPS message with a full fix."""
        fix = math.radians(message.lat / 1e7), math.radians(message.lon / 1e7), message.alt / 1e3
        if not self.aligned:
            old = self.fix or fix
            self.fix = _mean(old, fix, 0.2)
            return
        dt, self._last_fix = min(t - self._last_fix, 0.3), t
        history = self._history
        while len(history) > 1 and history[1][0] <= t - _GPS_DELAY:
            history.popleft()
        if not history:
            return
        _, (n, e, d), (vn, ve, vd) = history[0]
        latitude, longitude, altitude = self._home
        n = (fix[0] - latitude) * _EARTH_RADIUS - n
        e = (fix[1] - longitude) * _EARTH_RADIUS * math.cos(latitude) - e
        d = altitude - fix[2] - d
        vn, ve, vd = message.vn / 100 - vn, message.ve / 100 - ve, message.vd / 100 - vd
        k = _POSITION_BY_GPS * dt
        pn, pe, pd = self.position
        self.position = pn + k * n, pe + k * e, pd + k * d
        k = _VELOCITY_BY_GPS * dt
        pn, pe, pd = self.velocity
        self.velocity = pn + k * vn, pe + k * ve, pd + k * vd
        self._down_bias -= _TILT_BY_GPS * dt * vd
        # A tilt by (a, b) about north and east lets gravity accelerate it by (-b, a) g.
        k = dt / GRAVITY
        self._tilt(_TILT_BY_GPS * k * ve, -_TILT_BY_GPS * k * vn, 0.0)
        self._add_bias(_BIAS_BY_GPS * k * ve, -_BIAS_BY_GPS * k * vn, 0.0)

    def yaw(self) -> float:
        """Return the heading, clockwise from north [rad]."""
        return math.atan2(self.rotation[3], self.rotation[0])

    def _correct_yaw(self, message: Any, dt: float) -> None:
        x, y, z = message.xmag, message.ymag, message.zmag
        r = self.rotation
        north, east = r[0] * x + r[1] * y + r[2] * z, r[3] * x + r[4] * y + r[5] * z
        error = math.remainder(self.declination - math.atan2(east, north), 2 * math.pi)
        self._tilt(0.0, 0.0, _YAW_BY_MAG * dt * error)
        self._add_bias(0.0, 0.0, _BIAS_BY_MAG * dt * error)

    def _tilt(self, x: float, y: float, z: float) -> None:
        """Rotate the attitude by a small angle about the world axes."""
        self._turn(*self._in_body(x, y, z))

    def _add_bias(self, x: float, y: float, z: float) -> None:
        bx, by, bz = self._gyro_bias
        x, y, z = self._in_body(x, y, z)
        self._gyro_bias = bx - x, by - y, bz - z

    def _in_body(self, x: float, y: float, z: float) -> Vector:
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = self.rotation
        return r00 * x + r10 * y + r20 * z, r01 * x + r11 * y + r21 * z, r02 * x + r12 * y + r22 * z

    def _turn(self, x: float, y: float, z: float) -> None:
        """Rotate the attitude by a small angle about the body axes."""
        w, i, j, k = self.quaternion
        x, y, z = x / 2, y / 2, z / 2
        scale = 1 - (x * x + y * y + z * z) / 2
        w, i, j, k = (
            scale * w - i * x - j * y - k * z,
            scale * i + w * x + j * z - k * y,
            scale * j + w * y + k * x - i * z,
            scale * k + w * z + i * y - j * x,
        )
        size = 1 / math.sqrt(w * w + i * i + j * j + k * k)
        self.quaternion = w, i, j, k = w * size, i * size, j * size, k * size
        self.rotation = (
            1 - 2 * (j * j + k * k),
            2 * (i * j - w * k),
            2 * (i * k + w * j),
            2 * (i * j + w * k),
            1 - 2 * (i * i + k * k),
            2 * (j * k - w * i),
            2 * (i * k - w * j),
            2 * (j * k + w * i),
            1 - 2 * (i * i + j * j),
        )


def _mean(old: Vector, new: Vector, share: float) -> Vector:
    return (
        old[0] + share * (new[0] - old[0]),
        old[1] + share * (new[1] - old[1]),
        old[2] + share * (new[2] - old[2]),
    )
