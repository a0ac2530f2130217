"""Test of the topic of movers: markers where the movers are, in their shapes and colours."""

import numpy as np

from pegasus import Multirotor, Simulation
from pegasus.backends.ros2.backend import ROS2
from pegasus.backends.ros2.frames import Frames
from pegasus.backends.ros2.messages import Template, decode
from pegasus.backends.ros2.mover_topics import mover_contents


def test_markers_are_where_the_movers_are():
    """A display would show a door at its hinge, a platform where it was before, or half of its size."""
    still = {"model": "oscillation", "position": [0, 0, 3], "amplitude": [0, 0, 0], "period": 1.0}
    hinge = {"model": "hinge", "position": [4, 0, 0], "times": [0, 1], "angles": [0, 1.0]}
    with Simulation("flat") as simulation:
        simulation.add_mover(
            {
                "name": "door",
                "box": [0.9, 0.1, 2],
                "center": [0.45, 0, 1],
                "color": [1, 0, 0],
                "motion": hinge,
            }
        )
        simulation.add_mover({"name": "ball", "sphere": 0.25, "motion": still})
        iris = simulation.add(Multirotor("iris", count=2, position=[(0, 0, 0.1), (3, 3, 0.1)]))
        simulation.run(0.5)
        (content,) = mover_contents(iris)
        template = Template(content.message(Frames().names("/iris")), *content.varying)
        rows = content.numbers(iris.state)
        assert len(rows) == 2
        data = template.pack(*(1, 500) * content.stamp_count, *rows[1])
        door, ball = decode("visualization_msgs/msg/MarkerArray", data).markers
        position, orientation = simulation.movers["door"].poses(iris.sensors.now)
    a = 2 * np.arctan2(orientation[0, 2], orientation[0, 3])
    place = [door.pose.position.x, door.pose.position.y, door.pose.position.z]
    np.testing.assert_allclose(place, position[0] + [0.45 * np.cos(a), 0.45 * np.sin(a), 1.0], atol=1e-12)
    np.testing.assert_allclose(door.pose.orientation.z, np.sin(a / 2))
    assert (door.ns, ball.ns, door.id, ball.id) == ("door", "ball", 0, 1)
    assert (door.type, ball.type) == (1, 2)  # CUBE, SPHERE
    np.testing.assert_allclose([door.scale.x, door.scale.y, door.scale.z], [0.9, 0.1, 2.0])
    np.testing.assert_allclose([ball.scale.x, ball.scale.z, ball.pose.position.z], [0.5, 0.5, 3.0])
    assert (door.color.r, door.color.g, door.color.a) == (1.0, 0.0, 1.0)
    assert door.header.frame_id == "map"
    assert (door.header.stamp.sec, ball.header.stamp.nanosec) == (1, 500)


def test_a_vehicle_on_ros2_joins_a_simulation_with_movers(nothing_stays):  # noqa: ARG001
    """The backend would ask for the movers before its vehicle has a simulation."""
    still = {"model": "oscillation", "position": [0, 0, 3], "amplitude": [0, 0, 0], "period": 1.0}
    with Simulation("flat") as simulation:
        simulation.add_mover({"name": "ball", "sphere": 0.25, "motion": still})
        backend = ROS2("rider", control=False, transport="cyclonedds", topics={"movers": {"rate_hz": 10.0}})
        simulation.add(Multirotor("iris", backends=[backend]))
        simulation.run(0.1)
