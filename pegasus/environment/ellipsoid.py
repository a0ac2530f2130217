"""Geodesics of the WGS84 ellipsoid: the direct and the inverse problem.

Source: Vincenty, Direct and inverse solutions of geodesics on the ellipsoid with application of nested
equations, Survey Review 23 (176), 1975. The series are good to 0.1 mm over the whole Earth, and to a
micrometre up to 1000 km. Angles are in radians.
"""

from pegasus.base.step_math import Real, atan2, cos, sin, sqrt

SEMI_MAJOR_AXIS = 6_378_137.0
"""Equatorial radius a of WGS84 [m]."""
WGS84_FLATTENING = 1.0 / 298.257223563
"""Flattening f of WGS84."""

_RATIO = 1.0 - WGS84_FLATTENING
_SEMI_MINOR_AXIS = SEMI_MAJOR_AXIS * _RATIO
# Square of the second eccentricity.
_SECOND = 1.0 / (_RATIO * _RATIO) - 1.0
# Both iterations gain more than two digits each time.
_ITERATIONS = 8
# Added to denominators: relevant angles are unchanged, and 0 / 0 becomes 0.
_TINY = 1e-30


def reduced_latitude(latitude: Real) -> tuple[Real, Real, Real]:
    """Return sine and cosine of the reduced latitude U, tan U = (1 - f) tan(latitude), and their divisor."""
    sine = _RATIO * sin(latitude)
    cosine = cos(latitude)
    length = sqrt(sine * sine + cosine * cosine)
    return sine / length, cosine / length, length


def arc_correction(square: Real, sine: Real, cosine: Real, middle: Real) -> Real:
    """Return the difference of arc and distance / (b A), eq. 4 and 6 [rad].

    Args:
        square: Square of the cosine of the geodesic's azimuth at the equator.
        sine: Sine of the arc sigma on the auxiliary sphere.
        cosine: Cosine of the arc.
        middle: Cosine of twice the arc from the equator to the middle of the geodesic.
    """
    u = square * _SECOND
    b = u / 1024.0 * (256.0 + u * (-128.0 + u * (74.0 - 47.0 * u)))
    inner = cosine * (2.0 * middle * middle - 1.0) - b / 6.0 * middle * (4.0 * sine * sine - 3.0) * (
        4.0 * middle * middle - 3.0
    )
    return b * sine * (middle + b / 4.0 * inner)


def arc_length(square: Real) -> Real:
    """Return the distance per arc, b A of eq. 3 [m]."""
    u = square * _SECOND
    return _SEMI_MINOR_AXIS * (1.0 + u / 16384.0 * (4096.0 + u * (-768.0 + u * (320.0 - 175.0 * u))))


def turn_correction(square: Real, azimuth: Real, arc: Real, middle: Real) -> Real:
    """Return the difference of longitude on the auxiliary sphere and on the ellipsoid, eq. 10 and 11 [rad].

    Args:
        square: Square of the cosine of the geodesic's azimuth at the equator.
        azimuth: Sine of that azimuth.
        arc: Arc sigma on the auxiliary sphere [rad].
        middle: Cosine of twice the arc from the equator to the middle of the geodesic.
    """
    f = WGS84_FLATTENING
    c = f / 16.0 * square * (4.0 + f * (4.0 - 3.0 * square))
    inner = middle + c * cos(arc) * (2.0 * middle * middle - 1.0)
    return (1.0 - c) * f * azimuth * (arc + c * sin(arc) * inner)


def destination(latitude: Real, east: Real, north: Real) -> tuple[Real, Real, Real, Real]:
    """Return where a geodesic leads, and how its azimuth changes on the way.

    Args:
        latitude: Latitude of its start [rad].
        east: East component at the start of a vector along it, which is as long as it is [m].
        north: North component of the vector [m].

    Returns:
        Latitude and change of the longitude [rad], cosine and sine of the change of the azimuth, clockwise.
    """
    distance = sqrt(east * east + north * north)
    sin_1 = 0.0
    cos_1 = 1.0
    if distance > 0.0:
        sin_1 = east / distance
        cos_1 = north / distance
    sin_u, cos_u, _ = reduced_latitude(latitude)
    begin = atan2(sin_u, cos_u * cos_1)
    azimuth = cos_u * sin_1
    square = 1.0 - azimuth * azimuth
    plain = distance / arc_length(square)
    arc = plain
    for _ in range(_ITERATIONS):
        arc = plain + arc_correction(square, sin(arc), cos(arc), cos(2.0 * begin + arc))
    sine = sin(arc)
    cosine = cos(arc)
    # To the north at the destination, times the cosine of its reduced latitude.
    ahead = cos_u * cosine * cos_1 - sin_u * sine
    along = sqrt(azimuth * azimuth + ahead * ahead) + _TINY
    new_latitude = atan2(sin_u * cosine + cos_u * sine * cos_1, _RATIO * along)
    turn = atan2(sine * sin_1, cos_u * cosine - sin_u * sine * cos_1)
    turn = turn - turn_correction(square, azimuth, arc, cos(2.0 * begin + arc))
    change = (cos_1 * ahead + sin_1 * azimuth) / along
    return new_latitude, turn, change, (cos_1 * azimuth - sin_1 * ahead) / along


def departure(latitude: Real, rise: Real, turn: Real) -> tuple[Real, Real]:
    """Return the vector along the geodesic to a place, as long as the geodesic: east and north [m].

    Differences of angles are taken before their sines, so that small distances keep full precision. It does
    not converge for places nearly opposite to each other.

    Args:
        latitude: Latitude of the start [rad].
        rise: Latitude of the place minus that of the start [rad].
        turn: Longitude of the place minus that of the start, -pi to pi [rad].
    """
    sin_u, cos_u, length = reduced_latitude(latitude)
    sin_v, cos_v, other_length = reduced_latitude(latitude + rise)
    # sin(V - U) = (1 - f) sin(rise) / (lengths).
    climb = _RATIO * sin(rise) / (length * other_length)
    sphere = turn
    east = 0.0
    north = 0.0
    arc = 0.0
    square = 0.0
    middle = 0.0
    for _ in range(_ITERATIONS):
        half = sin(sphere / 2.0)
        east = cos_v * sin(sphere)
        north = climb + 2.0 * sin_u * cos_v * half * half
        sine = sqrt(east * east + north * north)
        cosine = sin_u * sin_v + cos_u * cos_v * cos(sphere)
        arc = atan2(sine, cosine)
        azimuth = cos_u * east / (sine + _TINY)
        square = 1.0 - azimuth * azimuth
        middle = cosine - 2.0 * sin_u * sin_v / (square + _TINY)
        sphere = turn + turn_correction(square, azimuth, arc, middle)
    sine = sin(arc)
    distance = arc_length(square) * (arc - arc_correction(square, sine, cos(arc), middle))
    scale = (distance + _TINY) / (sqrt(east * east + north * north) + _TINY)
    return scale * east, scale * north
