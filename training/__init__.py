"""What every agent stands on: options, the training loop, evaluation, checkpoints, progress, charts.

It imports the package and never an agent. torch is imported only where tensors are handled.
"""
