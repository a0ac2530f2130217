"""ArduPilot's side of the JSON interface, as a program for tests; standard library only.

It accepts ArduPilot's own options, so that it can be launched in place of ArduPilot, and these:

    --pilot fly|echo     fly a square (the default), or turn the position into pulse widths at once
    --repeat SECONDS     wall time after which an unanswered packet is sent again (ArduPilot: 1.1)
    --do WHAT@FRAME[=X]  misbehave when the frame count is FRAME; may be given several times:
                         silence (for X wall seconds), doubled (X packets twice), garbage (X times),
                         channels32, channels16, lost (X replies), again (the packet comes once more, X s
                         after its reply has come), restart (from a new port), exit (status X), kill
    --until SECONDS      end with status 0 after this time of the simulation's clock

Every reply is checked as by ArduPilot's parser; a reply that ArduPilot would reject ends the program with
status 3. Lines on standard output: `phase NAME TIME` in simulated time, and `replies COUNT` at the end.
"""

import argparse
import json
import math
import os
import random
import re
import signal
import socket
import struct
import sys
import time

JSON_PORT, PORT_STEP = 9002, 10
REQUIRED = ("timestamp", "imu", "position", "velocity", "quaternion")
FRAME_RATE = 1200

# The Iris, in FRD; thrust of a rotor k w^2, its torque c times that, w = 653 u + 65 rad/s.
MASS, GRAVITY = 1.5, 9.80665
INERTIA = (0.029125, 0.029125, 0.055225)
THRUST_CONSTANT, MOMENT_RATIO = 1.58860e-5, 0.016334
ROTORS = ((0.138, 0.207, 1.0), (-0.125, -0.219, 1.0), (0.138, -0.203, -1.0), (-0.124, 0.222, -1.0))
IDLE = 1100

# Waypoints [m north, east, up of the start] and their durations [s].
PLAN = (
    ("disarmed", None, 1.0),
    ("armed", None, 0.5),
    ("takeoff", (0, 0, 5), 5.0),
    ("hover", (0, 0, 5), 2.0),
    ("square", (5, 0, 5), 4.0),
    ("square", (5, 5, 5), 4.0),
    ("square", (0, 5, 5), 4.0),
    ("square", (0, 0, 5), 4.0),
    ("land", (0, 0, -0.5), 5.0),
    ("landed", None, 1.0),
)
SPEED, CLIMB = 3.0, 1.5


def main():
    # Like ArduPilot, which ignores SIGTERM while it waits and ends at once on SIGINT.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = parse(sys.argv[1:])
    link = Link(options.instance, options.repeat)
    pilot = Square() if options.pilot == "fly" else Echo()
    tricks = {}
    for trick in options.do:
        what, _, rest = trick.partition("@")
        frame, _, argument = rest.partition("=")
        tricks.setdefault(int(frame), []).append((what, float(argument or 1)))
    pwm, first, last = [0] * 16, None, -math.inf
    while True:
        for what, argument in tricks.pop(link.frame_count, []):
            misbehave(link, what, argument)
        state = check(link.exchange(pwm))
        t = state["timestamp"]
        first = t if first is None else first
        if t < last:
            print("Detected physics reset", flush=True)
        pwm, last = pilot.fly(state, max(t - last, 0.0) if last > 0 else 0.0, t - first), t
        if t - first >= options.until:
            print(f"replies {link.reply_count}", flush=True)
            return 0


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--speedup")
    parser.add_argument("-I", dest="instance", type=int, default=0)
    parser.add_argument("--sysid")
    parser.add_argument("--home")
    parser.add_argument("--defaults")
    parser.add_argument("--serial0")
    parser.add_argument("-w", action="store_true")
    parser.add_argument("--pilot", choices=["fly", "echo"], default="fly")
    parser.add_argument("--repeat", type=float, default=1.1)
    parser.add_argument("--do", action="append", default=[])
    parser.add_argument("--until", type=float, default=math.inf)
    return parser.parse_args(arguments)


