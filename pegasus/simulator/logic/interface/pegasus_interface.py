"""Interface of scripts: the world, its environment and the paths of autopilots."""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Optional, Protocol

from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import OriginSpec
from pegasus.config.settings import ardupilot_directory, px4_directory
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation
from pegasus.simulator.logic.backends import ardupilot_mavlink_backend, px4_mavlink_backend
from pegasus.simulator.notices import Layered, warn_of_layer
from pegasus.simulator.params import DEFAULT_WORLD_SETTINGS, SIMULATION_ENVIRONMENTS

if TYPE_CHECKING:
    from pegasus.isaac.kit_session import KitSession

__all__ = ["PegasusInterface"]

_log = logging.getLogger(__name__)

_LAYOUT, _CAMERA = "/World/layout", "/OmniverseKit_Persp"


class LayeredVehicle(Protocol):
    """Vehicle of this layer."""

    @property
    def prim_path(self) -> str:
        """Path of its prim."""

    @property
    def vehicle(self) -> Aircraft:
        """Its vehicle of Pegasus."""


class PegasusInterface(Layered):
    """The one interface of a process; every call of the class returns it.

    The script creates NVIDIA's `World` and steps it. The first vehicle or person makes a simulation of the
    open stage, which the timeline runs at the rate of `physics_dt`.
    """

    _instance: ClassVar[Optional["PegasusInterface"]] = None

    def __new__(cls) -> "PegasusInterface":
        """Return the interface, made at the first call."""
        if cls._instance is None:
            cls._instance = made = super().__new__(cls)
            made._begin()
        return cls._instance

    def _begin(self) -> None:
        warn_of_layer()
        self._world: Any = None
        self._world_settings: dict[str, Any] = dict(DEFAULT_WORLD_SETTINGS)
        self._origin = OriginSpec()
        self._session: KitSession | None = None
        self._vehicles: dict[str, LayeredVehicle] = {}

    @property
    def world(self) -> Any:
        """NVIDIA's `World`, as the script has set it; None before."""
        return self._world

    @property
    def latitude(self) -> float:
        """Latitude of the origin [deg]."""
        return self._origin.latitude

    @property
    def longitude(self) -> float:
        """Longitude of the origin [deg]."""
        return self._origin.longitude

    @property
    def altitude(self) -> float:
        """Altitude of the origin [m]."""
        return self._origin.altitude

    @property
    def px4_path(self) -> str:
        """Folder of PX4-Autopilot, by the settings of Pegasus; empty if there is none."""
        try:
            return str(px4_directory())
        except ConfigError:
            return ""

    @property
    def ardupilot_path(self) -> str:
        """Folder of ArduPilot, by the settings of Pegasus; empty if there is none."""
        try:
            return str(ardupilot_directory())
        except ConfigError:
            return ""

    @property
    def px4_default_airframe(self) -> str:
        """PX4 airframe of the vehicle's own file."""
        return px4_mavlink_backend.DEFAULT_AIRFRAME

    @property
    def ardupilot_default_airframe(self) -> str:
        """ArduPilot frame of the vehicle's own file."""
        return ardupilot_mavlink_backend.DEFAULT_AIRFRAME

    def set_global_coordinates(
        self, latitude: float | None = None, longitude: float | None = None, altitude: float | None = None
    ) -> None:
        """Set the origin, before the first vehicle.

        Raises:
            ConfigError: If there is a vehicle, or a value is not allowed.
        """
        if self._session is not None and self._session.simulation is not None:
            raise ConfigError("must be set before the first vehicle is added", field="global_coordinates")
        given = {"latitude": latitude, "longitude": longitude, "altitude": altitude}
        known = self._origin.model_dump() | {key: value for key, value in given.items() if value is not None}
        self._origin = OriginSpec(**known)

    def set_world_settings(
        self,
        physics_dt: float | None = None,
        stage_units_in_meters: float | None = None,
        rendering_dt: float | None = None,
        device: str | None = None,
    ) -> None:
        """Set arguments of `World`, before the script creates it."""
        given = {
            "physics_dt": physics_dt,
            "stage_units_in_meters": stage_units_in_meters,
            "rendering_dt": rendering_dt,
            "device": device,
        }
        self._world_settings |= {key: value for key, value in given.items() if value is not None}

    def get_default_environments(self) -> Mapping[str, str]:
        """Return the addresses of environments by name."""
        return SIMULATION_ENVIRONMENTS

    def load_environment(self, usd_path: str, force_clear: bool = False) -> None:
        """Reference an environment on the open stage, at /World/layout.

        Args:
            usd_path: Address of its USD file.
            force_clear: Remove vehicles and open an empty stage first.
        """
        if force_clear:
            self.clear_scene()
        self.load_asset(usd_path, _LAYOUT)

    async def load_environment_async(self, usd_path: str, force_clear: bool = False) -> None:
        """Do the same as `load_environment`."""
        self.load_environment(usd_path, force_clear)

    def load_asset(self, usd_asset: str, stage_prefix: str) -> None:
        """Reference a USD file on the open stage.

        Args:
            usd_asset: Its address.
            stage_prefix: Path of the prim.

        Raises:
            ConfigError: If there is a prim at that path, or no stage is open.
        """
        from pegasus.isaac import kit

        stage = kit.stage()
        if stage is None:
            raise ConfigError("no stage is open", field="stage", remedy="create World first")
        if stage.GetPrimAtPath(stage_prefix):
            raise ConfigError("is taken by another prim", field="stage_prefix", value=stage_prefix)
        prim = stage.DefinePrim(stage_prefix)
        prim.GetReferences().AddReference(usd_asset)
        if not prim.GetChildren():
            _log.warning("%s: cannot be reached, or has no default prim: the world stays empty", usd_asset)

    def clear_scene(self) -> None:
        """Remove vehicles and environment, and open an empty stage."""
        self._vehicles.clear()
        self._the_session().clear()

    def set_viewport_camera(self, camera_position: Sequence[float], camera_target: Sequence[float]) -> None:
        """Move the viewport's camera.

        Args:
            camera_position: Its position [m], shape (3,).
            camera_target: Point that it looks at [m], shape (3,).
        """
        from pegasus.isaac.compat import isaac_sim

        x, y, z = (float(value) for value in camera_position)
        u, v, w = (float(value) for value in camera_target)
        isaac_sim().set_camera_view(_CAMERA, (x, y, z), (u, v, w))

    def get_vehicle(self, stage_prefix: str) -> LayeredVehicle:
        """Return a vehicle by the path of its prim.

        Raises:
            KeyError: If there is no such vehicle.
        """
        return self._vehicles[stage_prefix]

    def get_all_vehicles(self) -> dict[str, LayeredVehicle]:
        """Return all vehicles by the paths of their prims."""
        return self._vehicles

    def free_name(self, stage_prefix: str) -> str:
        """Return the name of a new vehicle: the last part of a path, with a number if it is taken."""
        from pegasus.isaac import kit
        from pegasus.isaac.bodies import free_path, vehicle_path

        self.simulation()
        return free_path(kit.stage(), vehicle_path(stage_prefix.rpartition("/")[2])).rpartition("/")[2]

    def add(self, vehicle: LayeredVehicle, flying: Aircraft) -> None:
        """Add a vehicle to the simulation.

        Args:
            vehicle: The vehicle of this layer.
            flying: Its vehicle of Pegasus.
        """
        self.simulation()
        self._the_session().add(flying)
        self._vehicles[vehicle.prim_path] = vehicle

    def simulation(self) -> Simulation:
        """Return the simulation of the open stage, made at the first call.

        Raises:
            ConfigError: If no stage is open, or the world settings have no counterpart.
        """
        from pegasus.isaac.kit_session import simulation_of_stage

        session = self._the_session()
        if session.simulation is None:
            step, device = self._world_settings["physics_dt"], self._world_settings.get("device", "cpu")
            require(device == "cpu", "device", device, "must be cpu in scripts of Pegasus Simulator")
            rate = float(round(1.0 / step))
            session.exchange(lambda: simulation_of_stage(rate=rate, origin=self._origin, empty=True))
        assert session.simulation is not None
        return session.simulation

    def _the_session(self) -> "KitSession":
        """Return the session of the extension, else one of this script."""
        from pegasus.isaac import register_session
        from pegasus.isaac import session as running_session
        from pegasus.isaac.kit_session import KitSession

        if self._session is None or self._session.closed:
            try:
                self._session = running_session()
            except ConfigError:
                self._session = KitSession()
                self._session.watch(on_failure=_log_failure)
                register_session(self._session)
        return self._session


def _log_failure(error: Exception) -> None:
    _log.error("%s", error)
