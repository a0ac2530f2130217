"""Columns of the error-state filter, and the order of its states."""

from dataclasses import dataclass

from pegasus.base.step_math import Column, Mat33, Quat, Real, Table, Vec3
from pegasus.environment.atmosphere import AtmosphereParameters
from pegasus.environment.geodesy import Geodetic

ATTITUDE, VELOCITY, POSITION, RATE_BIAS, FORCE_BIAS, CORE = 0, 3, 6, 9, 12, 15
"""First states of the errors of attitude, velocity, position and biases, and their number.

The error is true less estimated. That of the attitude is a rotation vector in the world [rad]: the true
rotation is exp(error) times the estimated one. The biases are in the body frame.
"""
FIX, PRESSURE, FIELD, DISTANCE, FLOW, POSE, ANCHORS, REST, AIRSPEED, DRAG = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
"""Sources of measurements; `REST`: the vehicle stands until its filter is ready, `DRAG`: force across z."""
SOURCE_COUNT = 10
ALIGNING, WAITING, READY = 0, 1, 2
"""Phases: at rest for the first attitude, without a first position, and estimating."""


@dataclass(frozen=True)
class FilterParameters:
    """Numbers of a filter."""

    size: int
    """Number of states n."""
    lag: int
    """Readings of the IMU that the filter is behind, so that late readings come in time."""
    used: tuple[float, ...]
    """1 for each source of measurements that there is."""
    mounting: Quat
    """Frame of the IMU to body frame."""
    arm: Vec3
    """Position of the IMU in the body frame [m]."""
    rate_variance: float
    """Variance of the white noise of a reading of the gyroscope [rad^2/s^2]."""
    force_variance: float
    """Variance of the white noise of a reading of the accelerometer [m^2/s^4]."""
    rate_drive: float
    """Variance that a reading adds to the bias of the gyroscope [rad^2/s^2]."""
    force_drive: float
    """Variance that a reading adds to the bias of the accelerometer [m^2/s^4]."""
    rate_bias_variance: float
    """Variance of the bias of the gyroscope at the start [rad^2/s^2]."""
    force_bias_variance: float
    """Variance of the bias of the accelerometer at the start [m^2/s^4]."""
    known: int
    """1 if the filter starts from the true state."""
    samples: int
    """Readings of the IMU at rest for the first attitude."""
    rest_rate: float
    """Largest measured angular rate of a vehicle at rest [rad/s]."""
    rest_force: float
    """Largest difference of the specific force of a vehicle at rest to gravity [m/s^2]."""
    gate: float
    """Square of the gate of innovations, in standard deviations; infinite for none."""
    gps_refusals: int
    """Solutions of GPS beyond the gate, in a row, after which the position is begun anew; 0 for never."""
    position_variance: Vec3
    """Variance of the position at the start [m^2]."""
    scale: int
    """First of six states: relative errors of the scales of gyroscope and accelerometer along the axes of the
    IMU; below 0 if they are none."""
    scale_variance: tuple[float, ...]
    """Their variances at the start; none without them."""
    wind: int
    """First of two states: velocity of the air east and north [m/s]; below 0 if they are none."""


@dataclass(frozen=True)
class GpsErrors:
    """Errors of GPS, which are states: of position and velocity, per axis."""

    first: int
    """First of six states: errors of position [m], then of velocity [m/s]."""
    scale: Vec3
    """Stationary standard deviation of the states of the position error; the others are for 1."""
    covariance: float
    variance: float
    """Stationary covariance [m^2/s] and variance of the velocity error [m^2/s^2]."""
    keep_position: float
    coupling: float
    keep_velocity: float
    """Transition over the time of a reading."""
    drive_position: float
    drive_shared: float
    drive_velocity: float
    """Variances and covariance that a reading adds."""
    position_variance: Vec3
    """Variance of the white noise on position [m^2]."""
    velocity_variance: Vec3
    """Variance of the white noise on velocity [m^2/s^2]."""


@dataclass(frozen=True)
class BarometerErrors:
    """Errors of a barometer, with its weather as a state."""

    first: int
    """State of the drift [m]."""
    standard: AtmosphereParameters
    origin_altitude: float
    """Altitude of the world's origin [m]."""
    phi: float
    drive: float
    """Transition over the time of a reading, and variance that it adds [m^2]."""
    variance: float
    """Variance of the drift at the start [m^2]."""
    white_variance: float
    """Variance of the white noise on altitude [m^2]."""


@dataclass(frozen=True)
class MagnetometerErrors:
    """Errors of a magnetometer, whose iron is calibrated, with its bias as states."""

    first: int
    """First of three states [T]."""
    soft_x: Vec3
    soft_y: Vec3
    soft_z: Vec3
    """Rows of the soft-iron matrix."""
    hard: Vec3
    """Field of permanent magnets [T]."""
    phi: float
    drive: float
    """Transition over the time of a reading, and variance that it adds [T^2]."""
    variance: float
    """Variance of the bias at the start [T^2]."""
    white_variance: float
    """Variance of the white noise [T^2]."""


