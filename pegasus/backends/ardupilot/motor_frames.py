"""Multicopter frames of ArduPilot, and the selection of the frame that matches a vehicle's rotors."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.backends.mavlink.airframe import OutputMap, rotor_effects
from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.contracts.vehicle import Rotorcraft

_log = logging.getLogger(__name__)

_CLASS, _TYPE = "FRAME_CLASS", "FRAME_TYPE"
_TOLERANCE = 15.0
"""Maximum angle between a rotor and its motor [deg]. Roll and pitch commands then act about axes that are off
by up to this angle, which reduces the phase margin by as much. It is half the angle between the hexarotors
plus and X."""
_WRONG_SENSE = 20.0
"""Cost of a wrong sense of rotation in the search for the nearest frame [deg]."""
_MIN_UPRIGHT = 0.3
"""Minimum z component of a rotor's axis: ArduPilot assumes that every motor lifts."""


@dataclass(frozen=True)
class Frame:
    """Motors of a frame in the order of ArduPilot's outputs."""

    frame_class: int
    """FRAME_CLASS."""
    frame_type: int
    """FRAME_TYPE."""
    name: str
    senses: str
    """Sense of each motor: + for counter-clockwise, - for clockwise."""
    angles: tuple[float, ...]
    """Directions of the motors by `scaled_angles` [deg]."""

    def __str__(self) -> str:
        return f"{self.name} ({_CLASS} {self.frame_class}, {_TYPE} {self.frame_type})"


class FrameFit(NamedTuple):
    """ArduPilot's frame class and type and the output channel of each rotor."""

    channels: Sequence[int]
    """Output of each rotor, counted from 0."""
    parameters: dict[str, float]
    """FRAME_CLASS and FRAME_TYPE; empty if both were given."""


class _Match(NamedTuple):
    """Assignment of the rotors to the motors of a frame."""

    frame: Frame
    channels: list[int]
    off: Array
    """Angle between each rotor and its motor [deg], shape (R,)."""
    wrong: npt.NDArray[np.bool_]
    """Rotors whose sense of rotation differs, shape (R,)."""

    @property
    def fits(self) -> bool:
        return not self.wrong.any() and bool(self.off.max() <= _TOLERANCE)

    @property
    def cost(self) -> float:
        # Rounded, so that frames that differ only in the order of motors cost the same and the first is
        # chosen.
        return round(float((self.off**2 + (_WRONG_SENSE * self.wrong) ** 2).sum()), 6)

    def __str__(self) -> str:
        differences = []
        if (far := self.off > _TOLERANCE).any():
            differences.append(f"{_rotors(far)} up to {self.off.max():.0f} deg off")
        if self.wrong.any():
            differences.append(f"{_rotors(self.wrong)} turning in the opposite sense")
        return f"{self.frame}, with {' and '.join(differences)}"


def scaled_angles(right: Array, front: Array) -> Array:
    """Return directions clockwise from the front [deg], with both axes scaled to the same largest arm.

    ArduPilot scales roll and pitch factors separately, so that any rectangle is its quad X
    (AP_MotorsMatrix, normalise_rpy_factors).

    Args:
        right: Arms to the right, shape (R,).
        front: Arms to the front, shape (R,).
    """
    angles: Array = np.degrees(np.arctan2(right / np.abs(right).max(), front / np.abs(front).max()))
    return angles


def _grid(frame_class: int, frame_type: int, name: str, senses: str, *arms: tuple[float, float]) -> Frame:
    """Return a frame whose motors have these arms to the right and to the front."""
    angles = scaled_angles(*np.array(arms).T)
    return Frame(frame_class, frame_type, name, senses, tuple(angles.tolist()))


def _ring(frame_class: int, frame_type: int, name: str, senses: str, *angles: float) -> Frame:
    """Return a frame whose motors stand at these angles clockwise from the front [deg]."""
    arms = ((math.sin(math.radians(angle)), math.cos(math.radians(angle))) for angle in angles)
    return _grid(frame_class, frame_type, name, senses, *arms)


