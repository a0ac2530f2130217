"""The Aerosonde of Beard and McLain, Small Unmanned Aircraft, 2012, appendix E."""

import math

import numpy as np

from pegasus.dynamics.wings import AirframeDerivatives, Expansion

RHO = 1.2682
AEROSONDE = AirframeDerivatives(
    area=0.55,
    span=2.8956,
    chord=0.18994,
    CL=Expansion(zero=0.28, alpha=3.45, delta=(-0.36, 0.0, 0.0)),
    CD=Expansion(zero=0.0437),
    CY=Expansion(beta=-0.98, delta=(0.0, 0.0, -0.17)),
    Cl=Expansion(beta=-0.12, p=-0.26, r=0.14, delta=(0.0, 0.08, 0.105)),
    Cm=Expansion(zero=-0.02338, alpha=-0.38, q=-3.6, delta=(-0.5, 0.0, 0.0)),
    Cn=Expansion(beta=0.25, p=0.022, r=-0.35, delta=(0.0, 0.06, -0.032)),
    oswald_efficiency=0.9,
    stall_angle=0.4712,
    stall_sharpness=50.0,
)
"""Controls are elevator, aileron and rudder."""


def book_wrench(velocity, rate, deflection):
    """Return force and torque by equations 4.6 to 4.20 of the book, turned to axes forward, left and up."""
    elevator, aileron, rudder = deflection
    u, v, w = velocity * (1, -1, -1)
    p, q, r = rate * (1, -1, -1)
    S, b, c, e, M, a0 = 0.55, 2.8956, 0.18994, 0.9, 50.0, 0.4712
    Va = math.sqrt(u * u + v * v + w * w)
    alpha, beta = math.atan2(w, u), math.asin(v / Va)
    low, high = math.exp(-M * (alpha - a0)), math.exp(M * (alpha + a0))
    sigma = (1 + low + high) / ((1 + low) * (1 + high))
    linear = 0.28 + 3.45 * alpha
    plate = 2 * math.copysign(1, alpha) * math.sin(alpha) ** 2 * math.cos(alpha)
    CL = (1 - sigma) * linear + sigma * plate - 0.36 * elevator
    CD = 0.0437 + linear**2 / (math.pi * e * b * b / S)
    ph, qh, rh = b * p / (2 * Va), c * q / (2 * Va), b * r / (2 * Va)
    fx = -CD * math.cos(alpha) + CL * math.sin(alpha)
    fz = -CD * math.sin(alpha) - CL * math.cos(alpha)
    fy = -0.98 * beta - 0.17 * rudder
    roll = b * (-0.12 * beta - 0.26 * ph + 0.14 * rh + 0.08 * aileron + 0.105 * rudder)
    pitch = c * (-0.02338 - 0.38 * alpha - 3.6 * qh - 0.5 * elevator)
    yaw = b * (0.25 * beta + 0.022 * ph - 0.35 * rh + 0.06 * aileron - 0.032 * rudder)
    return 0.5 * RHO * Va**2 * S * np.array([fx, -fy, -fz, roll, -pitch, -yaw])
