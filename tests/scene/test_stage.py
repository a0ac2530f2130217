"""Tests of opening USD files and of the errors of failures."""

from pathlib import Path

import numpy as np
import pytest
from gltf_model import Model
from pxr import Tf, Usd, UsdGeom

from pegasus.base.errors import ConfigError
from pegasus.scene.stage import Notices, open_stage, quiet, scene_files, stage_frame
from pegasus.scene.translation import translate

CUBE = 'def Cube "Box" {}\n'
HEADER = '#usda 1.0\n( metersPerUnit = 1\n  upAxis = "Z" )\n'


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    """A path that does not exist would show as an OpenUSD traceback."""
    with pytest.raises(ConfigError, match=r"nowhere\.usda: no such USD file") as caught:
        open_stage(tmp_path / "nowhere.usda")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("broken.usda", '#usda 1.0\ndef Xform "a" {\n  double x = \n}\n', "not valid USD: 3:3"),
        ("empty.usda", "", "not valid USD"),
        ("prose.usda", "hello", "not valid USD"),
        ("crate.usdc", "PXR-USDC" + "\0" * 100, "not valid USD"),
        ("zip.usdz", "PK" + "\0" * 100, "the file is damaged"),
        ("model.obj", "v 0 0 0", "is a Wavefront OBJ model, not a USD or glTF file"),
        ("model.txt", "hello", "is not a USD or glTF file"),
        ("bare.usda", HEADER + 'def Xform "a" {}\n', "holds no geometry"),
    ],
)
def test_what_is_no_usable_stage_is_one_line_and_all_that_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, content: str, reason: str
) -> None:
    """OpenUSD's own diagnostics would reach the user's terminal, or the reason would be lost."""
    path = write(tmp_path / name, content)
    with pytest.raises(ConfigError) as caught:
        open_stage(path)
    assert reason in str(caught.value)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_unresolved_references_and_sublayers_are_warnings(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A world with a missing part would not load, or lack the part without a warning."""
    path = write(
        tmp_path / "world.usda",
        '#usda 1.0\n( metersPerUnit = 1\n  upAxis = "Z"\n  subLayers = [@./below.usda@] )\n'
        + CUBE
        + 'def Xform "Gone" ( references = @./gone.usda@ ) {}\n',
    )
    warnings = "\n".join(translate(path).warnings)
    assert "below.usda" in warnings
    assert "gone.usda" in warnings
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("beside", ["", CUBE])
def test_a_remote_payload_out_of_reach_is_a_line(tmp_path: Path, beside: str) -> None:
    """A world whose payload is at a server could not be flown in without network."""
    path = write(
        tmp_path / "world.usda",
        HEADER + beside + 'def Xform "Far" ( payload = @https://example.invalid/far.usd@ ) {}\n',
    )
    scene = translate(path)
    assert any("example.invalid/far.usd" in line for line in scene.warnings)
    assert len(scene.instances) == bool(beside)


def test_openusd_prints_again_once_it_need_not_be_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    """OpenUSD's diagnostics would stay suppressed after their capture."""
    notices = Notices()
    with quiet(notices):
        Tf.Warn("of\n this  block")
    assert capfd.readouterr() == ("", "")
    assert notices.lines() == ["of this block"]
    Tf.Warn("afterwards")
    assert "afterwards" in capfd.readouterr().err
    assert notices.lines() == ["of this block"]


def test_resolved_references_are_followed(tmp_path: Path) -> None:
    """Geometry behind a reference would be missing."""
    write(tmp_path / "part.usda", HEADER.replace("( ", '( defaultPrim = "Box"\n  ') + CUBE)
    path = write(tmp_path / "world.usda", HEADER + 'def "Part" ( references = @./part.usda@ ) {}\n')
    scene = translate(path)
    assert [instance.path for instance in scene.instances] == ["/Part"]
    assert scene.source == str(path)


@pytest.mark.parametrize(("rate", "expected"), [(-1.0, 1), (0.0, 1), (24.0, 0)])
def test_a_rate_of_time_codes_that_runs_backwards_is_a_line(rate: float, expected: int) -> None:
    """A moving mesh would stand at the end of its way without a word."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.Cube.Define(stage, "/Box")
    stage.SetTimeCodesPerSecond(rate)
    lines = [line for line in translate(stage).warnings if "timeCodesPerSecond" in line]
    assert len(lines) == expected
    assert all(f"is {rate:g}, not above 0" in line for line in lines)


def test_a_stage_without_units_falls_back_as_openusd_says() -> None:
    """A file without units would have a wrong scale without a warning."""
    notices = Notices()
    frame = stage_frame(Usd.Stage.CreateInMemory(), notices)
    assert frame.meters_per_unit == 0.01
    np.testing.assert_array_equal(frame.rotation @ [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    assert [line.split(": ")[1].split()[:3] for line in notices.lines()] == [
        ["metersPerUnit", "is", "not"],
        ["upAxis", "is", "not"],
    ]


def test_animated_attributes_are_read_at_their_first_sample(stage: Usd.Stage) -> None:
    """Attributes with time samples only would be ignored."""
    cube = UsdGeom.Cube.Define(stage, "/Box")
    cube.GetSizeAttr().Set(3.0, 10.0)
    UsdGeom.Xformable(cube).AddTranslateOp().Set((1.0, 2.0, 3.0), 10.0)
    scene = translate(stage)
    assert scene.geometries[scene.instances[0].geometry].vertices.max() == 1.5
    np.testing.assert_array_equal(scene.instances[0].transform[:3, 3], [1.0, 2.0, 3.0])


def test_the_same_message_is_one_line() -> None:
    """A world of a thousand moving crates would print a thousand lines."""
    notices = Notices()
    for k in range(4):
        notices.add("joint ignored", f"/J{k}")
    notices.add("joint ignored", "/J0")
    notices.add("no collider")
    notices.add("left out", "/Rope")
    assert notices.lines() == ["/J0 and 3 more: joint ignored", "no collider", "/Rope: left out"]


def test_usd_files_reference_gltf_files(tmp_path: Path) -> None:
    """A referenced glTF file would be missing, or turned without a word."""
    model = Model()
    model.mesh(model.part())
    model.glb(tmp_path / "m.glb")
    parts = [f'def Xform "{name}" (references = @{file}@) {{}}\n' for name, file in
             (("A", "m.glb"), ("B", "m.glb"), ("C", "no.usd"), ("D", "no.usd"))]  # fmt: skip
    path = write(tmp_path / "w.usda", HEADER + "".join(parts))
    scene = translate(path)
    assert [item.path.split("/")[1] for item in scene.instances] == ["A", "B"]
    assert [line for line in scene.warnings if "y up: turn and scale it" in line]
    (missing,) = [line for line in scene.warnings if "no.usd" in line]
    assert missing.startswith("/C and 1 more: ")
    assert scene_files(path) == [path, tmp_path / "m.glb"]
