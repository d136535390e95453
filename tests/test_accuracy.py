"""The accuracy of moves, beside the values of the game in plain Python."""

import json
from functools import cache, partial
from itertools import chain

import numpy as np
import pytest
from oracles.plain_game import Player, plain
from sample_players import FixedPlayer
from text_cases import called, refuses

import evaluate
from tictactoe_env import Rules, make_opponent
from tictactoe_env import evaluate as evaluation_of
from tictactoe_env.exact import accuracy_of, connect_four
from tictactoe_env.exact.accuracy import ITSELF, KINDS, OPENING, games_accuracy
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.exact.sampling import clustered_interval, wilson_interval
from tictactoe_env.exact.solver import solve
from tictactoe_env.notation import game_text, replay
from tictactoe_env.policy import RandomPolicy

FALLS = [Rules(7, 2, 3, gravity=True), Rules(5, 3, 3, gravity=True)]
BOARDS = [*FALLS, Rules(2, 3, 2)]  # X wins the last one
PLAYERS = {
    "random": lambda rules: RandomPolicy(rules),
    "search": lambda rules: make_opponent("search-depth=1", rules),
    "first": lambda rules: Player(lambda board: {plain(rules).legal(board)[0]: 1}),
    "any cell": lambda rules: FixedPlayer(3),  # in a game with gravity most are illegal
}


class Recorded:
    """A player that keeps the boards that it was asked for."""

    def __init__(self, player):
        self.player = player
        self.asked = []

    def probs(self, boards):
        self.asked += map(tuple, boards.tolist())
        return self.player.probs(boards)


@cache
def plain_scores(rules, board):
    """The score of each legal move: 100 less the plies to a win, -100 and more in a lost game."""
    game = plain(rules)
    return {cell: -plain_score(rules, game.after(board, cell)) for cell in game.legal(board)}


@cache
def plain_score(rules, board):
    outcome = plain(rules).outcome(board)
    if outcome is not None:
        return 100 * outcome * plain(rules).mover(board)
    best = max(plain_scores(rules, board).values())
    return best - np.sign(best)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_shares_are_those_of_the_plain_game_in_the_positions_that_the_player_met(
    rules, player, kind
):
    recorded = Recorded(PLAYERS[player](rules))
    found = games_accuracy(kind, recorded, rules, games=9)
    plies = {sum(map(abs, board)) for board in recorded.asked}
    assert min(plies, default=OPENING) == (OPENING if "random" in kind else 0)
    for shares, value in ((found.right, np.sign), (found.best, int)):
        for phase, share in shares.items():
            first, last = map(int, phase.split("-"))
            kept = {}
            for board in recorded.asked:
                scores = {cell: value(one) for cell, one in plain_scores(rules, board).items()}
                best = [cell for cell, one in scores.items() if one == max(scores.values())]
                if first <= sum(map(abs, board)) <= last and len(best) < len(scores):
                    probs = recorded.player.probs(np.array([board], dtype=np.int8))[0]
                    kept.setdefault(board, []).append(probs[best].sum())
            if share is None:
                assert not kept
                continue
            assert share.positions == len(kept)
            assert share.share == pytest.approx(np.mean([*chain(*kept.values())]))
            assert share.interval is None or share.interval[0] <= share.share <= share.interval[1]


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_a_lost_game_is_one_that_the_player_may_play_and_proves_its_verdict(rules, player):
    policy = PLAYERS[player](rules)
    found = accuracy_of(policy, rules, games=20, seed=1)
    exact = evaluation_of(policy, rules)
    for side, line in found.lost.items():
        assert len(line) >= len(exact.best_responses[side].losing_line)
        boards = replay(line[:-1], rules)  # refuses moves after the end
        for board, cell in list(zip(boards, line, strict=True))["XO".index(side) :: 2]:
            assert policy.probs(board[None])[0, cell] > 0
    assert ("everybody can be beaten as O" in found.verdict) == (rules == BOARDS[-1])
    for side in "XO":
        is_open = bool(found.lost) and side not in {*found.lost, found.hopeless}
        assert (f"as {side} not proven" in found.verdict) == is_open
    perfect = accuracy_of(make_opponent("minimax-ties=fastest", rules), rules, games=20)
    for one in perfect.games.values():
        assert {share.share for share in (*one.right.values(), *one.best.values()) if share} <= {1}
        assert (one.wrong, one.first_mistake) == (0, None)
    assert perfect.lost.keys() == ({"O"} if rules == BOARDS[-1] else set())


def test_moves_of_one_game_are_no_further_evidence_and_one_game_has_no_interval():
    right = np.array([1.0, 0, 1, 1, 1, 0, 1, 1])
    expected = wilson_interval(6 * 7 / 8, 7)  # a variance is estimated from one game less
    for moves in (1, 5):
        found = clustered_interval(moves * right, np.full(8, moves))
        assert found == pytest.approx(expected)
    assert clustered_interval(3 * np.ones(8), np.full(8, 3)) == wilson_interval(8, 8)
    alone = games_accuracy(ITSELF, PLAYERS["first"](FALLS[1]), FALLS[1], games=7)
    assert (alone.games, alone.different) == (7, 1)
    shares = [share for share in (*alone.right.values(), *alone.best.values()) if share]
    assert shares
    assert {share.interval for share in shares} == {None}


def test_a_player_of_6x7_is_proven_beatable_by_the_games_that_it_loses(
    capsys, tmp_path, monkeypatch
):
    pytest.importorskip("bitbully")
    few = partial(accuracy_of, games=4)
    monkeypatch.setattr("tictactoe_env.exact.evaluation.accuracy_of", few)
    found = evaluation_of(make_opponent("search-depth=1", CONNECT_FOUR), CONNECT_FOUR)
    assert (found.sampled, set(found.proven)) == (("X", "O"), {"X", "O"})
    assert (
        found.proven["X"].losing_line == game_text(found.accuracy.lost["X"], CONNECT_FOUR).split()
    )
    assert "everybody can be beaten as O" in found.verdict
    assert max(map(len, str(found).splitlines())) <= 80
    file = tmp_path / "found.json"
    words = ["search-depth=1", "--board=6x7x4", "--gravity", "--games=4", "--json", str(file)]
    code, out, _ = called(evaluate, words, capsys)
    stated = json.loads(file.read_text())["accuracy"]["search-depth=1"]
    assert (code, stated["verdict"] in out) == (0, True)
    assert [one["games"] for one in stated["games"].values()] == [4, 4, 4]


def test_without_the_library_it_is_said_what_is_missing(capsys, monkeypatch):
    monkeypatch.setattr(connect_four, "is_installed", lambda: False)
    solve.cache_clear()
    with refuses("tictactoe-env[connect-four]"):
        evaluation_of(RandomPolicy(), CONNECT_FOUR)
    words = ["random", "--board=6x7x4", "--gravity", "--games=4"]
    code, out, _ = called(evaluate, words, capsys)
    assert (code, "tictactoe-env[connect-four]" in out) == (0, True)
