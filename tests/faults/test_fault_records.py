"""Tests of faults in scenarios, logs and plots."""

import pytest
import yaml

from pegasus import ConfigError, read_log
from pegasus.experiments import Flight
from pegasus.recording.plots import fault_spans, plot_flight

SCENARIO = {
    "name": "failing",
    "world": "flat",
    "duration": 1.0,
    "vehicles": [{"model": "iris", "name": "a", "count": 2, "position": [0, 0, 20]}, {"model": "x500"}],
    "faults": [
        {"model": "motor_loss", "vehicle": "a", "rotor": 1, "start": 0.2, "end": 0.6, "copies": [1]},
        {"model": "gps_loss", "vehicle": "a", "start": 0.4},
    ],
}


def written(folder, **changes):
    path = folder / "failing.yaml"
    path.write_text(yaml.safe_dump(SCENARIO | changes))
    return path


def test_faults_of_a_scenario_are_logged_and_drawn(tmp_path):
    """A fault that is missing in log or plot would make the flight look inexplicable."""
    run = Flight(written(tmp_path)).fly(out=tmp_path)
    log = read_log(run.folder)
    recorded = log["a/faults"]
    assert recorded.time.tolist() == [0.2, 0.4, 0.6]
    assert recorded.names.tolist() == [
        "motor_loss rotor 1",
        "motor_loss rotor 1; gps_loss gps",
        "gps_loss gps",
    ]
    assert recorded.fault_count.tolist() == [[0.0, 1.0], [1.0, 2.0], [1.0, 1.0]]
    assert "x500/faults" not in log
    spans = fault_spans(log, "a")
    assert spans[0] == ("motor_loss rotor 1", 0.2, 0.6)
    assert spans[1][:2] == ("gps_loss gps", 0.4)
    assert spans[1][2] > 0.9
    assert fault_spans(log, "x500") == ()
    figure = plot_flight(log, vehicle="a")
    texts = [text.get_text().strip() for axes in figure.axes for text in axes.texts]
    assert texts.count("motor_loss rotor 1") == 1
    assert texts.count("gps_loss gps") == 1


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"model": "motor_loss", "rotor": 0}, r"faults\.0\.vehicle: must be one of a, x500"),
        ({"model": "motor_loss", "vehicle": "b", "rotor": 0}, r"faults\.0\.vehicle = 'b'"),
        ({"model": "motor_loss", "vehicle": "a", "rotor": 4}, r"faults\.0\.rotor = 4: must be a rotor"),
        ({"model": "motor_loss", "vehicle": "a"}, r"faults\.0\.rotor: required field is missing"),
        ({"model": "motr_loss", "vehicle": "a"}, r"faults\.0\.model = 'motr_loss'.*did you mean motor_loss"),
        (
            {"model": "gps_loss", "vehicle": "a", "start": 2, "end": 1},
            r"faults\.0\.end = 1\.0: must be after",
        ),
        ({"model": "gps_loss", "vehicle": "a", "copies": [2]}, r"faults\.0\.copies"),
        ({"model": "gps_loss", "vehicle": "a", "where": {"radius": 1.0}}, r"faults\.0\.where"),
    ],
)
def test_wrong_faults_of_a_scenario_are_named(tmp_path, fault, says):
    """An error without the file and the path of the field would have to be searched for."""
    with pytest.raises(ConfigError, match=rf"failing\.yaml: {says}") as told:
        Flight(written(tmp_path, faults=[fault]))
    assert "\n" not in str(told.value)
