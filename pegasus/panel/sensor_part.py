"""Panel part for additional cameras and lidars of the next or the followed vehicle."""

from collections.abc import Collection
from typing import Any

from pegasus.base.errors import ConfigError
from pegasus.cameras import LIDAR_PATTERNS
from pegasus.config.scenario import Component
from pegasus.contracts.sensor import Sensor, build_sensors
from pegasus.core.simulation import Playback
from pegasus.panel.board import Board, Part, Topic, action, number, require_choice
from pegasus.panel.scenario_writer import rebuilt_vehicle
from pegasus.panel.view_part import ViewPart
from pegasus.session.session import Session

CAMERA, LIDAR = "camera", "lidar"
KINDS = (CAMERA, LIDAR)
CAMERA_OUTPUTS = ("rgb", "depth", "semantic", "instance", "normals", "point_cloud")
"""Camera outputs that can be selected."""
PATTERNS = tuple(LIDAR_PATTERNS)
"""Lidar scan patterns."""


class SensorPart(Part):
    """Configuration of cameras and lidars, and their mounting on the next or the followed vehicle.

    Args:
        board: Listeners and messages of the panel.
        session: Session that runs the simulation.
        view: View, which determines the followed vehicle.
    """

    def __init__(self, board: Board, session: Session, view: ViewPart) -> None:
        super().__init__(board)
        self._session, self._view = session, view
        self.kind = CAMERA
        """Kind of the sensor: `camera` or `lidar`."""
        self.name = ""
        """Name of the sensor; its kind when empty, with a number if that is taken."""
        self.position: tuple[float, float, float] | None = None
        """Position in the body frame [m]; when None in front of the nose, or the origin for a lidar."""
        self.pitch = self.yaw = 0.0
        """Pitch, pi/2 looking down, and yaw, pi/2 looking left, in the body frame [rad]."""
        self.rate = 10.0
        """Images or scans per second [Hz]."""
        self.resolution = 640, 480
        """Width and height of a camera [pixels]."""
        self.outputs: tuple[str, ...] = ("rgb",)
        """Outputs of a camera."""
        self.pattern = "vlp16"
        """Scan pattern of a lidar."""
        self.mounted: dict[str, Component] = {}
        """Additional sensors of the next vehicle by name, as in scenario files."""

    @action(Topic.SENSORS)
    def set_kind(self, kind: str) -> None:
        """Choose the kind of the sensor.

        Args:
            kind: `camera` or `lidar`.
        """
        require_choice("sensor", kind, KINDS)
        self.kind = kind

    @action(Topic.SENSORS)
    def set_name(self, name: str) -> None:
        """Name the sensor.

        Args:
            name: The name; the kind of the sensor when empty.
        """
        self.name = name.strip()

    @action(Topic.SENSORS)
    def place(self, x: float | str, y: float | str, z: float | str) -> None:
        """Set the position in the body frame.

        Args:
            x: Forward [m].
            y: Left [m].
            z: Up [m].
        """
        self.position = number("x", x), number("y", y), number("z", z)

    @action(Topic.SENSORS)
    def turn(self, pitch: float | str, yaw: float | str) -> None:
        """Set the viewing direction; zeros look forward.

        Args:
            pitch: Pitch; pi/2 looks down [rad].
            yaw: Yaw; pi/2 looks left [rad].
        """
        self.pitch, self.yaw = number("pitch", pitch), number("yaw", yaw)

    @action(Topic.SENSORS)
    def set_rate(self, rate: float | str) -> None:
        """Set the measurement rate.

        Args:
            rate: Images or scans per second [Hz].
        """
        self.rate = number("rate", rate)

    @action(Topic.SENSORS)
    def set_resolution(self, width: int | str, height: int | str) -> None:
        """Set the resolution of a camera.

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
            on: Whether the output is enabled.
        """
        require_choice("outputs", name, CAMERA_OUTPUTS)
        kept = tuple(known for known in self.outputs if known != name)
        self.outputs = (*kept, name) if on else kept

    @action(Topic.SENSORS)
    def set_pattern(self, pattern: str) -> None:
        """Choose the scan pattern of a lidar."""
        require_choice("pattern", pattern, PATTERNS)
        self.pattern = pattern

    @action(Topic.SENSORS)
    def mount(self) -> None:
        """Mount the configured sensor on the next vehicle."""
        name, spec = self._new(self.mounted)
        self.mounted[name], self.name = spec, ""
        self.board.report(f"the next vehicle has the {self.kind} {name}")

    @action(Topic.VEHICLES, "mounting the sensor")
    def mount_on_followed(self) -> None:
        """Mount the configured sensor on the followed vehicle, which is rebuilt at its start position.

        The simulation must be stopped. A vehicle with components created in Python is rejected.
        """
        followed = self._view.followed_vehicle(self._session.snapshot)
        if followed is None:
            raise ConfigError(
                "there is no vehicle", field="vehicle", remedy="add one, or mount the sensor on the next"
            )
        vehicle, playback = self._session.call(
            lambda simulation: (simulation.vehicles[followed[0].name], simulation.playback)
        )
        if playback is not Playback.STOPPED:
            raise ConfigError(
                "can get sensors only while the simulation is stopped",
                field="vehicle",
                value=vehicle.name,
                remedy="stop the simulation first",
            )
        name, spec = self._new(vehicle.sensors)
        new, unchanged = rebuilt_vehicle(vehicle, {name: spec}), rebuilt_vehicle(vehicle, {})
        self._session.remove(vehicle.name)
        try:
            self._session.add(new)
        except BaseException:
            self._session.add(unchanged)
            raise
        self.name = ""
        self.board.report(f"{vehicle.name} has the {self.kind} {name}")

    @action(Topic.SENSORS)
    def remove(self, name: str) -> None:
        """Remove a mounted sensor."""
        if name not in self.mounted:
            known = ", ".join(self.mounted) or "none"
            raise ConfigError(f"does not exist; mounted are {known}", field="sensor", value=name)
        del self.mounted[name]

    def make(self) -> dict[str, Sensor]:
        """Return the sensors of the next vehicle by name.

        Raises:
            ConfigError: If a sensor is invalid.
        """
        return build_sensors(self.mounted)

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
        """Return name and description of the configured sensor, whose name must not be taken."""
        names = (self.kind, *(f"{self.kind}{number}" for number in range(1, len(taken) + 1)))
        name = self.name or next(name for name in names if name not in taken)
        if name in taken:
            raise ConfigError(
                "is taken", field="name", value=name, remedy="choose another, or remove that one"
            )
        spec = self._described()
        build_sensors({name: spec})
        return name, spec
