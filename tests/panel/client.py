"""A minimal websocket client of the panel that reports a camera pose like a browser."""

import msgspec
import viser
from websockets.sync.client import connect

from tests.waits import LIMIT

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
        address: Address of the page.
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
    """Return the message that a browser sends when its user edits a field or presses a button."""
    return {"type": "GuiUpdateMessage", "uuid": field._impl.uuid, "updates": {"value": value}}


class Client:
    """Panel client that reads all messages.

    Args:
        address: Address of the page.
    """

    def __init__(self, address):
        # A client that does not read all of its messages can still disconnect.
        self.socket = websocket(address, max_queue=None)
        self.say(CAMERA)

    def say(self, message):
        """Send a message."""
        self.socket.send(msgspec.msgpack.encode(message))

    def take(self, size):
        """Wait until a number of bytes has arrived.

        Raises:
            TimeoutError: If fewer bytes arrive.
        """
        while size > 0:
            size -= len(self.socket.recv(timeout=LIMIT))

    def write(self, field, value=True):
        """Write into a field or press a button, as a user does."""
        self.say(gui_update(field, value))

    def close(self):
        """Close the connection."""
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
