"""Model of a machine as its step takes it: a body, and the elements that push it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pegasus.base.step_math import Real, Vec3

Law = Callable[..., Any]


@dataclass(frozen=True)
class Channel:
    """Named command that a machine takes, such as the speed of a rotor or the deflection of an aileron."""

    name: str
    """Name, such as `rotor_0` or `aileron`."""
    unit: str
    """Unit, such as `rad/s`; empty for a share."""
    low: float
    """Limits, to which commands are clipped; may be infinite."""
    high: float
    idle: float = 0.0
    """Value without a command."""
    supplied: bool = False
    """Whether it is the speed of motors, whose limits fall with the voltage of the battery."""

    def __str__(self) -> str:
        """Return name, unit and limits, such as `rotor_0 [rad/s], 0 to 1100`."""
        unit = f" [{self.unit}]" if self.unit else ""
        return f"{self.name}{unit}, {self.low:.4g} to {self.high:.4g}"


def are_rotors(channels: Sequence[Channel]) -> bool:
    """Return whether channels are the speeds of rotors only, as those of a multirotor."""
    return all(channel.supplied for channel in channels)


@dataclass(frozen=True)
class Part:
    """Law of a part, and its parameters."""

    law: Law
    parameters: Any


@dataclass(frozen=True)
class Body:
    """Rigid body of a machine, with everything that stands on it."""

    mass: Real
    """Mass [kg]."""
    center_of_mass: Vec3
    """Centre of mass in the body frame [m]."""
    inertia_x: Vec3
    """Rows of the inertia about the centre of mass, body frame [kg m^2]."""
    inertia_y: Vec3
    inertia_z: Vec3
    inverse_x: Vec3
    """Rows of the inverse of the inertia that turns with the body [1/(kg m^2)]: without that of free shafts
    about their axes."""
    inverse_y: Vec3
    inverse_z: Vec3


@dataclass(frozen=True)
class Drive:
    """What moves the shaft of an element.

    The law of a drive that gives a speed is (parameters, speed, state, command, voltage, dt) -> (speed,
    state) after dt; that of one that gives a torque is (parameters, speed, state, command, voltage) ->
    (torque [N m], rate of the state, electrical power [W]).
    """

    law: Law
    parameters: Any
    gives_torque: bool
    """Whether the shaft turns freely: its speed is integrated together with the body."""
    has_state: bool
    """Whether the law has a state of its own."""


@dataclass(frozen=True)
class Element:
    """Part of a machine with a shaft, on which the air acts: a rotor."""

    position: Vec3
    """Where it stands relative to the centre of mass, body frame [m]."""
    x: Vec3
    """Axes of its frame in the body frame; z is that of its shaft."""
    y: Vec3
    z: Vec3
    sense: Real
    """+1 for a shaft that turns counter-clockwise about z at a positive speed, -1 for clockwise."""
    inertia: Real
    """Inertia of what turns about z [kg m^2]."""
    air: Part
    """Law (parameters, speed, air velocity, air density) -> (force [N], torque [N m]) in the element's frame;
    the torque about z counts against the sense of rotation."""
    drive: Drive
    channel: int
    """Place of the channel that commands the drive, among those of the machine."""
    joint: int | None = None
    """Place of the joint that turns it, among those of the machine; None where it is fixed."""
    blade_joint: int | None = None
    """Place of the joint whose angle is the field `pitch` of the parameters of its law; None without one."""


@dataclass(frozen=True)
class Joint:
    """Hinge that a servo turns: that of a control surface, or of a nacelle with its rotor.

    What it turns has no inertia of its own, except that of shafts; the place is that at angle 0.
    """

    position: Vec3
    """A point of the hinge line relative to the centre of mass, body frame [m]."""
    axis: Vec3
    """Unit direction of the hinge line in the body frame; positive angles turn by the right-hand rule."""
    servo: Part
    """Law (parameters, angle, command, dt) -> angle [rad] after dt."""
    channel: int
    """Place of the channel that commands it."""


@dataclass(frozen=True)
class Stream:
    """Stream of a rotor that a surface stands in."""

    element: int
    """Place of the rotor among the elements."""
    radius: Real
    """Radius of the rotor [m]."""
    distance: Real
    """Distance of the surface behind the disc, negative in front of it [m]."""


@dataclass(frozen=True)
class Surface:
    """Part of a machine that the air lifts and holds back: a wing, a tail, a fuselage."""

    position: Vec3
    """Where its reference point stands relative to the centre of mass, body frame [m]."""
    x: Vec3
    """Axes of its frame in the body frame: forward, to the left, upward."""
    y: Vec3
    z: Vec3
    air: Part
    """Law (parameters, air velocity, angular velocity relative to the air, deflections [rad], air density) ->
    (force [N], torque about the reference point [N m]) in its frame; see `pegasus.dynamics.wings`."""
    controls: tuple[int, ...]
    """Places of the joints whose angles are its deflections."""
    streams: tuple[Stream, ...]
    """Streams of rotors that it stands in."""
    joint: int | None = None
    """Place of the joint that turns it as a whole; None where it is fixed."""


@dataclass(frozen=True)
class Proximity:
    """Gain of thrust near the ground, and below a ceiling; see `pegasus.dynamics.ground_effect`."""

    upwash: Part
    radius: Real
    """Radius of the rotors [m]."""
    span: Real
    """Largest distance of two rotors [m]."""
    apart: tuple[Real, ...]
    """Squared distances of all pairs of rotors, row by row [m^2], then their shares in their streams."""


@dataclass(frozen=True)
class Machine:
    """Model of a vehicle."""

    body: Body
    elements: tuple[Element, ...]
    channels: tuple[Channel, ...]
    """Commands that it takes."""
    drag: Part | None
    """Law (parameters, air velocity, angular velocity, speeds of the elements, air density) -> (force [N],
    torque [N m] about the centre of mass), body frame; None without one."""
    middle: Vec3
    """Mean of the elements' places in the body frame [m], where the drag meets the air."""
    proximity: Proximity | None
    """Ground and ceiling effect; None without one."""
    joints: tuple[Joint, ...] = ()
    """Hinges that servos turn."""
    surfaces: tuple[Surface, ...] = ()
    """Wings, tails and the like."""
