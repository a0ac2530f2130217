"""Names of step functions: numbers, small vectors, elementary functions, and columns of rows.

A step function is a plain function of numbers and small vectors whose body uses only these names, other step
functions, arithmetic, `if`, and `for` over a `range`. Python runs it as it stands; `pegasus.base.compiler`
compiles the same source with NVIDIA Warp in double precision, with the same bits. Arguments are annotated.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from pegasus.base.arrays import Array

T = TypeVar("T")

TURN = 2.0 * math.pi

Real = float
"""Double-precision number; `Real(k)` converts an integer."""
Reals = Sequence[float]
"""Numbers of a table or a row."""


class Word(int):
    """Unsigned integer of 64 bits, at least 0 and below 2**64 in every intermediate result.

    Constants among words are words as well: `MASK = Word(0xFFFFFFFF)` at the top of a module.
    """

    if TYPE_CHECKING:

        def __add__(self, other: int) -> "Word": ...
        def __mul__(self, other: int) -> "Word": ...
        def __and__(self, other: int) -> "Word": ...
        def __xor__(self, other: int) -> "Word": ...
        def __rshift__(self, other: int) -> "Word": ...


class Vec3:
    """Vector of three numbers."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: float, y: float, z: float) -> None:
        self.x, self.y, self.z = float(x), float(y), float(z)

    def __getitem__(self, k: int) -> float:
        return (self.x, self.y, self.z)[k]

    def __add__(self, other: "Vec3") -> "Vec3":
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: "Vec3") -> "Vec3":
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, factor: float) -> "Vec3":
        return Vec3(self.x * factor, self.y * factor, self.z * factor)

    __rmul__ = __mul__

    def __neg__(self) -> "Vec3":
        return Vec3(-self.x, -self.y, -self.z)


class Quat:
    """Quaternion xyzw, as four numbers."""

    __slots__ = ("w", "x", "y", "z")

    def __init__(self, x: float, y: float, z: float, w: float) -> None:
        self.x, self.y, self.z, self.w = float(x), float(y), float(z), float(w)

    def __getitem__(self, k: int) -> float:
        return (self.x, self.y, self.z, self.w)[k]

    def __add__(self, other: "Quat") -> "Quat":
        return Quat(self.x + other.x, self.y + other.y, self.z + other.z, self.w + other.w)

    def __mul__(self, factor: float) -> "Quat":
        return Quat(self.x * factor, self.y * factor, self.z * factor, self.w * factor)

    __rmul__ = __mul__


class Mat33:
    """Matrix of three rows and columns."""

    __slots__ = ("rows",)

    def __init__(
        self,
        xx: float,
        xy: float,
        xz: float,
        yx: float,
        yy: float,
        yz: float,
        zx: float,
        zy: float,
        zz: float,
    ) -> None:
        self.rows = (xx, xy, xz), (yx, yy, yz), (zx, zy, zz)


class Column(Generic[T]):
    """One value per row: a number, a vector, or a structure of parameters.

    Args:
        values: Array of shape (M,), (M, 3), (M, 4) or (M, 3, 3), or a sequence of structures.
        kind: `float`, `int`, `Word`, `Vec3`, `Quat`, `Mat33`, or the dataclass of the structures.
    """

    def __init__(self, values: Any, kind: type[T]) -> None:
        self._values = values
        self._read = _reader(kind)

    def __getitem__(self, i: int) -> T:
        value: T = self._read(self._values[i])
        return value

    def __setitem__(self, i: int, value: T) -> None:
        self._values[i] = _plain(value)


class Table(Generic[T]):
    """Several values per row.

    Args:
        values: Array of shape (M, K), (M, K, 3) or (M, K, 4).
        kind: `float`, `int`, `Vec3` or `Quat`.
    """

    def __init__(self, values: Array, kind: type[T]) -> None:
        self._values = values
        self._read = _reader(kind)

    @overload
    def __getitem__(self, place: tuple[int, int]) -> T: ...

    @overload
    def __getitem__(self, place: int) -> Reals: ...

    def __getitem__(self, place: int | tuple[int, int]) -> T | Reals:
        if isinstance(place, tuple):
            value: T = self._read(self._values[place])
            return value
        row: Reals = self._values[place].tolist()
        return row

    def __setitem__(self, place: tuple[int, int], value: T) -> None:
        self._values[place] = _plain(value)


