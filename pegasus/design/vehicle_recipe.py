"""Generation of vehicle files from the options of `pegasus make vehicle`."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml

from pegasus.base.errors import ConfigError
from pegasus.config.rotor_specs import RotorSpec
from pegasus.config.scenario import VehicleSpec, parse
from pegasus.core.aircraft import Aircraft
from pegasus.design.airplane_design import AirplaneDesign, airplane_file
from pegasus.design.propulsion import Battery, Motor, Propeller, estimated_motor_mass
from pegasus.design.vehicle_design import LayoutName, MeasuredBody, VehicleDesign, alternating_directions
from pegasus.scene.vehicle_asset import VehicleModel


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Options of `pegasus make vehicle`."""

    name: str
    propeller: str
    kv: float
    cell_count: int
    capacity: float
    mass: float | None = None
    size: float | None = None
    rotor_count: int = 4
    layout: str = "x"
    motor_mass: float | None = None
    motor_resistance: float | None = None
    no_load_current: float | None = None
    battery_mass: float | None = None
    arm_mass: float | None = None
    inertia: tuple[float, ...] | None = None
    thrust_coefficient: float | None = None
    power_coefficient: float | None = None
    usd: Path | None = None


@dataclass(frozen=True)
class MadeVehicle:
    """Designed vehicle and its file."""

    design: VehicleDesign
    text: str
    """Content of the YAML file."""
    notes: tuple[str, ...]
    """Findings in the USD model, one line each."""


def design_vehicle(recipe: Recipe, *, folder: Path) -> MadeVehicle:
    """Design a vehicle, and check that it loads, hovers and can be controlled.

    Args:
        recipe: Options of the design.
        folder: Folder of the file, to which the path of the USD model is relative.

    Raises:
        ConfigError: If a value is invalid, or the vehicle cannot fly; fields are named as options.
    """
    try:
        design, notes, mass_from_model = _design(recipe)
        usd = None
        if recipe.usd is not None:
            usd = Path(os.path.relpath(recipe.usd.resolve(), folder.resolve()))
        text = vehicle_file(design, usd=usd, mass_from_model=mass_from_model)
        spec = parse(yaml.safe_load(text), VehicleSpec)
    except ConfigError as error:
        raise _by_option(error) from None
    if recipe.usd is not None:
        spec = spec.model_copy(update={"usd": recipe.usd.resolve()})
    Aircraft(spec)
    return MadeVehicle(design, text, notes)


def design_airplane(
    recipe: Recipe, span: float, area: float, *, tail_volume: float, fin_volume: float
) -> str:
    """Return the file of an airplane, after a check that it loads.

    Args:
        recipe: Its mass, propeller, motor and battery.
        span: Span [m].
        area: Area of the wing [m^2].
        tail_volume: Volume coefficient of the tailplane.
        fin_volume: Volume coefficient of the fin.

    Raises:
        ConfigError: If a value is invalid, or the airplane cannot fly; fields are named as options.
    """
    try:
        propeller, motor, battery = _propulsion(recipe)
        design = AirplaneDesign(
            name=recipe.name,
            mass=recipe.mass or 0.0,
            span=span,
            area=area,
            propeller=propeller,
            motor=motor,
            battery=battery,
            tail_volume=tail_volume,
            fin_volume=fin_volume,
        )
        text = airplane_file(design)
        spec = parse(yaml.safe_load(text), VehicleSpec)
    except ConfigError as error:
        raise _by_option(error) from None
    Aircraft(spec)
    return text


def _propulsion(recipe: Recipe) -> tuple[Propeller, Motor, Battery]:
    propeller = replace(
        Propeller.parse(recipe.propeller),
        measured_thrust_coefficient=recipe.thrust_coefficient,
        measured_power_coefficient=recipe.power_coefficient,
    )
    motor_mass = recipe.motor_mass
    if motor_mass is None:
        motor_mass = estimated_motor_mass(propeller.diameter)
    motor = Motor(
        kv=recipe.kv,
        mass=motor_mass,
        measured_resistance=recipe.motor_resistance,
        measured_no_load_current=recipe.no_load_current,
    )
    battery = Battery(
        cell_count=recipe.cell_count, capacity=recipe.capacity, measured_mass=recipe.battery_mass
    )
    return propeller, motor, battery


