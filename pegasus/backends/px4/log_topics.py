"""Topics of PX4's own log: those of a review of flights, at rates that fill 2 MB per simulated minute."""

from contextlib import suppress
from pathlib import Path

PROFILE = "SDLOG_PROFILE"
"""PX4 parameter for the sets of topics in a log; PX4's own ones for simulations fill 20 MB a minute."""

_INTERVALS = {
    20: ("vehicle_attitude", "vehicle_angular_velocity", "vehicle_rates_setpoint", "actuator_motors"),
    50: (
        *("vehicle_attitude_setpoint", "vehicle_local_position", "trajectory_setpoint", "sensor_combined"),
        *("vehicle_thrust_setpoint", "vehicle_torque_setpoint", "manual_control_setpoint"),
        *("vehicle_attitude_groundtruth", "vehicle_local_position_groundtruth"),
    ),
    100: (
        *(
            "vehicle_local_position_setpoint",
            "vehicle_global_position",
            "vehicle_global_position_groundtruth",
        ),
        *("sensor_gps", "vehicle_air_data", "vehicle_magnetometer", "airspeed_validated", "distance_sensor"),
        *("actuator_outputs", "actuator_servos", "vehicle_optical_flow", "vehicle_visual_odometry"),
    ),
    200: (
        *("battery_status", "estimator_status", "estimator_innovations", "estimator_innovation_test_ratios"),
        *("estimator_innovation_variances", "estimator_status_flags", "hover_thrust_estimate", "wind"),
    ),
    1000: (
        *("estimator_sensor_bias", "estimator_event_flags", "vehicle_imu_status", "sensors_status_imu"),
        *("cpuload", "telemetry_status", "position_setpoint_triplet", "input_rc", "failsafe_flags"),
    ),
    0: (
        *("vehicle_status", "vehicle_control_mode", "vehicle_land_detected", "vehicle_command", "event"),
        *("vehicle_command_ack", "failure_detector_status", "home_position", "mission_result"),
        *("offboard_control_mode", "takeoff_status", "parameter_update", "sensor_selection"),
    ),
}
"""Names of topics by the smallest time between two entries [ms]; 0 for each change."""


def prepare_folder(directory: Path, data: Path, *, reduced: bool) -> None:
    """Make the folder `etc` of a PX4, which otherwise becomes a link to that of its build.

    PX4 reads the list of topics from it. A folder that cannot be written is reported at the start of PX4.

    Args:
        directory: Working directory of the PX4.
        data: The folder `etc` of its build.
        reduced: Whether it logs the topics of this module; those of `PROFILE` otherwise.
    """
    own = directory / "etc"
    topics = own / "logging" / "logger_topics.txt"
    with suppress(OSError):
        if own.is_symlink():
            own.unlink()
        topics.parent.mkdir(parents=True, exist_ok=True)
        for entry in data.iterdir():
            link = own / entry.name
            if link.is_symlink():
                link.unlink()
            if not link.exists():
                link.symlink_to(entry)
        # The first instance: PX4 takes 255 topics, and would reserve ten instances of each.
        lines = [f"{name} {interval} 0\n" for interval, names in _INTERVALS.items() for name in names]
        topics.write_text("".join(lines) if reduced else "", encoding="utf-8")
