"""From what a builder says to a vehicle's file: the design, its text, and what was found in a USD model."""

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml

from pegasus.errors import ConfigError
from pegasus.multirotor import Multirotor
from pegasus.rotor_specs import RotorSpec
from pegasus.scenario import VehicleSpec, parse
from pegasus.scene.vehicle_model import VehicleModel
from pegasus.sizing.drive import Battery, Motor, estimated_motor_mass
from pegasus.sizing.propeller import Propeller
from pegasus.vehicle_design import KnownBody, LayoutName, VehicleDesign, alternating
from pegasus.vehicle_file import vehicle_file


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What the builder of a vehicle says, by the options of `pegasus make vehicle`."""

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
    thrust_coefficient: float | None = None
    power_coefficient: float | None = None
    usd: Path | None = None


@dataclass(frozen=True)
class MadeVehicle:
    """A designed vehicle and its file."""

    design: VehicleDesign
    text: str
    """Content of the YAML file."""
    notes: tuple[str, ...]
    """What was found in the USD model, one line each."""


def design_vehicle(recipe: Recipe, *, folder: Path) -> MadeVehicle:
    """Return a vehicle that loads, hovers and can be controlled.

    Args:
        recipe: What its builder says.
        folder: Folder that the file is for; the path of the USD model is relative to it.

    Raises:
        ConfigError: If a figure is not allowed, or the vehicle cannot fly; fields are the command's options.
    """
    try:
        design, notes, mass_from_model = _design(recipe)
    except ConfigError as error:
        raise _by_option(error) from None
    usd = None
    if recipe.usd is not None:
        usd = Path(os.path.relpath(recipe.usd.resolve(), folder.resolve()))
    text = vehicle_file(design, usd=usd, mass_from_model=mass_from_model)
    spec = parse(yaml.safe_load(text), VehicleSpec)
    if recipe.usd is not None:
        spec = spec.model_copy(update={"usd": recipe.usd.resolve()})
    Multirotor(spec)
    return MadeVehicle(design, text, notes)


def _design(recipe: Recipe) -> tuple[VehicleDesign, tuple[str, ...], bool]:
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
        known_resistance=recipe.motor_resistance,
        known_no_load_current=recipe.no_load_current,
    )
    battery = Battery(cell_count=recipe.cell_count, capacity=recipe.capacity, known_mass=recipe.battery_mass)
    if recipe.usd is not None:
        return _design_of_model(recipe, recipe.usd, propeller, motor, battery)
    try:
        layout = LayoutName(recipe.layout)
    except ValueError:
        raise ConfigError(
            f"must be one of {', '.join(LayoutName)}", field="layout", value=recipe.layout
        ) from None
    if recipe.mass is None or recipe.size is None:
        raise ConfigError("is needed", field="mass" if recipe.mass is None else "size", remedy="give it")
    design = VehicleDesign(
        name=recipe.name,
        mass=recipe.mass,
        size=recipe.size,
        rotor_count=recipe.rotor_count,
        layout=layout,
        propeller=propeller,
        motor=motor,
        battery=battery,
        known_arm_mass=recipe.arm_mass,
    )
    return design, (), False


def _design_of_model(
    recipe: Recipe, file: Path, propeller: Propeller, motor: Motor, battery: Battery
) -> tuple[VehicleDesign, tuple[str, ...], bool]:
    """Return the design of a user's own model: rotors, and mass properties where it authors them."""
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
    senses = alternating([rotor.position for rotor in found])
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
            f"is needed: {file} authors no mass (UsdPhysicsMassAPI)", field="mass", remedy="give it in kg"
        )
    inertia = known.inertia * (mass / known.mass) if known and known.inertia is not None else None
    center = None
    if known is not None:
        x, y, z = np.round(known.center_of_mass, 6).tolist()
        center = (x, y, z)
    body = KnownBody(rotors=rotors, center_of_mass=center, inertia=inertia)
    design = VehicleDesign(
        name=recipe.name,
        mass=mass,
        propeller=propeller,
        motor=motor,
        battery=battery,
        known_arm_mass=recipe.arm_mass,
        body=body,
    )
    notes = [
        f"{name}: ({', '.join(f'{value:.3f}' for value in rotor.position)}) m, {sense}"
        for name, rotor, sense in zip(names, found, senses, strict=True)
    ]
    drawn = 2 * max(model.radius(rotor) for rotor in found)
    if not math.isclose(drawn, propeller.diameter, rel_tol=0.1):
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
    """Return an error whose field is the option of the command that it came from."""
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
