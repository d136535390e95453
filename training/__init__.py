"""What all agents share: options, the training loop, evaluation, checkpoints, runs and charts.

It imports the package and never an agent. torch is imported only where tensors are handled.
"""
