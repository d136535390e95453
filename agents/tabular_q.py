"""Tabular Q-learning: the value of every move in a table, learned for both sides from thousands of games at a time.

Watkins and Dayan 1992 (https://link.springer.com/article/10.1007/BF00992698), after the Q table of nestedsoftware/tictac
(https://nestedsoftware.com/2019/07/25/tic-tac-toe-with-tabular-q-learning-1kdn.139811.html). A move is worth what the
position that it leads to is worth to the side that made it, so the table has one value for each position, and moves
that lead to the same position share it. Positions that are turned or mirrored images of each other share one too.

- A round is a batch of games, half of them as X and half as O, played to their ends with the table as it is. Then it
  learns from the last move of each game back to the first, so that a result reaches the first move at once.
- All games of a round that met a position move its value together, by as much as the same games one after the other
  would move it: 1 - (1 - rate)^games towards the mean of their targets.
- The step size of a position falls with the games that met it, as games^-0.85: the fastest that is known for
  Q-learning (Even-Dar and Mansour 2003, https://www.jmlr.org/papers/v5/evendar03a.html). `rate_power=0` keeps it constant.
- With several tables (double Q-learning, van Hasselt 2010, https://papers.nips.cc/paper/3964-double-q-learning), one of
  them learns from a game: it chooses the next move, the mean of the others values it. The mean of all of them plays.

What is learned is the best answer to the opponents. The best answer to uniformly random play wins more often than any
player that never loses, and can be beaten as O. Against a player that tosses a coin for each *move* (`minimax-slip=0.6`:
perfect, or with probability 0.6 random) the board tells all there is to know, every value is exactly defined, and the
best answer is unbeatable and reaches both mathematical limits. nestedsoftware/tictac gives a draw as much as a win, so
its table never loses and seldom wins: `--preset tictac` is its training, but for both sides at a time and in small batches.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.errors import probability, unknown_name, whole_number
from tictactoe_env.policy import TabularPolicy, one_hot
from tictactoe_env.positions import positions_of
from training.evaluation import Report
from training.files import checked_array, read_arrays, write_arrays
from training.options import BoardConfig, Preset, check_unchanged, option, read_config
from training.selfplay import Opponents, SelfPlay
from training.values import ValuedTable

AGENT = "tabular_q"
REWARDS = {"win-loss": (1.0, 0.0, -1.0), "not-losing": (1.0, 1.0, 0.0), "winning": (1.0, 0.0, 0.0)}
TURNS = ("drawn", "cycled")
MAX_CELLS = 15  # of a board: 3x5 has 2.3 million positions; the 9.7 million of 4x4 would take many gigabytes
TENTHS = 10  # of `anneal_steps`: exploration falls in as many steps

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Config(BoardConfig):
    """Everything that decides what is learned. Schedules do not depend on `steps`, so that a longer run begins as a shorter one."""

    steps: int = option(
        20_000_000,
        "Moves of the learner after which training ends, at least 1; the round under way is completed.",
    )
    opponents: str = option(
        "minimax-slip=0.6",
        'Who is played, as name:weight,...; "self" stands for frozen copies of the learner.',
    )
    turns: str = option(
        "drawn",
        "How the opponent of a game is found: drawn by the weights, or cycled: one after the other, whatever the weights.",
    )
    rewards: str = option(
        "win-loss",
        "What a win, a draw and a loss give: win-loss (1,0,-1), not-losing (1,1,0), winning (1,0,0), or three numbers.",
    )
    symmetry: bool = option(
        True,
        "Whether positions that are turned or mirrored images of each other share their value.",
    )
    tables: int = option(
        2,
        "Tables, at least 1; with two or more each learns by the values of the others (double Q-learning).",
    )
    games: int = option(1_024, "Games in a round, at least 2.")
    learning_rate: float = option(
        1.0,
        "How far the first game that meets a position moves its value towards its target, above 0 and at most 1.",
    )
    rate_power: float = option(
        0.85,
        "The step size falls with the games that met a position to this power, from 0 (not at all) to 1 (plain means).",
    )
    discount: float = option(1.0, "What a reward is worth one move earlier, from 0 to 1.")
    initial: float = option(
        0.0, "Value of a position before anything is known of it, a finite number."
    )
    epsilon: float = option(0.7, "Probability of a random legal move at the start, from 0 to 1.")
    epsilon_drop: float = option(
        0.1, "How much this probability falls at each tenth of `anneal_steps`, from 0 to 1."
    )
    epsilon_end: float = option(
        0.3, "Probability of a random legal move below which it does not fall, from 0 to 1."
    )
    anneal_steps: int = option(
        500_000, "Moves of the learner in which exploration falls, at least 1."
    )
    judge_every: int = option(
        20_000, "Moves of the learner between two exact judgements, at least 1."
    )
    snapshot_every: int = option(
        50_000,
        "Moves of the learner between two frozen copies, at least 1; only where self is an opponent.",
    )
    snapshots: int = option(8, "Frozen copies that are kept as opponents, at least 1.")
    snapshot_epsilon: float = option(
        0.3,
        "Probability, from 0 to 1, that a frozen copy makes a random legal move, as the learner itself does.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.games, "games", 2)
        for name in ("tables", "anneal_steps", "snapshot_every", "snapshots"):
            whole_number(getattr(self, name), name, 1)
        for name in (
            "rate_power",
            "discount",
            "epsilon",
            "epsilon_drop",
            "epsilon_end",
            "snapshot_epsilon",
        ):
            probability(getattr(self, name), name)
        if probability(self.learning_rate, "learning_rate") == 0:
            raise ValueError(f"learning_rate must be above 0, got {self.learning_rate!r}")
        if not np.isfinite(self.initial):
            raise ValueError(f"initial must be a finite number, got {self.initial!r}")
        if self.rules.cells > MAX_CELLS:
            raise ValueError(
                f"the table takes boards of at most {MAX_CELLS} cells, {self.rules} has {self.rules.cells}: use a smaller board"
            )
        if self.turns not in TURNS:
            raise unknown_name("turns", self.turns, TURNS)
        parse_rewards(self.rewards)
        _ = SelfPlay(self.opponents, self.rules)


PRESETS = {
    "tictac": Preset(
        "nestedsoftware/tictac: 14,000 games against random, half on each side, where a draw is as good as a win.",
        {
            **{
                "opponents": "random",
                "rewards": "not-losing",
                "tables": 1,
                "learning_rate": 0.4,
                "rate_power": 0.0,
                "epsilon_end": 0.0,
            },
            **{
                "games": 16,
                "steps": 47_000,
                "anneal_steps": 47_000,
                "judge_every": 4_700,
            },  # 3.35 moves a game
        },
        weak=True,
    ),
}


def parse_rewards(text: str) -> tuple[float, float, float]:
    """What a win, a draw and a loss give, of a name in REWARDS or of three numbers such as "1,0.5,0"; ValueError for anything else."""
    if text in REWARDS:
        return REWARDS[text]
    if "," not in text:
        raise unknown_name("rewards", text, REWARDS)
    try:
        win, draw, loss = (float(number) for number in text.split(","))
    except ValueError:
        raise ValueError(
            f'rewards must be one of {", ".join(REWARDS)}, or three numbers such as "1,0,-1" for win, draw and loss, got {text!r}'
        ) from None
    if not np.isfinite([win, draw, loss]).all():
        raise ValueError(f"rewards must be finite numbers, got {text!r}")
    return win, draw, loss


# --- the table -------------------------------------------------------------------------------------------------------


class Learner:
    """The tables, the games that met each position, and all else that a training goes on from.

    values: (tables, N + 1) of positions after a move, in the eyes of the side that made it; the last column, -inf, is that
    of moves that do not exist. games: (tables, N) that each value was learned from.
    """

    def __init__(self, config: Config):
        self.config, self.positions = config, positions_of(config.rules)
        self.values = np.full((config.tables, len(self.positions) + 1), config.initial)
        self.values[:, -1] = -np.inf
        self.games = np.zeros((config.tables, len(self.positions)))
        self.after = self._after()
        self.pool = SelfPlay(config.opponents, config.rules, config.snapshots, config.seed)
        self.rng = np.random.default_rng(config.seed)
        self.steps = self.played = self.snapshot_at = 0
        self.judge_at = config.judge_every
        self.rewards = np.array(parse_rewards(config.rewards))

    def _after(self) -> Rows:
        """Where the value of each move is in the table: (N, cells)."""
        children = self.positions.children
        shared = (
            self.positions.canonical if self.config.symmetry else np.arange(len(self.positions))
        )
        return np.where(children >= 0, shared[children], len(self.positions))

    @property
    def epsilon(self) -> float:
        """Probability of a random legal move now."""
        config = self.config
        tenth = TENTHS * self.steps // config.anneal_steps
        return max(config.epsilon_end, config.epsilon - tenth * config.epsilon_drop)

    def table(self) -> ValuedTable:
        """What the mean of the tables plays."""
        return ValuedTable(
            self.config.rules, self.values.mean(axis=0)[self.after[self.positions.unfinished]]
        )

    # --- a round -------------------------------------------------------------------------------------------------------

    def round(self, opponents: Opponents) -> None:
        """Play `games` games to their ends and learn from them."""
        config, positions = self.config, self.positions
        games = np.arange(config.games)
        is_x = games % 2 == 0
        which = opponents.choose(self.played // 2 + games // 2, self.rng)
        mean, epsilon = self.values.mean(axis=0), self.epsilon
        rows = np.zeros(config.games, dtype=np.intp)
        moved: list[
            tuple[Rows, Rows, Rows]
        ] = []  # of each ply: the games in which the learner moved, its positions, where the value is
        going = games
        for ply in range(config.rules.cells):
            own = going[is_x[going] == (ply % 2 == 0)]
            other = going[is_x[going] != (ply % 2 == 0)]
            cells = self._choose(rows[own], mean, epsilon)
            moved.append((own, rows[own], self.after[rows[own], cells]))
            rows[own] = positions.children[rows[own], cells]
            rows[other] = positions.children[
                rows[other], opponents.move(which[other], rows[other], self.rng)
            ]
            going = going[~positions.is_over[rows[going]]]
        self._learn(moved, rows, is_x)
        self.played += config.games
        self.steps += sum(len(own) for own, _, _ in moved)

    def _choose(self, rows: Rows, mean: Floats, epsilon: float) -> Rows:
        """The cells of the learner's moves: the highest value, equals at random, or a random legal move."""
        values = mean[self.after[rows]]
        legal = values > -np.inf
        best = values == values.max(axis=1, keepdims=True)
        explores = self.rng.random(len(rows)) < epsilon
        return pick(np.where(explores[:, None], legal, best), self.rng)

    def _learn(
        self, moved: list[tuple[Rows, Rows, Rows]], ends: Rows, is_x: NDArray[np.bool_]
    ) -> None:
        """Move the values towards their targets: the result after a last move, the best next value after any other."""
        config = self.config
        outcome = self.positions.outcome_x[ends] * np.where(is_x, 1, -1)
        target = self.rewards[1 - outcome]
        chosen_table = (
            self.rng.integers(config.tables, size=config.games)
            if config.tables > 1
            else np.zeros(config.games, dtype=np.intp)
        )
        for own, rows, places in reversed(moved):
            tables = chosen_table[own]
            self._move(tables, places, target[own])
            target[own] = config.discount * self._best(tables, rows)

    def _best(self, tables: Rows, rows: Rows) -> Floats:
        """The value of the move that each game's table holds for the best: by itself if it is alone, or by the others' mean."""
        after = self.after[rows]
        values = self.values[tables[:, None], after]
        if len(self.values) == 1:
            return values.max(axis=1)
        best = after[np.arange(len(rows)), values.argmax(axis=1)]
        return (self.values[:, best].sum(axis=0) - self.values[tables, best]) / (
            len(self.values) - 1
        )

    def _move(self, tables: Rows, places: Rows, targets: Floats) -> None:
        """Move values towards the mean of their targets, by as much as one game after the other would."""
        size = len(self.positions)
        flat = tables * size + places
        met = np.bincount(flat, minlength=self.games.size).reshape(self.games.shape)
        sums = np.bincount(flat, weights=targets, minlength=self.games.size).reshape(
            self.games.shape
        )
        table, place = np.nonzero(met)
        count, before = met[table, place], self.games[table, place]
        self.games[table, place] += count
        rate = (
            self.config.learning_rate
            * ((1 + before + self.games[table, place]) / 2) ** -self.config.rate_power
        )
        moved = 1 - (1 - np.minimum(rate, 1.0)) ** count
        self.values[table, place] += moved * (
            sums[table, place] / count - self.values[table, place]
        )


