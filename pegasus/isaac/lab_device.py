"""Step of a vehicle of Isaac Lab on the device of its bodies, without copies through the host."""

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.backend import Backend
from pegasus.contracts.state import VehicleState
from pegasus.core.actuation import warn_of_battery
from pegasus.core.aircraft import Aircraft
from pegasus.core.plant import step_fault
from pegasus.core.plant_battery import Batteries
from pegasus.core.programs import VehicleGroup, launch_of, runs_of_one_code
from pegasus.core.simulation import Simulation
from pegasus.dynamics.battery_step import Demand, Supply
from pegasus.environment.samples import Sampler, Samples, models_in_numpy
from pegasus.isaac.lab_kernels import Whole, lab_launches
from pegasus.model.machine import are_rotors
from pegasus.step.observation import observe
from pegasus.step.values import Air, Inputs, Moved, Result, State

if TYPE_CHECKING:
    from isaaclab.assets import RigidObject

_STATE = tuple(field.name for field in fields(VehicleState))
_DOWNLOADED = (
    *_STATE,
    *(field.name for field in fields(Result) if field.name not in (*_STATE, "motor_state", "alarm")),
    *("command", "wind", "air_density", "gravity", "last_velocity", "last_angular_velocity"),
    *(
        "charge",
        "voltage",
        "current",
        "cell_state",
        "empty",
        "battery_event",
        "lowest_speed",
        "highest_speed",
    ),
)
"""Columns that a download copies to the host."""


def host_need(simulation: Simulation, vehicle: Aircraft, backends: Sequence[Backend]) -> str | None:
    """Return what needs the host in each step; None if the step can run on the device alone.

    Args:
        simulation: The simulation, with this vehicle only.
        vehicle: The vehicle.
        backends: Its backends, without that of the actions.
    """
    wind, columns = simulation.environment.wind, vehicle.columns
    python = models_in_numpy(simulation.environment)
    needs = {
        "backends": len(backends) > 0,
        "the estimator": vehicle.estimator is not None,
        # The vehicle fits one for its battery by itself.
        "sensors (none with sensors={})": any(name != "battery" for name in vehicle.sensors),
        "the ground effect, or a wrench in NumPy": not vehicle.actuation.is_compiled,
        "downwash": vehicle.downwash is not None and vehicle.count > 1,
        "turbulence, or wind that differs between rotors": wind.turbulence is not None
        or wind.at_rotors is not None,
        f"{' and '.join(python)} in NumPy": len(python) > 0,
        "copies that differ in whole numbers": len(runs_of_one_code(vehicle.machines)) > 1,
        "channels besides those of the rotors": not are_rotors(vehicle.channels),
        "faults": len(vehicle.faults) > 0,
        "observers": len(simulation.observers) > 0,
        "a disturbance": bool(columns["push"].any() or columns["twist"].any()),
    }
    return next((need for need, there in needs.items() if there), None)


