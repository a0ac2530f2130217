"""Tests of cameras: images of the stamped instant, rendered only when they are accessed."""

import math

import numpy as np
import pytest
from analytic_renderer import GROUND, AnalyticRenderer, Plane

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.components import build
from pegasus.cameras import Camera, Imaging, Pinhole
from pegasus.sensors import SENSORS, Sensor

SMALL = {"resolution": (32, 24), "horizontal_fov": 1.2}
WALL = Plane((1.0, 0.0, 0.0), 5.0, "/World/wall", "wall")


def flying(camera, *, planes=(GROUND, WALL), world="flat", rate=250.0, vehicles=(), **parameters):
    """A simulation with an Iris at 2 m that carries a camera, and its renderer."""
    renderer = AnalyticRenderer(planes=planes)
    sim = Simulation(world, rate=rate, renderer=renderer)
    parameters = {"position": (0.0, 0.0, 2.0), "sensors": {"front": camera}, **parameters}
    iris = sim.add(Multirotor("iris", **parameters))
    for vehicle in vehicles:
        sim.add(vehicle)
    return sim, iris, renderer


def test_nothing_is_drawn_before_somebody_looks():
    """An unused camera would render images and slow the simulation down."""
    sim, iris, renderer = flying(Camera(**SMALL))
    sim.step(100)
    assert renderer.scene is None
    assert renderer.render_count == 0
    reading = iris.readings["front"]
    first = reading.rgb
    assert (renderer.render_count, first.shape) == (1, (1, 24, 32, 3))
    assert np.array_equal(reading.rgb, first)
    assert renderer.render_count == 1


def test_rates_and_stamps_are_exact():
    """Images would drift against the clock, or have a stamp that differs from their poses'."""
    camera = Camera(rate_hz=30.0, **SMALL)
    sim, iris, _ = flying(camera)
    stamps = []
    for _ in range(250):
        sim.step()
        if "front" in iris.new_readings:
            stamps.append(iris.new_readings["front"].stamp)
    assert len(stamps) == 30
    due = np.arange(30) / 30
    assert np.array_equal(stamps, np.ceil(due * 250 - 1e-9) / 250)


def test_a_late_look_shows_the_instant_of_the_reading():
    """An image would show the poses of its rendering in place of its stamp's."""
    camera = Camera(
        outputs=("depth",),
        orientation=(0.0, math.pi / 2, 0.0),
        position=(0.0, 0.0, 0.0),
        hide_vehicle=True,
        **SMALL,
    )
    sim, iris, _ = flying(camera, planes=(GROUND,))
    sim.step(2)
    early, height = iris.readings["front"], 2.0
    sim.step(100)
    iris.place((3.0, 0.0, 9.0))
    sim.step(20)
    late = iris.readings["front"]
    np.testing.assert_allclose(late.depth[0], late.position[0, 2], rtol=1e-6)
    np.testing.assert_allclose(early.depth[0], height, rtol=1e-6)
    np.testing.assert_allclose(late.depth[0, 0, 0], late.position[0, 2], rtol=1e-6)
    assert late.position[0, 2] > 8.0


def test_vehicles_come_and_go():
    """An earlier reading would miss a vehicle removed since, or show one added later."""
    camera = Camera(rate_hz=250.0, outputs=("instance", "semantic"), **SMALL)
    other = Multirotor("iris", name="other", position=(3.0, 0.0, 2.1))
    sim, iris, _ = flying(camera)
    sim.step()
    alone = iris.readings["front"]
    sim.add(other)
    sim.step()
    both = iris.readings["front"]
    sim.remove(other)
    sim.step()
    after = iris.readings["front"]
    names = [[r.instances[i] for i in np.unique(r.instance[0])] for r in (both, alone, after)]
    assert names[0] == ["/World/ground", "/World/wall", "/World/other"]
    assert names[1] == names[2] == ["/World/ground", "/World/wall"]
    classes = [both.classes[i] for i in np.unique(both.semantic[0])]
    assert classes == ["ground", "multirotor", "wall"]


