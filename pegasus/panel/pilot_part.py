"""The panel's part for flying by hand: commands to the built-in controller, keyboard and gamepad."""

import math
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.panel.session import Session
from pegasus.panel.steering import Steered, Steering
from pegasus.panel.vehicle_part import clicked_point
from pegasus.panel.view_part import ViewPart
from pegasus.simulation import Playback, Simulation

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
"""Which of forward, left, up and turn a key moves, and to which side."""
TAKE_OFF_KEY, LAND_KEY = "t", "l"
BUTTONS = {0: TAKE_OFF_KEY, 1: LAND_KEY}
"""Keys that buttons of a gamepad stand for, by their numbers in the W3C's standard layout."""

_SPEED, _CLIMB, _TURN = 2.0, 1.0, math.radians(60.0)
_DEAD_ZONE, _EXPO = 0.1, 0.3
_VALID_FOR = 0.5
"""A velocity that is not renewed within this wall time ends in a hover: its browser may be gone [s]."""


class Held(NamedTuple):
    """What is held down of keyboard and gamepad."""

    keys: tuple[str, ...] = ()
    """Keys."""
    axes: tuple[float, ...] = ()
    """Left x, left y, right x, right y of its sticks, -1 to 1, y pointing down; none without a gamepad."""
    buttons: tuple[int, ...] = ()
    """Buttons of the gamepad, by their numbers."""

    @property
    def commands(self) -> set[str]:
        """Keys that command something when they are pressed, those that buttons stand for included."""
        keys = {key.lower() for key in self.keys} | {BUTTONS[b] for b in self.buttons if b in BUTTONS}
        return keys & {TAKE_OFF_KEY, LAND_KEY}


