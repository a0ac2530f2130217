"""Terms for manager-based tasks of Isaac Lab 3.0: actions are commands, observations states and readings.

Import it in Isaac Lab's Python: it derives from Isaac Lab's classes.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from isaaclab.managers import ActionTerm, ActionTermCfg
from isaaclab.utils import configclass

from pegasus.base.components import require
from pegasus.isaac.lab import LabVehicle

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedEnv


class RotorSpeedAction(ActionTerm):  # type: ignore[misc]
    """Action term with a vehicle of Pegasus in each environment.

    Actions of -1 to 1 span the limits of channels: the speeds of rotors, and the angles of joints; others are
    clipped. If a backend such as PX4 drives the vehicle, the term has no actions.

    Args:
        cfg: Its configuration.
        env: The task.

    Raises:
        ConfigError: If the asset differs from the model, physics runs several steps at once, or a channel
            does not exist or has no limits.
    """

    def __init__(self, cfg: "RotorSpeedActionCfg", env: "ManagerBasedEnv") -> None:
        super().__init__(cfg, env)
        self.drones = LabVehicle(env, self._asset, cfg.model, **cfg.options)
        """The vehicle; read it by `vehicle_of`, which observes the last physics step first."""
        places = self.drones.places(cfg.channels) if self.drones.is_commanded else []
        channels = [self.drones.vehicle.channels[place] for place in places]
        self._names = [channel.name for channel in channels]
        for channel in channels:
            spans = np.isfinite(channel.high - channel.low)
            require(spans, "channels", channel.name, "has no limits, which actions of -1 to 1 would span")
        self._lowest, self._range = (
            torch.as_tensor(np.array(numbers, dtype=np.float32), device=self.device)
            for numbers in ([c.low for c in channels], [c.high - c.low for c in channels])
        )
        shape = (self.num_envs, self.action_dim)
        self._raw = torch.zeros(shape, device=self.device)
        self._commands = torch.zeros(shape, device=self.device)

    @property
    def action_dim(self) -> int:
        """Number of channels K; 0 if a backend drives the vehicle."""
        return len(self._names)

    @property
    def raw_actions(self) -> Any:
        """Actions of the policy, shape (N, K)."""
        return self._raw

    @property
    def processed_actions(self) -> Any:
        """Commands of the channels, such as rotor speeds [rad/s], shape (N, K)."""
        return self._commands

    def process_actions(self, actions: Any) -> None:
        """Set the commands of an environment step by actions, shape (N, K)."""
        if self.action_dim == 0:
            return
        self._raw[:] = actions
        self._commands[:] = self._lowest + 0.5 * (actions.clip(-1.0, 1.0) + 1.0) * self._range
        self.drones.set_commands(self._commands, self._names)

    def apply_actions(self) -> None:
        """Run the pipeline of Pegasus before a physics step."""
        self.drones.apply()

    def reset(self, env_ids: Any = None) -> None:
        """Take over the poses of environments that events have reset, at rest."""
        if env_ids is None or isinstance(env_ids, slice):
            env_ids = np.arange(self.num_envs)[env_ids or slice(None)]
        self.drones.observe()
        self.drones.reset(env_ids)


@configclass
class RotorSpeedActionCfg(ActionTermCfg):  # type: ignore[misc]
    """Configuration of `RotorSpeedAction`; `asset_name` is that of the vehicle in the scene."""

    class_type: type[ActionTerm] = RotorSpeedAction
    model: Any = "iris"
    """Name of a shipped vehicle, path of a YAML file, or the contents of such a file."""
    channels: list[str] | None = None
    """Names of the channels that the actions command, in this order; all of the vehicle if None."""
    options: dict[str, Any] = {}
    """Further arguments of `LabVehicle`, such as `backends`, `world`, `seed`, sensors or `on_device`."""


def vehicle_of(env: "ManagerBasedEnv", term: str = "rotors") -> LabVehicle:
    """Return the vehicle of a task after its last physics step, for custom terms.

    Args:
        env: The task.
        term: Name of its `RotorSpeedAction`.
    """
    drones: LabVehicle = env.action_manager.get_term(term).drones
    drones.observe()
    return drones


def state(env: "ManagerBasedEnv", field: str = "velocity", term: str = "rotors") -> Any:
    """Return a field of the true state as an observation, shape (N, K).

    Args:
        env: The task.
        field: Field of `VehicleState`, such as `velocity`, `orientation` (xyzw), `angular_velocity` or
            `rotor_speed`; `position` is relative to the origins of the environments.
        term: Name of the task's `RotorSpeedAction`.
    """
    values = _tensor(env, vehicle_of(env, term).state(field))
    return values - env.scene.env_origins if field == "position" else values


def reading(
    env: "ManagerBasedEnv",
    sensor: str = "imu",
    field: str = "angular_velocity",
    size: int = 3,
    term: str = "rotors",
) -> Any:
    """Return a field of a sensor's last reading as an observation, shape (N, `size`); zeros before the first.

    Args:
        env: The task.
        sensor: Name of the sensor.
        field: Field of its reading with numbers, one row for each copy.
        size: Numbers of a row: Isaac Lab asks for the shape before the first step.
        term: Name of the task's `RotorSpeedAction`.

    Raises:
        ConfigError: If the vehicle has no such sensor, the size is another one, or its step runs on the
            device, where sensors are not read.
    """
    drones = vehicle_of(env, term)
    remedy = "set on_device=False in the options"
    require(not drones.on_device, "sensor", sensor, "is not read while the step runs on the device", remedy)
    vehicle = drones.vehicle
    known = vehicle.sensors
    require(sensor in known, "sensor", sensor, f"is not on this vehicle, which has {', '.join(known)}")
    if sensor not in vehicle.readings:
        return _tensor(env, np.zeros((vehicle.count, size)))
    values = _tensor(env, getattr(vehicle.readings[sensor], field))
    require(values.shape[1] == size, "size", size, f"must be {values.shape[1]} for {sensor}.{field}")
    return values


def _tensor(env: "ManagerBasedEnv", values: Any) -> Any:
    """Return numbers of N copies as a new tensor on the device of the task, shape (N, K)."""
    if not isinstance(values, torch.Tensor):
        values = np.array(values, dtype=np.float32)
    return torch.as_tensor(values, dtype=torch.float32, device=env.device).reshape(len(values), -1)
