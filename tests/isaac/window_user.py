"""Access to the extension's window as its user, and the start of a manual flight."""

import math

from tests.isaac.fakes import interface


def opened(user):
    """Return the window, opened by the menu and drawn."""
    user.kit.menu["Pegasus"].show_window(None, True, 0)
    user.update(3)
    return user.kit.windows[0]


def section(shown, title):
    """Return the collapsible section with a title."""
    return shown._find(interface.CollapsableFrame, title)[0]


def rows(fold):
    """Return {label: the other widgets of its row} of a section."""
    found = {}
    for row in fold._all():
        if (
            isinstance(row, interface.HStack)
            and row._children
            and isinstance(row._children[0], interface.Label)
        ):
            found[row._children[0].text] = row._children[1:]
    return found


def texts(fold):
    """Return the texts of a section."""
    return "\n".join(widget.text for widget in fold._all() if isinstance(widget, interface.Label))


def steered(user):
    """Load a world, and add a vehicle that flies by hand."""
    panel = user.panel
    assert panel.world.choose("flat")
    assert panel.world.load(), user.messages
    assert panel.vehicle.set_position(0.0, 0.0, 0.1)
    assert panel.vehicle.set_heading(math.pi / 2)
    assert panel.vehicle.add(), user.messages
    user.update()
