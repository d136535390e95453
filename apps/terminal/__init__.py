"""Play, watch and replay games at a terminal, and print reports. Needs no torch."""

import training  # noqa: F401  before NumPy, whose kernels it chooses
