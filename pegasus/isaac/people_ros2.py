"""People on the ROS 2 graph: published poses, subscribed goals and paths."""

import logging
import math
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from pegasus.backends.ros2.cdr import CdrError, decode, encode
from pegasus.backends.ros2.messages import Header, Path, Point, Pose, PoseStamped, Quaternion, Time
from pegasus.backends.ros2.names import full_namespace
from pegasus.backends.ros2.namespaces import default_namespace
from pegasus.backends.ros2.publications import stamp_of
from pegasus.backends.ros2.qos import RELIABLE, SENSOR_DATA
from pegasus.backends.ros2.transport import TransportChoice, open_transport
from pegasus.components import require
from pegasus.errors import ConfigError
from pegasus.recording.observer import ObservedSimulation

if TYPE_CHECKING:
    from pegasus.isaac.people import Person
    from pegasus.simulation import Simulation

_log = logging.getLogger(__name__)


class PeopleOnROS2:
    """Publish where people are, and let goals and paths lead them, until closed.

    Below the namespace of each person: `pose` (geometry_msgs/PoseStamped) is published; `goal_pose`
    (geometry_msgs/PoseStamped) and `path` (nav_msgs/Path) are listened to, in the same frame. Stamps are
    simulation time.

    Args:
        simulation: The simulation that the people are in.
        people: The people.
        namespace: What the namespaces begin with; that of a person is `people/NAME`.
        frame: Frame of poses and goals.
        rate: Poses per second [Hz].
        height: What is added to the height of the feet in poses [m].
        speed: Speed that people walk with when led [m/s].
        transport: `rclpy`, `cyclonedds` or `auto`.
        domain_id: Domain of the graph; that of ROS_DOMAIN_ID when None.
        localhost_only: Whether only processes of this machine see it.

    Raises:
        ConfigError: If an argument is not allowed, or there is no way onto the graph.
    """

    def __init__(
        self,
        simulation: "Simulation",
        people: Sequence["Person"],
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
            self._poses = [node.publisher(PoseStamped, "pose", SENSOR_DATA) for node in self._nodes]
            self._goals = [node.subscription(PoseStamped, "goal_pose", RELIABLE) for node in self._nodes]
            self._paths = [node.subscription(Path, "path", RELIABLE) for node in self._nodes]
            for node in self._nodes:
                node.announce()
        except BaseException:
            self.close()
            raise
        simulation.add_observer(self)

    def start(self, simulation: ObservedSimulation) -> None:
        """Begin a run."""
        self._due = -math.inf

    def record(self, simulation: ObservedSimulation) -> None:
        """Follow received goals, and publish poses that are due."""
        if not self._nodes:
            return
        for person, goals, paths in zip(self._people, self._goals, self._paths, strict=True):
            for data in goals.take():
                self._lead(person, PoseStamped, data)
            for data in paths.take():
                self._lead(person, Path, data)
        if simulation.time >= self._due:
            self._due = simulation.time + self._period * (1.0 - 1e-9)
            for person, poses in zip(self._people, self._poses, strict=True):
                poses.publish(encode(self._pose(person, simulation.time)))

    def stop(self) -> None:
        """End a run; the topics stay on the graph."""

    def close(self) -> None:
        """Leave the graph; calling it twice is allowed."""
        nodes, self._nodes = self._nodes, []
        for node in nodes:
            node.close()
        self._transport.close()

    def __enter__(self) -> "PeopleOnROS2":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lead(self, person: "Person", kind: type[PoseStamped] | type[Path], data: bytes) -> None:
        """Send a person along a received path; a wrong message is refused in the log."""
        try:
            message: PoseStamped | Path = decode(kind, data)
            frame = message.header.frame_id
            if frame not in ("", self._frame):
                raise ConfigError(f"must be {self._frame}", field="frame_id", value=frame)
            poses = message.poses if isinstance(message, Path) else [message]
            points = [(p.pose.position.x, p.pose.position.y, p.pose.position.z) for p in poses]
            if points:
                person.walk(points, speed=self._speed)
            else:
                person.stand()
        except (ConfigError, CdrError) as error:
            _log.warning("a goal of %s is refused: %s", person.name, error)

    def _pose(self, person: "Person", t: float) -> PoseStamped:
        x, y, z = person.position.tolist()
        half = person.heading / 2.0
        turn = Quaternion(0.0, 0.0, math.sin(half), math.cos(half))
        pose = Pose(Point(x, y, z + self._height), turn)
        return PoseStamped(Header(Time(*stamp_of(t)), self._frame), pose)
