"""Custom world: brick poles in a row on grass. Run it with `python examples/own_world.py`."""

from dataclasses import dataclass
from typing import ClassVar

from pegasus import Multirotor, Simulation, start_host
from pegasus.config import WorldSpec
from pegasus.control import GeometricController, trajectories
from pegasus.worlds import GENERATORS, ROOT, Quantities, Site, SiteGenerator, block, group, sun_and_sky


@dataclass(frozen=True)
class Poles(SiteGenerator):
    """Brick poles in a row."""

    name: ClassVar[str] = "poles"

    count: int = 5
    """Number of poles."""

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        return Quantities(triangle_count=12 * self.count, object_count=self.count)

    def build(self, site: Site) -> None:
        """Write the world."""
        sun_and_sky(site.stage, ROOT)
        group(site.stage, f"{ROOT}/Poles", "pole")
        block(site.stage, f"{ROOT}/Ground", (0, 0, -0.5), (60, 60, 1), site.finish("grass"))
        for k in range(self.count):
            block(site.stage, f"{ROOT}/Poles/Pole{k}", (4 * k, 5, 2), (0.5, 0.5, 4), site.finish("brick"))
        site.spawn(0.0, 0.0)


GENERATORS.register("poles", Poles)  # YAML of a world: generator: {model: poles, count: 8}


def main() -> int:
    """Take off among eight poles; return the number of poles [1]."""
    with Simulation(WorldSpec(name="poles", generator={"model": "poles", "count": 8})) as sim:
        sim.add(Multirotor("iris", backends=[GeometricController(trajectories.takeoff(height=2.0))]))
        sim.run(duration=4.0)
        poles = sum(item.path.startswith(f"{ROOT}/Poles/") for item in sim.scene.colliders)
        print(f"{poles} poles, a vehicle at {sim.vehicles['iris'].state.position[0, 2]:.2f} m")
        return poles


if __name__ == "__main__":
    start_host()
    main()
