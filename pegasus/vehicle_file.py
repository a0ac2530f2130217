"""The YAML file of a designed multirotor, each computed figure with its formula."""

from collections.abc import Sequence
from pathlib import Path

from pegasus.rotor_specs import RotorSpec
from pegasus.vehicle_design import VehicleDesign


def vehicle_file(design: VehicleDesign, *, usd: Path | None = None, mass_from_model: bool = False) -> str:
    """Return the YAML file of a design.

    Args:
        design: The vehicle.
        usd: The user's own model, as the file is to name it; its rotors stand in the file by their prims.
        mass_from_model: Whether mass, centre of mass or inertia are the model's.
    """
    sections = [_head(design), _mass(design, from_model=mass_from_model)]
    sections.append(_drawn(design) if usd is None else _model(usd))
    sections += [_propeller(design), _rotors(design.rotors, design), _motor(design), _thrust(design)]
    sections += [_battery(design), _drag(design)]
    return "\n".join(sections)


def _head(design: VehicleDesign) -> str:
    propeller, motor, battery = design.propeller, design.motor, design.battery
    count = len(design.rotors)
    power = design.hover_current * battery.voltage
    minutes = 0.8 * battery.capacity / design.hover_current * 60
    return f"""\
# Made by `pegasus make vehicle` from: {design.mass:g} kg, {count} rotors, propellers {propeller}, motors of
# {motor.kv:g} rpm/V and {motor.mass:.3g} kg, {battery.cell_count} cells of {battery.capacity:g} A h.
# It hovers at {design.hover_speed:.0f} rad/s with {power:.0f} W ({design.hover_current:.1f} A): \
{minutes:.0f} minutes on 80 % of the battery.
# Thrust to weight {design.lift / design.weight:.2f}. These are estimates: replace them by what you measure.
name: {design.name}
description: Multirotor with {count} propellers {propeller}, made by pegasus make vehicle."""


def _mass(design: VehicleDesign, *, from_model: bool) -> str:
    tensor = design.inertia
    entries = [tensor[0, 0], tensor[1, 1], tensor[2, 2]]
    products = [tensor[0, 1], tensor[0, 2], tensor[1, 2]]
    if max(abs(value) for value in products) > 1e-6 * max(entries):
        entries += products
    comment = "# Mass properties: the USD model's own." if from_model else _parts(design)
    return f"""\
{comment}
mass: {design.mass:g}
inertia: [{_numbers(entries)}]
center_of_mass: [{_numbers(design.center_of_mass)}]"""


def _parts(design: VehicleDesign) -> str:
    length, width, height = design.body_size
    masses = {part.name: part.mass for part in design.parts}
    count, arms = len(design.rotors), design.arm_count
    return f"""\
# Inertia J = sum of the parts' own and of m (r^2 1 - r r^T) about the common centre of mass:
#   body: box of {length:.3g} x {width:.3g} x {height:.3g} m, {masses["body"]:.3g} kg (what is left), \
J_xx = m (b^2 + c^2) / 12
#   battery: box, {masses["battery"]:.3g} kg (energy / 140 W h/kg where not given)
#   {arms} arms: rods, {masses["arm"]:.3g} kg each (half of a motor where not given), m L^2 / 12 across
#   {count} motors: points, {masses["motor"]:.3g} kg each (0.4 D^1.35 where not given)
#   {count} propellers: discs, {masses["propeller"]:.3g} kg each (0.115 D^1.65 for two blades)"""


def _drawn(design: VehicleDesign) -> str:
    return f"""\
body: {{size: [{_numbers(design.body_size, 3)}], arm_diameter: {design.arm_diameter:.3g}, \
leg_height: {design.leg_height:.3g}, height: 0}}"""


def _model(usd: Path) -> str:
    return f"usd: {usd.as_posix()}"


def _propeller(design: VehicleDesign) -> str:
    propeller, motor = design.propeller, design.motor
    return f"""\
# Moment of inertia of what turns: 0.065 m D^2 of the propeller ({propeller.inertia:.3g}), and of the motor's
# bell, half of its mass at the radius of a can 1.9 radii long of 3500 kg/m^3 ({motor.inertia:.3g}).
propeller: {{diameter: {propeller.diameter:.4g}, blade_count: {propeller.blade_count}, \
inertia: {design.rotor_inertia:.4g}}}"""


