"""Custom airframe: a hexarotor from the ten lines of `airframes/my_hexarotor.yaml` flies a square.

No USD model is needed: body, arms, motors, propellers and collision shape are generated from the file.

Run it with `python examples/own_airframe.py`.
"""

from pathlib import Path

from pegasus import Multirotor, Simulation, start_host
from pegasus.control import GeometricController, trajectories
from pegasus.recording import TrackingAudit, VehicleTracking

AIRFRAME = Path(__file__).parent / "airframes" / "my_hexarotor.yaml"


def main(side: float = 5.0) -> VehicleTracking:
    """Fly a square; return the tracking errors."""
    square = trajectories.square(side=side, height=3.0, speed=2.5, yaw="forward")
    controller, audit = GeometricController(square), TrackingAudit()
    with Simulation(world="courtyard", observers=[audit]) as sim:
        hexarotor = sim.add(Multirotor(AIRFRAME, backends=[controller]))
        print(f"{hexarotor.name}: {hexarotor.rotor_count} rotors, {hexarotor.mass:g} kg")
        sim.run(duration=controller.mission.duration)
    tracking = audit.errors()[hexarotor.name]
    square_error = tracking.segments["square"]
    print(f"square: error {square_error.rms:.3f} m RMS, {square_error.maximum:.3f} m at most")
    return tracking


if __name__ == "__main__":
    start_host()
    main()