def test_axes():
    """A camera would have a wrong direction, or its image be rotated or mirrored."""
    rng = np.random.default_rng(4)
    point = np.array([3.0, 1.0, 2.5])
    for angles, look, right in [
        ((0.0, 0.0, 0.0), (1, 0, 0), (0, -1, 0)),
        ((0.0, 0.0, math.pi / 2), (0, 1, 0), (1, 0, 0)),
        ((0.0, math.pi / 2, 0.0), (0, 0, -1), (0, -1, 0)),
        ((math.pi / 2, 0.0, 0.0), (1, 0, 0), (0, 0, -1)),
    ]:
        sim, iris, _ = flying(Camera(orientation=angles, position=(0.1, 0.02, 0.03), **SMALL))
        sim.step()
        view = iris.readings["front"].view()
        np.testing.assert_allclose(view.rotation[:, 2], look, atol=1e-12)
        np.testing.assert_allclose(view.rotation[:, 0], right, atol=1e-12)
        np.testing.assert_allclose(view.position, (0.1, 0.02, 2.03), atol=1e-12)
    # Also on a vehicle of any attitude: the pixel of a known point, calculated by hand.
    heading, resolution = float(rng.uniform(-3, 3)), (640, 480)
    sim, iris, _ = flying(
        Camera(
            lens=Pinhole(focal_length=(400.0, 410.0), center=(310.0, 250.0)),
            resolution=resolution,
            position=(0.2, 0.0, 0.0),
        ),
        heading=heading,
    )
    sim.step()
    reading = iris.readings["front"]
    forward = np.array([math.cos(heading), math.sin(heading), 0.0])
    left = np.array([-math.sin(heading), math.cos(heading), 0.0])
    point = np.array([0.0, 0.0, 2.0]) + 0.2 * forward + 4.0 * forward - 1.0 * left + 0.5 * np.array([0, 0, 1])
    view = reading.view()
    seen = view.lens.project(view.rotation.T @ (point - view.position), resolution)
    np.testing.assert_allclose(seen, (310 + 400 * 1.0 / 4.0, 250 - 410 * 0.5 / 4.0), atol=1e-9)
    # The matrix and pose of the reading agree with it.
    from pegasus.base.frames import matrix_from_quaternion

    optical = matrix_from_quaternion(reading.orientation[0]).T @ (point - reading.position[0])
    pixel = reading.intrinsic_matrix @ optical
    np.testing.assert_allclose(pixel[:2] / pixel[2], seen, atol=1e-9)


def test_copies_have_their_own_pictures():
    """Copies would share an image, or one access render all of them."""
    camera = Camera(outputs=("depth",), orientation=(0.0, math.pi / 2, 0.0), **SMALL)
    heights = np.array([1.0, 2.0, 4.0])
    position = np.stack([np.arange(3) * 3.0, np.zeros(3), heights], axis=1)
    sim, iris, renderer = flying(camera, planes=(GROUND,), count=3, position=position)
    sim.step()
    reading = iris.readings["front"]
    one = reading.image("depth", 1)
    assert renderer.render_count == 1
    assert reading.depth.shape == (3, 24, 32)
    assert renderer.render_count == 3
    np.testing.assert_allclose(reading.depth[:, 12, 16], reading.position[:, 2], rtol=1e-6)
    assert np.array_equal(one, reading.depth[1])


def test_outputs_of_a_wall():
    """Depth would be along the ray, or points, normals or the sky's depth be wrong."""
    names = ("depth", "distance_to_camera", "normals", "point_cloud")
    sim, iris, renderer = flying(
        Camera(outputs=names, position=(0.0, 0.0, 0.0), hide_vehicle=True, **SMALL), planes=(WALL,)
    )
    sim.step()
    reading = iris.readings["front"]
    np.testing.assert_allclose(reading.depth, 5.0, rtol=1e-6)
    assert renderer.render_count == 1
    assert renderer.channels == {"distance", "normal"}
    # A pixel's ray, calculated by hand.
    focal = 16 / math.tan(0.6)
    ray = np.array([(31.5 - 16) / focal, (0.5 - 12) / focal, 1.0])
    np.testing.assert_allclose(reading.distance[0, 0, 31], 5.0 * np.linalg.norm(ray), rtol=1e-6)
    np.testing.assert_allclose(reading.point_cloud[0, 0, 31], 5.0 * ray, rtol=1e-6)
    np.testing.assert_allclose(reading.normals[0, 0, 31], (-1, 0, 0), atol=1e-6)
    # Facing away, the camera sees nothing.
    iris.place((0.0, 0.0, 2.0), heading=math.pi)
    sim.step(10)
    behind = iris.readings["front"]
    assert np.isposinf(behind.depth).all()
    assert np.isnan(behind.point_cloud).all()


