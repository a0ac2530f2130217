"""Identification of a vehicle's parameters from the log of a flight.

Multiple shooting: the flight is divided into windows, each flown by the vehicle's own compiled step from a
first state of its own. First states, parameters and biases of sensors are those with the least sum of squares
of the measurements' residuals, found by Gauss and Newton's method with the derivatives of the step (Bock
1983, "Recent Advances in Parameteridentification Techniques for O.D.E."). The variance of each source of
measurements is that of its residuals; the covariance of the parameters is the inverse of the Gauss-Newton
matrix, with the first states and biases eliminated.
"""

from collections.abc import Sequence

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.flight_record import FlightRecord
from pegasus.core.aircraft import Aircraft
from pegasus.dynamics import DrivenMotor, IdealMotor
from pegasus.environment import Environment
from pegasus.fleet.estimates import Estimate, Identification
from pegasus.fleet.fitted import Fitted
from pegasus.fleet.model import Model
from pegasus.fleet.search import TOLD, Search


def identify(
    record: FlightRecord,
    model: Model,
    fit: Sequence[str],
    *,
    window: float = 1.0,
    rate: float = 500.0,
    gusts: bool = False,
    environment: Environment | None = None,
) -> Identification:
    """Return parameters of a vehicle by the log of a flight, with their uncertainty.

    A parameter that the log cannot tell keeps the value of the file, and is named. Of parameters that it only
    knows together, such as mass and thrust constant, the one that is named first is fitted.

    Args:
        record: Commands and measurements of the flight.
        model: Name of the vehicle whose file is corrected, its path, its content, or an `Aircraft` with
            models of its own.
        fit: Parameters: `thrust_constant`, `torque_constant`, `drag`, `lag`, `mass`, `inertia`,
            `center_of_mass`, `wind`, `delay`, or a dotted field of the file such as `motor.time_constant_up`.
        window: Length of a window [s].
        rate: Steps per second [Hz].
        gusts: Whether the air moved, or other forces acted that no model knows: then a force in the world is
            an unknown of each window every 0.1 s, with a correlation time of 1 s and the strength that the
            log tells. A steady wind alone is the parameter `wind`.
        environment: Gravity and air; by default those of a world file without any.

    Raises:
        ConfigError: If the vehicle or a parameter is not known, its motors give a torque, the flight is too
            short, or does not tell any of the parameters.
    """
    require(0.05 <= window <= 60.0, "window", window, "must be from 0.05 to 60 s")
    require(50.0 <= rate <= 1e4, "rate", rate, "must be from 50 to 10000 steps per second")
    vehicle = _vehicle_of(model, record)
    if record.command.shape[1] != len(vehicle.channels):
        raise ConfigError(
            f"must hold {len(vehicle.channels)} commands: {', '.join(map(str, vehicle.channels))}",
            field=f"record {record.name}",
            value=f"{record.command.shape[1]} commands",
            remedy="choose the vehicle that flew",
        )
    fitted = Fitted(vehicle, fit, motors=not record.measured_speeds)
    starts, steps = _windows(record, window, rate)
    search = Search(record, vehicle, fitted, starts, steps, rate, gusts, environment or Environment())
    search.run()
    return _result(search)


def _vehicle_of(model: Model, record: FlightRecord) -> Aircraft:
    """Return the vehicle, without a battery; with motors that obey at once if rotor speeds were measured."""
    given = model if isinstance(model, Aircraft) else Aircraft(model)
    motor = given.motor
    kinds = [kind.motor for kind in given.parameters[0].airframe.kinds.values()]
    if any(isinstance(m, DrivenMotor) for m in [*kinds, *([] if record.measured_speeds else [motor])]):
        raise ConfigError(
            "has motors that give a torque, whose inner state and supply no log holds",
            file=given.file,
            field="motor",
            remedy="give a log with measured rotor speeds, or a motor first_order",
        )
    if record.measured_speeds:
        motor = IdealMotor(max_speed=motor.max_speed, min_speed=motor.min_speed)
    if given.battery is None and motor is given.motor:
        return given
    spec = given.spec.model_copy(update={"battery": None, "sensors": {}, "estimator": None})
    made = Aircraft(spec, motor=motor, thrust_curve=given.thrust_curve, drag=given.drag)
    made.file = given.file
    return made