@dataclass(frozen=True)
class GroundModel:
    """Ground below a vehicle, whose height is a state."""

    first: int
    """State of its height [m]."""
    roughness: float
    """Variance that a metre of way adds [m^2/m]."""
    clearance: float
    """Height of the body's origin over the ground at the start [m]."""
    variance: float
    """Variance of that at the start [m^2]."""


@dataclass(frozen=True)
class RangeErrors:
    """Place and errors of a rangefinder."""

    place: Vec3
    """Position in the body frame [m]."""
    direction: Vec3
    """Direction of the beam in the body frame, of length 1."""
    half_cone: float
    """Angle from the axis of the cone to its rim [rad]; 0 for a beam."""
    period: float
    """Time between two readings [s]."""
    least: float
    most: float
    """Smallest and largest distance that it measures [m]."""
    noise: float
    proportional: float
    """Standard deviation of the noise at a distance of zero [m], and its increase per metre."""


@dataclass(frozen=True)
class FlowErrors:
    """Place and errors of a camera of optical flow."""

    place: Vec3
    """Position in the body frame [m]."""
    least: float
    most: float
    """Smallest and largest distance that it measures [m]."""
    variance: float
    """Variance of the flow, without rotation, after 1 s [rad^2/s]."""
    distance_variance: float
    """Variance of the noise on the distance [m^2]."""


@dataclass(frozen=True)
class PoseErrors:
    """Errors of an odometry, of which displacement and rotation of its frame are states."""

    first: int
    """First of four states: displacement [m] and rotation [rad]."""
    phi: float
    """Share of the drift that remains after a reading."""
    drive: Vec3
    yaw_drive: float
    """Variances that a reading adds [m^2], [rad^2]."""
    variance: Vec3
    yaw_variance: float
    """Stationary variances [m^2], [rad^2]."""
    position_variance: float
    orientation_variance: float
    velocity_variance: float
    """Variances of the white noise [m^2], [rad^2], [m^2/s^2]."""


@dataclass(frozen=True)
class UwbErrors:
    """Place and noise of an ultra-wideband tag."""

    place: Vec3
    """Position in the body frame [m]."""
    count: int
    """Number of anchors."""
    variance: float
    """Variance of the noise on a distance [m^2]."""


@dataclass(frozen=True)
class AirspeedErrors:
    """Mounting and errors of a pitot tube, whose zero drifts."""

    first: int
    """State of the drift [Pa]."""
    axis: Vec3
    """Direction in the body frame, of length 1."""
    phi: float
    drive: float
    """Transition over the time of a reading, and variance that it adds [Pa^2]."""
    variance: float
    """Variance of the drift at the start [Pa^2]."""
    white_variance: float
    """Variance of the white noise [Pa^2]."""


@dataclass(frozen=True)
class AirModel:
    """Wind, a random walk, and the drag of a vehicle along its x and y axes by its mass, c v + d v^2."""

    variance: float
    """Variance of the wind at the start [m^2/s^2]."""
    drive: float
    """Variance that a reading of the IMU adds [m^2/s^2]."""
    linear: Vec3
    """c in hover [1/s]."""
    quadratic: Vec3
    """d [1/m]."""
    drag_variance: float
    """Variance of the error of this law and of the noise of the accelerometer [m^2/s^4]."""


