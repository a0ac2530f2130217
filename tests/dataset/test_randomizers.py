"""Tests of randomisers: each changes its parameter within its limits, and nothing else."""

import math
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.cameras import Imaging, KannalaBrandt, Pinhole
from pegasus.cameras.capture import Optics
from pegasus.config.scenario import ScenarioSpec, WorldSpec, parse
from pegasus.contracts.renderer import View
from pegasus.control.trajectories import minimum_snap
from pegasus.dataset.randomizers import (
    RANDOMIZERS,
    CameraJitter,
    Clearance,
    Distractors,
    Flights,
    Fog,
    Materials,
    Randomizer,
    Sky,
    Sun,
    WorldSeed,
)
from pegasus.dataset.randomizers.clearance import distance_to_triangles
from pegasus.dataset.randomizers.flights import along
from pegasus.dataset.randomizers.fog import extinction, path_in_layer, rain_extinction, through_air
from pegasus.dataset.randomizers.sun import (
    air_mass,
    clear_sky_irradiance,
    refraction,
    sun_direction,
    sun_position,
    toward,
    transmittance,
)
from pegasus.optics.lens import pixel_grid
from pegasus.scene.scene import Geometry, Instance, Light, Material, Scene, Texture

WORLD = WorldSpec(name="here", generator={"model": "flat"})
BOX = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32)
SIDES = np.array(
    [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ],
    np.uint32,
)  # fmt: skip


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def box_scene(**changes) -> Scene:
    """A box of 2 m at the origin under a sun 45 degrees high in the east, and a sky."""
    sun = np.eye(4)
    sun[:3, 2] = math.sqrt(0.5), 0.0, math.sqrt(0.5)
    parts = {
        "geometries": {"box": Geometry(BOX, SIDES, np.zeros_like(BOX))},
        "materials": {"m": Material("/m", diffuse_color=(0.5, 0.4, 0.3), roughness=0.5)},
        "instances": [Instance("/World/box", "box", "m", np.eye(4), {"class": "box"}, "/World/box")],
        "lights": [
            Light("/sun", "DistantLight", sun, (3000.0, 2900.0, 2600.0), {"angle": 0.53}),
            Light("/sky", "DomeLight", np.eye(4), (500.0, 700.0, 1000.0), {}),
        ],
    }
    return Scene("box", **(parts | changes))


def test_sun_is_where_nrel_puts_it():
    """The sun's position would be wrong: NREL's SPA, Reda and Andreas 2008, table A5.1."""
    moment = datetime(2003, 10, 17, 12, 30, 30, tzinfo=timezone(timedelta(hours=-7)))
    azimuth, elevation = sun_position(moment, math.radians(39.742476), math.radians(-105.1786))
    assert math.degrees(azimuth) == pytest.approx(194.34024, abs=0.01)
    assert 90 - math.degrees(elevation) == pytest.approx(50.11162, abs=0.01)


def test_sun_is_where_meeus_puts_it():
    """The series would have a wrong term: Meeus 1998, example 25.a, 1992 October 13 at 0 h TD."""
    right_ascension, declination = sun_direction(2448908.5 - 2451545.0)
    assert math.degrees(right_ascension) == pytest.approx(198.38083, abs=1e-4)
    assert math.degrees(declination) == pytest.approx(-7.78507, abs=1e-4)


def test_sun_stands_in_the_north_of_the_south():
    """In the southern hemisphere, east and west or north and south would be exchanged."""
    noon, equator = datetime(2026, 6, 21, 12, tzinfo=UTC), 0.0
    azimuth, elevation = sun_position(noon, math.radians(-35.0), equator)
    assert math.cos(azimuth) > 0.99
    assert math.degrees(elevation) == pytest.approx(90 - 35.0 - 23.44, abs=0.1)
    morning, _ = sun_position(noon - timedelta(hours=5), math.radians(-35.0), equator)
    assert math.sin(morning) > 0.5
    np.testing.assert_allclose(toward(math.pi / 2, 0.0), [1, 0, 0], atol=1e-15)


