"""Small tasks with action masks that have nothing to do with a board, and their exact values."""

from itertools import product

import gymnasium as gym
import numpy as np
from gymnasium import spaces

STATES = 4
ACTIONS = 4
DISCOUNT = 0.8
# By state and action. The last action is never legal; the third is the best, and rarely legal.
REWARDS = np.array([[0.1, 0.0, 0.9, 0], [0.0, 0.2, 0.8, 0], [0.1, 0.1, 0.9, 0], [0.2, 0.0, 0.9, 0]])
LEGAL = np.array([0.7, 0.7, 0.2, 0.0])  # how often each action is legal


class Lottery(gym.Env):
    """A ring of states: an action leads one or two states further, and some actions are not legal.

    Which ones is drawn anew for each observation, whatever the observation is. The game ends with
    probability `ends` after each step. An illegal action raises ValueError.
    tells: put the mask into the info.
    """

    def __init__(self, ends=0.3, as_dict=False, tells=False):
        self.ends = ends
        self.as_dict = as_dict
        self.tells = tells
        place = spaces.Discrete(STATES)
        noise = spaces.Box(-1, 1, (2,), np.float32)
        self.observation_space = spaces.Dict(place=place, zeros=noise) if as_dict else place
        self.action_space = spaces.Discrete(ACTIONS)
        self.drawn = []  # every mask so far

    def action_masks(self):
        return self.drawn[-1]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = int(self.np_random.integers(STATES))
        return self.observed(), {}

    def observed(self):
        mask = np.zeros(ACTIONS, dtype=bool)
        while not mask.any():
            mask = self.np_random.random(ACTIONS) < LEGAL
        self.drawn.append(mask)
        place = np.int64(self.state)
        return {"place": place, "zeros": np.zeros(2, np.float32)} if self.as_dict else place

    def step(self, action):
        if not self.action_masks()[action]:
            raise ValueError(f"action {action} is illegal: {self.action_masks()}")
        reward = REWARDS[self.state, action]
        self.state = following(self.state, action)
        is_over = bool(self.np_random.random() < self.ends)
        seen = self.observed()
        info = {"action_mask": self.action_masks()} if self.tells else {}
        return seen, float(reward), is_over, False, info


def following(state, action):
    """The state after an action."""
    return (state + 1 + action % 2) % STATES


def lottery_values(ends=0.3, with_masks=True):
    """The exact values (states, actions), by value iteration; without masks, all are legal."""
    masks = [np.array(mask, dtype=bool) for mask in product((0, 1), repeat=ACTIONS) if any(mask)]
    shares = np.array([np.where(mask, LEGAL, 1 - LEGAL).prod() for mask in masks])
    values = np.zeros((STATES, ACTIONS))
    for _ in range(500):
        best = [values[:, mask].max(axis=1) for mask in masks]
        of_state = shares @ best / shares.sum() if with_masks else values.max(axis=1)
        places = [
            [following(state, action) for action in range(ACTIONS)] for state in range(STATES)
        ]
        values = REWARDS + DISCOUNT * (1 - ends) * of_state[np.array(places)]
    return values
