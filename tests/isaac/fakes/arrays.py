"""Devices as returned by Warp."""


class Device:
    """Stand-in of `wp.Device`."""

    def __init__(self, alias):
        assert alias == "cpu" or alias.startswith("cuda"), alias
        self.alias = "cuda:0" if alias == "cuda" else alias
        self.is_cpu = self.alias == "cpu"
        self.is_cuda = not self.is_cpu
        self.ordinal = -1 if self.is_cpu else int(self.alias.partition(":")[2])

    def __str__(self):
        return self.alias

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return hash(self.alias)
