"""ArduPilot backend: lockstep over its JSON interface."""

import logging
import math
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from signal import SIGINT
from typing import Any

import numpy as np

from pegasus.backends.ardupilot.json_fdm import (
    OptionalReadings,
    commands_from_pwm,
    encode_reply,
    fdm_rows,
)
from pegasus.backends.ardupilot.lockstep import CHANNEL_COUNT, Contact, JsonLink, JsonLockstep
from pegasus.backends.ardupilot.motor_frames import FrameFit, fit_frame
from pegasus.backends.ardupilot.program import (
    PARAMETER_FILE,
    Program,
    format_parameters,
    read_parameters,
    require_enough_steps,
    sensor_parameters,
    start_place,
)
from pegasus.backends.mavlink.airframe import OutputMap, in_body_frame, output_map
from pegasus.backends.mavlink.autopilot_line import ARDUPILOT_DIALECT, ARDUPLANE_DIALECT, Lines, Pilot
from pegasus.backends.mavlink.estimate_link import EstimateListener
from pegasus.backends.mavlink.link import Link, TcpClientLink
from pegasus.backends.mavlink.messages import dialect
from pegasus.backends.mavlink.mission import MissionPilot, flight_from_spec, pilot_of
from pegasus.backends.mavlink.ports import PortKind, bind_udp, first_free_instance, listen
from pegasus.backends.mavlink.process import AutopilotProcess, stop_all
from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.frames import euler_from_quaternion, matrix_from_quaternion, normalize
from pegasus.config.settings import user_settings
from pegasus.contracts.backend import Backend, Failure, note_failure
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import Plan, VehicleState
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.aircraft import Aircraft, as_aircraft
from pegasus.core.link_state import FaultyLine
from pegasus.model.machine import are_rotors
from pegasus.sensors import IMU
from pegasus.sensors.imu import ImuReading

_log = logging.getLogger(__name__)

_JSON_PORT, _MAVLINK_PORTS, _PORT_STEP = 9002, (5760, 5762, 5763), 10
_ESTIMATE_PORT = 5765
_ESTIMATE_PARAMETERS: dict[str, float] = {"SERIAL5_PROTOCOL": 2}
"""MAVLink port for the state estimate, apart from those of users, and the parameter that opens it."""
_INSTANCE_LIMIT = 250
_DISARMED_PULSE = 1050.0
"""Upper limit of a disarmed copter's pulse widths [us]; armed ones idle at 1100."""


