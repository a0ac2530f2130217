"""PX4 backend: lockstep over MAVLink's hardware-in-the-loop messages."""

import logging
import math
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np

from pegasus.backends.mavlink.airframe import output_map
from pegasus.backends.mavlink.autopilot_line import PX4_DIALECT, Lines, Pilot
from pegasus.backends.mavlink.estimate_link import EstimateListener
from pegasus.backends.mavlink.health_link import HealthListener
from pegasus.backends.mavlink.hub import LinkHub
from pegasus.backends.mavlink.link import Link, TcpServerLink, UdpLink, open_link
from pegasus.backends.mavlink.local_axes import LocalAxes
from pegasus.backends.mavlink.messages import dialect
from pegasus.backends.mavlink.mission import MissionPilot, flight_from_spec, pilot_of
from pegasus.backends.mavlink.ports import first_free_instance
from pegasus.backends.mavlink.process import AutopilotProcess, stop_all
from pegasus.backends.px4.battery import OWN_BATTERY, BatteryTelemetry
from pegasus.backends.px4.failures import FailureListener
from pegasus.backends.px4.geometry import OUTPUT_COUNT, geometry_parameters
from pegasus.backends.px4.hil_instance import HilInstance, Phase
from pegasus.backends.px4.hil_sensors import HilSensors
from pegasus.backends.px4.hil_stream import HilStream
from pegasus.backends.px4.lockstep import HilLockstep
from pegasus.backends.px4.program import (
    PAYLOAD_PORT,
    PAYLOAD_STREAMS,
    PX4Program,
    all_ports,
    environment_of,
    hil_port,
    listen_for,
    remove_remains,
    reserve,
)
from pegasus.backends.px4.roles import Kind, roles_of
from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.config.settings import user_settings
from pegasus.contracts.backend import Backend, EstimatorHealth, Failure, note_failure
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import Estimate, Plan, VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.aircraft import as_aircraft

_log = logging.getLogger(__name__)

_INSTANCE_LIMIT = 250
_COMPLAINT, _PRINTED = "Preflight Fail:", 500
"""Prefix of PX4's reasons against arming, and number of its last lines that are searched."""