@dataclass
class FilterRows:
    """Columns of the filters of the copies of a vehicle; parameters and signals have one row for all."""

    p: Column[FilterParameters]
    origin: Column[Geodetic]
    """Geographic position of the world's origin."""
    gps: Column[GpsErrors]
    barometer: Column[BarometerErrors]
    magnetometer: Column[MagnetometerErrors]
    ground: Column[GroundModel]
    range: Column[RangeErrors]
    flow: Column[FlowErrors]
    pose: Column[PoseErrors]
    uwb: Column[UwbErrors]
    airspeed: Column[AirspeedErrors]
    air: Column[AirModel]
    anchor: Column[Vec3]
    """Positions of the anchors in the world [m]; one row each."""
    newest: Column[int]
    """Slot of the newest reading of the IMU."""
    oldest: Column[int]
    """Slot of the reading that the filter takes now."""
    dt: Column[Real]
    """Time between two readings of the IMU, by slot [s]."""
    due: Column[int]
    """1 for each source whose reading is used now."""
    age: Column[Real]
    """Time from that reading to the state of the filter [s]."""
    passed: Column[int]
    """Readings that have passed since the last one that was used, 1 without gaps; 0 for the first."""
    measured_rate: Column[Vec3]
    measured_force: Column[Vec3]
    """Newest reading of the IMU, in its frame [rad/s], [m/s^2]."""
    field_is_new: Column[int]
    newest_field: Column[Vec3]
    """Newest reading of the magnetometer [T], and 1 if it is new."""
    gravity: Column[Vec3]
    """Acceleration of free fall in the world [m/s^2]."""
    earth_field: Column[Vec3]
    """Magnetic field in the world [T]."""
    rate: Table[Vec3]
    force: Table[Vec3]
    """Readings of the IMU by slot, of the body's origin and in its frame [rad/s], [m/s^2]."""
    last_rate: Column[Vec3]
    """Angular rate of the reading before [rad/s]."""
    phase: Column[int]
    lag: Column[int]
    """Readings of the IMU from the state of the filter to the newest."""
    sample_count: Column[int]
    field_count: Column[int]
    mean_rate: Column[Vec3]
    mean_force: Column[Vec3]
    mean_field: Column[Vec3]
    """Numbers of readings at rest, and their sums."""
    start_position: Column[Vec3]
    start_velocity: Column[Vec3]
    start_orientation: Column[Quat]
    """State from which a filter starts whose start is known; otherwise the position only."""
    q: Column[Quat]
    v: Column[Vec3]
    r: Column[Vec3]
    """State of the filter: orientation, velocity [m/s] and position [m]."""
    rate_bias: Column[Vec3]
    force_bias: Column[Vec3]
    """Estimated biases in the body frame [rad/s], [m/s^2]."""
    error: Table[Real]
    """Estimates of the errors of other sensors, by state."""
    covariance: Table[Real]
    """Covariance of the errors, row by row."""
    cross: Table[Real]
    gain: Table[Real]
    """Room for a measurement: covariances with it, and gains."""
    window_turn: Column[Quat]
    window_velocity: Column[Vec3]
    window_shift: Column[Vec3]
    window_time: Column[Real]
    """Motion from the state of the filter to the newest reading, without gravity: rotation, and in the body
    frame of its start change of velocity [m/s] and of position [m]; its length [s]."""
    window_rate_bias: Column[Vec3]
    window_force_bias: Column[Vec3]
    """Biases of that motion."""
    window_rate_gain: Column[Vec3]
    window_force_gain: Column[Vec3]
    """Factors of the readings of that motion, by the errors of scale."""
    gps_position: Column[Vec3]
    gps_velocity: Column[Vec3]
    gps_valid: Column[int]
    gps_share: Column[Vec3]
    gps_changed: Column[int]
    gps_spread: Column[Vec3]
    """Solution of the GPS: position [m], velocity in local axes [m/s], 1 for a full fix, errors by the states
    of its errors, 1 if these are others than before, further deviation of the position [m]."""
    gps_refusals: Column[int]
    """Solutions in a row whose horizontal position was beyond the gate."""
    pressure: Column[Real]
    """Pressure by the barometer [Pa]."""
    field: Column[Vec3]
    """Field by the magnetometer [T]."""
    range_distance: Column[Real]
    range_valid: Column[int]
    """Distance by the rangefinder [m], and 1 if it is one of the ground."""
    refusals: Column[int]
    """Distances in a row that were beyond the gate."""
    flow_angle: Column[Vec3]
    flow_distance: Column[Real]
    flow_valid: Column[int]
    """Flow about x and y since the reading before, without rotation [rad]; distance to the ground [m], below
    0 for none; 1 for a flow of any quality."""
    flow_time: Column[Real]
    """Time since the reading before [s]; one row."""
    flow_before: Column[Vec3]
    """Flow about x and y that was expected at the reading before [rad/s], and distance [m]; 0 for none."""
    pose_position: Column[Vec3]
    pose_orientation: Column[Quat]
    pose_velocity: Column[Vec3]
    """Odometry: position [m], orientation and velocity [m/s] in its frame."""
    pose_reset: Column[int]
    """1 if the frame of the odometry is another one than before; one row."""
    newest_pose: Column[Quat]
    """Newest orientation by odometry."""
    pivot: Column[Vec3]
    """Position about which its frame rotates [m]."""
    air_density: Column[Real]
    """Density of the air [kg/m^3]; 0 without states of the wind."""
    pressure_difference: Column[Real]
    """Differential pressure of the pitot tube [Pa]."""
    airborne: Column[int]
    """1 for a vehicle that has touched nothing for a while."""
    uwb_distance: Table[Real]
    uwb_valid: Table[int]
    """Distances to the anchors [m], and 1 for those that were measured."""
    nis: Table[Real]
    """Normalized innovation squared of the last reading of each source, and NaN before."""
    used_count: Table[int]
    rejected_count: Table[int]
    """Measured numbers of each source that were used, and that were beyond the gate."""
    attitude_sigma: Column[Vec3]
    velocity_sigma: Column[Vec3]
    position_sigma: Column[Vec3]
    """Standard deviations of the present state, when they were last asked for [rad], [m/s], [m]."""
    ready: Column[int]
    """1 for a filter whose estimate can be flown on."""
    position: Column[Vec3]
    velocity: Column[Vec3]
    orientation: Column[Quat]
    rotation: Column[Mat33]
    angular_velocity: Column[Vec3]
    acceleration: Column[Vec3]
    angular_acceleration: Column[Vec3]
    """Estimate of the present state."""
