"""Planning of a town: positions of houses, furniture, trees and cars."""

from collections.abc import Callable

import numpy as np

from pegasus.worlds.town.layout import (
    CROSSING,
    DEPTH,
    JOINT,
    KERB_HEIGHT,
    PARKING_LANE,
    SIDEWALK,
    STOP_LINE,
    Block,
    Item,
    Layout,
    Lot,
    Plan,
    Spot,
    bays,
    divide,
)

Streams = Callable[..., np.random.Generator]

# Small towns have distinct houses; large ones repeat this many of each width.
_UNIQUE_BLOCKS = 9
_VARIANTS = 3

# Shares of broadleaf trees, birches, conifers and bushes next to the town, and farther out.
_OUTSKIRTS = ((0.6, 0.3, 0.0, 0.1), (0.45, 0.15, 0.15, 0.25))


def lay_out(
    streams: Streams,
    *,
    size: float,
    block_size: float,
    street: float,
    storeys: tuple[int, int],
    park_share: float,
    tree_density: float,
    car_density: float,
) -> Layout:
    """Return a town.

    Args:
        streams: Function from the names of a part to its random stream.
        size: Side of the town [m].
        block_size: Least side of a block [m].
        street: Width of the streets [m].
        storeys: Least and greatest number of storeys.
        park_share: Share of blocks without houses.
        tree_density: Share of tree positions with a tree.
        car_density: Share of parking bays with a car.
    """
    count, side = divide(size, block_size, street)
    town = Layout(size, count, side, street)
    _add_blocks(town, streams("blocks"), park_share)
    _add_streets(town)
    for number, block in enumerate(town.blocks):
        rng = streams("block", str(number))
        if block.kind == "rows":
            _add_rows(town, block, rng, streams, storeys, tree_density)
        elif block.kind == "villas":
            _add_villas(town, block, rng, streams, tree_density)
        elif block.kind == "park":
            _add_park(town, block, rng, tree_density)
        else:
            _add_square(town, block, rng, tree_density)
    _add_cars(town, streams("cars"), car_density)
    _add_furniture(town, streams("furniture"), tree_density)
    _add_outskirts(town, streams("outskirts"), tree_density)
    return town


def _add_blocks(town: Layout, rng: np.random.Generator, park_share: float) -> None:
    total = town.count**2
    parks = min(total - 1, max(1, round(park_share * total))) if park_share > 0 else 0
    villas = round(0.25 * (total - parks))
    order = rng.permutation(total)
    kinds = np.full(total, "rows", dtype=object)
    kinds[order[:parks]] = ["park" if k % 2 == 0 else "square" for k in range(parks)]
    kinds[order[parks : parks + villas]] = "villas"
    middles = (town.lines[:-1] + town.lines[1:]) / 2
    for number, kind in enumerate(kinds):
        row, column = divmod(number, town.count)
        town.blocks.append(Block(float(middles[column]), float(middles[row]), str(kind)))


def _add_streets(town: Layout) -> None:
    middles = (town.lines[:-1] + town.lines[1:]) / 2
    for line in town.lines.tolist():
        for middle in middles.tolist():
            town.streets.append(Spot(middle, line, 0.0))
            town.streets.append(Spot(line, middle, 90.0))


def _variant(town: Layout, rng: np.random.Generator) -> int:
    """Return a seed of a variant: unique in small towns, repeated in large ones."""
    return int(rng.integers(10**6 if len(town.blocks) <= _UNIQUE_BLOCKS else _VARIANTS))


def _plan(
    streams: Streams, width: float, depth: float, corner: int, variant: int, storeys: tuple[int, int]
) -> Plan:
    rng = streams("plan", f"{width:.2f}", f"{corner}", str(variant))
    style = str(rng.choice(["plaster", "brick", "modern", "office"], p=[0.5, 0.25, 0.15, 0.1]))
    low, high = storeys
    tall = int(rng.integers(max(low, min(3, high)), high + 1)) if corner else int(rng.integers(low, high + 1))
    return Plan(width, depth, tall, style, corner, variant)


