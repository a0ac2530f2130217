"""Tests that viser's events are set only in the thread of its event loop."""

import asyncio
import threading

import pytest
import zstandard

pytest.importorskip("viser", reason="pip install pegasus-multirotor[view]")

from pegasus.panel.viser.view import WebView, _LoopEvent
from tests.panel.client import Client
from tests.waits import LIMIT, wait_until


def text(message):
    """Return the content of a viser message, which is packed after 16 bytes."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(message[16:])


def test_another_thread_leaves_the_event_alone():
    """If this fails, two threads change an event, and a message is lost now and then."""

    async def waits():
        event = _LoopEvent()
        waiting = asyncio.create_task(event.wait())
        await asyncio.sleep(0)
        thread = threading.Thread(target=event.set)
        thread.start()
        await asyncio.to_thread(thread.join)
        assert not event.is_set()
        assert not waiting.done()
        asyncio.get_running_loop().call_soon_threadsafe(event.set)
        assert await asyncio.wait_for(waiting, 10.0)

    asyncio.run(waits())


def test_every_browser_hears_what_any_thread_says(panel):
    """If this fails, a message from the simulation's thread waits for the next message."""
    with WebView(lambda: panel.session.snapshot, panel.view, port=0) as view:
        clients = [Client(view.address) for _ in range(3)]
        wait_until(lambda: len(view.server.get_clients()) == 3, "three browsers")
        sockets = [
            view.server._websock_server,
            *(c._websock_connection for c in view.server.get_clients().values()),
        ]
        wait_until(
            lambda: all(isinstance(s.get_message_buffer().message_event, _LoopEvent) for s in sockets),
            "all buffers",
        )
        sent = b"a word from a thread"
        thread = threading.Thread(target=lambda: view.server.gui.add_html(sent.decode()))
        thread.start()
        thread.join()
        for client in clients:
            while sent not in text(client.socket.recv(timeout=LIMIT)):
                pass
            client.close()