class Link:
    """The socket, with ArduPilot's waiting and repetition."""

    def __init__(self, instance, repeat):
        self.target = ("127.0.0.1", JSON_PORT + PORT_STEP * instance)
        self.repeat = repeat
        self.frame_count = self.reply_count = self.doubled = self.lost = 0
        self.again = 0.0
        self.channel_count = 16
        self.open()

    def open(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(self.repeat)

    def exchange(self, pwm):
        """Send the pulse widths in one datagram and wait for the reply without a limit."""
        self.send(pwm)
        while True:
            try:
                reply = self.socket.recv(65536)
            except TimeoutError:
                print("No JSON sensor message received, resending servos", flush=True)
                self.send(pwm)
                continue
            if self.lost:
                self.lost -= 1
                continue
            if self.again:
                time.sleep(self.again)
                self.again = 0.0
                self.send(pwm)
            self.frame_count += 1
            self.reply_count += 1
            return reply

    def send(self, pwm):
        count = self.channel_count
        magic = 18458 if count == 16 else 29569
        padded = (pwm + [0] * count)[:count]
        packet = struct.pack(f"<HHI{count}H", magic, FRAME_RATE, self.frame_count, *padded)
        self.socket.sendto(packet, self.target)
        if self.doubled:
            self.doubled -= 1
            self.socket.sendto(packet, self.target)


def misbehave(link, what, argument):
    print(f"{what} {link.frame_count}", flush=True)
    if what == "silence":
        time.sleep(argument)
    elif what == "doubled":
        link.doubled = int(argument)
    elif what == "lost":
        link.lost = int(argument)
    elif what == "again":
        link.again = argument
    elif what == "garbage":
        send_garbage(link, int(argument))
    elif what in ("channels16", "channels32"):
        link.channel_count = int(what.removeprefix("channels"))
    elif what == "restart":
        link.open()
        link.frame_count = 0
    elif what == "exit":
        sys.exit(int(argument))
    elif what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        sys.exit(f"no such trick: {what}")


def send_garbage(link, count):
    """Send datagrams that are not servo packets: wrong magic, wrong length, and random bytes."""
    source = random.Random(0)
    wrong = [b"", b"\x1a", struct.pack("<HHI16H", 18459, 400, 2**31, *[2000] * 16)]
    wrong += [struct.pack("<HHI16H", 29569, 400, 2**31, *[2000] * 16)]
    wrong += [struct.pack("<HHI32H", 18458, 400, 2**31, *[2000] * 32)]
    wrong += [struct.pack("<HHI16H", 18458, 400, 2**31, *[2000] * 16) + b"\0"]
    for i in range(count):
        datagram = wrong[i] if i < len(wrong) else source.randbytes(source.randrange(2000))
        link.socket.sendto(datagram, link.target)


def check(reply):
    """Return the state of a reply, or end the program if ArduPilot's parser would fail on it."""
    text = reply.decode("ascii")
    wrong = None
    if not (text.startswith("\n{") and text.endswith("}\n") and text.count("\n") == 2):
        wrong = "a newline before and after, and nowhere else"
    elif re.search(r"\s", text.strip("\n")):
        wrong = "no spaces"
    elif re.search(r"nan|inf", text, re.IGNORECASE):
        wrong = "finite numbers"
    elif text.find("velocity") != text.find('"velocity":') + 1:
        wrong = "velocity before any key that holds it"
    state = json.loads(text) if wrong is None else {}
    if wrong is None and not all(key in state for key in REQUIRED):
        wrong = f"the keys {', '.join(REQUIRED)}"
    if wrong is not None:
        print(f"wants {wrong}: {text!r}", flush=True)
        sys.exit(3)
    return state


class Echo:
    """A pilot whose pulse widths repeat the position: 1000 plus millimetres north, east, down."""

    def fly(self, state, dt, t):
        return [1000 + round(1000 * x) for x in state["position"]] + [1500]


class Square:
    """A pilot that flies the plan by the true state in the replies, with the heading of the start."""

    def __init__(self):
        self.start = self.yaw = self.setpoint = None
        self.armed = False
        self.phase, self.phase_end = -1, 0.0
        self.allocation = inverse(
            [
                [-1.0] * 4,
                [-y for _, y, _ in ROTORS],
                [x for x, _, _ in ROTORS],
                [MOMENT_RATIO * spin for _, _, spin in ROTORS],
            ]
        )

    def fly(self, state, dt, t):
        position, (w, x, y, z) = state["position"], state["quaternion"]
        if self.start is None:
            self.start, self.setpoint = position, list(position)
            self.yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        while t >= self.phase_end:
            self.phase = min(self.phase + 1, len(PLAN) - 1)
            name, _, duration = PLAN[self.phase]
            self.phase_end = t + duration if self.phase < len(PLAN) - 1 else math.inf
            print(f"phase {name} {state['timestamp']:.3f}", flush=True)
        name, target, _ = PLAN[self.phase]
        if target is None:
            return [IDLE if name == "armed" else 1000] * 4
        self.move_setpoint(target, dt)
        return self.outputs(state)

    def move_setpoint(self, target, dt):
        goal = [self.start[0] + target[0], self.start[1] + target[1], self.start[2] - target[2]]
        for i, limit in enumerate((SPEED, SPEED, CLIMB)):
            step = goal[i] - self.setpoint[i]
            self.setpoint[i] += max(-limit * dt, min(limit * dt, step))

    def outputs(self, state):
        """Return the pulse widths of a PD law for the position over a PD law for the attitude."""
        error = [s - p for s, p in zip(self.setpoint, state["position"], strict=True)]
        push = [
            max(-4.0, min(4.0, kp * e - kd * v))
            for kp, kd, e, v in zip((2, 2, 5), (2.5, 2.5, 4), error, state["velocity"], strict=True)
        ]
        force = [MASS * push[0], MASS * push[1], MASS * (push[2] - GRAVITY)]
        down = unit([-f for f in force])
        right = unit(cross(down, [math.cos(self.yaw), math.sin(self.yaw), 0.0]))
        wanted = [cross(right, down), right, down]
        axes = columns(state["quaternion"])
        # Half of the vee of R_d^T R - R^T R_d (Lee 2010), in the body frame.
        product = [[dot(a, b) for b in axes] for a in wanted]
        tilt = [
            0.5 * (product[2][1] - product[1][2]),
            0.5 * (product[0][2] - product[2][0]),
            0.5 * (product[1][0] - product[0][1]),
        ]
        torque = [
            j * (-kp * e - kd * rate)
            for j, kp, kd, e, rate in zip(
                INERTIA, (120, 120, 12), (18, 18, 6), tilt, state["imu"]["gyro"], strict=True
            )
        ]
        thrust = -dot(force, axes[2])
        wrench = [-thrust, *torque]
        forces = [max(0.0, dot(row, wrench)) for row in self.allocation]
        speeds = [math.sqrt(f / THRUST_CONSTANT) for f in forces]
        return [max(IDLE, min(2000, round(1000 + 1000 * (speed - 65) / 653))) for speed in speeds]


def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def unit(a):
    length = math.sqrt(dot(a, a))
    return [p / length for p in a]


def columns(quaternion):
    """Return the body axes in NED of a quaternion w, x, y, z."""
    w, x, y, z = quaternion
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
        [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
        [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
    ]


def inverse(matrix):
    """Return the inverse of a square matrix, by elimination with the largest pivots."""
    size = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        best = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[best] = rows[best], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(size):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[size:] for row in rows]


if __name__ == "__main__":
    sys.exit(main())