def _windows(record: FlightRecord, window: float, rate: float) -> tuple[Array, int]:
    """Return the first times of the windows in which nothing is touched, and their number of steps."""
    steps = round(window * rate)
    first, length = record.start, steps / rate
    count = int((record.end - first) / length + 1e-6) if record.end > first else 0
    starts: Array = np.asarray(first + length * np.arange(count), dtype=np.float64)
    free = [all(t + length <= a or t >= b for a, b in record.contacts) for t in starts]
    starts = starts[np.array(free, dtype=bool)]
    if len(starts) < 2:
        raise ConfigError(
            f"is too short: {max(record.end - first, 0.0):.2f} s with commands and poses, "
            f"{len(starts)} windows of {window:g} s in the air",
            field=f"record {record.name}",
            remedy="give a longer flight, or shorter windows",
        )
    return starts, steps


def _result(search: Search) -> Identification:
    """Return what was found.

    Raises:
        ConfigError: If the log tells none of the parameters.
    """
    matrix, *_ = search.reduced(0.0)
    count, parameters = len(search.fitted.parameters), search.fitted.parameters
    told = search.told(matrix)
    used = [*told, *range(count, len(matrix))]
    inverse: Array = np.zeros((0, 0))
    if used:
        inverse = np.asarray(np.linalg.inv(matrix[np.ix_(used, used)]), dtype=np.float64)
    covariance = inverse[: len(told), : len(told)]
    if not told:
        raise ConfigError(
            f"does not tell {', '.join(p.name for p in parameters)}: nothing in the flight depends on it "
            "enough",
            field=f"record {search.record.name}",
            remedy="fly with more excitation (speed, turns, climbs), or fit other parameters",
        )
    sigma = dict(zip(told, np.sqrt(np.diag(covariance)).tolist(), strict=True))
    values = search.fitted.start
    values[told] = search.theta[told]
    estimates = [
        Estimate(
            p.name,
            p.field,
            p.unit,
            p.before,
            float(values[k]),
            sigma.get(k),
            _beside(search, k, matrix, told),
        )
        for k, p in enumerate(parameters)
    ]
    whole = search.fitted.values(values)
    fields = {p.field for k, p in enumerate(parameters) if k in told and p.of_file}
    kept = np.flatnonzero(search.kept)
    left = {}
    for k, m in enumerate(search.measured):
        time = np.concatenate([m.time[search.places[w][k].rows] for w in kept])
        left[m.label] = time, np.concatenate([search.left[k][w] for w in kept]) / search.noise[k]
    return Identification(
        vehicle=search.vehicle.name,
        file=search.vehicle.file,
        record=search.record.name,
        estimates=estimates,
        covariance=covariance,
        changes={field: whole[field] for field in sorted(fields)},
        noise={m.label: float(search.noise[k]) for k, m in enumerate(search.measured)},
        windows=len(kept),
        left_out=len(search.kept) - len(kept),
        iterations=search.iterations,
        residuals=left,
    )


def _beside(search: Search, k: int, matrix: Array, told: list[int]) -> tuple[str, ...]:
    """Return the parameters with which one that is not told is only known together; none if not at all."""
    if k in told or not told:
        return ()
    sizes = np.array([p.size for p in search.fitted.parameters])
    alone = matrix[k, k] * sizes[k] ** 2
    if not alone > 1.0 / TOLD**2:
        return ()
    traded = np.linalg.solve(matrix[np.ix_(told, told)], matrix[told, k]) * sizes[k] / sizes[told]
    return tuple(search.fitted.parameters[j].name for j, x in zip(told, traded, strict=True) if abs(x) > 0.3)
