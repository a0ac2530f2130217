"""Panel part for faults of the followed vehicle: injecting, listing and healing them."""

import dataclasses
from typing import Any

import yaml

from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation
from pegasus.faults import FAULTS, Fault, build_fault
from pegasus.panel.board import Board, Part, Topic, action, require_choice
from pegasus.panel.view_part import ViewPart
from pegasus.session.session import Session

_REQUIRED = {
    "rotor": 0,
    "joint": "aileron",
    "sensor": "imu",
    "field": "angular_velocity",
    "link": "ros2",
    "mass": 0.1,
    "axes": ["y", "x", "z"],
}
"""Values that required parameters are shown with; 0.1 for others."""
_COMMON = frozenset(item.name for item in dataclasses.fields(Fault))


def parameters_text(model: str) -> str:
    """Return the own parameters of a fault with their defaults, as a mapping in YAML without braces.

    Args:
        model: Name of the fault.
    """
    values: dict[str, Any] = {}
    for item in dataclasses.fields(FAULTS[model]):
        if item.name not in _COMMON:
            required = item.default is dataclasses.MISSING
            value = _REQUIRED.get(item.name, 0.1) if required else item.default
            if value is not None:
                values[item.name] = list(value) if isinstance(value, tuple) else value
    text = str(yaml.safe_dump(values, default_flow_style=True, sort_keys=False, width=1000)).strip()
    return text[1:-1]


class FaultPart(Part):
    """Faults of the followed vehicle.

    Args:
        board: Listeners and messages of the panel.
        session: Session that runs the simulation.
        view: View, which determines the followed vehicle and copy.
    """

    def __init__(self, board: Board, session: Session, view: ViewPart) -> None:
        super().__init__(board)
        self._session, self._view = session, view
        self.choices = sorted(FAULTS)
        """Names of the faults."""
        self.chosen = "motor_loss"
        """Name of the fault to inject."""
        self.parameters = parameters_text(self.chosen)
        """Its parameters as a mapping in YAML without braces, such as `rotor: 0, duration: 2.0`."""

    @property
    def listed(self) -> list[tuple[str, bool]]:
        """Name of each fault of the followed vehicle, and whether it acts on the followed copy."""
        followed = self._view.followed_vehicle(self._session.snapshot)
        return [] if followed is None else [(n, bool(acts[followed[1]])) for n, acts in followed[0].faults]

    @action(Topic.FAULTS)
    def choose(self, model: str) -> None:
        """Choose the fault to inject.

        Args:
            model: Its name.
        """
        require_choice("fault", model, self.choices)
        self.chosen, self.parameters = model, parameters_text(model)

    @action(Topic.FAULTS)
    def set_parameters(self, text: str) -> None:
        """Set the parameters of the fault.

        Args:
            text: Mapping in YAML without braces.
        """
        _mapping(text)
        self.parameters = text

    @action(Topic.FAULTS)
    def inject(self) -> None:
        """Inject the fault into the followed copy."""
        fault = build_fault({"model": self.chosen, **_mapping(self.parameters)})

        def injected(vehicle: Aircraft, copy: int) -> str:
            return vehicle.inject(fault, copies=copy).label

        label, name = self._with_followed(injected)
        self.board.report(f"{name}: {label} is injected")

    @action(Topic.FAULTS)
    def heal(self, fault: str = "") -> None:
        """End a fault of the followed copy.

        Args:
            fault: Its name; all faults if empty.
        """
        healed, name = self._with_followed(lambda vehicle, copy: vehicle.heal(fault or None, copies=copy))
        self.board.report(f"{name}: {', '.join(healed) or 'no fault'} is healed")

    def _with_followed(self, act: Any) -> tuple[Any, str]:
        """Call a function with the followed vehicle and copy; return its result and the vehicle's name."""
        followed = self._view.followed_vehicle(self._session.snapshot)
        if followed is None:
            raise ConfigError("there is no vehicle", field="vehicle", remedy="add one")
        name, copy = followed[0].name, followed[1]

        def done(simulation: Simulation) -> Any:
            return act(simulation.vehicles[name], copy)

        return self._session.call(done), name


def _mapping(text: str) -> dict[str, Any]:
    try:
        found = yaml.safe_load("{" + text + "}")
    except yaml.YAMLError:
        found = None
    allowed = "must be parameters such as rotor: 0, duration: 2.0"
    require(isinstance(found, dict) and "model" not in found, "parameters", text, allowed)
    return dict(found)
