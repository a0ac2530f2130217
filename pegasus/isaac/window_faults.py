"""Section of the window for faults of the followed vehicle."""

from functools import partial

from pegasus.isaac import fields
from pegasus.panel.board import Topic


class FaultSection(fields.Section):
    """Faults of the followed vehicle: injecting, listing and healing them."""

    title, topics = "Faults", frozenset({Topic.FAULTS, Topic.VEHICLES, Topic.VIEW})

    def state_key(self) -> object:
        """Return the faults of the followed vehicle."""
        return self._panel.faults.listed

    def build(self) -> None:
        """Build the widgets."""
        part = self._panel.faults
        fields.choice("Fault", part.choices, part.chosen, part.choose)
        fields.text("Parameters", part.parameters, part.set_parameters)
        fields.buttons({"Inject": part.inject, "Heal all": part.heal})
        for name, acts in part.listed:
            fields.line(f"{name}: {'acts' if acts else 'does not act'}")
            fields.buttons({f"Heal {name}": partial(part.heal, name)})
