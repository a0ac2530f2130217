"""Panel part for manual flight: commands to the built-in controller, keyboard and gamepad."""

import math
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.core.simulation import Playback, Simulation
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.panel.steering import ManualFlight, Steered, SteeredPlaneController
from pegasus.panel.vehicle_part import clicked_point
from pegasus.panel.view_part import ViewPart
from pegasus.session.session import Session

KEYS: dict[str, tuple[int, float]] = {
    "w": (0, 1.0),
    "s": (0, -1.0),
    "a": (1, 1.0),
    "d": (1, -1.0),
    "r": (2, 1.0),
    "f": (2, -1.0),
    "q": (3, 1.0),
    "e": (3, -1.0),
}
"""Axis (forward, left, up, turn) and sign of each key."""
TAKE_OFF_KEY, LAND_KEY = "t", "l"
BUTTONS = {0: TAKE_OFF_KEY, 1: LAND_KEY}
"""Keys equivalent to gamepad buttons, by number in the W3C standard layout."""

_SPEED, _CLIMB, _TURN = 2.0, 1.0, math.radians(60.0)
_DEAD_ZONE, _EXPO = 0.1, 0.3
_VALID_FOR = 0.5
"""Wall time after which the vehicle hovers unless a velocity is renewed: the browser may be gone [s]."""


class PilotInput(NamedTuple):
    """State of keyboard and gamepad."""

    keys: tuple[str, ...] = ()
    """Pressed keys."""
    axes: tuple[float, ...] = ()
    """Left x, left y, right x, right y of the sticks, -1 to 1, y pointing down; empty without a gamepad."""
    buttons: tuple[int, ...] = ()
    """Numbers of the pressed gamepad buttons."""

    @property
    def commands(self) -> set[str]:
        """Pressed keys for take-off and landing, including equivalent buttons."""
        keys = {key.lower() for key in self.keys} | {BUTTONS[b] for b in self.buttons if b in BUTTONS}
        return keys & {TAKE_OFF_KEY, LAND_KEY}


