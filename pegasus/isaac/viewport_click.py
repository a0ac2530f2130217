"""A click into Isaac Sim's viewport: the point of the scene that it meets."""

from collections.abc import Callable, Sequence
from typing import Any

from omni.kit.viewport.utility import disable_selection, get_active_viewport_window
from omni.ui import scene as sc

from pegasus.errors import ConfigError
from pegasus.panel.board import Board

_NAME = "pegasus.isaac.click"
Use = Callable[[float, float, float], object]


class ViewportClick:
    """Let the next click into the viewport choose a point; Kit finds it in the drawn picture.

    That works whether the timeline plays or not, and for whatever is drawn, collider or not. While a click is
    awaited it selects nothing.

    Args:
        board: Takes what is to be said.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._use: Use | None = None
        self._frame: Any = None
        self._scene: Any = None
        self._screen: Any = None
        self._viewport: Any = None
        self._selection: Any = None

    @property
    def waits(self) -> bool:
        """Whether a click is awaited."""
        return self._use is not None

    def ask(self, purpose: str, use: Use) -> None:
        """Await a click.

        Args:
            purpose: What the click is for, as it is said.
            use: Called with the point that is clicked at [m].
        """
        self.cancel()
        window = get_active_viewport_window()
        if window is None:
            self._board.fail(ConfigError("Isaac Sim shows no viewport", field="click", remedy="open one"))
            return
        self._use, self._viewport = use, window.viewport_api
        self._selection = disable_selection(self._viewport)
        self._frame = window.get_frame(_NAME)
        with self._frame:
            # The viewport's projection is that of its whole window, whatever the shape of the picture.
            self._scene = sc.SceneView(aspect_ratio_policy=sc.AspectRatioPolicy.STRETCH)
            with self._scene.scene:
                self._screen = sc.Screen(gesture=sc.ClickGesture(self._clicked))
        self._viewport.add_scene_view(self._scene)
        self._board.report(f"click into the viewport to choose {purpose}")

    def frame(self) -> None:
        """Remove the overlay after its click: a gesture cannot remove itself while it is called."""
        if self._scene is not None and self._use is None:
            self.cancel()

    def cancel(self) -> None:
        """Cancel the wait for a click; calling it twice is allowed."""
        if self._scene is not None:
            self._scene.scene.clear()
            self._viewport.remove_scene_view(self._scene)
            self._frame.clear()
        self._use = self._frame = self._scene = self._screen = None
        self._viewport = self._selection = None

    def _clicked(self, shape: Any) -> None:
        pixel, viewport = self._viewport.map_ndc_to_texture_pixel(shape.gesture_payload.mouse)
        use = self._use
        if use is None or viewport is None:  # Beside the picture, where it does not fill the window.
            return
        self._use = None
        viewport.request_query(pixel, lambda path, point, *_: self._met(use, path, point), query_name=_NAME)

    def _met(self, use: Use, path: str, point: Sequence[float] | None) -> None:
        if not path or point is None:
            self._board.fail(ConfigError("there is nothing", field="click", remedy="click at the ground"))
            return
        use(float(point[0]), float(point[1]), float(point[2]))
