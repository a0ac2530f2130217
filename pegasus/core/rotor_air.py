"""Air around the rotors: ground effect below them, and the downwash of other vehicles."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.step_math import Vec3
from pegasus.dynamics.downwash import Downwash, JetFrame, WakeRows, blow, form_jet, turbulent_jet
from pegasus.dynamics.ground_effect import FAR

if TYPE_CHECKING:
    from pegasus.base.compiler import Launch
    from pegasus.core.multirotor import Multirotor

_REACH = 20.0
"""Largest height above the ground as a multiple of the radius; the gain is below 0.2 % there."""
_SURVEY_INTERVAL = 0.04
"""Time between surveys of the ground [s]; in between each hit is extended as a plane."""


class GroundSurvey:
    """Ground below the rotors of N vehicles, found by rays straight down.

    Args:
        radius: Radius of the rotors [m].
    """

    def __init__(self, radius: float) -> None:
        self._reach = _REACH * radius
        self._surveyed, self._renewed = -math.inf, np.zeros(0, dtype=np.int64)

    def renew(self, rows: IntArray | None) -> None:
        """Survey copies anew at the next update.

        Args:
            rows: Their indices; all if None.
        """
        if rows is None:
            self._surveyed = -math.inf
        else:
            self._renewed = np.union1d(self._renewed, rows)

    def update(self, vehicle: "Multirotor", t: float) -> None:
        """Set the plane of the world below each rotor, if the last survey is old.

        Other vehicles do not count as ground.

        Args:
            vehicle: The vehicle; `ground_normal` and `ground_offset` of its columns are set.
            t: Simulation time [s].
        """
        rows: IntArray | slice = self._renewed
        if not 0.0 <= t - self._surveyed < _SURVEY_INTERVAL - 1e-9:
            self._surveyed, rows = t, slice(None)
        elif not len(self._renewed):
            return
        self._renewed = self._renewed[:0]
        centers = vehicle.rotor_centers
        origins = centers.reshape(-1, 3)
        down = np.broadcast_to([0.0, 0.0, -1.0], origins.shape)
        hits = vehicle.manager.cast(vehicle, origins, down, self._reach)
        ground = (hits.hit & (hits.body < 0)).reshape(centers.shape[:2])
        normal = np.where(ground[..., None], hits.normal.reshape(centers.shape), [0.0, 0.0, 1.0])
        below = np.where(ground, hits.distance.reshape(ground.shape), FAR)
        foot = centers - below[..., None] * [0.0, 0.0, 1.0]
        vehicle.columns["ground_normal"][rows] = normal[rows]
        vehicle.columns["ground_offset"][rows] = (foot * normal).sum(axis=-1)[rows]


class Wakes:
    """Jets of all vehicles of a simulation on the rotors of each other.

    Args:
        vehicles: All vehicles, in the order of their rows.
        columns: State, inputs and outputs of their step by name, M rows each.
    """

    def __init__(self, vehicles: Sequence["Multirotor"], columns: Mapping[str, Array]) -> None:
        self._vehicles, self._columns = vehicles, columns
        self._count = sum(vehicle.count for vehicle in vehicles)
        self.used = self._count > 1 and any(vehicle.downwash is not None for vehicle in vehicles)
        """Whether there are jets that other vehicles feel."""
        columns["in_wake"][...] = self.used
        columns["wake"][...] = 0.0
        self._jets = {"center": np.zeros((self._count, 3)), "axis": np.zeros((self._count, 3))}
        self._momentum = np.zeros(self._count)
        self._launches: tuple[Launch, ...] = ()

    def update(self) -> None:
        """Set the air velocity that the jets cause at the rotors of the other vehicles.

        The jets are those of the step before, so that the order of the vehicles does not matter.
        """
        if not self.used:
            return
        if not self._launches:
            self._launches = self._prepared()
        for launch in self._launches:
            launch()
        first = 0
        for vehicle in self._vehicles:
            rows = range(first, first + vehicle.count)
            first += vehicle.count
            if vehicle.downwash is not None and not has_jet_law(vehicle.downwash):
                self._blow_in_numpy(vehicle, rows)

    def _prepared(self) -> "tuple[Launch, ...]":
        from pegasus.base.compiler import Rows, shared_kernel  # Warp is loaded with the first step.

        rotors = self._columns["wake"].shape[1]
        kinds = [(vehicle, parameters) for vehicle in self._vehicles for parameters in vehicle.parameters]
        position = np.zeros((len(kinds), rotors, 3))
        for k, (vehicle, _) in enumerate(kinds):
            position[k, : vehicle.rotor_count] = vehicle.layout.position
        names = ("kind", "position", "orientation", "velocity", "rotor_force", "wind", "air_density", "wake")
        arrays = {
            **{name: self._columns[name] for name in names},
            **self._jets,
            "momentum": self._momentum,
            "frame": [_jet_frame(vehicle) for vehicle, _ in kinds],
            "downwash": [_parameters(parameters.downwash) for _, parameters in kinds],
            "rotor_position": position,
        }
        rows, count = Rows(WakeRows, arrays), self._count
        form = shared_kernel(form_jet).launch(rows, count)
        return form, shared_kernel(blow).launch(rows, count * rotors, count, rotors)

    def _blow_in_numpy(self, vehicle: "Multirotor", rows: range) -> None:
        """Add the jets of copies whose model is not compiled."""
        assert vehicle.downwash is not None
        for row in rows:
            first = 0
            for other in self._vehicles:
                place = (other.rotor_centers.reshape(-1, 3) - self._jets["center"][row])[None]
                blown = vehicle.downwash.velocity(
                    place,
                    axis=self._jets["axis"][row][None],
                    momentum=self._momentum[row : row + 1],
                    size=_size(vehicle),
                )
                wake = blown[0].reshape(other.count, other.rotor_count, 3)
                if row - first in range(other.count):
                    wake[row - first] = 0.0
                self._columns["wake"][first : first + other.count, : other.rotor_count] += wake
                first += other.count


def has_jet_law(downwash: Downwash) -> bool:
    """Return whether the step function of the turbulent jet gives a downwash."""
    cls = type(downwash)
    return cls.law is turbulent_jet and cls.velocity is Downwash.velocity


def _jet_frame(vehicle: "Multirotor") -> JetFrame:
    x, y, z = vehicle.layout.position.mean(axis=0).tolist()
    downwash, propeller = vehicle.downwash, vehicle.spec.propeller
    return JetFrame(
        rotor_count=vehicle.rotor_count,
        center=Vec3(x, y, z),
        # All rotors together count as one disc of their total area.
        disc_radius=math.sqrt(vehicle.rotor_count) * propeller.diameter / 2,
        size=_size(vehicle),
        has_jet=downwash is not None,
        has_law=downwash is not None and has_jet_law(downwash),
    )


def _parameters(downwash: Downwash | None) -> Downwash:
    if downwash is None:
        return Downwash()
    return Downwash(
        spreading_rate=downwash.spreading_rate,
        virtual_origin=downwash.virtual_origin,
        reach=downwash.reach,
    )


def _size(vehicle: "Multirotor") -> float:
    """Return the largest distance of two rotors [m]; the span of a single rotor is its diameter."""
    return max(vehicle.layout.span, vehicle.spec.propeller.diameter)
