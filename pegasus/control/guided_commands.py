"""Commands of guided flight per copy: take-off, points, velocities, attitudes, body rates, hold, landing."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.base.elementary_arrays import acos
from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_euler
from pegasus.contracts.backend import Backend
from pegasus.contracts.state import VehicleState
from pegasus.control.command import Command
from pegasus.control.guided_mission import GuidedMission, Mode
from pegasus.core.multirotor import Multirotor
from pegasus.core.placement import Copies, chosen_copies, spawn_point_of

_DEEPEST = 1e4
"""Length of the ray that looks for ground [m]."""

_NEAR, _SLOW, _TURNED, _TURNING = 0.15, 0.15, 0.05, 0.15
"""Errors of position [m], velocity [m/s], attitude [rad] and rates [rad/s] at which a command is done."""


@dataclass(eq=False)
class GuidedCommands(Backend):
    """Mixin for backends that are flown by commands, which a `GuidedMission` carries out.

    A subclass keeps the missions: see `_mission_of_run` and `_begin_flight`.
    """

    _: KW_ONLY
    height: float = 1.5
    """Climb at take-off [m]."""
    speed: float = 3.0
    """Maximum speed towards a point [m/s]."""
    acceleration: float = 3.0
    """Maximum acceleration of the reference [m/s^2]."""

    _flyer: Multirotor | None = field(default=None, init=False, repr=False)
    """The vehicle, once the backend is bound."""
    _over = False

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
            self._begin_flight()
        return self._mission_of_run()

    @property
    def _flyer_name(self) -> str:
        return "vehicle" if self._flyer is None else self._flyer.name

    def _mission_of_run(self) -> GuidedMission:
        """Return the mission of the present run."""
        raise NotImplementedError

    def _begin_flight(self) -> None:
        """Make a new mission the present one."""
        raise NotImplementedError

    def _require_limits(self) -> None:
        for name, unit in (("height", "m"), ("speed", "m/s"), ("acceleration", "m/s^2")):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit}")

    def takeoff(self, *, height: float | None = None, copies: Copies = None) -> Command:
        """Take off, and hold above the start.

        Args:
            height: Climb [m]; the controller's `height` if None.
            copies: Copies that take off.

        Raises:
            ConfigError: If one of them has taken off already, or the height is not above 0 m.
        """
        mission, climb = self.guided, self.height if height is None else height
        require(0 < climb < math.inf, "height", climb, "must be above 0 m")
        mask = self._mask(copies)
        away = mask & (mission.flying | mission.rising)
        if away.any():
            name = self._flyer_name
            where = name if len(mask) == 1 or away.all() else f"{name}, copy {int(away.argmax())}"
            raise ConfigError("has taken off already", field=where, remedy="fly to a point by goto")
        mission.climb[mask] = climb
        mission.take_off(mask)
        return self._moving("takeoff", mask)

    def goto(
        self,
        point: npt.ArrayLike | str,
        *,
        yaw: npt.ArrayLike | None = None,
        speed: float | None = None,
        copies: Copies = None,
    ) -> Command:
        """Fly straight to a point, and hold there.

        Args:
            point: Point in the world [m], shape (3,), or one per copy, shape (M, 3); or the name of a spawn
                point, for the point `height` above it.
            yaw: Heading, counter-clockwise from east [rad], one or shape (M,); kept if None.
            speed: Maximum speed [m/s]; the controller's `speed` if None.
            copies: Copies M that fly.

        Raises:
            ConfigError: If a copy is not in the air, a value is not allowed, a point is underground, or no
                spawn point has the name.
        """
        mask = self._mask(copies)
        if isinstance(point, str):
            assert self._flyer is not None
            spot = spawn_point_of(point, self._flyer.manager.spawn_points)
            point = np.add(spot.position, (0.0, 0.0, self.height))
        target = rows_of_copies("point", point, mask, (3,))
        heading = np.nan if yaw is None else _angles("yaw", yaw, mask)
        limit = self.speed if speed is None else speed
        require(0 < limit < math.inf, "speed", limit, "must be above 0 m/s")
        self.guided.require_air(mask)
        self._require_above_ground(target, mask)
        self.guided.go_to(mask, target, speed=limit, yaw=heading)
        return self._moving("goto", mask, heading)

    def _require_above_ground(self, target: Array, mask: BoolArray) -> None:
        """Raise a ConfigError for a point below a copy with nothing beneath it: z is up."""
        if self._flyer is None:
            return
        places = self._flyer.state.position.copy()
        heights = places[:, 2].copy()
        places[mask] = target
        down = np.zeros_like(places)
        down[:, 2] = -1.0
        beneath = self._flyer.manager.cast(self._flyer, places, down, _DEEPEST).distance
        low = np.flatnonzero(mask & (places[:, 2] < heights) & np.isinf(beneath))
        if len(low):
            point = places[low[0]].tolist()
            raise ConfigError(
                "is below the ground", field="point", value=point, remedy="z is up: give a height above it"
            )

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
            copies: Copies M that fly.

        Raises:
            ConfigError: If a copy is not in the air, or a value is not allowed.
        """
        require(frame in ("world", "body"), "frame", frame, "must be world or body")
        mask = self._mask(copies)
        wanted, rate = (
            rows_of_copies("velocity", velocity, mask, (3,)),
            rows_of_copies("yaw_rate", yaw_rate, mask, ()),
        )
        self.guided.fly(mask, wanted, yaw_rate=rate, in_body=frame == "body")
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
            thrust: Thrust along the body's z axis [N], one or shape (M,); the weight if None.
            copies: Copies M that fly.

        Raises:
            ConfigError: If a copy is not in the air, or a value is not allowed.
        """
        mission, mask = self.guided, self._mask(copies)
        mission.require_air(mask)
        given = {"roll": roll, "pitch": pitch, "yaw": yaw}
        angles = {name: _angles(name, value, mask) for name, value in given.items() if value is not None}
        if yaw is None:
            assert mission.state is not None
            angles["yaw"] = mission.state.heading[mask]
        wanted = np.zeros((len(mask), 4))
        wanted[mask] = quaternion_from_euler(**angles)
        self._turn(Mode.ATTITUDE, mask, thrust, attitude=wanted[mask], rates=0.0)

        def lacking(state: VehicleState) -> Array:
            cosine = np.minimum(np.abs((state.orientation * wanted).sum(axis=1)), 1.0)
            return 2.0 * acos(cosine)

        return self._command("attitude", mask, lambda s: lacking(s) < _TURNED, lacking, "rad")

    def body_rates(
        self, rates: npt.ArrayLike, *, thrust: npt.ArrayLike | None = None, copies: Copies = None
    ) -> Command:
        """Turn at body rates, with a thrust, until the next command; nothing holds attitude or height.

        Args:
            rates: Angular velocity about the body's x, y and z axes [rad/s], shape (3,), or one per copy,
                shape (M, 3).
            thrust: Thrust along the body's z axis [N], one or shape (M,); the weight if None.
            copies: Copies M that fly.

        Raises:
            ConfigError: If a copy is not in the air, or a value is not allowed.
        """
        mask = self._mask(copies)
        wanted = np.zeros((len(mask), 3))
        wanted[mask] = rows_of_copies("rates", rates, mask, (3,))
        self._turn(Mode.BODY_RATES, mask, thrust, rates=wanted[mask])

        def lacking(state: VehicleState) -> Array:
            return length(state.angular_velocity - wanted)

        return self._command("body_rates", mask, lambda s: lacking(s) < _TURNING, lacking, "rad/s")

    def hold(self, *, copies: Copies = None) -> Command:
        """Hold the position; a take-off in progress is completed.

        Args:
            copies: Copies that hold.
        """
        mask = self._mask(copies)
        self.guided.hold(mask)
        return self._speeding("hold", mask)

    def land(self, *, copies: Copies = None) -> Command:
        """Descend until ground contact, then stop the rotors.

        Args:
            copies: Copies that land.
        """
        mission, mask = self.guided, self._mask(copies)
        mission.land(mask)

        def landed(state: VehicleState) -> BoolArray:
            return ~mission.flying

        return self._command("land", mask, landed, lambda s: s.position[:, 2], "m")

    def _reason(self, copy: int) -> str:
        """Return why a copy cannot do a command; empty if unknown."""
        return ""

    def _turn(
        self, mode: Mode, mask: BoolArray, thrust: npt.ArrayLike | None, **inputs: Array | float
    ) -> None:
        """Fly copies by attitude or body rates, if the backend can."""
        raise ConfigError(
            "follows positions and velocities only",
            field=type(self).__name__,
            remedy="use GuidedController or GuidedPIDController",
        )

    def _lift(self, mask: BoolArray, thrust: npt.ArrayLike | None, weight: Array, most: Array) -> Array:
        """Return the commanded thrust of the chosen copies [N].

        Args:
            mask: Which copies are chosen, shape (N,).
            thrust: Their thrust [N]; the weight if None.
            weight: Weight of all copies [N], shape (N,).
            most: Their largest thrust [N], shape (N,).
        """
        limit = float(most[mask].min())
        lift = weight[mask] if thrust is None else rows_of_copies("thrust", thrust, mask, ())
        fits = bool((lift >= 0).all() and (lift <= limit).all())
        require(fits, "thrust", thrust, f"must be from 0 to {limit:.4g} N")
        return lift

    def _moving(self, name: str, mask: BoolArray, heading: Array | float = np.nan) -> Command:
        mission = self.guided
        yaw = np.full(len(mask), np.nan)
        yaw[mask] = heading

        def distance(state: VehicleState) -> Array:
            return length(state.position - mission.target)

        def reached(state: VehicleState) -> BoolArray:
            slow = length(state.velocity) < _SLOW
            off = np.remainder(yaw - state.heading + math.pi, 2 * math.pi) - math.pi
            turned = np.isnan(yaw) | (np.abs(off) < _TURNED)
            done: BoolArray = mission.flying & slow & turned & (distance(state) < _NEAR)
            return done

        return self._command(name, mask, reached, distance, "m")

    def _speeding(self, name: str, mask: BoolArray) -> Command:
        mission = self.guided

        def lacking(state: VehicleState) -> Array:
            return length(state.velocity - mission.wanted)

        return self._command(name, mask, lambda s: lacking(s) < _SLOW, lacking, "m/s")

    def _command(
        self,
        name: str,
        mask: BoolArray,
        reached: Callable[[VehicleState], BoolArray],
        distance: Callable[[VehicleState], Array],
        unit: str,
    ) -> Command:
        return Command(name, self._flyer_name, self.guided, mask, reached, distance, unit, self._reason)

    def _mask(self, copies: Copies) -> BoolArray:
        """Return which copies are meant, shape (N,)."""
        mask = np.zeros(len(self.guided.order), dtype=bool)
        rows = chosen_copies(copies, len(mask))
        require(len(rows) > 0, "copies", copies, "names no copy")
        # The rows of points and velocities follow the copies.
        require(bool((np.diff(rows) > 0).all()), "copies", copies, "must be in rising order")
        mask[rows] = True
        return mask


def rows_of_copies(field: str, values: npt.ArrayLike, mask: BoolArray, shape: tuple[int, ...]) -> Array:
    """Return finite values with one row per chosen copy, or one for all.

    Args:
        field: Name of the argument.
        values: Its values.
        mask: Which copies are chosen, shape (N,).
        shape: Shape of a row.

    Raises:
        ConfigError: If the values are not of this form.
    """
    count = int(mask.sum())
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.full(1, np.nan)
    fits = rows.shape in (shape, (count, *shape)) and bool(np.isfinite(rows).all())
    one, each = shape or "()", (count, *shape)
    require(fits, field, values, f"must be finite numbers of shape {one}, or {each} for one row per copy")
    return rows


def _angles(field: str, values: npt.ArrayLike, mask: BoolArray) -> Array:
    """Return angles with one row per chosen copy, or one for all."""
    angles = rows_of_copies(field, values, mask, ())
    turns = bool((np.abs(angles) > 2 * math.pi).any())
    require(not turns, field, values, "must be in radians, -2 pi to 2 pi", "use math.radians")
    return angles


def length(vectors: Array) -> Array:
    """Return the lengths of vectors, shape (N, 3), as an array of shape (N,)."""
    norm: Array = np.sqrt((vectors * vectors).sum(axis=1))
    return norm