def test_hidden_vehicle():
    """A camera would see its own airframe, or hide it from other cameras."""
    seen = {}
    for hide in (False, True):
        camera = Camera(outputs=("instance",), hide_vehicle=hide, position=(-0.5, 0.0, 0.0), **SMALL)
        other = Multirotor("iris", name="other", position=(3.0, 0.0, 2.5))
        sim, iris, _ = flying(camera, vehicles=(other,))
        sim.step()
        reading = iris.readings["front"]
        seen[hide] = {reading.instances[i] for i in np.unique(reading.instance[0])}
    assert seen[False] - seen[True] == {"/World/iris"}
    assert "/World/other" in seen[True]


def test_motion_vectors_are_those_of_projection():
    """Flow would have the wrong sign, or omit the camera's or the object's motion."""
    camera = Camera(
        rate_hz=25.0,
        outputs=("motion_vectors", "instance", "point_cloud"),
        resolution=(64, 48),
        horizontal_fov=1.2,
        position=(0.3, 0.0, 0.0),
    )
    other = Multirotor("iris", name="other", position=(2.5, 0.0, 2.0))
    sim, iris, _ = flying(camera, vehicles=(other,))
    sim.step()
    iris.place((0.0, 0.0, 2.0), velocity=(0.5, 0.2, 0.0), angular_velocity=(0.0, 0.1, 0.3))
    other.place((2.5, 0.0, 2.0), velocity=(0.0, 3.0, 0.0))
    sim.step(9)
    before = iris.readings["front"], other.state.position[0].copy()
    start = other.state.position[0].copy()
    sim.step(1)
    first = iris.readings["front"]
    poses = [first.capture.snapshot]
    sim.step(10)
    second = iris.readings["front"]
    poses.append(second.capture.snapshot)
    del before, start
    assert (first.stamp, second.stamp) == (0.04, 0.08)
    flow, thing = second.motion_vectors[0], second.instance[0]
    lens, resolution = camera.lens, (64, 48)
    checked = set()
    for path in ("/World/other", "/World/ground", "/World/wall"):
        number = next(i for i, name in second.instances.items() if name == path)
        rows, columns = np.nonzero(thing == number)
        row, column = rows[len(rows) // 2], columns[len(columns) // 2]
        view, old = second.view(), first.view()
        point = view.rotation @ second.point_cloud[0, row, column] + view.position
        if path == "/World/other":
            now, then = (snapshot.entity_poses[path] for snapshot in poses[::-1])
            point = (then @ np.linalg.inv(now) @ [*point, 1.0])[:3]
        expected = lens.project(old.rotation.T @ (point - old.position), resolution) - [
            column + 0.5,
            row + 0.5,
        ]
        np.testing.assert_allclose(flow[row, column], expected, atol=2e-4)
        checked.add(path)
        assert np.abs(expected).max() > 0.2
    assert len(checked) == 3


def test_rotors_are_seen_to_turn():
    """Blades would have the motion of the body without their rotation."""
    sim, iris, _ = flying(Camera(outputs=("motion_vectors",), rate_hz=50.0, **SMALL))
    sim.step(6)
    reading = iris.readings["front"]
    assert reading.motion_vectors.shape[0] == 1
    shot = reading.capture
    (seen,) = [item for item in shot.labelled_entities() if item.path == "/World/iris"]
    now, before = shot.snapshot.object_poses, shot.previous.object_poses
    assert len(seen.parts) == 4
    for index, part in enumerate(seen.parts):
        path = f"/World/iris/rotor{index}"
        np.testing.assert_array_equal(part.pose, now[path])
        np.testing.assert_array_equal(part.previous_pose, before[path])
        (item,) = [thing for thing in shot.snapshot.objects if thing.path == path]
        for instance in item.scene.instances:
            vertices = item.scene.geometries[instance.geometry].vertices
            placed = vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]
            assert (placed >= part.extent[0]).all()
            assert (placed <= part.extent[1]).all()
        # Flat: nothing of the body but the hub lies within the box of a blade.
        assert np.ptp(part.extent[:, 2]) < 0.05


