"""Sections of the panel drawn on the page."""

import asyncio
import contextlib
import html
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import viser
from PIL import Image
from viser import uplot

from pegasus.base.errors import ConfigError
from pegasus.panel import fields
from pegasus.panel.board import Message
from pegasus.panel.telemetry import Actuator

_PLACEHOLDER = (160, 284)
_COLORS = ("#e03131", "#2f9e44", "#1971c2")
_WIDEST = 480


class PageSection:
    """A section on the page; its methods run in the thread of the view.

    Args:
        server: Server of the page.
        section: What it shows.
        container: Part of the page in which images appear.
    """

    def __init__(self, server: viser.ViserServer, section: fields.Section, container: Any = None) -> None:
        self._server, self._gui = server, server.gui
        self._container, self.section = container, section
        self.handles: dict[str, Any] = {}
        """Fields by their labels, rows of buttons by the texts of the buttons, images by theirs."""
        self.texts: list[Any] = []
        """Texts and tables."""
        self._updates: list[tuple[fields.Item, Callable[[], object]]] = []
        self._stamps: dict[str, float] = {}
        for item in section.items:
            self._draw(item)

    def refresh(self, *, live: bool = False) -> None:
        """Show the state of the panel.

        Args:
            live: Whether to show only what changes during a run.
        """
        for item, update in self._updates:
            if item.live or not live:
                update()

    def _draw(self, item: fields.Item) -> None:
        """Add an item to the page."""
        if isinstance(item, fields.Fold):
            with self._gui.add_folder(item.title, expand_by_default=item.open):
                for part in item.items:
                    self._draw(part)
            return
        update: Callable[[], object]
        if isinstance(item, fields.Field):
            handle = self.handles[item.label] = self._field(item)
            input_ = _Input(item, handle, self._server.get_event_loop())
            handle.on_update(input_)
            update = input_.show
        elif isinstance(item, fields.Buttons):
            handle, update = self._buttons(item), _nothing
            self.handles["/".join(item.actions)] = handle
        elif isinstance(item, fields.Thumbnail):
            handle, update = self._thumbnail(item)
        elif isinstance(item, fields.Plot):
            handle, update = self._plot(item)
            self.handles[item.title] = handle
        else:
            handle = self._gui.add_html("")
            update = (
                partial(self._update_images, handle, item)
                if isinstance(item, fields.Images)
                else (lambda: set_content(handle, _content(item)))
            )
            self.texts.append(handle)

        def show() -> None:
            _set(handle, "visible", item.shown())
            update()

        self._updates.append((item, show))

    def _field(self, item: fields.Field) -> Any:
        """Return the handle of a field."""
        gui, value = self._gui, item.get()
        if isinstance(item, fields.Select):
            handle: Any = gui.add_dropdown(item.label, item.offered(), initial_value=value, hint=item.hint)
        elif isinstance(item, fields.Check):
            handle = gui.add_checkbox(item.label, value, hint=item.hint)
        elif isinstance(item, fields.Number):
            bounds: dict[str, Any] = {"min": item.low, "max": item.high}
            add: Any = gui.add_number
            if isinstance(value, tuple):
                add = {2: gui.add_vector2, 3: gui.add_vector3}[len(value)]
                bounds = {k: None if bound is None else (bound,) * len(value) for k, bound in bounds.items()}
            handle = add(item.label, value, step=item.step, hint=item.hint, **bounds)
        else:
            handle = gui.add_text(item.label, value, hint=item.hint)
        return handle

    def _buttons(self, item: fields.Buttons) -> Any:
        """Return the handle of a row of buttons."""
        actions = item.actions
        if len(actions) == 1:
            (name,) = actions
            button = self._gui.add_button(name)
            button.on_click(lambda _: _discard(actions[name]()))
            return button
        row = self._gui.add_button_group(item.label, tuple(actions))
        row.on_click(lambda event: _discard(actions[str(event.target.value)]()))
        return row

    def _thumbnail(self, item: fields.Thumbnail) -> tuple[Any, Callable[[], object]]:
        """Return the handle of a thumbnail, and the function that updates it."""
        handle = self._gui.add_image(thumbnail_image(None))
        shown: list[Path | str | None] = [None]

        def update() -> None:
            if (file := item.get()) != shown[0]:
                shown[0] = file
                handle.image = thumbnail_image(file)

        return handle, update

    def _plot(self, item: fields.Plot) -> tuple[Any, Callable[[], object]]:
        """Return the handle of a plot, and the function that updates it."""
        lines = [uplot.Series(label=n, stroke=c, width=2) for n, c in zip(item.curves, _COLORS, strict=True)]
        colors = _COLORS[-len(item.references) :]
        lines += [
            uplot.Series(label=n, stroke=c, width=1, dash=(4, 4))
            for n, c in zip(item.references, colors, strict=True)
        ]
        empty = tuple(np.zeros(2) for _ in range(1 + len(lines)))
        handle: Any = self._gui.add_uplot(
            empty,
            (uplot.Series(label="t [s]"), *lines),
            title=item.title,
            scales={"x": uplot.Scale(time=False)},
            aspect=1.7,
        )
        names = ("time", *item.curves.values(), *item.references.values())

        def update() -> None:
            columns = item.get()
            if columns is not None:
                handle.data = tuple(columns[name] for name in names)
            elif np.any(handle.data[0]):
                handle.data = empty

        return handle, update

    def _update_images(self, problem: Any, item: fields.Images) -> None:
        """Show new images of cameras, and remove those of cameras that are gone."""
        shown, copy = item.get()
        for label in [label for label in self._stamps if label not in shown]:
            self.handles.pop(label).remove()
            del self._stamps[label]
        said = ""
        for label, camera in shown.items():
            stamp = float(np.max(camera.stamp))
            if self._stamps.get(label) == stamp:
                continue
            try:
                image = camera.image("rgb", copy)
            except ConfigError as error:
                said += paragraph(str(error), error=True)
                continue
            self._stamps[label] = stamp
            step = max(1, -(-image.shape[1] // _WIDEST))
            small = np.ascontiguousarray(image[::step, ::step])
            if label in self.handles:
                self.handles[label].image = small
            else:
                with self._container:
                    self.handles[label] = self._gui.add_image(small, label=label, format="jpeg")
        set_content(problem, said)


def set_content(handle: Any, content: str) -> None:
    """Set the content of a text if it differs."""
    _set(handle, "content", content)


def paragraph(text: str, *, error: bool = False) -> str:
    """Return an HTML paragraph with escaped text.

    Args:
        text: The text.
        error: Whether it is an error.
    """
    style = "margin:2px 14px;font-size:13px;overflow-wrap:anywhere" + (";color:#c92a2a" if error else "")
    return f'<p style="{style}">{html.escape(text)}</p>' if text else ""


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return an HTML table with escaped text; a row of one cell is a paragraph."""
    cell = '<td style="padding:0 8px 0 0;vertical-align:top">'
    body = "".join(f"<tr>{''.join(f'{cell}{html.escape(text)}</td>' for text in row)}</tr>" for row in rows)
    style = "margin:2px 14px;font-size:12px;font-variant-numeric:tabular-nums"
    if [len(row) for row in rows] == [1]:
        return paragraph(rows[0][0])
    return f'<table style="{style}">{body}</table>' if rows else ""


def thumbnail_image(path: Path | str | None) -> npt.NDArray[np.uint8]:
    """Return an image file, or a placeholder if it is missing or unreadable, shape (H, W, 3)."""
    if path is not None:
        try:
            with Image.open(path) as image:
                return np.asarray(image.convert("RGB"))
        except OSError:
            pass
    height, width = _PLACEHOLDER
    plain = np.full((height, width, 3), 225, np.uint8)
    plain[2:-2, 2:-2] = 240
    return plain


def bars(actuators: Sequence[Actuator]) -> str:
    """Return rotor speeds or commands by channel as HTML bars."""
    row = (
        '<div style="display:flex;align-items:center;margin:1px 14px;font-size:11px">'
        '<span style="width:5em">{0.name}</span>'
        '<span style="flex:1;background:#8884;height:8px"><span style="display:block;height:8px;'
        'background:#2369be;width:{percent:.0f}%"></span></span>'
        '<span style="width:6.5em;text-align:right">{0.text}</span></div>'
    )
    return "".join(row.format(actuator, percent=100 * actuator.share) for actuator in actuators)


def _content(item: Any) -> str:
    """Return a text, a table or bars as HTML."""
    found = item.get()
    if isinstance(item, fields.Table):
        return table(found)
    if isinstance(item, fields.Bars):
        return bars(found)
    lines = [Message(0, line, False) if isinstance(line, str) else line for line in found]
    return "".join(paragraph(line.text, error=line.error) for line in lines)


class _Input:
    """Field that shows what the panel has, except while something that a user has entered waits.

    Its handle is set in the event loop of the page, in which inputs arrive; elsewhere an input could come
    between two steps of setting it, and would be lost.

    Args:
        item: The field.
        handle: Its handle.
        loop: Event loop of the page.
    """

    def __init__(self, item: fields.Field, handle: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._item, self._handle, self._loop = item, handle, loop
        self._lock = threading.Lock()
        self._waiting = 0

    def __call__(self, event: Any) -> None:
        """Do nothing: inputs come by `capture`, and other values from the panel itself."""

    def capture(self, event: Any) -> Callable[[], None]:
        """Return the action with the present value; in the event loop."""
        self._waiting += 1
        return partial(self._enter, self._handle.value)

    def show(self) -> None:
        """Show what the panel has."""
        self._show(entered=0)

    def _enter(self, value: Any) -> None:
        """Pass an input to the panel."""
        try:
            self._item.act(value)
        finally:
            self._show(entered=1)

    def _show(self, *, entered: int) -> None:
        """Show what the panel has, of which a number of inputs wait no longer."""
        # What was read first is set first. The page may have been closed during an action.
        with self._lock, contextlib.suppress(RuntimeError):
            offered = self._item.offered() if isinstance(self._item, fields.Select) else None
            self._loop.call_soon_threadsafe(self._put, self._item.get(), offered, entered)

    def _put(self, value: Any, offered: tuple[str, ...] | None, entered: int) -> None:
        """Set the handle; in the event loop."""
        self._waiting -= entered
        if self._waiting:
            return
        if offered is not None:
            _set(self._handle, "options", offered)
        _set(self._handle, "value", value)


def _set(handle: Any, name: str, value: Any) -> None:
    """Set a property of a handle if it differs."""
    if getattr(handle, name) != value:
        setattr(handle, name, value)


def _nothing() -> None:
    """Do nothing."""


def _discard(result: object) -> None:
    """Discard the result of an action, whose errors are messages of the panel."""
