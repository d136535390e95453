"""AlphaZero: a network of moves and values learns from games that it plays with a tree search.

After Silver et al. 2018 (https://doi.org/10.1126/science.aar6404). The network says of a board how
likely each move is, and what the result will be. In self-play a search chooses the moves: it
follows these numbers, and corrects them by those of the positions it reaches. The network learns to
say what the search found, so the next search begins with better numbers. No opponent and no solver
plays. A simulation goes down the tree by PUCT, to the move with the highest Q + exploration * P *
sqrt(visits of the position) / (1 + visits of the move). P is the network's probability of the move,
Q the mean value of the simulations through it, 0 before the first. At the end of its path the
network says a value, or the game is over.

What differs from the paper:

- The target of a value is half the result of the game, and half the value that the search found.
  The result alone says little about the first positions of a game whose moves are drawn.
- The network is a perceptron, trained by a new Adam each round, with boards turned at random.
- A search begins with an empty tree. Its noise is Dirichlet(1), and `exploration` is a constant.
- On larger boards the network that plays is a moving average of the one that learns, and half of
  the games begin where it can still be beaten, as its last proofs have found.

The player makes the network's most likely move; with the option `simulations` the most visited move
of a search without noise. Both play by the canonical form of a board, and can be proven.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray

from tictactoe_env.engines.starts import ExploringStarts
from tictactoe_env.exact.positions import TABULATED, symmetries_of
from tictactoe_env.exact.proof import Limit, ProofLimitError
from tictactoe_env.exact.responses import respond
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.observation import observe
from tictactoe_env.policy import draw
from tictactoe_env.rules import MAX_BITS, SIDES, Boards, Rules, to_move
from training.learner import Arrays, Learner, State, crossed
from training.network_policy import LivePolicy, NetworkPolicy, SymmetricNetwork, scores_of
from training.options import BoardConfig, Count, Layers, Natural, Positive, Share, constant, option
from training.search_space import Range
from training.torch_arrays import load_weights, use_torch, weights_of

AGENT = "alphazero"
TITLE = "AlphaZero"
STORY = "A network guesses good moves. A search improves on them, and the network learns from it."
UNIT = "games"
GOAL = "unbeatable"
SMALL = "--games 32 --self-play-simulations 8 --judge-every 64 --steps 192 --hidden 16 --updates 5"
SEARCH = {"updates": Range(20, 400, log=True), "learning_rate": Range(5e-4, 1e-2, log=True)}


class Config(BoardConfig):
    """The options of a training. A step is a game."""

    CELLS = MAX_BITS

    steps: Count = option(10_240, "Games after which training ends.", larger=102_400)
    judge_every: Count = option(256, "Games between two exact evaluations.", larger=1_024)
    side: Literal["both", "X", "O"] = option("both", "Side that is proven; it learns to play both.")
    simulations: Natural = option(0, "Simulations of the player before a move; 0 for no search.")
    self_play_simulations: Count = option(25, "Simulations before a move in self-play.", larger=50)
    exploration: Positive = option(1.25, "Weight of the network's probabilities in PUCT.")
    games: Count = option(256, "Number of games in a round, which are played at the same time.")
    memory: Count = option(8, "Number of rounds whose games are learned from.")
    updates: Count = option(60, "Number of updates after each round.", larger=240)
    hidden: Layers = option((128, 128), "Units of the hidden layers.", larger=(256, 256))
    learning_rate: Positive = option(3e-3, "Adam's learning rate at the start.")
    half_life: Count = option(2_048, "Games in which the learning rate halves.", larger=8_192)
    counterexamples: Share = option(0.0, "Share of games that start where it can lose.", larger=0.5)
    proof_positions: Count = option(3_000_000, "Positions beyond which a side is not proven.")
    noise: Share = 0.25  # Dirichlet(1), in the probabilities of the next move of self-play
    averaging: Share = constant(0.0, larger=0.999)  # share of its weights that the mean keeps
    batch_size: Count = 256


class Network(torch.nn.Module):
    """From planes (B, 2, rows, cols) to (B, cells + 1): log P of each cell, and the value."""

    def __init__(self, config: Config):
        super().__init__()
        use_torch("cpu", threads=1)
        self.config, cells = config, config.rules.cells
        sizes, layers = (2 * cells, *config.hidden), torch.nn.Sequential()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            for inputs, units in pairwise(sizes):
                layers.extend([torch.nn.Linear(inputs, units), torch.nn.ReLU()])
            self.layers = layers.append(torch.nn.Linear(sizes[-1], cells + 1))

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """The logarithms of P, about -1e38 for taken cells, and the value of each board."""
        found = self.layers(planes.flatten(1).float())
        is_taken = planes.flatten(2).any(dim=1)
        logits = found[:, :-1].masked_fill(is_taken, torch.finfo(found.dtype).min)
        return torch.cat([logits.log_softmax(dim=1), found[:, -1:].tanh()], dim=1)


def ends_of(boards: Boards, rules: Rules) -> NDArray[np.float32]:
    """The result of boards (B, cells) for the side to move: -1 or 0, NaN while a game goes on."""
    has_line = rules.has_line(np.stack(rules.to_bits(boards))).any(axis=0)
    return np.where(has_line, -1, np.where(boards.all(axis=1), 0, np.nan)).astype(np.float32)


class Trees:
    """Search trees of B boards (B, cells), in arrays (B, nodes, ...); node 0 is the board itself.

    boards: the marks of each node, +1 X, -1 O. visits, totals, priors: of each move the number of
    simulations through it, the sum of their values for the side that makes it, and P. children: the
    node after each move, 0 if there is none. results: the value of a finished game for the side to
    move, NaN for other nodes. rng: draws the noise of self-play; None for a search of the player.
    """

    def __init__(self, network: Network, boards: Boards, rng: Generator | None = None):
        self.network, self.rules, config = network, network.config.rules, network.config
        simulations = config.simulations if rng is None else config.self_play_simulations
        shape = len(boards), simulations + 1, self.rules.cells
        self.boards, self.used = np.zeros(shape, dtype=np.int8), 0
        self.visits, self.totals, self.priors = np.zeros((3, *shape), dtype=np.float32)
        self.children = np.zeros(shape, dtype=np.int32)
        self.results = np.full(shape[:2], np.nan, dtype=np.float32)
        self.add_nodes(np.arange(len(boards)), boards)
        if rng is not None:
            noise = rng.standard_exponential(boards.shape) * (boards == 0)
            noise /= noise.sum(axis=1, keepdims=True)
            self.priors[:, 0] += config.noise * (noise - self.priors[:, 0])
        for _ in range(simulations):
            self.simulate()

    def add_nodes(self, trees: NDArray[np.intp], boards: Boards) -> NDArray[np.float32]:
        """Add the next node of these trees: its value for the side to move, (B,)."""
        values = ends_of(boards, self.rules)
        self.boards[trees, self.used], self.results[trees, self.used] = boards, values
        if (going := np.isnan(values)).any():
            found = scores_of(self.network, boards[going], self.rules)
            self.priors[trees[going], self.used] = np.exp(found[:, :-1])
            values[going] = found[:, -1]
        self.used += 1
        return values

    def simulate(self) -> None:
        """Make a simulation in every tree: go down by PUCT, add a node, and pass its value up."""
        going = np.arange(len(self.boards))
        nodes, last, chosen = np.zeros((3, len(going)), dtype=np.intp)
        values, path = np.zeros(len(going), dtype=np.float32), []
        while len(going):
            at = last[going] = nodes[going]
            visits = self.visits[going, at]
            means = self.totals[going, at] / np.maximum(visits, 1)
            bonus = self.network.config.exploration * np.sqrt(visits.sum(axis=1, keepdims=True) + 1)
            scores = means + bonus * self.priors[going, at] / (1 + visits)
            cells = np.where(self.boards[going, at] == 0, scores, -np.inf).argmax(axis=1)
            path.append((going, at, cells))
            chosen[going] = cells
            nodes[going] = self.children[going, at, cells]
            values[going] = self.results[going, nodes[going]]
            going = going[(nodes[going] > 0) & np.isnan(values[going])]
        new = np.flatnonzero(nodes == 0)
        boards = self.boards[new, last[new]]
        boards[np.arange(len(new)), chosen[new]] = to_move(boards)
        self.children[new, last[new], chosen[new]] = self.used
        values[new] = self.add_nodes(new, boards)
        for trees, at, cells in reversed(path):
            values[trees] *= -1  # from here on for the side that made the move
            self.visits[trees, at, cells] += 1
            self.totals[trees, at, cells] += values[trees]


def player(config: Config, model: Arrays) -> TabularPolicy | LivePolicy:
    """The player of a network: its most likely move, or the most visited one of a search."""
    network, rules = Network(config), config.rules
    load_weights(network, model)

    def scores(planes: torch.Tensor) -> torch.Tensor:
        """The logarithms of P (B, cells), or the visits, equal ones in the order of P."""
        if not config.simulations:
            return network(planes)[:, :-1]
        own, other = planes.flatten(2).numpy().astype(np.int8).swapaxes(0, 1)
        boards = (own - other) * np.where(own.sum(axis=1) == other.sum(axis=1), 1, -1)[:, None]
        found = (boards == 0) - np.ones(boards.shape, dtype=np.float32)  # -1 for taken cells
        for part in np.array_split(np.arange(len(boards)), 1 + len(boards) // 1_024):
            trees = Trees(network, boards[part])
            found[part] += trees.visits[:, 0] + trees.priors[:, 0]
        return torch.from_numpy(found)

    live = SymmetricNetwork(NetworkPolicy(rules, scores, model))
    return tabulate(live, rules) if rules.cells <= TABULATED else live


class AlphaZero(Learner):
    """The network that plays, the student that learns, and the positions of the last rounds.

    memory: for each round boards (B, cells), the shares of the visits (B, cells), and the targets
    of the values (B,). beatable: of the last proofs, boards from which it can still be beaten.
    """

    STATE = ("memory", "beatable", "counterexamples", "losses", "rng")

    def __init__(self, config: Config):
        self.config, self.rules, self.counterexamples = config, config.rules, -1
        self.network, self.student = Network(config), Network(config)
        self.losses = {"policy_loss": 0.0, "value_loss": 0.0}
        self.rng = np.random.default_rng(config.seed)
        self.starts = ExploringStarts(0.0, self.rules, counterexamples=config.counterexamples)
        self.memory: list[list[NDArray[Any]]] = []
        self.beatable: list[Boards] = []

    def advance(self, most: int) -> None:
        """Play and learn rounds until `most` further games are played."""
        config, goal = self.config, self.steps + most
        while self.steps < goal:
            self.memory = [*self.memory, self.play()][-config.memory :]
            self.learn()
            before, self.steps = self.steps, self.steps + config.games
            if config.counterexamples and crossed(before, self.steps, config.judge_every):
                self.find_counterexamples()

    def play(self) -> list[NDArray[Any]]:
        """Play a round of games with searches: boards, shares of visits, and targets of values."""
        config, count = self.config, self.config.games
        boards, _ = self.starts(np.ones(count, dtype=np.int8), self.rng, self.beatable)
        going, results, parts = np.arange(count), np.zeros(count), []
        while len(going):
            now = boards[going]
            trees = Trees(self.network, now, self.rng)
            visits, values = trees.visits[:, 0], trees.totals[:, 0].sum(axis=1)
            parts.append((going, now, visits, values))
            cells = draw(visits.cumsum(axis=1).T, self.rng.random(len(going)))
            boards[going, cells] = movers = to_move(now)
            ends = ends_of(boards[going], self.rules)
            results[going] = -ends * movers  # for X; NaN while a game goes on
            going = going[np.isnan(ends)]
        games, seen, visits, values = map(np.concatenate, zip(*parts, strict=True))
        targets = (results[games] * to_move(seen) + values / config.self_play_simulations) / 2
        return [seen, visits / config.self_play_simulations, targets.astype(np.float32)]

    def learn(self) -> None:
        """Fit the network to the memory, with boards turned at random."""
        config, symmetries = self.config, symmetries_of(self.rules)
        boards, shares, targets = map(np.concatenate, zip(*self.memory, strict=True))
        rate, losses = config.learning_rate * 0.5 ** (self.steps / config.half_life), []
        optimizer = torch.optim.Adam(self.student.parameters(), rate)
        for _ in range(config.updates):
            rows = self.rng.integers(len(boards), size=config.batch_size)
            turned = symmetries[self.rng.integers(len(symmetries), size=config.batch_size)]
            images = np.take_along_axis(boards[rows], turned, axis=1)
            wanted = torch.from_numpy(np.take_along_axis(shares[rows], turned, axis=1))
            found = self.student(torch.from_numpy(observe(images, self.rules, "planes")))
            policy_loss = -(wanted * found[:, :-1]).sum(dim=1).mean()
            value_loss = (found[:, -1] - torch.from_numpy(targets[rows])).square().mean()
            optimizer.zero_grad()
            (policy_loss + value_loss).backward()
            optimizer.step()
            losses.append([policy_loss.item(), value_loss.item()])
            for mean, new in zip(self.network.parameters(), self.student.parameters(), strict=True):
                mean.detach().lerp_(new.detach(), 1 - config.averaging)
        self.losses = dict(zip(self.losses, np.mean(losses, axis=0).tolist(), strict=True))

    def find_counterexamples(self) -> None:
        """Find boards from which the network can be beaten; of a side beyond the limit none."""
        config, limit = self.config, Limit(self.config.proof_positions)
        network, found = player(config.but(simulations=0), self.model()), [self.memory[-1][0][:0]]
        for side in SIDES if config.side == "both" else (config.side,):
            with suppress(ProofLimitError):
                found.append(respond(network, self.rules, (side,), limit=limit).counterexamples)
        boards = np.concatenate(found)
        self.counterexamples = len(boards) if len(found) > 1 else -1
        self.beatable = [*self.beatable, boards[:: 1 + len(boards) // 20_000]][-8:]

    def policy(self) -> TabularPolicy | LivePolicy:
        """The player of the network as it is."""
        return player(self.config, self.model())

    def notes(self) -> dict[str, float]:
        """The losses of the last round, and the counterexamples of the last proof; -1 for none."""
        return {**self.losses, "counterexamples": self.counterexamples}

    def model(self) -> Arrays:
        """The weights of the network."""
        return weights_of(self.network)

    def state(self) -> State:
        """The memory, the generator and the student."""
        return {**super().state(), "student": weights_of(self.student)}

    def restore(self, model: Arrays, state: State) -> None:
        """Continue from a saved training."""
        super().restore(model, state)
        load_weights(self.network, model)
        load_weights(self.student, state["student"])


begin = AlphaZero