def edge(points):
    """Return light on the left of y = 0 only."""
    return np.where(points[..., 1:2] > 0, 1.0, 0.0) * np.ones(3)


def moving_past_an_edge(**parameters):
    """A camera that flies left past an edge on a wall, with the edge in the middle at its first stamp."""
    planes = (Plane((1.0, 0.0, 0.0), 4.0, "/World/wall", "wall", edge),)
    camera = Camera(
        resolution=(64, 48),
        horizontal_fov=1.2,
        position=(0.0, 0.0, 0.0),
        hide_vehicle=True,
        rate_hz=20.0,
        imaging=Imaging(exposure=1.0, gamma=1.0),
        **parameters,
    )
    sim, iris, renderer = flying(camera, planes=planes)
    sim.play()
    iris.place((0.0, 0.0, 2.0), velocity=(0.0, 4.0, 0.0))
    sim.step()
    return iris.readings["front"], renderer


def test_rolling_shutter_slants_an_edge():
    """Rows would not be captured in order from the top, or a wrong row at the stamp."""
    row_time = 0.001
    reading, renderer = moving_past_an_edge(row_time=row_time, row_band_count=48)
    picture = reading.rgb[0, :, :, 0]
    assert renderer.render_count == 48
    focal = 32 / math.tan(0.6)
    # At time t the camera is at y = 4 t, and sees y = 0 to the right of the middle by f 4 t / 4.
    t = (np.arange(48) + 0.5 - 24) * row_time
    edge_column = 32 + focal * 4.0 * t / 4.0
    lit = picture > 128
    assert np.array_equal(lit, np.arange(64) + 0.5 < edge_column[:, None])
    assert lit[0].sum() < lit[-1].sum()


def test_bands_of_rows():
    """Coarse bands would not have the time of their middle row, or not fit together."""
    reading, renderer = moving_past_an_edge(row_time=0.001, row_band_count=5)
    lit = (reading.rgb[0, :, :, 0] > 128).sum(axis=1)
    assert renderer.render_count == 5
    edges = np.linspace(0, 48, 6).round().astype(int)
    middles = (edges[1:] + edges[:-1]) / 2
    columns = 32 + 32 / math.tan(0.6) * (middles - 24) * 0.001
    expected = np.ceil(columns - 0.5)
    assert np.array_equal(lit, np.repeat(expected, np.diff(edges)))


def test_motion_blur_smears_an_edge():
    """The image would not be averaged over the exposure time, or the labels be averaged."""
    reading, renderer = moving_past_an_edge(
        exposure_time=0.04, blur_frame_count=20, outputs=("rgb", "semantic")
    )
    row = reading.rgb[0, 24, :, 0].astype(float) / 255
    assert renderer.render_count == 21
    focal = 32 / math.tan(0.6)
    # The edge runs from 32 - f 0.02 to 32 + f 0.02; a pixel is lit while it is to the left of it.
    column = np.arange(64) + 0.5 - 32
    expected = np.clip(0.5 - column / (focal * 0.04), 0.0, 1.0)
    np.testing.assert_allclose(row, expected, atol=0.5 / 20 + 1 / 255)
    assert 0.2 < row[32] < 0.8
    assert len(np.unique(reading.semantic)) == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_noise_depends_on_the_seed_alone(order):
    """Noise would depend on accesses, or be equal in every image or copy."""
    imaging = Imaging(exposure=1.0, full_well=2000.0, read_noise=0.01)
    camera = Camera(rate_hz=250.0, imaging=imaging, **SMALL)
    sim, iris, _ = flying(camera, planes=(WALL,), count=2, position=[(0, 0, 2.0), (0, 3.0, 2.0)])
    readings = []
    for _ in range(3):
        sim.step()
        readings.append(iris.readings["front"])
    pictures = {k: readings[k].rgb for k in order}
    reference, ref_iris, _ = flying(
        Camera(rate_hz=250.0, imaging=imaging, **SMALL),
        planes=(WALL,),
        count=2,
        position=[(0, 0, 2.0), (0, 3.0, 2.0)],
    )
    for k in range(3):
        reference.step()
        if k == 1:
            assert np.array_equal(ref_iris.readings["front"].image("rgb", 1), pictures[1][1])
    assert np.array_equal(ref_iris.readings["front"].rgb, pictures[2])
    assert not np.array_equal(pictures[0][0], pictures[1][0])
    assert not np.array_equal(pictures[0][0], pictures[0][1])


