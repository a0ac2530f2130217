"""Screenshots that browsers are asked for, without anybody else waiting for their answers."""

import io
import threading

import numpy as np
import numpy.typing as npt
import viser
from PIL import Image

from pegasus.panel.view_part import ViewPart

_ANSWER_LIMIT = 10.0
"""Longest wait for a browser's answer, wall time [s]."""
_MOST_ASKED = 8
_LARGEST = 8192
"""Largest width and height that a browser is asked for [pixels]."""


class Screenshots:
    """Keep what browsers show; each is asked for one picture at a time.

    Args:
        look: Keeps the pictures, and takes what went wrong.
        limit: Longest wait for an answer, wall time [s].
    """

    def __init__(self, look: ViewPart, *, limit: float = _ANSWER_LIMIT) -> None:
        self._look, self._limit = look, limit
        self._lock = threading.Lock()
        self._asked: set[int] = set()

    def take(self, client: viser.ClientHandle | None) -> None:
        """Ask a browser for what it shows, unless it has been asked already; returns at once.

        Args:
            client: The browser; None for one that is gone.
        """
        if client is None:
            return
        with self._lock:
            if client.client_id in self._asked:
                return
            if len(self._asked) >= _MOST_ASKED:
                self._look.board.report(
                    f"{_MOST_ASKED} browsers are asked for screenshots already", error=True
                )
                return
            self._asked.add(client.client_id)
        name = f"pegasus-screenshot-{client.client_id}"
        threading.Thread(target=self._keep, args=(client,), name=name, daemon=True).start()

    def _keep(self, client: viser.ClientHandle) -> None:
        try:
            camera = client.camera
            height, width = (
                min(max(int(size), 1), _LARGEST) for size in (camera.image_height, camera.image_width)
            )
            shown = client.get_render(height, width, transport_format="jpeg", timeout=self._limit)
            picture = encoded(shown)
        except TimeoutError:
            problem = f"the browser has not given its screenshot within {self._limit:g} s"
            self._look.board.report(problem, error=True)
        except Exception as error:
            # Whatever a browser sends is its own: it must not end more than its screenshot.
            self._look.board.report(
                f"the browser has given no screenshot: {type(error).__name__}", error=True
            )
        else:
            self._look.keep_screenshot(picture, ".jpg")
        finally:
            with self._lock:
                self._asked.discard(client.client_id)


def encoded(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Return a picture as a JPEG file.

    Args:
        pixels: Shape (H, W, 3 or 4).
    """
    buffer = io.BytesIO()
    Image.fromarray(pixels[..., :3]).save(buffer, "JPEG", quality=92)
    return buffer.getvalue()
