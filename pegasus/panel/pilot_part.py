"""The panel's part for flying by hand: commands to the built-in controller, keyboard and gamepad."""

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np

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

_SPEED, _CLIMB, _TURN = 2.0, 1.0, math.radians(60.0)
_DEAD_ZONE = 0.1
_VALID_FOR = 0.5
"""A velocity that is not renewed within this wall time ends in a hover: its browser may be gone [s]."""


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
        x, y, z = clicked_point(self._session, origin, direction)
        followed = self._view.followed_vehicle(self._session.snapshot)
        height = 0.0 if followed is None else float(followed[0].position[followed[1], 2])
        point = np.array([x, y, max(height, z + 1.0)])
        self._command(lambda steering: steering.go_to(point))

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
        steering = self._command(lambda steering: steering.fly(np.array(velocity[:3]), velocity[3]))
        self._session.within("fly", _VALID_FOR, steering.release)

    def keys(self, pressed: Collection[str]) -> bool:
        """Fly as the keys say that are held down; none of them ends in a hover.

        Args:
            pressed: Keys that are held down.
        """
        return self._sticks(stick_positions(pressed))

    def gamepad(self, axes: Sequence[float]) -> bool:
        """Fly as the sticks of a gamepad say: the left one climbs and turns, the right one moves.

        Args:
            axes: Left x, left y, right x, right y, each from -1 to 1, y pointing down.
        """
        if len(axes) < 4:
            self.board.fail(ConfigError("must have four axes", field="gamepad", value=tuple(axes)))
            return False
        turn, climb, right, back = (0.0 if abs(v) < _DEAD_ZONE else max(-1.0, min(1.0, v)) for v in axes[:4])
        return self._sticks((-back, -right, -climb, -turn))

    def _sticks(self, sticks: tuple[float, float, float, float]) -> bool:
        forward, left, up, turn = sticks
        return self.fly(forward * _SPEED, left * _SPEED, up * _CLIMB, turn * _TURN)

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
