"""Search for the steady flight of a machine at an airspeed, climb angle and turn rate, and for its stall."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.core.steady_loads import Conditions, Flight, SteadyLoads, array_of
from pegasus.model.machine import Machine

_PATH = 6
"""Unknowns before the commands, those of the path; see `Search`."""
_SPEEDS = (0.3, 5.0)
"""Range of airspeeds in which any flight is searched, by a guess."""
_FASTEST = 300.0
"""Airspeed up to which it is searched, about that of sound [m/s]."""
_CHEAP = 1e-3
"""Cost of unknowns that may take any value, by that of a deflection."""
_SIDE = 100.0
"""Cost of a side force by the weight."""
_STEADY = 1e-9
"""Accelerations by gravity up to which flight is steady."""
_ALONG = 0.5
"""Component of a rotor's axis along the flight from which the rotor drives an aircraft forward."""
_MOST_STEPS = 20
_COST_STEPS = 12
"""Steps in which the cost counts; the last ones only solve the equations."""
_EXACT = 1e-11
"""Size of what is left at a solution."""
_NEAR = 1e-4
"""Size of what is left near a solution."""
_LONGEST_STEP = 0.3
_STALL_ANGLES = np.radians(np.arange(-8.0, 47.0, 2.5))
_FROM_HOVER = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Shares of an airspeed at which it is approached from hover."""
_STALL_SPEED = 10.0
"""Airspeed at which the lift of the surfaces is searched [m/s]; it rises with the squared airspeed."""


@dataclass(frozen=True, eq=False)
class Search:
    """Bounds of the unknowns, and what they are kept near to.

    The unknowns are those of the path: angle of attack, sideslip, bank and climb angle [rad], the airspeed by
    a given one, and the side force by the weight, which coordinated flight is without; then the commands by
    channel over `SteadySearch.scale`.
    """

    low: Array
    high: Array
    start: Array
    rest: Array
    """Values without a need for others."""
    cost: Array
    """Cost of the distance from there."""


@dataclass(frozen=True, eq=False)
class Found:
    """Unknowns of the flight that was found, and what is missing."""

    path: Array
    """Unknowns of the path; see `Search`; shape (6,)."""
    command: Array
    """Commands by channel, shape (U,)."""
    flight: Flight
    left: Array
    """By gravity: acceleration, angular acceleration times the radius of gyration, and what the side force by
    mass differs by from its unknown, shape (7,)."""

    @property
    def is_steady(self) -> bool:
        """True if forces and moments are in balance."""
        return float(np.abs(self.left).max()) < _STEADY


class SteadySearch:
    """Search for steady flights of a machine.

    Args:
        machine: The machine.
        conditions: Air and gravity.
    """

    def __init__(self, machine: Machine, conditions: Conditions) -> None:
        self.loads = loads = SteadyLoads(machine, conditions)
        body = machine.body
        trace = float(body.inertia_x[0] + body.inertia_y[1] + body.inertia_z[2])
        self._gyration = math.sqrt(trace / (3.0 * loads.mass))
        self.scale = np.where(loads.is_joint, 0.5 * (loads.high - loads.low), loads.high)
        axes = [array_of(surface.x) for surface in machine.surfaces]
        ahead = np.mean(axes, axis=0) if axes else np.array([1.0, 0.0, 0.0])
        self.alpha = math.atan2(-ahead[2], ahead[0])
        """Angle of attack of flight along the axes of the surfaces [rad]."""
        self.ahead = np.array([math.cos(self.alpha), 0.0, -math.sin(self.alpha)])
        """Unit vector of this flight in the body frame, shape (3,)."""
        self._carriers = {e.joint for e in machine.elements if e.joint is not None}
        self.forward = loads.idle.copy()
        """Commands at rest with nacelles tilted forward, shape (U,)."""
        for k in self._carriers:
            self.forward[machine.joints[k].channel] = self._forward_angle(k)
        carried = [machine.joints[k].channel for k in self._carriers]
        self._deflects: BoolArray = loads.is_joint.copy()
        self._deflects[carried] = False
        self.drives: BoolArray = np.zeros(len(loads.low), dtype=bool)
        """True for the channels of rotors that drive along this flight, shape (U,)."""
        for element in loads.posed(self.forward).elements:
            self.drives[element.channel] = float(array_of(element.z) @ self.ahead) > _ALONG

    def _forward_angle(self, k: int) -> float:
        """Return the angle of a joint at which its rotors push most along the flight [rad]."""
        machine = self.loads.machine
        joint, ahead = machine.joints[k], self.ahead
        along = across = 0.0
        for element in machine.elements:
            if element.joint == k:
                z, axis = array_of(element.z), array_of(joint.axis)
                along += float((z - axis * (axis @ z)) @ ahead)
                across += float(np.cross(axis, z) @ ahead)
        best = math.atan2(across, along)
        low, high = self.loads.low[joint.channel], self.loads.high[joint.channel]
        angles = np.clip([best - 2.0 * math.pi, best, best + 2.0 * math.pi], low, high)
        push = along * np.cos(angles) + across * np.sin(angles)
        return float(angles[int(push.argmax())])

    def _flight(self, airspeed: float, path: Array, turn_rate: float) -> Flight:
        upward = (body_from_path(path) @ path_from_world(path))[:, 2]
        return Flight(airspeed * path[4] * body_from_path(path)[:, 0], turn_rate * upward, upward)

    def steady(self, airspeed: float, climb: float | None, turn_rate: float) -> Found:
        """Return the steady flight, or what comes next to it; see `pegasus.core.trim.trim`."""
        best: Found | None = None
        for winged in (True, False):
            if winged and not (self.drives.any() or climb is None):
                continue
            search = self._search(winged, climb)
            found = self._found(search, airspeed, turn_rate)
            # From hover on, where it is not found at once.
            for share in () if winged or found.is_steady else _FROM_HOVER:
                found = self._found(search, share * airspeed, turn_rate)
                search.start[:] = np.concatenate([found.path, found.command / self.scale])
            if found.is_steady:
                return found
            if best is None or _size(found.left) < _size(best.left):
                best = found
            if climb is None:
                break
        assert best is not None
        return best

    def at_any_speed(self) -> Found:
        """Return a level flight or a glide on the wings at any airspeed, or what comes next to it."""
        angle = np.array([self.alpha + 0.1, 0.0, 0.0, 0.0, 1.0, 0.0])
        force = self.loads.surface_force(self._flight(1.0, angle, 0.0), self.forward)
        lift = float(force @ body_from_path(angle)[:, 2])
        guess = math.sqrt(self.loads.weight / lift) if lift > 0.0 else _STALL_SPEED
        guess = min(guess, _FASTEST)
        best: Found | None = None
        for climb in (0.0, None):
            for start in (1.0, 2.5):
                search = self._search(True, climb)
                search.low[4], search.high[4] = _SPEEDS[0], min(_SPEEDS[1], _FASTEST / guess)
                search.start[4] = start
                found = self._found(search, guess, 0.0)
                if found.is_steady:
                    return found
                if best is None or _size(found.left) < _size(best.left):
                    best = found
        assert best is not None
        return best

    def _search(self, winged: bool, climb: float | None) -> Search:
        """Return the bounds of a search.

        Args:
            winged: Whether to fly on the wings: rotors along the flight drive, the others rest.
            climb: Climb angle [rad]; None for a glide.
        """
        loads = self.loads
        low, high, rest = loads.low.copy(), loads.high.copy(), (self.forward if winged else loads.idle).copy()
        cost = np.ones(len(low))
        if winged:
            free = self._deflects if climb is None else self._deflects | self.drives
            low[~free], high[~free] = rest[~free], rest[~free]
            cost[self.drives] = _CHEAP
        share = 0.5
        if not winged:
            # As in hover.
            share = min(math.sqrt(loads.weight / max(loads.largest_lift(), loads.weight)), 1.0)
        start = np.where(loads.is_joint, rest, np.clip(share * loads.high, low, high))
        if not winged and not self.drives.all():
            start[self.drives] = np.clip(0.1 * loads.high, low, high)[self.drives]
        climbs = (-1.4, 0.2) if climb is None else (climb, climb)
        alpha = self.alpha + 0.05 if winged else 0.0
        path = [alpha, 0.0, 0.0, -0.1 if climb is None else climb, 1.0, 0.0]
        return Search(
            low=np.concatenate([[alpha - 1.6, -0.5, -1.5, climbs[0], 1.0, -1.0], low / self.scale]),
            high=np.concatenate([[alpha + 1.6, 0.5, 1.5, climbs[1], 1.0, 1.0], high / self.scale]),
            start=np.concatenate([path, start / self.scale]),
            rest=np.concatenate([path, rest / self.scale]),
            cost=np.concatenate([[_CHEAP, 1.0, _CHEAP, _CHEAP, _CHEAP, _SIDE], cost]),
        )

    def _found(self, search: Search, airspeed: float, turn_rate: float) -> Found:
        gravity = self.loads.conditions.gravity

        def left(x: Array) -> Array:
            flight = self._flight(airspeed, x[:_PATH], turn_rate)
            linear, angular = self.loads.rates(flight, x[_PATH:] * self.scale)
            missing = np.concatenate([linear, angular * self._gyration]) / gravity
            turned = float(np.cross(flight.angular_velocity, flight.velocity)[1])
            return np.append(missing, missing[1] + flight.upward[1] + turned / gravity - x[5])

        x, residual = solved(left, search)
        flight = self._flight(airspeed, x[:_PATH], turn_rate)
        return Found(x[:_PATH], x[_PATH:] * self.scale, flight, residual)

    def largest_lift(self) -> float | None:
        """Return the largest lift of the surfaces by the squared airspeed, at which deflections hold moments.

        It is the first maximum up to 45 degrees from the axes of the surfaces; None if there is none.
        """
        if not self.loads.machine.surfaces:
            return None
        angles, lift = (self.alpha + _STALL_ANGLES).tolist(), [-math.inf]
        while len(lift) <= len(angles) and not lift[-1] < max(lift):
            lift.append(self.lift(angles[len(lift) - 1]))
        if not lift[-1] < max(lift):
            return None
        low, high = angles[max(len(lift) - 4, 0)], angles[len(lift) - 2]
        for _ in range(12):
            inner = low + (high - low) / 3.0, high - (high - low) / 3.0
            if self.lift(inner[0]) < self.lift(inner[1]):
                low = inner[0]
            else:
                high = inner[1]
        most = max(self.lift(low), self.lift(0.5 * (low + high)))
        return most if most > 0.0 else None

    def lift(self, alpha: float) -> float:
        """Return the lift by the squared airspeed [N s^2/m^2], -inf if deflections do not hold the moments.

        Args:
            alpha: Angle of attack [rad].
        """
        path = np.array([alpha, 0.0, 0.0, 0.0, 1.0, 0.0])
        flight = self._flight(_STALL_SPEED, path, 0.0)
        search = self._search(True, None)
        for bound in (search.low, search.high, search.start):
            bound[:_PATH] = path

        def moments(x: Array) -> Array:
            return self.loads.rates(flight, x[_PATH:] * self.scale)[1]

        x, left = solved(moments, search)
        if _size(left) > 1e-6:
            return -math.inf
        force = self.loads.surface_force(flight, x[_PATH:] * self.scale)
        return float(force @ body_from_path(path)[:, 2]) / _STALL_SPEED**2


def body_from_path(path: Array) -> Array:
    """Return the axes along, to the left of and above a flight as columns in the body frame, shape (3, 3).

    Args:
        path: Angle of attack, sideslip, and others; see `Search`.
    """
    sa, ca, sb, cb = math.sin(path[0]), math.cos(path[0]), math.sin(path[1]), math.cos(path[1])
    return np.array([[ca * cb, ca * sb, sa], [-sb, cb, 0.0], [-sa * cb, -sa * sb, ca]])


def path_from_world(path: Array) -> Array:
    """Return the world's axes, x that of the course, as columns in axes along, to the left and above.

    Args:
        path: Angle of attack, sideslip, bank, climb angle, and others; see `Search`.
    """
    s, c, sg, cg = math.sin(path[2]), math.cos(path[2]), math.sin(path[3]), math.cos(path[3])
    climbing = np.array([[cg, 0.0, -sg], [0.0, 1.0, 0.0], [sg, 0.0, cg]])
    banking = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    turned: Array = (climbing @ banking).T
    return turned


def solved(left: Callable[[Array], Array], search: Search) -> tuple[Array, Array]:
    """Return the solution of equations nearest to rest within bounds, and what is left of them.

    Newton's method with the step of least cost, by the pseudo-inverse of the Jacobian; unknowns that reach a
    bound stay there for the step. The Jacobian is updated by Broyden's formula, and found anew after a step
    that gained little.

    Args:
        left: Function of the unknowns, 0 where they solve the equations.
        search: Bounds and costs of the unknowns.
    """
    x = np.clip(search.start, search.low, search.high)
    value = left(x)
    jacobian, is_new = _jacobian(left, x, value, search), True
    for n in range(_MOST_STEPS):
        rest = search.rest if n < _COST_STEPS else x
        step = _step(jacobian, value, x, rest, search)
        size = float(np.abs(step).max())
        step *= min(1.0, _LONGEST_STEP / max(size, 1e-12))
        share = 1.0
        while True:
            trial = np.clip(x + share * step, search.low, search.high)
            new = left(trial)
            if _size(new) <= max((1.0 - 0.1 * share) * _size(value), _NEAR) or share < 0.1:
                break
            share *= 0.5
        before, after = _size(value), _size(new)
        # Near a solution only the cost falls; far from one a slow step means that there is none.
        slow = after > max(0.5 * before, _EXACT)
        if after <= max(before, _NEAR):
            change = trial - x
            error = new - value - jacobian @ change
            jacobian += np.outer(error, change) / max(float(change @ change), 1e-300)
            x, value = trial, new
        done = after < _EXACT and (size < 1e-6 or n >= _COST_STEPS)
        if done or (slow and is_new and after > max(0.98 * before, _NEAR)):
            break
        is_new = slow
        if slow:
            jacobian = _jacobian(left, x, value, search)
    return x, value


def _size(value: Array) -> float:
    return float(np.sqrt(value @ value))


def _jacobian(left: Callable[[Array], Array], x: Array, value: Array, search: Search) -> Array:
    """Return the derivatives by unknowns that are free, 0 by the others."""
    jacobian = np.zeros((len(value), len(x)))
    for k in np.flatnonzero(search.high > search.low):
        change = 1e-6 if x[k] + 1e-6 <= search.high[k] else -1e-6
        moved = x.copy()
        moved[k] += change
        jacobian[:, k] = (left(moved) - value) / change
    return jacobian


def _step(jacobian: Array, value: Array, x: Array, rest: Array, search: Search) -> Array:
    """Return the step of least cost that solves the linear equations within the bounds."""
    step, free = np.zeros(len(x)), search.high > search.low
    while free.any():
        toward: Array = (rest - x)[free]
        ease: Array = 1.0 / search.cost[free]
        missing = -value - jacobian[:, ~free] @ step[~free] - jacobian[:, free] @ toward
        whole = toward + ease * (np.linalg.pinv(jacobian[:, free] * ease, rcond=1e-9) @ missing)
        step[free] = np.clip(whole, search.low[free] - x[free], search.high[free] - x[free])
        beyond = np.abs(step[free] - whole) > 1e-12
        if not beyond.any():
            break
        free[np.flatnonzero(free)[beyond]] = False
    return step
