"""Parts common to both autopilots: links, MAVLink messages, ports, programs and the map of rotors."""
