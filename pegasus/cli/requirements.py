"""Requirements of this package as its metadata states them."""

import platform
import re
from dataclasses import dataclass
from typing import Self

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[^]]*\])?\s*(?P<bounds>[^;]*?)\s*(?:;(?P<marker>.*))?")
_MARKER = re.compile(r"(?P<variable>\w+)\s*(?P<operator>==|!=)\s*[\"'](?P<value>[^\"']*)[\"']")
_BOUND = re.compile(r"(?P<operator>>=|<)\s*(?P<version>[\d.]+)")


@dataclass(frozen=True)
class Requirement:
    """A package and the versions that fit, such as `mujoco<5,>=4.0; extra == "standalone"`."""

    name: str
    bounds: str
    """Bounds of the version, `>=` and `<`, separated by commas."""
    extra: str | None
    """Extra that needs the package; None for Pegasus itself."""
    applies: bool
    """True if the package is needed on this kind of processor."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return a requirement of Pegasus's own metadata; other markers than its own are not known.

        Args:
            text: The line.
        """
        found = _REQUIREMENT.fullmatch(text.strip())
        assert found is not None, text
        extra, applies = None, True
        for condition in _MARKER.finditer(found["marker"] or ""):
            if condition["variable"] == "extra":
                extra = condition["value"]
            elif condition["variable"] == "platform_machine":
                applies = (platform.machine() == condition["value"]) == (condition["operator"] == "==")
        return cls(found["name"], found["bounds"], extra, applies)

    def allows(self, version: str) -> bool:
        """Return whether a version is within the bounds.

        Args:
            version: The version, such as "4.0.1".
        """
        return all(
            (_numbers(version) >= _numbers(bound["version"])) == (bound["operator"] == ">=")
            for bound in _BOUND.finditer(self.bounds)
        )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version without zeros at its end."""
    found = re.match(r"[\d.]*", version)
    numbers = [int(part) for part in (found[0] if found else "").split(".") if part]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
