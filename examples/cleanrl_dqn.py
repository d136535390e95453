"""DQN with action masks in one file, in the style of CleanRL, on 256 games at a time.

    pip install tictactoe-env "torch>=2.8"

Games start from random positions against perfect play, and the network sees one image of all boards
that are the same by symmetry. With seed 1 it can't be beaten after 50,000 steps, a few seconds of
one core.
"""

import copy
import random
import sys
from collections import deque

import gymnasium as gym
import torch
from torch import nn

from tictactoe_env import FunctionPolicy, Rules, evaluate

TOTAL = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
ENVS = 256
CAPACITY = 400  # steps of all games
BATCH = 4  # steps of all games
UPDATES = 8
RATE = 1e-3
EPSILON = 0.5
TARGET_EVERY = 20
SEED = 1
random.seed(SEED)
torch.manual_seed(SEED)
hidden = nn.Linear(18, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()
network = nn.Sequential(*hidden, nn.Linear(128, 9))
target_network = copy.deepcopy(network)
optimizer = torch.optim.Adam(network.parameters(), lr=RATE)


def best(network, obs, mask):
    """The values of the best moves on free cells, and these moves."""
    values = network(torch.as_tensor(obs))
    return values.masked_fill(torch.as_tensor(mask) == 0, -10).max(1)


envs = gym.make_vec("tictactoe_env/TicTacToe-Minimax-v0", ENVS, start="random", symmetric=True)
obs, info = envs.reset(seed=SEED)
buffer = deque(maxlen=CAPACITY)
for step in range(max(1, TOTAL // ENVS)):
    mask = torch.as_tensor(info["action_mask"])
    with torch.no_grad():
        explored = mask.float().multinomial(1)[:, 0]
        chosen = best(network, obs, mask)[1]
    action = torch.where(torch.rand(ENVS) < EPSILON, explored, chosen)
    before = obs, mask, action
    obs, reward, done, _, info = envs.step(action.numpy())
    # Where a game is over, `obs` is the next game's: `~d` leaves it out of the target.
    buffer.append([*map(torch.as_tensor, (*before, reward, done, obs, info["action_mask"]))])
    for _ in range(UPDATES):
        columns = zip(*random.sample(buffer, min(BATCH, len(buffer))), strict=True)
        o, m, a, r, d, o2, m2 = map(torch.cat, columns)
        target = r.float() + ~d * best(target_network, o2, m2)[0].detach()
        loss = nn.functional.mse_loss(network(o).gather(1, a[:, None])[:, 0], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if step % TARGET_EVERY == 0:
        target_network.load_state_dict(network.state_dict())
print(evaluate(FunctionPolicy(lambda o, m: best(network, o, m)[1], Rules(), symmetric=True)))
