"""Page section for faults of the followed vehicle."""

import viser

from pegasus.panel.board import Topic
from pegasus.panel.panel import Panel
from pegasus.panel.viser.fields import (
    Section,
    add_button_row,
    on_change,
    paragraph,
    set_content,
    set_options,
    set_value,
    table,
)
from pegasus.session.snapshot import Snapshot

_ALL = "(all)"
_LIST_PERIOD = 10
"""Number of snapshots between two displays of the list."""


class FaultSection(Section):
    """Faults of the followed vehicle: injecting, listing and healing them."""

    topics = frozenset({Topic.FAULTS, Topic.VEHICLES, Topic.VIEW})

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._part = part = panel.faults
        self._fault = gui.add_dropdown("Fault", part.choices, initial_value=part.chosen)
        self._parameters = gui.add_text(
            "Parameters",
            part.parameters,
            hint="With start, end, duration, ramp, where, when; see docs/faults.md",
        )
        self._list = gui.add_html("")
        self._chosen = gui.add_dropdown("Present", (_ALL,))
        add_button_row(gui, "", {"Inject": part.inject, "Heal": self._heal})
        on_change(self._fault, part.choose)
        on_change(self._parameters, part.set_parameters)

    def refresh(self) -> None:
        """Display the state of the panel."""
        set_value(self._fault, self._part.chosen)
        set_value(self._parameters, self._part.parameters)
        self._show()

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Display the faults of the followed vehicle."""
        if number % _LIST_PERIOD == 0:
            self._show()

    def _show(self) -> None:
        listed = self._part.listed
        rows: list[tuple[str, ...]] = [(name, "acts" if acts else "") for name, acts in listed]
        set_content(self._list, table(rows) if rows else paragraph("There are no faults."))
        names = [_ALL, *(name for name, _ in listed)]
        set_options(self._chosen, names, self._chosen.value if self._chosen.value in names else _ALL)

    def _heal(self) -> bool:
        name = self._chosen.value
        return self._part.heal("" if name == _ALL else name)
