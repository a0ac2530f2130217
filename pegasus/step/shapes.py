"""Signed distances of solid shapes: outside above 0, inside below, with the direction away from the surface.

Shapes stand in their own frames. Source: Quilez, "Distance functions", for box, cylinder and torus. A frame
is all that is within a distance of the outline of a rectangle, a ring all that is so near to a circle; both
stand across their x axis.
"""

from collections.abc import Callable

from pegasus.base.step_math import Real, Vec3, magnitude, maximum, minimum, sqrt

TINY = 1e-12
"""Least length that is divided by [m]."""
Distance = tuple[Real, Vec3]
"""Signed distance [m], and the unit vector away from the shape."""


def box(p: Vec3, size: Vec3) -> Distance:
    """Return the distance of a point from a box.

    Args:
        p: The point in the frame of the box [m].
        size: Its half lengths [m].
    """
    x, y, z = magnitude(p[0]) - size[0], magnitude(p[1]) - size[1], magnitude(p[2]) - size[2]
    a, b, c = maximum(x, 0.0), maximum(y, 0.0), maximum(z, 0.0)
    outside = sqrt(a * a + b * b + c * c)
    deepest = maximum(x, maximum(y, z))
    if outside > 0.0:
        share = 1.0 / maximum(outside, TINY)
        a, b, c = a * share, b * share, c * share
    elif x == deepest:
        a, b, c = 1.0, 0.0, 0.0
    elif y == deepest:
        a, b, c = 0.0, 1.0, 0.0
    else:
        a, b, c = 0.0, 0.0, 1.0
    away = Vec3(_with_sign(a, p[0]), _with_sign(b, p[1]), _with_sign(c, p[2]))
    return outside + minimum(deepest, 0.0), away


def sphere(p: Vec3, size: Vec3) -> Distance:
    """Return the distance of a point from a sphere, whose radius is the first number of its size [m]."""
    far = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
    share = 1.0 / maximum(far, TINY)
    return far - size[0], Vec3(p[0] * share, p[1] * share, p[2] * share)


def cylinder(p: Vec3, size: Vec3) -> Distance:
    """Return the distance of a point from a cylinder along z.

    Args:
        p: The point in the frame of the cylinder [m].
        size: Its radius and half its height [m]; the third number is not used.
    """
    far = sqrt(p[0] * p[0] + p[1] * p[1])
    x, z = far - size[0], magnitude(p[2]) - size[1]
    a, c = maximum(x, 0.0), maximum(z, 0.0)
    outside = sqrt(a * a + c * c)
    deepest = maximum(x, z)
    if outside > 0.0:
        share = 1.0 / maximum(outside, TINY)
        a, c = a * share, c * share
    elif x == deepest:
        a, c = 1.0, 0.0
    else:
        a, c = 0.0, 1.0
    aside = a / maximum(far, TINY)
    return outside + minimum(deepest, 0.0), Vec3(p[0] * aside, p[1] * aside, _with_sign(c, p[2]))


def frame(p: Vec3, size: Vec3) -> Distance:
    """Return the distance of a point from a frame, such as that of a gate.

    Args:
        p: The point in its frame, whose x axis is that through the frame [m].
        size: Half lengths of its rectangle along y and z, and radius of its bars [m].
    """
    y, z = magnitude(p[1]) - size[0], magnitude(p[2]) - size[1]
    b, c = maximum(y, 0.0), maximum(z, 0.0)
    outside = sqrt(b * b + c * c)
    # Of the outline, from outside and from inside.
    aside, sign = outside, 1.0
    if outside > 0.0:
        share = 1.0 / maximum(outside, TINY)
        b, c = b * share, c * share
    elif y > z:
        aside, sign, b, c = -y, -1.0, 1.0, 0.0
    else:
        aside, sign, b, c = -z, -1.0, 0.0, 1.0
    far = sqrt(p[0] * p[0] + aside * aside)
    share = 1.0 / maximum(far, TINY)
    out = sign * aside * share
    return far - size[2], Vec3(p[0] * share, _with_sign(b * out, p[1]), _with_sign(c * out, p[2]))


def ring(p: Vec3, size: Vec3) -> Distance:
    """Return the distance of a point from a ring.

    Args:
        p: The point in its frame, whose x axis is that of the ring [m].
        size: Radius of its circle, and of its tube [m]; the third number is not used.
    """
    around = sqrt(p[1] * p[1] + p[2] * p[2])
    aside = around - size[0]
    far = sqrt(p[0] * p[0] + aside * aside)
    share = 1.0 / maximum(far, TINY)
    out = aside * share / maximum(around, TINY)
    return far - size[1], Vec3(p[0] * share, p[1] * out, p[2] * out)


KINDS: dict[str, Callable[[Vec3, Vec3], Distance]] = {
    "boxes": box,
    "spheres": sphere,
    "cylinders": cylinder,
    "frames": frame,
    "rings": ring,
}
"""Distance of each kind of shape; its place in this table is the number of the kind."""


def _with_sign(size: Real, x: Real) -> Real:
    """Return a number with the sign of another one."""
    if x < 0.0:
        return -size
    return size
