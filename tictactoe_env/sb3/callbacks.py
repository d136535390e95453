"""Callbacks for `model.learn`: exact evaluation during training, and self-play."""

from __future__ import annotations

import json
import os
import pickle
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

from stable_baselines3.common.callbacks import BaseCallback

from tictactoe_env.errors import one_of, whole_number
from tictactoe_env.exact.evaluation import (
    UNTIL,
    Evaluation,
    best_play_x,
    evaluate_or_sample,
    fair_results,
    winner,
)
from tictactoe_env.exact.match import Result
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.proof import Limit, checked_limit
from tictactoe_env.exact.provable import to_be_met
from tictactoe_env.exact.verdict import Proven, verdict
from tictactoe_env.files import write_file
from tictactoe_env.policy import Policy, as_policy
from tictactoe_env.rules import SIDES, Rules
from tictactoe_env.sb3.models import attributes, check_observations, frozen, rules_of, side_of

_MakePolicy = Callable[[Any], Policy]
_GOALS = tuple(goal for goal in UNTIL if goal != "steps")


class _Judgement(NamedTuple):
    """An exact evaluation of a model in training.

    steps: the environment steps made before it. evaluation: the exact results on both sides.
    exploitability: what a best response gains, the mean over the judged sides; 0 for perfect play,
    None where that is not known.
    """

    steps: int
    evaluation: Evaluation
    exploitability: float | None


