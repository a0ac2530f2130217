"""Tests of logs, simulations and vehicles as HTML, and of the layout for Foxglove."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from recording_stand_ins import Vehicle, fly

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.control import GeometricController, trajectories
from pegasus.core.svg_view import Line, curves_svg, space_svg
from pegasus.recording import Log, McapRecorder, read_log, write_layout


def log_of(path: Path, count: int = 1) -> Log:
    """Record a climb of 4 s, and read it back."""

    def move(vehicle: Vehicle, t: float) -> None:
        vehicle.state.position[:, 0], vehicle.state.position[:, 2] = np.arange(vehicle.count), t

    fly([McapRecorder(path)], Vehicle("<iris>", count), move, steps=1000)
    return read_log(path)


def polylines(svg: str) -> list[np.ndarray]:
    """Return the points of the lines of a drawing, which must be well-formed."""
    return [
        np.array([pair.split(",") for pair in item.attrib["points"].split()], dtype=float)
        for item in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}polyline")
    ]


def test_a_view_shows_all_of_a_path_the_right_way_up() -> None:
    """A path would leave the drawing, or up, north and east would be mirrored."""
    for axis, right, down in ((0, 1, 1), (1, 1, -1), (2, 0, -1)):
        path = np.zeros((50, 3))
        path[:, axis] = np.linspace(0.0, 300.0, 50)
        points = polylines(space_svg([Line(path, "red")]))[-1]
        assert (points >= 0).all()
        assert (points <= [640, 380]).all()
        assert np.sign(np.round(points[-1] - points[0])).tolist() == [right, down]


def test_curves_are_those_of_the_values() -> None:
    """The curve of one axis would be that of another, or upside down."""
    time = np.linspace(2.0, 4.0, 20)
    rising, constant = polylines(curves_svg(time, {"<x>": time, "y": np.full(20, 3.0)}, "p [m]"))
    assert (np.diff(rising[:, 0]) > 0).all()
    assert (np.diff(rising[:, 1]) < 0).all()
    assert np.ptp(constant[:, 1]) == 0.0


def test_a_log_is_html_with_its_flight(tmp_path: Path) -> None:
    """A notebook would show a line of text, fetch scripts, or break at a name with special characters."""
    for count in (1, 3):
        page = log_of(tmp_path / "log", count)._repr_html_()
        parsed = ET.fromstring(f"<body>{page}</body>")
        assert len(list(parsed.iter("{http://www.w3.org/2000/svg}svg"))) == 2
        assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
        cells = [[cell.text for cell in row] for row in parsed.iter("tr")]
        assert ["<iris>/state", "501", "125 Hz", "4 s"] in cells


def test_an_empty_log_is_html(tmp_path: Path) -> None:
    """A log without messages would end in a traceback of the notebook."""
    fly([McapRecorder(tmp_path / "log")], Vehicle(), lambda *_: None, steps=-1)
    ET.fromstring(f"<body>{read_log(tmp_path / 'log')._repr_html_()}</body>")


def test_simulations_and_vehicles_are_html_before_and_during_a_run() -> None:
    """A notebook would show nothing, or fail before the first step."""
    with Simulation("courtyard") as sim:
        ET.fromstring(sim._repr_html_())
        flight = GeometricController(trajectories.square(side=2.0, height=2.0))
        iris = sim.add(Multirotor("iris", backends=[flight]))
        ET.fromstring(iris._repr_html_())
        sim.run(3.0)
        for shown in (sim, iris):
            page = ET.fromstring(shown._repr_html_())
            strokes = [item.get("stroke") for item in page.iter("{http://www.w3.org/2000/svg}polyline")]
            assert strokes.count("#0072b2") == 4
            assert "#f0b95c" in strokes
            assert ("#c4c4c4" in strokes) == (shown is sim)


def test_a_layout_names_the_topics_of_its_log(tmp_path: Path) -> None:
    """Foxglove would show empty panels."""
    with Simulation("flat", observers=[McapRecorder(tmp_path / "flight.mcap")]) as sim:
        sim.add(Multirotor("x500"))
        sim.run(0.5)
    path = write_layout(read_log(tmp_path))
    assert path == tmp_path / "foxglove.json"
    layout = json.loads(path.read_text())
    panels = layout["configById"]
    assert panels["3D!scene"]["followTf"] == "x500"
    assert set(panels["3D!scene"]["topics"]) == {"/world", "/x500/model", "/x500/path", "/x500/tf"}
    assert panels["map!map"]["followTopic"] == "/x500/sensors/gps/fix"
    assert [item["value"] for item in panels["Plot!rotors"]["paths"]] == [
        f"/x500/state.rotor_speed[{k}]" for k in range(4)
    ]
    placed = json.dumps(layout["layout"])
    assert all(f'"{name}"' in placed for name in panels)
    with pytest.raises(ConfigError, match="cannot be written"):
        write_layout(read_log(tmp_path), tmp_path / "gone" / "layout.json")
