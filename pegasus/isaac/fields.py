"""Widgets of the window, made of `omni.ui`; each input calls back with its new value."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import omni.ui as ui

from pegasus.base.arrays import Array
from pegasus.panel.board import Topic
from pegasus.panel.panel import Panel

_LABEL_WIDTH = 110
_ROW = 24
_THUMBNAIL_HEIGHT, _CURVES_HEIGHT, _BARS_HEIGHT, _IMAGE_HEIGHT = 140, 80, 40, 180
# Kit's colours are in the order alpha, blue, green, red.
_ERROR = 0xFF4040E0
_GROUND, _CLEAR = 0xFF202020, 0x00000000


class Section:
    """A section of the window."""

    title = ""
    """Heading that folds the section; a section without a title is always open."""
    topics: frozenset[Topic] = frozenset()
    """Topics of the panel that the section shows; a change of one may rebuild it."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel

    def build(self) -> None:
        """Build the widgets."""
        raise NotImplementedError

    def state_key(self) -> object:
        """Return a key of the shown state; the section is rebuilt if it has changed. By default always."""
        return object()

    def update(self) -> None:
        """Update values that change during a run."""

    def close(self) -> None:
        """Cancel background work when the window is closed."""


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


def numbers(label: str, values: Sequence[float], act: Callable[[list[float]], object]) -> list[Any]:
    """Add a row of number fields; `act` is called with all numbers when one was typed."""
    models: list[Any] = []
    with ui.HStack(height=_ROW):
        ui.Label(label, width=_LABEL_WIDTH)
        for value in values:
            model = ui.FloatField().model
            model.set_value(value)
            models.append(model)
    for model in models:
        model.add_end_edit_fn(lambda _: act([float(part.as_float) for part in models]))
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


class Curves:
    """Plot of several curves over time, with a caption above.

    Args:
        colors: Colours of the curves [0xAABBGGRR]; later curves are drawn over earlier ones.
    """

    def __init__(self, colors: Sequence[int]) -> None:
        self._caption, height = line(""), _CURVES_HEIGHT
        self._plots = []
        with ui.ZStack(height=height):
            for index, color in enumerate(colors):
                style = {"color": color, "background_color": _CLEAR if index else _GROUND}
                self._plots.append(ui.Plot(ui.Type.LINE, 0.0, 1.0, 0.0, height=height, style=style))

    def show(self, caption: str, curves: Sequence[Array], lowest: float, highest: float) -> None:
        """Show curves.

        Args:
            caption: Text above the plot.
            curves: One curve for each colour, shape (K,) each.
            lowest: Value at the bottom.
            highest: Value at the top.
        """
        self._caption.text = caption
        for plot, values in zip(self._plots, curves, strict=True):
            plot.scale_min, plot.scale_max = lowest, highest
            plot.set_data(*values.tolist())


class Bars:
    """Bar chart of values from 0 to 1."""

    def __init__(self) -> None:
        self._plot = ui.Plot(ui.Type.HISTOGRAM, 0.0, 1.0, 0.0, height=_BARS_HEIGHT)

    def show(self, shares: Array) -> None:
        """Show values from 0 to 1, shape (K,)."""
        self._plot.set_data(*shares.tolist())


class LiveImage:
    """Image that is updated repeatedly, with a label below."""

    def __init__(self, label: str) -> None:
        self._provider = ui.ByteImageProvider()
        ui.ImageWithProvider(
            self._provider, height=_IMAGE_HEIGHT, fill_policy=ui.IwpFillPolicy.IWP_PRESERVE_ASPECT_FIT
        )
        line(label)

    def show(self, image: npt.NDArray[np.uint8]) -> None:
        """Show an RGB image, shape (H, W, 3)."""
        height, width = image.shape[:2]
        opaque = np.full((height, width, 4), 255, np.uint8)
        opaque[..., :3] = image
        # Copied as one buffer; set_bytes_data takes one Python number for each byte.
        self._provider.set_data_array(opaque, [width, height])


def _done(result: object) -> None:
    """Discard the result of an action; the panel's messages report errors."""
