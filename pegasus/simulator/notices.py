"""Messages of the layer: its one warning, and refusals of what has no counterpart."""

import logging
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from pegasus.base.errors import ConfigError

_log = logging.getLogger(__name__)

PAGE = "docs/from_pegasus_simulator.md"


def warn_of_layer() -> None:
    """Log that the script uses calls of Pegasus Simulator, and name those of Pegasus."""
    _log.warning(
        "%s uses calls of Pegasus Simulator, which are a layer on pegasus.Simulation, pegasus.Multirotor and "
        "pegasus.backends here: %s has both side by side",
        sys.argv[0] or "this script",
        PAGE,
    )


def refusal(call: str, instead: str) -> ConfigError:
    """Return the error of a call that has no counterpart.

    Args:
        call: The call of Pegasus Simulator.
        instead: What to write with Pegasus.
    """
    return ConfigError("of Pegasus Simulator has no counterpart here", field=call, remedy=instead)


def require_known(call: str, config: Mapping[str, Any], known: Iterable[str], instead: str) -> None:
    """Require that a configuration has only keys with a counterpart.

    Raises:
        ConfigError: If it has another one.
    """
    for key in config:
        if key not in known:
            raise refusal(f"{call}: {key}", instead)


class Layered:
    """Base of classes of the layer: a missing member is an error that names the page."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{type(self).__name__}.{name} of Pegasus Simulator has no counterpart here; see {PAGE}"
        )