@dataclass(eq=False)
class ArduPilot(Backend):
    """ArduPilot backend: one ArduCopter for each copy of the vehicle, in lockstep with the simulation.

    At every step the state is sent to all instances, and all answers are received before the rotors move.
    Specific force and angular velocity are the last readings of the vehicle's IMU; position, velocity and
    attitude are true, and ArduPilot simulates GPS, barometer and compass from them. Readings of rangefinders
    and an airspeed sensor, and voltage and current of the battery, are sent if the vehicle has them.

    Instance i sends to UDP port 9002 + 10 i, has MAVLink at TCP port 5760 + 10 i and system id i + 1.
    """

    outside = True
    directory: str | Path | None = None
    """ArduPilot's source directory, with ArduCopter built for simulation; searched if None."""
    _: KW_ONLY
    instance: int | None = None
    """Instance number of the first copy; if None the first free ones from that of the user settings."""
    launch: bool = True
    """Launch ArduPilot; if False, wait for one that is started elsewhere."""
    parameters: dict[str, float] = field(default_factory=dict)
    """ArduPilot parameters; they override the vehicle file's, and these override `parameter_files`."""
    parameter_files: tuple[Path, ...] = ()
    """Files of ArduPilot parameters; a later one overrides an earlier one."""
    working_directory: Path | None = None
    """Folder of parameters and logs that persist between runs; None for a fresh start."""
    speedup: float = 1.0
    """Speed-up option of ArduPilot. The simulation sets the pace in any case; above 1 ArduPilot waits for
    slow MAVLink clients."""
    step_timeout: float = 1.0
    """Maximum wait for an answer, in wall time [s]."""
    hold_time: float = 0.5
    """Time for which rotors keep the last command without answers, in simulated time [s]."""
    trajectory: Any = None
    """`Trajectory`, function of time, or list of parts, flown in guided mode as soon as ArduPilot
    can arm; None for no commands."""
    waypoints: Any = None
    """Items of a mission that ArduPilot flies by itself as soon as it can arm; None for none. Not with a
    `trajectory`."""
    start_timeout: float = 60.0
    """Maximum time until ArduPilot's first packet, in wall time [s]."""
    address: str = "127.0.0.1"
    """Address of this machine to which ArduPilot sends; 0.0.0.0 for an ArduPilot on another machine."""

    drives = True
    maps_outputs = True
    estimates = True

    def __post_init__(self) -> None:
        fits = self.instance is None or 0 <= self.instance < _INSTANCE_LIMIT
        require(fits, "instance", self.instance, f"must be from 0 to {_INSTANCE_LIMIT - 1}")
        require(0 < self.speedup < math.inf, "speedup", self.speedup, "must be above 0 and finite")
        for name in ("step_timeout", "start_timeout"):
            require(0 < getattr(self, name) < math.inf, name, getattr(self, name), "must be above 0 s")
        require(0 <= self.hold_time < math.inf, "hold_time", self.hold_time, "must not be negative")
        self._pilot: Pilot | None = None
        self._listener: EstimateListener | None = None
        self._flight = flight_from_spec(self.trajectory, self.waypoints)
        if self.trajectory is not None:
            self.trajectory = self._flight
        self.links: list[JsonLink] = []
        """Link to the instance of each copy; empty while stopped."""
        self.processes: list[AutopilotProcess] = []
        """Launched programs, in the order of the copies."""
        self.instances = range(0)
        """Instance numbers; set by `bind`."""
        self.failures: list[Failure] = []
        self._log_is_kept = True
        self._resources = ExitStack()

    @property
    def reached(self) -> list[int]:
        """Number of items of `waypoints` that each autopilot has reached, N values."""
        return self._pilot.reached if isinstance(self._pilot, MissionPilot) else [0] * len(self.instances)

    def bind(self, vehicle: Vehicle) -> None:
        """Validate the options, find the program, and open the ports.

        Raises:
            ConfigError: If pymavlink is missing, the vehicle has no IMU, the physics rate is too low, a file
                or directory is missing, a parameter or an output is wrong, or a port is in use.
        """
        dialect()
        self.stop()
        self._vehicle = vehicle = as_aircraft(vehicle)
        self._count = vehicle.count
        self._bind_imu(vehicle)
        outputs = vehicle.spec.ardupilot
        channels = vehicle.channels
        self._outputs = output_map(
            outputs, channels, file=vehicle.file, output_count=CHANNEL_COUNT, field="ardupilot"
        )
        self._rotor_count = vehicle.rotor_count
        self._pulses = [[0] * len(channels)] * vehicle.count
        self._bind_parameters(vehicle, self._outputs)
        self._environment = vehicle.environment
        yaws = euler_from_quaternion(vehicle.start.orientation)[:, 2].tolist()
        self._homes = [start_place(self._environment.origin, yaw) for yaw in yaws]
        self._program = Program.find(self.directory, vehicle.spec.ardupilot.vehicle) if self.launch else None
        self.instances = self._choose_instances()
        self._open()

    def start(self) -> None:
        """Start ArduPilot for every copy, or wait for it; a repeated call restarts.

        Raises:
            ConfigError: If the program or its working directory cannot be used, or a port is in use.
        """
        if not self.links:
            self._open()
        self._imu: ImuReading | None = None
        self._optional = OptionalReadings(self._environment, self._vehicle.battery)
        self._lines: list[FaultyLine | None] = [None] * self._count
        self.failures = []
        self._listener = EstimateListener(
            self._clients(_ESTIMATE_PORT),
            [i + 1 for i in self.instances],
            origin=self._environment.origin,
            flat=True,
        )
        self._resources.callback(self._listener.close)
        self.estimate = self._listener.estimate
        clients, names = self._clients(_MAVLINK_PORTS[0]), [link.name for link in self.links]
        wings = self._vehicle.spec.ardupilot.vehicle == "plane"
        dialect = ARDUPLANE_DIALECT if wings else ARDUPILOT_DIALECT
        self._pilot = self._new_pilot(Lines(dialect, clients, [i + 1 for i in self.instances], names))
        if self._pilot is not None:
            self._resources.callback(self._pilot.close)
            self.reference = self._pilot.reference
        if self._program is not None:
            self._launch(self._program)
        self._lockstep = JsonLockstep(
            self.links,
            self.processes,
            step_timeout=self.step_timeout,
            start_timeout=self.start_timeout,
            hold_time=self.hold_time,
            log_is_kept=self._log_is_kept,
            note=self._note_failure,
        )
        self._resources.callback(self._lockstep.close)

    def publish(self, t: float, state: VehicleState, readings: "Mapping[str, Reading]") -> None:
        """Answer the newest packet of every instance with the state at simulation time t [s].

        Raises:
            AutopilotError: If a first packet does not arrive in time, or a program has ended.
        """
        self._lockstep.await_contacts(t)
        reading = readings.get(self._imu_name)
        if isinstance(reading, ImuReading):
            self._imu = reading if self._mounting is None else in_body_frame(reading, self._mounting)
        self._optional.take(readings, state.position)
        links = self.links
        if self._imu is None or self._lockstep.is_stale:
            self._lockstep.receive()
        if self._imu is not None and any(link.owed for link in links):
            rows = fdm_rows(
                state.position,
                state.orientation,
                state.velocity,
                self._imu.angular_velocity,
                self._imu.specific_force,
            )
            for i, link in enumerate(links):
                if link.owed:
                    self._reply(t, i, self._encode(t, rows[i], i))
        present = [link.contact is Contact.LOCKSTEP for link in links]
        if self._listener is not None:
            self._listener.update(t, state, present=present)
        if self._pilot is not None:
            armed = [max(pulses[: self._rotor_count]) > _DISARMED_PULSE for pulses in self._pulses]
            self._pilot.update(t, state, present=present, armed=armed)
        self._lockstep.published()

    def command(self, t: float) -> Array:
        """Wait for the answers of all instances, and return the commands by channel, shape (N, U)."""
        self._lockstep.await_answers(t)
        self._pulses = [link.pulse_widths(self._channels, t, self.hold_time) for link in self.links]
        return np.array([commands_from_pwm(pulses, self._outputs) for pulses in self._pulses])

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the trajectory."""
        return None if self._pilot is None else self._pilot.plan(t)

    def stop(self) -> None:
        """End the programs and close the sockets; repeated calls are allowed."""
        self.links = []
        self._resources.close()

    def _new_pilot(self, lines: Lines) -> Pilot | None:
        return pilot_of(self._flight, lines, self._environment.origin)

    def _bind_imu(self, vehicle: Aircraft) -> None:
        imus = [(name, sensor) for name, sensor in vehicle.sensors.items() if isinstance(sensor, IMU)]
        if not imus:
            raise ConfigError(
                "ArduPilot needs an IMU", field="sensors", value=sorted(vehicle.sensors), remedy="add one"
            )
        self._imu_name, imu = imus[0]
        turned = any(imu.orientation[:3])
        self._mounting = matrix_from_quaternion(normalize(np.array(imu.orientation))) if turned else None

    def _bind_parameters(self, vehicle: Aircraft, outputs: OutputMap) -> None:
        self._parameter_files = [Path(file).expanduser() for file in self.parameter_files]
        given: dict[str, float] = {}
        for file in self._parameter_files:
            given |= read_parameters(file)
        asked = _ESTIMATE_PARAMETERS | self._asked() | sensor_parameters(vehicle.sensors.values())
        asked = {name: value for name, value in asked.items() if name not in given}
        own = {**asked, **vehicle.spec.ardupilot.parameters, **self.parameters}
        frame = FrameFit(outputs.outputs, {})
        if are_rotors(vehicle.channels):
            frame = fit_frame(vehicle, outputs, given | own)
        self._channels, own = frame.channels, {**frame.parameters, **own}
        self._own_parameters, self._given = format_parameters(own), given | own
        require_enough_steps(vehicle.physics_rate, given | own, vehicle.spec.ardupilot.vehicle)

    def _asked(self) -> dict[str, float]:
        """Return parameters of a subclass that are set unless they are given."""
        return {}

    def _choose_instances(self) -> range:
        count = self._count
        first = self.instance
        if first is None:
            first = first_free_instance(
                lambda i: [port for k in range(i, i + count) for port in self._ports(k)],
                user_settings().ardupilot.instance or 0,
            )
        if first + count > _INSTANCE_LIMIT:
            raise ConfigError(
                f"with {count} vehicles must be at most {_INSTANCE_LIMIT - count}",
                field="instance",
                value=first,
            )
        return range(first, first + count)

    def _ports(self, instance: int) -> "list[tuple[PortKind, int]]":
        """Return the ports that must be free for an instance."""
        shift = _PORT_STEP * instance
        ports: list[tuple[PortKind, int]] = [("udp", _JSON_PORT + shift)]
        if self.launch:
            ports += [("tcp", port + shift) for port in (*_MAVLINK_PORTS, _ESTIMATE_PORT)]
        return ports

    def _clients(self, port: int) -> list[Callable[[], Link]]:
        """Return a function per instance that connects to a port, given that of instance 0."""
        return [
            partial(TcpClientLink, "127.0.0.1", port + _PORT_STEP * instance) for instance in self.instances
        ]

    def _open(self) -> None:
        """Open the sockets of all instances, or of none."""
        with ExitStack() as opened:
            links = []
            for instance in self.instances:
                for kind, port in self._ports(instance):
                    if kind == "tcp":
                        listen("0.0.0.0", port).close()
                udp = opened.enter_context(bind_udp(self.address, _JSON_PORT + _PORT_STEP * instance))
                links.append(JsonLink(f"ArduPilot {instance} of vehicle {self._vehicle.name!r}", udp))
            self._resources = opened.pop_all()
        self.links, self.processes = links, []

    def _launch(self, program: Program) -> None:
        home = self.working_directory or self.run_folder
        self._log_is_kept = home is not None
        if home is None:
            home = Path(tempfile.mkdtemp(prefix="pegasus-ardupilot-"))
            self._resources.callback(shutil.rmtree, home, ignore_errors=True)
        self._resources.callback(stop_all, self.processes)
        for instance, place, link in zip(self.instances, self._homes, self.links, strict=True):
            directory = Path(home).expanduser().resolve() / f"ardupilot_{instance}"
            try:
                directory.mkdir(parents=True, exist_ok=True)
                (directory / PARAMETER_FILE).write_text(self._own_parameters)
            except OSError as error:
                raise ConfigError(
                    f"cannot be written: {error.strerror}",
                    field="working_directory",
                    value=str(directory),
                    remedy="choose another folder",
                ) from None
            process = AutopilotProcess(
                program.arguments(
                    instance,
                    home=place,
                    speedup=self.speedup,
                    parameter_files=self._parameter_files,
                    wipe=self.working_directory is None,
                ),
                environment={},
                directory=directory,
                log=directory / "ardupilot.log",
                name=link.name,
                # It ignores SIGTERM while it waits for a reply.
                signals=(SIGINT,),
            )
            self.processes.append(process)
            process.start()
            link.process = process
            _log.info(
                "%s: MAVLink at tcp:127.0.0.1:%d, log in %s",
                *(link.name, _MAVLINK_PORTS[0] + _PORT_STEP * instance, process.log),
            )

    def _reply(self, t: float, copy: int, text: bytes) -> None:
        """Answer the packet of a copy, by what a link with faults lets through."""
        link, line, faults = self.links[copy], self._lines[copy], self._vehicle.faults.links
        if line is None and faults.fail("json"):
            line = FaultyLine(faults, "json", copy)
        elif line is not None and line.is_idle:
            line = None
        self._lines[copy] = line
        texts = [text] if line is None else line.passed([text], t)
        if texts:
            link.reply(*texts)
        else:
            link.note_missing_packet(t)

    def _encode(self, t: float, row: Sequence[float], copy: int) -> bytes:
        try:
            return encode_reply(t, row, self._optional.text(copy))
        except ValueError:
            raise ConfigError(
                "must be finite",
                field=f"state or IMU reading of vehicle {self._vehicle.name!r}, copy {copy}, at t = {t:g} s",
                remedy="check its motor, thrust curve, drag and IMU",
            ) from None

    def _note_failure(self, copy: int, t: float, problem: str, exit_status: int | None) -> None:
        autopilot = f"ArduPilot {self.instances[copy]}"
        note_failure(self.failures, Failure(self._vehicle.name, autopilot, t, problem, exit_status))
