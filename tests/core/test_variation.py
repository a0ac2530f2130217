"""Parameters that differ between the copies of a vehicle."""

import re

import numpy as np
import pytest
import yaml

from pegasus import Backend, Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.system import resource
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import Drag, Motor
from tests.flyers import HIGH, Constant

IRIS = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())
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
    "motor.max_speed": [700.0, 760.0, 800.0, 900.0, 1100.0],
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
    """A copy would fly with the parameters of another one, or the engine with those of the file."""
    values = VARIATIONS[field]
    singles = [
        Multirotor(with_field(field, value), name=f"own{k}", position=start, backends=[Schedule()])
        for k, (value, start) in enumerate(zip(values, starts(COUNT), strict=True))
    ]
    varied = {"count": COUNT, "position": starts(COUNT), "variation": {field: values}}
    batch = Multirotor(EQUIPPED, backends=[Schedule()], **varied)
    touched = fly([batch])
    fly(singles)
    assert touched.any()
    assert len({array.tobytes() for array in batch.state.velocity}) == COUNT
    for k, single in enumerate(singles):
        require_same(batch, k, single)


def test_a_copy_flies_as_a_vehicle_that_is_alone():
    """A copy would depend on the values of the others."""
    batch = Multirotor(
        EQUIPPED, count=COUNT, position=starts(COUNT), backends=[Schedule()], variation=VARIATIONS
    )
    fly([batch], 1.2)
    file = EQUIPPED
    for field, values in VARIATIONS.items():
        section, _, rest = field.partition(".")
        file = {**file, section: {**file[section], rest: values[3]} if rest else values[3]}
    alone = Multirotor(file, position=starts(COUNT)[3], backends=[Schedule()])
    fly([alone], 1.2)
    require_same(batch, 3, alone)


def test_impossible_variations_are_one_line():
    """A wrong value would be flown, or reported without its copy; geometry would differ from the scene."""

    def refused(message, count=3, model="iris", **variation):
        given = {name.replace("__", "."): value for name, value in variation.items()}
        with pytest.raises(ConfigError, match="^" + re.escape(message)):
            Multirotor(model, count=count, variation=given)

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
        simulation.add(Multirotor("iris", count=2, variation={"mass": [1.5, 9.0]}))


class NumpyMotor(Motor):
    def step(self, speed, command, dt):
        return command


class NumpyDrag(Drag):
    def wrench(self, velocity, angular_velocity, air_density):
        return -0.1 * velocity, None


def test_parameters_of_models_in_numpy_cannot_vary():
    """Values would have no effect, since Python evaluates the model for all copies."""
    with pytest.raises(
        ConfigError, match="NumpyMotor is a model in NumPy, whose parameters are those of all"
    ):
        Multirotor("iris", count=2, motor=NumpyMotor(), variation={"motor.max_speed": [900.0, 1000.0]})


def test_models_in_numpy_fly_with_varied_bodies():
    """The air velocity at the centre of mass would be that of the first copy, or of none."""
    centers = [[0.0, 0.0, 0.0], [0.02, 0.0, 0.03]]
    options = {"drag": NumpyDrag(), "sensors": {}}
    place = [[0.0, 0.0, 20.0], [3.0, 0.0, 20.0]]
    backends = {"backends": [Constant(650.0)]}
    batch = Multirotor(
        "iris", count=2, position=place, variation={"center_of_mass": centers}, **options, **backends
    )
    single = Multirotor(
        {**IRIS, "center_of_mass": centers[1]}, position=place[1], **options, backends=[Constant(650.0)]
    )
    fly([batch], 1.0)
    fly([single], 1.0)
    for name in STATE:
        np.testing.assert_array_equal(getattr(batch.state, name)[1], getattr(single.state, name)[0])


def test_controllers_know_the_file_only():
    """A heavier copy would sink for ever, or a controller would be told the truth."""
    controller = GeometricController(trajectories.hold(height=HIGH[2]), spin_up=0.0)
    with Simulation("flat") as simulation:
        vehicle = Multirotor(
            "iris", count=3, position=HIGH, backends=[controller], variation={"mass": [1.2, 1.5, 1.8]}
        )
        simulation.add(vehicle)
        simulation.run(duration=1.0)
        early = np.abs(vehicle.position[:, 2] - HIGH[2])
        simulation.run(duration=24.0)
    assert vehicle.mass == 1.5
    assert early[1] < 0.02 < 0.05 < min(early[0], early[2]), early
    np.testing.assert_allclose(vehicle.position[:, 2], HIGH[2], atol=0.01)
