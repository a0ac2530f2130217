"""Script with the calls of Pegasus Simulator: a custom backend holds a vehicle above a box.

Isaac Sim's application is started before the other imports, as its scripts do.
"""
# ruff: noqa: E402

from isaacsim import SimulationApp

simulation_app = SimulationApp({"headless": True})

import numpy as np
import omni.timeline
from omni.isaac.core.objects import DynamicCuboid
from omni.isaac.core.world import World
from scipy.spatial.transform import Rotation

from pegasus.simulator.logic.backends import Backend
from pegasus.simulator.logic.graphical_sensors.monocular_camera import MonocularCamera
from pegasus.simulator.logic.interface.pegasus_interface import PegasusInterface
from pegasus.simulator.logic.vehicles.multirotor import Multirotor, MultirotorConfig
from pegasus.simulator.params import ROBOTS, SIMULATION_ENVIRONMENTS

TARGET = np.array([1.0, 2.0, 1.5])


class Hold(Backend):
    """Hold a position by proportional and derivative terms."""

    def __init__(self):
        self.speeds, self.data, self.calls, self.kept = [0.0] * 4, {}, [], None

    def start(self):
        self.calls.append("start")

    def stop(self):
        self.calls.append("stop")

    def reset(self):
        self.calls.append("reset")

    def update_state(self, state):
        self.kept = state

    def update_sensor(self, sensor_type, data):
        self.data.setdefault(sensor_type, []).append(data)

    update_graphical_sensor = update_sensor

    def input_reference(self):
        return self.speeds

    def update(self, dt):
        assert dt == 1.0 / 250.0
        state = self.kept
        push = 4.0 * (TARGET - state.position) - 3.5 * state.linear_velocity + [0.0, 0.0, 9.81]
        attitude = Rotation.from_quat(state.attitude)
        axis = attitude.as_matrix()[:, 2]
        tilt = np.cross(axis, push / np.linalg.norm(push))
        error = attitude.inv().apply(tilt)
        torque = 1.8 * error - 0.35 * state.angular_velocity
        self.speeds = self.vehicle.force_and_torques_to_velocities(1.5 * float(push @ axis), torque)


class Listener(Hold):
    """Listen as the second backend, which nobody asks for speeds."""

    def update(self, dt):
        pass

    def input_reference(self):
        raise AssertionError("the first backend drives")


pg = PegasusInterface()
pg._world = World(**pg._world_settings)
world = pg.world
pg.load_environment(SIMULATION_ENVIRONMENTS["Curved Gridroom"])
world.scene.add(
    DynamicCuboid(
        prim_path="/new_cube",
        name="cube",
        position=np.array([5.0, 0.0, 0.5]),
        scale=np.ones(3),
        size=1.0,
        color=np.array([255, 0, 0]),
    )
)
config = MultirotorConfig()
hold = Hold()
config.backends = [hold, Listener()]
config.graphical_sensors = [MonocularCamera("camera", config={"resolution": (40, 30), "update_rate": 60.0})]
vehicle = Multirotor(
    "/World/quadrotor", ROBOTS["Iris"], 0, [1.0, 2.0, 0.1], [0.0, 0.0, 0.0, 1.0], config=config
)
pg.set_viewport_camera([7.0, -1.6, 5.0], [0.0, 3.0, 0.0])
world.reset()
timeline = omni.timeline.get_timeline_interface()
timeline.play()
path = []
while simulation_app.is_running():
    world.step(render=True)
    path.append(vehicle.state)
timeline.stop()
simulation_app.close()
