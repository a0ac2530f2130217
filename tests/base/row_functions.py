"""Functions over rows of numbers, with random rows; as a script, prints a digest of each one's results."""

import hashlib
import json
from functools import partial

import numpy as np

from pegasus.base import frames
from pegasus.base.arrays import row_product, sum_along
from pegasus.environment import (
    Environment,
    Geodetic,
    Gusts,
    SteelObject,
    TiltedDipole,
    geodetic_from_local,
    local_from_geodetic,
)

COUNT = 1000
_RNG = np.random.default_rng(7)
_QUATERNIONS = _RNG.normal(size=(2, COUNT, 4))
_QUATERNIONS /= np.sqrt((_QUATERNIONS * _QUATERNIONS).sum(axis=-1, keepdims=True))
_VECTORS = _RNG.normal(size=(3, COUNT, 3))
_MATRICES = frames.matrix_from_quaternion(_QUATERNIONS)
_ORIGIN = Geodetic(47.4, 8.5, 400.0)


def _windy() -> Environment:
    environment = Environment(wind=Gusts((3.0, 1.0, 0.0)), magnetic_field=TiltedDipole())
    environment.bind(np.random.default_rng(1))
    return environment


_STEEL = Environment(steel=(SteelObject(position=(0.1, 0.2, 0.3), radius=0.4, moment=(1.0, 2.0, 3.0)),))
FUNCTIONS = {
    "multiply": (frames.multiply, *_QUATERNIONS),
    "conjugate": (frames.conjugate, _QUATERNIONS[0]),
    "normalize": (frames.normalize, _VECTORS[0]),
    "matrix_from_quaternion": (frames.matrix_from_quaternion, _QUATERNIONS[0]),
    "quaternion_from_matrix": (frames.quaternion_from_matrix, _MATRICES[0]),
    "quaternion_from_euler": (frames.quaternion_from_euler, *_VECTORS[..., 0]),
    "euler_from_quaternion": (frames.euler_from_quaternion, _QUATERNIONS[0]),
    "quaternion_from_rotation_vector": (frames.quaternion_from_rotation_vector, _VECTORS[0]),
    "rotation_vector_from_quaternion": (frames.rotation_vector_from_quaternion, _QUATERNIONS[0]),
    "rotate": (frames.rotate, _MATRICES[0], _VECTORS[0]),
    "rotate_inverse": (frames.rotate_inverse, _MATRICES[0], _VECTORS[0]),
    "matrix_product": (frames.matrix_product, *_MATRICES),
    "cross": (frames.cross, *_VECTORS[:2]),
    "swap_attitude_convention": (frames.swap_attitude_convention, _QUATERNIONS[0]),
    "sums of 3": (lambda v: sum_along(v, -1), _VECTORS[0]),
    "sums of 7": (lambda v: sum_along(v, -1), _RNG.normal(size=(COUNT, 7))),
    "sums over rows": (lambda v: sum_along(v, -2), _RNG.normal(size=(COUNT, 12, 3))),
    "gravity": (_windy().gravity_vector, 1e3 * _VECTORS[0]),
    "air density": (_windy().air_density, 1e4 * _VECTORS[0]),
    "gusts": (lambda p: _windy().wind_velocity(p, 7.0), 1e3 * _VECTORS[0]),
    "dipole": (_windy().magnetic_field_at, 1e3 * _VECTORS[0]),
    "WMM2025": (Environment().magnetic_field_at, 1e3 * _VECTORS[0]),
    "steel": (_STEEL.disturbed_field_at, _VECTORS[0]),
    "longitude": (lambda p: geodetic_from_local(p, origin=_ORIGIN)[1], 1e4 * _VECTORS[0]),
    "local position": (partial(local_from_geodetic, origin=_ORIGIN), *_VECTORS[..., 0]),
}
for _shape in ((3, 1), (3, 128), (4, 6), (6, 3), (6, 4), (7, 2), (12, 4)):
    FUNCTIONS[f"product {_shape}"] = (
        partial(row_product, matrix=_RNG.normal(size=_shape)),
        _RNG.normal(size=(COUNT, _shape[0])),
    )


def found():
    """Return the digests of the results by name."""
    results = {name: function(*rows) for name, (function, *rows) in FUNCTIONS.items()}
    return {name: hashlib.sha256(r.tobytes("C")).hexdigest() for name, r in results.items()}


if __name__ == "__main__":
    print(json.dumps(found()))
