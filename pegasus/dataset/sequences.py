"""Writers of sequences for odometry and mapping: EuRoC MAV and TUM RGB-D, one folder per scene."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import yaml

from pegasus.base.arrays import Array
from pegasus.base.frames import matrix_from_quaternion
from pegasus.dataset.writer import DatasetWriter, png
from pegasus.design.kalibr import ChainCamera, chain, kalibr_distortion
from pegasus.labels.annotations import LabelledFrame, distance_to_image_plane

_TUM_DEPTH = 5000.0
"""Units of TUM's depth images per metre."""
_IMU_FIELDS = (
    "rate_hz",
    *("gyroscope_noise_density", "gyroscope_random_walk"),
    *("accelerometer_noise_density", "accelerometer_random_walk"),
)
"""Fields of EuRoC's `imu0/sensor.yaml`, in the order of `ImuTrack.noise`."""
_EUROC_MODELS = {"plumb_bob": "radial-tangential", "kannala_brandt": "equidistant"}


class SequenceWriter(DatasetWriter, ABC):
    """Writer of one folder per scene."""

    holds_occlusion = False

    def dataset_files(self, records: Sequence[dict[str, Any]]) -> dict[str, bytes]:
        """Return the tables of all sequences."""
        files: dict[str, str] = {}
        for scene, group in groupby(records, key=lambda record: int(record["scene"])):
            frames = sorted(group, key=lambda record: float(record["stamp"]))
            tracks = [frame["imu"] for frame in frames if frame["imu"] is not None]
            tables = self._tables(frames, tracks)
            files |= {f"{_folder(scene)}/{name}": text for name, text in tables.items()}
        return {name: text.encode() for name, text in files.items()}

    @abstractmethod
    def _tables(self, frames: list[dict[str, Any]], tracks: list[dict[str, Any]]) -> dict[str, str]:
        """Return the texts of a sequence's tables by name.

        Args:
            frames: Records of its frames in the order of time.
            tracks: Readings of the IMU before each frame.
        """


class EurocWriter(SequenceWriter):
    """Writer of the ASL layout: `sequence_NNNN/mav0` with cameras, IMU and ground truth.

    Times are in nanoseconds, poses those of the body. Ground truth stands at the readings of the IMU, with
    its biases, or at the frames, with biases of 0, where there is no IMU.
    """

    layout = (
        "EuRoC (ASL): `sequence_NNNN/mav0/cam0/data.csv`, `imu0/data.csv` and "
        "`state_groundtruth_estimate0/data.csv` (time, position, quaternion wxyz, velocity of the body, "
        "biases of the IMU). `T_BS` of `sensor.yaml` is sensor to body. `imu.yaml` and `camchain.yaml` "
        "beside `mav0` are the same calibration for Kalibr."
    )

    def files(self, index: int, frames: Sequence[LabelledFrame], own: dict[str, Any]) -> dict[str, bytes]:
        """Return the contents of a frame's files by path."""
        name = f"{_nanoseconds(frames[0].stamp):019d}.png"
        own["resolution"] = {frame.camera: frame.view.resolution for frame in frames}
        folder = _folder(frames[0].scene)
        return {f"{folder}/mav0/cam{k}/data/{name}": png(frame.rgb) for k, frame in enumerate(frames)}

    def _tables(self, frames: list[dict[str, Any]], tracks: list[dict[str, Any]]) -> dict[str, str]:
        files: dict[str, str] = {}
        times = [_nanoseconds(frame["stamp"]) for frame in frames]
        for k, camera in enumerate(self.cameras):
            rows = ((time, f"{time:019d}.png") for time in times)
            files[f"mav0/cam{k}/data.csv"] = _table("#timestamp [ns],filename", rows)
            rate = 1e9 / (times[1] - times[0]) if len(times) > 1 else 0.0
            files[f"mav0/cam{k}/sensor.yaml"] = _camera_yaml(frames[0], camera, rate)
        if tracks:
            names = "time", "angular_velocity", "specific_force"
            readings = ((_nanoseconds(t), *w, *f) for track in tracks for t, w, f in _rows(track, names))
            heading = "#timestamp [ns],w_x [rad s^-1],w_y,w_z,a_x [m s^-2],a_y,a_z"
            files["mav0/imu0/data.csv"] = _table(heading, readings)
            content = {"sensor_type": "imu", "T_BS": _matrix_yaml(np.array(tracks[0]["mount"]))}
            content |= dict(zip(_IMU_FIELDS, tracks[0]["noise"], strict=True))
            files["mav0/imu0/sensor.yaml"] = yaml.safe_dump(content, sort_keys=False)
            files |= _kalibr_files(frames[0], self.cameras, tracks[0])
        state = "position", "orientation", "velocity"
        columns = "time", *state, "gyroscope_bias", "accelerometer_bias"
        truth = [row for track in tracks for row in _rows(track, columns)] or [
            (frame["stamp"], *(frame["body"][name] for name in state), (0.0,) * 3, (0.0,) * 3)
            for frame in frames
        ]
        heading = (
            "#timestamp [ns],p_RS_R_x [m],p_RS_R_y,p_RS_R_z,q_RS_w,q_RS_x,q_RS_y,q_RS_z,"
            "v_RS_R_x [m s^-1],v_RS_R_y,v_RS_R_z,b_w_RS_S_x [rad s^-1],b_w_RS_S_y,b_w_RS_S_z,"
            "b_a_RS_S_x [m s^-2],b_a_RS_S_y,b_a_RS_S_z"
        )
        states = ((_nanoseconds(t), *p, q[3], *q[:3], *v, *w, *f) for t, p, q, v, w, f in truth)
        files["mav0/state_groundtruth_estimate0/data.csv"] = _table(heading, states)
        return files


