"""Houses from their plans: drawn parts and colliders."""

from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.town import facades
from pegasus.worlds.town.facades import Openings, Window
from pegasus.worlds.town.layout import KERB_HEIGHT, Plan
from pegasus.worlds.town.palette import BRICKS, CLOTHS, DOORS, PLASTERS, ROOFS, SHUTTERS
from pegasus.worlds.town.parts import Frame, Parts
from pegasus.worlds.town.roofs import House, flat_roof, gable_roof

UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class _Style:
    wall: str
    ground: str
    """Surface of the wall of the ground floor."""
    window: Window
    bay: float
    """Distance between windows, about [m]."""
    ground_height: float
    storey: float
    gable: bool
    tiles: str
    door: str
    cloth: str
    cornice: bool
    shop: bool
    balconies: str
    """`none`, `bars` or `glass`."""


def draw(plan: Plan, rng: np.random.Generator) -> House:
    """Return a house with the centre of its front at the origin, facing -y."""
    style = _style(plan, rng)
    house = House()
    heights = [style.ground_height] + [style.storey] * (plan.storeys - 1)
    base = KERB_HEIGHT + 0.15
    floors = base + np.concatenate([[0.0], np.cumsum(heights)])
    top, half = float(floors[-1]), plan.width / 2
    house.boxes.append(((-half, 0.0, 0.0), (half, plan.depth, top)))
    elevations = {
        "front": (Frame((-half, 0.0, 0.0), (1.0, 0.0, 0.0), UP), plan.width),
        "rear": (Frame((half, plan.depth, 0.0), (-1.0, 0.0, 0.0), UP), plan.width),
        "left": (Frame((-half, plan.depth, 0.0), (0.0, -1.0, 0.0), UP), plan.depth),
        "right": (Frame((half, 0.0, 0.0), (0.0, 1.0, 0.0), UP), plan.depth),
    }
    detached = plan.style == "house"
    seen = {
        "front": True,
        "rear": True,
        "left": detached or plan.corner < 0,
        "right": detached or plan.corner > 0,
    }
    for side, (frame, width) in elevations.items():
        if seen[side]:
            _facade(house, plan, style, side, frame, width, floors, rng)
        else:
            facades.wall(
                house.parts, _side_wall(style), frame, np.zeros(2), np.array([width, top]), np.zeros((0, 4))
            )
    if style.gable:
        gable_roof(house, plan, top, style.tiles, style.wall if detached else _side_wall(style), rng)
    else:
        flat_roof(house, plan, top, style.wall, rng)
    for key, frame, holes in house.windows:
        if key.startswith("plaster_"):
            facades.streaks(house.parts, key.replace("plaster", "streak"), frame, holes, rng)
    return house


def _side_wall(style: _Style) -> str:
    return "plaster_5" if style.wall.startswith("brick") and style.shop else style.wall


def _style(plan: Plan, rng: np.random.Generator) -> _Style:
    plaster = f"plaster_{rng.integers(len(PLASTERS))}"
    brick = f"brick_{rng.integers(len(BRICKS))}"
    tiles = f"tiles_{rng.integers(len(ROOFS))}"
    door, cloth = f"door_{rng.integers(len(DOORS))}", f"cloth_{rng.integers(len(CLOTHS))}"
    shutters = f"shutter_{rng.integers(len(SHUTTERS))}"
    chance = rng.uniform(size=4)
    shop = bool(chance[0] < 0.5) and plan.width >= 8.0
    ground = 3.9 if shop else 3.3
    if plan.style == "house":
        wall = plaster if chance[1] < 0.7 else brick
        window = Window(1.15, 1.3, 0.9, shutters=shutters if chance[2] < 0.7 else None, transom=0.0)
        return _Style(wall, wall, window, 3.0, 2.9, 2.8, True, tiles, door, cloth, False, False, "none")
    if plan.style == "brick":
        window = Window(1.1, 1.7, 0.8, transom=0.66, surround="stone" if chance[1] < 0.6 else None)
        return _Style(
            brick,
            brick,
            window,
            2.5,
            ground,
            3.2,
            bool(chance[2] < 0.6),
            tiles,
            door,
            cloth,
            True,
            shop,
            "bars" if chance[3] < 0.3 else "none",
        )
    if plan.style == "modern":
        window = Window(1.9, 1.6, 0.75, frame="frame_dark", sashes=2)
        wall = "plaster_4" if chance[1] < 0.6 else plaster
        return _Style(
            wall,
            "concrete" if chance[2] < 0.5 else wall,
            window,
            3.4,
            ground,
            3.0,
            False,
            tiles,
            door,
            cloth,
            False,
            shop,
            "glass",
        )
    if plan.style == "office":
        window = Window(2.1, 2.0, 0.55, frame="frame_dark", sashes=3)
        return _Style(
            "concrete" if chance[1] < 0.5 else brick,
            "concrete",
            window,
            2.7,
            3.9,
            3.3,
            False,
            tiles,
            door,
            cloth,
            False,
            True,
            "none",
        )
    window = Window(
        1.05,
        1.6,
        0.85,
        transom=0.68 if chance[1] < 0.6 else 0.0,
        surround="stone" if chance[2] < 0.65 else None,
        shutters=shutters if chance[2] > 0.8 else None,
    )
    ground_wall = wall = plaster
    if chance[3] < 0.35:
        ground_wall = "stone"
    return _Style(
        wall,
        ground_wall,
        window,
        2.5,
        ground,
        3.1,
        bool(chance[1] < 0.65),
        tiles,
        door,
        cloth,
        True,
        shop,
        "bars" if chance[3] > 0.6 else "none",
    )