def test_air_bends_and_weakens_light_as_published():
    """Low suns would be too high or too white: Meeus 1998 ch. 16; Kasten and Young 1989, table 2."""
    assert math.degrees(refraction(0.0)) * 60 == pytest.approx(29.0, abs=0.2)
    assert air_mass(0.0) == pytest.approx(37.92, abs=0.01)
    assert air_mass(math.radians(30.0)) == pytest.approx(1.9939, abs=0.001)
    red, green, blue = transmittance(math.radians(5.0), 3.0)
    assert red > green > blue
    assert (transmittance(1.0, 8.0) < transmittance(1.0, 2.5)).all()
    assert clear_sky_irradiance(math.pi / 2) == pytest.approx(1098 * math.exp(-0.057))
    assert clear_sky_irradiance(-0.1) == 0.0


def test_sun_randomizer_turns_the_light_and_keeps_its_limits():
    """Scenes would be lit from below the horizon, or by a sun of noon at dusk."""
    heights, greys = [], []
    for seed in range(40):
        sun, sky = Sun(least_elevation=0.2).scene(box_scene(), WORLD, rng(seed)).lights
        axis = sun.transform[:3, :3]
        np.testing.assert_allclose(axis @ axis.T, np.eye(3), atol=1e-12)
        heights.append(math.asin(axis[2, 2]))
        greys.append(sun.color[0])
        factor = clear_sky_irradiance(heights[-1]) / clear_sky_irradiance(math.pi / 4)
        np.testing.assert_allclose(np.array(sky.color), factor * np.array((500.0, 700.0, 1000.0)))
    assert min(heights) >= 0.2
    assert np.corrcoef(heights, greys)[0, 1] > 0.8
    with pytest.raises(ConfigError, match="does not rise that high"):
        Sun(dates=("2026-12-20", "2026-12-22"), least_elevation=1.2).scene(box_scene(), WORLD, rng())


def test_sky_scales_lights_and_covers_with_clouds():
    """An overcast scene would have a sun, or a clear one the wrong strength."""
    scene = box_scene()
    sun, sky = Sky(sun_strength=(2, 2), sky_strength=(0.5, 0.5)).scene(scene, WORLD, rng()).lights
    assert sun.color == (6000.0, 5800.0, 5200.0)
    assert sky.color == (250.0, 350.0, 500.0)
    (cloud,) = Sky(overcast=1.0, sky_strength=(1, 1)).scene(scene, WORLD, rng()).lights
    assert cloud.color[0] == cloud.color[2] == pytest.approx(3 * (0.2126 * 500 + 0.7152 * 700 + 72.2))
    assert scene.lights[0].color == (3000.0, 2900.0, 2600.0)


def test_fog_obeys_koschmieder():
    """Contrast at the visibility distance would not be 0.05."""
    far = np.array([0.0, 100.0, np.inf])
    light = through_air(np.zeros((3, 3)), far, extinction(100.0), np.ones(3))
    np.testing.assert_allclose(light[:, 0], [0.0, 0.95, 1.0])
    # 1.076 * 10^0.67 = 5.0328 dB/km: half the light after 10 log10(2) / 5.0328 km.
    half = 10 * math.log10(2) / (1.076 * 10**0.67) * 1000
    assert math.exp(-rain_extinction(10.0) * half) == pytest.approx(0.5)
    assert rain_extinction(0.0) == 0.0


def test_fog_ends_at_its_upper_edge():
    """Sky straight above a thin fog would be as grey as the horizon."""
    upward = np.array([1.0, 0.5, 0.0, -0.5])
    np.testing.assert_allclose(path_in_layer(np.full(4, np.inf), upward, 2.0, 12.0), [10, 20, np.inf, np.inf])
    np.testing.assert_allclose(path_in_layer(np.full(4, 60.0), upward, 22.0, 12.0), [0, 0, 0, 40])


