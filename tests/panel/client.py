"""A browser of the panel as far as the server can tell: a websocket that says where its camera is."""

import msgspec
import viser
from websockets.sync.client import connect

from tests.panel.panel_rig import LIMIT

CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (3.0, 3.0, 3.0),
    "fov": 1.0,
    "near": 0.1,
    "far": 100.0,
    "image_height": 480,
    "image_width": 640,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}
PROTOCOL = f"viser-v{viser.__version__}"


def websocket(address, **options):
    """Open the websocket of a page.

    Args:
        address: Where the page is.
        options: Further options of the connection, such as its origin.
    """
    return connect(
        address.replace("http:", "ws:", 1),
        subprotocols=[PROTOCOL],
        max_size=None,
        compression=None,
        **options,
    )


def gui_update(field, value=True):
    """Return what a browser sends when its user writes into a field, or presses a button."""
    return {"type": "GuiUpdateMessage", "uuid": field._impl.uuid, "updates": {"value": value}}


class Client:
    """A browser that takes all messages.

    Args:
        address: Where the page is.
    """

    def __init__(self, address):
        # One that does not read all is not kept from leaving.
        self.socket = websocket(address, max_queue=None)
        self.say(CAMERA)

    def say(self, message):
        """Send a message."""
        self.socket.send(msgspec.msgpack.encode(message))

    def take(self, size):
        """Wait until so many bytes have come.

        Raises:
            TimeoutError: If nothing comes any more before.
        """
        while size > 0:
            size -= len(self.socket.recv(timeout=LIMIT))

    def write(self, field, value=True):
        """Write into a field as a user does, or press a button."""
        self.say(gui_update(field, value))

    def close(self):
        """Leave."""
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
