"""Parts of a vehicle besides the rotors that its file describes as one kind: joints, surfaces, pushers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pegasus.base.components import build
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.config.airframe_specs import PropulsionSpec, SurfaceMount, WheelSpec
from pegasus.config.rotor_specs import RotorPrimSpec, RotorSpec
from pegasus.config.scenario import VehicleSpec
from pegasus.dynamics import MOTORS, SERVOS, THRUST_CURVES, DrivenMotor, Motor, Servo, ThrustCurve
from pegasus.dynamics.wings import WINGS, Wing


@dataclass(frozen=True)
class Hinge:
    """Joint and its servo."""

    position: tuple[float, float, float]
    """A point of the hinge line in the body frame [m]."""
    axis: tuple[float, float, float]
    """Unit direction of the hinge line."""
    servo: Servo


@dataclass(frozen=True)
class Mounted:
    """Surface, and where it stands."""

    model: Wing
    mount: SurfaceMount


@dataclass(frozen=True)
class Propulsion:
    """Motor and propeller of rotors of one kind."""

    motor: Motor
    thrust_curve: ThrustCurve
    diameter: float
    """Diameter of the propellers [m]."""
    inertia: float
    """Inertia of a propeller, and of its driven motor, about their axis [kg m^2]."""


@dataclass(frozen=True)
class Airframe:
    """Joints, surfaces and further kinds of propulsion of a vehicle; those of all its copies."""

    hinges: Mapping[str, Hinge] = field(default_factory=dict)
    """Joints by name, in the order of their channels."""
    surfaces: Mapping[str, Mounted] = field(default_factory=dict)
    """Surfaces by name."""
    wheels: Mapping[str, WheelSpec] = field(default_factory=dict)
    """Wheels by name."""
    kinds: Mapping[str, Propulsion] = field(default_factory=dict)
    """Kinds of propulsion besides that of the vehicle's fields `motor`, `thrust_curve` and `propeller`."""
    kind_of: tuple[str | None, ...] = ()
    """Kind of each rotor; None for that of those fields."""
    joint_of: tuple[str | None, ...] = ()
    """Joint that turns each rotor; None where it is fixed."""
    pitched_by: tuple[str | None, ...] = ()
    """Joint that turns the blades of each rotor; None where their pitch is fixed."""

    @classmethod
    def of(cls, spec: VehicleSpec) -> "Airframe":
        """Return the parts of a vehicle.

        Args:
            spec: Its description, with its rotors placed.

        Raises:
            ConfigError: If a model is not known, a parameter is not allowed, or a name is not that of a part.
        """
        rotors = spec.rotor_list()
        hinges = {
            name: Hinge(
                joint.position,
                joint.axis,
                build(Servo, SERVOS, {"model": "first_order", **joint.servo}, field=f"joints.{name}.servo"),
            )
            for name, joint in spec.joints.items()
        }
        surfaces = {}
        for name, (mount, model) in spec.mounts().items():
            wing = build(Wing, WINGS, model, field=f"surfaces.{name}")
            if len(mount.controls) != wing.control_count:
                raise ConfigError(
                    f"must name {wing.control_count} joints, as many as the model has derivatives for",
                    field=f"surfaces.{name}.controls",
                    value=mount.controls,
                )
            surfaces[name] = Mounted(wing, mount)
            for k, joint in enumerate(mount.controls):
                _require_name(f"surfaces.{name}.controls.{k}", joint, hinges, "joint")
            _require_name(f"surfaces.{name}.joint", mount.joint, hinges, "joint")
            for k, rotor in enumerate(mount.slipstream):
                if rotor >= len(rotors):
                    raise ConfigError(
                        f"must be a rotor from 0 to {len(rotors) - 1}",
                        field=f"surfaces.{name}.slipstream.{k}",
                        value=rotor,
                    )
        for k, placed in enumerate(rotors):
            _require_name(f"rotors.{k}.joint", placed.joint, hinges, "joint")
            _require_name(f"rotors.{k}.propulsion", placed.propulsion, spec.propulsion, "kind of propulsion")
        _require_pitch(spec, rotors, hinges)
        for name, wheel in spec.wheels.items():
            _require_name(f"wheels.{name}.joint", wheel.joint, hinges, "joint")
            if wheel.brake in hinges:
                raise ConfigError(
                    "is the channel of a joint",
                    field=f"wheels.{name}.brake",
                    value=wheel.brake,
                    remedy="rename one",
                )
        turned = [name for rotor in rotors for name in (rotor.joint, rotor.pitch_joint)]
        turned += [wheel.joint for wheel in spec.wheels.values()]
        _require_use(hinges, surfaces, turned)
        return cls(
            hinges,
            surfaces,
            spec.wheels,
            {name: _propulsion(name, kind) for name, kind in spec.propulsion.items()},
            tuple(rotor.propulsion for rotor in rotors),
            tuple(rotor.joint for rotor in rotors),
            tuple(rotor.pitch_joint for rotor in rotors),
        )

    @property
    def brakes(self) -> list[str]:
        """Channels of brakes."""
        return list(dict.fromkeys(wheel.brake for wheel in self.wheels.values() if wheel.brake is not None))


