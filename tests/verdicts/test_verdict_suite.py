"""Tests of `pegasus test`: results, JUnit XML, page, baselines, resuming."""

import json
import re
from xml.etree import ElementTree

import pytest
import yaml
from cli_rig import pegasus
from test_verdicts_of_runs import HOP

__all__ = ["pegasus"]


@pytest.fixture
def folder(tmp_path):
    """A folder with a scenario that passes, a deeper one that fails, and a file that is no scenario."""
    scenarios = tmp_path / "scenarios"
    (scenarios / "deep").mkdir(parents=True)
    good = {**HOP, "expect": ["height < 2", {"at_end": "landed"}]}
    bad = {**HOP, "expect": [{"always": "height < 0.5", "name": "low & <slow>"}, "height > -1"]}
    (scenarios / "good.yaml").write_text(yaml.safe_dump(good))
    (scenarios / "deep" / "bad.yml").write_text(yaml.safe_dump(bad))
    (scenarios / "vehicle.yaml").write_text("name: no scenario\n")
    return scenarios


@pytest.mark.usefixtures("folder")
def test_results(pegasus, tmp_path):
    """A failure would be counted as passed, or a file without one; a report would lack a verdict."""
    code, out, err = pegasus("test", "scenarios", "--jobs", "1")
    assert code == 1
    assert out.splitlines()[-3:] == [
        "failed  deep/bad.yml",
        "passed  good.yaml",
        "1 of 2 passed; verdicts/report.html",
    ]
    (line,) = [line for line in err.splitlines() if "low" in line]
    assert line.startswith("pegasus: deep/bad.yml: iris: low & <slow>: failed at ")
    suites = ElementTree.parse(tmp_path / "verdicts" / "junit.xml").getroot()
    assert [(s.get("name"), s.get("tests"), s.get("failures")) for s in suites] == [
        ("deep/bad.yml", "3", "1"),
        ("good.yaml", "3", "0"),
    ]
    cases = {case.get("name"): [f.get("message") for f in case] for case in suites[0]}
    assert cases["flight"] == cases["iris: always height > -1"] == []
    assert re.fullmatch(r"failed at .* s with 0.5.*", cases["iris: low & <slow>"][0])
    page = (tmp_path / "verdicts" / "report.html").read_text()
    assert "low &amp; &lt;slow&gt;" in page
    assert page.count("data:image/png;base64") == 2


def test_resuming(pegasus, folder, tmp_path):
    """What has been flown would be flown again, or what has changed would not."""
    assert pegasus("test", "scenarios", "--jobs", "1")[0] == 1
    runs = sorted((tmp_path / "verdicts").glob("hop-*"))
    assert len(runs) == 2
    code, _, err = pegasus("test", "scenarios", "--jobs", "1")
    assert code == 2
    assert "exists already; resume it" in err
    better = {**HOP, "expect": ["height < 2"]}
    (folder / "deep" / "bad.yml").write_text(yaml.safe_dump(better))
    code, out, _ = pegasus("test", "scenarios", "--jobs", "1", "--resume")
    assert code == 0
    assert "2 of 2 passed" in out
    assert len(sorted((tmp_path / "verdicts").glob("hop-*"))) == 3


def test_baselines(pegasus, folder):
    """A figure that got worse would pass, or one within the tolerance fail."""
    (folder / "deep" / "bad.yml").unlink()
    code, _, err = pegasus("test", "scenarios", "--jobs", "1", "--update")
    assert code == 0, err
    file = folder / "baseline.json"
    figures = json.loads(file.read_text())["good.yaml"]
    assert figures["iris.outcome"] == "landed"
    assert figures["iris: always height < 2"] == pytest.approx(1.0, abs=0.01)
    for factor, passes in ((1.04, True), (1.2, False)):
        changed = figures | {"iris: always height < 2": figures["iris: always height < 2"] * factor}
        file.write_text(json.dumps({"good.yaml": changed}))
        code, _, err = pegasus("test", "scenarios", "--jobs", "1", "--resume")
        assert code == (0 if passes else 1)
        assert bool(re.search(r"baseline: iris: always height < 2 was 1.2\d*, is 1", err)) is not passes
    file.write_text(json.dumps({"good.yaml": figures | {"iris.outcome": "flying", "gone": 1.0}}))
    _, _, err = pegasus("test", "scenarios", "--jobs", "1", "--resume")
    assert "baseline: iris.outcome was flying, is landed" in err
    assert "baseline: gone was 1.0, is None" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("empty",), "folder = 'empty': holds no scenario"),
        (("scenarios", "--tolerance", "-1"), "tolerance = -1.0: must be at least 0"),
        (("scenarios", "--baseline", "none.json"), "none.json: cannot be read.*write it by --update"),
        (("scenarios", "--jobs", "0"), "jobs = 0: must be at least 1"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_arguments_of_suites(pegasus, tmp_path, arguments, says):
    (tmp_path / "empty").mkdir()
    code, out, err = pegasus("test", *arguments)
    assert (code, out) == (2, "")
    assert re.search(says, err)


def test_a_scenario_that_cannot_be_flown_fails(pegasus, tmp_path):
    """One broken file would end the whole suite, or pass."""
    (tmp_path / "broken.yaml").write_text("name: broken\nvehicles: [{model: irris}]\n")
    code, out, err = pegasus("test", "broken.yaml", "--jobs", "1")
    assert code == 1
    assert "0 of 1 passed" in out
    assert "did you mean iris?" in err
