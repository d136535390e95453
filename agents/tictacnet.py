"""A small network that is not told the rules: that an illegal move loses is all it ever hears of them.

The neural Q-learning of nestedsoftware/tictac (https://nestedsoftware.com/2019/12/27/tic-tac-toe-with-a-neural-network-1fjn.206436.html):
a network of 9-36-36-9 units, 2,025 weights, reads the board and says what each of the nine cells is worth, from 0 to 1. ReLU in
the hidden layers, a sigmoid at the end. It explores all nine cells, its targets are the largest of nine values, and it plays the
largest of nine: nothing is masked anywhere, and a move to a taken cell counts as a loss wherever this player is judged. That it
loses is all that makes such a move worth 0.

nestedsoftware/tictac plays one game at a time for over an hour, and its network can often be beaten. Here:

- A round is a batch of games, half of them as X and half as O, played to their ends with the network as it is.
- What a move led to is kept for good, each distinct (position, move, next position) once with the number of times it was met
  (a replay memory without repeats: some 9,000 entries on 3x3). The target of a move is the mean over all that it ever led to, so
  there is no noise left but that of the mean. Positions, not moves, are drawn for a batch: a rare one is seen as often as a
  frequent one, and counts as the square root of how often it was met.
- Small errors matter only among the best moves of a position, so a move counts the less, the further it is from the best.
- Adam instead of plain gradients. The target network is the running average of the network, and it is the average that plays.
- The slope of the sigmoid is lifted by a constant in the gradient (Fahlman 1988, "An empirical study of learning speed in
  back-propagation networks"): a value near 1 that should be near 0 could hardly move otherwise, and some always do get there.
- Double Q-learning (van Hasselt et al. 2016, https://arxiv.org/abs/1509.06461): the network chooses the next move, the target
  network values it. Without it, the largest of nine uncertain values is too large.
- The network sees each board in one orientation of its symmetry class. Where a board is its own image, one cell speaks for all
  that are images of it.
- The opponent makes perfect moves and, with a probability for each *move*, random ones, and a draw is worth half of a win. Then
  the board tells all there is to know, every value is exactly defined, and by backward induction the best answer to
  `minimax-slip=0.7` is unbeatable and reaches both limits. Against purely random play it is beatable as O.

The network is so small that NumPy, with the gradients written out, is faster than torch; nothing else is needed to play or train.
`notes` and `illegal.png` say, exactly, how the illegal moves vanish while it learns.

`--preset tictac` is the original training: random opponents, X first and then O, a draw worth as much as a win, plain gradients, each
game learned from once. It teaches taken cells at every move, tried or not (`--shown-illegal`), and its demonstrations then mask the
player as well; here it is judged as it is, without a mask. Its games come in rounds instead of one at a time, and a step follows
the mean of a round, so its learning rate is that of the original times the moves of a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import probability, unknown_name, whole_number
from tictactoe_env.match import result_vs_random
from tictactoe_env.policy import TabularPolicy, one_hot
from tictactoe_env.positions import Positions, positions_of
from training.evaluation import Report
from training.files import DamagedFileError, checked_array, read_arrays, write_arrays, write_file
from training.options import BoardConfig, Preset, check_unchanged, option, read_config
from training.selfplay import Opponents, SelfPlay
from training.values import ValuedTable

AGENT = "tictacnet"
SIDES = ("both", "X", "O")
OPTIMIZERS = ("adam", "sgd")
MAX_CELLS = 12  # of a board: the network is asked for every position, 111,973 on 3x4
TENTHS = 10  # of `anneal_steps`: exploration falls in as many steps
BLOCK = 256  # boards that go through the network at a time: with more, OpenBLAS starts threads that cost more than they save
LEAST_WEIGHT = 0.05  # of a move that is far from the best of its position, where the best has 1
DECAYS = (0.9, 0.999)  # Adam's two

Floats = NDArray[np.float32]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Config(BoardConfig):
    """Everything that decides what is learned. Schedules do not depend on `steps`, so that a longer run begins as a shorter one."""

    steps: int = option(
        10_000_000,
        "Moves of the learner after which training ends, at least 1; the round under way is completed.",
    )
    judge_every: int = option(
        20_000, "Moves of the learner between two exact judgements, at least 1."
    )
    side: str = option("both", "Which side is learned: both, X or O.")
    sides_in_turn: bool = option(
        False,
        "Whether X is learned for `anneal_steps` and O from then on, each with its own exploration, instead of both at a time.",
    )
    opponents: str = option(
        "minimax-slip=0.7",
        'Who is played, as name:weight,...; "self" stands for frozen copies of the learner.',
    )
    rewards: tuple[float, ...] = option(
        (1.0, 0.5, 0.0),
        "What a win, a draw and a loss give, each from 0 to 1; an illegal move is a loss.",
    )
    shown_illegal: bool = option(
        False, "Whether all taken cells of a position are taught to be worth a loss, tried or not."
    )
    symmetry: bool = option(
        True, "Whether boards that are turned or mirrored images of each other share their values."
    )
    double: bool = option(
        True,
        "Whether the network chooses the next move that the target network values (double Q-learning).",
    )
    hidden: tuple[int, ...] = option((36, 36), "Units of the hidden layers, each at least 1.")
    games: int = option(512, "Games in a round, at least 2.")
    exploring_starts: float = option(
        0.2, "Share of the games, from 0 to 1, that start from a position drawn at random."
    )
    epsilon: float = option(
        0.7, "Probability of a random cell, free or taken, at the start, from 0 to 1."
    )
    epsilon_drop: float = option(
        0.1, "How much this probability falls at each tenth of `anneal_steps`, from 0 to 1."
    )
    epsilon_end: float = option(
        0.2, "Probability of a random cell below which it does not fall, from 0 to 1."
    )
    anneal_steps: int = option(
        5_000_000, "Moves of the learner in which exploration and learning rate fall, at least 1."
    )
    replay: bool = option(
        True,
        "Whether all that a move ever led to is kept and learned from, instead of each round once.",
    )
    updates: int = option(20, "Updates after each round, at least 1.")
    batch: int = option(256, "Positions in an update, at least 1.")
    optimizer: str = option(
        "adam", "How the weights follow the gradient: adam, or sgd, which is the plain gradient."
    )
    learning_rate: float = option(0.01, "Learning rate at the start, above 0.")
    learning_rate_end: float = option(
        0.0003,
        "Learning rate from `anneal_steps` on, above 0; it falls by the same factor in equal times.",
    )
    lift: float = option(
        0.1,
        "What is added to the slope of the sigmoid, from 0 to 1, so that a wrong value near 0 or 1 is not stuck; 0 is plain.",
    )
    average: float = option(
        0.01,
        "How far the target network moves towards the network at each update, above 0; at 1 it is a copy.",
    )
    focus: float = option(
        0.2,
        "Distance from the best move of a position at which a move counts 1/e as much, at least 0; at 0 all count the same.",
    )
    snapshot_every: int = option(
        50_000,
        "Moves of the learner between two frozen copies, at least 1; only where self is an opponent.",
    )
    snapshots: int = option(8, "Frozen copies that are kept as opponents, at least 1.")

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.games, "games", 2)
        for name in ("anneal_steps", "updates", "batch", "snapshot_every", "snapshots"):
            whole_number(getattr(self, name), name, 1)
        for units in self.hidden:
            whole_number(units, "each of hidden", 1)
        for name in ("exploring_starts", "epsilon", "epsilon_drop", "epsilon_end", "lift"):
            probability(getattr(self, name), name)
        for name, high in (
            ("learning_rate", np.inf),
            ("learning_rate_end", np.inf),
            ("average", 1.0),
        ):
            if not 0 < getattr(self, name) <= high or not np.isfinite(getattr(self, name)):
                raise ValueError(
                    f"{name} must be a number above 0{f' and at most {high:g}' if high < np.inf else ''}, got {getattr(self, name)!r}"
                )
        if not 0 <= self.focus < np.inf:
            raise ValueError(f"focus must be a finite number of at least 0, got {self.focus!r}")
        if len(self.rewards) != 3:
            raise ValueError(
                f"rewards must be three numbers, for a win, a draw and a loss, got {self.rewards!r}"
            )
        for reward in self.rewards:
            probability(reward, "each of rewards")
        for name, known in (("side", SIDES), ("optimizer", OPTIMIZERS)):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        if self.sides_in_turn and self.side != "both":
            raise ValueError(f"sides_in_turn learns both sides: leave side {self.side!r} out")
        if self.rules.cells > MAX_CELLS:
            raise ValueError(
                f"boards of at most {MAX_CELLS} cells can be learned, {self.rules} has {self.rules.cells}: use a smaller board"
            )
        if self.side == "O" and self.k == 1:
            raise ValueError("O never moves where a single mark wins: learn another side")
        _ = SelfPlay(self.opponents, self.rules)


PRESETS = {
    "tictac": Preset(
        "nestedsoftware/tictac's training, X and then O against random play, a draw worth a win; hardly wins more than needed, may be beatable.",
        {
            "steps": 13_000_000,
            "anneal_steps": 6_500_000,
            "sides_in_turn": True,
            "opponents": "random",
            "rewards": (1.0, 1.0, 0.0),
            "shown_illegal": True,
            "symmetry": False,
            "double": False,
            "games": 64,
            "exploring_starts": 0.0,
            "epsilon_end": 0.0,
            "replay": False,
            "updates": 1,
            "batch": 5_000,
            "optimizer": "sgd",
            "learning_rate": 8.0,
            "learning_rate_end": 8.0,
            "lift": 0.0,
            "average": 1.0,
            "focus": 0.0,
        },
        weak=True,
    )
}


# --- the board as the network sees it ----------------------------------------------------------------------------------------


class View:
    """The distinct boards that the network sees, and where the values of every position are among its outputs.

    boards: (C, cells) +1 X, -1 O, 0 free, C is 627 on 3x3 with symmetry. place: (N,) the board of each position, -1 for finished ones.
    output: (N, cells) the output that speaks for each cell of each position. speakers: (C, cells) the same for the boards themselves.
    """

    def __init__(self, positions: Positions, symmetry: bool):
        count, cells = len(positions), np.arange(positions.rules.cells)
        symmetries = positions.symmetries if symmetry else cells[None]
        shown, place = np.unique(
            (positions.canonical if symmetry else np.arange(count))[positions.unfinished],
            return_inverse=True,
        )
        boards = positions.boards[shown]
        self.boards = boards.astype(np.float32)
        self.place = np.full(count, -1)
        self.place[positions.unfinished] = place
        self.speakers = np.tile(cells, (len(shown), 1))
        for turn in symmetries:
            same = (boards[:, turn] == boards).all(axis=1)
            self.speakers[same] = np.minimum(self.speakers[same], turn)
        turned = np.argsort(symmetries, axis=1)[
            positions.to_canonical if symmetry else np.zeros(count, dtype=np.intp)
        ]
        self.output = np.take_along_axis(self.speakers[self.place], turned, axis=1)


# --- the network -------------------------------------------------------------------------------------------------------------


class Network:
    """A multilayer perceptron with ReLU and a sigmoid at the end, its weights in one row of float32, `flat`.

    sizes: units of all layers, inputs first. layers: the weights (inputs, units) and biases (units,) of each layer, parts of `flat`.
    """

    def __init__(self, sizes: Sequence[int]):
        shapes = list(pairwise(sizes))
        self.flat: Floats = np.zeros(
            sum((inputs + 1) * units for inputs, units in shapes), dtype=np.float32
        )
        parts = np.split(
            self.flat,
            np.cumsum([part for inputs, units in shapes for part in (inputs * units, units)])[:-1],
        )
        self.layers = [
            (parts[2 * i].reshape(shape), parts[2 * i + 1]) for i, shape in enumerate(shapes)
        ]

    def draw(self, rng: np.random.Generator) -> None:
        """Draw the weights, normally distributed with variance 2 / inputs (He et al. 2015), biases zero."""
        for weights, biases in self.layers:
            weights[:] = rng.normal(size=weights.shape) * np.sqrt(2 / len(weights))
            biases[:] = 0

    def values(self, boards: Floats) -> Floats:
        """Values of the cells (B, cells), from 0 to 1."""
        return np.concatenate(
            [
                self._forward(boards[start : start + BLOCK])[-1]
                for start in range(0, len(boards), BLOCK)
            ]
        )

    def _forward(self, boards: Floats) -> list[Floats]:
        """What goes into each layer, and what comes out of the last."""
        signals = [boards]
        for weights, biases in self.layers[:-1]:
            signals.append(np.maximum(signals[-1] @ weights + biases, 0))
        weights, biases = self.layers[-1]
        return [*signals, 1 / (1 + np.exp(-np.clip(signals[-1] @ weights + biases, -30, 30)))]

    def gradient(
        self, boards: Floats, targets: Floats, weights: Floats, into: Network, lift: float = 0.0
    ) -> float:
        """The weighted sum of squared errors; its derivatives, by a sigmoid whose slope is lifted, are written to `into`."""
        *signals, values = self._forward(boards)
        errors = values - targets
        slope = 2 * weights * errors * (values * (1 - values) + np.float32(lift))
        for (matrix, _), (to_matrix, to_biases), signal in zip(
            self.layers[::-1], into.layers[::-1], signals[::-1], strict=True
        ):
            np.matmul(signal.T, slope, out=to_matrix)
            slope.sum(axis=0, out=to_biases)
            slope = (slope @ matrix.T) * (signal > 0)
        return float((weights * errors**2).sum())


# --- the learner -------------------------------------------------------------------------------------------------------------


class Learner:
    """The networks, the memory, and all else that a training goes on from.

    keys: (K,) sorted, one for each distinct (position, move, next): what was met. counts: (K,) how often.
    The next is a board of the view or, behind them, a win, a draw or a loss.
    """

    def __init__(self, config: Config):
        self.config, self.positions = config, positions_of(config.rules)
        self.view = View(self.positions, config.symmetry)
        self.cells, self.nexts = config.rules.cells, len(self.view.boards) + 3
        self.rng = np.random.default_rng(config.seed)
        self.policy, self.target, self.slope = (
            Network((self.cells, *config.hidden, self.cells)) for _ in range(3)
        )
        self.policy.draw(self.rng)
        self.target.flat[:] = self.policy.flat
        self.moments = np.zeros((2, len(self.policy.flat)), dtype=np.float32)
        self.keys: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.counts: NDArray[Any] = np.zeros(0)
        self.pool = SelfPlay(config.opponents, config.rules, config.snapshots, config.seed)
        self.steps = self.played = self.updates = self.snapshot_at = 0
        self.judge_at = config.judge_every
        self.error = 0.0
        self.history: list[
            tuple[float, ...]
        ] = []  # of each judgement: steps, illegal as X and as O against random, share of positions

    @property
    def steps_of_phase(self) -> int:
        """Moves since the side that is learned now began."""
        return self.steps - self.config.anneal_steps * (
            self.config.sides_in_turn and self.steps >= self.config.anneal_steps
        )

    @property
    def side(self) -> str:
        """The side that is learned now."""
        return (
            "XO"[self.steps >= self.config.anneal_steps]
            if self.config.sides_in_turn
            else self.config.side
        )

    @property
    def epsilon(self) -> float:
        """Probability of a random cell now."""
        tenth = TENTHS * self.steps_of_phase // self.config.anneal_steps
        return max(self.config.epsilon_end, self.config.epsilon - tenth * self.config.epsilon_drop)

    @property
    def learning_rate(self) -> float:
        """The learning rate now."""
        first, last = self.config.learning_rate, self.config.learning_rate_end
        return float(
            first * (last / first) ** min(1.0, self.steps_of_phase / self.config.anneal_steps)
        )

    def values(self, network: Network) -> Floats:
        """What a network says of the cells of each board of the view (C, cells), where one cell may speak for others."""
        return np.take_along_axis(network.values(self.view.boards), self.view.speakers, axis=1)

    def by_row(self, network: Network, rows: Rows) -> Floats:
        """What a network says of the cells of some unfinished positions (B, cells)."""
        return np.take_along_axis(
            network.values(self.view.boards)[self.view.place[rows]], self.view.output[rows], axis=1
        )

    def table(self) -> ValuedTable:
        """What the target network plays: its largest value, legal or not."""
        return ValuedTable(self.config.rules, self.by_row(self.target, self.positions.unfinished))

    # --- a round -----------------------------------------------------------------------------------------------------------

    def round(self, opponents: Opponents) -> None:
        """Play `games` games to their ends, keep what was met, and learn."""
        config, positions, view, rng = self.config, self.positions, self.view, self.rng
        games = np.arange(config.games)
        is_x = {"both": games % 2 == 0, "X": games >= 0, "O": games < 0}[self.side]
        best = np.zeros(len(positions), dtype=np.intp)
        best[positions.unfinished] = self.by_row(self.policy, positions.unfinished).argmax(axis=1)
        rows = np.zeros(config.games, dtype=np.intp)
        elsewhere = rng.random(config.games) < config.exploring_starts
        rows[elsewhere] = rng.choice(positions.unfinished, size=int(elsewhere.sum()))
        which, epsilon = opponents.choose(self.played + games, rng), self.epsilon
        ends = np.zeros(config.games, dtype=np.intp)  # 0 a win of the learner, 1 a draw, 2 a loss
        moved: list[
            tuple[Rows, Rows]
        ] = []  # at each ply: the games in which the learner moved, (position, move)
        going = games
        while len(going):
            at = rows[going]
            own = positions.x_to_move[at] == is_x[going]
            cells = np.empty(len(going), dtype=np.intp)
            cells[own] = np.where(
                rng.random(int(own.sum())) < epsilon,
                rng.integers(self.cells, size=int(own.sum())),
                best[at[own]],
            )
            cells[~own] = opponents.move(which[going[~own]], at[~own], rng)
            moved.append(
                (going[own], view.place[at[own]] * self.cells + view.output[at[own], cells[own]])
            )
            after = positions.children[at, cells]
            illegal = after < 0  # whoever makes such a move has lost
            outcome = np.where(
                illegal,
                np.where(own, -1, 1),
                positions.outcome_x[after] * np.where(is_x[going], 1, -1),
            )
            ends[going] = 1 - outcome
            rows[going] = after
            going = going[~illegal & ~positions.is_over[after]]
        self._keep(moved, len(view.boards) + ends)
        self.played += config.games
        self._learn()

    def _keep(self, moved: list[tuple[Rows, Rows]], following: Rows) -> None:
        """Add what the moves of a round led to. following: (games,) how each game ended; it is overwritten."""
        met = []
        for games, moves in reversed(moved):
            met.append(moves * self.nexts + following[games])
            following[games] = moves // self.cells
        keys = np.concatenate(met)
        self.steps += len(keys)
        if not self.config.replay:
            self.keys, self.counts = self.keys[:0], self.counts[:0]
        self.keys, which = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        self.counts = np.bincount(which, np.concatenate([self.counts, np.ones(len(keys))]))

    # --- the update --------------------------------------------------------------------------------------------------------

    def _learn(self) -> None:
        """Some updates of the network towards the targets of what is kept."""
        config = self.config
        targets, weights = self._targets()
        met = np.flatnonzero(weights.any(axis=1))
        for _ in range(config.updates):
            places = self.rng.permutation(met)[: config.batch]
            share = np.float32(len(places) / len(met))
            self.error = self.policy.gradient(
                self.view.boards[places],
                targets[places],
                weights[places] / share,
                self.slope,
                config.lift,
            )
            self._step()
            self.target.flat += np.float32(config.average) * (self.policy.flat - self.target.flat)

    def _targets(self) -> tuple[Floats, Floats]:
        """The target and the weight of each cell of each board (C, cells) each. Weights sum to 1, and are 0 where nothing is known."""
        config, shape = self.config, self.view.boards.shape
        values = self.values(self.target)
        best = (self.values(self.policy) if config.double else values).argmax(axis=1)
        worth = np.concatenate([values[np.arange(len(values)), best], config.rewards])
        moves, following = np.divmod(self.keys, self.nexts)
        counts, sums = (
            np.bincount(moves, weight, minlength=values.size).reshape(shape)
            for weight in (self.counts, self.counts * worth[following])
        )
        visits = counts.sum(axis=1, keepdims=True)
        known = counts > 0
        targets = np.divide(sums, counts, out=np.zeros(shape), where=known)
        weights = known * np.sqrt(visits) if config.replay else counts
        if config.shown_illegal:
            shown = (self.view.boards != 0) & (visits > 0)
            targets[shown], weights = (
                config.rewards[2],
                np.where(shown, np.sqrt(visits) if config.replay else visits, weights),
            )
        if config.focus > 0:
            weights = weights * (
                LEAST_WEIGHT + np.exp((targets - targets.max(axis=1, keepdims=True)) / config.focus)
            )
        return targets.astype(np.float32), (weights / weights.sum()).astype(np.float32)

    def _step(self) -> None:
        """Move the weights of the network against the gradient."""
        rate, gradient = self.learning_rate, self.slope.flat
        self.updates += 1
        if self.config.optimizer == "sgd":
            self.policy.flat -= np.float32(rate) * gradient
            return
        for moment, decay, power in zip(self.moments, DECAYS, (1, 2), strict=True):
            moment += np.float32(1 - decay) * (gradient**power - moment)
        mean, square = (
            moment / np.float32(1 - decay**self.updates)
            for moment, decay in zip(self.moments, DECAYS, strict=True)
        )
        self.policy.flat -= np.float32(rate) * mean / (np.sqrt(square) + np.float32(1e-8))

    def judged(self, table: TabularPolicy) -> dict[str, float]:
        """Keep how likely an illegal move is now, and say it."""
        taken = self.positions.boards[self.positions.unfinished] != 0
        everywhere = float((table.table * taken).sum(axis=1).mean())
        self.history.append(
            (
                self.steps,
                *(result_vs_random(side, table).illegal for side in ("X", "O")),
                everywhere,
            )
        )
        return {"illegal_everywhere": everywhere, "error": self.error, "epsilon": self.epsilon}


# --- training ----------------------------------------------------------------------------------------------------------------


def train(
    config: Config, report: Report, resume: Path | None = None, logs: Path | None = None
) -> ValuedTable:
    """Train, or go on from the folder `resume`; the table of the last judgement. `logs`: a folder for the chart of illegal moves."""
    learner = Learner(config)
    if resume is not None:
        restore(resume, learner)
    opponents = Opponents(learner.pool.pool(), learner.positions)
    while True:
        if learner.pool.self_weight > 0 and learner.steps >= learner.snapshot_at:
            learner.snapshot_at += config.snapshot_every
            learner.pool.add(learner.table())
            opponents = Opponents(learner.pool.pool(), learner.positions)
        learner.round(opponents)
        ended = learner.steps >= config.steps
        if ended or learner.steps >= learner.judge_at:
            learner.judge_at += config.judge_every * (learner.steps >= learner.judge_at)
            table = learner.table()
            notes = learner.judged(table)
            if (
                report(
                    learner.steps,
                    table,
                    lambda folder, everything=True: save(folder, learner, everything),
                    notes,
                )
                or ended
            ):
                if logs is not None:
                    draw_illegal(learner.history, logs / "illegal.png", config.seed)
                return table


def draw_illegal(history: Sequence[tuple[float, ...]], path: Path, seed: int) -> None:
    """How likely an illegal move was at each judgement, as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    steps, *shares = np.array(history).T
    for share, name, colour in zip(
        shares,
        ("a game as X", "a game as O", "all positions"),
        ("#0072b2", "#d55e00", "#999999"),
        strict=True,
    ):
        axes.plot(
            steps / 1000,
            100 * share,
            color=colour,
            label=f"{name}: {100 * share[-1]:.2f} % at the end",
        )
    axes.set(
        xlabel="steps, thousands",
        ylabel="per cent, exact",
        title=f"illegal moves of {AGENT}, seed {seed}",
        ylim=(0, 100),
    )
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_ylim(0, 100)
    axes.legend(
        title="games against random that end by one,\nand positions in which one is chosen",
        fontsize=8,
        title_fontsize=8,
    )
    axes.grid(alpha=0.3)
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))


