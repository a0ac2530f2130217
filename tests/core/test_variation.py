"""Parameters that differ between the copies of a vehicle."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import yaml

from pegasus import Backend, Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Real, Reals, Vec3
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import Battery, Drag
from pegasus.experiments import Flight
from pegasus.recording import EnergyAudit
from tests.flyers import HIGH, PLAIN_IRIS, Constant

IRIS = yaml.safe_load(PLAIN_IRIS.read_text())
EQUIPPED = {
    **IRIS,
    "battery": {"model": "lithium_polymer", "cell_count": 4, "capacity": 0.3, "resistance": 0.02},
    "ground_effect": {"model": "image_sources"},
}
STATE = ("position", "orientation", "velocity", "angular_velocity", "rotor_speed")
COUNT = 5
VARIATIONS = {
    "mass": [1.2, 1.35, 1.5, 1.65, 1.8],
    "inertia": [[0.02 + 0.004 * k, 0.03, 0.04, 0.001 * k, 0.0, 0.0] for k in range(COUNT)],
    "center_of_mass": [[0.004 * k, -0.002 * k, 0.001 * k] for k in range(COUNT)],
    "propeller.inertia": [0.0, 1e-5, 3e-5, 6e-5, 1e-4],
    "motor.time_constant_up": [0.005, 0.01, 0.02, 0.04, 0.08],
    "motor.max_speed": [700.0, 720.0, 740.0, 760.0, 1100.0],
    "drag.coefficients": [[0.2 * k, 0.1 * k, 0.3] for k in range(COUNT)],
    "thrust_curve.thrust_constant": [8.0e-6, 8.5e-6, 9e-6, 9.5e-6, 1e-5],
    "battery.capacity": [0.02, 0.03, 0.05, 0.2, 1.0],
    "battery.charge": [1.0, 0.9, 0.8, 0.5, 0.3],
    "ground_effect.body_lift": [0.0, 1.0, 2.0, 3.0, 4.0],
}


class Schedule(Backend):
    """Backend that flies up, tilts, falls and hits the ground by rotor speeds over time."""

    drives = True

    def bind(self, vehicle):
        self.shape = vehicle.count, vehicle.rotor_count

    def publish(self, t, state, readings):
        self.t = t

    def command(self, t):
        speed = 780.0 if self.t < 0.9 else 200.0
        speeds = np.full(self.shape, speed)
        speeds[:, 0] += 8.0 * np.sin(9.0 * self.t)
        return speeds


def fly(vehicles, duration=2.2):
    """Fly vehicles together; return which copies of the first have touched the ground after the take-off."""
    with Simulation("flat", seed=8) as simulation:
        for vehicle in vehicles:
            simulation.add(vehicle)
        touched = np.zeros(vehicles[0].count, dtype=bool)
        for k in range(round(250 * duration)):
            simulation.step()
            touched |= vehicles[0].in_contact & (k > 300)
    return touched


def with_field(field, value):
    """Return the file of the vehicle with another value."""
    section, _, rest = field.partition(".")
    return {**EQUIPPED, section: {**EQUIPPED[section], rest: value} if rest else value}


def starts(count):
    return [[3.0 * k, 0.0, 0.1] for k in range(count)]


def require_same(batch, k, single):
    for name in STATE:
        np.testing.assert_array_equal(getattr(batch.state, name)[k], getattr(single.state, name)[0])
    for name in ("charge", "voltage", "low", "empty"):
        assert getattr(batch.battery, name)[k] == getattr(single.battery, name)[0]


@pytest.mark.parametrize("field", VARIATIONS)
def test_a_copy_flies_as_a_single_vehicle_with_its_value(field):
    """A copy would fly with the parameters of another one."""
    values = VARIATIONS[field]
    # An empty battery takes its time.
    duration = 2.2 if field.startswith("battery") else 0.7
    singles = [
        Multirotor(
            with_field(field, value), name=f"own{k}", position=start, sensors={}, backends=[Schedule()]
        )
        for k, (value, start) in enumerate(zip(values, starts(COUNT), strict=True))
    ]
    varied = {"count": COUNT, "position": starts(COUNT), "variation": {field: values}}
    batch = Multirotor(EQUIPPED, sensors={}, backends=[Schedule()], **varied)
    fly([batch], duration)
    fly(singles, duration)
    assert len({array.tobytes() for array in batch.state.velocity}) == COUNT
    for k, single in enumerate(singles):
        require_same(batch, k, single)


def test_a_copy_flies_as_a_vehicle_that_is_alone():
    """A copy would depend on the values of the others, or the engine would have those of the file."""
    batch = Multirotor(
        EQUIPPED,
        count=COUNT,
        position=starts(COUNT),
        sensors={},
        backends=[Schedule()],
        variation=VARIATIONS,
    )
    assert fly([batch])[3]
    file = EQUIPPED
    for field, values in VARIATIONS.items():
        section, _, rest = field.partition(".")
        file = {**file, section: {**file[section], rest: values[3]} if rest else values[3]}
    alone = Multirotor(file, position=starts(COUNT)[3], sensors={}, backends=[Schedule()])
    fly([alone])
    require_same(batch, 3, alone)


def test_impossible_variations_are_one_line():
    """A wrong value would be flown, or reported without its copy; geometry would differ from the scene."""

    def refused(message, count=3, model=PLAIN_IRIS, **variation):
        given = {name.replace("__", "."): value for name, value in variation.items()}
        with pytest.raises(ConfigError, match="^" + re.escape(message)):
            Multirotor(model, count=count, variation=given)

    with pytest.raises(ConfigError, match=r"^variation = .*: must give arrays or distributions by field"):
        Multirotor(PLAIN_IRIS, variation=["mass"])
    refused("variation.mass, copy 2 = -1.0: must be above 0", mass=[1.0, 1.5, -1.0])
    refused("variation.mass, copy 1 = nan: must be a finite number", mass=[1.0, np.nan, 1.0])
    refused(
        "variation.inertia, copy 0 = (1.0, 1.0, 3.0): violates", inertia=[[1, 1, 3], [1, 1, 1], [1, 1, 1]]
    )
    refused(
        "variation.mass = 'array of shape (2,)': must be numbers, one entry for each of the 3", mass=[1.0, 2]
    )
    refused("variation.mass = 1.5: must be numbers, one entry", mass=1.5)
    refused("variation.mass = ['a', 'b', 'c']: must be numbers", mass=list("abc"))
    refused(
        "variation.motor.max_speed, copy 1 = -5.0: must be above 0 rad/s", motor__max_speed=[900, -5, 900]
    )
    refused("variation.drag.coefficients, copy 0", drag__coefficients=[1.0, 2.0, 3.0])
    refused(
        "variation.drag.linear: LinearDrag has no parameter linear; there are coeff", drag__linear=[1, 2, 3]
    )
    refused(
        "variation.masss: cannot differ between the copies of a vehicle; did you mean mass?", masss=[1, 2, 3]
    )
    refused("variation.propeller.diameter: cannot differ between", propeller__diameter=[0.2, 0.2, 0.2])
    refused("variation.motor.model: FirstOrderMotor has no parameter model", motor__model=[1, 2, 3])
    refused(
        "variation.battery.capacity: the vehicle has no battery; add battery", battery__capacity=[1, 2, 3]
    )


def test_too_weak_copies_are_refused_when_they_join():
    """A copy that cannot hover would fall without a message."""
    message = r"^motor.max_speed, copy 1 = 1100.0: the vehicle cannot hover"
    with Simulation("flat") as simulation, pytest.raises(ConfigError, match=message):
        simulation.add(Multirotor(PLAIN_IRIS, count=2, variation={"mass": [1.5, 9.0]}))


ELECTRIC = {"model": "electric", "kv": 870, "resistance": 0.15, "nominal_voltage": 12.0, "inertia": 5e-5}
PROPELLER = {"model": "propeller", "diameter": 0.25, "thrust_coefficient": [0.11, 0.05]}
TABLES = [[0.0, 0.4], [0.0, 0.123], [0.0, 0.4]]


@pytest.mark.parametrize(
    ("field", "values", "alone"),
    [
        ("motor.regenerative", [0, 1, 0], [False, True, False]),
        ("thrust_curve.advance_ratio", TABLES, TABLES),
    ],
)
def test_copies_that_need_other_code_fly_as_alone(field, values, alone):
    """Copies would fly with the whole number, or the table, of the first one."""
    section, name = field.split(".")
    model = {
        **IRIS,
        "motor": {**ELECTRIC, "max_speed": 1000.0},
        "thrust_curve": {**PROPELLER, "advance_ratio": [0.0, 0.4], "power_coefficient": [0.045, 0.03]},
    }
    places = [[3.0 * k, 0.0, 20.0] for k in range(3)]

    def flown(model, count, position, **options):
        drone = Multirotor(model, count=count, position=position, sensors={}, backends=[Slowing()], **options)
        fly([drone], 0.5)
        return drone.state

    batch = flown(model, 3, places, variation={field: values})
    for k, value in enumerate(alone):
        single = flown({**model, section: {**model[section], name: value}}, 1, places[k])
        for part in STATE:
            np.testing.assert_array_equal(getattr(batch, part)[k], getattr(single, part)[0])
    assert np.abs(batch.rotor_speed[1] - batch.rotor_speed[0]).max() > 1.0


class Slowing(Constant):
    """Commands that fall within the flight."""

    def __init__(self):
        super().__init__(800.0)

    def command(self, t):
        return super().command(t) * (1.0 if t < 0.3 else 0.25)


def test_controllers_know_the_file_only():
    """A heavier copy would sink for ever, or a controller would be told the truth."""
    controller = GeometricController(trajectories.hold(height=HIGH[2]), spin_up=0.0)
    with Simulation("flat") as simulation:
        vehicle = Multirotor(
            PLAIN_IRIS, count=3, position=HIGH, backends=[controller], variation={"mass": [1.2, 1.5, 1.8]}
        )
        simulation.add(vehicle)
        simulation.run(duration=1.0)
        early = np.abs(vehicle.position[:, 2] - HIGH[2])
        simulation.run(duration=24.0)
    assert vehicle.mass == 1.5
    assert early[1] < 0.02 < 0.05 < min(early[0], early[2]), early
    np.testing.assert_allclose(vehicle.position[:, 2], HIGH[2], atol=0.01)


DRAWN = {
    "mass": {"normal": {"mean": 1.0, "std": 0.05, "relative": True}},
    "motor.time_constant_up": {"uniform": {"low": 0.01, "high": 0.02}},
    "center_of_mass": {"normal": {"mean": 0.001, "std": [0.005, 0.01, 0.0]}},
    "drag.coefficients": {"uniform": {"low": 0.5, "high": 1.5, "relative": True}},
}


def drawn(count, seed=3, name="varied", fields=DRAWN):
    with Simulation("flat", seed=seed) as simulation:
        return simulation.add(Multirotor(PLAIN_IRIS, name=name, count=count, variation=fields))


def test_drawn_values_depend_on_seed_vehicle_field_and_copy_only():
    """A copy would change with the number of copies or fields, or two vehicles would be the same."""
    few, many = drawn(10), drawn(100)
    alone = drawn(10, fields={"mass": DRAWN["mass"]})
    for field in DRAWN:
        np.testing.assert_array_equal(few.variation[field], many.variation[field][:10])
    np.testing.assert_array_equal(few.variation["mass"], alone.variation["mass"])
    assert (drawn(10, seed=4).variation["mass"] != few.variation["mass"]).all()
    assert (drawn(10, name="other").variation["mass"] != few.variation["mass"]).all()
    assert [p.mass for p in many.parameters] == many.variation["mass"].tolist()
    with pytest.raises(ValueError, match="read-only"):
        many.variation["mass"][0] = 1.0


def test_distributions_have_their_moments():
    """Numbers would be of another distribution, or copies or entries of a field be correlated."""
    values = drawn(2000).variation
    mass = values["mass"] / 1.5
    # Bounds of four standard errors.
    assert abs(mass.mean() - 1.0) < 4 * 0.05 / 2000**0.5
    assert abs(mass.std() - 0.05) < 4 * 0.05 / 4000**0.5
    times = values["motor.time_constant_up"]
    assert 0.01 < times.min() < 0.0101
    assert 0.0199 < times.max() < 0.02
    assert abs(times.mean() - 0.015) < 4 * 0.01 / 12**0.5 / 2000**0.5
    center = values["center_of_mass"]
    np.testing.assert_allclose(center.std(axis=0), [0.005, 0.01, 0.0], rtol=4 / 4000**0.5, atol=1e-15)
    assert (center[:, 2] == 0.001).all()
    assert abs(np.corrcoef(center[:, 0], center[:, 1])[0, 1]) < 4 / 2000**0.5
    assert abs(np.corrcoef(mass[1:], mass[:-1])[0, 1]) < 4 / 2000**0.5
    # A relative value is the file's, times one number.
    drag = values["drag.coefficients"]
    np.testing.assert_allclose(drag[:, 0] / 0.5, drag[:, 1] / 0.3, rtol=1e-14)
    assert (drag[:, 2] == 0.0).all()


@pytest.mark.parametrize(
    ("field", "given", "message"),
    [
        ("mass", {"gauss": {}}, "variation.mass.gauss: unknown field; allowed here: normal, uniform"),
        ("mass", {}, "variation.mass: must be either uniform: {low, high} or normal: {mean, std}"),
        ("mass", {"normal": {"mean": 1.0}}, "variation.mass.normal.std: required field is missing"),
        (
            "mass",
            {"normal": {"mean": 1.0, "std": -1.0}},
            "variation.mass.normal.std = -1.0: must be at least",
        ),
        (
            "mass",
            {"uniform": {"low": 2.0, "high": 1.0}},
            "variation.mass.uniform.low = 2.0: must not be above",
        ),
        (
            "mass",
            {"uniform": {"low": [1.0, 2.0], "high": 3.0}},
            "variation.mass = [1.0, 2.0]: each parameter",
        ),
        (
            "battery.rated_voltage",
            {"normal": {"mean": 1.0, "std": 0.1, "relative": True}},
            "variation.battery.rated_voltage: the file has no value to multiply; give absolute values",
        ),
    ],
)
def test_impossible_distributions_are_one_line(field, given, message):
    """A misspelt distribution would be another one, or a message name nothing of the file."""
    with pytest.raises(ConfigError, match="^" + re.escape(message)):
        Multirotor(EQUIPPED, count=2, variation={field: given})


def test_a_drawn_value_that_is_impossible_is_refused_when_it_joins():
    """A negative mass would be flown."""
    vehicle = Multirotor(PLAIN_IRIS, count=9, variation={"mass": {"uniform": {"low": -2.0, "high": -1.0}}})
    with (
        Simulation("flat") as simulation,
        pytest.raises(ConfigError, match=r"^variation.mass, copy 0 = -1\."),
    ):
        simulation.add(vehicle)


def test_energy_closes_for_each_copy():
    """The audit would take mass or inertia of another copy: work without energy."""
    audit = EnergyAudit()
    flight = trajectories.lemniscate(radius=5.0, height=5.0, speed=4.0)
    with Simulation("flat", observers=[audit]) as simulation:
        simulation.add(
            Multirotor(
                PLAIN_IRIS,
                count=4,
                position=[[0.0, 12.0 * k, 5.0] for k in range(4)],
                backends=[GeometricController(flight, spin_up=0.0)],
                variation={
                    "mass": [1.3, 1.5, 1.6, 1.7],
                    "inertia": [
                        [0.02, 0.03, 0.04],
                        [0.03, 0.03, 0.05],
                        [0.03, 0.04, 0.05],
                        [0.05, 0.05, 0.06],
                    ],
                    "center_of_mass": [[0.0, 0.0, 0.0], [0.01, 0.0, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.02]],
                },
            )
        )
        simulation.run(6.0)
    balance = audit.balances()["iris"]
    assert balance.drag < -1.0
    assert abs(balance.residual) < 1e-4 * balance.gross


def test_a_scenario_varies_its_vehicles(tmp_path):
    """The field of the file would be ignored, or an error not name its place."""
    file = tmp_path / "varied.yaml"
    content = {
        "name": "varied",
        "world": "flat",
        "seed": 3,
        "duration": 1.0,
        "vehicles": [{"model": str(PLAIN_IRIS), "name": "varied", "count": 10, "variation": DRAWN}],
    }
    file.write_text(yaml.safe_dump(content))
    with Flight(file).simulation as simulation:
        vehicle = simulation.vehicles["varied"]
        np.testing.assert_array_equal(vehicle.variation["mass"], drawn(10).variation["mass"])
    content["vehicles"][0]["variation"] = {"mass": [1.0, 2.0]}
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(
        ConfigError, match=r"vehicles.0.variation.mass = .*one entry for each of the 10 copies"
    ):
        Flight(file)


def own_drag_law(
    p: "OwnDrag", air_velocity: Vec3, angular_velocity: Vec3, rotor_speeds: Reals, air_density: Real
) -> tuple[Vec3, Vec3]:
    turning = angular_velocity * (1e-5 * rotor_speeds[0] * air_density)
    return air_velocity * -p.strength, turning * -p.strength


@dataclass(frozen=True, kw_only=True)
class OwnDrag(Drag):
    law: ClassVar[Any] = staticmethod(own_drag_law)

    strength: float = 0.1


def test_models_given_as_arguments_vary_too():
    """Laws of the user would have the parameters of the first copy, or the file's model would be varied."""
    pack = {"cell_count": 4, "capacity": 0.3, "resistance": 0.02}
    strengths, resistances, place = [0.0, 0.2, 0.6], [0.01, 0.02, 0.04], starts(3)
    batch = Multirotor(
        PLAIN_IRIS,
        count=3,
        position=place,
        sensors={},
        backends=[Schedule()],
        drag=OwnDrag(),
        battery=Battery(**pack),
        variation={"drag.strength": strengths, "battery.resistance": resistances},
    )
    singles = [
        Multirotor(
            PLAIN_IRIS,
            name=f"own{k}",
            position=place[k],
            sensors={},
            backends=[Schedule()],
            drag=OwnDrag(strength=strengths[k]),
            battery=Battery(**(pack | {"resistance": resistances[k]})),
        )
        for k in range(3)
    ]
    fly([batch], 1.2)
    fly(singles, 1.2)
    assert len(set(batch.velocity[:, 0])) == len(set(batch.battery.voltage)) == 3
    for k, single in enumerate(singles):
        require_same(batch, k, single)


def test_jets_of_copies_vary():
    """A copy would be blown by the jet of another one's parameters."""
    place, rates = [[0.0, 0.0, 20.0], [0.0, 0.0, 18.0], [0.1, 0.0, 16.0]], [0.06, 0.08, 0.1]
    file = {**EQUIPPED, "downwash": {"model": "turbulent_jet"}}
    singles = [
        Multirotor(
            {**file, "downwash": {"model": "turbulent_jet", "spreading_rate": rate}},
            name=f"own{k}",
            position=place[k],
            backends=[Constant(650.0)],
        )
        for k, rate in enumerate(rates)
    ]
    options = {"count": 3, "position": place}
    batch = Multirotor(
        file, backends=[Constant(650.0)], variation={"downwash.spreading_rate": rates}, **options
    )
    equal = Multirotor(file, backends=[Constant(650.0)], **options)
    for vehicles in [batch], [equal], singles:
        fly(vehicles, 1.0)
    assert (batch.position[1:] != equal.position[1:]).any(axis=1).all()
    for k, single in enumerate(singles):
        require_same(batch, k, single)
