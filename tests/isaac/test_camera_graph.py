"""Tests of vehicles' cameras on ROS 2 through Isaac Sim's bridge."""

import pytest

from pegasus.base.errors import ConfigError
from pegasus.cameras import Camera, Lidar, StereoCamera
from tests.isaac.contract import VERSIONS
from tests.isaac.test_replicator import simulation_of

OUTPUTS = ("rgb", "depth", "point_cloud", "semantic", "instance", "normals")


def published(kit):
    """Return the helper options of all graphs by topic."""
    return {
        f"{values['nodeNamespace']}/{values['topicName']}": values
        for graph in kit.graphs
        for values in graph.published.values()
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_topics_and_frames_are_those_of_the_backend(isaac, version):
    """Topics or frames of Isaac Sim's bridge would differ from the ROS 2 backend's."""
    kit = isaac(version)
    kit.extensions.add("isaacsim.ros2.bridge")
    from pegasus.isaac.camera_graph import publish_cameras

    simulation, vehicle = simulation_of(count=2, front=Camera(resolution=(40, 30), outputs=OUTPUTS))
    with simulation:
        graph = publish_cameras(vehicle, namespace="drone0", domain_id=7, boxes=True)
        assert published(kit) == {}
        simulation.step(6)
        told = published(kit)
        kinds = {
            "color/image_raw": "rgb",
            "depth/image_raw": "depth",
            "points": "depth_pcl",
            "semantic/image_raw": "semantic_segmentation",
            "instance/image_raw": "instance_segmentation",
            "boxes_2d": "bbox_2d_tight",
            "boxes_3d": "bbox_3d",
            "color/camera_info": None,
            "depth/camera_info": None,
        }
        assert {topic: values.get("type") for topic, values in told.items()} == {
            f"drone{copy}/front/{topic}": kind for copy in (0, 1) for topic, kind in kinds.items()
        }
        assert told["drone1/front/color/image_raw"]["frameId"] == "drone1/front_optical"
        assert told["drone1/front/semantic/image_raw"]["semanticLabelsTopicName"] == "front/semantic/labels"
        assert all(values["resetSimulationTimeOnStop"] for values in told.values())
        # Each copy has its own image.
        products = [told[f"drone{copy}/front/points"]["renderProductPath"] for copy in (0, 1)]
        assert len(set(products)) == 2
        assert kit.graphs[0].values["context", "domain_id"] == 7
        assert kit.graphs[0].values["context", "useDomainIDEnvVar"] is False
        contexts = {target for source, target in kit.graphs[0].links if source == "context.outputs:context"}
        assert len(contexts) == len(kinds)
        # Stop ends publishing, and play starts it again.
        kit.timeline.stop()
        kit.update()
        assert published(kit) == {}
        simulation.step(6)
        assert published(kit) == told
        graph.close()
        graph.close()
        kit.update()
        assert not kit.graphs
        assert {product.path for product in kit.products}.isdisjoint(products)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_camera_is_published_at_its_rate(isaac, version):
    """A camera of 10 Hz would be published with every frame."""
    kit = isaac(version)
    kit.extensions.add("isaacsim.ros2.bridge")
    from pegasus.isaac.camera_graph import publish_cameras

    simulation, vehicle = simulation_of(
        slow=Camera(resolution=(40, 30), rate_hz=10.0), fast=Camera(resolution=(40, 30), rate_hz=25.0)
    )
    with simulation:
        frame_rate = simulation.engine.frame_rate
        assert frame_rate == 50.0
        with publish_cameras(vehicle, frame_rate=frame_rate):
            # Readings of the cameras would have frames drawn for them.
            frames = kit.frames
            simulation.step(500)
            assert kit.frames - frames == 100
            messages = kit.graphs[0].messages
            for name, wanted in (("slow", 20), ("fast", 50)):
                for kind in ("rgb", "rgb_info"):
                    assert abs(messages[f"{name}_{kind}"] - wanted) <= 1


@pytest.mark.parametrize(("frame_rate", "said"), [(None, 0), (50.0, 1)])
def test_isaac_sim_5_publishes_every_frame_where_rates_do_not_fit(isaac, caplog, frame_rate, said):
    """Skipping frames by a rounded ratio would publish at a wrong rate."""
    kit = isaac("5.1.0")
    kit.extensions.add("isaacsim.ros2.bridge")
    from pegasus.isaac.camera_graph import publish_cameras

    simulation, vehicle = simulation_of(front=Camera(resolution=(40, 30), rate_hz=15.0))
    with simulation, publish_cameras(vehicle, frame_rate=frame_rate):
        simulation.step(250)
        assert abs(kit.graphs[0].messages["front_rgb"] - 50) <= 1
    warnings = [record.getMessage() for record in caplog.records if "every frame" in record.getMessage()]
    assert len(warnings) == said


def test_a_stereo_pair_is_calibrated_together(isaac):
    """The published calibration of a stereo pair would lack its baseline."""
    kit = isaac()
    kit.extensions.add("isaacsim.ros2.bridge")
    from pegasus.isaac.camera_graph import publish_cameras

    simulation, vehicle = simulation_of(pair=StereoCamera(resolution=(40, 30)))
    with simulation, publish_cameras(vehicle):
        simulation.step(6)
        told = published(kit)
        assert set(told) == {
            "eye/pair/left/color/image_raw",
            "eye/pair/right/color/image_raw",
            "eye/pair/left/color/camera_info",
        }
        info = told["eye/pair/left/color/camera_info"]
        assert info["topicNameRight"] == "pair/right/color/camera_info"
        assert info["frameIdRight"] == "eye/pair_right_optical"
        right = told["eye/pair/right/color/image_raw"]
        assert info["renderProductPathRight"] == right["renderProductPath"] != info["renderProductPath"]


def test_what_is_missing_is_said_in_one_line(isaac):
    """A graph with missing nodes would publish nothing without an error."""
    kit = isaac()
    from pegasus.isaac.camera_graph import publish_cameras

    simulation, vehicle = simulation_of()
    with simulation:
        with pytest.raises(ConfigError, match=r"isaacsim\.ros2\.bridge, which is not enabled") as error:
            publish_cameras(vehicle)
        assert "\n" not in str(error.value)
        kit.extensions.add("isaacsim.ros2.bridge")
        for wrong in ({"namespace": "2nd drone"}, {"domain_id": 233}, {"frame_rate": 0.0}):
            with pytest.raises(ConfigError):
                publish_cameras(vehicle, **wrong)
        assert not kit.products


def test_a_graph_goes_with_its_vehicle(isaac):
    """The graph of a removed vehicle would keep its prim path and publish on."""
    kit = isaac()
    kit.extensions.add("isaacsim.ros2.bridge")
    from pegasus.isaac.camera_graph import publish_cameras

    simulation, vehicle = simulation_of()
    with simulation:
        graph = publish_cameras(vehicle)
        simulation.step(6)
        simulation.remove(vehicle.name)
        assert not kit.context.get_stage().GetPrimAtPath("/World/eye")
        kit.update()
        assert published(kit) == {}
        graph.close()


def test_all_of_it_is_closed_after_its_stage(isaac, tmp_path):
    """After another stage is opened, closing would fail or remove prims of the new stage."""
    kit = isaac()
    kit.extensions.add("isaacsim.ros2.bridge")
    from pegasus.isaac import kit as application
    from pegasus.isaac.camera_graph import publish_cameras
    from pegasus.isaac.replicator import replicate
    from pegasus.isaac.rtx_lidar import measure_by_rtx

    simulation, vehicle = simulation_of(front=Camera(resolution=(40, 30)), top=Lidar(rate_hz=10.0))
    with simulation:
        made = [
            publish_cameras(vehicle),
            replicate(vehicle, output_dir=tmp_path),
            measure_by_rtx(simulation),
        ]
        stage = application.new_stage()
        stage.DefinePrim("/World/eye/body_0/front_optical", "Xform")
        for item in made:
            item.close()
        kit.update()
        assert stage.GetPrimAtPath("/World/eye/body_0/front_optical")
        assert not kit.products
        assert not kit.writers
        assert not kit.graphs
