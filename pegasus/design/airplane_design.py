"""Design of an airplane from mass, span, area, tail volumes, propeller, motor and battery."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pegasus.base.components import require
from pegasus.design.mass_properties import Part, box, combined, point, rod
from pegasus.design.propulsion import Battery, Motor, Propeller
from pegasus.dynamics.wings import FullRangeWing
from pegasus.environment.atmosphere import SEA_LEVEL_DENSITY
from pegasus.environment.gravity import STANDARD_GRAVITY

_LARGEST_LIFT = 1.2
"""Lift coefficient at stall of the whole wing."""
_CRUISE_BY_STALL = 1.4
_STATIC_MARGIN = 0.1  # of the chord
_TAIL_ARM_BY_SPAN = 0.45
_TAIL_RATIO, _FIN_RATIO = 4.0, 1.5  # aspect ratios
_CAMBER_ANGLE, _CAMBER_MOMENT = -0.036, -0.047
"""Zero-lift angle [rad] and moment coefficient of NACA 2412 (Abbott and von Doenhoff 1959)."""
_SKIN_DRAG, _BODY_DRAG = 0.012, 0.012
_DIHEDRAL = 0.087
_WING_SHARE, _TAIL_SHARE = 0.2, 0.05  # of the mass
_LEAST_REST = 0.1


@dataclass(frozen=True, kw_only=True)
class AirplaneDesign:
    """Airplane with a wing, a tailplane and a fin behind a puller, trimmed at its cruise speed.

    Raises:
        ConfigError: If a value is out of range, the parts weigh more than the airplane, or the propeller does
            not hold it at its cruise speed.
    """

    name: str
    mass: float
    """Mass at take-off [kg]."""
    span: float
    """Span b [m]."""
    area: float
    """Area of the wing S [m^2]."""
    propeller: Propeller
    motor: Motor
    battery: Battery
    tail_volume: float = 0.5
    """Area of the tailplane times its arm, by area and chord of the wing."""
    fin_volume: float = 0.04
    """Area of the fin times its arm, by area and span of the wing."""

    def __post_init__(self) -> None:
        require(0.05 <= self.mass <= 500.0, "mass", self.mass, "must be from 0.05 to 500 kg")
        require(0.2 <= self.span <= 30.0, "span", self.span, "must be from 0.2 to 30 m")
        require(
            2.0 <= self.aspect_ratio <= 30.0,
            "area",
            self.area,
            f"must give an aspect ratio from 2 to 30, not {self.aspect_ratio:.3g}",
        )
        require(0.2 <= self.tail_volume <= 1.5, "tail_volume", self.tail_volume, "must be from 0.2 to 1.5")
        require(0.01 <= self.fin_volume <= 0.2, "fin_volume", self.fin_volume, "must be from 0.01 to 0.2")
        rest = self.mass * (1 - _WING_SHARE - _TAIL_SHARE) - self.motor.mass - self.battery.mass
        require(
            rest > _LEAST_REST * self.mass,
            "mass",
            self.mass,
            f"must leave more for the fuselage: motor and battery weigh "
            f"{self.motor.mass + self.battery.mass:.3g} kg, wings a quarter",
        )
        require(
            self.thrust > self.drag,
            "kv",
            self.motor.kv,
            f"cannot hold {self.cruise_speed:.1f} m/s: thrust {self.thrust:.2f} N, drag {self.drag:.2f} N",
            "use a larger or steeper propeller, a higher kV or more cells",
        )

    @property
    def aspect_ratio(self) -> float:
        """Aspect ratio b^2 / S."""
        return self.span**2 / self.area

    @property
    def chord(self) -> float:
        """Mean chord S / b [m]."""
        return self.area / self.span

    @property
    def tail_arm(self) -> float:
        """Distance of the tails behind the wing, between their quarter chords, 0.45 b [m]."""
        return _TAIL_ARM_BY_SPAN * self.span

    @property
    def tail_area(self) -> float:
        """Area of the tailplane [m^2]."""
        return self.tail_volume * self.area * self.chord / self.tail_arm

    @property
    def fin_area(self) -> float:
        """Area of the fin [m^2]."""
        return self.fin_volume * self.area * self.span / self.tail_arm

    @property
    def stall_speed(self) -> float:
        """Speed at the lift coefficient 1.2 [m/s]."""
        weight = self.mass * STANDARD_GRAVITY
        return math.sqrt(2 * weight / (SEA_LEVEL_DENSITY * self.area * _LARGEST_LIFT))

    @property
    def cruise_speed(self) -> float:
        """Speed of its trim, 1.4 times that of stall [m/s]."""
        return _CRUISE_BY_STALL * self.stall_speed

    @property
    def drag(self) -> float:
        """Drag at the cruise speed [N]."""
        lift = _LARGEST_LIFT / _CRUISE_BY_STALL**2
        coefficient = _SKIN_DRAG + _BODY_DRAG + lift**2 / (math.pi * self.aspect_ratio * 0.9)
        return self._pressure * self.area * coefficient

    @property
    def max_speed(self) -> float:
        """Speed of the propeller at rest and full throttle [rad/s]."""
        return self.motor.full_throttle_speed(self.propeller.torque_constant, self.battery, 1)

    @property
    def thrust(self) -> float:
        """Thrust at full throttle and the cruise speed [N]."""
        turns, size = self.max_speed / (2 * math.pi), self.propeller.diameter
        advance = self.cruise_speed / (turns * size)
        known = self.propeller.advance_ratios, self.propeller.thrust_coefficients
        return float(np.interp(advance, *known)) * SEA_LEVEL_DENSITY * turns**2 * size**4

    @cached_property
    def halves(self) -> FullRangeWing:
        """Each half of the wing; its own span has the aspect ratio of the whole wing."""
        area = self.area / 2
        return FullRangeWing(
            area=area,
            span=math.sqrt(self.aspect_ratio * area),
            zero_lift_angle=_CAMBER_ANGLE,
            # The chord of the model, area by span, is smaller by the square root of 2.
            moment_coefficient=_CAMBER_MOMENT * math.sqrt(2.0),
            skin_drag=_SKIN_DRAG,
            flap_chord=(0.25,),
            flap_span=(0.4,),
        )

    @cached_property
    def tailplane(self) -> FullRangeWing:
        """The tailplane."""
        return self._tail(self.tail_area, _TAIL_RATIO, 0.35)

    @cached_property
    def fin(self) -> FullRangeWing:
        """The fin."""
        return self._tail(self.fin_area, _FIN_RATIO, 0.4)

    @property
    def wing_place(self) -> float:
        """Quarter chord of the wing along x from the centre of mass, for a static margin of 0.1 c [m].

        The neutral point is the mean of both quarter chords by area and lift slope; the model of wings has no
        downwash.
        """
        wing = self.area * self._slope(self.halves)
        tail = self.tail_area * self._slope(self.tailplane)
        return self.tail_arm * tail / (wing + tail) - _STATIC_MARGIN * self.chord

    @property
    def incidences(self) -> tuple[float, float]:
        """Angles of wing and tailplane to the body for level flight at the cruise speed [rad]."""
        weight, pressure = self.mass * STANDARD_GRAVITY, self._pressure
        wing, tail = self.wing_place, self.wing_place - self.tail_arm
        camber = pressure * self.area * self.chord * _CAMBER_MOMENT
        # Forces: L_w + L_t = W; moments nose up: L_w x_w + L_t x_t + M_0 = 0.
        lift = (weight * tail + camber) / (tail - wing)
        own = lift / (pressure * self.area * math.cos(_DIHEDRAL)) / self._slope(self.halves) + _CAMBER_ANGLE
        other = (weight - lift) / (pressure * self.tail_area) / self._slope(self.tailplane)
        return own, other

    @property
    def body(self) -> tuple[float, float, float, float]:
        """Length, width and height of the fuselage, and its middle along x [m]."""
        nose = self.wing_place + 1.2 * self.chord
        tail = self.wing_place - self.tail_arm - 0.3 * self.chord
        width = 0.45 * self.chord
        return nose - tail, width, 1.1 * width, (nose + tail) / 2

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Fuselage, wing, tails, motor and battery."""
        length, width, height, middle = self.body
        x, tail = self.wing_place, self.wing_place - self.tail_arm
        half = self.span / 2
        rest = self.mass * (1 - _WING_SHARE - _TAIL_SHARE) - self.motor.mass - self.battery.mass
        return (
            box("fuselage", rest, (middle, 0, 0), (length, width, height)),
            rod("wing", _WING_SHARE * self.mass, (x, -half, 0), (x, half, 0)),
            point("tails", _TAIL_SHARE * self.mass, (tail, 0, 0)),
            point("motor", self.motor.mass, (middle + length / 2, 0, 0)),
            point("battery", self.battery.mass, (0, 0, 0)),
        )

    @property
    def inertia(self) -> tuple[float, float, float]:
        """Moments of inertia of the parts about their common centre of mass [kg m^2]."""
        x, y, z = np.diagonal(combined(self.parts).inertia).tolist()
        return x, y, z

    @property
    def _pressure(self) -> float:
        """Dynamic pressure at the cruise speed [N/m^2]."""
        return 0.5 * SEA_LEVEL_DENSITY * self.cruise_speed**2

    @staticmethod
    def _slope(wing: FullRangeWing) -> float:
        return float(wing.parameters().lift_slope)

    @staticmethod
    def _tail(area: float, ratio: float, flap: float) -> FullRangeWing:
        return FullRangeWing(
            area=area, span=math.sqrt(ratio * area), skin_drag=_SKIN_DRAG, flap_chord=(flap,)
        )


