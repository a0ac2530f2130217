"""Controller of vehicles that take off on their rotors and fly on their wings."""
