"""People of Isaac Sim's assets: animated characters that walk along paths, and their ROS 2 topics."""

import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Sdf, Usd, UsdGeom

from pegasus.backends.ros2.graph import RELIABLE, SENSOR_DATA
from pegasus.backends.ros2.messages import CdrError, Message, decode, encode, message
from pegasus.backends.ros2.names import default_namespace, full_namespace
from pegasus.backends.ros2.publications import stamp_of
from pegasus.backends.ros2.transport import TransportChoice, open_transport
from pegasus.base.arrays import Array
from pegasus.base.components import finite_numbers, require
from pegasus.base.errors import ConfigError
from pegasus.base.frames import euler_from_quaternion, quaternion_from_euler
from pegasus.core.simulation import Simulation
from pegasus.isaac import kit
from pegasus.isaac.bodies import define_mount, free_path, set_pose
from pegasus.isaac.engine import IsaacEngine
from pegasus.isaac.environments import asset_root

_FOLDER = "/Isaac/People/Characters"
_ROOT = "/World/Characters"
_BIPED = f"{_ROOT}/Biped_Setup"
_GRAPH = f"{_BIPED}/CharacterAnimation/AnimationGraph"
_ARRIVED = 0.1
"""Horizontal distance at which a waypoint is reached [m]."""
_VELOCITY_SPAN = 0.05
"""Averaging time of the velocity [s]."""