def sqrt(x: Real) -> Real:
    """Return the square root; NaN below 0."""
    return math.sqrt(x) if x >= 0 else math.nan


def exp(x: Real) -> Real:
    """Return the exponential; infinite where it is too large."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: Real) -> Real:
    """Return the natural logarithm; minus infinity at 0, NaN below it."""
    if x > 0:
        return math.log(x)
    return -math.inf if x == 0 else math.nan


def sin(x: Real) -> Real:
    """Return the sine of an angle [rad]; NaN of an infinite one."""
    return math.sin(x) if math.isfinite(x) else math.nan


def cos(x: Real) -> Real:
    """Return the cosine of an angle [rad]; NaN of an infinite one."""
    return math.cos(x) if math.isfinite(x) else math.nan


def tan(x: Real) -> Real:
    """Return the tangent of an angle [rad]; NaN of an infinite one."""
    return math.tan(x) if math.isfinite(x) else math.nan


def atan2(y: Real, x: Real) -> Real:
    """Return the angle of a point (x, y) [rad]."""
    return math.atan2(y, x)


def asin(x: Real) -> Real:
    """Return the arc sine [rad]; NaN beyond -1 to 1."""
    return math.asin(x) if -1 <= x <= 1 else math.nan


def power(base: Real, exponent: Real) -> Real:
    """Return a power; NaN for a negative base and an exponent that is not whole."""
    try:
        return math.pow(base, exponent)
    except (OverflowError, ValueError):
        return float(np.power(base, exponent))


def floor(x: Real) -> Real:
    """Return the largest whole number that is not above x."""
    return float(math.floor(x)) if math.isfinite(x) else x


def length(values: Reals) -> int:
    """Return how many numbers a table holds."""
    return len(values)


BUILTINS: dict[Any, str] = {
    Real: "float64",
    int: "int32",
    Word: "uint64",
    Vec3: "vec3d",
    Quat: "quatd",
    Mat33: "mat33d",
    sqrt: "sqrt",
    exp: "exp",
    log: "log",
    sin: "sin",
    cos: "cos",
    tan: "tan",
    atan2: "atan2",
    asin: "asin",
    power: "pow",
    floor: "floor",
}
"""Counterparts in Warp."""


def minimum(a: Real, b: Real) -> Real:
    """Return the smaller number; a if either is NaN."""
    if b < a:
        return b
    return a


def maximum(a: Real, b: Real) -> Real:
    """Return the larger number; a if either is NaN."""
    if b > a:
        return b
    return a


def magnitude(x: Real) -> Real:
    """Return the absolute value."""
    if x < 0.0:
        return -x
    return x


def clamped(x: Real, low: Real, high: Real) -> Real:
    """Return the number of an interval that is nearest to x."""
    return minimum(maximum(x, low), high)


def wrapped(angle: Real) -> Real:
    """Return an angle within half a turn of zero, -pi included [rad]."""
    return angle - TURN * floor(angle / TURN + 0.5)


def vector(triple: tuple[float, float, float]) -> Vec3:
    """Return the vector of a parameter of three numbers."""
    return Vec3(triple[0], triple[1], triple[2])


def scaled(a: Vec3, b: Vec3) -> Vec3:
    """Return the products of the components."""
    return Vec3(a[0] * b[0], a[1] * b[1], a[2] * b[2])


def dot(a: Vec3, b: Vec3) -> Real:
    """Return the scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec3, b: Vec3) -> Vec3:
    """Return the cross product a x b."""
    return Vec3(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(a: Vec3) -> Real:
    """Return the length of a vector."""
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


def matrix_of(q: Quat) -> Mat33:
    """Return the rotation matrix of a unit quaternion."""
    xx = q[0] * q[0]
    yy = q[1] * q[1]
    zz = q[2] * q[2]
    xy = q[0] * q[1]
    xz = q[0] * q[2]
    yz = q[1] * q[2]
    xw = q[0] * q[3]
    yw = q[1] * q[3]
    zw = q[2] * q[3]
    return Mat33(
        1.0 - 2.0 * (yy + zz),
        2.0 * (xy - zw),
        2.0 * (xz + yw),
        2.0 * (xy + zw),
        1.0 - 2.0 * (xx + zz),
        2.0 * (yz - xw),
        2.0 * (xz - yw),
        2.0 * (yz + xw),
        1.0 - 2.0 * (xx + yy),
    )


def rotate(q: Quat, v: Vec3) -> Vec3:
    """Return R v, a body vector in the world frame, with the rotation R of a unit quaternion."""
    xx = q[0] * q[0]
    yy = q[1] * q[1]
    zz = q[2] * q[2]
    xy = q[0] * q[1]
    xz = q[0] * q[2]
    yz = q[1] * q[2]
    xw = q[0] * q[3]
    yw = q[1] * q[3]
    zw = q[2] * q[3]
    return Vec3(
        (1.0 - 2.0 * (yy + zz)) * v[0] + 2.0 * (xy - zw) * v[1] + 2.0 * (xz + yw) * v[2],
        2.0 * (xy + zw) * v[0] + (1.0 - 2.0 * (xx + zz)) * v[1] + 2.0 * (yz - xw) * v[2],
        2.0 * (xz - yw) * v[0] + 2.0 * (yz + xw) * v[1] + (1.0 - 2.0 * (xx + yy)) * v[2],
    )


def rotate_inverse(q: Quat, v: Vec3) -> Vec3:
    """Return R^T v, a world vector in the body frame, with the rotation R of a unit quaternion."""
    return rotate(Quat(-q[0], -q[1], -q[2], q[3]), v)


def quaternion_product(a: Quat, b: Quat) -> Quat:
    """Return the quaternion product a b: the rotation b followed by the rotation a."""
    return Quat(
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


def normalized(q: Quat) -> Quat:
    """Return a quaternion scaled to unit length."""
    return q * (1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]))


