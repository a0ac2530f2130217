"""Quadratic thrust curve."""

from collections.abc import Mapping, Sequence
from typing import Any

from pegasus.dynamics import QuadraticThrust
from pegasus.simulator.notices import refusal, require_known

__all__ = ["QuadraticThrustCurve"]

_INSTEAD = "write rotors and motor in the vehicle's YAML file: docs/vehicles.md"


class QuadraticThrustCurve:
    """Thrust in proportion to the square of the speed, equal for all rotors.

    Raises:
        ConfigError: If a key has no counterpart, or rotors differ.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        given = dict(config or {})
        known = ("num_rotors", "rotor_constant", "rolling_moment_coefficient")
        require_known("QuadraticThrustCurve", given, known, _INSTEAD)
        self.rotor_constant = _equal("rotor_constant", given.get("rotor_constant", (8.54858e-6,)))
        """Thrust by squared speed [N/(rad/s)^2]."""
        self.rolling_moment = _equal(
            "rolling_moment_coefficient", given.get("rolling_moment_coefficient", (1e-6,))
        )
        """Torque by squared speed [N m/(rad/s)^2]."""

    def make(self) -> QuadraticThrust:
        """Return the thrust curve of Pegasus."""
        return QuadraticThrust(thrust_constant=self.rotor_constant, torque_constant=self.rolling_moment)


def _equal(key: str, values: Sequence[float]) -> float:
    if len(set(values)) != 1:
        raise refusal(f"QuadraticThrustCurve: {key} that differs between rotors", _INSTEAD)
    return float(values[0])
