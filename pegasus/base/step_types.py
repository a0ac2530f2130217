"""Numbers of step functions: types, operations that every processor rounds alike, and columns of rows."""

import math
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pegasus.base.arrays import Array

T = TypeVar("T")

TURN = 2.0 * math.pi

Real = float
"""Double-precision number; `Real(k)` converts an integer."""
Reals = Sequence[float]
"""Numbers of a table or a row."""


class Symbolic:
    """Base of the symbols of a trace, which stand for numbers; see `pegasus.base.tracing`."""

    __slots__ = ()


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


class Known(float):
    """Number that belongs to the structure of a model: code is made for it, also where parameters are inputs.

    A known zero is nothing: a product with it is nothing, and a sum with it the other number. So the axes and
    places of an element that are zero cost no operation, in Python and compiled alike.
    """

    __slots__ = ()

    def __mul__(self, other: float) -> float:
        return NOTHING if self == 0.0 else float(self) * other

    def __add__(self, other: float) -> float:
        return other if self == 0.0 else float(self) + other

    def __sub__(self, other: float) -> float:
        negative: float = -other
        return negative if self == 0.0 else float(self) - other

    def __rsub__(self, other: float) -> float:
        return other if self == 0.0 else other - float(self)

    def __neg__(self) -> float:
        return NOTHING if self == 0.0 else Known(-float(self))

    __rmul__ = __mul__
    __radd__ = __add__


NOTHING = Known(0.0)
"""Zero that costs nothing."""


class Vec3:
    """Vector of three numbers."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: float, y: float, z: float) -> None:
        self.x: float = _number(x)
        self.y: float = _number(y)
        self.z: float = _number(z)

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
        self.x: float = _number(x)
        self.y: float = _number(y)
        self.z: float = _number(z)
        self.w: float = _number(w)

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


def floor(x: Real) -> Real:
    """Return the largest whole number that is not above x."""
    # The whole numbers of Python have no -0.
    return float(math.floor(x)) if math.isfinite(x) and x != 0.0 else x


def length(values: Reals) -> int:
    """Return how many numbers a table holds."""
    return len(values)


def bits_of(x: Real) -> Word:
    """Return the 64 bits of a number: sign, 11 of the exponent, 52 of the mantissa."""
    word: int = struct.unpack("<Q", struct.pack("<d", x))[0]
    return Word(word)


def number_of(bits: Word) -> Real:
    """Return the number of 64 bits, the inverse of `bits_of`."""
    number: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return number


BUILTINS: dict[Any, str] = {
    Real: "float64",
    int: "int32",
    Word: "uint64",
    Vec3: "vec3d",
    Quat: "quatd",
    Mat33: "mat33d",
    sqrt: "sqrt",
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
    return abs(x)


def clamped(x: Real, low: Real, high: Real) -> Real:
    """Return the number of an interval that is nearest to x."""
    return minimum(maximum(x, low), high)


def wrapped(angle: Real) -> Real:
    """Return an angle within half a turn of zero, -pi included [rad]."""
    return angle - TURN * floor(angle / TURN + 0.5)


def _number(x: Any) -> Any:
    return x if type(x) is float or isinstance(x, Symbolic | Known) else float(x)


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
