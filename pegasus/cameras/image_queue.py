"""Images rendered and scans cast beside the simulation, delivered in order."""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from statistics import median_low
from typing import Generic, TypeVar

from pegasus.cameras.camera import CameraReading
from pegasus.cameras.lidar import LidarReading
from pegasus.contracts.reading import Reading

T = TypeVar("T")

_MEASURED = 5
"""Images whose rendering times give the expected one, their median."""
_LONGEST_PAUSE = 1.1
"""Maximum pause of a step, as a multiple of an even share of an image's rendering time."""


class ImageQueue(Generic[T]):
    """Queue of work on readings of cameras and lidars, done by another thread while the simulation steps on.

    At most `lag` readings of a sensor wait; one more waits for the first of them. Nothing is dropped.
    Results are delivered in order, by the thread that calls the methods. Those of other readings, and of a
    sensor with a lag of 0, are made and delivered at once.

    Called at each step, `collect` or `pace` spreads the wait for slow images over the steps, which then come
    evenly rather than in bursts. Pauses depend on the wall clock, results do not.

    Args:
        deliver: Function of each result.
    """

    def __init__(self, deliver: Callable[[T], None]) -> None:
        self._deliver = deliver
        self._waiting: deque[Future[T]] = deque()
        self._lag = 1
        self._rendering = _RenderingTimes()
        self._steps, self._steps_between = 0, 0

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
            self._lag, self._steps, self._steps_between = lag, 0, self._steps
            self._waiting.append(capture.visuals.submit(self._rendering.timed(make)))
        else:
            self._deliver(make())

    def collect(self) -> None:
        """Deliver the results that are ready, and pace the step.

        Raises:
            ConfigError: If the images or scans of a reading cannot be rendered.
        """
        while self._waiting and self._waiting[0].done():
            self._deliver_first()
        self.pace()

    def pace(self) -> None:
        """Pause if this step is ahead of rendering, so that a full queue does not hold up one step for long.

        Steps may be ahead as far as leaves half an image until the queue is full.
        """
        self._steps += 1
        expected = self._rendering.expected
        unfinished = [result for result in self._waiting if not result.done()]
        if not unfinished or expected is None or self._steps_between == 0:
            return
        share = min(self._steps / self._steps_between, 1.0)
        ahead = len(unfinished) + share - max(self._lag - 0.5, 1.0)
        longest = _LONGEST_PAUSE * expected / self._steps_between
        pause = self._rendering.begun + ahead * expected - time.perf_counter()
        if ahead > 1.0:
            # The first image should be finished by now, but is not.
            pause = longest
        if pause > 0.0:
            wait(unfinished[:1], min(pause, longest))

    def finish(self) -> None:
        """Wait for all results and deliver them.

        Raises:
            ConfigError: If the images or scans of a reading cannot be rendered.
        """
        while self._waiting:
            self._deliver_first()

    def _deliver_first(self) -> None:
        self._deliver(self._waiting.popleft().result())


class _RenderingTimes:
    """Wall times of rendering, of results made one after another."""

    def __init__(self) -> None:
        self._added: deque[float] = deque()
        self._latest = 0.0
        self._durations: deque[float] = deque(maxlen=_MEASURED)

    @property
    def expected(self) -> float | None:
        """Expected time from one result to the next [s]; None before the first."""
        return median_low(self._durations) if self._durations else None

    @property
    def begun(self) -> float:
        """Wall time at which the first unfinished result was begun [s]."""
        return max(self._added[0], self._latest) if self._added else self._latest

    def timed(self, make: Callable[[], T]) -> Callable[[], T]:
        """Return a function that measures the time of another, called by the thread that renders."""
        self._added.append(time.perf_counter())

        def measured() -> T:
            try:
                return make()
            finally:
                now = time.perf_counter()
                begun, self._latest = max(self._added.popleft(), self._latest), now
                self._durations.append(now - begun)

        return measured
