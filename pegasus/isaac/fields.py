"""Sections of the panel drawn in the window by `omni.ui`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import omni.ui as ui

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.panel import fields
from pegasus.panel.board import Message, Topic

_LABEL_WIDTH = 110
_ROW = 24
_THUMBNAIL_HEIGHT, _CURVES_HEIGHT, _BARS_HEIGHT, _IMAGE_HEIGHT = 140, 80, 40, 180
# Kit's colours are in the order alpha, blue, green, red.
_ERROR = 0xFF4040E0
_GROUND, _CLEAR = 0xFF202020, 0x00000000
# References have the paler ones.
_PALE, _FULL = (0xFF9090E0, 0xFF90C890, 0xFFE0B090), (0xFF3131E0, 0xFF449E2F, 0xFFC27119)
_COLORS, _WIDEST = ("red", "green", "blue"), 320


class WindowSection:
    """A section in the window; it is rebuilt when what it shows has changed, so that typing is not disturbed.

    Args:
        section: What it shows.
    """

    def __init__(self, section: fields.Section) -> None:
        self._section = section
        self._live: list[Callable[[], object]] = []
        self._folds: dict[str, Any] = {}
        self._acted = False
        self._polled = any(item.live and isinstance(item, fields.Field) for item in section.items)
        if section.title:
            with ui.CollapsableFrame(section.title, height=0):
                self._frame = ui.Frame(height=0)
        else:
            self._frame = ui.Frame(height=0)
        self._frame.set_build_fn(self._build)
        self._key = self._state(section.items)

    def refresh(self, changed: Collection[Topic]) -> None:
        """Rebuild the section if it shows something else, and changes or an input may be the reason.

        Args:
            changed: Subjects that have changed.
        """
        if self._acted or self._section.topics & set(changed):
            key, acted = self._state(self._section.items), self._acted
            self._acted = False
            if acted or key != self._key:
                self._key = key
                self._frame.rebuild()

    def update(self) -> None:
        """Update what changes during a run."""
        for update in self._live:
            update()
        if self._polled and (key := self._state(self._section.items)) != self._key:
            self._key = key
            self._frame.rebuild()

    def _state(self, items: Sequence[fields.Item]) -> list[Any]:
        """Return what is shown, without texts that are updated where they stand."""
        found: list[Any] = []
        for item in items:
            if isinstance(item, fields.Fold):
                found += self._state(item.items)
            elif not (item.live and not isinstance(item, fields.Field)):
                get = getattr(item, "get", None)
                found.append((item.shown(), None if get is None else get()))
                if isinstance(item, fields.Select):
                    found.append(item.offered())
        return found

    def _build(self) -> None:
        self._live = []
        with ui.VStack(spacing=4, height=0):
            for item in self._section.items:
                self._draw(item)

    def _draw(self, item: fields.Item) -> None:
        """Add the widgets of an item."""
        if not item.shown():
            return
        if isinstance(item, fields.Fold):
            # A section that is rebuilt keeps its folds as the user has left them.
            last = self._folds.get(item.title)
            collapsed = not item.open if last is None else last.collapsed
            fold = self._folds[item.title] = ui.CollapsableFrame(item.title, collapsed=collapsed, height=0)
            with fold, ui.VStack(spacing=4, height=0):
                for part in item.items:
                    self._draw(part)
        elif isinstance(item, fields.Field):
            self._field(item, self._acting(item.act))
        elif isinstance(item, fields.Buttons):
            buttons(item.actions)
        elif isinstance(item, fields.Thumbnail):
            thumbnail(item.get())
        elif isinstance(item, fields.Lines) and not item.live:
            for content in item.get():
                message = Message(0, content, False) if isinstance(content, str) else content
                if message.text:
                    line(message.text, error=message.error)
        else:
            self._live.append(_LIVE[type(item)](item))
            self._live[-1]()

    def _acting(self, act: Callable[[Any], object]) -> Callable[[Any], object]:
        """Return an input's function after which the section shows the panel's state, whatever came of it."""

        def acting(value: Any) -> None:
            self._acted = True
            act(value)

        return acting

    def _field(self, item: fields.Field, act: Callable[[Any], object]) -> None:
        """Add an input."""
        value = item.get()
        if isinstance(item, fields.Select):
            choice(item.label, item.offered(), value, act)
        elif isinstance(item, fields.Check):
            check(item.label, value, act)
        elif isinstance(item, fields.Text):
            text(item.label, value, act)
        elif isinstance(value, tuple):
            numbers(item.label, value, act)
        else:
            number(item.label, value, act)


def text(label: str, value: str, act: Callable[[str], object]) -> Any:
    """Add a text field; `act` is called with the typed text."""
    with ui.HStack(height=_ROW):
        ui.Label(label, width=_LABEL_WIDTH)
        model = ui.StringField().model
        model.set_value(value)
        model.add_end_edit_fn(lambda changed: act(changed.as_string))
    return model


def number(label: str, value: float, act: Callable[[float], object]) -> Any:
    """Add a number field; `act` is called with the typed number."""
    with ui.HStack(height=_ROW):
        ui.Label(label, width=_LABEL_WIDTH)
        model = ui.FloatField().model
        model.set_value(value)
        model.add_end_edit_fn(lambda changed: act(changed.as_float))
    return model


def numbers(label: str, values: Sequence[float], act: Callable[[tuple[float, ...]], object]) -> list[Any]:
    """Add a row of number fields; `act` is called with all numbers when one was typed."""
    models: list[Any] = []
    with ui.HStack(height=_ROW):
        ui.Label(label, width=_LABEL_WIDTH)
        for value in values:
            model = ui.FloatField().model
            model.set_value(value)
            models.append(model)
    for model in models:
        model.add_end_edit_fn(lambda _: act(tuple(float(part.as_float) for part in models)))
    return models


def check(label: str, value: bool, act: Callable[[bool], object]) -> Any:
    """Add a check box; `act` is called with its state."""
    with ui.HStack(height=_ROW):
        ui.Label(label, width=_LABEL_WIDTH)
        model = ui.CheckBox().model
        model.set_value(value)
        model.add_value_changed_fn(lambda changed: act(changed.as_bool))
    return model


def choice(label: str, names: Sequence[str], value: str, act: Callable[[str], object]) -> Any:
    """Add a combo box; `act` is called with the chosen name.

    Args:
        label: Label in front of it.
        names: Names to choose from.
        value: Name chosen initially; appended if it is not among the names.
        act: Called with the chosen name.
    """
    offered = list(names) if value in names else [*names, value]
    with ui.HStack(height=_ROW):
        ui.Label(label, width=_LABEL_WIDTH)
        model = ui.ComboBox(offered.index(value), *offered).model
        model.add_item_changed_fn(lambda changed, _: act(offered[changed.get_item_value_model().as_int]))
    return model


def buttons(actions: Mapping[str, Callable[[], object]]) -> None:
    """Add a row of buttons: their actions by label."""
    with ui.HStack(height=_ROW, spacing=4):
        for name, act in actions.items():
            ui.Button(name, clicked_fn=lambda act=act: _done(act()))


def line(content: str, *, error: bool = False) -> Any:
    """Add a line of text, in red for an error; return its label."""
    style = {"color": _ERROR} if error else {}
    return ui.Label(content, word_wrap=True, height=0, style=style)


def thumbnail(file: Path | str | None) -> None:
    """Add an image from a file or an address; nothing if it is None."""
    if file is not None:
        ui.Image(str(file), height=_THUMBNAIL_HEIGHT)


def _lines(item: fields.Lines) -> Callable[[], object]:
    """Add lines of text, and return the function that updates them."""
    label = line("")
    return lambda: setattr(label, "text", "\n".join(map(str, item.get())))


def _table(item: fields.Table) -> Callable[[], object]:
    """Add a line of text for each row of a table, and return the function that updates them."""
    label = line("")

    def row(cells: tuple[str, ...]) -> str:
        head, *rest = cells
        text = ", ".join(filter(None, rest))
        return f"{head}: {text}" if head and text else head or text

    return lambda: setattr(label, "text", "\n".join(map(row, item.get())))


def _bars(item: fields.Bars) -> Callable[[], object]:
    """Add a bar chart, and return the function that updates it."""
    plot = ui.Plot(ui.Type.HISTOGRAM, 0.0, 1.0, 0.0, height=_BARS_HEIGHT)

    def update() -> None:
        if found := item.get():
            plot.set_data(*(actuator.share for actuator in found))

    return update


def _curves(item: fields.Plot) -> Callable[[], object]:
    """Add curves over time with a caption above, and return the function that updates them."""
    caption, names = line(""), (*item.references.values(), *item.curves.values())
    colors = (*_PALE[-len(item.references) :], *_FULL)
    plots = []
    with ui.ZStack(height=_CURVES_HEIGHT):
        for index, color in enumerate(colors):
            style = {"color": color, "background_color": _CLEAR if index else _GROUND}
            plots.append(ui.Plot(ui.Type.LINE, 0.0, 1.0, 0.0, height=_CURVES_HEIGHT, style=style))
    said = ", ".join(f"{name} {color}" for name, color in zip(item.curves, _COLORS, strict=True))

    def update() -> None:
        columns = item.get()
        if columns is None:
            return
        lowest, highest = limits([columns[name] for name in names])
        length = columns["time"][-1] - columns["time"][0]
        caption.text = (
            f"{item.title}: {said}; pale: reference. {lowest:.1f} to {highest:.1f}, last {length:.0f} s"
        )
        for plot, name in zip(plots, names, strict=True):
            plot.scale_min, plot.scale_max = lowest, highest
            plot.set_data(*columns[name].tolist())

    return update


def limits(curves: Sequence[Array]) -> tuple[float, float]:
    """Return the lowest and highest plotted value of curves, shape (K,) each, with a margin above 0."""
    lowest = float(min(curve.min() for curve in curves))
    highest = float(max(curve.max() for curve in curves))
    margin = max(0.05 * (highest - lowest), 0.05)
    return lowest - margin, highest + margin


class _CameraImages:
    """Images of cameras with their labels below; calling it shows new ones."""

    def __init__(self, item: fields.Images) -> None:
        self._item = item
        self._images: dict[str, Any] = {}
        self._stamps: dict[str, float] = {}
        self._problem = line("")
        self._frame = ui.Frame(height=0)
        self._frame.set_build_fn(self._build)

    def __call__(self) -> None:
        shown, copy = self._item.get()
        if tuple(shown) != tuple(self._stamps):
            # The images are created with the next frame.
            self._images, self._stamps = {}, dict.fromkeys(shown, -1.0)
            self._frame.rebuild()
        self._problem.text = ""
        for label, camera in shown.items():
            stamp = float(np.max(camera.stamp))
            if label in self._images and self._stamps[label] != stamp:
                try:
                    self._show(label, camera.image("rgb", copy))
                    self._stamps[label] = stamp
                except ConfigError as error:
                    self._problem.text = str(error)

    def _build(self) -> None:
        with ui.VStack(height=0):
            for label in self._stamps:
                self._images[label] = ui.ByteImageProvider()
                ui.ImageWithProvider(
                    self._images[label],
                    height=_IMAGE_HEIGHT,
                    fill_policy=ui.IwpFillPolicy.IWP_PRESERVE_ASPECT_FIT,
                )
                line(label)

    def _show(self, label: str, image: npt.NDArray[np.uint8]) -> None:
        """Show an RGB image, shape (H, W, 3)."""
        step = max(1, -(-image.shape[1] // _WIDEST))
        image = image[::step, ::step]
        height, width = image.shape[:2]
        opaque = np.full((height, width, 4), 255, np.uint8)
        opaque[..., :3] = image
        # Copied as one buffer; set_bytes_data takes one Python number for each byte.
        self._images[label].set_data_array(opaque, [width, height])


_LIVE: dict[type, Callable[[Any], Callable[[], object]]] = {
    fields.Lines: _lines,
    fields.Table: _table,
    fields.Bars: _bars,
    fields.Plot: _curves,
    fields.Images: _CameraImages,
}
"""Functions that add an item that changes during a run, and return the function that updates it."""


def _done(result: object) -> None:
    """Discard the result of an action; the panel's messages report errors."""
