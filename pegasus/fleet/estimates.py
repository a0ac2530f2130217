"""Results of an identification: estimates with their uncertainty, as a table and as a vehicle's file."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.config.settings import names
from pegasus.fleet.fitted import changes_of

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Estimate:
    """Estimate of one parameter."""

    name: str
    """Name, such as `drag.areas.x`."""
    field: str
    """Field of the vehicle's file, or `wind` or `delay`."""
    unit: str
    before: float
    """Value of the file."""
    value: float
    """Fitted value; that of the file if the log does not tell it."""
    sigma: float | None
    """Standard deviation; None if the log does not tell the parameter."""
    beside: tuple[str, ...] = ()
    """If the log does not tell it: fitted parameters with which it is only known together."""

    @property
    def told(self) -> bool:
        """Whether the log tells the parameter."""
        return self.sigma is not None


@dataclass(frozen=True, eq=False)
class Identification:
    """Parameters of a vehicle as a log tells them."""

    vehicle: str
    """Name of the vehicle."""
    file: Path | None
    """Its file; None without one."""
    record: str
    """Name of the log."""
    estimates: Sequence[Estimate]
    covariance: Array
    """Covariance of the told ones, in their order, shape (T, T)."""
    changes: Mapping[str, Array]
    """New values by dotted field of the vehicle's file."""
    noise: Mapping[str, float]
    """Standard deviation of each source of measurements, in its unit."""
    windows: int
    """Number of windows that were fitted."""
    left_out: int
    """Number of those left out: what they hold is not of this vehicle in free flight, such as a collision."""
    iterations: int
    residuals: Mapping[str, tuple[Array, Array]]
    """Times [s] and residuals by their noise of each source, shapes (T,) and (T, K)."""

    def __getitem__(self, name: str) -> Estimate:
        found = [e for e in self.estimates if name in (e.name, e.name.rpartition(".")[2])]
        if len(found) != 1:
            raise KeyError(f"{name}; there are {', '.join(e.name for e in self.estimates)}")
        return found[0]

    @property
    def content(self) -> dict[str, Any]:
        """Fields of a vehicle's file with the told values."""
        return changes_of(self.changes)

    def write(self, path: str | Path, *, extends: str | None = None) -> None:
        """Write a vehicle's file with the told values, which extends that of the vehicle.

        Args:
            path: The file.
            extends: Name or path of the extended file; by default the path from the new one to it.

        Raises:
            ConfigError: If it cannot be written, or the vehicle has no file and none to extend is given.
        """
        path = Path(path)
        base = extends
        if base is None and self.file is None:
            raise ConfigError(
                "is required: the vehicle has no file", field="extends", remedy="name the vehicle to extend"
            )
        if base is None and self.file is not None:
            shipped = self.file.stem in names("vehicles") and self.file.stem == self.vehicle
            base = self.vehicle if shipped else os.path.relpath(self.file, path.parent)
        text = f"# Fitted to {self.record}: {self.windows} windows.\n"
        for e in self.estimates:
            if e.sigma is not None:
                text += f"# {e.name} = {e.value:.6g} +- {e.sigma:.2g}{f' {e.unit}' if e.unit else ''}\n"
        content = {"name": path.stem, "extends": base, **self.content}
        text += yaml.safe_dump(content, sort_keys=False, default_flow_style=None)
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"cannot be written: {error.strerror}", file=path, remedy="give a writable folder"
            ) from None

    @property
    def notes(self) -> list[str]:
        """One line for each parameter that the log does not tell, and one for windows that were left out."""
        lines = []
        for e in self.estimates:
            if not e.told:
                together = f": it is only known together with {', '.join(e.beside)}" if e.beside else ""
                lines.append(f"{e.name} stays {e.before:g}: the log does not tell it{together}")
        if self.left_out:
            lines.append(
                f"{self.left_out} of {self.windows + self.left_out} windows left out: they do not fit"
            )
        return lines

    def __rich__(self) -> "Table":
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        for title in ("parameter", "before", "fitted", "+-sigma", "unit"):
            table.add_column(title, justify="left" if title in ("parameter", "unit") else "right")
        for e in self.estimates:
            found = (f"{e.value:.6g}", f"{e.sigma:.2g}") if e.sigma is not None else ("not told", "")
            table.add_row(e.name, f"{e.before:.6g}", *found, e.unit)
        return table
