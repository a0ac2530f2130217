"""Movers of a simulation: their places in the engine, and their poses over time."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from pegasus.base.components import require
from pegasus.base.errors import ConfigError, unknown_name
from pegasus.config.mover_specs import MoverSpec
from pegasus.contracts.engine import BodyIds, BodyState, Engine, MovingBody
from pegasus.contracts.mover import Mover
from pegasus.core.solid_mover import SolidMover

_UNIT = 1e-6
"""Allowed deviation of a quaternion's length from 1."""


class Movers(Collection[Mover]):
    """All movers of a simulation, in the order of addition.

    Args:
        engine: Physics engine with the world loaded.
        drawn: Whether the engine draws them; else it has those that vehicles touch only.
    """

    def __init__(self, engine: Engine, *, drawn: bool) -> None:
        self._engine, self._drawn = engine, drawn
        self._movers: dict[str, Mover] = {}
        self._ids: dict[str, BodyIds] = {}
        self._end: tuple[float, BodyState] | None = None

    def __getitem__(self, name: str) -> Mover:
        """Return the mover of a name."""
        try:
            return self._movers[name]
        except KeyError:
            raise unknown_name("mover", name, self._movers) from None

    def __contains__(self, name: object) -> bool:
        return name in self._movers

    def __iter__(self) -> Iterator[Mover]:
        return iter(self._movers.values())

    def __len__(self) -> int:
        return len(self._movers)

    @property
    def names(self) -> list[str]:
        """Names of the movers."""
        return list(self._movers)

    def add(self, mover: Mover, t: float) -> None:
        """Add a mover, also while vehicles fly, without disturbing them.

        Args:
            mover: The mover, whose name is free.
            t: Simulation time [s].

        Raises:
            ConfigError: If its numbers of objects, shapes and poses differ, or a pose is not finite.
        """
        motion = checked_motion(mover, t)
        parts = len(motion.position)
        for field in "objects", "shapes":
            found = len(getattr(mover, field))
            require(found == parts, field, found, f"must be as many as there are poses, {parts}")
        single = parts == 1
        bodies = [
            MovingBody(
                name=mover.name if single else f"{mover.name}/{k}",
                colliders=mover.shapes[k],
                position=motion.position[k],
                orientation=motion.orientation[k],
                label=mover.objects[k].entity.labels.get("class", "mover"),
                appearance=mover.file if isinstance(mover, SolidMover) else None,
            )
            for k in range(parts)
        ]
        if self._drawn or any(mover.shapes):
            self._ids[mover.name] = self._engine.add_movers(bodies)
        self._movers[mover.name] = mover
        self.place(t)

    def remove(self, name: str, t: float) -> None:
        """Remove a mover without disturbing vehicles.

        Args:
            name: Name of the mover.
            t: Simulation time [s].
        """
        del self._movers[self[name].name]
        if name in self._ids:
            self._engine.remove_movers(self._ids.pop(name))
        self.place(t)

    def place(self, t: float) -> None:
        """Put all movers where they are at a time, as after a reset.

        Args:
            t: Simulation time [s].
        """
        self._end = None
        if self._ids:
            self._engine.move(self.motion(t), self.motion(t))

    def apply(self, start: float, end: float) -> None:
        """Hand the motion over a step to the engine.

        Args:
            start: Simulation time at its start [s].
            end: Simulation time at its end [s].

        Raises:
            ConfigError: If a pose is not finite.
        """
        if not self._ids:
            return
        last = self._end
        now = last[1] if last is not None and last[0] == start else self.motion(start)
        self._end = end, self.motion(end)
        self._engine.move(now, self._end[1])

    def motion(self, t: float) -> BodyState:
        """Return poses and velocities of all parts of the movers that the engine has, in their order.

        Args:
            t: Simulation time [s].
        """
        states = [checked_motion(mover, t) for name, mover in self._movers.items() if name in self._ids]
        return BodyState(
            *(
                np.concatenate([getattr(state, field.name) for state in states])
                if states
                else getattr(BodyState.zeros(0), field.name)
                for field in fields(BodyState)
            )
        )


def checked_motion(mover: Mover, t: float) -> BodyState:
    """Return poses and velocities of a mover at a time.

    Raises:
        ConfigError: If `poses` returns anything but finite positions (K, 3) and unit quaternions (K, 4).
    """
    motion = mover.motion(t)
    position, orientation = np.asarray(motion.position), np.asarray(motion.orientation)
    fits = position.ndim == 2 and position.shape[1:] == (3,) and orientation.shape == (len(position), 4)
    unit = fits and bool((np.abs((orientation * orientation).sum(axis=1) - 1.0) < _UNIT).all())
    if not (unit and all(bool(np.isfinite(values).all()) for values in vars(motion).values())):
        raise ConfigError(
            f"poses at t = {t:g} s must be finite positions (K, 3) and unit quaternions xyzw (K, 4)",
            field=f"mover {mover.name!r}",
            value=[np.shape(position), np.shape(orientation)] if not fits else motion.position.tolist(),
            remedy="correct its method poses",
        )
    return motion


def mover_of(mover: Mover | MoverSpec | Mapping[str, Any]) -> Mover:
    """Return a mover, made from its description if it is one.

    Raises:
        ConfigError: If the description is wrong.
    """
    return mover if isinstance(mover, Mover) else SolidMover(mover)
