"""PX4 mission: vehicles flown through PX4's offboard port, as by a ground station or companion computer.

Pegasus starts PX4 for each vehicle and runs the simulation. This script uses pymavlink, which is not part of
Pegasus (pip install pymavlink), to communicate with each PX4: it arms, takes off to 5 m, flies a 5 m square
and lands. The number of vehicles is an optional argument: python examples/px4_mission.py 5
"""

import math
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pegasus import Multirotor, Simulation, start_host
from pegasus.backends import PX4

HEIGHT, SIDE = 5.0, 5.0
CORNERS = [(0.0, 0.0), (SIDE, 0.0), (SIDE, SIDE), (0.0, SIDE), (0.0, 0.0)]
ARRIVED, LIMIT = 0.7, 60.0


class Vehicle:
    """MAVLink connection to one PX4 at its offboard port."""

    def __init__(self, number: int) -> None:
        mavutil: Any = import_module("pymavlink.mavutil")
        self.mav = mavutil.mavlink
        self.link = mavutil.mavlink_connection(f"udpin:127.0.0.1:{14540 + number}")
        self.number, self.armed, self.time = number, False, 0.0
        self.position: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def listen(self, condition: Callable[[], bool], do: Callable[[], None] = lambda: None) -> None:
        """Receive messages until a condition holds, with a call at every position; times are those of PX4."""
        began = None
        while not condition():
            message = self.link.recv_match(blocking=True, timeout=30)
            if message is None:
                raise TimeoutError(f"vehicle {self.number}: PX4 is silent")
            if message.get_type() == "HEARTBEAT" and message.autopilot == self.mav.MAV_AUTOPILOT_PX4:
                self.armed = bool(message.base_mode & self.mav.MAV_MODE_FLAG_SAFETY_ARMED)
            elif message.get_type() == "LOCAL_POSITION_NED":
                self.position, self.time = (message.x, message.y, message.z), message.time_boot_ms / 1e3
                began = self.time if began is None else began
                if self.time - began > LIMIT:
                    raise TimeoutError(f"vehicle {self.number}: waited for {LIMIT} s of simulated time")
                do()

    def command(self, number: int, *parameters: float) -> None:
        """Send a command with up to seven parameters."""
        rest = [0.0] * (7 - len(parameters))
        self.link.mav.command_long_send(self.number + 1, 1, number, 0, *parameters, *rest)

    def go_to(self, north: float, east: float, down: float) -> None:
        """Send a setpoint; PX4 requires a continuous stream of them."""
        only_position = 0b110111111000
        frame = self.mav.MAV_FRAME_LOCAL_NED
        self.link.mav.set_position_target_local_ned_send(
            0, self.number + 1, 1, frame, only_position, north, east, down, 0, 0, 0, 0, 0, 0, 0, 0
        )

    def fly(self) -> None:
        """Arm, take off, fly the square and land."""
        self.link.wait_heartbeat(timeout=60)
        self.listen(lambda: self.position != (0.0, 0.0, 0.0))
        x0, y0, z0 = self.position

        def take_off() -> None:
            self.go_to(x0, y0, z0 - HEIGHT)
            if not self.armed and int(self.time * 10) % 10 == 0:
                self.command(self.mav.MAV_CMD_DO_SET_MODE, 1, 6)
                self.command(self.mav.MAV_CMD_COMPONENT_ARM_DISARM, 1)

        self.listen(partial(self.is_at, x0, y0, z0 - HEIGHT), take_off)
        print(f"vehicle {self.number}: at {HEIGHT} m", flush=True)
        for north, east in CORNERS:
            place = x0 + north, y0 + east, z0 - HEIGHT
            self.listen(partial(self.is_at, *place), partial(self.go_to, *place))
            print(f"vehicle {self.number}: at the corner {north:g}, {east:g}", flush=True)
        self.listen(lambda: not self.armed, lambda: self.command(self.mav.MAV_CMD_NAV_LAND))
        print(f"vehicle {self.number}: landed", flush=True)

    def is_at(self, north: float, east: float, down: float) -> bool:
        """Return whether the vehicle has arrived at a point [m]."""
        return math.dist(self.position, (north, east, down)) < ARRIVED


def main(count: int = 1, directory: str | Path | None = None, speed: float = 5.0) -> np.ndarray:
    """Fly; return the distance between start and end of each vehicle [m]."""
    px4 = PX4(directory, instance=0)
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor("iris", count=count, backends=[px4]))
        start = vehicle.state.position.copy()
        pilots = [Vehicle(number) for number in range(count)]
        failures: list[Exception] = []

        def pilot(one: Vehicle) -> None:
            try:
                one.fly()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=pilot, args=(one,), daemon=True) for one in pilots]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) and not failures:
            sim.run(1.0, speed=speed)
        for one in pilots:
            one.link.close()
        if failures:
            raise failures[0]
        moved: np.ndarray = np.linalg.norm(vehicle.state.position - start, axis=1)
        return moved


if __name__ == "__main__":
    start_host()
    print(main(count=int(sys.argv[1]) if len(sys.argv) > 1 else 1))