class _EveryNSteps(BaseCallback):
    """Does something with the policy of the model every `every` environment steps.

    Steps are counted over all environments, and the multiples of `every` count, so that
    `learn(reset_num_timesteps=False)` continues the schedule.
    """

    def __init__(self, every: int, deterministic: bool, policy: _MakePolicy | None, verbose: int):
        super().__init__(verbose)
        self.every = whole_number(every, "every, the environment steps between two times,", 1)
        self.deterministic = deterministic
        self.policy = policy
        self._due = 0
        self._board = Rules()
        self._symmetric: bool | None = None

    @abstractmethod
    def act(self) -> bool:
        """Do what is due every `every` steps. Returns True if training goes on."""

    def player(self) -> Policy:
        """The model's policy as it is now."""
        made = self.model if self.policy is None else self.policy(self.model)
        return as_policy(made, self._board, self.deterministic, self._symmetric)

    def _init_callback(self) -> None:
        self._board = rules_of(self.training_env)
        self._symmetric = any(attributes(self.training_env, "symmetric") or []) or None
        self.player()  # refuses models of another board, and recurrent ones
        self._due = (self.model.num_timesteps // self.every + 1) * self.every

    def _on_step(self) -> bool:
        if self.n_calls == 1:
            check_observations(self.player(), self.training_env, self.locals.get("new_obs"))
        if self.num_timesteps < self._due:
            return True
        self._due = (self.num_timesteps // self.every + 1) * self.every
        return self.act()


class ExactEvaluation(_EveryNSteps):
    """Computes the exact results of the model every `every` environment steps, logs them, keeps
    the best model, and stops training at a goal.

        from sb3_contrib import MaskablePPO
        from tictactoe_env.sb3 import ExactEvaluation, TicTacToeVecEnv

        env = TicTacToeVecEnv(64, opponent="minimax-slip=0.5")
        model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=512)
        exact = ExactEvaluation(every=4096, stop_at="unbeatable", best_model_save_path="best")
        model.learn(20_000, callback=exact)
        print(exact.last.steps, exact.last.evaluation, exact.last.exploitability)

    It plays no games: it asks the model once for its moves in all positions, and computes the
    results from them (`tictactoe_env.evaluate`): games from the empty board, against uniformly
    random play and against best responses. It also evaluates the model once at the end of training,
    after the last update. The training is bit for bit the same as without the callback.

    It works for algorithms with discrete actions and a policy without memory, such as PPO, A2C,
    TRPO, MaskablePPO, DQN, QR-DQN and MaskableDQN, on any board. One evaluation takes milliseconds
    on 3x3. On boards of more than 12 cells it needs the positions that the model can meet, which
    takes seconds on 4x4; a side that can meet more than `max_positions`, as a model of the first
    steps often can, is judged by 2,000 sampled games against random play, and nothing is proven of
    it (`evaluation.sampled`). The board is found through Monitor, DummyVecEnv, SubprocVecEnv,
    VecMonitor, VecNormalize and observation wrappers that only reshape, such as FlattenObservation;
    a wrapper that is not known is refused (see `tictactoe_env.model_env`).
    Observations are normalized with the statistics that VecNormalize has at the time. A model that
    does not know the masks may make illegal moves: each counts as a loss, and their share is
    logged.

    ## Arguments
    - `every` (10,000): environment steps, of all environments together, between two evaluations.
    - `stop_at` (`None`): training stops when the judged sides are `"unbeatable"`, which means that
      no opponent can win a game, or `"optimal"`, which means that no unbeatable
      policy wins more often against random play. `None` never stops it.
    - `sides` (`None`): the sides that are judged, `"X"`, `"O"` or `"both"`. By default the sides
      that the learner plays in the training environment.
    - `deterministic` (`True`): judge the best moves, as `predict(deterministic=True)` plays them,
      or the probabilities of PPO, A2C, TRPO and MaskablePPO. Models without them, such as DQN, are
      judged by their best moves either way, without exploration.
    - `best_model_save_path` (`None`): a folder for the best model. `best_model.zip` is the model,
      and `best_model.json` holds its results. With VecNormalize there is also
      `best_model_vecnormalize.pkl`, for `VecNormalize.load`. Each file is written atomically, the
      results last. The best model is the one with the most unbeatable sides; of equal ones, the one
      with the largest value (win - loss) against random play; of equal ones, the earliest. A new
      callback doesn't know an earlier best model, and replaces the files at its first evaluation.
    - `policy` (`None`): a function that makes the policy to judge from the model, if that isn't
      `predict`.
    - `max_positions` (3,000,000): the most positions of a proof, on boards of more than 12 cells.
    - `verbose` (0): 1 prints each evaluation: for each judged side the percentages of games won,
      drawn and lost against random play, and of those lost by an illegal move, and what is proven.

    ## Attributes
    - `evaluations`: a list of all evaluations as `_Judgement(steps, evaluation, exploitability)`.
    - `last`, `best`: the last evaluation and the best model's; None before the first.

    ## Log
    Scalars of each judged side (`x_` and `o_`) against random play: `exact/x_win`, `x_draw`,
    `x_loss`, and `x_illegal`, the part of the losses that illegal moves make.
    `x_loss_vs_best_response` is the probability of losing to a best response. `x_unbeatable` and
    `x_optimal` are 1 or 0. Of all judged sides together: `exact/unbeatable`, `exact/optimal` and
    `exact/exploitability`. What needs a proof is left out where a side was sampled, and on boards
    whose value is not known (most of more than 16 cells) the exploitability of one side alone.

    ## Errors
    ValueError for wrong arguments, and at the start of training: if the environment is not of this
    package, if the model is recurrent, if a goal cannot be reached since a side loses to perfect
    play, or since the best achievable results are not known (`"optimal"` above 12 cells), and if a
    wrapper that is not known may change observations, actions or masks.
    """

    def __init__(
        self,
        every: int = 10_000,
        stop_at: str | None = None,
        sides: str | None = None,
        deterministic: bool = True,
        best_model_save_path: str | os.PathLike[str] | None = None,
        policy: _MakePolicy | None = None,
        verbose: int = 0,
        max_positions: int = 3_000_000,
    ):
        super().__init__(every, deterministic, policy, verbose)
        self.limit = checked_limit(Limit(max_positions))
        if stop_at is not None:
            one_of("goal", stop_at, _GOALS)
        if sides is not None:
            one_of("choice of sides", sides, (*SIDES, "both"))
        self.stop_at = stop_at
        self.sides = sides
        self.best_model_save_path = best_model_save_path
        self.evaluations: list[_Judgement] = []
        self.best: _Judgement | None = None
        self._side = "both"
        self._is_reached = False

    @property
    def last(self) -> _Judgement | None:
        """The last evaluation; None before the first."""
        return self.evaluations[-1] if self.evaluations else None

    def _init_callback(self) -> None:
        super()._init_callback()
        board = self._board
        self._side = self.sides or side_of(self.training_env)
        self._is_reached = False
        if self.stop_at is None:
            return
        if self.stop_at == "optimal" and board.cells > TABULATED:
            raise ValueError(f'best results on {board} are not computed: give "unbeatable"')
        best = winner(board)
        others = [side for side in self._judged() if side != best]
        if best and others:
            raise ValueError(
                f"stop_at={self.stop_at!r} cannot be reached on {board}, where {others[0]} loses "
                f"to perfect play: leave it out, or give sides={best!r}"
            )

    def act(self) -> bool:
        """Evaluate the model; False if the goal is reached."""
        self._evaluate()
        return not self._is_reached

    def _on_training_end(self) -> None:
        if not self._is_reached:
            self._evaluate(at_end=True)

    def _judged(self) -> tuple[str, ...]:
        return SIDES if self._side == "both" else (self._side,)

    def _evaluate(self, at_end: bool = False) -> None:
        with to_be_met(self.player(), self._board) as player:
            found = evaluate_or_sample(player, self._board, self._side, self.limit)
        steps = self.model.num_timesteps
        judgement = _Judgement(steps, found, _mean_gain(found, self._board, self._judged()))
        self.evaluations.append(judgement)
        scalars = self._scalars(judgement)
        for name, value in scalars.items():
            self.logger.record(f"exact/{name}", value)
        self.logger.record("time/total_timesteps", steps, exclude="tensorboard")
        self.logger.dump(steps)
        rank = found.rank(self._side)
        is_best = self.best is None or rank > self.best.evaluation.rank(self._side)
        if is_best:
            self.best = judgement
            if self.best_model_save_path is not None:
                self._save(Path(self.best_model_save_path), scalars)
        if self.stop_at is not None:
            self._is_reached = found.reached(self.stop_at, self._side)
        if self.verbose:
            print(self._line(judgement, is_best, at_end))

    def _scalars(self, judgement: _Judgement) -> dict[str, float]:
        found = judgement.evaluation
        scalars: dict[str, float] = {}
        for side in self._judged():
            result = _result(found, side)
            proven = found.proven.get(side, Proven(False))
            values = {name: getattr(result, name) for name in ("win", "draw", "loss", "illegal")}
            if side in found.best_responses:
                values["loss_vs_best_response"] = found.best_responses[side].loss
            values |= {name: float(getattr(proven, name)) for name in _GOALS}
            scalars |= {f"{side.lower()}_{name}": value for name, value in values.items()}
        scalars |= {goal: float(found.reached(goal, self._side)) for goal in _GOALS}
        if judgement.exploitability is not None:
            scalars["exploitability"] = judgement.exploitability
        return scalars

    def _save(self, folder: Path, scalars: dict[str, float]) -> None:
        normalizer = self.model.get_vec_normalize_env()
        if normalizer is not None:
            path = folder / "best_model_vecnormalize.pkl"
            write_file(path, lambda file: pickle.dump(normalizer, file))
        write_file(folder / "best_model.zip", lambda file: self.model.save(cast(Any, file)))
        judged = {"steps": self.model.num_timesteps, "board": self._board.to_json()}
        judged |= {"sides": self._side, "deterministic": self.deterministic, "results": scalars}
        text = json.dumps(judged, indent=2) + "\n"
        write_file(folder / "best_model.json", lambda file: file.write(text.encode()))

    def _line(self, judgement: _Judgement, is_best: bool, at_end: bool) -> str:
        found = judgement.evaluation
        when = ", the end" if at_end else ""
        parts = [f"{judgement.steps:,} steps{when}"]
        for side in self._judged():
            result = _result(found, side)
            rates = f"{100 * result.win:.2f} won, {100 * result.draw:.2f} drawn"
            lost = f"{100 * result.loss:.2f} lost"
            if result.illegal > 0:
                lost += f" ({100 * result.illegal:.2f} illegal)"
            parts.append(f"{side} %: {rates}, {lost}")
        judged = {side: one for side, one in found.proven.items() if side in self._judged()}
        parts.append(verdict(judged, games=False) if judged else "sampled")
        if is_best:
            parts.append("best so far")
        if self._is_reached:
            parts.append(f"{self.stop_at}: stopped")
        return "   ".join(parts)


def _result(found: Evaluation, side: str) -> Result:
    return found.x if side == "X" else found.o


def _mean_gain(found: Evaluation, rules: Rules, sides: tuple[str, ...]) -> float | None:
    """The gain of best responses to a policy over perfect play, the mean over its sides.

    Of both sides it is the exploitability of `tictactoe_env.exploitability`. None if a side was
    sampled, and for one side of a board whose value is not known.
    """
    responses = found.best_responses
    fair = fair_results(rules)
    is_known = len(sides) == 2 or best_play_x(rules) is not None  # of both sides it cancels out
    if not is_known or not set(sides) <= set(responses):
        return None
    return max(0.0, sum(fair[side] - responses[side].value for side in sides) / len(sides))


class SelfPlay(_EveryNSteps):
    """Adds a snapshot of the model to the opponent "self" every `every` environment steps.

    The first one is added when training starts, if there is none yet.

        from sb3_contrib import MaskablePPO
        from tictactoe_env.sb3 import SelfPlay, TicTacToeVecEnv

        env = TicTacToeVecEnv(64, opponent=[["random", 0.2], ["self-keep=4", 0.8]])
        model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=512)
        model.learn(20_000, callback=SelfPlay(every=4096))

    A snapshot plays on as the model played at the time, with the statistics that VecNormalize had.
    It goes to all games whose opponents contain `"self"`, in TicTacToeVecEnv, DummyVecEnv and
    SubprocVecEnv. The opponent's name says how many are kept: `"self-keep=8-replace=mixed"`.

    On boards of up to 12 cells a snapshot is a table of all positions. On larger boards it is a
    copy of the network, which each process of a SubprocVecEnv gets as bytes and runs itself on the
    CPU; a TicTacToeVecEnv, which asks it for all games at once, is faster there.

    ## Arguments
    - `every` (10,000): environment steps, of all environments together, between two snapshots.
    - `deterministic` (`False`): whether a snapshot plays the best moves. Otherwise it plays by the
      probabilities of PPO, A2C, TRPO and MaskablePPO. A DQN plays its best moves either way.
    - `policy`: as in `ExactEvaluation`. On boards of more than 12 cells the policy must
      hold a copy of the network.
    - `verbose` (0): 1 prints each snapshot.

    ## Attributes
    - `added`: the number of snapshots that this callback has added.

    ## Errors
    ValueError for wrong arguments, and at the start of training: if no opponent contains "self", if
    the model is recurrent, and if a wrapper that is not known may change observations, actions or
    masks.
    """

    def __init__(
        self,
        every: int = 10_000,
        deterministic: bool = False,
        policy: _MakePolicy | None = None,
        verbose: int = 0,
    ):
        super().__init__(every, deterministic, policy, verbose)
        self.added = 0
        self._games: list[int] = []

    def _init_callback(self) -> None:
        super()._init_callback()
        env = self.training_env
        found = attributes(env, "self_play") or []
        self._games = [game for game, options in enumerate(found) if options is not None]
        if not self._games:
            raise ValueError('no opponent is "self": give the environment opponent="self"')
        if not any(found[game]["snapshots"] for game in self._games):
            self.act()

    def act(self) -> bool:
        """Add a snapshot."""
        copy = frozen(self.player(), self._board, self.deterministic)
        self.training_env.env_method("add_snapshot", copy, indices=self._games)
        self.added += 1
        if self.verbose:
            print(f"{self.model.num_timesteps:,} steps: snapshot {self.added} added")
        return True
