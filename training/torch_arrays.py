"""Weights and optimizer moments of torch as arrays and back, and illegal moves as tensors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from tictactoe_env.rules import Rules
from training.learner import Arrays


def weights_of(module: torch.nn.Module) -> Arrays:
    """Copies of a module's weights, by name."""
    return {name: tensor.numpy(force=True).copy() for name, tensor in module.state_dict().items()}


def load_weights(module: torch.nn.Module, arrays: Arrays) -> None:
    """Load weights into a module. Raises RuntimeError for other names or shapes."""
    module.load_state_dict(_tensors(arrays))


def moments_of(optimizer: torch.optim.Optimizer) -> dict[str, Arrays]:
    """Copies of an optimizer's state of each parameter, by the parameter's number."""
    return {
        str(number): {name: tensor.numpy(force=True).copy() for name, tensor in moments.items()}
        for number, moments in optimizer.state_dict()["state"].items()
    }


def load_moments(optimizer: torch.optim.Optimizer, saved: Mapping[str, Arrays]) -> None:
    """Load moments into an optimizer."""
    moments = {int(number): _tensors(arrays) for number, arrays in saved.items()}
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": moments, "param_groups": groups})


def _tensors(arrays: Arrays) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}


def illegal_cells(planes: torch.Tensor, rules: Rules) -> torch.Tensor:
    """The illegal moves (B, cells) bool on boards as planes (B, 2, rows, cols)."""
    taken = planes.flatten(2).sum(dim=1) > 0
    if rules.all_free_are_legal:
        return taken
    boards = taken.cpu().numpy().astype(np.int8)
    return ~torch.from_numpy(rules.legal_cells(boards)).to(planes.device)


def use_torch(device: str, threads: int) -> None:
    """Set the number of torch's threads. Raises ValueError if it cannot use this device here."""
    torch.set_num_threads(threads)
    if device == "cuda" and not torch.cuda.is_available():
        built = torch.version.cuda or "none, it is built for the CPU"
        raise ValueError(
            f"device 'cuda' cannot be used: torch {torch.__version__} finds no GPU (CUDA: "
            f"{built}); leave --device out to train on the CPU"
        )
