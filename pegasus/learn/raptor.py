"""Policy RAPTOR for quadrotors of any size, as its authors publish it in the package `foundation-policy`."""

from typing import Any

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.errors import ConfigError, package_error
from pegasus.contracts.vehicle import Vehicle, as_machine
from pegasus.learn.policy_file import Description

_TERMS = (
    ("position_error", -1.0),
    ("rotation", 1.0),
    ("velocity_error", -1.0),
    ("angular_velocity", 1.0),
    ("action", 1.0),
)
_FARTHEST = 1.0
"""Largest error of the position along an axis that it is told [m]: it learnt near its goal."""
_QUADRANTS = ((1.0, -1.0), (-1.0, -1.0), (-1.0, 1.0), (1.0, 1.0))
"""Signs of x and y of its rotors, in its order: front right, back right, back left, front left."""
_INTERVAL = 0.01


class RaptorPolicy:
    """RAPTOR: a recurrent policy that adapts to the quadrotor in flight.

    Source: Eschmann, Albani and Loianno 2025, "RAPTOR: A Foundation Policy for Quadrotor Control".

    Raises:
        ConfigError: If its package is not installed.
    """

    def __init__(self) -> None:
        try:
            from foundation_policy import Raptor
        except ModuleNotFoundError as error:
            raise package_error(error) from None
        self._network: Any = Raptor()
        self._order: list[int] = []

    def describe(self, vehicle: Vehicle) -> Description:
        """Return what it observes and commands on a vehicle.

        Raises:
            ConfigError: If that has not four rotors, one in each corner, of alternating senses.
        """
        layout = as_machine(vehicle).layout
        signs = [tuple(np.sign(place[:2]).tolist()) for place in layout.position]
        senses = [float(np.sign(spin)) for spin in layout.spin]
        fits = len(vehicle.channels) == 4 and sorted(signs) == sorted(_QUADRANTS)
        if fits:
            self._order = [signs.index(corner) for corner in _QUADRANTS]
            fits = [senses[k] for k in self._order] == [1.0, -1.0, 1.0, -1.0]
        if not fits:
            raise ConfigError(
                "must be a quadrotor with a rotor in each corner, the front right one counter-clockwise",
                field="vehicle",
                value=vehicle.name,
                remedy="policy raptor flies no other",
            )
        channels = vehicle.channels
        return Description(
            terms=_TERMS,
            channels=tuple(channel.name for channel in channels),
            low=tuple(max(channel.low, 0.0) for channel in channels),
            high=tuple(channel.high for channel in channels),
            rest_speed=(1.0,) * 4,
            interval=_INTERVAL,
            task="hover",
            vehicle=vehicle.name,
        )

    def reset(self, rows: BoolArray | None = None) -> None:
        """Forget what it has learnt of vehicles in flight.

        Args:
            rows: The copies, shape (N,); all if None.
        """
        for layer in self._network.layers:
            if rows is None and hasattr(layer, "reset"):
                layer.reset()
            elif getattr(layer, "state", None) is not None:
                # Not in place: the state may be that of a snapshot.
                layer.state = np.where(np.asarray(rows)[:, None], layer.initial_hidden_state, layer.state)

    def __call__(self, observation: Array) -> Array:
        """Return the actions, shape (N, 4).

        Args:
            observation: Shape (N, 22), float32.
        """
        seen = observation.astype(np.float64)
        seen[:, :3] = np.clip(seen[:, :3], -_FARTHEST, _FARTHEST)
        seen[:, 18:] = seen[:, 18:][:, self._order]
        action: Array = np.empty((len(seen), 4))
        action[:, self._order] = self._network.evaluate_step(seen)
        return action
