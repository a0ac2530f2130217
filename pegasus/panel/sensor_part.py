"""The panel's part for further sensors: cameras and lidars of the next vehicle, or of one in the world."""

from collections.abc import Collection
from typing import Any

from pegasus.cameras import KNOWN_PATTERNS
from pegasus.components import build
from pegasus.errors import ConfigError
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.panel.session import Session
from pegasus.panel.view_part import ViewPart
from pegasus.scenario import Component
from pegasus.scenario_writer import made_anew
from pegasus.sensors import Sensor
from pegasus.sensors.registry import SENSORS
from pegasus.simulation import Playback

CAMERA, LIDAR = "camera", "lidar"
KINDS = (CAMERA, LIDAR)
CAMERA_OUTPUTS = ("rgb", "depth", "semantic", "instance", "normals", "point_cloud")
"""What a camera can be asked to give here."""
PATTERNS = tuple(KNOWN_PATTERNS)
"""Patterns of a lidar's rays."""


class SensorPart(Part):
    """Describe cameras and lidars, and mount them on the next vehicle or on the followed one.

    Args:
        board: What all parts share.
        session: Runs the simulation.
        look: Knows which vehicle is followed.
    """

    def __init__(self, board: Board, session: Session, look: ViewPart) -> None:
        super().__init__(board)
        self._session, self._look = session, look
        self.kind = CAMERA
        """What is described: `camera` or `lidar`."""
        self.name = ""
        """Its name; that of its kind, with a number where it is taken, when empty."""
        self.position: tuple[float, float, float] | None = None
        """Its place in the body frame [m]; when None before the nose, or the origin for a lidar."""
        self.pitch = self.yaw = 0.0
        """Its pitch, pi/2 looking down, and yaw, pi/2 looking left, on the body [rad]."""
        self.rate = 10.0
        """Pictures or scans per second [Hz]."""
        self.resolution = 640, 480
        """Width and height of a camera [pixels]."""
        self.outputs: tuple[str, ...] = ("rgb",)
        """What a camera gives."""
        self.pattern = "vlp16"
        """Pattern of a lidar's rays."""
        self.mounted: dict[str, Component] = {}
        """Sensors of the next vehicle by name, as scenario files have them."""

    @action(Topic.SENSORS)
    def set_kind(self, kind: str) -> None:
        """Choose what is described.

        Args:
            kind: `camera` or `lidar`.
        """
        if kind not in KINDS:
            raise ConfigError(f"must be one of {', '.join(KINDS)}", field="sensor", value=kind)
        self.kind = kind

    @action(Topic.SENSORS)
    def set_name(self, name: str) -> None:
        """Name the sensor.

        Args:
            name: Its name; empty for that of its kind.
        """
        self.name = name.strip()

    @action(Topic.SENSORS)
    def place(self, x: float | str, y: float | str, z: float | str) -> None:
        """Set where it is in the body frame.

        Args:
            x: Forward [m].
            y: Left [m].
            z: Up [m].
        """
        self.position = number("x", x), number("y", y), number("z", z)

    @action(Topic.SENSORS)
    def turn(self, pitch: float | str, yaw: float | str) -> None:
        """Set where it looks; zeros are forward.

        Args:
            pitch: pi/2 looks down [rad].
            yaw: pi/2 looks left [rad].
        """
        self.pitch, self.yaw = number("pitch", pitch), number("yaw", yaw)

    @action(Topic.SENSORS)
    def set_rate(self, rate: float | str) -> None:
        """Set how often it measures.

        Args:
            rate: Pictures or scans per second [Hz].
        """
        self.rate = number("rate", rate)

    @action(Topic.SENSORS)
    def set_resolution(self, width: int | str, height: int | str) -> None:
        """Set the size of a camera's pictures.

        Args:
            width: Width [pixels].
            height: Height [pixels].
        """
        size = number("width", width), number("height", height)
        for field, value in zip(("width", "height"), size, strict=True):
            if value != int(value) or value < 1:
                raise ConfigError("must be a whole number from 1 up", field=field, value=value)
        self.resolution = int(size[0]), int(size[1])

    @action(Topic.SENSORS)
    def set_output(self, name: str, *, on: bool) -> None:
        """Switch an output of a camera on or off.

        Args:
            name: Name of the output, such as `rgb` or `depth`.
            on: Whether it does.
        """
        if name not in CAMERA_OUTPUTS:
            raise ConfigError(f"must be one of {', '.join(CAMERA_OUTPUTS)}", field="outputs", value=name)
        kept = tuple(known for known in self.outputs if known != name)
        self.outputs = (*kept, name) if on else kept

    @action(Topic.SENSORS)
    def set_pattern(self, pattern: str) -> None:
        """Choose the scan pattern of a lidar.

        Args:
            pattern: Name of the pattern.
        """
        if pattern not in PATTERNS:
            raise ConfigError(f"must be one of {', '.join(PATTERNS)}", field="pattern", value=pattern)
        self.pattern = pattern

    @action(Topic.SENSORS)
    def mount(self) -> None:
        """Mount the described sensor on the next vehicle."""
        name, spec = self._new(self.mounted)
        self.mounted[name], self.name = spec, ""
        self.board.report(f"the next vehicle has the {self.kind} {name}")

    @action(Topic.VEHICLES, "mounting the sensor")
    def mount_on_followed(self) -> None:
        """Mount the described sensor on the followed vehicle, which is made anew where it starts.

        The simulation must be stopped. A vehicle with parts that only Python can describe is refused.
        """
        followed = self._look.followed_vehicle(self._session.snapshot)
        if followed is None:
            raise ConfigError(
                "there is no vehicle", field="vehicle", remedy="add one, or mount it on the next"
            )
        vehicle, playback = self._session.call(
            lambda simulation: (simulation.vehicles[followed[0].name], simulation.playback)
        )
        if playback is not Playback.STOPPED:
            raise ConfigError(
                "flies, and gets sensors at its start only",
                field="vehicle",
                value=vehicle.name,
                remedy="stop first",
            )
        name, spec = self._new(vehicle.sensors)
        new, like_before = made_anew(vehicle, {name: spec}), made_anew(vehicle, {})
        self._session.remove(vehicle.name)
        try:
            self._session.add(new)
        except BaseException:
            self._session.add(like_before)
            raise
        self.name = ""
        self.board.report(f"{vehicle.name} has the {self.kind} {name}")

    @action(Topic.SENSORS)
    def remove(self, name: str) -> None:
        """Remove a mounted sensor.

        Args:
            name: Its name.
        """
        if name not in self.mounted:
            known = ", ".join(self.mounted) or "none"
            raise ConfigError(f"no such sensor; there are {known}", field="sensor", value=name)
        del self.mounted[name]

    def make(self) -> dict[str, Sensor]:
        """Return the sensors of the next vehicle by name.

        Raises:
            ConfigError: If one is wrong.
        """
        return {
            name: build(Sensor, SENSORS, spec, field=f"sensors.{name}") for name, spec in self.mounted.items()
        }

    def _described(self) -> Component:
        spec: dict[str, Any] = {"model": self.kind, "rate_hz": self.rate}
        if self.position is not None:
            spec["position"] = list(self.position)
        if self.pitch or self.yaw:
            spec["orientation"] = [0.0, self.pitch, self.yaw]
        if self.kind == CAMERA:
            spec["resolution"], spec["outputs"] = list(self.resolution), list(self.outputs)
        else:
            spec["pattern"] = self.pattern
        return spec

    def _new(self, taken: Collection[str]) -> tuple[str, Component]:
        """Return the name and the description of a sensor beside those that are there."""
        names = (self.kind, *(f"{self.kind}{number}" for number in range(1, len(taken) + 1)))
        name = self.name or next(name for name in names if name not in taken)
        if name in taken:
            raise ConfigError(
                "is taken", field="name", value=name, remedy="choose another, or remove that one"
            )
        spec = self._described()
        build(Sensor, SENSORS, spec, field=f"sensors.{name}")
        return name, spec
