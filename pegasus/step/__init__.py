"""Step of a machine: a pure function of its model, its state and its inputs."""
