"""The DDS peer process at the other end of a pipe."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.waits import LIMIT, wait_until

PEER = Path(__file__).with_name("dds_peer.py")


class DDSPeer:
    """A process of `dds_peer.py`.

    Args:
        domain: Number of its domain.
    """

    def __init__(self, domain):
        command = [sys.executable, str(PEER), str(domain)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._answer() == "ready"

    def ask(self, do, **arguments):
        """Give a command, and return its answer; the commands are the methods of `Peer` there."""
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        assert not (isinstance(answer, dict) and "error" in answer), answer
        return answer

    def messages(self, topic, count=1):
        """Return the messages of a topic, once there are enough."""
        found = []
        wait_until(lambda: found.extend(self.ask("take", topic=topic)) or len(found) >= count)
        return found

    def freeze(self):
        """Suspend the process."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self):
        """Resume the process."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self):
        """Kill the process, so that it cannot announce its end."""
        self._process.kill()
        self._end()

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._end()

    def _end(self):
        self._process.wait(LIMIT)
        self._process.stdin.close()
        self._process.stdout.close()

    def _answer(self):
        line = self._process.stdout.readline()
        assert line, f"the peer ended: {self._process.wait(LIMIT)}"
        return json.loads(line)
