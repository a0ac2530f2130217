"""Vehicles of TOML files of drone-models (University of Toronto), which crazyflow flies.

Formulas and fields: `first_principles/model.py` and `data/params.toml` of utiasDSL/drone-models 0.1.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError, did_you_mean

_TURN = math.pi / 30.0
"""Radians per second of a turn per minute."""
_NEEDED = ("mass", "L", "J", "rpm2thrust", "rpm2torque", "mixing_matrix")
_USED = (*_NEEDED, "rotor_dyn_coef", "drag_matrix", "prop_radius", "prop_inertia", "thrust_max")
_IGNORED = {
    "gravity_vec": "gravity is that of the world",
    "J_inv": "it follows from J",
    "thrust2torque": "rpm2thrust and rpm2torque say more",
    "rotor_dyn_coef_simple": "rotor_dyn_coef says more",
    "thrust_dyn_coef": "rotor_dyn_coef says more",
    "thrust_min": "a bound of its controllers",
    "pwm_min": "of the firmware",
    "pwm_max": "of the firmware",
    "vmotor2thrust": "of the firmware",
    "vmotor2torque": "of the firmware",
    "vmotor2rpm": "of the firmware",
}
"""Fields of drone-models without effect here, and why."""
_FITTED = ("acc_coef", "cmd_f_coef", "rpy_coef", "rpy_rates_coef", "cmd_rpy_coef", "thrust_time_coef")
"""Coefficients of the fitted models so_rpy, so_rpy_rotor and so_rpy_rotor_drag."""


@dataclass(frozen=True)
class DroneModel:
    """Vehicle of a TOML file."""

    content: Mapping[str, Any]
    """Fields of a vehicle's file."""
    notes: Sequence[str]
    """A message for each field of the file that has no effect."""


def is_drone_model(model: object) -> bool:
    """Return whether a model is named as a TOML file, or as one in it."""
    return isinstance(model, str | Path) and str(model).partition(".toml")[1] != ""


def read_drone_model(model: str | Path, *, name: str | None = None) -> DroneModel:
    """Return the vehicle of a TOML file of drone-models.

    Args:
        model: The file, `FILE.toml`, or `FILE.toml:NAME` if it holds several.
        name: Name of the vehicle, if the file holds only one.

    Raises:
        ConfigError: If the file cannot be read, or a field is missing or not allowed.
    """
    path, _, chosen = str(model).partition(".toml")
    file = Path(path + ".toml")
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(
            f"cannot be read: {reason}", file=file, remedy="give a TOML file of drone-models"
        ) from None
    try:
        return _vehicle(*_section(found, chosen.removeprefix(":"), name or file.stem))
    except ConfigError as error:
        raise error.within(file=file) from None