def airplane_file(design: AirplaneDesign) -> str:
    """Return the YAML file of an airplane.

    Args:
        design: The airplane.
    """
    d, propeller = design, design.propeller
    length, width, height, middle = d.body
    wing_angle, tail_angle = d.incidences
    x, tail, quarter = d.wing_place, d.wing_place - d.tail_arm, d.span / 4
    nose, gear = middle + length / 2, propeller.diameter / 2 + 0.05
    inertia = propeller.inertia + d.motor.inertia
    lag = d.motor.time_constant(inertia, propeller.torque_constant, 0.7 * d.max_speed)
    up, out = math.cos(_DIHEDRAL), math.sin(_DIHEDRAL)
    # The middle of each half is at the height of the centre of mass.
    rise = 0.4 * quarter * math.tan(_DIHEDRAL)
    hinge, servo = x - 0.5 * d.chord, "servo: {low: -0.45, high: 0.45, rate_limit: 6.0, time_constant: 0.02}"
    elevator, rudder = (
        tail - (0.75 - share) * wing.area / wing.span for wing, share in ((d.tailplane, 0.35), (d.fin, 0.4))
    )
    wing = _surface(d.halves)
    look = f'span: {d.span / 2 / up:.4g}, chord: {d.chord:.4g}, section: "2412", controls_span: [0.5, 0.9]'
    forward = f"{math.cos(wing_angle):.6f}, 0, {math.sin(wing_angle):.6f}"
    mains, track = f"{-0.15 * d.chord:.4g}", 0.12 * d.span

    def row(values: tuple[float, ...]) -> str:
        return ", ".join(f"{value:.5g}" for value in values)

    return f"""\
# Made by `pegasus make vehicle` from: {d.mass:g} kg, a span of {d.span:g} m, {d.area:.4g} m^2 (aspect ratio \
{d.aspect_ratio:.3g}),
# tail volumes {d.tail_volume:g} and {d.fin_volume:g}, propeller {propeller}, motor of {d.motor.kv:g} rpm/V, \
{d.battery.cell_count} cells of {d.battery.capacity:g} A h.
# Stall at {d.stall_speed:.1f} m/s (lift coefficient {_LARGEST_LIFT}), trimmed level at \
{d.cruise_speed:.1f} m/s; \
drag there {d.drag:.2f} N, thrust up to
# {d.thrust:.2f} N. These are estimates: replace them by measurements.
name: {d.name}
description: Airplane of {d.span:g} m, made by pegasus make vehicle.
# Inertia of fuselage (box), wing (rod, 20 %), tails (5 %) and motor (points); the battery is at the centre
# of mass.
mass: {d.mass:g}
inertia: [{row(d.inertia)}]
body:
  {{form: fuselage, size: [{row((length, width, height))}], x: {middle:.4g}, height: 0, leg_height: 0,
   color: [0.6, 0.62, 0.65]}}
propeller:
  {{diameter: {propeller.diameter:.4g}, blade_count: {propeller.blade_count}, inertia: {inertia:.4g}}}
rotors:
  - {{position: [{nose:.4g}, 0, 0], axis: [1, 0, 0], direction: cw}}
motor:
  {{model: first_order, time_constant_up: {lag:.3g}, time_constant_down: {lag:.3g},
   max_speed: {d.max_speed:.5g}}}
thrust_curve:
  model: propeller
  diameter: {propeller.diameter:.4g}
  advance_ratio: [{row(propeller.advance_ratios)}]
  thrust_coefficient: [{row(propeller.thrust_coefficients)}]
  power_coefficient: [{row(propeller.power_coefficients)}]
  beyond: momentum
battery: {{model: lithium_polymer, cell_count: {d.battery.cell_count}, capacity: {d.battery.capacity:g}, \
resistance: {d.battery.resistance:.3g}}}
joints:  # positive angles turn trailing edges down, and that of the rudder to the right
  left_aileron:
    {{position: [{hinge:.4g}, {1.4 * quarter:.4g}, {rise:.4g}], axis: [0, -1, 0], {servo}}}
  right_aileron:
    {{position: [{hinge:.4g}, {-1.4 * quarter:.4g}, {rise:.4g}], axis: [0, -1, 0], {servo}}}
  elevator: {{position: [{elevator:.4g}, 0, 0], axis: [0, -1, 0], {servo}}}
  rudder: {{position: [{rudder:.4g}, 0, 0.1], axis: [0, 0, 1], {servo}}}
# Tail area = volume S c / l, fin area = volume S b / l with the arm l = 0.45 b. The centre of mass is 0.1 c
# ahead of the neutral point; incidences for level flight at {d.cruise_speed:.1f} m/s. Each half of the wing
# has the aspect ratio of the whole.
surfaces:
  left_wing:
    {{{wing}, controls: [left_aileron], position: [{x:.4g}, {quarter:.4g}, 0],
     forward: [{forward}], upward: [0, {-out:.4f}, {up:.4f}],
     shape: {{{look}}}}}
  right_wing:
    {{{wing}, controls: [right_aileron], position: [{x:.4g}, {-quarter:.4g}, 0],
     forward: [{forward}], upward: [0, {out:.4f}, {up:.4f}],
     shape: {{{look}}}}}
  tailplane:
    {{{_surface(d.tailplane)}, controls: [elevator], position: [{tail:.4g}, 0, 0],
     forward: [{math.cos(tail_angle):.6f}, 0, {math.sin(tail_angle):.6f}]}}
  fin:
    {{{_surface(d.fin)}, controls: [rudder],
     position: [{tail:.4g}, 0, {d.fin.span / 2:.4g}], upward: [0, 1, 0],
     shape: {{span: {d.fin.span:.4g}, chord: {d.fin.area / d.fin.span:.4g}}}}}
wheels:
  nose_wheel: {{position: [{0.7 * nose:.4g}, 0, {-gear:.4g}], radius: 0.04}}
  left_wheel: {{position: [{mains}, {track:.4g}, {-gear:.4g}], radius: 0.04, brake: brake}}
  right_wheel: {{position: [{mains}, {-track:.4g}, {-gear:.4g}], radius: 0.04, brake: brake}}
drag: {{model: quadratic, areas: [{row((_BODY_DRAG * d.area, length * height, length * width))}]}}
sensors:
  imu: {{model: imu}}
  gps: {{model: gps}}
  barometer: {{model: barometer}}
  magnetometer: {{model: magnetometer}}
  airspeed: {{model: airspeed}}
"""


def _surface(wing: FullRangeWing) -> str:
    """Return the fields of the model of a wing."""
    fields = (
        f"model: full_range, area: {wing.area:.5g}, span: {wing.span:.5g}, skin_drag: {wing.skin_drag:g}",
        f"flap_chord: {list(wing.flap_chord)}" if isinstance(wing.flap_chord, tuple) else "",
        f"flap_span: {list(wing.flap_span)}" if isinstance(wing.flap_span, tuple) and wing.flap_span else "",
        f"zero_lift_angle: {wing.zero_lift_angle:g}" if wing.zero_lift_angle else "",
        f"moment_coefficient: {wing.moment_coefficient:.5g}" if wing.moment_coefficient else "",
    )
    return ", ".join(field for field in fields if field)
