"""Linear drag."""

from collections.abc import Sequence

from pegasus import dynamics

__all__ = ["LinearDrag"]


class LinearDrag:
    """Drag in proportion to the velocity in the body frame; coefficients [N s/m]."""

    def __init__(self, drag_coefficients: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        x, y, z = (float(value) for value in drag_coefficients)
        self.drag_coefficients = (x, y, z)

    def make(self) -> dynamics.LinearDrag:
        """Return the drag of Pegasus."""
        return dynamics.LinearDrag(coefficients=self.drag_coefficients)