def _add_rows(
    town: Layout,
    block: Block,
    rng: np.random.Generator,
    streams: Streams,
    storeys: tuple[int, int],
    tree_density: float,
) -> None:
    """Write houses around the edge of a block; short rows may leave an entrance to the courtyard."""
    half = town.side / 2 - SIDEWALK
    for yaw in (0.0, 180.0, 90.0, -90.0):
        along = yaw in (0.0, 180.0)
        length = 2 * half if along else 2 * (half - DEPTH)
        if not along and (length < 6.0 or rng.uniform() < 0.3):
            continue
        widths = _partition(length, rng)
        left = -length / 2
        for k, width in enumerate(widths):
            corner = (-1 if k == 0 else 1 if k == len(widths) - 1 else 0) if along else 0
            depth = DEPTH if corner or not along else DEPTH - float(rng.integers(0, 3)) / 2
            plan = _plan(streams, round(width - JOINT, 3), depth, corner, _variant(town, rng), storeys)
            spot = Spot(block.x, block.y, yaw).ahead(left + width / 2, -half)
            town.lots.append(Lot(plan, spot))
            left += width
    court = half - DEPTH - 2.0
    for x, y in ((-0.5, -0.5), (0.5, 0.5), (0.5, -0.5), (-0.5, 0.5)):
        if court > 1.0 and rng.uniform() < 0.6 * tree_density:
            place = Spot(block.x + x * court, block.y + y * court, float(rng.uniform(0.0, 360.0)))
            town.items.append(Item("birch", place, int(rng.integers(3)), float(rng.uniform(0.7, 0.95))))


def _partition(length: float, rng: np.random.Generator) -> list[float]:
    """Return widths of houses that fill a length: whole metres, with the remainder in the first."""
    count = max(1, round(length / 9.5))
    base = int(length / count)
    widths = [float(base)] * count
    for k in range(int(length) - base * count):
        widths[k % count] += 1.0
    for k in range(count - 1):
        shift = float(rng.integers(-1, 2))
        if 7.0 <= widths[k] + shift <= 13.0 and 7.0 <= widths[k + 1] - shift <= 13.0:
            widths[k] += shift
            widths[k + 1] -= shift
    widths[0] += length - sum(widths)
    return widths


def _add_villas(
    town: Layout, block: Block, rng: np.random.Generator, streams: Streams, tree_density: float
) -> None:
    """Write detached houses in gardens, two rows back to back."""
    half = town.side / 2 - SIDEWALK
    across = max(1, int(2 * half / 13.0))
    pitch = 2 * half / across
    for yaw in (0.0, 180.0):
        middle = Spot(block.x, block.y, yaw)
        for k in range(across):
            variant = _variant(town, rng)
            dice = streams("villa", str(variant))
            width, depth = float(dice.integers(16, 20)) / 2, float(dice.integers(15, 18)) / 2
            plan = Plan(width, depth, int(dice.integers(1, 3)), "house", 0, variant)
            x = (k + 0.5) * pitch - half
            slack = (pitch - width) / 2 - 1.6
            shift = float(rng.uniform(-slack, slack)) if slack > 0 else 0.0
            town.lots.append(Lot(plan, middle.ahead(x + shift, -half + 2.6)))
            town.items.append(Item("path", middle.ahead(x + shift, -half + 1.3)))
            gate = x + shift
            for low, high in ((x - pitch / 2 + 0.3, gate - 1.3), (gate + 1.3, x + pitch / 2 - 0.3)):
                _add_hedge(town, middle, (low, -half + 0.4), (high, -half + 0.4))
            if k:
                _add_hedge(town, middle, (x - pitch / 2, -half + 0.9), (x - pitch / 2, -0.4))
            for side in (-1, 1):
                if rng.uniform() < 0.75 * tree_density:
                    place = middle.ahead(x + side * (pitch / 2 - 1.2), -1.5 + float(rng.uniform(-0.4, 0.4)))
                    town.items.append(
                        Item(_choose(rng), place, int(rng.integers(3)), float(rng.uniform(0.5, 0.7)))
                    )
                if rng.uniform() < 0.7:
                    place = middle.ahead(x + side * (pitch / 2 - 1.3), -half + 1.3)
                    town.items.append(Item("bush", place, int(rng.integers(3)), float(rng.uniform(0.7, 1.0))))
            if yaw == 0.0:
                _add_hedge(town, middle, (x - pitch / 2 + 0.2, 0.0), (x + pitch / 2 - 0.2, 0.0))


