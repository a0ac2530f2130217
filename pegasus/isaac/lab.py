"""Isaac Lab 3.0: rotors, drag, sensors and autopilots of Pegasus on the bodies of a task.

Isaac Lab owns the bodies and steps physics; Pegasus reads their states and applies one wrench per step.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import finite_numbers, require
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.config.scenario import WorldSpec
from pegasus.contracts.backend import Backend
from pegasus.contracts.engine import BodyState
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.aircraft import Aircraft
from pegasus.core.command_line import resting
from pegasus.core.simulation import Simulation
from pegasus.isaac.lab_device import LabDevice, host_need, require_device
from pegasus.isaac.lab_engine import LabEngine

if TYPE_CHECKING:
    from isaaclab.assets import RigidObject
    from isaaclab.envs import DirectRLEnv, ManagerBasedEnv

_log = logging.getLogger(__name__)


class HeldCommands(Backend):
    """Backend with the commands set by a task, such as the actions of a policy."""

    drives = True

    def bind(self, vehicle: Vehicle) -> None:
        """Start with rotors at rest, and joints at their idle angles."""
        self.values: Array = resting(vehicle)

    def command(self, t: float) -> Array:
        """Return the commands by channel, shape (N, U)."""
        return self.values


class LabVehicle:
    """Multirotor in a task of Isaac Lab, with one copy in each environment.

    A task of the direct workflow creates it after `super().__init__`, and calls `apply` in `_apply_action`,
    `observe` in `_get_dones`, `reset` in `_reset_idx` and `close` in `close`; for manager-based tasks there
    are terms in `pegasus.isaac.lab_terms`. `vehicle` has states and readings as NumPy arrays, in the world
    frame of Isaac Lab; readings are taken at the start of each step. If the step runs on the device, `state`
    gives its tensors, and each use of `vehicle` after a step copies the state to the host.

    Args:
        env: The task.
        asset: Its asset, spawned from `Aircraft(model).usd_file()`.
        model: Name of a shipped vehicle, path of a YAML file, or the contents of such a file.
        world: World of the simulation, for gravity, air, wind, magnetic field and rays.
        seed: Seed of sensors and wind.
        backends: Backends, such as PX4; if none drives, `set_rotor_speeds` and `set_commands` do.
        on_device: Run the step on the device of the asset, without copies through the host. None: if that is
            a GPU and nothing needs the host, such as sensors, backends or turbulence.
        **options: Arguments of `Aircraft`, such as sensors or drag.

    Raises:
        ConfigError: If the asset differs from the model, physics runs several steps at once, or `on_device`
            is True and something needs the host.
    """

    def __init__(
        self,
        env: "DirectRLEnv | ManagerBasedEnv",
        asset: "RigidObject",
        model: Any,
        *,
        world: str | WorldSpec = "flat",
        seed: int = 0,
        backends: Sequence[Backend] = (),
        on_device: bool | None = None,
        **options: Any,
    ) -> None:
        if env.cfg.decimation > 1 and env.sim.physics_manager.handles_decimation():
            raise ConfigError(
                "physics runs all steps of an action at once, with a constant force",
                field="decimation",
                value=env.cfg.decimation,
                remedy="set decimation to 1, or use PhysX",
            )
        engine = LabEngine(asset, gravity=env.cfg.sim.gravity)
        start = BodyState.zeros(asset.num_instances)
        engine.read(start)
        self._held = None if any(backend.drives for backend in backends) else HeldCommands()
        self._stepped, self._backends = False, tuple(backends)
        self._device: LabDevice | None = None
        self.simulation = Simulation(world, engine=engine, rate=1.0 / env.physics_dt, seed=seed)
        try:
            self._vehicle = self.simulation.add(
                Aircraft(
                    model,
                    count=asset.num_instances,
                    position=start.position,
                    backends=[*backends, *([self._held] if self._held is not None else [])],
                    **options,
                )
            )
            self.simulation.play()
            if self._runs_on_device(on_device, str(asset.device)):
                self._device = LabDevice(self.simulation, self._vehicle, asset, engine.weight)
        except BaseException:
            self.simulation.close()
            raise

    def _runs_on_device(self, wanted: bool | None, device: str) -> bool:
        """Return whether to run the step on the device of the asset; say why not, on a GPU."""
        if wanted is False or (wanted is None and device == "cpu"):
            return False
        need = host_need(self.simulation, self._vehicle, self._backends)
        if wanted is None and need is not None:
            _log.warning("%s: the step runs on the host, not on %s, for %s", self._vehicle.name, device, need)
            return False
        require_device(need)
        return True

    @property
    def vehicle(self) -> Aircraft:
        """The vehicle; if the step runs on the device, with the state copied from there."""
        if self._device is not None:
            self._device.download()
        return self._vehicle

    @property
    def on_device(self) -> bool:
        """The step runs on the device of the asset."""
        return self._device is not None

    def state(self, field: str) -> Any:
        """Return an array of the true state after the last physics step, shape (N, ...).

        It is a float64 tensor of the device if the step runs there, else an array of NumPy; later steps
        change it.

        Args:
            field: Name of an array of `VehicleState`, such as `position`.
        """
        if self._device is not None:
            return self._device.state(field)
        return getattr(self._vehicle.state, field)

    @property
    def is_commanded(self) -> bool:
        """The task sets the commands: no backend drives the vehicle."""
        return self._held is not None

    def set_rotor_speeds(self, speeds: Any) -> None:
        """Set the rotor speeds until the next call.

        Args:
            speeds: Rotor speeds, array or tensor [rad/s], shape (N, R).

        Raises:
            ConfigError: If a backend drives the vehicle, or a number or the shape is wrong.
        """
        self._set("speeds", speeds, list(range(self._vehicle.rotor_count)))

    def set_commands(self, commands: Any, channels: Sequence[str] | None = None) -> None:
        """Set the commands of channels, such as the angles of joints, until the next call.

        Args:
            commands: Commands, array or tensor, in the units of the vehicle's `channels`, shape (N, K).
            channels: Names of the K channels; all if None.

        Raises:
            ConfigError: If a backend drives the vehicle, it has no such channel, or a number or the shape is
                wrong.
        """
        self._set("commands", commands, self.places(channels))

    def places(self, channels: Sequence[str] | None) -> list[int]:
        """Return the places of channels among the commands of the vehicle.

        Args:
            channels: Their names; all if None.

        Raises:
            ConfigError: If the vehicle has no such channel, or one is named twice.
        """
        known = [channel.name for channel in self._vehicle.channels]
        for name in channels or ():
            require(name in known, "channels", name, f"is not one of {', '.join(known)}")
            require(list(channels or ()).count(name) == 1, "channels", name, "is named twice")
        return list(range(len(known))) if channels is None else [known.index(name) for name in channels]

    def _set(self, field: str, given: Any, places: list[int]) -> None:
        """Set the commands of the channels at some places; `field` names the argument in errors."""
        if self._held is None:
            raise ConfigError("a backend drives this vehicle", field=field)
        if self._device is not None:
            self._device.set_commands(field, given, places)
            return
        values = given.detach().cpu().numpy() if hasattr(given, "detach") else given
        held = self._held.values.copy()
        held[:, places] = finite_numbers(field, values, (self._vehicle.count, len(places)))
        self._held.values = held

    def apply(self) -> None:
        """Run the pipeline before a physics step: sensors, backends, and the applied wrench."""
        self.observe()
        if self._device is None:
            self._stepped = self.simulation.advance()
            return
        require_device(host_need(self.simulation, self._vehicle, self._backends))
        self._device.advance()
        self._stepped = True

    def observe(self) -> None:
        """Read the state after the last physics step; a second call has no effect."""
        if self._stepped:
            self._stepped = False
            if self._device is not None:
                self._device.observe()
            else:
                self.simulation.observe_step()

    def reset(self, env_ids: Any) -> None:
        """Take over the poses of copies that a task has reset, at rest and with no acceleration.

        Rotors stand still, joints are at their idle angles. Sensors and wind keep their time. Do not
        reset a vehicle flown by an autopilot, which has no reset.

        Args:
            env_ids: Numbers of the environments, list or tensor.
        """
        if self._device is not None:
            self._device.reset(env_ids)
            return
        rows = np.asarray(env_ids.detach().cpu().numpy() if hasattr(env_ids, "detach") else env_ids)
        now, columns = BodyState.zeros(self._vehicle.count), self._vehicle.columns
        self.simulation.engine.read(now)
        columns["position"][rows], columns["orientation"][rows] = now.position[rows], now.orientation[rows]
        for name in ("velocity", "angular_velocity"):
            columns[name][rows] = columns[f"last_{name}"][rows] = getattr(now, name)[rows]
        columns["rotation"][rows] = matrix_from_quaternion(now.orientation[rows])
        for name in ("acceleration", "angular_acceleration", "rotor_speed", "motor_state"):
            columns[name][rows] = 0.0
        rest = resting(self._vehicle)[rows]
        if joints := columns["joint_angle"].shape[1]:
            columns["joint_angle"][rows] = rest[:, -joints:]
        if self._held is not None:
            self._held.values[rows] = rest

    def close(self) -> None:
        """Stop the backends; a second call has no effect."""
        self.simulation.close()
