"""Models of vehicles: their channels, elements and rotors, and the parameters of their step."""