class PilotPart(Part):
    """Fly the followed vehicle by hand.

    Args:
        board: What all parts share.
        session: Runs the simulation.
        view: Knows which vehicle is followed.
    """

    def __init__(self, board: Board, session: Session, view: ViewPart) -> None:
        super().__init__(board)
        self._session, self._view = session, view
        self._pressed: frozenset[str] = frozenset()
        self._steers = False
        self._refused = ""

    @action(Topic.SIMULATION)
    def hover(self) -> None:
        """Stay where it is; take off if it stands."""
        self._command(lambda steering: steering.hover())

    @action(Topic.SIMULATION)
    def land(self) -> None:
        """Sink to the ground and stop the rotors."""
        self._command(lambda steering: steering.land())

    @action(Topic.SIMULATION)
    def go_to(self, x: float | str, y: float | str, z: float | str) -> None:
        """Fly to a point.

        Args:
            x: East [m].
            y: North [m].
            z: Up [m].
        """
        point = np.array([number("x", x), number("y", y), number("z", z)])
        self._command(lambda steering: steering.go_to(point))

    @action(Topic.SIMULATION)
    def go_to_click(self, origin: tuple[float, float, float], direction: tuple[float, float, float]) -> None:
        """Fly over a point that was clicked at, at the present height above the world's origin.

        Args:
            origin: Where the ray through the click starts [m].
            direction: Its direction.
        """
        self._go_over(*clicked_point(self._session, origin, direction))

    @action(Topic.SIMULATION)
    def go_over(self, x: float, y: float, z: float) -> None:
        """Fly over a point of the ground, at the present height above the world's origin.

        Args:
            x: East [m].
            y: North [m].
            z: Up [m].
        """
        self._go_over(number("x", x), number("y", y), number("z", z))

    @action(Topic.SIMULATION)
    def fly(self, forward: float, left: float, up: float, turn: float) -> None:
        """Fly at a velocity, which is to be renewed at least twice a second.

        Args:
            forward: Velocity along the heading [m/s].
            left: To its left [m/s].
            up: Upwards [m/s].
            turn: Rate of the heading, counter-clockwise [rad/s].
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
        """Fly as keyboard and gamepad say; to be called while they are held, and once when they are let go.

        The left stick climbs and turns, the right one moves. Key T and button 0 take off or hover, key L and
        button 1 land. Nothing held any more ends in a hover at once, no call for half a second as well. What
        cannot be done is reported once, not over and over.

        Args:
            keys: Keys that are held down.
            axes: Left x, left y, right x, right y of a gamepad, each from -1 to 1, y pointing down; none
                where there is no gamepad.
            buttons: Numbers of its buttons that are held down.
        """
        held = frozenset(key.lower() for key in keys) | {BUTTONS[b] for b in buttons if b in BUTTONS}
        pressed, self._pressed = held - self._pressed, held
        sticks = np.clip(np.add(stick_positions(held), gamepad_positions(axes)), -1.0, 1.0)
        try:
            self._obey(pressed, sticks.tolist())
        except ConfigError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                raise
            return
        if not held and not sticks.any():
            self._refused = ""

    def catch_up(self, held: Sequence[Held]) -> None:
        """Fly as the newest of several words says; no command that was only tapped on the way is lost.

        Args:
            held: What was held, one after the other, since the last call.
        """
        newest = held[-1]
        tapped = set().union(*(word.commands for word in held[:-1])) - newest.commands
        if tapped:
            self.steer((*newest.keys, *sorted(tapped)), newest.axes, newest.buttons)
        self.steer(newest.keys, newest.axes, newest.buttons)

    def _go_over(self, x: float, y: float, z: float) -> None:
        followed = self._view.followed_vehicle(self._session.snapshot)
        height = 0.0 if followed is None else float(followed[0].position[followed[1], 2])
        point = np.array([x, y, max(height, z + 1.0)])
        self._command(lambda steering: steering.go_to(point))

    def _obey(self, pressed: Collection[str], sticks: Sequence[float]) -> None:
        if LAND_KEY in pressed:
            self._command(lambda steering: steering.land())
        elif TAKE_OFF_KEY in pressed:
            self._command(lambda steering: steering.hover())
        elif any(sticks):
            forward, left, up, turn = sticks
            velocity = np.array([forward * _SPEED, left * _SPEED, up * _CLIMB])
            self._fly(velocity, turn * _TURN)
            self._steers = True
        elif self._steers:
            self._steers = False
            # A vehicle that is gone, or a run that is over, has nothing left to let go of.
            with suppress(ConfigError):
                self._command(lambda steering: steering.release())

    def _fly(self, velocity: Array, turn: float) -> None:
        steering = self._command(lambda steering: steering.fly(velocity, turn))
        self._session.within("fly", _VALID_FOR, steering.release)

    def _command(self, command: Callable[[Steering], None]) -> Steering:
        """Give a command to the followed vehicle, and return what took it."""

        def give(simulation: Simulation) -> Steering:
            followed = self._view.followed_vehicle(self._session.snapshot)
            if followed is None:
                raise ConfigError("there is no vehicle", field="vehicle", remedy="add one first")
            name = followed[0].name
            pilots = [b for b in simulation.vehicles[name].backends if isinstance(b, Steered)]
            if not pilots:
                raise ConfigError(
                    "is not steered by hand",
                    field="vehicle",
                    value=name,
                    remedy="add one with the built-in backend and the flight steer",
                )
            if simulation.playback is Playback.STOPPED:
                raise ConfigError("does not run", field="simulation", remedy="press play first")
            command(pilots[0].steering)
            return pilots[0].steering

        return self._session.call(give)


def stick_positions(pressed: Collection[str]) -> tuple[float, float, float, float]:
    """Return how far forward, left, up and turn are pushed, -1 to 1 each.

    Args:
        pressed: Keys that are held down; others than those of `KEYS` count for nothing.
    """
    sticks = [0.0, 0.0, 0.0, 0.0]
    for key in {key.lower() for key in pressed} & KEYS.keys():
        axis, side = KEYS[key]
        sticks[axis] += side
    return sticks[0], sticks[1], sticks[2], sticks[3]


def gamepad_positions(axes: Sequence[float]) -> tuple[float, float, float, float]:
    """Return how far a gamepad pushes forward, left, up and turn, -1 to 1 each.

    Args:
        axes: Left x, left y, right x, right y, y pointing down; none where there is no gamepad.

    Raises:
        ConfigError: If there are some, and fewer than four, or they are no numbers.
    """
    if not axes:
        return 0.0, 0.0, 0.0, 0.0
    if len(axes) < 4 or not np.isfinite(axes).all():
        raise ConfigError("must have four axes", field="gamepad", value=tuple(axes))
    turn, climb, right, back = (stick_response(axis) for axis in axes[:4])
    return -back, -right, -climb, -turn


def stick_response(position: float, *, dead_zone: float = _DEAD_ZONE, expo: float = _EXPO) -> float:
    """Return what a stick asks for, -1 to 1: nothing near its middle, little beside it, all at its end.

    It is (1 - e) x + e x^3 of the position x beyond the dead zone, the usual exponential of remote controls.

    Args:
        position: Where the stick is, -1 to 1; what is beyond counts as its end.
        dead_zone: Part of the way that counts for nothing, below 1.
        expo: How much the middle is flattened, 0 for not at all, to 1.
    """
    way = max(0.0, min(1.0, abs(position)) - dead_zone) / (1.0 - dead_zone)
    return math.copysign((1.0 - expo) * way + expo * way**3, position)
