"""Fake of `omni.graph.core`: action graphs of the nodes that publish cameras.

The inputs and outputs of the nodes come from their .ogn files in
https://github.com/isaac-sim/IsaacSim/tree/v6.0.1/source/extensions/isaacsim.ros2.nodes
"""

from pxr import Usd

from tests.isaac.fakes.application import kit

_HELPER = {
    "enabled": bool,
    "nodeNamespace": str,
    "frameId": str,
    "topicName": str,
    "qosProfile": str,
    "queueSize": int,
    "renderProductPath": str,
    "resetSimulationTimeOnStop": bool,
    "useSystemTime": bool,
    "frameSkipCount": int,
    "execIn": None,
    "context": None,
}
_TYPES = (
    "rgb",
    "depth",
    "depth_pcl",
    "instance_segmentation",
    "semantic_segmentation",
    "bbox_2d_tight",
    "bbox_2d_loose",
    "bbox_3d",
)
_INPUTS = {
    "omni.graph.action.OnPlaybackTick": {},
    "isaacsim.ros2.bridge.ROS2Context": {"domain_id": int, "useDomainIDEnvVar": bool},
    "isaacsim.ros2.bridge.ROS2CameraHelper": _HELPER
    | {"type": str, "enableSemanticLabels": bool, "semanticLabelsTopicName": str},
    "isaacsim.ros2.bridge.ROS2CameraInfoHelper": _HELPER
    | {"frameIdRight": str, "topicNameRight": str, "renderProductPathRight": str},
}
_OUTPUTS = {
    "omni.graph.action.OnPlaybackTick": {"tick"},
    "isaacsim.ros2.bridge.ROS2Context": {"context"},
    "isaacsim.ros2.bridge.ROS2CameraHelper": set(),
    "isaacsim.ros2.bridge.ROS2CameraInfoHelper": set(),
}


class Keys:
    CONNECT = "CONNECT"
    CREATE_NODES = "CREATE_NODES"
    SET_VALUES = "SET_VALUES"


class Graph:
    """An action graph, evaluated in each frame while its prim exists."""

    def __init__(self, path):
        self.path, self.types, self.values, self.links = path, {}, {}, set()
        self.published = {}
        self.messages = {}
        """Number of published messages by node."""
        self._gates = {}

    def _input(self, name):
        node, _, port = name.partition(".inputs:")
        assert port in _INPUTS[self.types[node]], f"{self.types[node]} has no input {port}"
        return node, port

    def edit(self, commands):
        # The order of og.Controller, which ignores the order of the dictionary.
        for name, kind in commands.get(Keys.CREATE_NODES, ()):
            assert name.isidentifier(), f"{name!r} is no name of a prim"
            assert name not in self.types, f"two nodes {name}"
            assert kind in _INPUTS, f"no node type {kind}"
            bridge = kind.startswith("isaacsim.ros2.bridge.")
            assert not bridge or "isaacsim.ros2.bridge" in kit().extensions, "the bridge is not enabled"
            self.types[name] = kind
        for source, target in commands.get(Keys.CONNECT, ()):
            node, _, port = source.partition(".outputs:")
            assert port in _OUTPUTS[self.types[node]], f"{self.types[node]} has no output {port}"
            self.links.add((source, self._input(target)))
        for name, value in commands.get(Keys.SET_VALUES, ()):
            node, port = self._input(name)
            kind = _INPUTS[self.types[node]][port]
            assert type(value) is kind, f"{port} takes {kind}"
            assert port != "type" or value in _TYPES, f"nothing of the type {value}"
            self.values[node, port] = value

    def tick(self):
        """Publish from each helper node with a connected tick and an existing render product."""
        for node, kind in self.types.items():
            ticked = any(target == (node, "execIn") for _, target in self.links)
            if ticked and kind.endswith("Helper") and node not in self.published:
                values = {port: value for (name, port), value in self.values.items() if name == node}
                stage = kit().context.get_stage()
                if stage.GetPrimAtPath(values["renderProductPath"]):
                    self.published[node] = values
        for node, values in self.published.items():
            product = next(p for p in kit().products if p.path == values["renderProductPath"])
            # Frames are counted as in OgnIsaacSimulationGate.cpp.
            self._gates[node] = self._gates.get(node, 0) + product._is_fresh
            if product._is_fresh and self._gates[node] >= values.get("frameSkipCount", 0) + 1:
                self._gates[node] = 0
                self.messages[node] = self.messages.get(node, 0) + 1


class Controller:
    """Stand-in of `omni.graph.core.Controller`."""

    Keys = Keys

    @classmethod
    def edit(cls, *args, **kwargs):
        graph_id, commands = args
        assert not kwargs
        assert set(graph_id) == {"graph_path", "evaluator_name"}
        path = graph_id["graph_path"]
        stage = kit().context.get_stage()
        assert not stage.GetPrimAtPath(path), "there is a graph already"
        stage.DefinePrim(path, "OmniGraph")
        graph = Graph(path)
        graph.edit(commands)
        kit().graphs.append(graph)
        return graph, [], [], {}


def run_graphs():
    """Evaluate the graphs whose prims exist."""
    stage = kit().context.get_stage()
    if stage is None:
        return
    kit().graphs = [g for g in kit().graphs if isinstance(stage, Usd.Stage) and stage.GetPrimAtPath(g.path)]
    for graph in kit().graphs:
        if kit().timeline.is_playing():
            kit().guarded(graph.tick)
        else:
            graph.published, graph.messages, graph._gates = {}, {}, {}
