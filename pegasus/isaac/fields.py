"""Fields of Kit's toolkit, each of which calls back with its new value."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import omni.ui as ui

from pegasus.arrays import Array
from pegasus.panel.board import Topic

_LABEL_WIDTH = 110
_ROW = 24
# Kit's colours are in the order alpha, blue, green, red.
_ERROR = 0xFF4040E0
_GROUND, _CLEAR = 0xFF202020, 0x00000000


class Section:
    """A part of the window."""

    title = ""
    """Heading that folds and unfolds the section; a section without one is always open."""
    topics: frozenset[Topic] = frozenset()
    """Topics that the section shows; it is built again when one of them may have changed."""

    def build(self) -> None:
        """Fill the section."""
        raise NotImplementedError

    def seen(self) -> object:
        """Return a key of what it shows: it is rebuilt when that has changed; here always."""
        return object()

    def look(self) -> None:
        """Show what changes by itself."""

    def close(self) -> None:
        """Cancel background work when the window is closed."""


def text(label: str, value: str, act: Callable[[str], object]) -> Any:
    """Add a field for text.

    Args:
        label: What stands before it.
        value: What it holds at first.
        act: Called with what has been typed.
    """
    with ui.HStack(height=_ROW):
        ui.Label(label, width=_LABEL_WIDTH)
        model = ui.StringField().model
        model.set_value(value)
        model.add_end_edit_fn(lambda changed: act(changed.as_string))
    return model


def number(label: str, value: float, act: Callable[[float], object]) -> Any:
    """Add a field for a number.

    Args:
        label: What stands before it.
        value: What it holds at first.
        act: Called with what has been typed.
    """
    with ui.HStack(height=_ROW):
        ui.Label(label, width=_LABEL_WIDTH)
        model = ui.FloatField().model
        model.set_value(value)
        model.add_end_edit_fn(lambda changed: act(changed.as_float))
    return model


def numbers(label: str, values: Sequence[float], act: Callable[[list[float]], object]) -> list[Any]:
    """Add a field for several numbers.

    Args:
        label: What stands before it.
        values: What it holds at first.
        act: Called with all of them when one has been typed.
    """
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
    """Add a field that is on or off.

    Args:
        label: What stands before it.
        value: Whether it is on at first.
        act: Called with whether it is on.
    """
    with ui.HStack(height=_ROW):
        ui.Label(label, width=_LABEL_WIDTH)
        model = ui.CheckBox().model
        model.set_value(value)
        model.add_value_changed_fn(lambda changed: act(changed.as_bool))
    return model


def choice(label: str, names: Sequence[str], value: str, act: Callable[[str], object]) -> Any:
    """Add a list to choose from.

    Args:
        label: What stands before it.
        names: What it offers.
        value: What is chosen at first; added where it is not among them.
        act: Called with what is chosen.
    """
    offered = list(names) if value in names else [*names, value]
    with ui.HStack(height=_ROW):
        ui.Label(label, width=_LABEL_WIDTH)
        model = ui.ComboBox(offered.index(value), *offered).model
        model.add_item_changed_fn(lambda changed, _: act(offered[changed.get_item_value_model().as_int]))
    return model


def buttons(actions: Mapping[str, Callable[[], object]]) -> None:
    """Add a row of buttons.

    Args:
        actions: What each one does, by what stands on it.
    """
    with ui.HStack(height=_ROW, spacing=4):
        for name, act in actions.items():
            ui.Button(name, clicked_fn=lambda act=act: _done(act()))


def line(said: str, *, error: bool = False) -> Any:
    """Add a line of text, and return its label.

    Args:
        said: The text.
        error: Whether it says that something is wrong.
    """
    style = {"color": _ERROR} if error else {}
    return ui.Label(said, word_wrap=True, height=0, style=style)


def picture(file: Path | str | None, height: int = 140) -> None:
    """Add a picture; nothing where there is none.

    Args:
        file: Its file, or its address.
        height: How high it is [pixels].
    """
    if file is not None:
        ui.Image(str(file), height=height)


class Curves:
    """Several curves over the same instants, with a line of text above them.

    Args:
        colors: Colour of each [0xAABBGGRR]; later ones are drawn over earlier ones.
        height: How high the plot is [pixels].
    """

    def __init__(self, colors: Sequence[int], height: int = 80) -> None:
        self._said = line("")
        self._plots = []
        with ui.ZStack(height=height):
            for index, color in enumerate(colors):
                style = {"color": color, "background_color": _CLEAR if index else _GROUND}
                self._plots.append(ui.Plot(ui.Type.LINE, 0.0, 1.0, 0.0, height=height, style=style))

    def show(self, said: str, curves: Sequence[Array], lowest: float, highest: float) -> None:
        """Show other curves.

        Args:
            said: The text.
            curves: As many as there are colours, each of shape (K,).
            lowest: Value at the bottom.
            highest: Value at the top.
        """
        self._said.text = said
        for plot, values in zip(self._plots, curves, strict=True):
            plot.scale_min, plot.scale_max = lowest, highest
            plot.set_data(*values.tolist())


class Bars:
    """Shares as bars beside each other.

    Args:
        height: How high the plot is [pixels].
    """

    def __init__(self, height: int = 40) -> None:
        self._plot = ui.Plot(ui.Type.HISTOGRAM, 0.0, 1.0, 0.0, height=height)

    def show(self, shares: Array) -> None:
        """Show other shares.

        Args:
            shares: From 0 to 1, shape (K,).
        """
        self._plot.set_data(*shares.tolist())


class Pixels:
    """A picture that is drawn anew again and again, with its name below.

    Args:
        label: Its name.
        height: How high it is [pixels].
    """

    def __init__(self, label: str, height: int = 180) -> None:
        self._provider = ui.ByteImageProvider()
        ui.ImageWithProvider(
            self._provider, height=height, fill_policy=ui.IwpFillPolicy.IWP_PRESERVE_ASPECT_FIT
        )
        line(label)

    def show(self, image: npt.NDArray[np.uint8]) -> None:
        """Show another picture.

        Args:
            image: Red, green and blue, shape (H, W, 3).
        """
        height, width = image.shape[:2]
        opaque = np.full((height, width, 4), 255, np.uint8)
        opaque[..., :3] = image
        # Copied as it lies; set_bytes_data would take one Python number for each byte.
        self._provider.set_data_array(opaque, [width, height])


def _done(result: object) -> None:
    """Drop what an action returns; what went wrong stands in the panel's messages."""
