"""Stream of a propeller at surfaces that stand in it."""

import math

from pegasus.base.step_math import Real, maximum, sqrt


def stream_speed(thrust: Real, inflow: Real, density: Real, radius: Real, distance: Real) -> Real:
    """Return what a propeller adds to the speed of the air along its axis, on the axis [m/s].

    By momentum theory T = 2 rho A v (V + v) gives the induced velocity v at the disc. A tube of vortices of
    the disc's radius induces v (1 + s / sqrt(s^2 + R^2)) at the distance s behind the disc: nothing far in
    front, 2 v far behind (McCormick, Aerodynamics of V/STOL Flight, 1967). A disc that brakes has no stream
    here.

    Args:
        thrust: Thrust T [N].
        inflow: Speed V of the disc along its axis relative to the air [m/s]; 0 for one that sinks.
        density: Air density rho [kg/m^3].
        radius: Radius R of the disc [m].
        distance: Distance s behind the disc, negative in front of it [m].
    """
    half = 0.5 * maximum(inflow, 0.0)
    loading = maximum(thrust, 0.0) / (2.0 * math.pi * radius * radius * density)
    induced = sqrt(half * half + loading) - half
    return induced * (1.0 + distance / sqrt(distance * distance + radius * radius))
