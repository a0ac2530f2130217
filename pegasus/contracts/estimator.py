"""Contract of estimators: the state of a vehicle by its own sensors."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.components import build
from pegasus.base.registry import Registry
from pegasus.contracts.state import Estimate, VehicleState
from pegasus.contracts.vehicle import Vehicle

FEEDBACK = ("position", "orientation", "velocity", "angular_velocity")
"""Quantities of a state that controllers read from columns."""


class Estimator(ABC):
    """Base of an estimator of the states of N vehicles of one kind, by their readings."""

    flown: bool = True
    """Whether controllers fly on the estimate, in place of the true state."""

    @property
    @abstractmethod
    def state(self) -> VehicleState:
        """Estimated state of the present step; live arrays."""

    @property
    @abstractmethod
    def ready(self) -> BoolArray:
        """Whether the estimate of each copy can be flown on, shape (N,); missions wait for it."""

    @property
    def air_velocity(self) -> Array | None:
        """Estimated wind of the present step [m/s], shape (N, 3); None if it is not estimated."""
        return None

    @property
    @abstractmethod
    def estimate(self) -> Estimate:
        """The estimate as it is logged and shown, with its errors."""

    @abstractmethod
    def bind(self, vehicle: Vehicle) -> None:
        """Join a vehicle whose sensors are bound, and start from a fresh state.

        Args:
            vehicle: The vehicle.

        Raises:
            ConfigError: If its sensors are not sufficient.
        """

    @abstractmethod
    def restart(self) -> None:
        """Start all copies from a fresh state, at a reset of the simulation."""

    @abstractmethod
    def update(self, t: float) -> None:
        """Take the new readings of the vehicle, faults included.

        Args:
            t: Simulation time [s].
        """

    @abstractmethod
    def reset_copies(self, rows: IntArray) -> None:
        """Start copies from a fresh state.

        Args:
            rows: Indices of the copies, whose true states are those after the reset.
        """

    @abstractmethod
    def attach(self, columns: Mapping[str, Array]) -> None:
        """Use other arrays for the quantities of `FEEDBACK` and `ready`; values are kept.

        Args:
            columns: The arrays, N rows each; `ready` is of whole numbers, 1 for ready copies.
        """


ESTIMATORS: Registry[Estimator] = Registry(
    "estimator",
    group="pegasus.estimators",
    shipped={"ekf": "pegasus.estimation.ekf:EKF"},
)
"""Estimators by their name in YAML."""


def build_estimator(spec: Mapping[str, Any] | None) -> Estimator | None:
    """Return the estimator that a mapping of a vehicle or scenario file describes; None without one.

    Args:
        spec: Mapping with `model` and its parameters.

    Raises:
        ConfigError: If the model is not known or a parameter is not allowed.
    """
    return None if spec is None else build(Estimator, ESTIMATORS, spec, field="estimator")
