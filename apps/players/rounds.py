"""The kept policies of learners, and agents, all against all: exactly, with what follows.

players = players_of({"dqn-0": "runs/dqn-0"}, Rules())
rounds = played(players, Rules(), Limit())
rounds.x, rounds.sentences
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import agents
from apps.players.seat import path_of, player_of, seat_at
from tictactoe_env.certificates.content import sides_of
from tictactoe_env.exact.best_response import best_responses
from tictactoe_env.exact.match import exact_result
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.proof import Limit, ProofLimitError
from tictactoe_env.exact.round_robin import payoffs
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.files import check_files
from tictactoe_env.notation import game_text
from tictactoe_env.policy import Policy
from tictactoe_env.rules import SIDES, Rules
from training.history import FILE, History, policy_in
from training.learner import Arrays
from training.options import read_config
from training.run_files import CONFIG, read_config_file
from training.standings import Standings

MOST_LARGER = 24  # of a run on larger boards, where each pair plays its game by itself


class Player(NamedTuple):
    """A policy in the history. run: the number of its run or agent. sides: those that it plays."""

    name: str
    run: int
    policy: Policy
    sides: Sequence[str] = SIDES
    steps: int | None = None


def players_of(specs: Mapping[str, str], rules: Rules, most: int | None = None) -> list[Player]:
    """The players of runs and agents by name: the kept policies of a run, or the agent itself.

    most: of a run, taken evenly; by default all, on boards of more than 12 cells MOST_LARGER.
    Raises ValueError for a run on another board.
    """
    if most is None and rules.cells > TABULATED:
        most = MOST_LARGER
    found: list[Player] = []
    for number, (name, spec) in enumerate(specs.items()):
        player = player_of(spec, rules, "agent")
        path = player.place
        if path is None or not (path / FILE).exists():
            policy = seat_at(player, rules).policy
            assert policy is not None, "it is no person"
            found.append(Player(name, number, policy))
            continue
        saved = read_config_file(path)
        if (board := Rules.among(saved["config"])) != rules:
            raise ValueError(f"{path} plays on {board}, not on {rules}")
        sides = sides_of(saved["config"])
        load = partial(_player_of_model, path, saved)
        prefix = f"{name} " if len(specs) > 1 else ""
        check_files(path, [FILE])
        for steps, arrays in evenly(History.read(path / FILE).entries, most):
            policy = policy_in(arrays, rules, load)
            found.append(Player(f"{prefix}{steps:,}", number, policy, sides, steps))
    return found


def board_of_histories(specs: Iterable[str]) -> Rules | None:
    """The board of the first run with a history among some players; None if there is none."""
    for spec in specs:
        path = path_of(spec, what="agent")
        if path is not None and (path / FILE).exists():
            return Rules.among(read_config_file(path)["config"])
    return None


def evenly(items: Sequence[Any], most: int | None) -> list[Any]:
    """At most so many of some items, evenly, with the first and the last one; all if None."""
    if most is None:
        return list(items)
    which = np.unique(np.linspace(0, len(items) - 1, most).round().astype(int))
    return [items[number] for number in which]


def _player_of_model(path: Path, saved: Mapping[str, Any], arrays: Arrays) -> Policy:
    """The player of a model that a run has kept."""
    module = agents.module(saved["agent"])
    config = read_config(module.Config, saved["config"], path / CONFIG)
    return module.player(config, arrays)


@dataclass(frozen=True)
class Rounds:
    """The exact games of all players.

    x: (P, Q), the mean result of each X against each O. lost: the shortest game that each player
    can lose, by side: "" if none, "?" beyond the limit.
    """

    players: Sequence[Player]
    as_x: Sequence[Player]
    as_o: Sequence[Player]
    x: NDArray[np.float64]
    lost: Sequence[Mapping[str, str]]

    @cached_property
    def standings(self) -> Standings | None:
        """Who beats whom; None unless all play both sides."""
        play_both = all(player.sides == SIDES for player in self.players)
        return Standings(self.x) if play_both else None

    @property
    def sentences(self) -> list[str]:
        """How many can be beaten, what was forgotten, a circle, and what the ratings say wrong."""
        beatable = sum(any(games.values()) for games in self.lost)
        found = [f"{beatable} of {len(self.players)} can be beaten."]
        standings = self.standings
        if standings is None:
            return [*found, "Not all play both sides, so there is no score, rating or circle."]
        forgotten, pairs = standings.forgotten([player.run for player in self.players])
        if pairs:
            found.append(
                f"Forgetting: a later policy loses to an earlier one in {forgotten:,} of {pairs:,} "
                "pairs of a run, over both seats."
            )
        circle = standings.circle()
        if circle is None:
            found.append("No three beat each other in a circle.")
        else:
            a, b, c = (self.players[number].name for number in circle)
            found.append(f"A circle: {a} beats {b}, which beats {c}, which beats {a}.")
        wrong, decided = standings.misjudged()
        if decided:
            found.append(f"Elo ratings order {wrong:,} of {decided:,} decided pairs the wrong way.")
        return found


def played(players: Sequence[Player], rules: Rules, limit: Limit) -> Rounds:
    """Let every player as X play every one as O, exactly.

    On boards of more than 12 cells each pair is a match by itself. Raises ProofLimitError if the
    two can meet more positions than the limit allows, and ValueError for a policy that is no
    function of the board.
    """
    as_x, as_o = ([one for one in players if side in one.sides] for side in SIDES)
    if not as_x or not as_o:
        raise ValueError("nobody has learned the other side: add a run or an agent that plays it")
    if rules.cells <= TABULATED:
        tables = [[tabulate(one.policy, rules) for one in side] for side in (as_x, as_o)]
        x = payoffs(*tables).x
    else:
        pairs = [[exact_result(one.policy, o.policy, rules, limit) for o in as_o] for one in as_x]
        x = np.array([[pair.value for pair in row] for row in pairs])
    lost = [_lost_games(player, rules, limit) for player in players]
    return Rounds(players, as_x, as_o, x, lost)


def _lost_games(player: Player, rules: Rules, limit: Limit) -> dict[str, str]:
    """The shortest game that a player can lose, by side: "" if none, "?" beyond the limit."""
    try:
        found = best_responses(player.policy, rules, limit)
    except ProofLimitError:
        return dict.fromkeys(player.sides, "?")
    return {side: game_text(found[side].losing_line or (), rules) for side in player.sides}
