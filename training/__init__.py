"""The shared parts of all agents: options, training loop, evaluation, checkpoints, runs, charts.

It imports the package and never an agent. torch is imported only where tensors are handled.
Importing it chooses the kernels of NumPy and torch: see `training.kernels`.
"""

from training import kernels

kernels.choose()
