"""Gazebo's LiftDrag and AdvancedLiftDrag in NumPy, after the formulas of their sources."""

import math

import numpy as np


def unit(v):
    """Return a vector of unit length, or itself if it is zero."""
    size = np.linalg.norm(v)
    return v / size if size > 0 else v


def lift_drag(wing, velocity, rate, deflection, rho):
    """Return force and torque about the reference point, for link axes that are those of the world."""
    cp, forward, upward = np.array(wing.cp), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    none = np.zeros(3), np.zeros(3)
    vel = velocity + np.cross(rate, cp)
    if np.linalg.norm(vel) <= 0.01 or (not wing.reversible and forward @ vel <= 0):
        return none
    direction = unit(vel)
    if wing.radial_symmetry:
        upward = unit(np.cross(forward, np.cross(forward, direction)))
    spanwise = unit(np.cross(forward, upward))
    sine = np.clip(spanwise @ direction, -1, 1)
    sweep = 1 - sine**2
    in_plane = vel - (vel @ spanwise) * spanwise
    lift_direction = unit(np.cross(spanwise, in_plane))
    turn = math.acos(np.clip(lift_direction @ upward, -1, 1))
    alpha = wing.a0 + turn if lift_direction @ forward >= 0 else wing.a0 - turn
    while abs(alpha) > math.pi / 2:
        alpha = alpha - math.pi if alpha > 0 else alpha + math.pi
    q = 0.5 * rho * np.linalg.norm(in_plane) ** 2

    def linear(slope, beyond):
        if alpha > wing.alpha_stall:
            return (slope * wing.alpha_stall + beyond * (alpha - wing.alpha_stall)) * sweep
        if alpha < -wing.alpha_stall:
            return (-slope * wing.alpha_stall + beyond * (alpha + wing.alpha_stall)) * sweep
        return slope * alpha * sweep

    def one_sign(value):
        if alpha > wing.alpha_stall:
            return max(0.0, value)
        return min(0.0, value) if alpha < -wing.alpha_stall else value

    cl, cm = one_sign(linear(wing.cla, wing.cla_stall)), one_sign(linear(wing.cma, wing.cma_stall))
    cd = abs(linear(wing.cda, wing.cda_stall))
    if deflection:
        cl += wing.control_joint_rad_to_cl * deflection[0]
        cm += (wing.cm_delta or 0.0) * deflection[0]
    force = q * wing.area * (cl * lift_direction - cd * unit(in_plane))
    return force, q * wing.area * cm * spanwise + np.cross(cp, force)


def advanced_lift_drag(w, velocity, rate, deflection, rho):
    """Return force and torque about the reference point, for link axes that are those of the world."""
    cp, x, z = np.array(w.cp), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, -1.0])
    y = np.cross(z, x)
    vel = velocity + np.cross(rate, cp)
    in_plane = vel - (vel @ y) * y
    speed = np.linalg.norm(in_plane)
    if speed <= 1e-9:
        return np.zeros(3), np.zeros(3)
    sx = in_plane / speed
    sz = np.cross(sx, y)
    span = math.sqrt(w.area * w.AR)
    mac = w.mac or w.area / span
    rr, pr, yr = rate[0], -rate[1], -rate[2]
    alpha, beta = math.atan2(sx @ z, sx @ x), math.atan2(vel @ y, vel @ x)
    q, half = 0.5 * rho * speed**2, 0.5 * rho * speed
    a, b = math.exp(-w.M * (alpha - w.alpha_stall)), math.exp(w.M * (alpha + w.alpha_stall))
    sigma = (1 + a + b) / ((1 + a) * (1 + b))
    total = dict.fromkeys(("CD", "CY", "CL", "Cell", "Cem", "Cen"), 0.0)
    for k, angle in enumerate(deflection):
        for name in total:
            if slopes := getattr(w, name + "_ctrl"):
                total[name] += math.degrees(angle) * slopes[k] * (w.direction[k] if w.direction else 1.0)

    def scaled(coefficient, name):
        p, r, s = (getattr(w, name + letter) for letter in "pqr")
        rates = p * (rr * span / 2) * half + r * (pr * mac / 2) * half + s * (yr * span / 2) * half
        return coefficient * q + rates

    plate = 2 * (alpha / abs(alpha)) * math.sin(alpha) ** 2 * math.cos(alpha)
    CL = (1 - sigma) * (w.CL0 + w.CLa * alpha) + sigma * plate + w.CLb * beta + total["CL"]
    CD_fp = 2 / (1 + math.exp(-0.224 - 0.115 * max(w.AR, 1 / w.AR)))
    CD = (1 - sigma) * (w.CD0 + CL**2 / (math.pi * w.AR * w.eff))
    CD += sigma * abs(CD_fp * (0.5 - 0.5 * math.cos(2 * alpha))) + total["CD"]
    CY = w.CYa * alpha + w.CYb * beta + total["CY"]
    if alpha > w.alpha_stall:
        Cem = w.Cem0 + w.Cema * w.alpha_stall + w.Cema_stall * (alpha - w.alpha_stall)
    elif alpha < -w.alpha_stall:
        Cem = w.Cem0 - w.Cema * w.alpha_stall + w.Cema_stall * (alpha + w.alpha_stall)
    else:
        Cem = w.Cem0 + w.Cema * alpha
    Cem += w.Cemb * beta + total["Cem"]
    Cell = w.Cella * alpha + w.Cellb * beta + total["Cell"]
    Cen = w.Cena * alpha + w.Cenb * beta + total["Cen"]
    force = w.area * (scaled(CL, "CL") * -sz + scaled(CD, "CD") * -sx + scaled(CY, "CY") * y)
    moment = scaled(Cell, "Cell") * span * x + scaled(Cem, "Cem") * mac * y + scaled(Cen, "Cen") * span * z
    return force, w.area * moment + np.cross(cp, force)
