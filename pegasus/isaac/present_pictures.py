"""Pictures are drawn at the instant of their reading, since RTX shows the present only."""

from pegasus.cameras import CameraReading
from pegasus.isaac.engine import IsaacEngine
from pegasus.recording.observer import ObservedSimulation


class PresentPictures:
    """Draw the pictures of every camera when they are due, in a script.

    In the window, where Kit draws its frames by itself, a picture is that of the last frame.

    Args:
        engine: Engine whose stage is drawn.
    """

    def __init__(self, engine: IsaacEngine) -> None:
        self._engine = engine

    def start(self, simulation: ObservedSimulation) -> None:
        """Begin a run; there is nothing to prepare."""

    def record(self, simulation: ObservedSimulation) -> None:
        """Draw what is due.

        Args:
            simulation: The simulation.
        """
        if self._engine.in_window:
            return
        for vehicle in simulation.vehicles:
            for reading in vehicle.new_readings.values():
                for camera in getattr(reading, "cameras", {}).values():
                    if isinstance(camera, CameraReading):
                        for copy in range(vehicle.count):
                            camera.shot.channels(copy)

    def stop(self) -> None:
        """End a run; there is nothing to keep."""
