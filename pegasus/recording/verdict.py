"""Verdicts: whether an expectation of a vehicle came true, when, and by how much."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """Whether a vehicle did what is expected of it."""

    vehicle: str
    """Name of the vehicle."""
    expected: str
    """What is expected, such as `always tracking_error < 0.3`, or the name of the expectation."""
    passed: bool
    """Whether it came true; true of what was not judged."""
    judged: bool = True
    """False of what the flight was cut short for."""
    reason: str = ""
    """Why it failed, or was not judged."""
    time: float = math.nan
    """Time of the first failure, or of the first success of what must come true once [s]; NaN without one."""
    value: float = math.nan
    """Value of the quantity then; NaN of several or none."""
    worst: float = math.nan
    """Value furthest on the wrong side, or closest to it; NaN of several or none."""
    worst_time: float = math.nan
    """Time of that value [s]."""
    copies: Sequence[int] = ()
    """Copies that failed, of several."""

    @property
    def word(self) -> str:
        """`passed`, `failed` or `not judged`."""
        return ("passed" if self.judged else "not judged") if self.passed else "failed"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON has them: None in place of NaN."""
        return {name: None if value != value else value for name, value in asdict(self).items()}

    def line(self) -> str:
        """Return the verdict in one line."""
        name = f"{self.vehicle}: " if self.vehicle else ""
        if self.passed:
            return f"{name}{self.expected}: {'passed' if self.judged else self.reason}"
        copies = f", copies {_listed(self.copies)}" if self.copies else ""
        return f"{name}{self.expected}: {self.reason}{copies}"


def _listed(copies: Sequence[int], most: int = 8) -> str:
    """Return numbers as text, cut if there are many."""
    text = ", ".join(map(str, copies[:most]))
    return text if len(copies) <= most else f"{text} and {len(copies) - most} more"