def _design(recipe: Recipe) -> tuple[VehicleDesign, tuple[str, ...], bool]:
    propeller, motor, battery = _propulsion(recipe)
    if recipe.usd is not None:
        return _design_of_model(recipe, recipe.usd, propeller, motor, battery)
    try:
        layout = LayoutName(recipe.layout)
    except ValueError:
        raise ConfigError(
            f"must be one of {', '.join(LayoutName)}", field="layout", value=recipe.layout
        ) from None
    if recipe.mass is None or recipe.size is None:
        raise ConfigError("is required", field="mass" if recipe.mass is None else "size", remedy="give it")
    design = VehicleDesign(
        name=recipe.name,
        mass=recipe.mass,
        size=recipe.size,
        rotor_count=recipe.rotor_count,
        layout=layout,
        propeller=propeller,
        motor=motor,
        battery=battery,
        measured_arm_mass=recipe.arm_mass,
        measured_inertia=recipe.inertia,
    )
    return design, (), False


def _design_of_model(
    recipe: Recipe, file: Path, propeller: Propeller, motor: Motor, battery: Battery
) -> tuple[VehicleDesign, tuple[str, ...], bool]:
    """Return a design with the rotors and, if authored, the mass properties of a USD model."""
    model = VehicleModel(file)
    names = model.rotor_names
    if not names:
        raise ConfigError(
            f"no prim below the default prim of {file} is named like a rotor with a number",
            field="usd",
            value=str(file),
            remedy="name them rotor_0, rotor_1, ..., or write the file by hand with `prim: NAME`",
        )
    found = [model.rotor(name) for name in names]
    senses = alternating_directions([rotor.position for rotor in found])
    rotors = tuple(
        RotorSpec.model_validate(
            {
                "position": rotor.position.tolist(),
                "axis": rotor.axis.tolist(),
                "direction": sense,
                "prim": name,
            }
        )
        for name, rotor, sense in zip(names, found, senses, strict=True)
    )
    known = model.mass_properties()
    mass = recipe.mass if recipe.mass is not None else (known.mass if known else None)
    if mass is None:
        raise ConfigError(
            f"is required: {file} authors no mass (UsdPhysicsMassAPI)", field="mass", remedy="give it in kg"
        )
    inertia = known.inertia * (mass / known.mass) if known and known.inertia is not None else None
    center = None
    if known is not None:
        x, y, z = np.round(known.center_of_mass, 6).tolist()
        center = (x, y, z)
    body = MeasuredBody(rotors=rotors, center_of_mass=center, inertia=inertia)
    design = VehicleDesign(
        name=recipe.name,
        mass=mass,
        propeller=propeller,
        motor=motor,
        battery=battery,
        measured_arm_mass=recipe.arm_mass,
        measured_inertia=recipe.inertia,
        body=body,
    )
    notes = [
        f"{name}: ({', '.join(f'{value:.3f}' for value in rotor.position)}) m, {sense}"
        for name, rotor, sense in zip(names, found, senses, strict=True)
    ]
    drawn = 2 * max(model.radius(rotor) for rotor in found)
    if drawn > 0 and not math.isclose(drawn, propeller.diameter, rel_tol=0.1):
        notes.append(
            f"the model's propellers are {drawn:.3g} m wide, {propeller} is {propeller.diameter:.3g} m"
        )
    if known is not None:
        authored = "mass" if known.inertia is None else "mass and inertia"
        notes.append(f"{authored} of the model: {known.mass:.4g} kg")
    return design, tuple(notes), inertia is not None


_OPTIONS = {
    "mass": "mass",
    "motor_no_load_current": "no-load-current",
}


def _by_option(error: ConfigError) -> ConfigError:
    """Return an error whose field is the corresponding option of the command."""
    if error.file is not None:
        return error
    field = error.field or ""
    option = _OPTIONS.get(field, field.replace("_", "-"))
    known = field and "." not in option
    return ConfigError(
        error.problem,
        field=f"--{option}" if known else field or None,
        value=error.value,
        remedy=error.remedy or "see pegasus make vehicle --help",
    )


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
# Hover at {design.hover_speed:.0f} rad/s with {power:.0f} W ({design.hover_current:.1f} A): \
{minutes:.0f} minutes on 80 % of the battery.
# Thrust to weight {design.lift / design.weight:.2f}. These are estimates: replace them by measurements.
name: {design.name}
description: Aircraft with {count} propellers {propeller}, made by pegasus make vehicle."""


def _mass(design: VehicleDesign, *, from_model: bool) -> str:
    tensor = design.inertia
    entries = [tensor[0, 0], tensor[1, 1], tensor[2, 2]]
    products = [tensor[0, 1], tensor[0, 2], tensor[1, 2]]
    if max(abs(value) for value in products) > 1e-6 * max(entries):
        entries += products
    comment = "# Mass properties of the USD model." if from_model else _parts(design)
    if design.measured_inertia is not None:
        comment = "# Inertia: measured."
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
# Inertia J = sum of each part's inertia and m (r^2 1 - r r^T) about the common centre of mass:
#   body: box of {length:.3g} x {width:.3g} x {height:.3g} m, {masses["body"]:.3g} kg (remaining mass), \
J_xx = m (b^2 + c^2) / 12
#   battery: box, {masses["battery"]:.3g} kg (energy / 140 W h/kg unless given)
#   {arms} arms: rods, {masses["arm"]:.3g} kg each (half of a motor unless given), m L^2 / 12 across
#   {count} motors: points, {masses["motor"]:.3g} kg each (0.4 D^1.35 unless given)
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
# Moment of inertia of the rotating parts: 0.065 m D^2 of the propeller ({propeller.inertia:.3g}), and of the
# motor's bell, half of its mass at the radius of a can 1.9 radii long of 3500 kg/m^3 ({motor.inertia:.3g}).
propeller: {{diameter: {propeller.diameter:.4g}, blade_count: {propeller.blade_count}, \
inertia: {design.rotor_inertia:.4g}}}"""


