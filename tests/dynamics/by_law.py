"""Laws of models over arrays."""

import numpy as np

from pegasus.base.step_math import Vec3


def drag_wrench(drag, velocity, angular_velocity, air_density):
    """Return force [N] and torque [N m] of a drag, shape (N, 3) each, with rotors at rest."""
    density = np.broadcast_to(air_density, (len(velocity), 1))
    law = type(drag).law
    pairs = [
        law(drag, Vec3(*v), Vec3(*w), (), rho)
        for v, w, rho in zip(velocity, angular_velocity, density[:, 0], strict=True)
    ]
    return tuple(np.array([[pair[n][k] for k in range(3)] for pair in pairs]) for n in (0, 1))


def motor_speed(motor, speed, command, dt):
    """Return rotor speeds after dt [rad/s]."""
    rest, law = Vec3(0.0, 0.0, 0.0), type(motor).law
    pairs = np.broadcast(speed, command)
    return np.array([law(motor, w, rest, c, 0.0, dt)[0] for w, c in pairs]).reshape(pairs.shape)
