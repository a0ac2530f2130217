"""Tests of generated worlds: reproducible files, caching and errors."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import pegasus.worlds
from pegasus.base.errors import ConfigError
from pegasus.config.files import read_file
from pegasus.config.scenario import WorldSpec, parse
from pegasus.scene import generator
from pegasus.scene.authoring import block, group, sun_and_sky
from pegasus.scene.translation import translate
from pegasus.worlds import ROOT, Quantities, Site, SiteGenerator, made_world, make_world
from pegasus.worlds.site import SHAPES


@dataclass(frozen=True)
class Blocks(SiteGenerator):
    """A generator of scattered blocks."""

    name: ClassVar[str] = "blocks"

    count: int = 3
    """Number of blocks."""

    def quantities(self) -> Quantities:
        """Return the contents' estimated quantities."""
        return Quantities(12 * self.count, self.count)

    def build(self, site: Site) -> None:
        """Write the world."""
        sun_and_sky(site.stage, ROOT)
        group(site.stage, f"{ROOT}/Blocks", "block")
        for k, (x, y) in enumerate(site.stream("blocks").uniform(-5, 5, (self.count, 2))):
            block(site.stage, f"{ROOT}/Blocks/B{k}", (x, y, 0.5), (1, 1, 1), site.finish("brick"))
        site.spawn(20.0, 0.0)
        site.paths["tour"] = [(20.0, 0.0, 2.0), (30.0, 0.0, 2.0)]


def world(**generator: object) -> WorldSpec:
    return parse({"name": "mine", "generator": {"model": f"{__name__}:Blocks", **generator}}, WorldSpec)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_parameters_make_the_same_bytes(tmp_path: Path) -> None:
    """A world could not be made again, or a seed would change nothing."""
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        make_world(Blocks(seed=seed), tmp_path / name)
    a, b, c = (files(tmp_path / name) for name in "abc")
    assert sorted(a) == [
        "blocks.usdc",
        "blocks.yaml",
        *(f"textures/brick_{kind}.png" for kind in ("color", "normal", "roughness")),
    ]
    assert a == b
    assert a["blocks.usdc"] != c["blocks.usdc"]


def test_the_yaml_file_opens_as_a_world(tmp_path: Path) -> None:
    """The output of `make world` could not be flown in without editing."""
    file = make_world(Blocks(), tmp_path, name="yard")
    spec = read_file(file, WorldSpec)
    assert (spec.name, spec.usd, spec.description) == (
        "yard",
        Path("yard.usdc"),
        "A generator of scattered blocks.",
    )
    assert spec.spawn_points is not None
    assert spec.spawn_points[0].position == (20.0, 0.0, 0.1)
    assert spec.paths == {"tour": [(20.0, 0.0, 2.0), (30.0, 0.0, 2.0)]}
    scene = translate(tmp_path / "yard.usdc")
    assert scene.warnings == []
    assert len(scene.colliders) == 3


def test_a_world_is_made_once_and_again_for_other_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A world would be made at every start, or that of other parameters opened."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path))
    first = made_world(world()).usd
    assert first is not None
    stamp = first.stat().st_mtime_ns
    assert made_world(world()).usd == first
    assert first.stat().st_mtime_ns == stamp
    other = made_world(world(count=4)).usd
    assert other is not None
    assert other != first
    assert len(translate(other).colliders) == 4
    assert sorted(path.name for path in (tmp_path / "worlds").iterdir()) == sorted(
        [first.parent.name, other.parent.name]
    )


def test_a_world_that_another_process_has_made_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that share a cache and open a new world at the same time would fail."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path))
    real, made = generator.make_world, []

    def make(blocks: Blocks, folder: Path) -> Path:
        monkeypatch.setattr(generator, "make_world", real)
        made.append(made_world(world()).usd)
        return real(blocks, folder)

    monkeypatch.setattr(generator, "make_world", make)
    assert made_world(world()).usd == made[0]
    assert [path.name for path in (tmp_path / "worlds").iterdir()] == [made[0].parent.name]


def test_a_world_is_made_again_when_what_shapes_it_changes() -> None:
    """After an update, the outdated world would be used from the cache."""
    folder = Path(pegasus.worlds.__file__).parent
    worlds = [file for file in folder.rglob("*.py") if not file.name.startswith("pegasus_drone")]
    code = [*worlds, *(folder.with_name("scene") / f"{k}.py" for k in SHAPES)]
    used = {name for file in code for name in re.findall(r"from pegasus\.scene\.(\w+)", file.read_text())}
    # The other modules only read the output, or name things.
    assert used - set(SHAPES) == {"generator", "scene", "stage", "world_scene"}


def test_the_worlds_own_spawn_points_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spawn points that a user writes beside a generator would be ignored."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path))
    spec = world()
    own = spec.model_copy(update={"spawn_points": [], "paths": {"short": [(0.0, 0.0, 1.0)]}})
    assert made_world(own).spawn_points == []
    assert set(made_world(own).paths) == {"short", "tour"}
    made = made_world(spec).spawn_points
    assert made is not None
    assert len(made) == 1


def test_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slip in a world file would end in a traceback, or fill the memory."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match=r"generator\.model = 'twon': must be one of .*courtyard"):
        made_world(parse({"name": "x", "generator": {"model": "twon"}}, WorldSpec))
    with pytest.raises(
        ConfigError, match=r"generator\.cuont: unknown field; did you mean count\? allowed here: count, seed"
    ):
        made_world(world(cuont=4))
    with pytest.raises(ConfigError, match=r"generator\.seed = -1: must be from 0"):
        made_world(world(seed=-1))
    with pytest.raises(ConfigError, match=r"count 1000000000.* GB of memory, but only .* are free; choose"):
        made_world(world(count=10**9))
    with pytest.raises(ConfigError, match="exactly one of usd and generator"):
        parse({"name": "x"}, WorldSpec)
    assert list((tmp_path / "worlds").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file.*cannot be written: Not a directory"):
        make_world(Blocks(), tmp_path / "file" / "below")
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match=r"cannot be written: .*; make the folder writable"):
        made_world(world())
