"""Multirotors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.frames import euler_from_quaternion
from pegasus.config.settings import names
from pegasus.contracts.backend import Backend as CoreBackend
from pegasus.contracts.sensor import Sensor as CoreSensor
from pegasus.core.aircraft import Aircraft
from pegasus.simulator.logic.backends.ardupilot_mavlink_backend import ArduPilotMavlinkBackend
from pegasus.simulator.logic.backends.backend import Backend, CustomBackend
from pegasus.simulator.logic.backends.px4_mavlink_backend import PX4MavlinkBackend
from pegasus.simulator.logic.backends.ros2_backend import ROS2Backend
from pegasus.simulator.logic.dynamics import LinearDrag
from pegasus.simulator.logic.graphs import ROS2CameraGraph
from pegasus.simulator.logic.interface.pegasus_interface import PegasusInterface
from pegasus.simulator.logic.sensors import GPS, IMU, Barometer, Magnetometer, Sensor
from pegasus.simulator.logic.state import State
from pegasus.simulator.logic.thrusters import QuadraticThrustCurve
from pegasus.simulator.logic.vehicles.mixer import Mixer
from pegasus.simulator.notices import Layered, refusal
from pegasus.simulator.params import ROBOTS

__all__ = ["Multirotor", "MultirotorConfig"]

_BRIDGE = "isaacsim.ros2.bridge"
_LEVEL = 1e-6


class MultirotorConfig:
    """Parts of a vehicle; drag, thrust curve and sensors are those of the vehicle's file unless set."""

    def __init__(self) -> None:
        self.stage_prefix = "quadrotor"
        self.usd_file = ""
        self.thrust_curve: QuadraticThrustCurve | None = None
        self.drag: LinearDrag | None = None
        self.sensors: list[Any] = [Barometer(), IMU(), Magnetometer(), GPS()]
        self.graphical_sensors: list[Any] = []
        self.graphs: list[Any] = []
        self.backends: list[Any] = [PX4MavlinkBackend()]


class Multirotor(Layered):
    """Multirotor on the open stage.

    Args:
        stage_prefix: Path of its prim, whose last part becomes its name.
        usd_file: One of `ROBOTS`, or the name of another vehicle of Pegasus.
        vehicle_id: Not used: backends have their own.
        init_pos: Start position [m], shape (3,).
        init_orientation: Start orientation, quaternion xyzw, level.
        config: Its parts.

    Raises:
        ConfigError: If a part has no counterpart.
    """

    def __init__(
        self,
        stage_prefix: str = "quadrotor",
        usd_file: str = "",
        vehicle_id: int = 0,
        init_pos: npt.ArrayLike = (0.0, 0.0, 0.07),
        init_orientation: npt.ArrayLike = (0.0, 0.0, 0.0, 1.0),
        config: MultirotorConfig | None = None,
    ) -> None:
        config = config or MultirotorConfig()
        interface = PegasusInterface()
        mounted = [*config.graphical_sensors, *config.graphs]
        graphical: dict[str, CoreSensor] = {sensor.name: sensor.make() for sensor in mounted}
        self._mixer: Mixer | None = None
        self.vehicle = Aircraft(
            _model(usd_file or config.usd_file),
            name=interface.free_name(stage_prefix),
            position=np.asarray(init_pos, dtype=np.float64),
            heading=_heading(np.asarray(init_orientation, dtype=np.float64)),
            backends=[
                self._backend(backend, graphical, drives=number == 0)
                for number, backend in enumerate(config.backends)
            ],
            sensors=_sensors(config.sensors),
            extra_sensors=graphical,
            drag=None if config.drag is None else config.drag.make(),
            thrust_curve=None if config.thrust_curve is None else config.thrust_curve.make(),
        )
        """The vehicle of Pegasus."""
        interface.add(self, self.vehicle)
        self._graphs = [self._published(graph) for graph in config.graphs]

    @property
    def state(self) -> State:
        """Present state."""
        return State.of(self.vehicle.state)

    @property
    def vehicle_name(self) -> str:
        """Its name."""
        return self.vehicle.name

    @property
    def prim_path(self) -> str:
        """Path of its prim."""
        from pegasus.isaac.bodies import vehicle_path

        return vehicle_path(self.vehicle.name)

    def force_and_torques_to_velocities(self, force: float, torque: npt.ArrayLike) -> list[float]:
        """Return the rotor speeds [rad/s] of a thrust [N] along z and a torque in the body frame [N m]."""
        assert self._mixer is not None, "call it during a run"
        return self._mixer.speeds(force, np.asarray(torque, dtype=np.float64))

    def joined(self, vehicle: Aircraft) -> None:
        """Prepare for the vehicle of Pegasus, which joins the simulation."""
        self.vehicle, self._mixer = vehicle, Mixer(vehicle)

    def _backend(self, given: Any, graphical: Mapping[str, CoreSensor], *, drives: bool) -> CoreBackend:
        if isinstance(given, Backend):
            return CustomBackend(given, self, drives=drives)
        if isinstance(given, ROS2Backend):
            return given.make(drives=drives, graphical=graphical)
        if isinstance(given, PX4MavlinkBackend) and drives:
            return given.make()
        if isinstance(given, ArduPilotMavlinkBackend) and drives:
            return given.make(PegasusInterface().simulation().rate)
        kind = type(given).__name__
        raise refusal(f"MultirotorConfig.backends: {kind} after the first backend", "list it first")

    def _published(self, graph: ROS2CameraGraph) -> Any:
        from pegasus.isaac.camera_graph import publish_cameras
        from pegasus.isaac.kit import enable_extension

        enable_extension(_BRIDGE)
        return publish_cameras(
            self.vehicle, namespace=graph.namespace or self.vehicle_name, boxes=graph.boxes
        )


def _model(usd_file: str) -> str:
    if usd_file in names("vehicles"):
        return usd_file
    raise refusal(
        f"Multirotor: usd_file {usd_file!r}",
        f"use one of ROBOTS ({', '.join(ROBOTS)}), or describe the vehicle in a YAML file with this usd: "
        "docs/make_vehicle.md",
    )


def _heading(orientation: Array) -> float:
    roll, pitch, yaw = (float(value) for value in euler_from_quaternion(orientation))
    if max(abs(roll), abs(pitch)) > _LEVEL:
        raise refusal("Multirotor: init_orientation with roll or pitch", "start level, with a heading")
    return yaw


def _sensors(given: Sequence[Any]) -> dict[str, CoreSensor] | None:
    """Return the sensors; None for those of the vehicle's file."""
    for sensor in given:
        if not isinstance(sensor, Sensor):
            raise refusal(
                f"MultirotorConfig.sensors: {type(sensor).__name__}",
                "derive it from pegasus.sensors.Sensor, and give it in extra_sensors: docs/sensors.md",
            )
    if {sensor.name for sensor in given} == {"barometer", "imu", "magnetometer", "gps"} and all(
        sensor.rate_hz is None for sensor in given
    ):
        return None
    return {sensor.name: sensor.make() for sensor in given}
