"""Models of vehicles: the layout of their rotors, and the parameters of their step."""