class Person:
    """Person who stands or walks along waypoints, updated in every step of a simulation.

    The extension omni.anim.graph.core moves the character with Kit's frames while the timeline plays: in a
    script, give the engine a frame rate. A person has no collider, so vehicles fly through it.

    Args:
        simulation: Simulation on Isaac Sim.
        character: Name of the character's folder in the assets, such as `F_Business_02`, see `characters`; or
            the address of its USD file.
        name: Name of its prim below /World/Characters; a number is appended if it is taken.
        position: Start position of the feet [m], shape (3,).
        heading: Start heading, counter-clockwise from east [rad].

    Raises:
        ConfigError: If the extension is not enabled, the simulation is on another engine, or there is no such
            character.
    """

    def __init__(
        self,
        simulation: Simulation,
        character: str,
        *,
        name: str = "person",
        position: npt.ArrayLike = (0.0, 0.0, 0.0),
        heading: float = 0.0,
    ) -> None:
        if not isinstance(simulation.engine, IsaacEngine):
            raise ConfigError("people need Isaac Sim", field="engine", remedy="use the engine isaac")
        self._graphs = _animation_graphs()
        stage = kit.stage()
        if stage is None:
            raise ConfigError("no stage is open", field="stage", remedy="load a world first")
        self._stage = stage
        self._start = finite_numbers("position", position, (3,))
        require(math.isfinite(heading), "heading", heading, "must be finite")
        self._first_heading = float(heading)
        folder, file = _located(character)
        self.path = free_path(self._stage, f"{_ROOT}/{name}")
        """Prim path."""
        self.name = self.path.rpartition("/")[2]
        self._closed = False
        self._character: Any = None
        try:
            self._skeleton = self._add(folder, file)
        except BaseException:
            self._stage.RemovePrim(self.path)
            raise
        self._waypoints: list[tuple[Array, float]] = []
        self._loop = False
        self._reset()
        simulation.add_observer(self)

    @property
    def position(self) -> Array:
        """Position of the feet [m], shape (3,)."""
        return self._position

    @property
    def heading(self) -> float:
        """Heading, counter-clockwise from east [rad]."""
        return self._heading

    @property
    def velocity(self) -> Array:
        """Velocity, averaged over 0.05 s [m/s], shape (3,)."""
        return self._velocity

    @property
    def walks(self) -> bool:
        """A waypoint remains to be reached."""
        return self._next < len(self._waypoints)

    def walk(self, path: npt.ArrayLike, *, speed: float | Sequence[float] = 1.0, loop: bool = False) -> None:
        """Walk from the present position along straight lines between waypoints.

        Args:
            path: Waypoints on the ground [m], shape (K, 3), or one of shape (3,).
            speed: Speed towards each waypoint, one or K [m/s], above 0 and at most 3: the animation graph's
                variable Walk, for which 1 is normal walking.
            loop: Continue at the first waypoint after the last.

        Raises:
            ConfigError: If a number is not finite or a shape is wrong.
        """
        points = np.atleast_2d(np.asarray(path, dtype=np.float64))
        fits = points.ndim == 2 and points.shape[1] == 3 and len(points) > 0 and np.isfinite(points).all()
        require(bool(fits), "path", path, "must have at least one point of three finite numbers")
        speeds = np.asarray(speed, dtype=np.float64)
        allowed = speeds.shape in ((), (len(points),)) and ((speeds > 0) & (speeds <= 3.0)).all()
        require(bool(allowed), "speed", speed, f"must be one or {len(points)}, above 0 and at most 3 m/s")
        every = np.broadcast_to(speeds, (len(points),)).tolist()
        self._waypoints, self._loop = list(zip(points, every, strict=True)), loop
        self._next = 0

    def stand(self) -> None:
        """Stand still."""
        self._waypoints, self._next = [], 0

    def start(self, simulation: Simulation) -> None:
        """Start a run at the start pose, with the first waypoint."""
        self._reset()

    def record(self, simulation: Simulation) -> None:
        """Read the pose of the character, and set its target."""
        if self._closed:
            return
        if self._character is None:
            # Kit creates the character when the timeline plays.
            self._character = self._graphs.get_character(self._skeleton)
        if self._character is not None:
            self._read_pose(simulation.time)
            self._set_target()

    def stop(self) -> None:
        """End a run; Kit resets the character."""
        self._reset()

    def close(self) -> None:
        """Remove the person from the stage; a second call has no effect."""
        if not self._closed and self._stage and self._stage.GetPrimAtPath(self.path):
            self._stage.RemovePrim(self.path)
        self._closed, self._character = True, None

    def _reset(self) -> None:
        self._character = None
        self._position, self._heading = self._start.copy(), self._first_heading
        self._velocity = np.zeros(3)
        self._sample = -math.inf, self._position
        self._next = 0

    def _read_pose(self, t: float) -> None:
        import carb

        position, turn = carb.Float3(0.0, 0.0, 0.0), carb.Float4(0.0, 0.0, 0.0, 1.0)
        self._character.get_world_transform(position, turn)
        self._position = np.array([position.x, position.y, position.z], dtype=np.float64)
        xyzw = np.array([turn.x, turn.y, turn.z, turn.w], dtype=np.float64)
        self._heading = float(euler_from_quaternion(xyzw)[2])
        then, before = self._sample
        if t - then >= _VELOCITY_SPAN:
            self._velocity = np.zeros(3) if math.isinf(then) else (self._position - before) / (t - then)
            self._sample = t, self._position

    def _set_target(self) -> None:
        import carb

        for _ in range(len(self._waypoints)):  # All waypoints of a loop may be reached at once.
            if not (self.walks and self._arrived()):
                break
            self._next += 1
            if self._loop and len(self._waypoints) > 1:
                self._next %= len(self._waypoints)
        if not self.walks or self._arrived():
            self._character.set_variable("Walk", 0.0)
            self._character.set_variable("Action", "Idle")
            return
        target, speed = self._waypoints[self._next]
        points = [carb.Float3(x, y, z) for x, y, z in (self._position.tolist(), target.tolist())]
        self._character.set_variable("Action", "Walk")
        self._character.set_variable("PathPoints", points)
        self._character.set_variable("Walk", speed)

    def _arrived(self) -> bool:
        away = self._waypoints[self._next][0] - self._position
        return math.hypot(away[0], away[1]) < _ARRIVED

    def _add(self, folder: str, file: str) -> str:
        """Add the character with its animation graph; return the path of its skeleton."""
        import omni.kit.commands

        set_pose(
            define_mount(self._stage, self.path),
            self._start,
            quaternion_from_euler(0.0, 0.0, self._first_heading),
        )
        body = self._stage.DefinePrim(f"{self.path}/character")
        body.GetReferences().AddReference(file)
        found = (prim for prim in Usd.PrimRange(body) if prim.GetTypeName() == "SkelRoot")
        skeleton = next(found, None)
        if skeleton is None:
            raise ConfigError("cannot be opened, or has no skeleton", field="character", value=file)
        if not self._stage.GetPrimAtPath(_BIPED):
            biped = UsdGeom.Xform.Define(self._stage, _BIPED)
            biped.GetPrim().GetReferences().AddReference(f"{folder}/Biped_Setup.usd")
            biped.MakeInvisible()
        if not self._stage.GetPrimAtPath(_GRAPH):
            self._stage.RemovePrim(_BIPED)
            raise ConfigError(
                "has no animation graph",
                field="character",
                value=f"{folder}/Biped_Setup.usd",
                remedy="use a character of Isaac Sim's assets",
            )
        paths = [skeleton.GetPath()]
        omni.kit.commands.execute("RemoveAnimationGraphAPICommand", paths=paths)
        omni.kit.commands.execute(
            "ApplyAnimationGraphAPICommand", paths=paths, animation_graph_path=Sdf.Path(_GRAPH)
        )
        return str(skeleton.GetPath())


