"""Models of the files that users write: vehicles, worlds and scenarios."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from pegasus.base.arrays import Array
from pegasus.base.components import Positive, StrictModel, Vec3, finite_angles
from pegasus.base.errors import ConfigError
from pegasus.base.system import REMOTE
from pegasus.base.validation import config_error
from pegasus.config.airframe_specs import (
    JointSpec,
    PropellerSpec,
    PropulsionSpec,
    SurfaceMount,
    WheelSpec,
    channel_name,
)
from pegasus.config.autopilot_specs import ArduPilotSpec, PX4Spec
from pegasus.config.light_specs import LightSpec
from pegasus.config.mover_specs import MoverSpec
from pegasus.config.rotor_specs import RotorList, RotorRing, Rotors, RotorSpec

Component = dict[str, Any]
"""A mapping with `model` and that model's parameters; see `pegasus.base.components.build`."""

M = TypeVar("M", bound=StrictModel)

_LEAST_MASS = 1e-6  # [kg]


Angle = Annotated[float, AfterValidator(lambda value: float(finite_angles("", value, ())))]

NotNegative = Annotated[float, Field(ge=0)]

Speed = Positive | Literal["max"]


Test = str | dict[str, Any]
"""Condition as text, or a region of the world by its fields."""

_KINDS = ("always", "never", "eventually", "at_end")


def _file_or_address(value: Any) -> Any:
    return Path(value) if isinstance(value, str) and not REMOTE.match(value) else value


class BodySpec(StrictModel):
    """Look and collision shape of the airframe that is drawn when no USD is named."""

    size: tuple[Positive, Positive, Positive] = (0.25, 0.25, 0.08)
    """Lengths of the central body along x, y, z [m]."""
    color: Vec3 = (0.1, 0.1, 0.12)
    """Linear RGB."""
    arm_diameter: Positive = 0.016
    """Diameter of the arms [m]."""
    form: Literal["box", "fuselage"] = "box"
    """A box with round corners, or a fuselage along its greatest length."""
    x: float = 0.0
    """Place of the central body's middle along x [m]."""
    struts: list[tuple[Vec3, Vec3]] = []
    """Rods with the arms' diameter, such as tail booms, each from one point to another [m]."""
    leg_height: Annotated[float, Field(ge=0)] = 0.06
    """Height of the landing gear below the central body [m]; 0 for none."""
    landing_gear: Literal["skids", "feet"] = "skids"
    """Skids at the sides of the body, or a foot below each motor."""
    height: float | None = None
    """Height of the central body's middle above the body's origin [m]; that of the rotors when left out."""


