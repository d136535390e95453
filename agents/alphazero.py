"""AlphaZero: a network of moves and values learns from games that it plays with a tree search.

After Silver et al. 2018 (https://doi.org/10.1126/science.aar6404), with the search of Danihelka et
al. 2022 (https://openreview.net/forum?id=bERaNdoegnO), which learns from few simulations. The
network says of a board how likely each move is, P, and what the result will be. A search adds to
log P of each move a multiple of its value: the mean of the simulations through it or, without any,
of all of them and the network's own value. P learns the softmax of these sums. No solver plays.

Self-play adds noise to the sums, but P learns them without it. In the four quarters of a search,
the best 16, 8, 4 and 2 moves are visited evenly. Further down, a simulation takes the move whose
share of the visits is furthest below the softmax. It ends at a new board, or with the game.

What differs from the papers:

- The target of a value is half the result of the game, and half the value that the search found.
- The network is a perceptron, trained by a new Adam each round, with boards turned at random.
- On larger boards the network that plays is a moving average of the one that learns, and half of
  the games begin where it can still be beaten, as its last proofs have found.

The player makes the network's most likely move or, with `simulations`, that of a search, no noise.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from tictactoe_env.certificates.content import sides_of
from tictactoe_env.exact import (
    Limit,
    ProofLimitError,
    TabularPolicy,
    best_response_player,
    tabulate,
)
from tictactoe_env.exact.positions import TABULATED, symmetries_of
from tictactoe_env.observation import observe
from tictactoe_env.rules import MAX_BITS, Boards, Rules, to_move
from tictactoe_env.starts import ExploringStarts
from training.learner import Arrays, Learner, State
from training.network_policy import LivePolicy, NetworkPolicy, SymmetricNetwork, scores_of
from training.options import BoardConfig, Count, Layers, Natural, Positive, Share, option
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
    judge_every: Count = option(
        256, "Games between two exact evaluations.", larger=1_024, rare=True
    )
    side: Literal["both", "X", "O"] = option("both", "Side that is proven; it learns to play both.")
    simulations: Natural = option(0, "Simulations of the player before a move; 0 for no search.")
    self_play_simulations: Count = option(25, "Simulations before a move in self-play.", larger=50)
    games: Count = option(256, "Number of games in a round, which are played at the same time.")
    memory: Count = option(8, "Number of rounds whose games are learned from.", larger=24)
    updates: Count = option(60, "Number of updates after each round.", larger=240)
    hidden: Layers = option((128, 128), "Units of the hidden layers.", larger=(256, 256))
    learning_rate: Positive = option(3e-3, "Adam's learning rate at the start.")
    half_life: Count = option(2_048, "Games in which the learning rate halves.", larger=24_576)
    counterexamples: Share = option(0.0, "Share of games that start where it can lose.", larger=0.5)
    proof_positions: Count = option(3_000_000, "Positions beyond which a side is not proven.")
    averaging: Share = option(
        0.0,
        "Share of its weights that the network that plays keeps at each update of the one that "
        "learns.",
        larger=0.999,
        rare=True,
    )
    batch_size: Count = option(256, "Number of positions in the batch of an update.", rare=True)


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
        """The logarithms of P, about -3e38 for taken cells, and the value of each board."""
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

    boards: the marks of each node, +1 X, -1 O. visits, totals, log_p: of each move the simulations
    through it, the sum of their values for the side that makes it, and log P. children: the node
    after each move, or 0. estimates: the network's values for the side to move. results: the values
    of finished games, else NaN. rng: draws the noise of self-play; None for the player. moves: the
    best ones. shares, values: the targets of P, and what the search finds of the boards.
    """

    def __init__(self, network: Network, boards: Boards, rng: np.random.Generator | None = None):
        self.network, self.rules, config = network, network.config.rules, network.config
        simulations = config.simulations if rng is None else config.self_play_simulations
        shape = len(boards), simulations + 1, self.rules.cells
        self.boards, self.used = np.zeros(shape, dtype=np.int8), 0
        self.visits, self.totals, self.log_p = np.zeros((3, *shape), dtype=np.float32)
        self.children = np.zeros(shape, dtype=np.int32)
        self.estimates, self.results = np.full((2, *shape[:2]), np.nan, dtype=np.float32)
        self.add_nodes(np.arange(len(boards)), boards)
        noise = np.zeros(boards.shape) if rng is None else rng.gumbel(size=boards.shape)
        for number in range(simulations):
            best = (-noise - self.raised(np.s_[:, 0])[0]).argsort(kind="stable")
            best = best[:, : 16 >> 4 * number // simulations]
            visits = np.where(boards == 0, self.visits[:, 0], np.inf)
            least = np.take_along_axis(visits, best, axis=1).argmin(axis=1)
            self.simulate(best[np.arange(len(best)), least])
        sums, self.shares, values = self.raised(np.s_[:, 0])
        self.moves, self.values = (noise + sums).argmax(axis=1), (self.shares * values).sum(axis=1)

    def raised(self, nodes: Any) -> list[NDArray[np.float32]]:
        """Log P plus the scaled values of the moves of these nodes, the softmax, and the values."""
        visits, totals = self.visits[nodes], self.totals[nodes]
        count, value = visits.sum(axis=1, keepdims=True), totals.sum(axis=1, keepdims=True)
        unseen = (self.estimates[nodes][:, None] + value) / (1 + count)
        values = np.where(visits > 0, totals / np.maximum(visits, 1), unseen)
        scale = 0.1 * (50 + visits.max(axis=1, keepdims=True))  # the constants of mctx
        sums = self.log_p[nodes] + scale * (values + 1) / 2
        return [sums, torch.from_numpy(sums).softmax(dim=1).numpy(), values]

    def add_nodes(self, trees: NDArray[np.intp], boards: Boards) -> NDArray[np.float32]:
        """Add the next node of these trees: its value for the side to move, (B,)."""
        values = ends_of(boards, self.rules)
        self.boards[trees, self.used], self.results[trees, self.used] = boards, values
        if (going := np.isnan(values)).any():
            found = scores_of(self.network, boards[going], self.rules)
            self.log_p[trees[going], self.used] = found[:, :-1]
            values[going] = self.estimates[trees[going], self.used] = found[:, -1]
        self.used += 1
        return values

    def simulate(self, cells: NDArray[np.intp]) -> None:
        """Go down every tree, by the move `cells` (B,) first, add a node, and pass its value up."""
        going, values = np.arange(len(self.boards)), np.zeros(len(self.boards), dtype=np.float32)
        nodes, last, chosen = np.zeros((3, len(going)), dtype=np.intp)
        path: list[tuple[NDArray[np.intp], ...]] = []
        while len(going):
            at = last[going] = nodes[going]
            if path:
                visits = self.visits[going, at] / (1 + self.visits[going, at].sum(axis=1)[:, None])
                cells = (self.raised((going, at))[1] - visits).argmax(axis=1)
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
    """The player of a network, or of a search, which moves alike on symmetric boards."""
    network, rules = Network(config), config.rules
    load_weights(network, model)

    def scores(planes: torch.Tensor) -> torch.Tensor:
        """The logarithms of P (B, cells), or 1 for the move of a search, else 0."""
        if not config.simulations:
            return network(planes)[:, :-1]
        own, other = planes.flatten(2).numpy().astype(np.int8).swapaxes(0, 1)
        boards = (own - other) * np.where(own.sum(axis=1) == other.sum(axis=1), 1, -1)[:, None]
        found = np.zeros(boards.shape, dtype=np.float32)
        for part in np.array_split(np.arange(len(boards)), 1 + len(boards) // 1_024):
            found[part, Trees(network, boards[part]).moves] = 1
        return torch.from_numpy(found)

    live = SymmetricNetwork(NetworkPolicy(rules, scores, model))
    return tabulate(live, rules) if rules.cells <= TABULATED else live


class AlphaZero(Learner):
    """The network that plays, the student that learns, and the positions of the last rounds.

    memory: for each round boards (B, cells), the targets of P (B, cells), and those of the
    values (B,). beatable: of the last 16 proofs, boards from which it could be beaten.
    """

    STATE = ("memory", "beatable", "counterexamples", "losses", "rng")

    def __init__(self, config: Config):
        self.config, self.rules, self.counterexamples = config, config.rules, -1
        self.network, self.student = Network(config), Network(config)
        self.losses = {"policy_loss": 0.0, "value_loss": 0.0}
        self.rng = np.random.default_rng(config.seed)
        self.starts = ExploringStarts(0.0, self.rules, counterexamples=config.counterexamples)
        self.memory, self.beatable = list[list[NDArray[Any]]](), list[Boards]()

    def advance(self, most: int) -> None:
        """Play and learn rounds until `most` further games are played."""
        config, goal = self.config, self.steps + most
        while self.steps < goal:
            self.memory = [*self.memory, self.play()][-config.memory :]
            self.learn()
            self.steps += config.games
            if config.counterexamples and self.steps % (8 * config.games) == 0:
                self.find_counterexamples()

    def play(self) -> list[NDArray[Any]]:
        """Play a round of games with searches: boards, targets of P, and targets of values."""
        boards, _ = self.starts(np.ones(self.config.games, np.int8), self.rng, self.beatable)
        going, results, parts = np.arange(len(boards)), np.zeros(len(boards)), []
        while len(going):
            now = boards[going]
            trees = Trees(self.network, now, self.rng)
            parts.append((going, now, trees.shares, trees.values))
            boards[going, trees.moves] = movers = to_move(now)
            ends = ends_of(boards[going], self.rules)
            results[going] = -ends * movers  # for X; NaN while a game goes on
            going = going[np.isnan(ends)]
        games, seen, shares, values = map(np.concatenate, zip(*parts, strict=True))
        targets = (results[games] * to_move(seen) + values) / 2
        return [seen, shares, targets.astype(np.float32)]

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
        found, limit = list[Boards](), Limit(self.config.proof_positions)
        network = player(self.config.but(simulations=0), self.model())
        for side in sides_of(dict(self.config)):
            with suppress(ProofLimitError):
                response = best_response_player(network, self.rules, (side,), limit=limit)
                found.append(response.counterexamples)
        self.counterexamples = sum(map(len, found)) if found else -1
        if found:
            boards = np.concatenate(found)
            self.beatable = [*self.beatable, boards[:: 1 + len(boards) // 20_000].copy()][-16:]

    def policy(self) -> TabularPolicy | LivePolicy:
        """The player of the network as it is."""
        return player(self.config, self.model())

    def notes(self) -> dict[str, float]:
        """The losses of the last round, and how many counterexamples; -1 without a proof."""
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