def _facade(
    house: House,
    plan: Plan,
    style: _Style,
    side: str,
    frame: Frame,
    width: float,
    floors: Array,
    rng: np.random.Generator,
) -> None:
    """Add one elevation of a house with windows, doors and balconies."""
    parts, look = house.parts, style.window
    margin = 0.55
    count = max(1, int((width - 2 * margin) / style.bay))
    x = margin + (width - 2 * margin) * (np.arange(count) + 0.5) / count
    holes, ground_holes = Openings(), Openings()
    _ground_floor(ground_holes, style, side, x, width, float(floors[0]), rng)
    street = side == "front" or (side in ("left", "right") and plan.style != "house")
    columns = set(rng.choice(count, size=max(1, count // 3), replace=False).tolist())
    wants_balconies = style.balconies != "none" and (street or side == "rear") and side != "left"
    for floor in floors[1:-1].tolist():
        for k, middle in enumerate(x.tolist()):
            half = look.width / 2
            if wants_balconies and k in columns:
                holes.windows.append(
                    (middle - half, floor + 0.08, middle + half, floor + look.sill + look.height)
                )
                reach = half + 0.35
                low, high = max(middle - reach, 0.1), min(middle + reach, width - 0.1)
                facades.balcony(parts, frame, low, high, floor + 0.02, glass=style.balconies == "glass")
                ends = frame(np.array([(low, floor - 0.14, 0.0), (high, floor + 1.07, 1.2)]))
                _solid(house, ends)
            else:
                holes.windows.append(
                    (middle - half, floor + look.sill, middle + half, floor + look.sill + look.height)
                )
    first = float(floors[1])
    for key, part, low, high in (
        (style.ground, ground_holes, 0.0, first),
        (style.wall, holes, first, float(floors[-1])),
    ):
        if high > low + 1e-6:
            facades.wall(parts, key, frame, np.array([0.0, low]), np.array([width, high]), part.all())
        windows = np.array(part.windows).reshape(-1, 4)
        facades.windows(parts, key, frame, windows, look, rng)
        house.windows.append((key, frame, windows))
        facades.doors(parts, key, frame, np.array(part.doors).reshape(-1, 4), style.door)
        facades.shops(parts, key, frame, np.array(part.shops).reshape(-1, 4), style.cloth, rng)
    _bands(parts, style, frame, width, floors, ground_holes)
    if street or plan.style == "house":
        # A downpipe at the edge.
        edge = width - 0.14
        parts.lathe(
            "zinc",
            [(0.045, 0.2), (0.045, float(floors[-1]) - 0.1)],
            sides=8,
            frame=Frame(frame((edge, 0.0, 0.07)), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        )


def _ground_floor(
    holes: Openings,
    style: _Style,
    side: str,
    x: Array,
    width: float,
    base: float,
    rng: np.random.Generator,
) -> None:
    look = style.window
    if side == "front" and style.shop:
        door = 0.55 + 0.6 if rng.uniform() < 0.5 else width - 0.55 - 0.6
        holes.doors.append((door - 0.6, base, door + 0.6, base + 2.75))
        low, high = (door + 1.0, width - 0.45) if door < width / 2 else (0.45, door - 1.0)
        count = max(1, round((high - low) / 3.6))
        for k in range(count):
            a, b = low + (high - low) * k / count, low + (high - low) * (k + 1) / count
            holes.shops.append((a + 0.15, base, b - 0.15, base + 2.75))
        return
    doors = (
        {int(rng.integers(len(x)))} if side == "front" or (side == "rear" and rng.uniform() < 0.8) else set()
    )
    for k, middle in enumerate(x.tolist()):
        if k in doors:
            holes.doors.append((middle - 0.55, base, middle + 0.55, base + 2.6))
        else:
            half = look.width / 2
            holes.windows.append(
                (middle - half, base + look.sill, middle + half, base + look.sill + look.height)
            )


def _bands(parts: Parts, style: _Style, frame: Frame, width: float, floors: Array, ground: Openings) -> None:
    """Add plinth, string course and cornice."""
    edges = [0.0]
    for left, _, right, _ in sorted([*ground.doors, *ground.shops]):
        edges += [left, right]
    edges.append(width)
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        if b > a + 0.02:
            parts.boxes("plinth", (a, 0.0, 0.0), (b, 0.62, 0.035), frame=frame, omit=("-z", "-y"))
    top = float(floors[-1])
    if style.cornice:
        course = float(floors[1])
        parts.boxes(
            "stone", (0.0, course - 0.1, 0.0), (width, course + 0.08, 0.06), frame=frame, omit=("-z",)
        )
        for low, high, out in ((-0.42, -0.22, 0.08), (-0.22, -0.08, 0.18), (-0.08, 0.0, 0.28)):
            parts.boxes("stone", (0.0, top + low, 0.0), (width, top + high, out), frame=frame, omit=("-z",))


def _solid(house: House, ends: Array) -> None:
    low, high = ends.min(axis=0), ends.max(axis=0)
    house.boxes.append(
        ((float(low[0]), float(low[1]), float(low[2])), (float(high[0]), float(high[1]), float(high[2])))
    )