_THIRD = 1 / 3
FRAMES = (
    _ring(1, 0, "quad plus", "++--", 90, -90, 0, 180),
    _ring(1, 1, "quad X", "++--", 45, -135, -45, 135),
    _ring(1, 2, "quad V", "++--", 45, -135, -45, 135),
    _ring(1, 3, "quad H", "--++", 45, -135, -45, 135),
    _ring(1, 6, "quad plus reversed", "--++", 90, -90, 0, 180),
    _ring(1, 12, "quad Betaflight X", "-++-", 135, 45, -135, -45),
    _ring(1, 13, "quad DJI X", "+-+-", 45, -45, -135, 135),
    _ring(1, 14, "quad clockwise X", "+-+-", 45, 135, -135, -45),
    _ring(1, 18, "quad Betaflight X reversed", "+--+", 135, 45, -135, -45),
    _grid(1, 19, "quad Y4", "+-+-", (1, 1), (0, -1), (0, -1), (-1, 1)),
    _ring(2, 0, "hexa plus", "-+-++-", 0, 180, -120, 60, -60, 120),
    _ring(2, 1, "hexa X", "-+-++-", 90, -90, -30, 150, 30, -150),
    _grid(2, 3, "hexa H", "-+-++-", (1, 0), (-1, 0), (-1, 1), (1, -1), (1, 1), (-1, -1)),
    _ring(2, 13, "hexa DJI X", "+-+-+-", 30, -30, -90, -150, 150, 90),
    _ring(2, 14, "hexa clockwise X", "+-+-+-", 30, 90, 150, -150, -90, -30),
    _ring(3, 0, "octa plus", "--++++--", 0, 180, 45, 135, -45, -135, -90, 90),
    _ring(3, 1, "octa X", "--++++--", 22.5, -157.5, 67.5, 157.5, -22.5, -112.5, -67.5, 112.5),
    _grid(
        *(3, 2, "octa V", "--++++--", (-0.83, 0.34), (0.67, -0.32), (-0.67, -0.32), (0.5, -1)),
        *((-1, 1), (0.83, 0.34), (1, 1), (-0.5, -1)),
    ),
    _grid(
        *(3, 3, "octa H", "--++++--", (1, 1), (-1, -1), (1, _THIRD), (1, -1)),
        *((-1, 1), (-1, -_THIRD), (-1, _THIRD), (1, -_THIRD)),
    ),
    _ring(3, 13, "octa DJI X", "+-+-+-+-", 22.5, -22.5, -67.5, -112.5, -157.5, 157.5, 112.5, 67.5),
    _ring(3, 14, "octa clockwise X", "+-+-+-+-", 22.5, 67.5, 112.5, 157.5, -157.5, -112.5, -67.5, -22.5),
    _grid(
        *(3, 15, "octa I", "--++++--", (-_THIRD, -1), (_THIRD, 1), (-1, -1), (-_THIRD, 1)),
        *((_THIRD, -1), (1, 1), (1, -1), (-1, 1)),
    ),
    _ring(4, 0, "octaquad plus", "+-+-+-+-", 0, -90, 180, 90, -90, 0, 90, 180),
    _ring(4, 1, "octaquad X", "+-+-+-+-", 45, -45, -135, 135, -45, 45, 135, -135),
    _ring(4, 2, "octaquad V", "+-+-+-+-", 45, -45, -135, 135, -45, 45, 135, -135),
    _ring(4, 3, "octaquad H", "-+-+-+-+", 45, -45, -135, 135, -45, 45, 135, -135),
    _ring(4, 12, "octaquad Betaflight X", "-++-+--+", 135, 45, -135, -45, 135, 45, -135, -45),
    _ring(4, 14, "octaquad clockwise X", "+--++--+", 45, 45, 135, 135, -135, -135, -45, -45),
    _ring(4, 18, "octaquad Betaflight X reversed", "+--+-++-", 135, 45, -135, -45, 135, 45, -135, -45),
    _ring(5, 0, "Y6", "+-+--+", 60, -60, -60, 180, 60, 180),
    _ring(5, 10, "Y6B", "-+-+-+", 60, 60, 180, 180, -60, -60),
    _ring(5, 11, "Y6F", "+++---", 180, 60, -60, 180, 60, -60),
    _ring(
        *(12, 0, "dodeca-hexa plus", "+--++--++--+"),
        *(0, 0, 60, 60, 120, 120, 180, 180, -120, -120, -60, -60),
    ),
    _ring(
        *(12, 1, "dodeca-hexa X", "+--++--++--+"),
        *(30, 30, 90, 90, 150, 150, -150, -150, -90, -90, -30, -30),
    ),
    _ring(14, 0, "deca plus", "+-+-+-+-+-", 0, 36, 72, 108, 144, 180, -144, -108, -72, -36),
    _ring(14, 1, "deca X", "+-+-+-+-+-", 18, 54, 90, 126, 162, -162, -126, -90, -54, -18),
)
"""Frames of AP_MotorsMatrix with fixed motors that all yaw; V has the directions of X."""


