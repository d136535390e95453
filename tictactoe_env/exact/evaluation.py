"""The exact evaluation of a policy: its results against random play, and whether it can be beaten.

    found = evaluate(policy)
    print(found)                # the verdict, and the results of each side
    found.save("lost.svg")      # the shortest game that it loses as X and as O
    found.x.win, found.unbeatable, found.best_responses["O"].losing_line
    exploitability(policy)      # 0 for perfect play

The results are computed from the positions that the policy can meet, see `proof`, and it is asked
for no others, each once: some 500 to 800 on 3x3 if it makes one move in each position. A table
needs milliseconds on 3x3, tenths of a second on 3x4, and about a second on 4x4.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

import numpy as np

from tictactoe_env.exact.accuracy import Accuracy, accuracy_of
from tictactoe_env.exact.best_response import BestResponse, best_response, best_responses
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.exact.match import Result, common_rules, result_of
from tictactoe_env.exact.optimality import wins_most
from tictactoe_env.exact.positions import TABULATED, can_enumerate
from tictactoe_env.exact.proof import Limit, Progress, ProofLimitError, reach_of
from tictactoe_env.exact.provable import to_be_met
from tictactoe_env.exact.sampling import sampled_result
from tictactoe_env.exact.solver import solve
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.exact.verdict import Proven, verdict
from tictactoe_env.notation import game_text
from tictactoe_env.policy import Model, Policy, RandomPolicy, as_policy
from tictactoe_env.rules import SIDES, Rules

UNTIL = ("steps", "unbeatable", "optimal")  # goals of a training
_WINNERS: dict[int | None, str] = {1: "X", -1: "O", 0: "", None: ""}  # by X's result with best play
_SAMPLED_GAMES = 2_000  # against random play, of a side that is not proven
_FEW_GAMES = 100  # the same where its moves are judged, too


@dataclass(frozen=True)
class Evaluation:
    """The exact results of a policy on each side.

    `print` writes the verdict and a table. A notebook shows these, and the shortest lost games.

    x, o: the exact results as X and as O against uniformly random play.
    unbeatable_x, unbeatable_o: True if no opponent can win a game against that side.
    optimal_x, optimal_o: True if that side is unbeatable and no unbeatable policy wins more often
    against random play. False if the side can't avoid losing, and on boards of more than 12 cells,
    where the best achievable result isn't computed.
    best_responses: by side; empty in an evaluation that was read from a table of metrics.
    always_wins_x, always_wins_o: True if it wins every game as that side, whatever the opponent
    does.
    best_play_x: X's result if both sides play perfectly, 1 for a win, 0 for a draw and -1 for a
    loss; None if that's not known, as on most boards of more than 16 cells.
    sampled: the sides whose results come from sampled games, because nothing is proven of them.
    accuracy: how good its moves are, in sampled games on Connect Four (6x7), where it is too large
    for nearly all players; None elsewhere. A game that it lost there is proven, too.
    rules: the board.
    asked: the positions in which it had to move in the proof, on both sides; symmetric ones count
    once for a CanonicalPolicy. 0 in an evaluation that was read from a table of metrics.
    """

    x: Result
    o: Result
    unbeatable_x: bool
    unbeatable_o: bool
    optimal_x: bool
    optimal_o: bool
    best_responses: Mapping[str, BestResponse] = field(
        default_factory=dict, compare=False, repr=False
    )
    always_wins_x: bool = False
    always_wins_o: bool = False
    best_play_x: int | None = None
    sampled: tuple[str, ...] = ()
    rules: Rules = Rules()
    asked: int = field(default=0, compare=False, repr=False)
    accuracy: Accuracy | None = field(default=None, compare=False, repr=False)

    @property
    def unbeatable(self) -> bool:
        """True if it can't lose on either side, whatever the opponent does."""
        return self.unbeatable_x and self.unbeatable_o

    @property
    def optimal(self) -> bool:
        """True if it's optimal on both sides."""
        return self.optimal_x and self.optimal_o

    @property
    def winner(self) -> str:
        """The side that is known to win with best play, so that the other must lose; or ""."""
        return _WINNERS[self.best_play_x]

    def reached(self, until: str, side: str = "both") -> bool:
        """True if one or both sides have reached a goal of UNTIL; "steps" is never reached.

        Where a side wins with best play, it has to win against everyone. The other side, which
        cannot avoid losing, does not count; alone it never reaches a goal.
        """
        x, o = {
            "steps": (False, False),
            "unbeatable": (self.unbeatable_x, self.unbeatable_o),
            "optimal": (self.optimal_x, self.optimal_o),
        }[until]
        if self.winner == "X":
            return side != "O" and x and self.always_wins_x
        if self.winner == "O":
            return side != "X" and o and self.always_wins_o
        return (x or side == "O") and (o or side == "X")

    def rank(self, side: str = "both") -> tuple[float, float]:
        """The key that ranks checkpoints: number of unbeatable sides, then value against random.

        A side that wins against everyone counts as two.
        """
        safe_x = self.unbeatable_x + self.always_wins_x
        safe_o = self.unbeatable_o + self.always_wins_o
        by_side = {"X": (safe_x, self.x.value), "O": (safe_o, self.o.value)}
        chosen = [by_side[name] for name in SIDES if side in ("both", name)]
        unbeatable, values = zip(*chosen, strict=True)
        return float(sum(unbeatable)), float(sum(values))

    @property
    def exploited(self) -> dict[str, float]:
        """The mean result (win - loss) of a best response against each side, from -1 to 1.

        Without a side that was sampled; empty in an evaluation that was read from metrics. Half the
        sum over both sides is the exploitability.
        """
        return {side: 0.0 - response.value for side, response in self.best_responses.items()}

    @property
    def verdict(self) -> str:
        """The verdict in words, such as "can be beaten as O (a1 b2 b1 a3 c1)"."""
        return verdict(self.proven) if self.accuracy is None else self.accuracy.verdict

    @property
    def proven(self) -> dict[str, Proven]:
        """The verdict on each side that was not sampled, or as which it lost a game."""
        sides = {
            "X": (self.unbeatable_x, self.optimal_x, self.always_wins_x),
            "O": (self.unbeatable_o, self.optimal_o, self.always_wins_o),
        }
        return {
            side: Proven(*found, game_text(self._lost.get(side, ()), self.rules).split())
            for side, found in sides.items()
            if side not in self.sampled or side in self._lost
        }

    @property
    def _lost(self) -> dict[str, tuple[int, ...]]:
        """The shortest game that it can lose, by side; of those with a move."""
        games = {side: response.losing_line for side, response in self.best_responses.items()}
        if self.accuracy is not None:
            games |= self.accuracy.lost
        return {side: game for side, game in games.items() if game}

    def __str__(self) -> str:
        """The verdict, and below it a table of the results: a few lines of at most 80 columns."""
        headline = f"Proven: {self.verdict}" if self.proven else "Not proven"
        lines = [
            fill(headline, 80, subsequent_indent="  "),
            "",
            f"{self.rules!s:15}{'against random, %':>22}{'against the best response':>27}",
            f"{'':15}{'won':>8}{'drawn':>7}{'lost':>7}{'lost, %':>14}{'won - lost':>13}",
        ]
        for side, result in (("X", self.x), ("O", self.o)):
            line = f"as {side:12}{100 * result.win:8.2f}"
            line += f"{100 * result.draw:7.2f}{100 * result.loss:7.2f}"
            if side in self.best_responses:
                worst = self.best_responses[side]
                line += f"{100 * worst.loss:14.2f}{round(worst.value, 2) + 0.0:13.2f}"
            if result.illegal:
                line += f"  {100 * result.illegal:.2f} illegal"
            if side in self.sampled:
                line += "  sampled games"
            lines.append(line)
        if self.accuracy is not None:
            lines += ["", str(self.accuracy)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The card in a notebook, above the shortest game that it can lose as X and as O."""
        card = f'<pre style="font-family: monospace">{escape(str(self))}</pre>'
        if not self._lost:
            return card
        # As an image it is also shown by viewers that remove SVG from HTML.
        data = b64encode(self._picture().encode()).decode()
        source = f"data:image/svg+xml;base64,{data}"
        return f'{card}<img alt="{self.verdict}" style="max-width: 100%" src="{source}">'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a picture of the shortest game that it can lose as X and as O, as SVG.

        Raises ValueError if there is no such game, or if the name does not end in ".svg".
        """
        if Path(path).suffix.lower() != ".svg":
            raise ValueError(f'the picture is an SVG file, its name must end in ".svg": {path}')
        if not self._lost:
            raise ValueError(f"there is no lost game to draw in {path}: it {self.verdict}")
        Path(path).write_text(self._picture(), encoding="utf-8")

    def _picture(self) -> str:
        from tictactoe_env.render import svg_games  # imported here because most users never draw

        games = {f"loses as {side} in {len(game)} moves": game for side, game in self._lost.items()}
        return svg_games(games, self.rules)


def evaluate(
    policy: Policy | Model,
    rules: Rules | None = None,
    limit: Limit | None = None,
    progress: Progress | None = None,
    symmetric: bool | None = None,
) -> Evaluation:
    """The exact evaluation of a policy.

    The board is that of a policy with `rules`, such as a TabularPolicy, or that of a model's
    environment, or `rules`, or 3x3. A model of Stable-Baselines3 is judged as it plays in its
    environment, and refused behind a wrapper that is not known, see `model_env`. The policy is
    asked for each position that it can meet, all of a ply in one call; the answer says how many
    they were (`asked`). `progress(side, plies, positions)` is called after each ply. If the policy
    doesn't say `varies = ""`, it's asked for them again, on boards of more than 12 cells for a
    tenth of them. There the positions must be within `limit`: see `proof`. Raises ProofLimitError
    beyond it, and ValueError for a policy that is no function of the board.
    On Connect Four (6x7) no proof is tried without `limit`, except of a certificate's policy on the
    sides that it knows. Other results are sampled in 100 games on a side, and the moves of other
    policies are judged by `accuracy_of`, which needs bitbully; ValueError says so.
    symmetric: whether it learned with symmetric=True. It is then asked about one image of each
    board, and its moves are turned back. By default this is so for a model of Stable-Baselines3
    that learned so, which its observation space or its environment says. A function or a network
    can't be known, and without the word its results would be those of another player.
    """
    rules = common_rules(rules, policy)
    proven = SIDES
    if limit is None and rules == CONNECT_FOUR:
        if not hasattr(policy, "knows"):
            return _judged(policy, rules, progress, symmetric)
        proven = getattr(policy, "sides", SIDES)
    with to_be_met(policy, rules, symmetric) as player:
        sides = {side: evaluate_side(player, side, rules, limit, progress) for side in proven}
        for side in {*SIDES} - {*proven}:
            sides[side] = _sampled_side(player, side, rules, _FEW_GAMES)
    return evaluation_of(sides, rules)


def _judged(
    policy: Policy | Model, rules: Rules, progress: Progress | None, symmetric: bool | None
) -> Evaluation:
    """The evaluation of a policy by sampled games, see `evaluate`."""
    player = as_policy(policy, rules, symmetric=symmetric)
    judged = accuracy_of(player, rules, progress=progress)
    sides = {side: _sampled_side(player, side, rules, _FEW_GAMES) for side in SIDES}
    return replace(evaluation_of(sides, rules), accuracy=judged)


class SideEvaluation(NamedTuple):
    """The evaluation of a policy on one side.

    result: against uniformly random play. response: the best response; None if the result is that
    of sampled games, so that nothing is proven. wins_most: see `optimality`; False on boards of
    more than 12 cells. asked: see `Evaluation`.
    """

    result: Result
    response: BestResponse | None = None
    wins_most: bool = False
    asked: int = 0


def evaluate_side(
    policy: Policy | Model,
    side: str,
    rules: Rules,
    limit: Limit | None = None,
    progress: Progress | None = None,
) -> SideEvaluation:
    """The exact evaluation of a policy as `side`.

    limit, progress: as those of `evaluate`. Raises ProofLimitError beyond the limit.
    """
    reach = reach_of({side: policy}, side, rules, limit, progress)
    is_best = rules.cells <= TABULATED and wins_most(reach)
    return SideEvaluation(result_of(reach), best_response(reach), is_best, reach.asked(policy))


def evaluate_or_sample(
    policy: Policy,
    rules: Rules,
    side: str = "both",
    limit: Limit | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """The evaluation of a policy that is trained as one side, or as both.

    On boards of up to 12 cells it is exact. On larger ones a side is sampled in 2,000 games against
    random play, and nothing is proven of it, if it is not trained or if its proof is beyond the
    limit; `Evaluation.sampled` names these sides.
    """
    if rules.cells <= TABULATED:
        policy = tabulate(policy, rules)
        side = "both"

    def found(one: str) -> SideEvaluation:
        if side in ("both", one):
            try:
                return evaluate_side(policy, one, rules, limit, progress)
            except ProofLimitError:  # the evaluation names the side as sampled
                pass
        return _sampled_side(policy, one, rules, _SAMPLED_GAMES)

    return evaluation_of({one: found(one) for one in SIDES}, rules)


def _sampled_side(policy: Policy, side: str, rules: Rules, games: int) -> SideEvaluation:
    """The results of a policy as `side` in sampled games against random play."""
    return SideEvaluation(
        sampled_result(policy, RandomPolicy(rules), rules, games, side=side).result
    )


def evaluation_of(sides: Mapping[str, SideEvaluation], rules: Rules) -> Evaluation:
    """The evaluation that consists of those of both sides."""
    responses = {
        side: found.response for side, found in sides.items() if found.response is not None
    }
    safe = {side: not response.can_lose for side, response in responses.items()}
    always_wins = {side: response.always_wins for side, response in responses.items()}
    if always_wins.get("X"):
        result_x: int | None = 1
    elif always_wins.get("O"):
        result_x = -1
    elif safe.get("X") and safe.get("O"):
        result_x = 0
    else:
        result_x = best_play_x(rules)  # solving 4x4 takes a second
    return Evaluation(
        sides["X"].result,
        sides["O"].result,
        unbeatable_x=safe.get("X", False),
        unbeatable_o=safe.get("O", False),
        optimal_x=sides["X"].wins_most,
        optimal_o=sides["O"].wins_most,
        best_responses=responses,
        always_wins_x=always_wins.get("X", False),
        always_wins_o=always_wins.get("O", False),
        best_play_x=result_x,
        sampled=tuple(side for side in SIDES if side not in responses),
        rules=rules,
        asked=sum(one.asked for one in sides.values()),
    )


def best_play_x(rules: Rules) -> int | None:
    """X's result if both sides play perfectly: 1, 0 or -1; None if that is not known.

    It is known on boards of up to 16 cells, which are solved on first use, and on 6x7 with gravity,
    where the first player wins (Allis 1988), whether a solver is installed or not.
    """
    if rules == CONNECT_FOUR:
        return 1
    if not can_enumerate(rules):
        return None
    empty = np.zeros((1, rules.cells), dtype=np.int8)
    return int(np.sign(solve(rules).board_scores(empty)[0]))


def winner(rules: Rules) -> str:
    """The side that wins with best play; "" if neither does, or if that is not known."""
    return _WINNERS[best_play_x(rules)]


def fair_results(rules: Rules) -> dict[str, int]:
    """The result (win - loss) that each side can be sure of with best play; 0 if not known."""
    x_value = best_play_x(rules) or 0
    return {"X": x_value, "O": -x_value}


def exploitability(
    policy: Policy | Model, rules: Rules | None = None, symmetric: bool | None = None
) -> float:
    """The mean gain of a best response over the policy on both sides, as OpenSpiel defines it.

    It is NashConv / 2: half the sum of the best responses' results (win - loss) against the policy
    as X and as O. It is 0 for perfect play, even where one side must lose, and at most 1.
    symmetric: see `evaluate`.
    """
    responses = best_responses(policy, rules, symmetric=symmetric)
    return max(0.0, -sum(response.value for response in responses.values()) / 2)
