"""Play, watch and replay games at a terminal, and print reports. Needs no torch."""
