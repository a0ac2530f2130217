"""Commands of guided flight per copy: take-off, points, velocities, attitudes, body rates, hold, landing."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.base.elementary_arrays import acos
from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_euler
from pegasus.contracts.backend import Backend
from pegasus.contracts.state import VehicleState
from pegasus.contracts.trajectory import unit_attitude
from pegasus.contracts.vehicle import Vehicle
from pegasus.control.copy_values import angles_of_copies, length_of, rows_of_copies
from pegasus.control.full_pose import ALONG_Z, require_pose
from pegasus.control.guided_mission import GuidedMission
from pegasus.control.guided_step import ATTITUDE, BODY_RATES, TARGET, VELOCITY
from pegasus.core.aircraft import Aircraft, as_aircraft
from pegasus.core.placement import Copies, chosen_copies, spawn_point_of
from pegasus.core.simulation import Simulation

_DEEPEST = 1e4
"""Length of the ray that looks for ground [m]."""

_NEAR, _SLOW, _TURNED, _TURNING = 0.15, 0.15, 0.05, 0.15
"""Errors of position [m], velocity [m/s], attitude [rad] and rates [rad/s] at which a command is done."""


class Command:
    """A command in progress, which scripts may wait for.

    Args:
        pilot: Backend that carries it out.
        name: Name of the command.
        copies: Copies that it is for, shape (N,).
        lacking: Returns what each copy still lacks, in `unit`, shape (N,).
        unit: Unit of what they lack.
        reached: Returns which copies have done it, shape (N,), or what one that has done it lacks at most.
    """

    def __init__(
        self,
        pilot: "GuidedCommands",
        name: str,
        copies: BoolArray,
        lacking: Callable[[VehicleState], Array],
        unit: str,
        reached: Callable[[VehicleState], BoolArray] | float,
    ) -> None:
        self._pilot, self._name, self._copies = pilot, name, copies
        self._lacking, self._unit, self._reached = lacking, unit, reached
        self._mission = pilot.guided
        self._order, self._time = self._mission.order.copy(), self._mission.time

    @property
    def done(self) -> BoolArray:
        """Copies that have done it at the last step, shape (N,); true for copies that it is not for."""
        state, reached = self._mission.state, self._reached
        # Until the next update the reference still follows the command before.
        if state is None or self._mission.time == self._time:
            return ~self._copies
        found = reached(state) if callable(reached) else self._lacking(state) < reached
        return ~self._copies | found

    def wait(self, sim: Simulation, *, timeout: float = 60.0) -> None:
        """Step the simulation until all copies have done it.

        Args:
            sim: The vehicle's simulation; not to be called from one of its observers or backends.
            timeout: Limit in simulated time [s].

        Raises:
            TimeoutError: If it is not done in time.
            ConfigError: If another command replaces it.
            RuntimeError: If called within a step, or while another thread runs the simulation.
        """
        sim.stepper.require_free()
        require(0 < timeout < math.inf, "timeout", timeout, "must be above 0 s")
        end = sim.time + timeout
        while not (done := self.done).all():
            if (self._order != self._mission.order)[self._copies].any():
                raise ConfigError("was replaced by a later command", field=self._name)
            if sim.time >= end:
                copy, state = int(done.argmin()), self._mission.state
                lacks = "" if state is None else f", {self._lacking(state)[copy]:.3g} {self._unit} away"
                reason = self._pilot.reason(copy)
                raise TimeoutError(
                    f"{self._name}: {self._pilot.flyer_name}, copy {copy}, is not done after {timeout:g} s"
                    f"{lacks}{reason and f': {reason}'}"
                )
            sim.step()


@dataclass(eq=False)
class GuidedCommands(Backend):
    """Mixin for backends that are flown by commands, which a `GuidedMission` carries out.

    Each command is for some copies M of the vehicle, all of them by default, and its values are for all of
    them or have one row for each. One that flies somewhere raises a ConfigError if a copy is not in the air,
    or a value is not allowed. A thrust is along the body's z axis [N], by default the weight.
    """

    _: KW_ONLY
    height: float = 1.5
    """Climb at take-off [m]."""
    speed: float = 3.0
    """Maximum speed towards a point [m/s]."""
    acceleration: float = 3.0
    """Maximum acceleration of the reference [m/s^2]."""

    mission: Any = field(init=False, repr=False)
    """The `GuidedMission` of the present run."""
    _flyer: Aircraft | None = field(default=None, init=False, repr=False)
    """The vehicle, once the backend is bound."""
    _over = False

    def bind(self, vehicle: Vehicle) -> None:
        """Prepare for a vehicle; see `Backend.bind`."""
        super().bind(vehicle)
        self._flyer = as_aircraft(vehicle)

    def start(self) -> None:
        """Start on the ground; commands given before the first step are kept."""
        self._over = False
        super().start()

    def stop(self) -> None:
        """End the run; later commands are for the next one."""
        self._over = True
        super().stop()

    @property
    def guided(self) -> GuidedMission:
        """Mission that takes the commands: that of the run, or after its end that of the next one."""
        if self._over:
            self._over = False
            self.renew_mission(len(self.mission.order))
        mission: GuidedMission = self.mission
        return mission

    @property
    def flyer_name(self) -> str:
        """Name of the vehicle."""
        return "vehicle" if self._flyer is None else self._flyer.name

    def renew_mission(self, count: int) -> None:
        """Make a new mission of N vehicles the present one."""
        raise NotImplementedError

    def reason(self, copy: int) -> str:
        """Return why a copy cannot do a command; empty if unknown."""
        return ""

    def thrust_limits(self) -> tuple[Array, Array]:
        """Return the weight and the largest thrust of each copy [N], shape (N,).

        Raises:
            ConfigError: If the backend cannot fly by attitude or body rates.
        """
        raise ConfigError(
            "follows positions and velocities only",
            field=type(self).__name__,
            remedy="use GuidedController or GuidedPIDController",
        )

    def require_attitudes(self, field: str) -> None:
        """Raise a ConfigError unless the vehicle can hold an attitude apart from its force.

        Args:
            field: What asks for an attitude.
        """
        require_pose(field, ALONG_Z, "", type(self).__name__, able=False)

    def pose_excess(self, attitude: Array) -> Array:
        """Return how far attitudes (N, 4) are turned towards the vertical for want of lateral force [rad]."""
        return np.zeros(len(attitude))

    def _require_limits(self) -> None:
        for name, unit in (("height", "m"), ("speed", "m/s"), ("acceleration", "m/s^2")):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit}")

    def takeoff(self, *, height: float | None = None, copies: Copies = None) -> Command:
        """Take off, and hold above the start.

        Args:
            height: Climb [m]; the controller's `height` if None.
            copies: Copies M; all if None.

        Raises:
            ConfigError: If one of them has taken off already, or the height is not above 0 m.
        """
        mission, climb = self.guided, self.height if height is None else height
        require(0 < climb < math.inf, "height", climb, "must be above 0 m")
        mask = self._mask(copies)
        away = mask & (mission.flying | mission.rising)
        if away.any():
            name = self.flyer_name
            where = name if len(mask) == 1 or away.all() else f"{name}, copy {int(away.argmax())}"
            raise ConfigError("has taken off already", field=where, remedy="fly to a point by goto")
        mission.take_off(mask, climb=climb)
        return self._moving("takeoff", mask)

    def goto(
        self,
        point: npt.ArrayLike | str,
        *,
        yaw: npt.ArrayLike | None = None,
        attitude: npt.ArrayLike | None = None,
        speed: float | None = None,
        copies: Copies = None,
    ) -> Command:
        """Fly straight to a point, and hold there.

        A vehicle whose rotors push sideways turns to an attitude at up to 1 rad/s, and keeps it until the
        next `goto` or a landing.

        Args:
            point: Point in the world [m], shape (3,), or one per copy, shape (M, 3), none underground; or the
                name of a spawn point, for the point `height` above it.
            yaw: Heading, counter-clockwise from east [rad], one or shape (M,); kept if None.
            attitude: Roll, pitch and yaw [rad], shape (3,), or a unit quaternion xyzw, body to world, shape
                (4,), or one per copy; that of flight without one if None.
            speed: Maximum speed [m/s]; the controller's `speed` if None.
            copies: Copies M; all if None.
        """
        mask = self._mask(copies)
        if isinstance(point, str):
            assert self._flyer is not None
            spot = spawn_point_of(point, self._flyer.manager.spawn_points)
            point = np.add(spot.position, (0.0, 0.0, self.height))
        target = rows_of_copies("point", point, mask, (3,))
        heading = math.nan if yaw is None else angles_of_copies("yaw", yaw, mask)
        pose: Array | float = 0.0
        if attitude is not None:
            require(yaw is None, "yaw", yaw, "must be left out: an attitude has a heading")
            self.require_attitudes("goto")
            pose = rows_of_copies("attitude", unit_attitude("attitude", attitude), mask, (4,))
        limit = self.speed if speed is None else speed
        require(0 < limit < math.inf, "speed", limit, "must be above 0 m/s")
        self.guided.require_air(mask)
        self._require_above_ground(target, mask)
        self.guided.direct(mask, TARGET, target=target, speed=limit, heading=heading, pose=pose)
        return self._moving("goto", mask)

    def velocity(
        self,
        velocity: npt.ArrayLike,
        *,
        yaw_rate: npt.ArrayLike = 0.0,
        frame: str = "world",
        copies: Copies = None,
    ) -> Command:
        """Fly at a velocity until the next command.

        Args:
            velocity: Velocity [m/s], shape (3,), or one per copy, shape (M, 3).
            yaw_rate: Yaw rate, counter-clockwise [rad/s], one or shape (M,).
            frame: `world` (east, north, up), or `body` (forward, left, up, relative to the heading).
            copies: Copies M; all if None.
        """
        require(frame in ("world", "body"), "frame", frame, "must be world or body")
        mask = self._mask(copies)
        wanted = rows_of_copies("velocity", velocity, mask, (3,))
        rate = rows_of_copies("yaw_rate", yaw_rate, mask, ())
        in_body = float(frame == "body")
        self.guided.direct(mask, VELOCITY, velocity=wanted, yaw_rate=rate, in_body=in_body, heading=math.nan)
        return self._speeding("velocity", mask)

    def attitude(
        self,
        *,
        roll: npt.ArrayLike = 0.0,
        pitch: npt.ArrayLike = 0.0,
        yaw: npt.ArrayLike | None = None,
        thrust: npt.ArrayLike | None = None,
        copies: Copies = None,
    ) -> Command:
        """Fly at an attitude and a thrust until the next command; nothing holds the height.

        Args:
            roll: Roll, right side down [rad], one or shape (M,).
            pitch: Pitch, nose down [rad], one or shape (M,).
            yaw: Heading, counter-clockwise from east [rad], one or shape (M,); the present one if None.
            thrust: Thrust, one or shape (M,).
            copies: Copies M; all if None.
        """
        mission, mask = self.guided, self._mask(copies)
        mission.require_air(mask)
        given = {"roll": roll, "pitch": pitch, "yaw": yaw}
        angles = {
            name: angles_of_copies(name, value, mask) for name, value in given.items() if value is not None
        }
        if yaw is None:
            assert mission.state is not None
            angles["yaw"] = mission.state.heading[mask]
        self._turn(ATTITUDE, mask, thrust, attitude=quaternion_from_euler(**angles), rates=0.0)

        def lacking(state: VehicleState) -> Array:
            cosine = np.abs((state.orientation * mission.columns["attitude"]).sum(axis=1))
            return 2.0 * acos(np.minimum(cosine, 1.0))

        return Command(self, "attitude", mask, lacking, "rad", _TURNED)

    def body_rates(
        self, rates: npt.ArrayLike, *, thrust: npt.ArrayLike | None = None, copies: Copies = None
    ) -> Command:
        """Turn at body rates, with a thrust, until the next command; nothing holds attitude or height.

        Args:
            rates: Angular velocity about the body's x, y and z axes [rad/s], shape (3,), or one per copy,
                shape (M, 3).
            thrust: Thrust, one or shape (M,).
            copies: Copies M; all if None.
        """
        mission, mask = self.guided, self._mask(copies)
        self._turn(BODY_RATES, mask, thrust, rates=rows_of_copies("rates", rates, mask, (3,)))

        def lacking(state: VehicleState) -> Array:
            return length_of(state.angular_velocity - mission.columns["rates"])

        return Command(self, "body_rates", mask, lacking, "rad/s", _TURNING)

    def hold(self, *, copies: Copies = None) -> Command:
        """Hold the position; a take-off in progress is completed."""
        mask = self._mask(copies)
        self.guided.hold(mask)
        return self._speeding("hold", mask)

    def land(self, *, copies: Copies = None) -> Command:
        """Descend until ground contact, then stop the rotors."""
        mission, mask = self.guided, self._mask(copies)
        mission.land(mask)
        return Command(self, "land", mask, lambda s: s.position[:, 2], "m", lambda _: ~mission.flying)

    def _turn(
        self, directive: float, mask: BoolArray, thrust: npt.ArrayLike | None, **values: Array | float
    ) -> None:
        """Fly copies by attitude or body rates, if the backend can."""
        self.guided.require_air(mask)
        weight, most = self.thrust_limits()
        limit = float(most[mask].min())
        lift = weight[mask] if thrust is None else rows_of_copies("thrust", thrust, mask, ())
        fits = bool((lift >= 0).all() and (lift <= limit).all())
        require(fits, "thrust", thrust, f"must be from 0 to {limit:.4g} N")
        self.guided.direct(mask, directive, lift=lift, **values)

    def _require_above_ground(self, target: Array, mask: BoolArray) -> None:
        """Raise a ConfigError for a point below a copy with nothing beneath it: z is up."""
        if self._flyer is None:
            return
        places, heights = self._flyer.state.position.copy(), self._flyer.state.position[:, 2]
        places[mask] = target
        down = np.tile([0.0, 0.0, -1.0], (len(places), 1))
        beneath = self._flyer.manager.cast(self._flyer, places, down, _DEEPEST).distance
        low = np.flatnonzero(mask & (places[:, 2] < heights) & np.isinf(beneath))
        for point in places[low[:1]].tolist():
            require(False, "point", point, "is below the ground", "z is up: give a height above it")

    def _moving(self, name: str, mask: BoolArray) -> Command:
        mission = self.guided

        def distance(state: VehicleState) -> Array:
            return length_of(state.position - mission.columns["target"])

        def reached(state: VehicleState) -> BoolArray:
            off = np.remainder(mission.columns["heading"] - state.heading + math.pi, 2 * math.pi) - math.pi
            slow = length_of(state.velocity) < _SLOW
            pose = mission.columns["pose"]
            cosine = np.where(pose.any(axis=1), np.abs((state.orientation * pose).sum(axis=1)), 1.0)
            leaning = 2.0 * acos(np.minimum(cosine, 1.0)) < _TURNED + self.pose_excess(pose)
            done: BoolArray = mission.flying & slow & (distance(state) < _NEAR) & ~(np.abs(off) >= _TURNED)
            return done & leaning

        return Command(self, name, mask, distance, "m", reached)

    def _speeding(self, name: str, mask: BoolArray) -> Command:
        mission = self.guided

        def lacking(state: VehicleState) -> Array:
            return length_of(state.velocity - mission.columns["wanted"])

        return Command(self, name, mask, lacking, "m/s", _SLOW)

    def _mask(self, copies: Copies) -> BoolArray:
        """Return which copies are meant, shape (N,)."""
        mask = np.zeros(len(self.guided.order), dtype=bool)
        rows = chosen_copies(copies, len(mask))
        require(len(rows) > 0, "copies", copies, "names no copy")
        # The rows of points and velocities follow the copies.
        require(bool((np.diff(rows) > 0).all()), "copies", copies, "must be in rising order")
        mask[rows] = True
        return mask
