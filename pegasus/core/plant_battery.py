"""Batteries of all vehicles as rows of their step."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pegasus.contracts.vehicle import Vehicle
from pegasus.dynamics.battery_step import NO_CELLS, BatteryRows, Cells

if TYPE_CHECKING:
    from pegasus.base.compiler import Rows


def battery_rows(vehicles: Sequence[Vehicle], columns: Mapping[str, Any], device: str = "cpu") -> "Rows":
    """Return the rows of the batteries.

    Args:
        vehicles: The vehicles.
        columns: Arrays by name.
        device: Device of the rows.
    """
    from pegasus.base.compiler import Rows

    cells: list[Cells] = []
    for vehicle in vehicles:
        cells += [NO_CELLS] * len(vehicle.parameters) if vehicle.battery is None else vehicle.battery.cells
    return Rows(BatteryRows, {**columns, "cells": cells}, device=device)
