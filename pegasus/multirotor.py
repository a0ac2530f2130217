"""Multirotors: where the rotors are, and the wrench that they and the air put on the airframe."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pegasus.aerodynamics import DOWNWASHES, DRAGS, GROUND_EFFECTS, Downwash, Drag, GroundEffect, NearGround
from pegasus.airframe_checks import require_hover, require_rotors_above_ground, require_rotors_apart
from pegasus.arrays import Array, row_product
from pegasus.backends.backend import Backend
from pegasus.components import build
from pegasus.engines.engine import RayHits
from pegasus.environment import Environment
from pegasus.errors import ConfigError
from pegasus.frames import cross, rotate, rotate_inverse
from pegasus.parts import require_backends, require_parts, require_sensors
from pegasus.propulsion import BATTERIES, MOTORS, THRUST_CURVES, Battery, BatteryState, Motor, ThrustCurve
from pegasus.rotor_specs import RotorSpec
from pegasus.scenario import VehicleSpec, inertia_tensor, load_vehicle, parse
from pegasus.sensors import BatteryMonitor, Sensor
from pegasus.sensors.registry import SENSORS
from pegasus.start import whole_count
from pegasus.vehicle import Vehicle

if TYPE_CHECKING:
    from pegasus.vehicle_manager import VehicleManager

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class RotorLayout:
    """Where R rotors sit in the body frame, which way they push and how they turn."""

    position: Array
    """Centres of the discs [m], shape (R, 3)."""
    axis: Array
    """Unit directions of positive thrust, shape (R, 3)."""
    spin: Array
    """+1 for counter-clockwise about the axis, -1 for clockwise, shape (R,)."""

    @classmethod
    def from_specs(cls, rotors: Sequence[RotorSpec]) -> "RotorLayout":
        """Return the layout of a vehicle file's rotors.

        Args:
            rotors: The rotors in order.
        """
        axis = np.array([rotor.axis for rotor in rotors], dtype=np.float64)
        return cls(
            position=np.array([rotor.position for rotor in rotors], dtype=np.float64),
            axis=axis / np.linalg.norm(axis, axis=1, keepdims=True),
            spin=np.array([1.0 if rotor.direction == "ccw" else -1.0 for rotor in rotors]),
        )

    @property
    def count(self) -> int:
        """Number of rotors R."""
        return len(self.spin)

    @cached_property
    def span(self) -> float:
        """Largest distance of two rotors [m]."""
        between = self.position[:, None] - self.position
        return float(np.sqrt((between * between).sum(axis=-1).max()))

    def thrust_map(self, center_of_mass: Array) -> Array:
        """Return the wrench (force, torque about the centre of mass) per thrust, shape (R, 6).

        Args:
            center_of_mass: Centre of mass in the body frame [m], shape (3,).
        """
        return np.concatenate([self.axis, np.cross(self.position - center_of_mass, self.axis)], axis=1)

    def torque_map(self) -> Array:
        """Return the wrench per rotor torque, shape (R, 6): the airframe feels the reaction."""
        return np.concatenate([np.zeros_like(self.axis), -self.spin[:, None] * self.axis], axis=1)

    def inflow_map(self) -> Array:
        """Return what (velocity, angular velocity) of the body frame contribute to the inflow, shape (6, R).

        The rotor at r moves along its axis a with a . (v + w x r) = a . v + (r x a) . w.
        """
        return np.concatenate([self.axis, np.cross(self.position, self.axis)], axis=1).T


class Multirotor(Vehicle):
    """N identical multirotors.

    Args:
        model: Name of a shipped vehicle, path of a YAML file, or what such a file holds.
        count: Number of vehicles N.
        name: Unique name; that of the model, with a number where it is taken, when left out.
        position: Where the body frames start [m]: one point, or shape (N, 3). One point and a count make a
            square grid around it that does not collide. Left out, they stand at the world's free spawn
            points, or at the origin of a world that has none.
        heading: Direction of the x axis at the start, counter-clockwise from east [rad]; one or (N,). Left
            out, that of the spawn point, or 0 at a position.
        spacing: Distance of neighbours in that grid [m]; clears the rotors when left out.
        backends: Who flies it and who listens; exactly one of them may drive.
        sensors: Sensors by name, in place of those of the vehicle's file.
        extra_sensors: Further sensors by name.
        motor: Motor in place of that of the vehicle's file.
        thrust_curve: Thrust curve in place of that of the vehicle's file.
        drag: Drag in place of that of the vehicle's file.
        battery: Battery in place of that of the vehicle's file; its readings come ten times a second as those
            of a sensor `battery`, unless there is one of that name.
        ground_effect: Ground effect in place of that of the vehicle's file.
        downwash: Downwash in place of that of the vehicle's file.

    Raises:
        ConfigError: If the model is not known or its file is wrong, an argument is not allowed, or rotors
            overlap or reach as low as the airframe.
    """

    def __init__(
        self,
        model: str | Path | Mapping[str, Any] | VehicleSpec,
        *,
        count: int = 1,
        name: str | None = None,
        position: npt.ArrayLike | None = None,
        heading: npt.ArrayLike | None = None,
        spacing: float | None = None,
        backends: Sequence[Backend] = (),
        sensors: Mapping[str, Sensor] | None = None,
        extra_sensors: Mapping[str, Sensor] | None = None,
        motor: Motor | None = None,
        thrust_curve: ThrustCurve | None = None,
        drag: Drag | None = None,
        battery: Battery | None = None,
        ground_effect: GroundEffect | None = None,
        downwash: Downwash | None = None,
    ) -> None:
        from pegasus.scene.vehicle_asset import place_rotors

        count = whole_count(count)
        require_parts(motor=motor, thrust_curve=thrust_curve, drag=drag, battery=battery)
        require_parts(ground_effect=ground_effect, downwash=downwash)
        require_backends(backends)
        require_sensors(sensors=sensors, extra_sensors=extra_sensors)
        file: Path | None = None
        if isinstance(model, VehicleSpec):
            spec = model
        elif isinstance(model, Mapping):
            spec = parse(model, VehicleSpec)
        else:
            spec, file = load_vehicle(model)
        try:
            spec = place_rotors(spec, file or Path())
            self.layout = RotorLayout.from_specs(spec.rotor_list())
            require_rotors_apart(self.layout, spec.propeller.diameter)
            self.motor: Motor = motor or build(Motor, MOTORS, spec.motor, field="motor")
            self.thrust_curve: ThrustCurve = thrust_curve or build(
                ThrustCurve, THRUST_CURVES, spec.thrust_curve, field="thrust_curve"
            )
            self.drag: Drag | None = drag
            if drag is None and spec.drag is not None:
                self.drag = build(Drag, DRAGS, spec.drag, field="drag")
            if battery is None and spec.battery is not None:
                battery = build(Battery, BATTERIES, spec.battery, field="battery")
            self.battery: BatteryState | None = (
                None if battery is None else BatteryState(battery, self.motor, count)
            )
            if ground_effect is None and spec.ground_effect is not None:
                ground_effect = build(GroundEffect, GROUND_EFFECTS, spec.ground_effect, field="ground_effect")
            self.downwash: Downwash | None = downwash
            if downwash is None and spec.downwash is not None:
                self.downwash = build(Downwash, DOWNWASHES, spec.downwash, field="downwash")
            if sensors is None:
                sensors = {
                    k: build(Sensor, SENSORS, v, field=f"sensors.{k}") for k, v in spec.sensors.items()
                }
        except ConfigError as error:
            raise error.within(file=file) from None
        super().__init__(
            spec,
            file,
            count=count,
            name=name,
            position=position,
            heading=heading,
            spacing=spacing,
            backends=backends,
            sensors={
                **({"battery": BatteryMonitor()} if battery is not None else {}),
                **sensors,
                **(extra_sensors or {}),
            },
        )
        self._require_rotors_above_ground()
        self.center_of_mass: Array = np.array(spec.center_of_mass, dtype=np.float64)
        self.mass = spec.mass
        self.inertia = inertia_tensor(spec.inertia)
        self._thrust_map = self.layout.thrust_map(self.center_of_mass)
        self._torque_map = self.layout.torque_map()
        self._inflow_map = self.layout.inflow_map()
        self._offset = self.center_of_mass if self.center_of_mass.any() else None
        self._near_ground: NearGround | None = None
        if ground_effect is not None:
            self._near_ground = NearGround(ground_effect, self.layout, spec.propeller.diameter / 2)
        self._uses_air_density = (
            self.thrust_curve.uses_air_density
            or (self.drag is not None and self.drag.uses_air_density)
            or ground_effect is not None
        )
        self._rotor_momentum = spec.propeller.inertia * self.layout.spin[:, None] * self.layout.axis
        self._has_rotor_momentum = spec.propeller.inertia > 0
        self.reset_actuators()

    wake: Array | None = None
    """Velocity of the air that the jets of others move past each rotor, world [m/s], shape (N, R, 3)."""

    @property
    def rotor_centers(self) -> Array:
        """Middles of the discs in the world [m], shape (N, R, 3)."""
        centers: Array = self.state.position[:, None] + rotate(
            self.state.rotation[:, None], self.layout.position
        )
        return centers

    @property
    def rotor_count(self) -> int:
        """Number of rotors R of each vehicle."""
        return self.layout.count

    @property
    def rotor_force(self) -> Array:
        """Force of all rotors during the step that begins now, world frame [N], shape (N, 3)."""
        return rotate(self.state.rotation, self._rotor_wrench[:, :3])

    @property
    def rotor_torque(self) -> Array:
        """Torque of all rotors about the centre of mass, body frame [N m], shape (N, 3)."""
        return self._rotor_wrench[:, 3:]

    @property
    def drag_force(self) -> Array:
        """Drag during the step that begins now, world frame [N], shape (N, 3)."""
        return rotate(self.state.rotation, self._drag_wrench[:, :3])

    @property
    def drag_torque(self) -> Array:
        """Torque of the drag about the centre of mass, body frame [N m], shape (N, 3)."""
        return self._drag_wrench[:, 3:]

    def join(self, manager: "VehicleManager", environment: Environment) -> None:
        """Enter a simulation, if the rotors can carry the weight there: bind sensors and backends.

        Args:
            manager: Manager that the vehicle now belongs to.
            environment: Where it flies.

        Raises:
            ConfigError: If the vehicle cannot hover, is in a simulation, or a part of it does not fit.
        """
        try:
            require_hover(self.layout, self.motor, self.thrust_curve, self.mass, environment)
        except ConfigError as error:
            raise error.within(file=self.file) from None
        super().join(manager, environment)

    def reset_actuators(self) -> None:
        """Bring the rotors to rest, and charge the battery to what it starts with."""
        self.state.rotor_speed[...] = 0.0
        self.rotor_command = np.zeros((self.count, self.layout.count))
        self._rotor_wrench = np.zeros((self.count, 6))
        self._drag_wrench = np.zeros((self.count, 6))
        if self.battery is not None:
            self.battery.reset()
        if self._near_ground is not None:
            self._near_ground.reset()

    def actuate(self, t: float, dt: float) -> None:
        """Turn the last command into the wrench of the step from t to t + dt.

        The rotors answer to the command held over the step; the wrench is that of their mean speed, the
        attitude and the velocity at t.

        Args:
            t: Simulation time [s].
            dt: Length of the step [s].
        """
        state, motor = self.state, self.motor
        battery = self.battery
        if battery is None:
            command = np.minimum(np.maximum(self.command, motor.min_speed), motor.max_speed)
        else:
            command = np.minimum(np.maximum(self.command, battery.lowest_speed), battery.highest_speed)
        start = state.rotor_speed
        end = motor.step(start, command, dt)
        speed = motor.mean_speed(start, end)
        self.rotor_command = command

        through_air = state.velocity
        if not self.environment.wind.calm:
            through_air = through_air - self.environment.wind_velocity(state.position, t)
        velocity = rotate_inverse(state.rotation, through_air)
        angular_velocity = state.angular_velocity
        density = self._air_density()
        inflow = row_product(velocity, self._inflow_map[:3])
        inflow = inflow + row_product(angular_velocity, self._inflow_map[3:])
        if self.wake is not None:
            wake = rotate_inverse(state.rotation[:, None], self.wake)
            inflow = inflow - (wake * self.layout.axis).sum(axis=-1)
            velocity = velocity - wake.mean(axis=1)
        thrust, torque = self.thrust_curve.thrust(speed, inflow, density)
        if battery is not None and battery.draw(torque, speed, dt):
            self._warn_of_battery(t)
        if self._near_ground is not None:
            thrust = thrust * self._near_ground.thrust_ratio(
                thrust,
                self.rotor_centers,
                state,
                t,
                through_air=through_air,
                air_density=density,
                cast=self._cast_down,
            )
        wrench = row_product(thrust, self._thrust_map) + row_product(torque, self._torque_map)
        if self._has_rotor_momentum:
            wrench[:, 3:] += self._gyroscopic_torque(speed, (end - start) / dt)
        force, moment = wrench[:, :3], wrench[:, 3:]
        self._rotor_wrench = wrench
        if self.drag is not None:
            if self._offset is not None:
                velocity = velocity + cross(angular_velocity, self._offset)
            drag_force, drag_torque = self.drag.wrench(velocity, angular_velocity, density)
            self._drag_wrench[:, :3] = drag_force
            force = force + drag_force
            if drag_torque is not None:
                self._drag_wrench[:, 3:] = drag_torque
                moment = moment + drag_torque
        self.applied_force[...] = rotate(state.rotation, force)
        self.applied_torque[...] = moment
        state.rotor_speed[...] = end

    def _warn_of_battery(self, t: float) -> None:
        battery = self.battery
        assert battery is not None
        empty, low = int(battery.empty.sum()), int((battery.low & ~battery.empty).sum())
        of_all = f" of {self.count}" if self.count > 1 else ""
        _log.warning("%s at t = %.1f s: %d%s batteries low, %d empty", self.name, t, low, of_all, empty)

    def _cast_down(self, origins: Array, max_range: float) -> RayHits:
        down = np.broadcast_to([0.0, 0.0, -1.0], origins.shape)
        return self._joined().cast(self, origins, down, max_range)

    def _require_rotors_above_ground(self) -> None:
        from pegasus.scene.airframe import feet_height
        from pegasus.scene.colliders import lowest_point
        from pegasus.scene.vehicle_asset import rotor_of

        spec, rotors = self.spec, self.spec.rotor_list()
        # The collider of a drawn airframe is a hull that its rotors are part of.
        lowest = feet_height(spec)
        if spec.usd is not None:
            lowest = lowest_point([c for c in self.scene.colliders if rotor_of(c.path, rotors) is None])
        try:
            require_rotors_above_ground(self.layout, spec.propeller.diameter, lowest, drawn=spec.usd is None)
        except ConfigError as error:
            raise error.within(file=self.file) from None

    def _air_density(self) -> Array:
        if self._uses_air_density:
            return self.environment.air_density(self.state.position)[:, None]
        return self._no_density

    _no_density: Array = np.full((1, 1), np.nan)

    def _gyroscopic_torque(self, speed: Array, rotor_acceleration: Array) -> Array:
        """Return the torque of the rotors' angular momentum h on the airframe: -w x h - dh/dt.

        Args:
            speed: Rotor speeds [rad/s], shape (N, R).
            rotor_acceleration: Their rates of change [rad/s^2], shape (N, R).
        """
        momentum = row_product(speed, self._rotor_momentum)
        change = row_product(rotor_acceleration, self._rotor_momentum)
        return cross(momentum, self.state.angular_velocity) - change