def conjugated(q: Quat) -> Quat:
    """Return the inverse of a unit quaternion."""
    return Quat(-q[0], -q[1], -q[2], q[3])


def rotation_vector(q: Quat) -> Vec3:
    """Return the rotation vector of a unit quaternion, of a length up to pi [rad]."""
    axis = Vec3(q[0], q[1], q[2])
    sine = norm(axis)
    ratio = 1.0
    if sine >= 1e-8:
        ratio = atan2(sine, magnitude(q[3])) / sine
    # q and -q are the same rotation; the one with w >= 0 has the smaller angle.
    if q[3] < 0.0:
        ratio = -ratio
    return axis * (2.0 * ratio)


def rotation_quaternion(v: Vec3) -> Quat:
    """Return the unit quaternion of a rotation vector [rad], the inverse of `rotation_vector`."""
    angle = norm(v)
    scale = 0.5 - angle * angle / 48.0
    if angle >= 1e-6:
        scale = sin(0.5 * angle) / angle
    return Quat(v[0] * scale, v[1] * scale, v[2] * scale, cos(0.5 * angle))


def interpolate(x: Real, points: Reals, values: Reals) -> Real:
    """Return the value at x of a piecewise linear function, held beyond its ends.

    Args:
        x: Where.
        points: Rising places of the given values, from 2 to 65536.
        values: Values there.
    """
    last = length(points) - 1
    if x <= points[0]:
        return values[0]
    if x >= points[last]:
        return values[last]
    k = interval(points, x)
    share = (x - points[k]) / (points[k + 1] - points[k])
    return values[k] + share * (values[k + 1] - values[k])


def interval(points: Reals, x: Real) -> int:
    """Return the number of the interval of rising points that holds x, the first or last one beyond them.

    Args:
        points: Rising numbers, from 2 to 65536.
        x: Where.
    """
    k = 0
    end = length(points) - 1
    for _ in range(16):
        if end - k > 1:
            middle = (k + end) // 2
            if points[middle] <= x:
                k = middle
            else:
                end = middle
    return k


def _reader(kind: Any) -> Callable[[Any], Any]:
    if kind in (float, int, Word):
        return kind  # type: ignore[no-any-return]
    if kind in (Vec3, Quat):
        return lambda row: kind(*row.tolist())
    if kind is Mat33:
        return lambda rows: Mat33(*rows.ravel().tolist())
    return lambda structure: structure


def _plain(value: Any) -> Any:
    if isinstance(value, Vec3):
        return (value.x, value.y, value.z)
    if isinstance(value, Quat):
        return (value.x, value.y, value.z, value.w)
    return value.rows if isinstance(value, Mat33) else value