def pick(which: NDArray[np.bool_], rng: np.random.Generator) -> Rows:
    """One of the cells that are True in each row (B, cells), each as likely: (B,)."""
    sums = which.cumsum(axis=1)
    return (sums <= np.floor(rng.random(len(which)) * sums[:, -1])[:, None]).sum(axis=1)


# --- training --------------------------------------------------------------------------------------------------------


def train(
    config: Config, report: Report, resume: Path | None = None, logs: Path | None = None
) -> ValuedTable:
    """Train, or go on from the folder `resume`; the table of the last judgement. `logs` is not used: nothing but the exact figures is logged."""
    learner = Learner(config)
    if resume is not None:
        restore(resume, learner)
    opponents = Opponents(learner.pool.pool(), learner.positions, config.turns)
    while True:
        if learner.pool.self_weight > 0 and learner.steps >= learner.snapshot_at:
            learner.snapshot_at += config.snapshot_every
            learner.pool.add(exploring(learner.table(), config.snapshot_epsilon))
            opponents = Opponents(learner.pool.pool(), learner.positions, config.turns)
        learner.round(opponents)
        ended = learner.steps >= config.steps
        if ended or learner.steps >= learner.judge_at:
            learner.judge_at += config.judge_every * (learner.steps >= learner.judge_at)
            table = learner.table()
            notes = {"games": learner.played, "epsilon": learner.epsilon}
            if (
                report(
                    learner.steps,
                    table,
                    lambda folder, everything=True: save(folder, learner, everything),
                    notes,
                )
                or ended
            ):
                return table