class VehicleSpec(StrictModel):
    """A vehicle: everything that its YAML file says."""

    name: str
    description: str = ""
    mass: Positive
    """Mass [kg]."""
    inertia: tuple[float, ...]
    """Inertia about the centre of mass [kg m^2]: xx, yy, zz, or these and xy, xz, yz (tensor entries)."""
    center_of_mass: Vec3 = (0.0, 0.0, 0.0)
    """Centre of mass in the body frame [m]."""
    usd: Path | None = None
    """The user's own model, taken as it is; relative to the YAML file. Drawn from this file when None."""
    body: BodySpec = BodySpec()
    propeller: PropellerSpec = PropellerSpec()
    rotors: Rotors
    motor: Component = {"model": "ideal"}
    thrust_curve: Component
    propulsion: dict[str, PropulsionSpec] = {}
    """Motors and propellers of rotors that differ from those of the fields above, by a name of their kind."""
    joints: dict[Annotated[str, AfterValidator(channel_name)], JointSpec] = {}
    """Hinges that servos turn, by the names of their channels."""
    surfaces: dict[str, Component] = {}
    """Wings and tails by name: model and mount, see `pegasus.config.airframe_specs.SurfaceMount`."""
    wheels: dict[str, WheelSpec] = {}
    """Wheels of the landing gear by name."""
    battery: Component | None = None
    """Battery; unlimited supply if None."""
    drag: Component | None = None
    ground_effect: Component | None = None
    """Ground effect of the rotors; none if None."""
    downwash: Component | None = None
    """The jet below it that other vehicles feel; they feel none when None."""
    sensors: dict[str, Component] = {
        "imu": {"model": "imu"},
        "gps": {"model": "gps"},
        "barometer": {"model": "barometer"},
        "magnetometer": {"model": "magnetometer"},
    }
    """Sensors by name."""
    estimator: Component | None = None
    """Estimator of the state, on which controllers fly; they fly on the true state if None."""
    px4: PX4Spec = PX4Spec()
    """Parameters for PX4."""
    ardupilot: ArduPilotSpec = ArduPilotSpec()
    """Parameters for ArduPilot."""

    def mounts(self) -> dict[str, tuple[SurfaceMount, Component]]:
        """Return place and look of each surface, and the parameters of its model, by its name.

        Raises:
            ConfigError: If a surface has a wrong field.
        """
        found = {}
        for name, described in self.surfaces.items():
            fields, model = SurfaceMount.of(described)
            try:
                found[name] = parse(fields, SurfaceMount), model
            except ConfigError as error:
                raise error.within(field=f"surfaces.{name}") from None
        return found

    @field_validator("mass")
    @classmethod
    def _mass_is_physical(cls, mass: float) -> float:
        if not mass >= _LEAST_MASS:
            raise ConfigError(f"must be at least {_LEAST_MASS:g} kg", value=mass)
        return mass

    @field_validator("inertia")
    @classmethod
    def _inertia_is_physical(cls, inertia: tuple[float, ...]) -> tuple[float, ...]:
        if len(inertia) not in (3, 6):
            raise ConfigError("must hold 3 or 6 numbers", value=inertia)
        principal = np.linalg.eigvalsh(inertia_tensor(inertia))
        if not principal[0] >= 1e-12:
            raise ConfigError(
                "principal moments must be above 0 (1e-12 kg m^2 at least)",
                value=inertia,
                remedy="give them in kg m^2",
            )
        # The triangle inequality of principal moments: no mass distribution violates it.
        if principal[0] + principal[1] < principal[2] * (1 - 1e-9):
            raise ConfigError(
                "violates the triangle inequality (the two smaller principal moments must add up to at least "
                f"the largest: {principal[0]:g} + {principal[1]:g} < {principal[2]:g})",
                value=inertia,
                remedy="no rigid body has these moments; check their order and units (kg m^2)",
            )
        return inertia

    @field_validator("rotors")
    @classmethod
    def _there_are_rotors(cls, rotors: RotorList | RotorRing) -> RotorList | RotorRing:
        if isinstance(rotors, list) and not rotors:
            raise ConfigError("must hold at least one rotor", value=rotors)
        return rotors

    @model_validator(mode="after")
    def _prims_are_of_a_model(self) -> Self:
        named = [] if isinstance(self.rotors, RotorRing) else [rotor.prim for rotor in self.rotors]
        for index, prim in enumerate(named):
            if prim is not None and self.usd is None:
                raise ConfigError(
                    "names a prim, but the vehicle has no USD model",
                    field=f"rotors.{index}.prim",
                    value=prim,
                    remedy="name the model in the field usd, or give the rotor's position",
                )
            if prim is not None and prim in named[:index]:
                raise ConfigError(
                    f"is that of rotor {named.index(prim)} already",
                    field=f"rotors.{index}.prim",
                    value=prim,
                    remedy="name each prim once",
                )
        return self

    def propeller_of(self, rotor: RotorSpec) -> PropellerSpec:
        """Return the propeller of a rotor, by its kind of propulsion."""
        kind = self.propulsion.get(rotor.propulsion or "")
        return self.propeller if kind is None else kind.propeller

    def propeller_diameters(self) -> list[float]:
        """Return the diameter of the propeller of each rotor [m]; see `rotor_list`."""
        return [self.propeller_of(rotor).diameter for rotor in self.rotor_list()]

    def rotor_list(self) -> list[RotorSpec]:
        """Return the rotors one by one.

        Raises:
            RuntimeError: If a rotor is placed by a prim whose position has not been resolved.
        """
        if isinstance(self.rotors, RotorRing):
            return self.rotors.rotors()
        placed = [rotor for rotor in self.rotors if isinstance(rotor, RotorSpec)]
        if len(placed) < len(self.rotors):
            raise RuntimeError(f"{self.name}: rotors named by prim; place them by `place_rotors` first")
        return placed


