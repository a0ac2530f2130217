"""Search for the steady flight of a machine at an airspeed, climb angle and turn rate, and for its polar.

What decides a flight stands on it: there are no sums or functions whose bits depend on the processor.
"""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray, row_product
from pegasus.base.elementary_arrays import sine_and_cosine
from pegasus.base.step_math import Vec3, atan2, cos, cross, dot, sin
from pegasus.core.bounded_search import Search, size_of, solved
from pegasus.core.steady_loads import Conditions, Flight, SteadyLoads, array_of
from pegasus.model.machine import Machine

_PATH = 6
"""Unknowns before the commands, those of the path; see `SteadySearch._search`."""
_SPEEDS = (0.3, 5.0)
"""Range of airspeeds in which any flight is searched, by a guess."""
_FASTEST = 300.0
"""Airspeed up to which it is searched, about that of sound [m/s]."""
_CHEAP = 1e-3
"""Cost of unknowns that may take any value, by that of a deflection."""
_SIDE = 100.0
"""Cost of a side force by the weight."""
_HELD = 1e-6
"""Angular acceleration up to which moments are held [rad/s^2]."""
_STEADY = 1e-9
"""Accelerations by gravity up to which flight is steady."""
_ALONG = 0.5
"""Component of a rotor's axis along the flight from which the rotor drives an aircraft forward."""
_LOWEST, _HIGHEST, _COARSE = -0.3, 0.8, 0.02
"""Angles of attack from the axes of the surfaces at which the polar is looked for, and their steps [rad]."""
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_SECTIONS = 14
"""Golden sections by which the largest lift is narrowed down."""
_FROM_HOVER = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Shares of an airspeed at which it is approached from hover."""
_POLAR_SPEED = 10.0
"""Airspeed at which the polar is searched [m/s]; forces rise with the squared airspeed."""


@dataclass(frozen=True, eq=False)
class Found:
    """Unknowns of the flight that was found, and what is missing."""

    path: Array
    """Unknowns of the path; see `SteadySearch._search`; shape (6,)."""
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


@dataclass(frozen=True, eq=False)
class Balance:
    """Flight on the wings whose deflections hold the moments; forces are by dynamic pressure."""

    alpha: float
    """Angle of attack of the body's x axis [rad]."""
    lift: float
    """Lift [m^2]."""
    drag: float
    """Drag of surfaces and body [m^2]."""
    unknowns: Array
    """Path and commands, from which the next search begins, shape (6 + U,)."""


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
        ahead = Vec3(0.0, 0.0, 0.0) if machine.surfaces else Vec3(1.0, 0.0, 0.0)
        for surface in machine.surfaces:
            ahead = ahead + surface.x
        self.alpha = float(atan2(-ahead[2], ahead[0]))
        """Angle of attack of flight along the axes of the surfaces [rad]."""
        self.ahead = array_of(Vec3(cos(self.alpha), 0.0, -sin(self.alpha)))
        """Unit vector of this flight in the body frame, shape (3,)."""
        self._carriers = {e.joint for e in machine.elements if e.joint is not None}
        self.forward = loads.idle.copy()
        """Commands at rest with nacelles tilted forward, shape (U,)."""
        for k in self._carriers:
            self.forward[machine.joints[k].channel] = self._forward_angle(k)
        blades = {e.blade_joint for e in machine.elements if e.blade_joint is not None}
        carried = [machine.joints[k].channel for k in self._carriers | blades]
        self._deflects: BoolArray = loads.is_joint.copy()
        self._deflects[carried] = False
        self.drives: BoolArray = np.zeros(len(loads.low), dtype=bool)
        """True for the channels of rotors that drive along this flight, shape (U,)."""
        self.governed: BoolArray = np.zeros(len(loads.low), dtype=bool)
        """True for the channels of rotors with pitched blades, which keep their largest speed, shape (U,)."""
        self._pushes = self.drives.copy()
        for element in loads.posed(self.forward).elements:
            along = bool(dot(element.z, Vec3(*self.ahead.tolist())) > _ALONG)
            self.drives[element.channel] = along
            if element.blade_joint is not None:
                self.governed[element.channel] = True
                self._pushes[machine.joints[element.blade_joint].channel] = along
        self._pushes |= self.drives

    def _forward_angle(self, k: int) -> float:
        """Return the angle of a joint at which its rotors push most along the flight [rad]."""
        machine = self.loads.machine
        joint, ahead = machine.joints[k], Vec3(*self.ahead.tolist())
        along = across = 0.0
        for element in machine.elements:
            if element.joint == k:
                z, axis = element.z, joint.axis
                along += float(dot(z - axis * dot(axis, z), ahead))
                across += float(dot(cross(axis, z), ahead))
        best = float(atan2(across, along))
        low, high = self.loads.low[joint.channel], self.loads.high[joint.channel]
        angles = np.clip([best - 2.0 * math.pi, best, best + 2.0 * math.pi], low, high)
        sine, cosine = sine_and_cosine(angles)
        return float(angles[int((along * cosine + across * sine).argmax())])

    def _flight(self, airspeed: float, path: Array, turn_rate: float) -> Flight:
        upward = row_product(body_from_path(path), path_from_world(path))[:, 2]
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
            if best is None or size_of(found.left) < size_of(best.left):
                best = found
            if climb is None:
                break
        assert best is not None
        return best

    def at_any_speed(self) -> Found:
        """Return a level flight or a glide on the wings at any airspeed, or what comes next to it."""
        path = self._level(self.alpha + 0.1)
        lift, _ = self._lift_and_drag(path, self.forward)
        guess = self.speed_of(lift) if lift > 0.0 else _POLAR_SPEED
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
                if best is None or size_of(found.left) < size_of(best.left):
                    best = found
        assert best is not None
        return best

    def _search(self, winged: bool, climb: float | None) -> Search:
        """Return the bounds of a search.

        The unknowns are those of the path: angle of attack, sideslip, bank and climb angle [rad], the
        airspeed by a given one, and the side force by the weight, which coordinated flight is without; then
        the commands by channel over `scale`.

        Args:
            winged: Whether to fly on the wings: rotors along the flight drive, the others rest.
            climb: Climb angle [rad]; None for a glide.
        """
        loads = self.loads
        low, high, rest = loads.low.copy(), loads.high.copy(), (self.forward if winged else loads.idle).copy()
        cost = np.ones(len(low))
        if winged:
            free = self._deflects if climb is None else self._deflects | self._pushes
            low[~free], high[~free] = rest[~free], rest[~free]
            cost[self._pushes] = _CHEAP
        share = 0.5
        if not winged:
            # As in hover.
            share = min(math.sqrt(loads.weight / max(loads.largest_lift(), loads.weight)), 1.0)
        if not winged or climb is not None:
            kept = self.governed & (high > low)
            low[kept] = rest[kept] = high[kept]
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
            turned = float(cross(Vec3(*flight.angular_velocity.tolist()), Vec3(*flight.velocity.tolist()))[1])
            return np.append(missing, missing[1] + flight.upward[1] + turned / gravity - x[5])

        x, residual = solved(left, search)
        flight = self._flight(airspeed, x[:_PATH], turn_rate)
        return Found(x[:_PATH], x[_PATH:] * self.scale, flight, residual)

    def largest_lift(self) -> float | None:
        """Return the largest lift by dynamic pressure at which deflections hold the moments [m^2].

        It is the first maximum up to 0.8 rad from the axes of the surfaces; None if there is none.
        """
        rising = self._rising(self._deflects)
        return rising[-1].lift if rising and rising[-1].alpha < self.alpha + _HIGHEST - _COARSE else None

    def glides(self) -> bool:
        """Return whether the surfaces carry the machine at an airspeed at which moments are held."""
        rising = self._rising(self._deflects)
        return bool(rising) and self.speed_of(rising[-1].lift) < _FASTEST

    def speed_of(self, lift: float) -> float:
        """Return the airspeed at which a lift by dynamic pressure [m^2] carries the machine [m/s]."""
        return math.sqrt(2.0 * self.loads.weight / (self.loads.conditions.density * lift))

    def polar(self, deflects: BoolArray, count: int) -> list[Balance]:
        """Return flights at evenly spaced angles of attack, about from minus the largest lift to it.

        Args:
            deflects: True for the channels whose deflections hold the moments, shape (U,).
            count: Number of flights.
        """
        rising = self._rising(deflects)
        if not rising:
            return []
        alphas = np.linspace(rising[0].alpha, rising[-1].alpha, count).tolist()
        found, near = [], rising[0]
        for alpha in alphas[:-1]:
            here = self.balance(alpha, deflects, near)
            found += [near := here] if here else []
        return [*found, rising[-1]]

    def _rising(self, deflects: BoolArray) -> list[Balance]:
        """Return flights whose lift rises to the first maximum, or until deflections are at their limits."""
        rising: list[Balance] = []
        for alpha in (self.alpha + np.arange(_LOWEST, _HIGHEST, _COARSE)).tolist():
            found = self.balance(alpha, deflects, rising[-1] if rising else None)
            if found and not (rising and found.lift <= rising[-1].lift):
                rising.append(found)
            elif rising and rising[-1].lift > 0.0:
                break
            else:
                rising = []
        if not rising or rising[-1].lift <= 0.0:
            return []
        best = rising[-1]
        low, high = best.alpha - _COARSE, best.alpha + _COARSE
        for _ in range(_SECTIONS):
            # The better one of both inner points stays inside.
            left = best.alpha - low > high - best.alpha
            side = low if left else high
            alpha = best.alpha + (1.0 - _GOLDEN) * (side - best.alpha)
            found = self.balance(alpha, deflects, best)
            if found and found.lift > best.lift:
                low, high = (low, best.alpha) if left else (best.alpha, high)
                best = found
            else:
                low, high = (alpha, high) if left else (low, alpha)
        first = [flight for flight in rising if -best.lift < flight.lift < best.lift]
        return [*first, best]

    def balance(self, alpha: float, deflects: BoolArray, near: Balance | None) -> Balance | None:
        """Return the flight at an angle of attack whose deflections, nearest to rest, hold the moments.

        Args:
            alpha: Angle of attack [rad].
            deflects: True for the channels whose deflections hold the moments, shape (U,).
            near: Flight from which it is searched.
        """
        path = self._level(alpha)
        flight = self._flight(_POLAR_SPEED, path, 0.0)
        search = self._search(True, None)
        for bound in (search.low, search.high, search.start):
            bound[:_PATH] = path
        held = np.flatnonzero(~deflects) + _PATH
        search.low[held] = search.high[held] = search.rest[held]
        if near is not None:
            search.start[_PATH:] = near.unknowns[_PATH:]

        def moments(x: Array) -> Array:
            return self.loads.rates(flight, x[_PATH:] * self.scale)[1]

        x, left = solved(moments, search)
        if size_of(left) > _HELD:
            return None
        return Balance(alpha, *self._lift_and_drag(path, x[_PATH:] * self.scale), x)

    def _level(self, alpha: float) -> Array:
        return np.array([alpha, 0.0, 0.0, 0.0, 1.0, 0.0])

    def _lift_and_drag(self, path: Array, command: Array) -> tuple[float, float]:
        """Return lift and drag by dynamic pressure [m^2]."""
        force = self.loads.surface_force(self._flight(_POLAR_SPEED, path, 0.0), command)
        pressure = 0.5 * self.loads.conditions.density * _POLAR_SPEED**2
        drag, _, lift = (row_product(force, body_from_path(path)) * [-1.0, 1.0, 1.0] / pressure).tolist()
        return lift, drag


def body_from_path(path: Array) -> Array:
    """Return the axes along, to the left of and above a flight as columns in the body frame, shape (3, 3).

    Args:
        path: Angle of attack, sideslip, and others; see `SteadySearch._search`.
    """
    (sa, sb), (ca, cb) = sine_and_cosine(path[:2])
    return np.array([[ca * cb, ca * sb, sa], [-sb, cb, 0.0], [-sa * cb, -sa * sb, ca]])


def path_from_world(path: Array) -> Array:
    """Return the world's axes, x that of the course, as columns in axes along, to the left and above.

    Args:
        path: Angle of attack, sideslip, bank, climb angle, and others; see `SteadySearch._search`.
    """
    (s, sg), (c, cg) = sine_and_cosine(path[2:4])
    climbing = np.array([[cg, 0.0, -sg], [0.0, 1.0, 0.0], [sg, 0.0, cg]])
    banking = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    return row_product(climbing, banking).T
