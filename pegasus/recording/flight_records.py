"""Readers of logs for identification: our logs, tables of CSV, and the NeuroBEM dataset."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.file_kinds import refuse_other_kinds
from pegasus.base.frames import matrix_from_quaternion, rotate
from pegasus.base.text_files import is_number, text_of
from pegasus.contracts.flight_record import WIDTHS, FlightRecord, Measured, Quantity
from pegasus.core.aircraft import Aircraft
from pegasus.recording.flight_data import read_neurobem
from pegasus.recording.log import Log, Series
from pegasus.recording.reader import read_log
from pegasus.recording.residuals import rotor_order

Source = Literal["sensors", "state"]
_STATE: tuple[Quantity, ...] = ("position", "orientation", "velocity", "angular_velocity", "rotor_speed")
_ODOMETRY: tuple[Quantity, ...] = ("position", "orientation", "velocity", "angular_velocity")
_IMU: tuple[Quantity, ...] = ("angular_velocity", "specific_force")
_PARTS = {"orientation": "xyzw"}
_REMEDY = (
    "give a log of Pegasus, a CSV file with columns such as time, position_x, rotor_0, or one of NeuroBEM"
)


def read_flight(
    path: str | Path,
    vehicle: Aircraft,
    *,
    name: str | None = None,
    copy: int = 0,
    source: Source | None = None,
) -> FlightRecord:
    """Return a flight from a log for `pegasus.fleet.identify`.

    Files are a log of Pegasus or the folder of a run; a CSV file of the NeuroBEM dataset, whose measured
    rotor speeds stand for commands; or another CSV file with the columns `time` [s], those of
    `Log.to_pandas` (`position_x`, `orientation_w`, `velocity_z`, `angular_velocity_x`, `specific_force_x`,
    `rotor_speed_0`), and the channels of the vehicle. An empty cell is an instant without a measurement.

    Args:
        path: The file.
        vehicle: Vehicle that flew, for its channels and rotors.
        name: Name of the vehicle in a log; may be left out if it has only one.
        copy: Index of the copy of that vehicle.
        source: Of a log, `sensors`: odometry and IMU, or `state`: the true state. By default the sensors, if
            there is odometry among them.

    Raises:
        ConfigError: If the file cannot be read, holds no commands, or a value is not allowed.
    """
    path = Path(path)
    if path.suffix.lower() == ".csv":
        return _of_table(path, vehicle)
    refuse_other_kinds(path, "a log of Pegasus (MCAP) or a CSV file", {"mcap"})
    return _of_log(read_log(path), path, name, copy, source)


def _of_log(log: Log, path: Path, name: str | None, copy: int, source: Source | None) -> FlightRecord:
    """Return a flight of a log of Pegasus."""
    flown = [vehicle for vehicle in log.vehicles if f"{vehicle}/state" in log]
    name = flown[0] if name is None and len(flown) == 1 else name
    if name not in flown:
        raise ConfigError(
            "must name one of several vehicles" if name is None and flown else "has no recorded states",
            file=path,
            field="vehicle",
            value=name,
            remedy=f"choose one of {', '.join(flown)}" if flown else "record a run",
        )
    require(0 <= copy < log.vehicles[name], "copy", copy, f"must be from 0 to {log.vehicles[name] - 1}")
    topic = f"{name}/command"
    if topic not in log or len(log[topic]) < 2:
        raise ConfigError(
            "holds no commands", file=path, field=topic, remedy="record the flight by McapRecorder"
        )
    commands = log[topic]
    rate = float(log.metadata.get("rate", 0.0))
    held = bool(np.median(np.diff(commands.time)) * rate < 1.5)
    values = np.stack([series[:, copy] for series in commands.fields.values()], axis=1)
    measured = _of_sensors(log, name, copy) if source != "state" else []
    if not any(m.quantity == "orientation" for m in measured):
        require(source != "sensors", "source", source, "must be state: the log has no odometry")
        state = log[f"{name}/state"]
        measured = [_measured("state", q, state, state.time, copy) for q in _STATE]
    contacts = _contacts(log[f"{name}/contacts"], copy) if f"{name}/contacts" in log else ()
    return FlightRecord(str(path), commands.time, values, measured, held=held, contacts=contacts)


def _of_sensors(log: Log, name: str, copy: int) -> list[Measured]:
    """Return the readings of odometry and IMUs."""
    found = []
    for topic in log:
        if not topic.startswith(f"{name}/sensors/"):
            continue
        series, sensor = log[topic], topic.rpartition("/")[2]
        if "specific_force" in series.fields:
            # The first reading is the mean over no time.
            found += [_measured(sensor, q, series, series.time, copy, mean=True, first=1) for q in _IMU]
        elif "valid_at" in series.fields and "orientation" in series.fields:
            found += [_measured(sensor, q, series, series.valid_at, copy) for q in _ODOMETRY]
    return found


def _measured(
    sensor: str,
    quantity: Quantity,
    series: Series,
    time: Array,
    copy: int,
    *,
    mean: bool = False,
    first: int = 0,
) -> Measured:
    """Return the measurements of a quantity; of several at one time the last."""
    new = np.append(np.diff(time) > 0, True)
    new[:first] = False
    return Measured(sensor, quantity, time[new], series.fields[quantity][new, copy], mean=mean, biased=mean)


def _contacts(series: Series, copy: int) -> tuple[tuple[float, float], ...]:
    """Return from when to when a copy touches something."""
    touching = series.contact_count[:, copy] > 0
    ends = np.append(series.time[1:], np.inf)
    return tuple((a, b) for a, b, at in zip(series.time.tolist(), ends.tolist(), touching, strict=True) if at)


def _of_table(path: Path, vehicle: Aircraft) -> FlightRecord:
    """Return a flight of a CSV file."""
    text = text_of(path, file=path, remedy=_REMEDY)
    first = text.partition("\n")[0]
    names = [cell.strip().strip('"') for cell in first.split(",")]
    if is_number(names[0]) or {"ang acc x", "mot 1"} <= {name.lower() for name in names}:
        return _of_neurobem(path, vehicle)
    columns, lines = _columns(path, text)
    if "time" not in columns:
        raise ConfigError("has no column 'time'", file=path, field="header", value=first, remedy=_REMEDY)
    channels = [channel.name for channel in vehicle.channels]
    missing = [name for name in channels if name not in columns]
    if missing:
        raise ConfigError(
            f"holds no commands: no column {missing[0]!r}",
            file=path,
            field="header",
            value=first,
            remedy=f"name the commands by the channels of the vehicle: {', '.join(channels)}",
        )
    time, command = _group(path, columns, lines, channels)
    measured = []
    quantities: tuple[Quantity, ...] = (*_STATE, "specific_force")
    for quantity in quantities:
        count = WIDTHS.get(quantity, vehicle.rotor_count)
        parts = _PARTS.get(quantity, "xyz") if quantity in WIDTHS else range(count)
        own = [f"{quantity}_{part}" for part in parts]
        if all(name in columns for name in own):
            at, values = _group(path, columns, lines, own)
            biased = quantity == "specific_force"
            measured.append(Measured("log", quantity, at, values, biased=biased))
    return FlightRecord(str(path), time, command, measured)


def _columns(path: Path, text: str) -> tuple[Mapping[str, Sequence[str]], Sequence[int]]:
    """Return the cells of each column of a table, and the numbers of its lines."""
    rows = [(k, row) for k, row in enumerate(csv.reader(text.splitlines()), 1) if any(row)]
    if len(rows) < 3:
        raise ConfigError("must have at least two lines below its header", file=path, remedy=_REMEDY)
    names = [name.strip() for name in rows[0][1]]
    for number, row in rows[1:]:
        if len(row) != len(names):
            raise ConfigError(
                f"must have {len(names)} cells, as the header has",
                file=path,
                field=f"line {number}",
                value=f"{len(row)} cells",
                remedy="correct or remove the line",
            )
    cells = zip(*(row for _, row in rows[1:]), strict=True)
    return dict(zip(names, cells, strict=True)), [number for number, _ in rows[1:]]


def _group(
    path: Path, columns: Mapping[str, Sequence[str]], lines: Sequence[int], names: Sequence[str]
) -> tuple[Array, Array]:
    """Return times and values of the lines in which some columns are filled."""
    given = [k for k in range(len(lines)) if any(columns[name][k].strip() for name in names)]
    values = np.empty((len(given), len(names) + 1))
    for j, name in enumerate(("time", *names)):
        for row, k in enumerate(given):
            cell = columns[name][k].strip()
            if not is_number(cell) or not np.isfinite(float(cell)):
                raise ConfigError(
                    "must be a finite number",
                    file=path,
                    field=f"{name} of line {lines[k]}",
                    value=cell,
                    remedy="correct or remove the line",
                )
            values[row, j] = float(cell)
    return values[:, 0], values[:, 1:]


def _of_neurobem(path: Path, vehicle: Aircraft) -> FlightRecord:
    """Return a flight of the NeuroBEM dataset."""
    flight = read_neurobem(path)
    samples, time = flight.samples, flight.time
    order = rotor_order(vehicle, flight.places)
    velocity = rotate(matrix_from_quaternion(samples.orientation), samples.velocity)
    values: dict[Quantity, Array] = {
        "position": samples.position,
        "orientation": samples.orientation,
        "velocity": velocity,
        "angular_velocity": samples.angular_velocity,
        "specific_force": flight.specific_force,
    }
    measured = [
        Measured("capture", quantity, time, found, biased=quantity == "specific_force")
        for quantity, found in values.items()
    ]
    return FlightRecord(
        str(path), time, samples.rotor_speed[:, order], measured, held=False, measured_speeds=True
    )