class OriginSpec(StrictModel):
    """Geographic place of the world's origin."""

    latitude: Annotated[float, Field(ge=-90, le=90)] = 38.736832
    """Latitude [deg]."""
    longitude: Annotated[float, Field(ge=-180, le=180)] = -9.137977
    """Longitude [deg]."""
    altitude: Annotated[float, Field(ge=-1000, le=85000)] = 90.0
    """Altitude above mean sea level [m]."""
    ellipsoid: Literal["sphere", "wgs84"] = "sphere"
    """Figure of the Earth, on which the world is a map."""


class SpawnPoint(StrictModel):
    """A free place to start from."""

    name: Annotated[str, Field(min_length=1)] | None = None
    """Name that is used as a position; `spawn_1` and so on, by the order of the points, when left out."""
    position: Vec3
    """Position in the world [m]."""
    heading: Angle = 0.0
    """Heading, counter-clockwise from east [rad]."""


class SteelSpec(StrictModel):
    """A steel object, which disturbs the magnetic field."""

    position: Vec3
    """Centre in the world [m]."""
    radius: Positive
    """Radius [m]; of a compact object that of the ball around it."""
    moment: Vec3 = (0.0, 0.0, 0.0)
    """Permanent magnetic moment in the world [A m^2]."""


class JammerSpec(StrictModel):
    """A jammer of satellite navigation."""

    position: Vec3
    """Position in the world [m]."""
    radius: Positive
    """Distance within which receivers lose lock, in line of sight [m]."""
    shielded_by_world: bool = False
    """Whether the signal is weakened where the scene or a vehicle blocks the line of sight to a receiver."""
    obstruction_loss: NotNegative = 13.4
    """Loss without line of sight [dB]."""


class WorldSpec(StrictModel):
    """A world: its scene, its place on Earth, its air."""

    name: str
    description: str = ""
    usd: Annotated[Path | str | None, BeforeValidator(_file_or_address)] = None
    """Scene: a file, relative to the YAML file, or an address that Isaac Sim opens."""
    generator: Component | None = None
    """Generator of the scene, in place of `usd`: its name as `model`, and its parameters."""
    origin: OriginSpec = OriginSpec()
    gravity: Component | None = None
    """Gravity; `inverse_square` on the sphere and `normal` on the ellipsoid of WGS84 when left out."""
    atmosphere: Component = {"model": "us_standard_1976"}
    magnetic_field: Component = {"model": "wmm2025"}
    lights: list[LightSpec] = []
    """Lights beside those of the scene."""
    labels: dict[str, str] = {}
    """Semantic classes by path of a prim of the scene; they hold for all below it."""
    steel: list[SteelSpec] = []
    """Steel objects, which disturb the magnetic field."""
    jammers: list[JammerSpec] = []
    """Jammers of satellite navigation."""
    wind: Component = {"model": "none"}
    """Wind; a constant one if it has no `model`, the sum of a list of winds."""
    spawn_points: list[SpawnPoint] | None = None
    """Free places to start from; those of the generator, else one above the origin, when left out."""
    paths: dict[str, list[Vec3]] = {}
    """Ways through the world by name, free of obstacles [m]."""
    movers: list[MoverSpec] = []
    """Objects that move by a function of time: platforms, doors."""

    @field_validator("spawn_points")
    @classmethod
    def _named(cls, points: list[SpawnPoint] | None) -> list[SpawnPoint] | None:
        named = [
            point.model_copy(update={"name": point.name or f"spawn_{number}"})
            for number, point in enumerate(points or (), 1)
        ]
        names = [point.name for point in named]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError("is the name of two spawn points", value=name, remedy="rename one")
        return None if points is None else named

    @field_validator("wind", mode="before")
    @classmethod
    def _named_wind(cls, wind: Any) -> Any:
        if isinstance(wind, list):
            return {"model": "sum", "parts": wind}
        return {"model": "constant", **wind} if isinstance(wind, dict) else wind

    @model_validator(mode="after")
    def _one_scene(self) -> Self:
        if (self.usd is None) == (self.generator is None):
            raise ConfigError(
                "exactly one of usd and generator must be given",
                field="usd",
                remedy="name a USD file, or a generator such as {model: town, seed: 1}",
            )
        return self