def characters() -> list[str]:
    """Return the names of the asset root's characters, as the asset server lists them.

    Raises:
        ConfigError: If the asset server does not answer.
    """
    address = asset_root() + _FOLDER
    names = [name for name, is_folder in _listed(address) if is_folder and not name.startswith(".")]
    return sorted(names)


def _animation_graphs() -> Any:
    try:
        import omni.anim.graph.core as graphs
    except ImportError:
        raise ConfigError(
            "people need the extension omni.anim.graph.core, which is not enabled",
            field="extension",
            remedy="enable omni.anim.graph.bundle in the extension manager, or start with "
            "--enable omni.anim.graph.bundle, and open a new stage",
        ) from None
    return graphs


def _located(character: str) -> tuple[str, str]:
    """Return the folder of all characters, and the USD file of one character."""
    if character.endswith((".usd", ".usda", ".usdc")):
        return character.rpartition("/")[0].rpartition("/")[0], character
    folder = asset_root() + _FOLDER
    try:
        files = [name for name, _ in _listed(f"{folder}/{character}") if name.endswith(".usd")]
    except ConfigError:
        files = []
    if not character or not files:
        raise ConfigError(
            "no such character",
            field="character",
            value=character,
            remedy="pegasus.isaac.people.characters() lists them",
        )
    return folder, f"{folder}/{character}/{files[0]}"


def _listed(address: str) -> list[tuple[str, bool]]:
    """Return the names in a folder of the asset server, each with True for a folder."""
    import omni.client

    result, entries = omni.client.list(address)
    if result != omni.client.Result.OK:
        raise ConfigError(
            f"{address} cannot be listed",
            field="character",
            remedy="connect to the network, or set /persistent/isaac/asset_root/default to a local copy",
        )
    children = omni.client.ItemFlags.CAN_HAVE_CHILDREN
    return [(str(entry.relative_path), bool(entry.flags & children)) for entry in entries]


_log = logging.getLogger(__name__)

_POSE, _PATH = "geometry_msgs/msg/PoseStamped", "nav_msgs/msg/Path"