def test_looking_changes_nothing():
    """The flight or later images would depend on accesses to earlier images."""
    states, last = [], []
    for look in (False, True):
        sim, iris, _ = flying(Camera(rate_hz=50.0, imaging=Imaging(full_well=1000.0), **SMALL))
        for _ in range(40):
            sim.step()
            if look and iris.new_readings:
                _ = iris.readings["front"].rgb
        states.append(iris.state.position.copy())
        last.append(iris.readings["front"].rgb)
    assert np.array_equal(*states)
    assert np.array_equal(*last)


def test_lens_inside_something_is_said_once(caplog):
    """A camera in a wall or its own airframe would give black images without a warning."""
    for position, inside in (((0.05, 0.0, 0.02), "/iris/body/shell"), ((0.3, 0.0, 0.1), None)):
        caplog.clear()
        sim, iris, _ = flying(Camera(position=position, **SMALL))
        sim.step()
        for _ in range(2):
            _ = iris.readings["front"].image("rgb")
            sim.step(10)
        lines = [record.getMessage() for record in caplog.records if "lens is inside" in record.getMessage()]
        assert len(lines) == (inside is not None)
        assert all(inside in line and "\n" not in line for line in lines)
    sim, iris, _ = flying(Camera(hide_vehicle=True, position=(0.0, 0.0, 0.0), **SMALL))
    caplog.clear()
    sim.step()
    _ = iris.readings["front"].rgb
    assert "lens is inside" not in caplog.text


def test_default_place_is_before_the_nose():
    """The default position would be inside the vehicle."""
    for model in ("iris", "crazyflie", "typhoon_h", "pegasus"):
        sim = Simulation("flat", renderer=AnalyticRenderer())
        vehicle = sim.add(Multirotor(model, position=(0, 0, 3.0), sensors={"front": Camera(**SMALL)}))
        sim.step()
        x, y, _ = vehicle.readings["front"].position[0]
        boxes = [
            vehicle.asset.scene.geometries[i.geometry].vertices @ i.transform[:3, :3].T + i.transform[:3, 3]
            for i in vehicle.asset.scene.instances
            if "rotor" not in i.path
        ]
        middle = [box[:, 0].max() for box in boxes if box[:, 1].min() <= 0 <= box[:, 1].max()]
        assert x == pytest.approx(max(middle) + 0.01, abs=1e-6)
        assert y == 0.0


def test_from_yaml():
    """A vehicle's file could not define a camera's lens and imaging."""
    spec = {
        "model": "camera",
        "resolution": [320, 240],
        "lens": {"model": "kannala_brandt", "horizontal_fov": 3.3, "k1": -0.01},
        "outputs": ["rgb", "depth", "semantic", "depth"],
        "imaging": {"exposure": 2.0, "full_well": 1e4},
    }
    camera = build(Sensor, SENSORS, spec, field="sensors.front")
    assert camera.outputs == ("rgb", "distance_to_image_plane", "semantic_segmentation")
    assert camera.lens.horizontal_fov == 3.3
    assert camera.imaging == Imaging(exposure=2.0, full_well=1e4)