class ScenarioVehicle(StrictModel):
    """One entry of a scenario's vehicles."""

    model: str | VehicleSpec
    """Name of a vehicle, the path of a YAML file, or a description."""
    name: str | None = None
    count: Annotated[int, Field(ge=1)] = 1
    position: Vec3 | str | None = None
    """Start position [m], or the name of a spawn point; the world's first free one when left out."""
    heading: Angle | None = None
    """Heading at the start [rad]; that of the spawn point, or 0, when left out."""
    spacing: Positive | None = None
    """Distance between the copies [m]; chosen so that they do not touch when left out."""
    variation: dict[str, Any] = {}
    """Parameters that differ between the copies, by dotted field of the vehicle: lists or distributions."""
    backends: list[Component] = []
    sensors: dict[str, Component] = {}
    """Further sensors by name, in addition to those of the model."""
    estimator: Component | None = None
    """Estimator of the state, in place of that of the model."""


class RecordSpec(StrictModel):
    """Recorded data and their rates."""

    state_rate: Positive | None = None
    """States, commands and references per second [Hz]; those of every k-th step at 100 Hz or a little more
    when left out. Readings are recorded as they come."""
    readings: bool = True
    images: bool = False
    """Record camera images, which are rendered for it."""
    ros2: bool = False
    """Write a rosbag2 bag next to the log."""


_REGIONS = """
apron ceiling courtyard crossing dark_paving dark_tile field floor garden grass ground hill ivy kerb lawn
leaf light_paving light_tile manhole_cover marking meadow moss park path ramp road road_marking roof
sidewalk skylight soil steps terrace wall window
"""
REGIONS = tuple(_REGIONS.split())
"""Classes of the shipped worlds that are regions and not countable objects."""


class DatasetSpec(StrictModel):
    """Section `dataset` of a scenario file: frames, annotations and randomisers."""

    cameras: list[str] | None = None
    """Cameras whose images are written, as VEHICLE/SENSOR; all cameras of all vehicles if left out."""
    writer: str = "basic"
    """Format: a name from `pegasus.dataset.WRITERS`, or module:Class of a file beside the scenario."""
    renderer: Literal["embree", "mitsuba"] = "embree"
    """Renderer of the images: embree (fast) or mitsuba (path traced)."""
    samples: Annotated[int, Field(ge=1)] | None = None
    """Rays per pixel of the colours; those of the cameras, and at least 16 of mitsuba, if left out."""
    frames_per_scene: Annotated[int, Field(ge=1)] | None = None
    """Frames of each randomised scene and flight; if left out 10, or in sequences all of the flight."""
    frame_rate: Positive | None = None
    """Frames per second of sequences [Hz]; frames are spread evenly over each flight if left out."""
    start: Annotated[float, Field(ge=0)] = 0.0
    """Simulated time of the first frame at the earliest [s]."""
    classes: list[str] | None = None
    """Labelled classes; those of the first scene and of all vehicles if left out."""
    regions: list[str] | None = None
    """Classes that are regions: they have segmentation, but neither instances nor boxes; `REGIONS` if left
    out."""
    annotators: list[str] | None = None
    """Annotations that the basic writer writes; all if left out."""
    occlusion: bool = True
    """Compute occlusion ratios, if the writer holds them (slow in worlds with many objects)."""
    randomizers: dict[str, dict[str, Any]] = {}
    """Randomisers by a name of your choice, applied in order."""