class PilotPart(Part):
    """Manual control of the followed vehicle.

    Args:
        board: Listeners and messages of the panel.
        session: Session that runs the simulation.
        view: View, which determines the followed vehicle.
    """

    def __init__(self, board: Board, session: Session, view: ViewPart) -> None:
        super().__init__(board)
        self._session, self._view = session, view
        self._pressed: frozenset[str] = frozenset()
        self._steers = False
        self._refused = ""

    @action(Topic.SIMULATION)
    def hover(self) -> None:
        """Hold the position; take off if on the ground."""
        self._command(lambda steering: steering.hover())

    @action(Topic.SIMULATION)
    def land(self) -> None:
        """Descend to the ground and stop the rotors."""
        self._command(lambda steering: steering.come_down())

    @action(Topic.SIMULATION)
    def go_to(self, x: float | str, y: float | str, z: float | str) -> None:
        """Fly to a point.

        Args:
            x: East [m].
            y: North [m].
            z: Up [m].
        """
        point = np.array([number("x", x), number("y", y), number("z", z)])
        self._command(lambda steering: steering.steer_to(point))

    @action(Topic.SIMULATION)
    def go_to_click(self, origin: tuple[float, float, float], direction: tuple[float, float, float]) -> None:
        """Fly above a point clicked in the view, at the current height above the world's origin.

        Args:
            origin: Origin of the ray through the click [m].
            direction: Direction of the ray.
        """
        self._fly_above(*clicked_point(self._session, origin, direction))

    @action(Topic.SIMULATION)
    def fly_above(self, x: float, y: float, z: float) -> None:
        """Fly above a point on the ground, at the current height above the world's origin.

        Args:
            x: East [m].
            y: North [m].
            z: Up [m].
        """
        self._fly_above(number("x", x), number("y", y), number("z", z))

    @action(Topic.SIMULATION)
    def fly(self, forward: float, left: float, up: float, turn: float) -> None:
        """Fly at a velocity, which must be renewed at least twice a second.

        Args:
            forward: Velocity along the heading [m/s].
            left: Velocity to the left of the heading [m/s].
            up: Vertical velocity [m/s].
            turn: Yaw rate, counter-clockwise [rad/s].
        """
        values = forward, left, up, turn
        velocity = [
            number(name, v) for name, v in zip(("forward", "left", "up", "turn"), values, strict=True)
        ]
        self._fly(np.array(velocity[:3]), velocity[3])

    @action(Topic.SIMULATION)
    def steer(
        self, keys: Collection[str] = (), axes: Sequence[float] = (), buttons: Collection[int] = ()
    ) -> None:
        """Fly by keyboard and gamepad; call repeatedly while inputs are active, and once after their release.

        The left stick climbs and turns, the right stick moves horizontally. Key T and button 0 take off or
        hover, key L and button 1 land. The vehicle hovers when all inputs are released, or after half a
        second without a call. A repeated error is reported once.

        Args:
            keys: Pressed keys.
            axes: Left x, left y, right x, right y of a gamepad, each from -1 to 1, y pointing down; empty
                without a gamepad.
            buttons: Numbers of its pressed buttons.
        """
        held = frozenset(key.lower() for key in keys) | {BUTTONS[b] for b in buttons if b in BUTTONS}
        pressed, self._pressed = held - self._pressed, held
        sticks = np.clip(np.add(stick_positions(held), gamepad_positions(axes)), -1.0, 1.0)
        try:
            self._apply_input(pressed, sticks.tolist())
        except ConfigError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                raise
            return
        if not held and not sticks.any():
            self._refused = ""

    def apply_inputs(self, inputs: Sequence[PilotInput]) -> None:
        """Fly by the newest of several inputs; keys that were pressed briefly in between still count."""
        newest = inputs[-1]
        tapped = set().union(*(earlier.commands for earlier in inputs[:-1])) - newest.commands
        if tapped:
            self.steer((*newest.keys, *sorted(tapped)), newest.axes, newest.buttons)
        self.steer(newest.keys, newest.axes, newest.buttons)

    def _fly_above(self, x: float, y: float, z: float) -> None:
        followed = self._view.followed_vehicle(self._session.snapshot)
        height = 0.0 if followed is None else float(followed[0].position[followed[1], 2])
        point = np.array([x, y, max(height, z + 1.0)])
        self._command(lambda steering: steering.steer_to(point))

    def _apply_input(self, pressed: Collection[str], sticks: Sequence[float]) -> None:
        if LAND_KEY in pressed:
            self._command(lambda steering: steering.come_down())
        elif TAKE_OFF_KEY in pressed:
            self._command(lambda steering: steering.hover())
        elif any(sticks):
            forward, left, up, turn = sticks
            velocity = np.array([forward * _SPEED, left * _SPEED, up * _CLIMB])
            self._fly(velocity, turn * _TURN)
            self._steers = True
        elif self._steers:
            self._steers = False
            # The vehicle may have been removed, or the run may be over.
            with suppress(ConfigError):
                self._command(lambda steering: steering.release())

    def _fly(self, velocity: Array, turn: float) -> None:
        steering = self._command(lambda steering: steering.steer_at(velocity, turn))
        self._session.set_timeout("fly", _VALID_FOR, steering.release)

    def _command(self, command: Callable[[ManualFlight], None]) -> ManualFlight:
        """Send a command to the followed vehicle, and return its steering."""

        def give(simulation: Simulation) -> ManualFlight:
            followed = self._view.followed_vehicle(self._session.snapshot)
            if followed is None:
                raise ConfigError("there is no vehicle", field="vehicle", remedy="add one first")
            name = followed[0].name
            kinds = (Steered, SteeredPlaneController)
            pilots = [backend for backend in simulation.vehicles[name].backends if isinstance(backend, kinds)]
            if not pilots:
                raise ConfigError(
                    "cannot be steered manually",
                    field="vehicle",
                    value=name,
                    remedy="add one with the built-in backend and the flight steer",
                )
            if simulation.playback is Playback.STOPPED:
                raise ConfigError("is not running", field="simulation", remedy="press play first")
            command(pilots[0].steering)
            return pilots[0].steering

        return self._session.call(give)


def stick_positions(pressed: Collection[str]) -> tuple[float, float, float, float]:
    """Return the stick positions forward, left, up and turn, -1 to 1 each, of pressed keys.

    Args:
        pressed: Pressed keys; those not in `KEYS` are ignored.
    """
    sticks = [0.0, 0.0, 0.0, 0.0]
    for key in {key.lower() for key in pressed} & KEYS.keys():
        axis, side = KEYS[key]
        sticks[axis] += side
    return sticks[0], sticks[1], sticks[2], sticks[3]


def gamepad_positions(axes: Sequence[float]) -> tuple[float, float, float, float]:
    """Return the stick positions forward, left, up and turn, -1 to 1 each, of a gamepad.

    Args:
        axes: Left x, left y, right x, right y, y pointing down; empty without a gamepad.

    Raises:
        ConfigError: If there are one to three axes, or they are not finite.
    """
    if not axes:
        return 0.0, 0.0, 0.0, 0.0
    if len(axes) < 4 or not np.isfinite(axes).all():
        raise ConfigError("must have four axes", field="gamepad", value=tuple(axes))
    turn, climb, right, back = (stick_response(axis) for axis in axes[:4])
    return -back, -right, -climb, -turn


def stick_response(position: float, *, dead_zone: float = _DEAD_ZONE, expo: float = _EXPO) -> float:
    """Return the command of a stick, -1 to 1, with dead zone and exponential response.

    (1 - e) x + e x^3, with x the deflection beyond the dead zone: the usual expo of remote controls.

    Args:
        position: Deflection of the stick, clipped to -1 to 1.
        dead_zone: Deflection without effect, 0 to below 1.
        expo: Expo e, 0 (linear) to 1.
    """
    deflection = max(0.0, min(1.0, abs(position)) - dead_zone) / (1.0 - dead_zone)
    return math.copysign((1.0 - expo) * deflection + expo * deflection**3, position)