def exploring(player: TabularPolicy, epsilon: float) -> TabularPolicy:
    """A frozen copy that explores as the learner does."""
    free = positions_of(player.rules).boards[positions_of(player.rules).unfinished] == 0
    return TabularPolicy(
        player.rules,
        (1 - epsilon) * player.table + epsilon * free / free.sum(axis=1, keepdims=True),
    )


# --- files -----------------------------------------------------------------------------------------------------------


def save(folder: Path, learner: Learner, everything: bool = True) -> None:
    """Write the tables (model.safetensors) and, if `everything`, what else is needed to go on (state.safetensors)."""
    about = {
        "agent": AGENT,
        "config": asdict(learner.config),
        "steps": learner.steps,
        "games": learner.played,
    }
    write_arrays(folder / "model.safetensors", {"values": learner.values[:, :-1]}, about)
    if not everything:
        return
    snapshots = {
        f"snapshot/{i}": copy.table.argmax(axis=1).astype(np.uint8)
        for i, copy in enumerate(learner.pool.snapshots)
    }
    generators = {
        "games": learner.rng.bit_generator.state,
        "pool": learner.pool.rng.bit_generator.state,
    }
    next_at = {"judge_at": learner.judge_at, "snapshot_at": learner.snapshot_at}
    write_arrays(
        folder / "state.safetensors",
        {"games": learner.games, **snapshots},
        {**about, **next_at, "generators": generators},
    )