def _require_pitch(
    spec: VehicleSpec, rotors: Sequence[RotorSpec | RotorPrimSpec], hinges: Mapping[str, Hinge]
) -> None:
    """Raise a ConfigError if a joint pitches blades whose thrust curve knows no pitch, or turns more."""
    for k, rotor in enumerate(rotors):
        joint, where = rotor.pitch_joint, f"rotors.{k}.pitch_joint"
        if joint is None:
            continue
        _require_name(where, joint, hinges, "joint")
        kind = spec.propulsion.get(rotor.propulsion or "")
        curve = spec.thrust_curve if kind is None else kind.thrust_curve
        pitched = [name for name, made in THRUST_CURVES.items() if hasattr(made, "pitch")]
        if curve.get("model") not in pitched:
            raise ConfigError(
                f"pitches blades whose thrust curve {curve.get('model')!r} has no pitch",
                field=where,
                value=joint,
                remedy=f"set thrust_curve.model to {' or '.join(pitched)}",
            )
        mounts = [mount for mount, _ in spec.mounts().values()]
        others = [r.joint for r in rotors] + [wheel.joint for wheel in spec.wheels.values()]
        if joint in others or any(joint in (*m.controls, m.joint) for m in mounts):
            raise ConfigError(
                "also turns another part",
                field=where,
                value=joint,
                remedy="give the blades a joint of their own",
            )


def _require_use(
    hinges: Mapping[str, Hinge], surfaces: Mapping[str, Mounted], turned: list[str | None]
) -> None:
    """Raise a ConfigError if a joint turns nothing."""
    for name in hinges:
        mounts = [surface.mount for surface in surfaces.values()]
        if name not in turned and not any(name in (*m.controls, m.joint) for m in mounts):
            raise ConfigError(
                "turns nothing",
                field=f"joints.{name}",
                remedy="name it in a surface, a rotor or a wheel, or remove it",
            )


def _require_name(where: str, name: str | None, known: Mapping[str, object], what: str) -> None:
    if name is not None and name not in known:
        remedy = " ".join([*did_you_mean(name, known), f"there are {', '.join(known) or 'none'}"])
        raise ConfigError(f"is no {what} of the vehicle", field=where, value=name, remedy=remedy)


def _propulsion(name: str, spec: PropulsionSpec) -> Propulsion:
    where = f"propulsion.{name}"
    motor = build(Motor, MOTORS, spec.motor, field=f"{where}.motor")
    curve = build(ThrustCurve, THRUST_CURVES, spec.thrust_curve, field=f"{where}.thrust_curve")
    inertia = spec.propeller.inertia + (motor.inertia if isinstance(motor, DrivenMotor) else 0.0)
    return Propulsion(motor, curve, spec.propeller.diameter, inertia)