@pytest.mark.parametrize(("given", "expected"), [(None, 16), (2, 2)])
def test_rays_per_pixel(given, expected):
    """A path tracer would get one ray for each pixel, and draw noise."""
    asked = []

    class Tracer(AnalyticRenderer):
        usual_samples = 16

        def render(self, view, channels, *, samples=1):
            asked.append(samples)
            return super().render(view, channels, samples=samples)

    with Simulation("flat", renderer=Tracer(planes=(GROUND,))) as sim:
        iris = sim.add(Multirotor("iris", sensors={"front": Camera(resolution=(8, 6), samples=given)}))
        sim.step()
        assert iris.readings["front"].rgb.shape == (1, 6, 8, 3)
    assert asked == [expected]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"horizontal_fov": 0.0}, "sensors.front.horizontal_fov = 0.0: must be above 0"),
        ({"horizontal_fov": 70.0}, "give it in radians"),
        ({"resolution": [0, 480]}, "sensors.front.resolution"),
        ({"outputs": ["depths"]}, "sensors.front.outputs = 'depths': must be among rgb"),
        ({"outputs": []}, "must name at least one"),
        ({"lens": {"model": "pinhole"}}, "sensors.front.lens.horizontal_fov: must be given"),
        (
            {"lens": {"model": "pinhole", "horizontal_fov": 1.0}, "horizontal_fov": 1.0},
            "together with a lens",
        ),
        ({"lens": {"model": "telescope"}}, "sensors.front.lens.model = 'telescope'"),
        ({"lens": 3}, "must be a mapping"),
        ({"near": 1.0, "far": 0.5}, "must be above near of 1 m"),
        ({"samples": 0}, "must be a whole number from 1 up"),
        ({"exposure_time": 0.2}, "time between two images"),
        ({"row_time": 1e-3}, "divided by the rows"),
        ({"imaging": {"gamma": -1.0}}, "sensors.front.imaging.gamma = -1.0: must be above 0"),
    ],
)
def test_bad_parameters(parameters, message):
    """A mistake in a vehicle's file would give a black image or a traceback."""
    with pytest.raises(ConfigError) as error:
        build(Sensor, SENSORS, {"model": "camera", **parameters}, field="sensors.front")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"resolution": 640}, "resolution = 640: must be width and height in whole pixels"),
        ({"resolution": (640.0, 480.0)}, "resolution = (640.0, 480.0): must be"),
        ({"position": (1.0, 2.0)}, "position = (1.0, 2.0): must hold three finite numbers"),
        ({"orientation": (0.0, math.nan, 0.0)}, "orientation = "),
        ({"outputs": "rgb"}, "outputs = 'rgb': must be a list of names"),
        ({"imaging": {"gamma": 2.2}}, "imaging = {'gamma': 2.2}: must be of pegasus.cameras.Imaging"),
        ({"depth_noise": 0.1}, "depth_noise = 0.1: must be of pegasus.cameras.DepthNoise"),
    ],
)
def test_bad_parameters_in_a_script(parameters, message):
    """A wrong parameter would only fail at the first image, with an unrelated error."""
    with pytest.raises(ConfigError) as error:
        Camera(**parameters)
    assert str(error.value).startswith(message)


def test_arrays_and_lists_are_taken_in_a_script():
    """NumPy values or lists would be rejected, or fail at the first image."""
    size = np.array([32, 24])
    camera = Camera(resolution=[*size], horizontal_fov=1.2, position=np.array([0.3, 0.0, 0.0]))
    assert camera.resolution == (32, 24)
    assert all(type(length) is int for length in camera.resolution)
    sim, iris, _ = flying(camera)
    sim.step()
    assert iris.readings["front"].rgb.shape == (1, 24, 32, 3)


def test_an_output_that_was_not_asked_for():
    """A misspelt output would render another channel than the declared ones."""
    sim, iris, _ = flying(Camera(**SMALL))
    sim.step()
    with pytest.raises(ConfigError, match="one of the camera's outputs: rgb; add it"):
        _ = iris.readings["front"].depth