def restore(folder: Path, learner: Learner) -> None:
    """Put a saved training back, bit for bit; ValueError if its files do not fit together or with the configuration."""
    config = learner.config
    model, _ = read_arrays(folder / "model.safetensors")
    state, about = read_arrays(folder / "state.safetensors")
    check_unchanged(config, read_config(Config, about, AGENT, folder), folder)
    learner.values[:, :-1] = checked_array(
        model, "values", learner.games.shape, folder / "model.safetensors", np.float64
    )
    learner.games[:] = checked_array(
        state, "games", learner.games.shape, folder / "state.safetensors", np.float64
    )
    learner.steps, learner.played = about["steps"], about["games"]
    learner.judge_at, learner.snapshot_at = about["judge_at"], about["snapshot_at"]
    copies = [
        one_hot(state[f"snapshot/{i}"].astype(np.intp), config.rules.cells)
        for i in range(len(state) - 1)
    ]
    learner.pool.snapshots = [
        exploring(TabularPolicy(config.rules, copy), config.snapshot_epsilon) for copy in copies
    ]
    learner.rng.bit_generator.state, learner.pool.rng.bit_generator.state = (
        about["generators"]["games"],
        about["generators"]["pool"],
    )


def load(folder: Path) -> ValuedTable:
    """The player of a saved run: its moves, and the values by which it chooses them. DamagedFileError for anything else."""
    path = folder / "model.safetensors"
    arrays, about = read_arrays(path)
    learner = Learner(read_config(Config, about, AGENT, folder))
    learner.values[:, :-1] = checked_array(arrays, "values", learner.games.shape, path, np.float64)
    return learner.table()