def _section(found: Mapping[str, Any], chosen: str, name: str) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the fields of a vehicle."""
    sections = {key: value for key, value in found.items() if isinstance(value, dict)}
    if not sections:
        return name, found
    chosen = chosen or (name if name in sections else "")
    if not chosen and len(sections) == 1:
        return next(iter(sections.items()))
    if chosen not in sections:
        several = not chosen
        remedy = " ".join([*did_you_mean(chosen, sections), f"there are {', '.join(sections)}"])
        raise ConfigError(
            "holds several vehicles" if several else "holds no such vehicle",
            field=None if several else chosen,
            remedy=f"name one, as FILE.toml:{next(iter(sections))}; {remedy}" if several else remedy,
        )
    return chosen, sections[chosen]


def _vehicle(name: str, fields: Mapping[str, Any]) -> DroneModel:
    """Return the vehicle of a section."""
    missing = [field for field in _NEEDED if field not in fields]
    if missing:
        fitted = any(field in fields for field in _FITTED)
        raise ConfigError(
            "has fitted attitude dynamics (so_rpy) without rotors" if fitted else "is required",
            field=missing[0],
            remedy="give the file of physical parameters, data/params.toml" if fitted else "add it",
        )
    unknown = [f for f in fields if f not in (*_USED, *_IGNORED, *_FITTED)]
    if unknown:
        remedy = " ".join(did_you_mean(unknown[0], [*_USED, *_IGNORED, *_FITTED]))
        raise ConfigError("is no field of drone-models", field=unknown[0], remedy=remedy or "remove it")
    numbers = {field: _numbers(field, fields[field]) for field in fields if field in _USED}
    thrust, torque = numbers["rpm2thrust"], numbers["rpm2torque"]
    for field, values in (("rpm2thrust", thrust), ("rpm2torque", torque)):
        _require(len(values) == 3, field, values, "must hold three coefficients, from that of rpm^0 on")
    _require(thrust[2] > 0.0, "rpm2thrust", thrust, "must rise with the square of the speed")
    ratio = torque[2] / thrust[2]
    _require(
        abs(torque[0] - ratio * thrust[0]) < 1e-9, "rpm2torque", torque, "must not hold a torque at rest"
    )
    content: dict[str, Any] = {
        "name": name,
        "description": f"{name} of drone-models.",
        "mass": numbers["mass"][0],
        "inertia": _inertia(numbers["J"]),
        "propeller": _propeller(numbers),
        "rotors": _rotors(numbers["mixing_matrix"], numbers["L"][0]),
        "motor": _motor(numbers),
        "thrust_curve": {
            "model": "polynomial",
            "coefficients": [c / _TURN**k for k, c in enumerate(thrust)],
            "moment_ratio": ratio,
            "moment_linear": (torque[1] - ratio * thrust[1]) / _TURN,
        },
        "body": _body(numbers["L"][0]),
    }
    if "drag_matrix" in numbers:
        content["drag"] = {"model": "linear", "coefficients": _drag(numbers["drag_matrix"])}
    notes = [f"{field} is ignored: {why}" for field, why in _IGNORED.items() if field in fields]
    notes += [f"{field} is ignored: of a fitted model without rotors" for field in _FITTED if field in fields]
    return DroneModel(content, notes)


def _numbers(field: str, value: Any) -> list[float]:
    """Return a number, vector or matrix as a list."""
    flat = (
        [x for row in value for x in (row if isinstance(row, list) else [row])]
        if isinstance(value, list)
        else [value]
    )
    _require(
        all(isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x) for x in flat),
        field,
        value,
        "must hold finite numbers",
    )
    return [float(x) for x in flat]


def _require(condition: bool, field: str, value: Any, allowed: str) -> None:
    if not condition:
        raise ConfigError(allowed, field=field, value=value)


def _inertia(j: Sequence[float]) -> list[float]:
    """Return the moments and products of an inertia matrix."""
    symmetric = len(j) == 9 and all(
        abs(j[3 * a + b] - j[3 * b + a]) < 1e-12 for a in range(3) for b in range(a)
    )
    _require(symmetric, "J", j, "must be a symmetric matrix of 3 x 3")
    products = [j[1], j[2], j[5]]
    return [j[0], j[4], j[8], *(products if any(products) else [])]


def _rotors(mixing: Sequence[float], arm: float) -> list[dict[str, Any]]:
    """Return the rotors: rolling by y, pitching by -x, yawing against the turn."""
    count = len(mixing) // 3
    valid = len(mixing) == 3 * count and count > 0 and all(abs(x) == 1.0 for x in mixing[2 * count :])
    _require(valid, "mixing_matrix", mixing, "must have a column for each rotor, with 1 or -1 in row three")
    _require(arm > 0.0, "L", arm, "must be above 0 m")
    roll, pitch, yaw = (mixing[k * count : (k + 1) * count] for k in range(3))
    return [
        {"position": [-arm * p, arm * r, 0.2 * arm], "direction": "ccw" if turn < 0 else "cw"}
        for r, p, turn in zip(roll, pitch, yaw, strict=True)
    ]


def _propeller(numbers: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return size and inertia of the propellers."""
    arm = numbers["L"][0]
    found: dict[str, Any] = {"diameter": 2 * numbers.get("prop_radius", [0.7 * arm])[0], "blade_count": 2}
    if "prop_inertia" in numbers:
        found["inertia"] = numbers["prop_inertia"][0]
    return found


def _motor(numbers: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return the motors: their lag, and the speed of the largest thrust."""
    found: dict[str, Any] = {"model": "ideal"}
    if "rotor_dyn_coef" in numbers:
        lag = numbers["rotor_dyn_coef"]
        _require(len(lag) == 4, "rotor_dyn_coef", lag, "must hold four coefficients")
        rise, rise_square, fall, fall_square = lag
        found = {
            "model": "quadratic_lag",
            "rise_linear": rise,
            "rise_quadratic": rise_square / _TURN,
            "fall_linear": fall,
            "fall_quadratic": fall_square / _TURN,
        }
    if "thrust_max" in numbers:
        rest, linear, square = numbers["rpm2thrust"]
        most = numbers["thrust_max"][0]
        _require(most > rest, "thrust_max", most, "must be above the thrust at rest")
        root = math.sqrt(linear * linear + 4.0 * square * (most - rest))
        found["max_speed"] = (root - linear) / (2.0 * square) * _TURN
    return found


def _drag(matrix: Sequence[float]) -> list[float]:
    """Return the coefficients of linear drag."""
    diagonal = len(matrix) == 9 and not any(matrix[k] for k in (1, 2, 3, 5, 6, 7))
    _require(diagonal, "drag_matrix", matrix, "must be a diagonal matrix of 3 x 3")
    found = [0.0 - matrix[k] for k in (0, 4, 8)]
    _require(min(found) >= 0.0, "drag_matrix", matrix, "must not be above 0: drag opposes the motion")
    return found


def _body(arm: float) -> dict[str, Any]:
    """Return a body of a size that suits the arms."""
    return {
        "size": [arm, 0.8 * arm, 0.3 * arm],
        "arm_diameter": 0.12 * arm,
        "leg_height": 0.3 * arm,
        "landing_gear": "feet",
    }
