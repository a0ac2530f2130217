"""Tests of `pegasus identify`."""

import json

import pytest
import yaml

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from pegasus.cli.main import main
from tests.fleet.identification_rig import RATE, fly
from tests.flyers import PLAIN_IRIS


def run(monkeypatch, *arguments):
    """Run the command; return its exit code."""
    monkeypatch.setattr("sys.argv", ["pegasus", "identify", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0


def test_identify_prints_a_table_and_writes_a_vehicle(tmp_path, monkeypatch, capsys):
    """The table has the fitted values with their uncertainty, the file flies, and the plot is drawn."""
    log = fly(tmp_path / "flight.mcap", PLAIN_IRIS, seconds=4.0)
    guess = tmp_path / "guess.yaml"
    guess.write_text(yaml.safe_dump({"extends": str(PLAIN_IRIS), "thrust_curve": {"thrust_constant": 8e-6}}))
    out, plot = tmp_path / "fitted.yaml", tmp_path / "left.png"
    given = [log, "--vehicle", guess, "--fit", "thrust_constant,mass", "--rate", RATE, "--start", 0.5]
    assert run(monkeypatch, *given, "--out", out, "--plot", plot) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0].split() == ["parameter", "before", "fitted", "+-sigma", "unit"]
    cells = lines[1].split()
    assert cells[:2] == ["thrust_curve.thrust_constant", "8e-06"]
    assert float(cells[2]) == pytest.approx(8.54858e-6, rel=0.01)
    assert lines[2].split() == ["mass", "1.5", "not", "told", "kg"] or float(lines[2].split()[2]) > 0
    assert lines[-1].startswith(f"{out}: fly it by this path")
    content = yaml.safe_load(out.read_text())
    assert content["extends"] == "guess.yaml"
    assert content["thrust_curve"]["thrust_constant"] == pytest.approx(8.54858e-6, rel=0.01)
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert run(monkeypatch, *given, "--out", out) == 2
    assert "--out = " in capsys.readouterr().err
    assert run(monkeypatch, *given, "--out", out, "--force", "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["estimates"][0]["value"] == pytest.approx(8.54858e-6, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["none.mcap", "--vehicle", PLAIN_IRIS], "none.mcap: cannot be read"),
        (["none.csv", "--vehicle", PLAIN_IRIS], "none.csv: cannot be read"),
        (["none.ulg", "--vehicle", PLAIN_IRIS], "none.ulg: is no readable ULog"),
        (["none.mcap", "--vehicle", "irs"], "vehicle = 'irs': no such vehicle; known are"),
        (
            ["none.mcap", "--vehicle", PLAIN_IRIS, "--source", "eyes"],
            "--source = 'eyes': must be sensors or state",
        ),
    ],
)
def test_identify_refuses_bad_input_in_one_line(tmp_path, monkeypatch, capsys, arguments, line):
    """A file that does not exist or an unknown vehicle ends with one line and exit code 2."""
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *arguments) == 2
    error = capsys.readouterr().err
    assert line in error
    assert len(error.splitlines()) == 1
