"""Air around the rotors: surfaces below and above them, and the downwash of other vehicles."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.step_math import Vec3
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.core.step_vehicle import RotorVehicle
from pegasus.dynamics.downwash import Blown, Downwash, Jet, JetSource, blown, formed_jet
from pegasus.dynamics.ground_effect import FAR

_REACH = 20.0
"""Largest distance from a surface as a multiple of the radius; the gain is below 0.2 % there."""
_SURVEY_INTERVAL = 0.04
"""Time between surveys [s]; in between each hit is extended as a plane."""


class SurfaceSurvey:
    """Surfaces below the rotors of N vehicles, and above them, found by vertical rays.

    Args:
        radius: Radius of the rotors [m].
        ceilings: Whether surfaces above are looked for.
    """

    def __init__(self, radius: float, *, ceilings: bool) -> None:
        self._reach = _REACH * radius
        self._sides = {"ground": -1.0, "ceiling": 1.0} if ceilings else {"ground": -1.0}
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

    def update(self, vehicle: RotorVehicle, t: float) -> None:
        """Set the plane of the world below and above each rotor, if the last survey is old.

        Other vehicles do not count.

        Args:
            vehicle: The vehicle; `ground_normal` and `ground_offset` of its columns are set, and those of the
                ceiling.
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
        for name, side in self._sides.items():
            way = np.array([0.0, 0.0, side])
            hits = vehicle.manager.cast(vehicle, origins, np.broadcast_to(way, origins.shape), self._reach)
            found = (hits.hit & (hits.body < 0)).reshape(centers.shape[:2])
            normal = np.where(found[..., None], hits.normal.reshape(centers.shape), -way)
            place = centers + np.where(found, hits.distance.reshape(found.shape), FAR)[..., None] * way
            vehicle.columns[f"{name}_normal"][rows] = normal[rows]
            vehicle.columns[f"{name}_offset"][rows] = (place * normal).sum(axis=-1)[rows]


class Wakes:
    """Jets of all vehicles of a simulation on the rotors of each other.

    Args:
        vehicles: All vehicles, in the order of their rows.
        columns: State, inputs and outputs of their step by name, M rows each.
    """

    def __init__(self, vehicles: Sequence[RotorVehicle], columns: Mapping[str, Array]) -> None:
        self._vehicles, self._columns = vehicles, columns
        self._count = sum(vehicle.count for vehicle in vehicles)
        self.used = self._count > 1 and any(vehicle.downwash is not None for vehicle in vehicles)
        """Whether there are jets that other vehicles feel."""
        self.wake: Array = np.zeros(columns["wake"].shape)
        """Velocity of the air at each rotor by the jets of other vehicles, world [m/s], shape (M, R, 3)."""
        self._jets: dict[str, Array] = {name: np.zeros((self._count, 3)) for name in ("center", "axis")}
        self._jets["momentum"] = np.zeros(self._count)
        self._launches: Sequence[Callable[[], None]] = ()

    def update(self) -> None:
        """Set the air velocity that the jets cause at the rotors of the other vehicles.

        The jets are those of forces and air of the step before, so that the order of the vehicles does not
        matter.
        """
        if not self._launches:
            self._launches = self._prepared()
        self.wake[...] = 0.0
        for launch in self._launches:
            launch()
        first = 0
        for vehicle in self._vehicles:
            rows = range(first, first + vehicle.count)
            first += vehicle.count
            if vehicle.downwash is not None and not has_law(vehicle.downwash):
                self._blow_in_numpy(vehicle, rows)

    def _prepared(self) -> list[Callable[[], None]]:
        """Return the launches that form all jets, and that let those with a law blow on all vehicles."""
        from pegasus.base.tracing.launches import (  # Warp is loaded with the first step.
            Part,
            Program,
            program_of,
        )

        count, rotors = self.wake.shape[0], self.wake.shape[1]
        arrays: dict[str, Any] = {
            **self._columns,
            **self._jets,
            "wake": self.wake,
            "middle": np.zeros((count, 3)),
            "disc_radius": np.zeros(count),
            "number": np.arange(count, dtype=np.float64),
            "rotor_position": np.zeros((count, rotors, 3)),
        }
        blowing: list[tuple[int, Downwash, float]] = []
        first = 0
        for vehicle in self._vehicles:
            rows, places = slice(first, first + vehicle.count), vehicle.layout.position
            arrays["middle"][rows] = places.mean(axis=0)
            # All rotors together count as one disc of their total area.
            arrays["disc_radius"][rows] = math.sqrt(vehicle.rotor_count) * vehicle.spec.propeller.diameter / 2
            arrays["rotor_position"][rows, : vehicle.rotor_count] = places
            for k in range(vehicle.count):
                downwash = vehicle.parameters[k % len(vehicle.parameters)].downwash
                if downwash is not None and has_law(downwash):
                    blowing.append((first + k, downwash, _size(vehicle)))
            first += vehicle.count
        form = program_of(formed_jet, column("", JetSource), outputs=("",), count=count)
        parts: dict[Program, list[Part]] = {}
        none = Vec3(0.0, 0.0, 0.0)
        for k, downwash, size in blowing:
            p, sizes = uniform("p", downwash), np.array([size])
            jet = p, uniform("jet", Jet(none, none, 0.0)), uniform("row", 0.0), uniform("size", size)
            target = column("", Blown, rotors)
            program = program_of(blown, type(downwash).law, *jet, target, outputs=("wake",), count=count)
            given = {f"jet.{name}": values[k : k + 1] for name, values in self._jets.items()}
            given |= {"row": arrays["number"][k : k + 1], "size": sizes, **uniform_values(p)}
            parts.setdefault(program, []).append(Part({**arrays, **given}, 0, count))
        # All jets blow on the same rows, one after another.
        blow = [program.launch_parts(own, apart=False).run for program, own in parts.items()]
        return [form.launch(arrays, count).run, *blow]

    def _blow_in_numpy(self, vehicle: RotorVehicle, rows: range) -> None:
        """Add the jets of copies whose model is not compiled."""
        assert vehicle.downwash is not None
        for row in rows:
            first = 0
            for other in self._vehicles:
                place = (other.rotor_centers.reshape(-1, 3) - self._jets["center"][row])[None]
                blown = vehicle.downwash.velocity(
                    place,
                    axis=self._jets["axis"][row][None],
                    momentum=self._jets["momentum"][row : row + 1],
                    size=_size(vehicle),
                )
                wake = blown[0].reshape(other.count, other.rotor_count, 3)
                if row - first in range(other.count):
                    wake[row - first] = 0.0
                self.wake[first : first + other.count, : other.rotor_count] += wake
                first += other.count


def has_law(downwash: Downwash) -> bool:
    """Return whether a law of numbers gives a downwash, which is compiled, rather than a method in NumPy."""
    return type(downwash).velocity is Downwash.velocity


def _size(vehicle: RotorVehicle) -> float:
    """Return the largest distance of two rotors [m]; the span of a single rotor is its diameter."""
    return max(vehicle.layout.span, vehicle.spec.propeller.diameter)
