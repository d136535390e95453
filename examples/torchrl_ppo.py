"""Trains TorchRL's PPO with action masks in self-play, and draws games that the agent can lose.

`pip install tictactoe-env "torchrl>=0.14"`. The argument is the number of moves to learn from.
"""

import sys

import gymnasium as gym
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import DTypeCastTransform, GymWrapper
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from tictactoe_env import FunctionPolicy, Rules, evaluate, snapshot

RULES = Rules()  # moves, in 64 games at a time
BATCH = 4_096
updates = (int(sys.argv[1]) if len(sys.argv) > 1 else 100_000) // BATCH
torch.manual_seed(0)
pool = [["self", 0.5], ["minimax-slip=0.5", 0.5]]
games = gym.make_vec("tictactoe_env:TicTacToe-v0", 64, opponent=pool)
env = GymWrapper(games, categorical_action_encoding=True)  # reads all of info, the mask too
env = env.append_transform(DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))
env.set_seed(0)

logits = TensorDictModule(MLP(18, 9, num_cells=[128, 128]), ["observation"], ["logits"])
keys = {"logits": "logits", "mask": "action_mask"}  # what MaskedCategorical takes, and from where
actor = ProbabilisticActor(logits, keys, distribution_class=MaskedCategorical, return_log_prob=True)
critic = ValueOperator(MLP(18, 1, num_cells=[128, 128]), in_keys=["observation"])
advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
loss = ClipPPOLoss(actor, critic)
optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)


def probabilities(observations, masks):
    """The actor as a function of arrays: observations (B, 18) and masks (B, 9) to (B, 9)."""
    arrays = {"observation": torch.tensor(observations), "action_mask": torch.tensor(masks)}
    return actor.get_dist(TensorDict(arrays, len(masks))).probs


player = FunctionPolicy(probabilities, RULES)
collector = Collector(env, actor, frames_per_batch=BATCH, auto_register_policy_transforms=True)
for _, batch in zip(range(updates), collector, strict=False):
    for _ in range(4):
        advantage(batch)
        for part in batch.reshape(-1)[torch.randperm(BATCH)].split(1024):
            optimizer.zero_grad()
            sum(value for key, value in loss(part).items() if key.startswith("loss_")).backward()
            optimizer.step()
    games.add_snapshot(player)  # frozen: "self" also plays as the network plays now
found = evaluate(snapshot(player, RULES, deterministic=True))
print(found)
if not found.unbeatable:
    found.save("lost.svg")
