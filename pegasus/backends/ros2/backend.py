"""ROS 2 backend: publishes state and readings of a vehicle, and flies it by subscribed commands."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, cast, get_args

from pegasus.backends.ros2.commands import Commands
from pegasus.backends.ros2.contact_topics import contact_contents, touched
from pegasus.backends.ros2.contents import Variances, state_contents
from pegasus.backends.ros2.demand import Demand
from pegasus.backends.ros2.estimates import estimate_contents
from pegasus.backends.ros2.fault_topics import FaultTopics
from pegasus.backends.ros2.frames import Frames
from pegasus.backends.ros2.graph import MAX_DOMAIN, Node
from pegasus.backends.ros2.mover_topics import mover_contents
from pegasus.backends.ros2.names import copy_namespaces, default_namespace, full_namespace
from pegasus.backends.ros2.pilot import DirectPilot, Pilot
from pegasus.backends.ros2.publications import Publications
from pegasus.backends.ros2.texts import Texts
from pegasus.backends.ros2.topics import Topics, topic_options
from pegasus.backends.ros2.transport import Transport, TransportChoice, open_transport
from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.backend import Backend
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.aircraft import as_aircraft
from pegasus.model.machine import are_rotors

_NODE = "pegasus"
_TEXT_INTERVAL = 5
"""Number of steps between two looks at texts, received or to be published."""
_EXACT = (1e-9,) * 6
"""Practically exact; filters cannot invert zeros."""


@dataclass(eq=False)
class ROS2(Backend):
    """ROS 2 backend, with or without a ROS 2 installation.

    It publishes true state, readings, images and frames, each only if its topic has subscriptions, and unless
    `control` is off it flies the vehicle by subscribed commands. Each copy of the vehicle is one node.
    """

    outside = True
    namespace: str | None = None
    """Namespace of its topics and frames; the vehicle's name if None. Several copies have a number appended,
    counted from the number at its end, else from 0."""
    _: KW_ONLY
    control: bool = True
    """Whether commands drive the vehicle; false beside another backend that drives it."""
    command_timeout: float = 0.5
    """Maximum age of a followed command, in simulated time [s]."""
    on_timeout: str = "stop"
    """Reaction to the timeout: `stop` commands rest, `hold` stops a multirotor and holds its position."""
    topics: dict[str, Any] = field(default_factory=dict)
    """Options of topics by default name: `false` to disable, or a mapping of `name`, `rate_hz` [Hz] and
    `reliable`. All vehicles of the process share the clock."""
    frames: Frames = Frames()  # noqa: RUF009
    """Names of its frames, and the tree on `/tf`."""
    pose_variance: tuple[float, float, float, float, float, float] = _EXACT
    """Variances that `odom` states for its true pose: along x, y, z [m^2], about x, y, z [rad^2]."""
    twist_variance: tuple[float, float, float, float, float, float] = _EXACT
    """Variances that `odom` states for its true twist [m^2/s^2], [rad^2/s^2]."""
    transport: str = "auto"
    """`rclpy`, `cyclonedds`, or `auto` for the first of them that is available."""
    domain_id: int | None = None
    """Domain of the graph, 0 to 232; that of ROS_DOMAIN_ID if None."""
    localhost_only: bool = False
    """Whether only processes of this machine see it."""

    def __post_init__(self) -> None:
        if self.namespace is not None:
            full_namespace(self.namespace)
        timeout = self.command_timeout
        require(0 < timeout < math.inf, "command_timeout", timeout, "must be above 0 s and finite")
        require(self.on_timeout in ("stop", "hold"), "on_timeout", self.on_timeout, "must be stop or hold")
        choices = get_args(TransportChoice)
        allowed = f"must be one of {', '.join(choices)}"
        require(self.transport in choices, "transport", self.transport, allowed)
        domain = self.domain_id
        within = domain is None or (isinstance(domain, int) and 0 <= domain <= MAX_DOMAIN)
        require(within, "domain_id", domain, f"must be from 0 to {MAX_DOMAIN}")
        require(isinstance(self.frames, Frames), "frames", self.frames, "must be a Frames")
        for name in "pose_variance", "twist_variance":
            values = getattr(self, name)
            fits = len(values) == 6 and all(0 <= value < math.inf for value in values)
            require(fits, name, values, "must be six numbers, each at least 0 and finite")
        self._options = topic_options(self.topics)
        self.drives = self.control
        self.namespaces: list[str] = []
        """Namespace of each copy, after the vehicle has joined a simulation."""
        self._transport: Transport | None = None
        self._nodes: list[Node] = []
        self._publications: Publications | None = None

    @property
    def variances(self) -> Variances:
        """Variances that the true odometry states."""
        return Variances(self.pose_variance, self.twist_variance)

    def bind(self, vehicle: Vehicle) -> None:
        """Join the graph.

        Raises:
            ConfigError: If a name is not allowed or taken, an option names no topic of the vehicle, its
                rotors cannot control it, or neither driver is available.
        """
        self._vehicle = vehicle = as_aircraft(vehicle)
        own = default_namespace(vehicle.name) if self.namespace is None else self.namespace
        self.namespaces = copy_namespaces(own, vehicle.count)
        self._open()

    def start(self) -> None:
        """Begin a run without any command."""
        if self._transport is None:
            self._open()
        elif self._publications is None:
            self._fill()
        assert self._publications is not None
        if self._publications.has_images:
            # The first subscription would stop the simulation and its clock while kernels are compiled.
            with suppress(ConfigError):
                self._vehicle.manager.visuals.load()
        self._begin()

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Publish time, state and new readings."""
        self._clock.publish(t)
        assert self._publications is not None
        self._publications.send(t, state, readings)
        self._steps += 1
        if self._steps % _TEXT_INTERVAL == 0:
            self._faults.update()
            self._touched.tell(touched(self._vehicle))

    def command(self, t: float) -> Array | None:
        """Read received commands, and return them by channel, shape (N, U)."""
        if self._commands is None:
            return None
        state = self._vehicle.state
        if self._vehicle.faults.links.fail("ros2"):
            self._commands.fail(self._vehicle.faults.links)
        self._commands.read(t, self._demands, state)
        return self._pilot.command(t, state, self._demands)

    def restart(self) -> None:
        """End the run, but stay on the graph with all topics, so that other nodes see no end."""
        publications, self._publications = self._publications, None
        if publications is not None:
            publications.finish()
            self._faults.finish()
            self._touched.finish()

    def stop(self) -> None:
        """Leave the graph."""
        publications, self._publications = self._publications, None
        nodes, self._nodes = self._nodes, []
        transport, self._transport = self._transport, None
        try:
            if publications is not None:
                publications.finish()
        finally:
            for node in nodes:
                node.close()
            if transport is not None:
                transport.close()

    def _open(self) -> None:
        choice = cast(TransportChoice, self.transport)
        self._transport = transport = open_transport(
            choice, domain_id=self.domain_id, localhost_only=self.localhost_only
        )
        try:
            for namespace in self.namespaces:
                self._nodes.append(transport.node(_NODE, namespace))
            vehicle = self._vehicle
            self._topics = topics = Topics(
                self._nodes, self._options, physics_rate=vehicle.physics_rate, claims=transport.claims
            )
            self._clock = transport.clock()
            self._clock.use(topics.clock(), physics_rate=vehicle.physics_rate)
            self._names = [self.frames.names(namespace) for namespace in self.namespaces]
            for node, own in zip(self._nodes, self._names, strict=True):
                owner = f"the body of {node.namespace}"
                transport.claims.take(own.base_link, "frame", owner, field="frames.prefix", sole=True)
            self._fill()
            topics.require_known()
            self._begin()
            for node in self._nodes:
                node.announce()
        except BaseException:
            self.stop()
            raise

    def _fill(self) -> None:
        """Make what is published and received in a run."""
        vehicle, topics = self._vehicle, self._topics
        state = [
            *state_contents(vehicle, self.frames, self.variances),
            *estimate_contents(vehicle),
            *contact_contents(vehicle),
            *mover_contents(vehicle),
        ]
        self._publications = Publications(vehicle, topics, self._names, state)
        self._commands = (
            Commands(topics, vehicle.channels, frame=self.frames.map, flown=are_rotors(vehicle.channels))
            if self.control
            else None
        )
        self._faults = FaultTopics(topics, vehicle)
        self._touched = Texts(topics, "contacts/others")
        self._steps = 0

    def _begin(self) -> None:
        if not self.control:
            return
        vehicle = self._vehicle
        hold = self.on_timeout == "hold"
        self._pilot: Pilot | DirectPilot = DirectPilot(timeout=self.command_timeout)
        if are_rotors(vehicle.channels):
            self._pilot = Pilot(vehicle, timeout=self.command_timeout, hold=hold)
        else:
            named = ", ".join(channel.name for channel in vehicle.channels)
            require(not hold, "on_timeout", "hold", f"is for rotor speeds, not {named}", "write stop")
        self.reference = self._pilot.reference
        self._demands = [Demand(vehicle.channels) for _ in range(vehicle.count)]
