"""Tests of `pegasus isaac --selftest`: its report, on the fakes and with planted faults."""

import json
import os
import sys
from pathlib import Path

import pytest

from pegasus.isaac import command, selftest, selftest_in_kit
from pegasus.isaac.packages import EXTENSION_NAME, extension_folder
from tests.isaac.contract import NEWEST, VERSIONS
from tests.isaac.installations import unpacked
from tests.test_packaging import ROOT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no process groups")


def report_of(tmp_path, *line, **limits):
    """Run the self-test in another process; return its exit code and its report."""
    file = tmp_path / "sent" / "report.json"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.isaac.selftest_user", *line]
    code = selftest.run(command, environment, file, limits=limits)
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    return code, json.loads(file.read_text())


@pytest.mark.parametrize("version", VERSIONS)
def test_the_report_of_a_sound_isaac_sim(tmp_path, capsys, version):
    """A person would send a report without results, figures or versions."""
    code, report = report_of(tmp_path, version, "TestExtension", "TestWindow")
    assert code == 0
    results = {check["check"]: check["result"] for check in report["checks"]}
    assert list(results)[:2] == ["start", "extension_is_enabled"]
    assert list(results)[-1] == "shutdown"
    assert set(results.values()) == {"pass"}
    assert report["versions"]["isaac_sim"] == version
    assert report["versions"]["kit"]
    assert report["starts_of_isaac_sim"] == 1
    assert report["gpus"]
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1] == f"pegasus: the report is {tmp_path / 'sent' / 'report.json'}"
    assert "pass  load_add_fly" in shown


def test_each_fault_is_reported_and_the_rest_is_run(tmp_path):
    """A test that hangs or crashes Isaac Sim would end the self-test without a report."""
    code, report = report_of(tmp_path, NEWEST, "Planted", blocks=2.0)
    assert code == 1
    checks = {check["check"]: check for check in report["checks"]}
    told = {name: (check["result"], check.get("message", "")) for name, check in checks.items()}
    assert told["passes"][0] == "pass"
    assert checks["passes"]["figures"] == {"figure": 0.125}
    result, message = told["fails"]
    assert result == "fail"
    assert message.startswith("AssertionError: assert self.figures (selftest_user.py:")
    assert told["awaits_for_ever"] == ("fail", told["awaits_for_ever"][1])
    assert "did not end within 1 s" in told["awaits_for_ever"][1]
    assert told["blocks"] == ("fail", "did not end within 2 s, and was killed")
    assert told["crashes"] == ("fail", "Isaac Sim ended with exit code 7")
    assert told["is_skipped"] == ("skip", "lacks a part")
    assert told["shutdown"] == ("fail", "Isaac Sim ended with exit code 3")
    # Once for each process that was lost.
    assert report["starts_of_isaac_sim"] == 3


def test_an_isaac_sim_that_does_not_start(tmp_path):
    """It would be started again and again, or the report lack the checks that were not run."""
    code, report = report_of(tmp_path, "7.0.0")
    assert code == 1
    assert [(check["check"], check["result"]) for check in report["checks"]] == [
        ("start", "fail"),
        ("shutdown", "fail"),
    ]
    assert report["checks"][0]["message"] == "Isaac Sim ended with exit code 1"
    assert report["starts_of_isaac_sim"] == 1


def test_isaac_sim_is_started_with_the_extension(tmp_path, monkeypatch):
    """The tests would run without the extension, or options not reach Isaac Sim."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv(selftest.EVENTS_VARIABLE, str(tmp_path / "events"))
    monkeypatch.setattr(sys, "argv", ["selftest", "--headless"])
    calls = []
    monkeypatch.setattr(selftest_in_kit, "start", lambda **options: calls.append(options))
    monkeypatch.setattr(selftest_in_kit, "run", lambda file, _: calls.append(file))
    selftest_in_kit.main(["--headless", "--active-gpu", "1", "--", "--/a=1"])
    options, file = calls
    assert options["headless"]
    assert options["active_gpu"] == 1
    own = ("--ext-folder", str(extension_folder()), "--enable", "omni.kit.test", "--enable", EXTENSION_NAME)
    assert options["arguments"] == (*own, "--/a=1")
    assert file == tmp_path / "events"
    assert sys.argv == ["selftest"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--selftest", "--gui"], "--gui: is for flights; omit it or --selftest"),
        (["--selftest", "first_flight"], "first_flight: is for flights"),
        (["--report", "mine.json"], "--report: is for the self-test"),
    ],
)
def test_what_would_not_count_is_refused(tmp_path, monkeypatch, capsys, line, said):
    """An option without effect would be accepted."""
    monkeypatch.setenv("ISAACSIM_PATH", str(unpacked(tmp_path)))
    assert command.main(line) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert said in error


def test_the_command(tmp_path, monkeypatch, capsys):
    """The command would run another module, lose options, or write no report."""
    monkeypatch.setenv("ISAACSIM_PATH", str(unpacked(tmp_path / "isaac")))
    assert command.main(["--selftest", "--headless", "--renderer", "PathTracing", "--dry-run"]) == 0
    assert capsys.readouterr().out.split()[1:] == [
        *("-m", "pegasus.isaac.selftest_in_kit", "--headless", "--renderer", "PathTracing"),
    ]
    # This Python only notes its arguments, so the self-test ends at once.
    monkeypatch.chdir(tmp_path)
    assert command.main(["--selftest", "--report", "mine.json"]) == 1
    report = json.loads(Path("mine.json").read_text())
    assert report["checks"][0]["message"] == "Isaac Sim ended with exit code 0"
