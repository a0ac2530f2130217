"""What the fields of the page have in common."""

import html
from collections.abc import Callable
from typing import Any

import viser

from pegasus.panel.board import Topic
from pegasus.panel.choices import Choice
from pegasus.panel.snapshot import Snapshot


class Section:
    """A part of the page; `refresh` and `tick` run in the thread of the view."""

    topics: frozenset[Topic] = frozenset()
    """What it shows; it is refreshed when that may have changed."""

    def refresh(self) -> None:
        """Show what the panel holds."""

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Show what changes by itself.

        Args:
            snapshot: The simulation.
            number: Number of the picture, some thirty each second.
        """


def on_user(handle: Any, act: Callable[[Any], object]) -> None:
    """Do something with the new value of a field when a user has changed it.

    Args:
        handle: The field.
        act: What is done; it may wait.
    """

    def changed(event: Any) -> None:
        # Without a client it is the panel itself that has set the value.
        if event.client is not None:
            act(handle.value)

    handle.on_update(changed)


def on_press(gui: viser.GuiApi, label: str, act: Callable[[], object], *, hint: str | None = None) -> Any:
    """Add a button.

    Args:
        gui: Where it is added.
        label: What stands on it.
        act: What is done; it may wait.
        hint: What is shown when the pointer rests on it.
    """
    button = gui.add_button(label, hint=hint)
    button.on_click(lambda _: _ignore(act()))
    return button


def on_buttons(gui: viser.GuiApi, label: str, actions: dict[str, Callable[[], object]]) -> Any:
    """Add a row of buttons.

    Args:
        gui: Where it is added.
        label: What stands before it.
        actions: What each one does, by what stands on it.
    """
    row = gui.add_button_group(label, tuple(actions))
    row.on_click(lambda event: _ignore(actions[str(event.target.value)]()))
    return row


def put(handle: Any, value: Any) -> None:
    """Set a field unless it holds the value already.

    Args:
        handle: The field.
        value: Its value.
    """
    if handle.value != value:
        handle.value = value


def put_content(handle: Any, content: str) -> None:
    """Set a piece of text unless it says that already.

    Args:
        handle: The text.
        content: What it says.
    """
    if handle.content != content:
        handle.content = content


def put_options(handle: Any, options: list[str], value: str) -> None:
    """Set what a list offers, and which of it is chosen.

    Args:
        handle: The list.
        options: What it offers.
        value: What is chosen; added where it is not among them.
    """
    wanted = tuple(options if value in options else [*options, value])
    if tuple(handle.options) != wanted:
        handle.options = wanted
    put(handle, value)


def appear(handle: Any, *, shown: bool) -> None:
    """Show or hide a field unless it is so already.

    Args:
        handle: The field.
        shown: Whether it is shown.
    """
    if handle.visible != shown:
        handle.visible = shown


def described(choice: Choice | None, path: str = "") -> str:
    """Return a description as HTML: what it is, or why it cannot be used and what to do about it.

    Args:
        choice: The choice; None for a file by path.
        path: The path of that file.
    """
    if choice is None:
        return paragraph(path)
    if choice.available:
        return paragraph(choice.description)
    return paragraph(f"{choice.reason}; {choice.remedy}" if choice.remedy else choice.reason, error=True)


def paragraph(text: str, *, error: bool = False) -> str:
    """Return a paragraph of HTML in which the text stands as it is.

    Args:
        text: Any text.
        error: Whether it says that something is wrong.
    """
    style = "margin:2px 14px;font-size:13px;overflow-wrap:anywhere" + (";color:#c92a2a" if error else "")
    return f'<p style="{style}">{html.escape(text)}</p>' if text else ""


def table(rows: list[tuple[str, ...]]) -> str:
    """Return a table of HTML in which all texts stand as they are.

    Args:
        rows: Its rows, cells from left to right.
    """
    cell = '<td style="padding:0 8px 0 0;vertical-align:top">'
    body = "".join(f"<tr>{''.join(f'{cell}{html.escape(text)}</td>' for text in row)}</tr>" for row in rows)
    style = "margin:2px 14px;font-size:12px;font-variant-numeric:tabular-nums"
    return f'<table style="{style}">{body}</table>'


def _ignore(result: object) -> None:
    """Drop what an action returns; what went wrong stands in the panel's messages."""