class ExpectationSpec(StrictModel):
    """What is expected of vehicles: exactly one of `always`, `never`, `eventually` and `at_end`."""

    always: Test | None = None
    """Condition at all times: a comparison such as `height < 20`, or a region with `box`, `center` and
    `radius`, `lowest` or `highest`."""
    never: Test | None = None
    """Condition that is never fulfilled."""
    eventually: Test | None = None
    """Condition at one time at least."""
    at_end: Test | None = None
    """Condition at the end of the flight."""
    vehicle: str | None = None
    """Name of the vehicle; all if left out."""
    after: NotNegative = 0.0
    """Earliest time [s]."""
    before: NotNegative | None = None
    """Latest time [s]; the end of the flight when left out."""
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of the copies that must fulfil it."""
    name: str | None = None
    """Name in reports; the condition when left out."""

    @model_validator(mode="before")
    @classmethod
    def _always(cls, content: Any) -> Any:
        return {"always": content} if isinstance(content, str) else content

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ConfigError(
                f"must have exactly one of {', '.join(_KINDS)}",
                value=" and ".join(given) or None,
                remedy="such as {always: tracking_error < 0.3, after: 2.0}",
            )
        return self

    def stated(self) -> tuple[str, str | dict[str, Any]]:
        """Return the kind of the expectation and its condition."""
        kind = next(kind for kind in _KINDS if getattr(self, kind) is not None)
        return kind, getattr(self, kind)


class ScenarioSpec(StrictModel):
    """A run: world, vehicles, and how they are flown."""

    name: str
    description: str = ""
    world: str | WorldSpec = "courtyard"
    """Name of a world, the path of a YAML or USD file, or a description."""
    vehicles: list[ScenarioVehicle] = Field(min_length=1)
    rate: Annotated[float, Field(gt=0, le=1e5)] = 250.0
    """Physics steps per simulated second [Hz]."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    duration: Positive | None = None
    """Simulated time [s]; the end of the longest mission when left out."""
    speed: Speed = "max"
    """Times real time, or as fast as it goes."""
    movers: list[MoverSpec] = []
    """Objects that move by a function of time, in addition to those of the world; see docs/movers.md."""
    faults: list[Component] = []
    """Faults: the name of each as `model`, its parameters, and `vehicle` and `copies`; see docs/faults.md."""
    expect: list[ExpectationSpec] = []
    """What is expected of the vehicles; see docs/verdicts.md."""
    record: RecordSpec = RecordSpec()
    dataset: DatasetSpec = DatasetSpec()
    """Settings of `pegasus dataset`."""


def inertia_tensor(inertia: tuple[float, ...]) -> Array:
    """Return the symmetric tensor of (xx, yy, zz) or (xx, yy, zz, xy, xz, yz), shape (3, 3).

    Args:
        inertia: Three or six entries [kg m^2].
    """
    tensor = np.diag(np.asarray(inertia[:3], dtype=np.float64))
    if len(inertia) == 6:
        for (i, j), value in zip(((0, 1), (0, 2), (1, 2)), inertia[3:], strict=True):
            tensor[i, j] = tensor[j, i] = value
    return tensor


def parse(content: Mapping[str, Any], model: type[M]) -> M:
    """Return the content of a file, or an equal mapping made in Python, as a model.

    Args:
        content: Fields by name.
        model: Model of the content.

    Raises:
        ConfigError: If a field is unknown, missing or not allowed.
    """
    try:
        return model.model_validate(dict(content))
    except ValidationError as error:
        raise config_error(error, model) from None