class PeopleOnROS2(kit.ClosedOnExit):
    """ROS 2 topics of people, until closed: published poses, subscribed goals and paths.

    In the namespace of each person, `pose` (geometry_msgs/PoseStamped) is published; `goal_pose`
    (geometry_msgs/PoseStamped) and `path` (nav_msgs/Path) are subscribed to, in the same frame. Stamps are
    simulation time.

    Args:
        simulation: Simulation of the people.
        people: The people.
        namespace: Parent namespace; that of a person is `people/NAME`.
        frame: Frame of poses and goals.
        rate: Poses per second [Hz].
        height: Height of published poses above the feet [m].
        speed: Walking speed towards goals and along paths [m/s].
        transport: `rclpy`, `cyclonedds` or `auto`.
        domain_id: ROS domain; that of ROS_DOMAIN_ID if None.
        localhost_only: Restrict discovery to this machine.

    Raises:
        ConfigError: If an argument is not allowed, or no ROS 2 transport is available.
    """

    def __init__(
        self,
        simulation: Simulation,
        people: Sequence[Person],
        *,
        namespace: str = "people",
        frame: str = "map",
        rate: float = 20.0,
        height: float = 0.0,
        speed: float = 1.0,
        transport: TransportChoice = "auto",
        domain_id: int | None = None,
        localhost_only: bool = False,
    ) -> None:
        require(0 < rate < math.inf, "rate", rate, "must be above 0 Hz and finite")
        require(0 < speed <= 3.0, "speed", speed, "must be above 0 and at most 3 m/s")
        require(math.isfinite(height), "height", height, "must be finite")
        self._period, self._height, self._speed, self._frame = 1.0 / rate, height, speed, frame
        self._people = list(people)
        self._due = -math.inf
        self._transport = open_transport(transport, domain_id=domain_id, localhost_only=localhost_only)
        self._nodes = []
        try:
            for person in self._people:
                own = full_namespace(f"{namespace}/{default_namespace(person.name)}")
                self._nodes.append(self._transport.node("person", own))
            self._poses = [node.publisher(_POSE, "pose", SENSOR_DATA) for node in self._nodes]
            self._goals = [node.subscription(_POSE, "goal_pose", RELIABLE) for node in self._nodes]
            self._paths = [node.subscription(_PATH, "path", RELIABLE) for node in self._nodes]
            for node in self._nodes:
                node.announce()
        except BaseException:
            self.close()
            raise
        simulation.add_observer(self)

    def start(self, simulation: Simulation) -> None:
        """Start a run."""
        self._due = -math.inf

    def record(self, simulation: Simulation) -> None:
        """Process received goals and paths, and publish due poses."""
        if not self._nodes:
            return
        for person, goals, paths in zip(self._people, self._goals, self._paths, strict=True):
            for data in goals.take():
                self._lead(person, _POSE, data)
            for data in paths.take():
                self._lead(person, _PATH, data)
        if simulation.time >= self._due:
            self._due = simulation.time + self._period * (1.0 - 1e-9)
            for person, poses in zip(self._people, self._poses, strict=True):
                poses.publish(encode(self._pose(person, simulation.time)))

    def stop(self) -> None:
        """End a run; the topics remain."""

    def close(self) -> None:
        """Remove the topics; a second call has no effect."""
        nodes, self._nodes = self._nodes, []
        for node in nodes:
            node.close()
        self._transport.close()

    def _lead(self, person: Person, kind: str, data: bytes) -> None:
        """Make a person walk along a received path; log a warning for an invalid message."""
        try:
            received = decode(kind, data)
            frame = received.header.frame_id
            if frame not in ("", self._frame):
                raise ConfigError(f"must be {self._frame}", field="frame_id", value=frame)
            poses = received.poses if kind == _PATH else [received]
            points = [(p.pose.position.x, p.pose.position.y, p.pose.position.z) for p in poses]
            if points:
                person.walk(points, speed=self._speed)
            else:
                person.stand()
        except (ConfigError, CdrError) as error:
            _log.warning("rejected a goal of %s: %s", person.name, error)

    def _pose(self, person: Person, t: float) -> Message:
        x, y, z = person.position.tolist()
        half = person.heading / 2.0
        seconds, nanoseconds = stamp_of(t)
        return message(
            _POSE,
            header={"stamp": {"sec": seconds, "nanosec": nanoseconds}, "frame_id": self._frame},
            pose={
                "position": {"x": x, "y": y, "z": z + self._height},
                "orientation": {"z": math.sin(half), "w": math.cos(half)},
            },
        )