def _add_hedge(town: Layout, middle: Spot, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Write a hedge between two points, of slightly scaled pieces of 2 m."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = float(np.hypot(dx, dy))
    count = round(length / 2.0)
    if count < 1:
        return
    for k in range(count):
        t = (k + 0.5) / count
        place = middle.ahead(start[0] + t * dx, start[1] + t * dy, float(np.degrees(np.arctan2(dy, dx))))
        town.items.append(Item("hedge", place, stretch=round(length / count / 2.0, 4)))


def _add_park(town: Layout, block: Block, rng: np.random.Generator, tree_density: float) -> None:
    """Write a park: a fountain, benches around it, lamps and trees on the lawns between its paths."""
    half, middle = town.side / 2 - SIDEWALK, Spot(block.x, block.y)
    town.items.append(Item("fountain", middle))
    ring = min(5.5, half - 3.0) - 0.6
    for k in range(8):
        # Benches face the fountain.
        place = Spot(block.x, block.y, 45.0 * k + 22.5).ahead(0.0, ring)
        town.items.append(Item("bench" if k % 2 == 0 else ("lamp" if k % 4 == 1 else "bin"), place))
    for x in np.arange(-half + 2.0, half - 1.9, 4.2).tolist():
        for y in np.arange(-half + 2.0, half - 1.9, 4.2).tolist():
            x1, y1 = x + float(rng.uniform(-1.0, 1.0)), y + float(rng.uniform(-1.0, 1.0))
            off_paths = abs(abs(x1) - abs(y1)) > 3.6
            if off_paths and np.hypot(x1, y1) > ring + 2.2 and rng.uniform() < tree_density:
                place = middle.ahead(x1, y1, float(rng.uniform(0.0, 360.0)))
                kind = "bush" if rng.uniform() < 0.2 else _choose(rng)
                town.items.append(Item(kind, place, int(rng.integers(3)), float(rng.uniform(0.7, 1.1))))


def _add_square(town: Layout, block: Block, rng: np.random.Generator, tree_density: float) -> None:
    """Write a paved square: a kiosk, an advertising column, planters with small trees, benches."""
    half, middle = town.side / 2 - SIDEWALK, Spot(block.x, block.y, 90.0 * float(rng.integers(4)))
    town.items.append(Item("fountain", middle))
    town.items.append(Item("kiosk", middle.ahead(half * 0.45, half * 0.55)))
    town.items.append(Item("column", middle.ahead(-half * 0.7, half * 0.7)))
    for x in np.arange(-half + 3.0, half - 2.9, 5.5).tolist():
        for y in (-half + 2.6, half - 2.6):
            if y > 0 and abs(x) > half * 0.3:
                continue
            town.items.append(Item("planter", middle.ahead(x, y)))
            if rng.uniform() < tree_density:
                place = middle.ahead(x, y, float(rng.uniform(0.0, 360.0)))
                town.items.append(Item("birch", place, int(rng.integers(3)), 0.6, KERB_HEIGHT + 0.42))
            town.items.append(Item("bench", middle.ahead(x + 2.4, y, 180.0 if y < 0 else 0.0)))


def _add_cars(town: Layout, rng: np.random.Generator, density: float) -> None:
    if not town.has_parking:
        return
    for street in town.streets:
        for lane in (-1, 1):
            for x in bays(town.side).tolist():
                if rng.uniform() >= density:
                    continue
                y = lane * (town.street / 2 - PARKING_LANE / 2 - 0.05 + float(rng.uniform(-0.1, -0.02)))
                # On the right side in the direction of traffic.
                yaw = (0.0 if lane < 0 else 180.0) + float(rng.uniform(-1.2, 1.2))
                place = street.ahead(x + float(rng.uniform(-0.3, 0.3)), y, yaw)
                kind = str(rng.choice(["hatchback", "estate", "van"], p=[0.5, 0.35, 0.15]))
                town.items.append(Item(kind, place, int(rng.integers(8)), ground=0.0))


def _add_furniture(town: Layout, rng: np.random.Generator, tree_density: float) -> None:
    """Write the furniture along the kerbs of all streets."""
    for number, street in enumerate(town.streets):
        has_trees = rng.uniform() < 0.75
        for lane in (-1, 1):
            # Frame of the kerb with the sidewalk ahead; items face the street.
            edge = street.ahead(0.0, lane * town.street / 2, 0.0 if lane > 0 else 180.0)
            _add_kerbside(town, edge, number, rng, tree_density if has_trees else 0.0)
            _add_signs(town, edge, rng)


def _add_kerbside(
    town: Layout, edge: Spot, number: int, rng: np.random.Generator, tree_density: float
) -> None:
    """Write lamps, trees, bins, benches and stands for bicycles along one kerb."""
    half = town.side / 2
    spots = np.arange(-half + 9.0, half - 8.9, 6.5)
    for k, x in enumerate(spots.tolist()):
        turn = float(rng.uniform(0.0, 360.0))
        if (k + number + int(edge.yaw) // 90) % 3 == 0:
            town.items.append(Item("lamp", edge.ahead(x, 0.55)))
        elif rng.uniform() < tree_density:
            scale = float(rng.uniform(0.55, 0.75))
            town.items.append(Item("birch", edge.ahead(x, 0.75, turn), int(rng.integers(3)), scale))
            town.items.append(Item("tree_pit", edge.ahead(x, 0.75)))
        elif rng.uniform() < 0.4:
            kind = str(rng.choice(["bin", "bench", "bicycles"]))
            town.items.append(Item(kind, edge.ahead(x, 0.65)))


def _add_signs(town: Layout, edge: Spot, rng: np.random.Generator) -> None:
    """Write signs at the start of a street, traffic lights at its junction, bollards at its crossings."""
    half = town.side / 2
    # At the right kerb traffic runs along -x of the kerb's frame and sees signs facing +x.
    sign = str(rng.choice(["no_parking", "yield", "limit"]))
    town.items.append(Item(sign, edge.ahead(half - STOP_LINE - 0.6, 0.5, 90.0)))
    inner = town.size / 2 - town.street
    if abs(edge.x) < inner and abs(edge.y) < inner:
        town.items.append(Item("traffic_light", edge.ahead(-half + STOP_LINE + 0.6, 0.5, 90.0)))
    for x in (-half + CROSSING[1], half - CROSSING[1]):
        for step in (0.4, 1.5):
            if rng.uniform() < 0.85:
                town.items.append(Item("bollard", edge.ahead(x - np.sign(x) * step, 0.35)))


def _add_outskirts(town: Layout, rng: np.random.Generator, tree_density: float) -> None:
    """Write trees around the town."""
    reach = town.size / 2 + SIDEWALK
    for row, (distance, step) in enumerate(((3.5, 7.0), (9.0, 6.5), (15.0, 8.0), (23.0, 10.0))):
        ring = reach + distance
        count = int(2 * ring / step)
        for yaw in (0.0, 90.0, 180.0, 270.0):
            for k in range(count):
                x = (k + 0.5) * 2 * ring / count - ring + float(rng.uniform(-2.0, 2.0))
                if rng.uniform() < tree_density:
                    place = Spot(0.0, 0.0, yaw).ahead(
                        x, -ring + float(rng.uniform(-2.0, 1.5)), float(rng.uniform(0, 360))
                    )
                    kind = str(rng.choice(["broadleaf", "birch", "conifer", "bush"], p=_OUTSKIRTS[row > 0]))
                    town.items.append(
                        Item(kind, place, int(rng.integers(3)), float(rng.uniform(0.75, 1.15)), 0.0)
                    )


def _choose(rng: np.random.Generator) -> str:
    return "broadleaf" if rng.uniform() < 0.7 else "birch"