def fit_frame(vehicle: Rotorcraft, outputs: OutputMap, given: Mapping[str, float]) -> FrameFit:
    """Return the ArduPilot frame that matches a vehicle's rotors, and the output of each rotor.

    Directions and senses are those of the rotors' torques about the centre of mass per thrust, which includes
    the effect of tilt. Channels of the vehicle's file, FRAME_CLASS and FRAME_TYPE are kept.

    Args:
        vehicle: The vehicle, in a simulation.
        outputs: Map from ArduPilot's outputs to rotor speeds.
        given: Parameters of the user.

    Raises:
        ConfigError: If no frame matches, the file's channels are not one for each motor, or the rotors cannot
            control the vehicle.
    """
    count, channels = vehicle.rotor_count, _given_channels(vehicle, outputs)
    known = [
        frame
        for frame in FRAMES
        if frame.frame_class == given.get(_CLASS, frame.frame_class)
        and frame.frame_type == given.get(_TYPE, frame.frame_type)
    ]
    by_hand = _CLASS in given and _TYPE in given
    if not known or (by_hand and channels is not None):
        return FrameFit(outputs.outputs, {})
    if channels is not None and sorted(channels) != list(range(count)):
        raise ConfigError(
            f"must be 0 to {count - 1}, each once, if {_CLASS} and {_TYPE} are chosen by the rotors",
            file=vehicle.file,
            field="ardupilot.channels",
            value=channels,
            remedy="omit them, or set both in ardupilot.parameters",
        )
    frames = [frame for frame in known if len(frame.senses) == count]
    if frames:
        matches = _matches(vehicle, outputs, frames)
        best = min(matches, key=lambda match: (not match.fits, match.cost))
        if best.fits:
            frame = {_CLASS: float(best.frame.frame_class), _TYPE: float(best.frame.frame_type)}
            return FrameFit(best.channels, {} if by_hand else frame)
        problem = f"match no frame of ArduPilot; the nearest is {best}"
    else:
        counts = sorted({len(frame.senses) for frame in known})
        problem = f"are {count}; ArduPilot's frames have {', '.join(map(str, counts))}"
    if by_hand:
        _log.warning("the rotors of %r %s; rotor i follows output i", vehicle.name, problem)
        return FrameFit(outputs.outputs, {})
    raise ConfigError(
        problem,
        file=vehicle.file,
        field="rotors",
        remedy=f"move or reverse the rotors accordingly, or set ardupilot.channels, and {_CLASS} and "
        f"{_TYPE} in ardupilot.parameters, explicitly",
    )


def _matches(vehicle: Rotorcraft, outputs: OutputMap, frames: Sequence[Frame]) -> list[_Match]:
    """Return the best assignment of a vehicle's rotors to the motors of each frame."""
    torque = rotor_effects(vehicle, outputs).torque
    angles, senses = scaled_angles(-torque[:, 0], -torque[:, 1]), -np.sign(torque[:, 2])
    idle = vehicle.layout.axis[:, 2] <= _MIN_UPRIGHT
    channels = _given_channels(vehicle, outputs)
    matches = []
    for frame in frames:
        motor_angles = np.array(frame.angles)
        motor_senses = np.array([1.0 if sense == "+" else -1.0 for sense in frame.senses])
        if channels is not None:
            assignments = [np.array(channels)]
        else:
            assignments = [_in_turn(angles, motor_angles)]
            if senses.sum() == motor_senses.sum():
                apart = np.zeros(len(angles), dtype=int)
                for sense in (1.0, -1.0):
                    ours, theirs = np.flatnonzero(senses == sense), np.flatnonzero(motor_senses == sense)
                    apart[ours] = theirs[_in_turn(angles[ours], motor_angles[theirs])]
                assignments.append(apart)
        for motors in assignments:
            off = np.where(idle, 180.0, np.abs(_wrapped(angles - motor_angles[motors])))
            matches.append(_Match(frame, motors.tolist(), off, senses != motor_senses[motors]))
    return matches


def _given_channels(vehicle: Rotorcraft, outputs: OutputMap) -> list[int] | None:
    """Return the output of each rotor if the vehicle's file names them, else None."""
    return None if vehicle.spec.ardupilot.channels is None else list(outputs.outputs)


def _in_turn(angles: Array, motor_angles: Array) -> Array:
    """Return the motor of each rotor, matched around the circle with the best starting point."""
    ours, theirs = np.argsort(angles), np.argsort(motor_angles)
    shifts = [np.roll(theirs, shift) for shift in range(len(angles))]
    motors = np.empty(len(angles), dtype=int)
    costs = [float((_wrapped(angles[ours] - motor_angles[turn]) ** 2).sum()) for turn in shifts]
    motors[ours] = shifts[int(np.argmin(costs))]
    return motors


def _wrapped(angles: Array) -> Array:
    return (angles + 180.0) % 360.0 - 180.0


def _rotors(mask: npt.NDArray[np.bool_]) -> str:
    numbers = np.flatnonzero(mask).tolist()
    return f"rotor{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
