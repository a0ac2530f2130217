"""Images rendered and scans cast beside the simulation, delivered in order."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from pegasus.cameras.camera import CameraReading
from pegasus.cameras.lidar import LidarReading
from pegasus.core.sensor import Reading

T = TypeVar("T")


class ImageQueue(Generic[T]):
    """Queue of work on readings of cameras and lidars, done by another thread while the simulation steps on.

    At most `lag` readings of a sensor wait; one more waits for the first of them. Nothing is dropped.
    Results are delivered in order, by the thread that calls the methods. Those of other readings, and of a
    sensor with a lag of 0, are made and delivered at once.

    Args:
        deliver: Function of each result.
    """

    def __init__(self, deliver: Callable[[T], None]) -> None:
        self._deliver = deliver
        self._waiting: deque[Future[T]] = deque()

    def add(self, reading: Reading, make: Callable[[], T]) -> None:
        """Add work on a reading.

        Args:
            reading: The reading.
            make: Function that accesses the images or scans of the reading, and returns the result.

        Raises:
            ConfigError: If there is no renderer, or the images of an earlier reading cannot be rendered.
        """
        capture = reading.capture if isinstance(reading, CameraReading | LidarReading) else None
        lag = 0 if capture is None else capture.prepare()
        while len(self._waiting) >= max(lag, 1):
            self._deliver_first()
        if capture is not None and lag > 0:
            self._waiting.append(capture.visuals.submit(make))
        else:
            self._deliver(make())

    def collect(self) -> None:
        """Deliver the results that are ready, without waiting.

        Raises:
            ConfigError: If the images or scans of a reading cannot be rendered.
        """
        while self._waiting and self._waiting[0].done():
            self._deliver_first()

    def finish(self) -> None:
        """Wait for all results and deliver them.

        Raises:
            ConfigError: If the images or scans of a reading cannot be rendered.
        """
        while self._waiting:
            self._deliver_first()

    def _deliver_first(self) -> None:
        self._deliver(self._waiting.popleft().result())