# --- files -------------------------------------------------------------------------------------------------------------------


def save(folder: Path, learner: Learner, everything: bool = True) -> None:
    """Write the network that plays (model.safetensors) and, if `everything`, what else is needed to go on (state.safetensors)."""
    about = {
        "agent": AGENT,
        "config": asdict(learner.config),
        "steps": learner.steps,
        "games": learner.played,
    }
    write_arrays(folder / "model.safetensors", _named(learner.target), about)
    if not everything:
        return
    state = {
        "target": learner.target.flat,
        "policy": learner.policy.flat,
        "moments": learner.moments,
        "keys": learner.keys,
        "counts": learner.counts,
        "history": np.array(learner.history),
        **{
            f"snapshot/{i}": copy.table.argmax(axis=1).astype(np.uint8)
            for i, copy in enumerate(learner.pool.snapshots)
        },
    }
    generators = {
        "games": learner.rng.bit_generator.state,
        "pool": learner.pool.rng.bit_generator.state,
    }
    counters = {name: getattr(learner, name) for name in COUNTERS}
    write_arrays(
        folder / "state.safetensors",
        state,
        {**about, "counters": counters, "generators": generators},
    )


COUNTERS = ("steps", "played", "updates", "snapshot_at", "judge_at", "error")


def restore(folder: Path, learner: Learner) -> None:
    """Put a saved training back, bit for bit; ValueError if its files do not fit together or with the configuration."""
    path = folder / "state.safetensors"
    state, about = read_arrays(path)
    check_unchanged(learner.config, read_config(Config, about, AGENT, folder), folder)
    read_arrays(folder / "model.safetensors")
    try:
        counters, generators = about["counters"], about["generators"]
        for name in COUNTERS:
            setattr(learner, name, counters[name])
        for into, name in (
            (learner.target.flat, "target"),
            (learner.policy.flat, "policy"),
            (learner.moments, "moments"),
        ):
            into[:] = checked_array(state, name, into.shape, path, np.float32)
        learner.counts = checked_array(state, "counts", state["keys"].shape, path, np.float64)
        learner.keys, learner.history = (
            state["keys"],
            [tuple(row) for row in state["history"].tolist()],
        )
        copies = [
            state[f"snapshot/{i}"]
            for i in range(sum(name.startswith("snapshot/") for name in state))
        ]
        cells = learner.cells
        learner.pool.snapshots = [
            TabularPolicy(learner.config.rules, one_hot(copy.astype(np.intp), cells))
            for copy in copies
        ]
        learner.rng.bit_generator.state, learner.pool.rng.bit_generator.state = (
            generators["games"],
            generators["pool"],
        )
    except KeyError as error:
        raise DamagedFileError(f"{path} lacks {error}: it is no state of {AGENT}") from None


def load(folder: Path) -> ValuedTable:
    """The player of a saved run: its moves, and the values by which it chooses them. DamagedFileError for anything else."""
    path = folder / "model.safetensors"
    arrays, about = read_arrays(path)
    learner = Learner(read_config(Config, about, AGENT, folder))
    for name, array in _named(learner.target).items():
        array[:] = checked_array(arrays, name, array.shape, path, np.float32)
    return learner.table()


def _named(network: Network) -> dict[str, Floats]:
    return {
        f"{i}/{name}": array
        for i, layer in enumerate(network.layers)
        for name, array in zip(("weights", "biases"), layer, strict=True)
    }