@dataclass(eq=False)
class PX4(Backend):
    """PX4 backend: one autopilot for each copy of the vehicle, in lockstep with the simulation.

    PX4 is launched and ended with the run, unless `launch` is false or a `connection` is given. Every IMU
    sample is sent to all autopilots before any answer is waited for; an autopilot that does not answer within
    `step_timeout` is reported, its rotors stop after `hold_time`, and the others continue.
    """

    outside = True
    directory: str | Path | None = None
    """Built folder PX4-Autopilot; if None that of the user settings, PX4_DIR or ~/PX4-Autopilot."""
    _: KW_ONLY
    airframe: str | None = None
    """Airframe, as in PX4_SIM_MODEL; if None that of the user settings or the vehicle's file."""
    parameters: dict[str, float | int] = field(default_factory=dict)
    """PX4 parameters to set, in addition to those of the vehicle's file."""
    environment: dict[str, str | int | float] = field(default_factory=dict)
    """Environment variables of PX4, in addition to the ROS_ and PX4_ variables of this process."""
    instance: int | None = None
    """Instance number of the first copy, which determines all ports; the first free one if None."""
    launch: bool = True
    """Launch PX4; if False, wait for one that is started elsewhere."""
    connection: str | None = None
    """Link to an external PX4: tcp:HOST:PORT, udp:HOST:PORT, serial:DEVICE:BAUD, tcpin:PORT."""
    working_directory: str | Path | None = None
    """Folder of parameters and logs that persist between runs; the run's folder if None."""
    step_timeout: float = 1.0
    """Maximum wait for an answer, in wall time [s]."""
    hold_time: float = 0.5
    """Time for which rotors keep their speed without answers, in simulated time [s]."""
    trajectory: Any = None
    """`Trajectory`, function of time, or list of parts, flown in offboard mode as soon as PX4
    can arm; None for no commands. Not with a `connection`."""
    waypoints: Any = None
    """Items of a mission that PX4 flies by itself as soon as it can arm; None for none. Not with a
    `trajectory` or a `connection`."""
    start_timeout: float = 60.0
    """Maximum time until PX4 connects and answers, in wall time [s]."""

    drives = True
    maps_outputs = True
    estimates = True

    def __post_init__(self) -> None:
        for name in ("step_timeout", "hold_time", "start_timeout"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, "must be above 0 s and finite")
        self._environment = environment_of(self.environment)
        if self.instance is not None:
            fits = 0 <= self.instance < _INSTANCE_LIMIT
            require(fits, "instance", self.instance, f"must be 0 to {_INSTANCE_LIMIT - 1}")
        for name in ("trajectory", "waypoints"):
            if self.connection is not None and getattr(self, name) is not None:
                # A program without sight of the vehicle must not arm a real flight controller.
                raise ConfigError(
                    f"allows no {name}: Pegasus arms and flies only a PX4 on this machine",
                    field="connection",
                    value=self.connection,
                    remedy=f"omit the {name}, and arm and fly from a ground station or by MAVSDK",
                )
        self._flight = flight_from_spec(self.trajectory, self.waypoints)
        if self.trajectory is not None:
            self.trajectory = self._flight
        self.rc_channels: Sequence[int] | None = None
        """Pulse widths of a receiver to send [us], at most 18; may be set at any time."""
        self._pilot: Pilot | None = None
        self._listener: EstimateListener | None = None
        self._estimates: EstimateListener | None = None
        """Listener of this run or, after its end, of the last one."""
        self._failures: FailureListener | None = None
        self._battery: BatteryTelemetry | None = None
        self._health: HealthListener | None = None
        self._count = 0
        self._instances: list[HilInstance] = []
        self._processes: list[AutopilotProcess] = []
        self._links: list[Link] = []
        self._hubs: list[LinkHub] = []
        """Links for commands and estimates of each autopilot, if not the HIL links."""
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._lockstep: HilLockstep | None = None
        self._stream: HilStream | None = None
        self.failures: list[Failure] = []

    @property
    def armed(self) -> list[bool]:
        """Armed state of each autopilot, N values; False before the start."""
        return [instance.armed for instance in self._instances] or [False] * self._count

    @property
    def reached(self) -> list[int]:
        """Number of items of `waypoints` that each autopilot has reached, N values."""
        pilot = self._pilot
        return pilot.reached if isinstance(pilot, MissionPilot) else [0] * self._count

    @property
    def estimate(self) -> Estimate | None:  # type: ignore[override]
        """State estimates of the autopilots, decoded at each step from the first time that they are read."""
        return None if self._estimates is None else self._estimates.estimate

    def bind(self, vehicle: Vehicle) -> None:
        """Validate the options and open the ports.

        Raises:
            ConfigError: If pymavlink is missing, the vehicle has no IMU, PX4 or its airframe is not found, an
                option is wrong, or a port is in use.
        """
        dialect()
        self._vehicle = vehicle = as_aircraft(vehicle)
        self._count, spec = vehicle.count, vehicle.spec.px4
        self._sensors = HilSensors(vehicle)
        self._outputs = output_map(
            spec, vehicle.channels, file=vehicle.file, output_count=OUTPUT_COUNT, field="px4"
        )
        self._program = None
        if self.launch and self.connection is None:
            airframe = self.airframe or user_settings().px4.airframe or spec.airframe
            given = {**spec.parameters, **self.parameters}
            geometry = {}
            if airframe == Kind.MULTIROTOR.airframe:
                roles = roles_of(vehicle, self._outputs)
                airframe = roles.kind.airframe
                geometry = geometry_parameters(vehicle, self._outputs, given, roles)
            self._program = PX4Program(
                self.directory,
                airframe=airframe,
                parameters=given,
                derived={
                    **self._sensors.delays,
                    **geometry,
                    **self._battery_parameters(),
                    **self._asked(),
                },
                sensor_rate=self._sensors.rate,
                environment=self._environment,
            )
        else:
            for option, what in (("parameters", "parameters"), ("environment", "environment variables")):
                if getattr(self, option):
                    _log.warning(
                        "the %s are ignored: PX4 of vehicle %r is not launched by Pegasus", what, vehicle.name
                    )
        self._sensors.warn_of_missing(wings=self._program is not None and self._program.has_wings)
        if self.connection is not None and vehicle.count > 1:
            raise ConfigError(
                "is one link, but the vehicle has several copies",
                field="connection",
                value=self.connection,
                remedy="add the vehicles one by one",
            )
        if self.instance is not None or self.connection is not None:
            self.first_instance = self.instance or 0
            last = _INSTANCE_LIMIT - vehicle.count
            allowed = f"with {vehicle.count} vehicles must be at most {last}"
            require(self.first_instance <= last, "instance", self.instance, allowed)
            self._open_links()
        else:
            self._take_free_instances(user_settings().px4.instance or 0)
        self._commands = np.zeros((vehicle.count, len(vehicle.channels)))
        self._fill = partial(Struct(f"{self._commands.size}d").pack_into, self._commands.data, 0)

    def start(self) -> None:
        """Start the autopilots."""
        if not self._links:
            self._open_links()
        vehicle = self._vehicle
        self._instances = [
            HilInstance(
                f"PX4 {self.first_instance + i} of vehicle {vehicle.name!r}",
                link,
                self._outputs,
                system=self.first_instance + i + 1,
                hold_time=self.hold_time,
            )
            for i, link in enumerate(self._links)
        ]
        self._lockstep = HilLockstep(
            self._instances,
            step_timeout=self.step_timeout,
            start_timeout=self.start_timeout,
            note=self._note_failure,
        )
        self.failures, self._due = [], -math.inf
        external = self.connection is not None
        self._stream = HilStream(vehicle, self._sensors, self._instances, external=external)
        numbers = range(self.first_instance, self.first_instance + vehicle.count)
        hubs = hil_hubs = [instance.hub for instance in self._instances]
        if not external:
            # The offboard port is left to the user: PX4 answers only its first partner there.
            self._hubs = hubs = [LinkHub(UdpLink("127.0.0.1", PAYLOAD_PORT + number)) for number in numbers]
            for hub in hubs:
                self._lockstep.add_hub(hub)
        taps, systems = [hub.tap for hub in hubs], [number + 1 for number in numbers]
        self._listener = self._estimates = EstimateListener(
            taps, systems, origin=vehicle.environment.origin, unwanted=() if external else PAYLOAD_STREAMS
        )
        self._failures = FailureListener(
            [(copy, hub.tap()) for group in (hil_hubs, self._hubs) for copy, hub in enumerate(group)],
            systems,
            vehicle,
            self._outputs,
        )
        if vehicle.battery is not None and self._sends_battery():
            self._battery = BatteryTelemetry(taps, systems, vehicle.battery)
        self._health = HealthListener(taps, vehicle.name, [f"PX4 {number}" for number in numbers])
        names = [instance.name for instance in self._instances]
        axes = [LocalAxes.at(vehicle.environment.origin, start) for start in vehicle.start.position.tolist()]
        self._pilot = self._new_pilot(Lines(PX4_DIALECT, taps, systems, names, self._printed_reasons, axes))
        if self._pilot is not None:
            self.reference = self._pilot.reference
        if self._program is not None:
            self._launch(self._program, self._lockstep)

    def publish(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Send new readings to every autopilot."""
        assert self._lockstep is not None
        assert self._stream is not None
        self._lockstep.await_connections(t)
        present = [instance.phase is not Phase.ABSENT for instance in self._instances]
        self._stream.send(t, state, readings, self.rc_channels)
        if self._failures is not None:
            self._failures.read()
        if self._listener is not None:
            self._listener.update(t, state, present=present)
        if t >= self._due:
            self._update_seldom(t, state, present)
        self._lockstep.published()

    def command(self, t: float) -> Array:
        """Wait for the answers of all autopilots, and return the commands by channel, shape (N, U)."""
        assert self._lockstep is not None
        self._lockstep.collect(t)
        self._fill(*[command for instance in self._instances for command in instance.commands(t)])
        return self._commands

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the trajectory."""
        return None if self._pilot is None else self._pilot.plan(t)

    @property
    def logs(self) -> list[Path]:
        """ULogs of the launched autopilots in their folders."""
        folders = [process.directory for process in self._processes]
        return sorted(log for folder in folders for log in folder.glob("log/**/*.ulg"))

    @property
    def health(self) -> Sequence[EstimatorHealth]:
        """Health of the autopilots' estimators by ESTIMATOR_STATUS."""
        return () if self._health is None else self._health.health

    def stop(self) -> None:
        """End launched autopilots and close every link."""
        processes, self._processes = self._processes, []
        try:
            stop_all(processes)
            for i in range(len(processes)):
                remove_remains(self.first_instance + i)
        finally:
            self._lockstep = self._stream = None
            for link in self._links:
                link.close()
            for hub in self._hubs:
                hub.link.close()
            self._links, self._instances, self._hubs = [], [], []
            for follower in (self._pilot, self._listener, self._failures, self._battery, self._health):
                if follower is not None:
                    follower.close()
            self._pilot = self._listener = self._failures = self._battery = self._health = None
            if self._scratch is not None:
                self._scratch.cleanup()
                self._scratch = None

    def _update_seldom(self, t: float, state: VehicleState, present: Sequence[bool]) -> None:
        """Update health, battery and pilot, and set the time of the next one that has something to do."""
        armed, dues = self.armed, [math.inf]
        if self._health is not None:
            self._health.update(t, armed=armed)
            dues.append(self._health.due)
        if self._battery is not None:
            self._battery.update(t, present=present)
            dues.append(self._battery.due)
        if self._pilot is not None:
            self._pilot.update(t, state, present=present, armed=armed)
            dues.append(self._pilot.due)
        self._due = min(dues)

    def _asked(self) -> dict[str, float | int]:
        """Return parameters of a subclass that are set unless they are given."""
        return {}

    def _battery_parameters(self) -> dict[str, float | int]:
        return {} if self._vehicle.battery is None else {OWN_BATTERY: 0}

    def _sends_battery(self) -> bool:
        """Return whether PX4 gets the vehicle's battery: not one that simulates or measures its own."""
        if self._program is None:
            return self.connection is None
        return self._program.parameter(OWN_BATTERY) == 0

    def _new_pilot(self, lines: Lines) -> Pilot | None:
        return pilot_of(self._flight, lines, self._vehicle.environment.origin)

    def _note_failure(self, copy: int, t: float, problem: str, exit_status: int | None) -> None:
        autopilot = f"PX4 {self.first_instance + copy}"
        note_failure(self.failures, Failure(self._vehicle.name, autopilot, t, problem, exit_status))

    def _printed_reasons(self, copy: int) -> str:
        """Return the reasons against arming that the PX4 of a copy has printed."""
        lines = self._processes[copy].last_lines(_PRINTED) if self._processes else []
        reasons = [line.partition(_COMPLAINT)[2].strip() for line in lines if _COMPLAINT in line]
        return "; ".join(dict.fromkeys(reasons))

    def _take_free_instances(self, start: int) -> None:
        """Open the links of the first free instances from a number on."""
        # A PX4 that is not launched here holds its own ports.
        ports = all_ports if self._program is not None else hil_port
        copies = range(self._vehicle.count)
        while not self._links:
            first = first_free_instance(
                lambda n: [p for i in copies for p in ports(n + i)], start, _INSTANCE_LIMIT + 1 - len(copies)
            )
            self.first_instance, start = first, first + 1
            # Another process may take the ports first.
            with suppress(ConfigError):
                self._open_links()

    def _open_links(self) -> None:
        if self.connection is not None:
            self._links = [open_link(self.connection)]
            return
        numbers = range(self.first_instance, self.first_instance + self._vehicle.count)
        self._links = [*listen_for(numbers, launched=self._program is not None)]

    def _launch(self, program: PX4Program, lockstep: HilLockstep) -> None:
        folder = self.run_folder
        if folder is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="pegasus-px4-")
            folder = Path(self._scratch.name)
        for i in range(self._vehicle.count):
            number = self.first_instance + i
            kept = Path(self.working_directory).expanduser() if self.working_directory is not None else folder
            process = program.process(
                number,
                directory=kept / f"px4_{number}",
                log=folder / f"px4_{number}.log",
                speed=self.real_time_factor,
            )
            self._processes.append(process)
            process.start()
            link = self._links[i]
            assert isinstance(link, TcpServerLink)
            reserve(link, process)
            lockstep.watch(process, log_is_kept=self._scratch is None)
            _log.info("%s started, log in %s", process.name, process.log)