def test_fog_fades_to_the_horizon_and_is_the_same_all_scene_long():
    """Fog would be black, or change between frames of a scene."""
    lens, size = Pinhole(horizontal_fov=1.0), (4, 3)
    view = View(lens, size, np.array([0.0, 0.0, 2.0]), np.eye(3)[:, [0, 2, 1]] * [1, -1, 1])
    directions = np.broadcast_to([0.0, 0.0, 1.0], (3, 4, 3))
    fog = Fog(visibility=(10.0, 1000.0))
    lights = [Light("/sky", "DomeLight", np.eye(4), (5.0, 7.0, 9.0), {})]
    black, far = np.zeros((3, 4, 3), np.float32), np.full((3, 4), np.inf, np.float32)
    np.testing.assert_allclose(fog.air(black, far, directions, view, lights, rng())[0, 0], (5, 7, 9))
    near = np.full((3, 4), 20.0, np.float32)
    once, again = (fog.air(black, near, directions, view, lights, rng(3)) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    assert 0 < once[0, 0, 0] < 5
    assert (fog.air(black, near, directions, view, lights, rng(4)) != once).all()
    np.testing.assert_array_equal(Fog(probability=0).air(black, near, directions, view, lights, rng()), black)


def test_fog_stays_within_the_image_circle():
    """The black border of a fisheye image would be fogged and change the exposure."""
    lens, size = KannalaBrandt(horizontal_fov=2 * math.pi), (16, 16)
    directions = lens.directions(pixel_grid(size), size)
    outside = np.isnan(directions).any(axis=-1)
    assert 0 < outside.sum() < outside.size / 2
    view = View(lens, size, np.array([0.0, 0.0, 2.0]), np.eye(3))
    lights = [Light("/sky", "DomeLight", np.eye(4), (5.0, 7.0, 9.0), {})]
    black, far = np.zeros((16, 16, 3), np.float32), np.full((16, 16), np.inf, np.float32)
    light = Fog().air(black, far, directions, view, lights, rng())
    assert light.dtype == np.float32
    assert (light[outside] == 0).all()
    assert light[8, 8, 2] > 1.0


def test_materials_change_within_their_limits(tmp_path):
    """Colours would leave 0 to 1, textures lose their image, or other classes change too."""
    texture = Texture(tmp_path / "a.png")
    other = Material("/o", diffuse_color=texture, roughness=texture)
    scene = box_scene()
    scene.materials["o"] = other
    scene.instances.append(Instance("/World/x", "box", "o", np.eye(4), {"class": "x"}, "/World/x"))
    for seed in range(20):
        made = Materials(tint=0.5, roughness=(0.5, 3.0)).scene(scene, WORLD, rng(seed)).materials
        ratio = np.array(made["m"].diffuse_color) / (0.5, 0.4, 0.3)
        assert (np.abs(ratio - 1) <= 0.5).all()
        assert 0.25 <= made["m"].roughness <= 1.0
        assert made["o"].diffuse_color.path == texture.path
        assert all(0.5 <= factor <= 1.5 for factor in made["o"].diffuse_color.scale[:3])
        assert made["o"].diffuse_color.scale[3] == 1.0
    only = Materials(labels=("box",)).scene(scene, WORLD, rng()).materials
    assert only["o"] == other
    assert only["m"] != scene.materials["m"]
    assert scene.materials["m"].diffuse_color == (0.5, 0.4, 0.3)


def test_distance_to_triangles_is_that_of_the_nearest_point():
    """Distances to triangles would be wrong, against a fine sampling, and placed objects overlap."""
    random = rng(1)
    triangles = random.normal(size=(50, 3, 3))
    point = random.normal(size=3)
    u, v = np.meshgrid(np.linspace(0, 1, 161), np.linspace(0, 1, 161))
    u, v = u[u + v <= 1 + 1e-12], v[u + v <= 1 + 1e-12]
    weights = np.stack([1 - u - v, u, v], axis=-1)
    sampled = np.sqrt((((weights @ triangles) - point) ** 2).sum(axis=-1)).min(axis=1)
    exact = distance_to_triangles(point, triangles)
    assert (exact <= sampled + 1e-12).all()
    np.testing.assert_allclose(exact, sampled, atol=0.02)


def test_clearance_knows_near_far_and_inside():
    """A vehicle would be placed in a wall, or in a closed house."""
    clearance = Clearance(box_scene())
    assert clearance.free(np.array([2.0, 0.0, 0.0]), 0.99)
    assert not clearance.free(np.array([2.0, 0.0, 0.0]), 1.01)
    assert clearance.free(np.array([2.0, 2.0, 0.0]), 1.41)
    assert not clearance.free(np.array([2.0, 2.0, 0.0]), 1.42)
    assert not clearance.free(np.array([0.1, 0.2, 0.0]), 0.1)


def test_distractors_touch_nothing_and_carry_their_label():
    """Distractors would intersect the world or each other, or have a wrong label."""
    scene = box_scene()
    maker = Distractors(
        models=("iris",), count=(4, 4), extent=(2.5, 2.5), height=(-2, 2), label="toy", scale=(0.5, 2.0)
    )
    made = maker.scene(scene, WORLD, rng(2))
    entities = [f"/World/distractor{k}" for k in range(4)]
    assert list(made.entities) == entities
    assert all(made.entities[path].labels == {"class": "toy"} for path in entities)
    corners = {path: [] for path in entities}
    for item in made.instances[1:]:
        vertices = made.geometries[item.geometry].vertices
        corners[item.entity].append(vertices @ item.transform[:3, :3].T + item.transform[:3, 3])
    clouds = [np.concatenate(part) for part in corners.values()]
    for k, cloud in enumerate(clouds):
        outside = np.maximum(np.abs(cloud) - 1.0, 0.0)
        assert np.sqrt((outside**2).sum(axis=1)).min() > 0.1
        for other in clouds[:k]:
            apart = cloud[::7, None] - other[None, ::7]
            assert np.sqrt((apart**2).sum(axis=-1)).min() > 0.1
    # The colliders match the images: each object's vertices surround its colliders' centre.
    for k, path in enumerate(entities):
        places = np.array([item.position for item in made.colliders if item.path.startswith(path)])
        assert (places > clouds[k].min(axis=0) - 0.05).all()
        assert (places < clouds[k].max(axis=0) + 0.05).all()
    assert len(scene.instances) == 1
    with pytest.raises(ConfigError, match="no room"):
        Distractors(count=(9, 9), extent=(0.3, 0.3), height=(2.0, 2.1)).scene(scene, WORLD, rng())


def test_flights_stay_clear_of_the_world_and_of_one_another():
    """Vehicles of a dataset would collide."""
    spec = parse(
        {
            "name": "two",
            "vehicles": [
                {"model": "iris", "name": "a", "position": (0, 0, 0)},
                {"model": "iris", "name": "b"},
            ],
        },
        ScenarioSpec,
    )
    clearance = Clearance(box_scene())
    flights = Flights(extent=(4.0, 4.0), height=(0.0, 4.0), clearance=0.7, speed=(2.0, 2.0))
    a, b = flights.flights(spec, WORLD, clearance, rng(3)).vehicles
    for entry in a, b:
        (backend,) = entry.backends
        plan = backend["trajectory"][0]["minimum_snap"]
        assert entry.position == pytest.approx(plan["points"][0])
        assert plan["speed"] == 2.0
        for point in plan["points"]:
            outside = np.maximum(np.abs(point) - np.ones(3), 0.0)
            assert math.hypot(*outside) >= 0.7
    assert a.backends != b.backends
    with pytest.raises(ConfigError, match="no flight was found"):
        Flights(clearance=100.0).flights(spec, WORLD, clearance, rng())
    with pytest.raises(ConfigError, match="must be among a, b"):
        Flights(vehicles=("c",)).flights(spec, WORLD, clearance, rng())


def hall() -> tuple[Scene, WorldSpec]:
    """Five shelves of 40 m with aisles of 3 m between them, and a tour up and down all aisles."""
    shelves, tour = [], []
    for k in range(5):
        place = np.diag([20.0, 1.0, 4.0, 1.0])
        place[:3, 3] = 0.0, 5.0 * k, 4.0
        shelves.append(Instance(f"/World/{k}", "box", "m", place, {"class": "rack"}, f"/World/{k}"))
        ends = [(-22.0, 5.0 * k + 2.5, 3.0), (22.0, 5.0 * k + 2.5, 5.0)]
        tour += ends if k % 2 == 0 else ends[::-1]
    return box_scene(instances=shelves), WORLD.model_copy(update={"paths": {"tour": tour[:-2]}})


def test_flights_are_found_between_shelves():
    """A warehouse, whose tour has corners that curves cut, would have no flights."""
    scene, world = hall()
    clearance = Clearance(scene)
    spec = parse({"name": "one", "vehicles": [{"model": "iris"}]}, ScenarioSpec)
    for seed in range(3):
        (flown,) = Flights().flights(spec, world, clearance, rng(seed)).vehicles
        plan = flown.backends[0]["trajectory"][0]["minimum_snap"]
        curve = minimum_snap(**(plan | {"laps": 1.0}))
        places = np.array([curve.sample(float(t)).position for t in np.arange(0.0, curve.duration, 0.1)])
        # Across the shelves the aisles are 2.5 m from the middle of each of them; the ends are free.
        aside = np.abs(places[:, 1] % 5.0 - 2.5)
        assert (aside[np.abs(places[:, 0]) < 20.0] <= 0.5 + 0.05).all()
    with pytest.raises(ConfigError, match=r"clearance = 2\.0: no flight .*; 1 m would do"):
        Flights(clearance=2.0).flights(spec, world, clearance, rng())


def test_points_along_a_path_lie_on_it_in_order():
    """Sampled points would leave the path, or be out of order."""
    path = np.array([[0.0, 0, 1], [4, 0, 1], [4, 3, 1]])
    points = along(path, 50, rng())
    on_first, on_second = points[:, 1] == 0, np.isclose(points[:, 0], 4)
    assert (on_first | on_second).all()
    assert (np.diff(points[:, 0] + points[:, 1]) >= 0).all()


def optics(**changes) -> Optics:
    parts = {
        "name": "c",
        "lens": Pinhole(horizontal_fov=1.2),
        "resolution": (96, 64),
        "position": np.array([0.1, 0.0, 0.2]),
        "rotation": np.eye(3),
        "near": 0.01,
        "far": 1e4,
        "outputs": ("rgb",),
        "samples": 1,
        "imaging": Imaging(),
        "hide_vehicle": False,
        "exposure_time": 0.0,
        "blur_frame_count": 8,
        "row_time": 0.0,
        "row_band_count": 24,
    }
    return Optics(**(parts | changes))


def test_camera_jitter_stays_within_its_limits():
    """Jitter would take degrees for radians, or zoom the wrong way."""
    jitter = CameraJitter(position=0.02, orientation=0.05, focal_length=0.1, exposure=1.0)
    before, focal, turns, levels = optics(), [], [], []
    for seed in range(200):
        after = jitter.optics(before, rng(seed))
        assert (np.abs(after.position - before.position) <= 0.02).all()
        turns.append(math.acos((np.trace(after.rotation) - 1) / 2))
        focal.append(after.lens.matrix((96, 64))[0, 0] / before.lens.matrix((96, 64))[0, 0])
        levels.append(after.imaging.metered_level)
    assert 0.04 < max(turns) <= 0.05 * math.sqrt(3) + 1e-9
    assert 0.9 <= min(focal) < 0.92
    assert 1.08 < max(focal) <= 1.1
    # Uniform in stops, also above full brightness, which is 0.32 stops above a camera's level.
    stops = np.log2(np.array(levels) / 0.8)
    assert -1.0 <= stops.min() < -0.95
    assert 0.95 < stops.max() <= 1.0
    assert abs(stops.mean()) < 4 / math.sqrt(3 * 200)
    fixed = jitter.optics(optics(imaging=Imaging(exposure=2.0)), rng()).imaging.exposure
    assert 1.0 <= fixed <= 4.0
    assert fixed != 2.0
    same = CameraJitter().optics(before, rng())
    assert same.lens is before.lens
    np.testing.assert_allclose(same.rotation, before.rotation)


def test_world_seed_draws_from_its_worlds():
    """The number of different worlds would be wrong."""
    seeds = {WorldSeed(count=3, first=5).world(WORLD, rng(k)).generator["seed"] for k in range(40)}
    assert seeds == {5, 6, 7}
    with pytest.raises(ConfigError, match="needs a world that a generator makes"):
        WorldSeed().world(WorldSpec(name="own", usd="own.usd"), rng())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"model": "sun", "dates": ["tomorrow", "2026-01-01"]}, "write them as YYYY-MM-DD"),
        ({"model": "sun", "hours": [8, 30]}, "at most 24"),
        ({"model": "fog", "visibility": [0, 10]}, "visibility"),
        ({"model": "sky", "tint": 1.5}, "below 1"),
        ({"model": "distractors", "count": [3, 1]}, "count"),
        ({"model": "materials", "roughness": [2, 1]}, "roughness"),
        ({"model": "in_view", "vehicles": ["a"], "presence": 2}, "from 0 to 1"),
        ({"model": "poses"}, "required field is missing"),
        ({"model": "flights", "points": 1}, "3 or more"),
        ({"model": "camera_jitter", "focal_length": 1.0}, "below 1"),
        ({"model": "rain"}, "must be one of camera_jitter"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(spec, message):
    """A mistake in a scenario would only be visible in the images."""
    with pytest.raises(ConfigError, match=message) as caught:
        build(Randomizer, RANDOMIZERS, spec, field="dataset.randomizers.x")
    assert str(caught.value).startswith("dataset.randomizers.x.")
    assert "\n" not in str(caught.value)