class LabDevice:
    """Columns and kernels of the step of one vehicle, on the device of its bodies.

    Isaac Lab's arrays are converted between single and double precision by PyTorch, on the same device. Its
    default stream and those of Warp wait for each other (Warp, PyTorch interoperability, stream conversion).

    Args:
        simulation: The simulation, with this vehicle only, playing.
        vehicle: The vehicle, for which `host_need` is None.
        asset: Asset of its bodies.
        weight: Weights that Isaac Lab applies, world [N], shape (N, 3).
    """

    def __init__(
        self, simulation: Simulation, vehicle: Aircraft, asset: "RigidObject", weight: Array
    ) -> None:
        # Not at the top: it imports Warp, which only this step needs.
        import warp as wp

        from pegasus.base.compiler import device_named

        self._simulation, self._vehicle, self._asset = simulation, vehicle, asset
        self.device, count = device_named(str(asset.device)), vehicle.count
        own = {
            "pose": np.zeros((count, 7)),
            "motion": np.zeros((count, 6)),
            "is_reset": np.zeros(count, dtype=np.int32),
            "weight": weight,
            "body_force": np.zeros((count, 3)),
        }
        columns: dict[str, Any] = {**vehicle.columns, **own}
        used = {
            name
            for kind in (Whole, State, Inputs, Air, Result, Moved, Supply, Demand)
            for name in get_type_hints(kind)
        }
        arrays: dict[str, Any] = {
            name: wp.array(columns[name].reshape(count, -1), device=self.device)
            for name in (*own, *sorted(used - {"alarm"}))
        }
        self._arrays = arrays
        self._alarm: Any = wp.zeros(1, dtype=wp.float64, device=self.device)
        self._group = VehicleGroup([vehicle], vehicle.machines, arrays, count, self._alarm, self.device)
        self._group.prepare(local_air=False)
        launches = lab_launches(arrays, count, vehicle.rotor_count, self.device)
        self._take, self._reset = launches["take_motion"], launches["reset_motion"]
        self._find_force = launches["find_body_force"]
        self._observe = launch_of(observe, Moved, arrays, count, self.device)
        self._batteries = None if vehicle.battery is None else Batteries([vehicle], arrays, self.device)
        density = vehicle.actuation.uses_air_density
        self._air = Samples(arrays["wind"], arrays["air_density"], arrays["gravity"], density)
        self._sampler = Sampler(simulation.environment, arrays["position"], self._air, self.device)
        self._wrench = [wp.zeros((count, 1), dtype=wp.vec3f, device=self.device) for _ in range(2)]
        self._wrench_tensors = [wp.to_torch(array) for array in self._wrench]
        names = (*_STATE, *own, "command", "torque")
        self._tensors: dict[str, Any] = {
            name: wp.to_torch(arrays[name].reshape(columns[name].shape)) for name in names
        }
        self._is_downloaded = True

    def state(self, field: str) -> Any:
        """Return a field of the state as a tensor of the device, which later steps change, shape (N, ...).

        Args:
            field: Name of an array of `VehicleState`.

        Raises:
            ConfigError: If the state has no such array.
        """
        require(field in _STATE, "field", field, f"must be one of {', '.join(_STATE)}")
        return self._tensors[field]

    def set_commands(self, field: str, commands: Any, places: list[int]) -> None:
        """Set commands of the coming steps.

        Args:
            field: What they are called in errors.
            commands: Commands, tensor or array, in the units of the channels, shape (N, K).
            places: Places of their channels, shape (K,).

        Raises:
            ConfigError: If the shape is wrong.
        """
        given, command = self._tensor(commands), self._tensors["command"]
        shape = (len(command), len(places))
        require(tuple(given.shape) == shape, field, tuple(given.shape), f"must have the shape {shape}")
        if shape == tuple(command.shape):
            command.copy_(given)
        else:
            command[:, places] = given.to(command.dtype)

    def advance(self) -> None:
        """Run the step, and set the wrench of the next physics step.

        Raises:
            ConfigError: If the sampled environment has a model in NumPy; once per second of simulated time,
                if a command, a wrench or the motion of a copy is not finite or has diverged.
        """
        simulation, position = self._simulation, self._arrays["position"]
        if not self._sampler.fits(simulation.environment, position, self._air):
            self._sampler = Sampler(simulation.environment, position, self._air, self.device)
        self._sampler(simulation.time)
        self._group.advance(simulation.dt, local_air=False)
        if self._batteries is not None:
            self._batteries.drain(simulation.dt)
        self._find_force()
        for tensor, name in zip(self._wrench_tensors, ("body_force", "torque"), strict=True):
            tensor.copy_(self._tensors[name][:, None])
        force, torque = self._wrench
        self._asset.instantaneous_wrench_composer.set_forces_and_torques_index(forces=force, torques=torque)
        self._is_downloaded = False
        if simulation.step_count % round(simulation.rate) == 0:
            self._check()

    def observe(self) -> None:
        """Read the state after a physics step, and advance the clock."""
        self._read()
        self._take()
        self._observe(self._simulation.rate)
        self._simulation.step_count += 1
        self._is_downloaded = False

    def reset(self, env_ids: Any) -> None:
        """Take over the poses of copies, with rotors at rest and no acceleration.

        Args:
            env_ids: Numbers of the environments, list, array or tensor.
        """
        self._read()
        chosen = self._tensors["is_reset"]
        chosen[:] = 0
        chosen[self._tensor(env_ids)] = 1
        self._reset()
        self._is_downloaded = False

    def download(self) -> None:
        """Copy state and wrenches to the columns of the vehicle on the host, if they are older.

        Raises:
            ConfigError: If a command, a wrench or the motion of a copy is not finite or has diverged.
        """
        if not self._is_downloaded:
            self._is_downloaded = True
            for name in _DOWNLOADED:
                column = self._vehicle.columns[name]
                column[...] = self._arrays[name].numpy().reshape(column.shape)
            self._check()

    def _check(self) -> None:
        """Warn of batteries; raise a ConfigError after what is not finite or has diverged."""
        if self._batteries is not None and self._batteries.take_event():
            self.download()
            self._arrays["battery_event"].fill_(0)
            warn_of_battery(self._vehicle, self._simulation.time)
        if self._alarm.numpy()[0]:
            self._alarm.fill_(0.0)
            self.download()
            # Copies that were reset meanwhile are sound again.
            if self._vehicle.columns["fault"].any():
                raise step_fault([self._vehicle], self._vehicle.columns, self._simulation.time)

    def _read(self) -> None:
        """Take the present poses and velocities of Isaac Lab."""
        data = self._asset.data
        self._tensors["pose"].copy_(data.root_link_pose_w.torch)
        self._tensors["motion"].copy_(data.root_link_vel_w.torch)

    def _tensor(self, values: Any) -> Any:
        """Return numbers as a tensor on the device; one that is there already is not copied."""
        import torch

        return torch.as_tensor(values, device=self.device).detach()


def require_device(need: str | None) -> None:
    """Raise a ConfigError if something needs the host.

    Args:
        need: What needs the host, None if nothing does.
    """
    if need is not None:
        raise ConfigError(
            f"{need} would need the host in each step",
            field="on_device",
            value=True,
            remedy="leave that away, or use on_device=False",
        )