class TumWriter(SequenceWriter):
    """Writer of TUM's RGB-D layout: `sequence_NNNN` with colours, depth, poses and accelerations.

    Poses are those of the camera (optical frame). Depth is in 1/5000 m along the axis, 0 beyond 13.1 m.
    """

    most_cameras = 1
    layout = (
        "TUM RGB-D: `sequence_NNNN/rgb.txt`, `depth.txt` (16-bit images, 5000 per metre, 0 beyond 13.1 m), "
        "`groundtruth.txt` (time, position, quaternion xyzw of the camera) and `accelerometer.txt`."
    )

    def files(self, index: int, frames: Sequence[LabelledFrame], own: dict[str, Any]) -> dict[str, bytes]:
        """Return the contents of a frame's files by path."""
        frame = frames[0]
        assert frame.images.distance is not None
        depth = _TUM_DEPTH * distance_to_image_plane(frame.images.distance, frame.directions)
        stored = (
            np.where((depth > 0) & (depth <= np.iinfo(np.uint16).max), depth, 0.0).round().astype(np.uint16)
        )
        folder, name = _folder(frame.scene), f"{frame.stamp:.6f}.png"
        return {f"{folder}/depth/{name}": png(stored), f"{folder}/rgb/{name}": png(frame.rgb)}

    def _tables(self, frames: list[dict[str, Any]], tracks: list[dict[str, Any]]) -> dict[str, str]:
        files: dict[str, str] = {}
        stamps = [f"{frame['stamp']:.6f}" for frame in frames]
        for kind in ("rgb", "depth"):
            rows = ((stamp, f"{kind}/{stamp}.png") for stamp in stamps)
            files[f"{kind}.txt"] = _table("# timestamp filename", rows, " ")
        poses = [frame["cameras"][self.cameras[0]] for frame in frames]
        truth = (
            (stamp, *pose["position"], *pose["orientation"])
            for stamp, pose in zip(stamps, poses, strict=True)
        )
        files["groundtruth.txt"] = _table("# timestamp tx ty tz qx qy qz qw", truth, " ")
        if tracks:
            names = "time", "specific_force"
            forces = ((f"{t:.6f}", *force) for track in tracks for t, force in _rows(track, names))
            files["accelerometer.txt"] = _table("# timestamp ax ay az", forces, " ")
        return files


def _folder(scene: int) -> str:
    return f"sequence_{scene:04d}"


def _nanoseconds(stamp: float) -> int:
    return round(stamp * 1e9)


def _table(heading: str, rows: Iterable[Iterable[object]], separator: str = ",") -> str:
    lines = (separator.join(map(str, row)) for row in rows)
    return "".join(line + "\n" for line in (heading, *lines))


def _rows(track: dict[str, Any], names: Iterable[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(track[name] for name in names), strict=True))


def _camera_yaml(frame: dict[str, Any], name: str, rate: float) -> str:
    camera = frame["cameras"][name]
    matrix = np.array(camera["intrinsic_matrix"])
    model = camera["distortion_model"]
    content = {
        "sensor_type": "camera",
        "comment": name,
        "T_BS": _matrix_yaml(_to_body(frame, camera)),
        "rate_hz": rate,
        "resolution": list(frame["own"]["resolution"][name]),
        "camera_model": "pinhole",
        "intrinsics": [matrix[0, 0].item(), matrix[1, 1].item(), *matrix[:2, 2].tolist()],
        "distortion_model": _EUROC_MODELS.get(model, model),
        "distortion_coefficients": camera["distortion_coefficients"],
    }
    return yaml.safe_dump(content, sort_keys=False)


def _kalibr_files(frame: dict[str, Any], names: Sequence[str], track: dict[str, Any]) -> dict[str, str]:
    """Return `imu.yaml` and `camchain.yaml` of Kalibr, which rejects other lenses and no noise."""
    files: dict[str, str] = {}
    noise = dict(zip(_IMU_FIELDS, track["noise"], strict=True))
    if min(noise.values()) > 0:
        content = {"rostopic": "/imu0", "update_rate": noise.pop("rate_hz"), **noise}
        files["imu.yaml"] = yaml.safe_dump(content, sort_keys=False)
    cameras = []
    for k, name in enumerate(names):
        camera = frame["cameras"][name]
        model, coefficients = camera["distortion_model"], camera["distortion_coefficients"]
        if kalibr_distortion(model, coefficients) is None:
            return files
        matrix, size = np.array(camera["intrinsic_matrix"]), frame["own"]["resolution"][name]
        cameras.append(ChainCamera(f"/cam{k}", _to_body(frame, camera), matrix, size, model, coefficients))
    files["camchain.yaml"] = yaml.safe_dump(chain(cameras, np.array(track["mount"])), sort_keys=False)
    return files


def _to_body(frame: dict[str, Any], camera: dict[str, Any]) -> Array:
    to_body: Array = np.linalg.inv(_pose(frame["body"])) @ _pose(camera)
    return to_body


def _matrix_yaml(matrix: Array) -> dict[str, Any]:
    return {"cols": 4, "rows": 4, "data": matrix.ravel().tolist()}


def _pose(item: dict[str, Any]) -> Array:
    pose = np.eye(4)
    pose[:3, :3] = matrix_from_quaternion(np.array(item["orientation"]))
    pose[:3, 3] = item["position"]
    return pose