def _rotors(rotors: Sequence[RotorSpec], design: VehicleDesign) -> str:
    lines = ["rotors:"]
    if design.body is not None:
        lines.insert(0, "# Position and axis are those of the prims; check the directions of rotation.")
        lines += [f"  - {{prim: {rotor.prim}, direction: {rotor.direction}}}" for rotor in rotors]
        return "\n".join(lines)
    return "\n".join(
        lines
        + [
            f"  - {{position: [{_numbers(rotor.position, 4)}], direction: {rotor.direction}}}"
            for rotor in rotors
        ]
    )


def _motor(design: VehicleDesign) -> str:
    motor, battery, propeller = design.motor, design.battery, design.propeller
    idle = motor.no_load_current(battery.voltage)
    return f"""\
# DC motor: K = 60 / (2 pi kV) = {motor.torque_constant:.4g} N m/A, R = {motor.resistance:.3g} ohm \
(where not given (K / (0.5 m))^2
# for m in kg), I_0 = {idle:.2g} A (where not given 100 W per kg of motor). Battery: V = 3.7 V per cell = \
{battery.voltage:.3g} V,
# R_b = 0.015 ohm per cell / (A h) = {battery.resistance:.3g} ohm for all {len(design.rotors)} motors n.
# max_speed w: V = K w + (R + n R_b) (q w^2 / K + I_0), q = torque by squared speed = \
{propeller.torque_constant:.4g} N m/(rad/s)^2.
# Time constant about hover w_h, J / (K^2 / R + 2 q w_h), up and down: the controller brakes as it drives.
motor: {{model: first_order, time_constant_up: {design.time_constant:.3g}, \
time_constant_down: {design.time_constant:.3g}, max_speed: {design.max_speed:.5g}}}"""


def _thrust(design: VehicleDesign) -> str:
    propeller = design.propeller
    (a, b), (c, d) = propeller.fits
    measured = propeller.measured_thrust_coefficient is not None
    thrust = "measured" if measured else f"{a} (p/D)^{b} (blades/2)^0.66"
    measured = propeller.measured_power_coefficient is not None
    power = "measured" if measured else f"{c} (p/D)^{d} (blades/2)^0.79"
    pair = "\n# The lower rotor of a pair works in the wake of the upper one, which is left out."
    return f"""\
# C_T = {propeller.thrust_coefficient:.4g} ({thrust}), C_P = {propeller.power_coefficient:.4g} ({power}):
# fits to static data of the UIUC propeller database; nine of ten propellers lie within 20 % and 42 %.
# thrust_constant = C_T rho D^4 / (2 pi)^2 with rho = 1.225 kg/m^3; moment_ratio = C_P D / (2 pi C_T).\
{pair if design.arm_count < len(design.rotors) else ""}
thrust_curve: {{model: quadratic, thrust_constant: {propeller.thrust_constant:.5g}, \
moment_ratio: {propeller.moment_ratio:.4g}}}"""


def _battery(design: VehicleDesign) -> str:
    battery = design.battery
    return f"""\
# max_speed holds at V - n R_b (q w^2 / K + I_0); efficiency in hover, n q w_h^3 by the electrical power.
# Leave the battery out for motors that never tire.
battery: {{model: lithium_polymer, cell_count: {battery.cell_count}, capacity: {battery.capacity:g}, \
resistance: {battery.resistance:.3g}, rated_voltage: {design.full_throttle_voltage:.4g}, \
efficiency: {design.hover_efficiency:.3g}}}"""


def _drag(design: VehicleDesign) -> str:
    return f"""\
# Cross sections of body and arms, drag coefficient of a box; the drag of the rotors is left out.
drag: {{model: quadratic, areas: [{_numbers(design.drag_areas, 4)}], drag_coefficient: 1.0}}
"""


def _numbers(values: Sequence[float], digits: int | None = None) -> str:
    if digits is None:
        return ", ".join(f"{value:.5g}" for value in values)
    return ", ".join(f"{round(value, digits) + 0.0:g}" for value in values)
