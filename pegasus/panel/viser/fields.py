"""Sections and fields of the page."""

import html
from collections.abc import Callable
from functools import partial
from typing import Any

import viser

from pegasus.panel.board import Topic
from pegasus.panel.choices import Choice
from pegasus.session.snapshot import Snapshot


class Section:
    """Section of the page; `refresh` and `tick` run in the thread of the view."""

    topics: frozenset[Topic] = frozenset()
    """Subjects whose changes cause a refresh."""

    def refresh(self) -> None:
        """Display the state of the panel."""

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Display the state of the simulation.

        Args:
            snapshot: The simulation.
            number: Number of the frame, about 30 per second.
        """


def on_change(handle: Any, act: Callable[[Any], object]) -> None:
    """Call a function with the new value when a user changes a field.

    Args:
        handle: The field.
        act: The function; may block.
    """
    handle.on_update(_Change(handle, act))


def add_button(gui: viser.GuiApi, label: str, act: Callable[[], object], *, hint: str | None = None) -> Any:
    """Add a button.

    Args:
        gui: The page.
        label: Text on the button.
        act: Function called on a click; may block.
        hint: Tooltip.
    """
    button = gui.add_button(label, hint=hint)
    button.on_click(lambda _: _discard(act()))
    return button


def add_button_row(gui: viser.GuiApi, label: str, actions: dict[str, Callable[[], object]]) -> Any:
    """Add a row of buttons.

    Args:
        gui: The page.
        label: Text in front of the row.
        actions: Functions called on a click, by button text.
    """
    row = gui.add_button_group(label, tuple(actions))
    row.on_click(lambda event: _discard(actions[str(event.target.value)]()))
    return row


def set_value(handle: Any, value: Any) -> None:
    """Set the value of a field if it differs."""
    if handle.value != value:
        handle.value = value


def set_content(handle: Any, content: str) -> None:
    """Set the content of a text if it differs."""
    if handle.content != content:
        handle.content = content


def set_options(handle: Any, options: list[str], value: str) -> None:
    """Set options and selection of a dropdown list.

    Args:
        handle: The list.
        options: The options.
        value: The selection; added to the options if missing.
    """
    wanted = tuple(options if value in options else [*options, value])
    if tuple(handle.options) != wanted:
        handle.options = wanted
    set_value(handle, value)


def set_visible(handle: Any, *, shown: bool) -> None:
    """Show or hide a field.

    Args:
        handle: The field.
        shown: Whether to show it.
    """
    if handle.visible != shown:
        handle.visible = shown


def choice_html(choice: Choice | None, path: str = "") -> str:
    """Return the description of a choice, or reason and remedy if it cannot be used, as HTML.

    Args:
        choice: The choice; None for a file given by path.
        path: The path of that file.
    """
    if choice is None:
        return paragraph(path)
    if choice.available:
        return paragraph(choice.description)
    return paragraph(f"{choice.reason}; {choice.remedy}" if choice.remedy else choice.reason, error=True)


def paragraph(text: str, *, error: bool = False) -> str:
    """Return an HTML paragraph with escaped text.

    Args:
        text: The text.
        error: Whether it is an error.
    """
    style = "margin:2px 14px;font-size:13px;overflow-wrap:anywhere" + (";color:#c92a2a" if error else "")
    return f'<p style="{style}">{html.escape(text)}</p>' if text else ""


def table(rows: list[tuple[str, ...]]) -> str:
    """Return an HTML table with escaped text."""
    cell = '<td style="padding:0 8px 0 0;vertical-align:top">'
    body = "".join(f"<tr>{''.join(f'{cell}{html.escape(text)}</td>' for text in row)}</tr>" for row in rows)
    style = "margin:2px 14px;font-size:12px;font-variant-numeric:tabular-nums"
    return f'<table style="{style}">{body}</table>'


class _Change:
    """Callback of a changed field, with the value at the time of the change."""

    def __init__(self, handle: Any, act: Callable[[Any], object]) -> None:
        self._handle, self._act = handle, act

    def __call__(self, event: Any) -> None:
        # Without a client, the panel itself has set the value.
        if event.client is not None:
            self._act(self._handle.value)

    def capture(self, event: Any) -> Callable[[], object]:
        """Return the action with the present value, before a refresh can set the field again."""
        return partial(self._act, self._handle.value)


def _discard(result: object) -> None:
    """Discard the result of an action, whose errors are messages of the panel."""