def _rotors(rotors: Sequence[RotorSpec], design: VehicleDesign) -> str:
    lines = ["rotors:"]
    if design.body is not None:
        lines.insert(0, "# Position and axis come from the prims; check the directions of rotation.")
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
(unless given (K / (0.5 m))^2
# for m in kg), I_0 = {idle:.2g} A (unless given 100 W per kg of motor). Battery: V = 3.7 V per cell = \
{battery.voltage:.3g} V,
# R_b = 0.015 ohm per cell / (A h) = {battery.resistance:.3g} ohm for all {len(design.rotors)} motors n.
# max_speed w: V = K w + (R + n R_b) (q w^2 / K + I_0), q = torque by squared speed = \
{propeller.torque_constant:.4g} N m/(rad/s)^2.
# Time constant about hover w_h, J / (K^2 / R + 2 q w_h), up and down (active braking).
motor: {{model: first_order, time_constant_up: {design.time_constant:.3g}, \
time_constant_down: {design.time_constant:.3g}, max_speed: {design.max_speed:.5g}}}"""


def _thrust(design: VehicleDesign) -> str:
    propeller = design.propeller
    (a, b), (c, d) = propeller.fits
    measured = propeller.measured_thrust_coefficient is not None
    thrust = "measured" if measured else f"{a} (p/D)^{b} (blades/2)^0.66"
    measured = propeller.measured_power_coefficient is not None
    power = "measured" if measured else f"{c} (p/D)^{d} (blades/2)^0.79"
    pair = "\n# The wake of the upper rotor of a pair, which acts on the lower one, is neglected."
    return f"""\
# C_T = {propeller.thrust_coefficient:.4g} ({thrust}), C_P = {propeller.power_coefficient:.4g} ({power}):
# fits to static data of the UIUC propeller database; nine of ten propellers lie within 20 % and 42 %.
# Over the advance ratio J = v / (n D) by the medians of that database, up to where there is no thrust.\
{pair if design.arm_count < len(design.rotors) else ""}
thrust_curve:
  model: propeller
  diameter: {propeller.diameter:.4g}
  advance_ratio: [{_numbers(propeller.advance_ratios, 4)}]
  thrust_coefficient: [{_numbers(propeller.thrust_coefficients)}]
  power_coefficient: [{_numbers(propeller.power_coefficients)}]
  beyond: momentum"""


def _battery(design: VehicleDesign) -> str:
    battery = design.battery
    return f"""\
# max_speed holds at V - n R_b (q w^2 / K + I_0); efficiency in hover, n q w_h^3 by the electrical power.
# Remove the battery for an unlimited supply.
battery: {{model: lithium_polymer, cell_count: {battery.cell_count}, capacity: {battery.capacity:g}, \
resistance: {battery.resistance:.3g}, rated_voltage: {design.full_throttle_voltage:.4g}, \
efficiency: {design.hover_efficiency:.3g}}}"""


def _drag(design: VehicleDesign) -> str:
    return f"""\
# Cross sections of body and arms, drag coefficient of a box; the drag of the rotors is neglected.
drag: {{model: quadratic, areas: [{_numbers(design.drag_areas, 4)}], drag_coefficient: 1.0}}
"""


def _numbers(values: Sequence[float], digits: int | None = None) -> str:
    if digits is None:
        return ", ".join(f"{value:.5g}" for value in values)
    return ", ".join(f"{round(value, digits) + 0.0:g}" for value in values)
